// The end of a route: names the methods it has.
import type { RequestHandler } from "express";
import { AppError } from "./app-error.js";

/** Answers OPTIONS, and refuses every other method with 405 and `Allow`. */
export function onlyMethods(...methods: readonly string[]): RequestHandler {
  const allowed = [...methods, "OPTIONS"];
  return (request, response) => {
    if (request.method !== "OPTIONS") throw methodNotAllowed(request.method, allowed);
    response.status(204).set("Allow", allowed.join(", ")).end();
  };
}

/** The refusal of a method, which names those that a route has (RFC 9110, 15.5.6). */
export function methodNotAllowed(method: string, allowed: readonly string[]): AppError {
  const headers = { Allow: allowed.join(", ") };
  const message = `${method} is not allowed here, but ${allowed.filter((each) => each !== "OPTIONS").join(", ")}.`;
  return new AppError("METHOD_NOT_ALLOWED", { message, headers });
}
