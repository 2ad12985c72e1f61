// The body of an auth call: JSON in UTF-8, small, not compressed; anything else is refused.
import { AppError } from "@portico/shared/app-error";
import { json, type RequestHandler } from "express";

/** No auth call needs more; read before anybody has proved anything. */
const MAX_BYTES = 16 * 1024;
const JSON_UTF8 = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;

const requireJson: RequestHandler = (request, _response, next) => {
  const {
    "transfer-encoding": chunked,
    "content-length": length = "0",
    "content-type": type = "",
  } = request.headers;
  const hasBody = chunked !== undefined || length !== "0";
  if (hasBody && !JSON_UTF8.test(type)) throw new AppError("UNSUPPORTED_MEDIA_TYPE");
  next();
};

/** Sets `request.body` to the parsed JSON, or leaves it undefined when there is no body. */
export const jsonBody: readonly RequestHandler[] = [
  requireJson,
  // Not strict: `BodyReader` says better what a bare value is not.
  json({ limit: MAX_BYTES, inflate: false, strict: false, type: () => true }),
];
