// What handlers take out of a request, as it was sent.
import type { Json } from "@portico/shared/json";
import type { Request } from "express";
import { bodyOf } from "./json-body.js";

/** The raw text behind `?`; the query language decodes it. */
export function searchOf(request: Request): string {
  const at = request.originalUrl.indexOf("?");
  return at < 0 ? "" : request.originalUrl.slice(at + 1);
}

/** A missing body is not an object; the check will say so. */
export function body(request: Request): Json {
  return bodyOf(request) ?? null;
}
