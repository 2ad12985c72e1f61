// The end of a route: names the methods it has.
import type { RequestHandler } from "express";
import { AppError } from "./app-error.js";

/** Answers OPTIONS, and refuses every other method with 405 and `Allow`. */
export function onlyMethods(...methods: readonly string[]): RequestHandler {
  const headers = { Allow: [...methods, "OPTIONS"].join(", ") };
  return (request, response) => {
    if (request.method !== "OPTIONS") throw new AppError("METHOD_NOT_ALLOWED", { headers });
    response.status(204).set(headers).end();
  };
}
