// Reads a request's JSON: UTF-8 only, uncompressed, of bounded size; the one reader for all routes.
import { isUtf8 } from "node:buffer";
import { AppError } from "@portico/shared/app-error";
import { hasBody } from "@portico/shared/has-body";
import { type Request, type RequestHandler, raw } from "express";
import type { Json } from "../json.js";
import { repeatedName } from "../repeated-name.js";
import { renewPrincipal } from "./authenticate.js";

const JSON_UTF8 = /^application\/(?:[\w.-]+\+)?json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;

const bodies = new WeakMap<Request, Json | undefined>();

/** The parsed body; undefined when the request has none. */
export function bodyOf(request: Request): Json | undefined {
  return bodies.get(request);
}

/**
 * Makes the reader.
 * @param maxBytes a larger body is refused with 413
 */
export function jsonBody(maxBytes: number): RequestHandler[] {
  const read = raw({ limit: maxBytes, inflate: false, type: () => true });
  return [requireJsonType, read, parse];
}

const requireJsonType: RequestHandler = (request, _response, next) => {
  if (hasBody(request.headers) && !JSON_UTF8.test(request.headers["content-type"] ?? "")) {
    throw new AppError("UNSUPPORTED_MEDIA_TYPE");
  }
  next();
};

const parse: RequestHandler = async (request, _response, next) => {
  const body: unknown = request.body;
  if (Buffer.isBuffer(body) && body.length > 0) {
    await renewPrincipal(request);
    bodies.set(request, parseJson(body));
  }
  next();
};

function parseJson(bytes: Buffer): Json {
  const text = bytes.toString();
  const json = parsed(bytes, text);
  const repeated = repeatedName(text, json);
  if (repeated !== undefined)
    throw new AppError("BAD_REQUEST", `${repeated}: is given twice in one object; only one would count`);
  return json;
}

function parsed(bytes: Buffer, text: string): Json {
  try {
    if (!isUtf8(bytes)) throw new TypeError("not UTF-8");
    const json: Json = JSON.parse(text);
    return json;
  } catch (cause) {
    throw new AppError("BAD_REQUEST", { message: "The body is not valid JSON in UTF-8.", cause });
  }
}
