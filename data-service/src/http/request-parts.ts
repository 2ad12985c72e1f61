// What handlers take out of a request, as it was sent.
import { AppError } from "@portico/shared/app-error";
import { isObject, type Json } from "@portico/shared/json";
import type { Request } from "express";
import { bodyOf } from "./json-body.js";

/** The raw text behind `?`; the query language decodes it. */
export function searchOf(request: Request): string {
  const at = request.originalUrl.indexOf("?");
  return at < 0 ? "" : request.originalUrl.slice(at + 1);
}

const MULTIPART = /^multipart\/form-data\s*(?:;|$)/i;

/** Is the body a form, which may bring a file? */
export function isMultipart({ headers }: Request): boolean {
  return MULTIPART.test(headers["content-type"] ?? "");
}

/** The body; null where there is none, which the check of the body refuses as no object. */
export function bodyOrNull(request: Request): Json {
  return bodyOf(request) ?? null;
}

/** Many clients send `{}` with every POST. @param why one sends none here @throws AppError 400 */
export function requireNoBody(request: Request, why: string): void {
  const given = bodyOf(request);
  if (given === undefined || (isObject(given) && Object.keys(given).length === 0)) return;
  throw new AppError("BAD_REQUEST", `body: ${why}`);
}
