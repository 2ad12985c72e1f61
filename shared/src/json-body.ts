// Reads a request's JSON: UTF-8 only, uncompressed, of bounded size and depth; the one reader of both services.
import { isUtf8 } from "node:buffer";
import { type Request, type RequestHandler, raw } from "express";
import { AppError } from "./app-error.js";
import { beside } from "./beside.js";
import { announcesTooMuch, hasBody } from "./has-body.js";
import type { Json } from "./json.js";
import { isJsonType } from "./json-type.js";
import { readJson } from "./read-json.js";
import { requireUncompressed } from "./require-uncompressed.js";
import { utf8Type } from "./utf8-type.js";

const bodies = beside<Request, Json>();

/** The parsed body; undefined when the request has none. */
export function bodyOf(request: Request): Json | undefined {
  return bodies.get(request);
}

/** @param bytes the size of the body */
type Arrived = (request: Request, bytes: number) => Promise<void>;

/**
 * Makes the reader.
 * @param maxBytes a larger body is refused with 413
 * @param arrived called when the whole body is here and awaited before it is looked at
 */
export function jsonBody(maxBytes: number, arrived: Arrived = async () => {}): RequestHandler[] {
  const read = raw({ limit: maxBytes, inflate: false, type: () => true });
  return [requireJsonType, requireSize(maxBytes), read, parse(arrived)];
}

/** A body that is announced as too large is refused at once; the reader would first wait for all of it. */
function requireSize(maxBytes: number): RequestHandler {
  return (request, _response, next) => {
    if (announcesTooMuch(request.headers, maxBytes)) throw new AppError("PAYLOAD_TOO_LARGE");
    next();
  };
}

const requireJsonType: RequestHandler = (request, _response, next) => {
  requireUncompressed(request.headers);
  if (hasBody(request.headers) && !isJsonType(utf8Type(request.headers["content-type"]))) {
    throw new AppError("UNSUPPORTED_MEDIA_TYPE", "Send the body as application/json, in UTF-8.");
  }
  next();
};

function parse(arrived: Arrived): RequestHandler {
  return async (request, _response, next) => {
    const body: unknown = request.body;
    if (Buffer.isBuffer(body) && body.length > 0) {
      await arrived(request, body.length);
      bodies.set(request, jsonOf(body));
    }
    next();
  };
}

function jsonOf(bytes: Buffer): Json {
  if (!isUtf8(bytes)) throw malformed();
  const read = readJson(bytes.toString());
  if (read.kind === "malformed") throw malformed(read.cause);
  if (read.kind === "json") return read.json;
  const { place, what } = read.problem;
  throw new AppError("BAD_REQUEST", `${place === "" ? "body" : place}: ${what}`);
}

function malformed(cause?: unknown): AppError {
  return new AppError("BAD_REQUEST", { message: "The body is not valid JSON in UTF-8.", cause });
}
