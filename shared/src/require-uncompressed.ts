// Bodies are read as they arrive: one that says it is compressed is refused, and not taken for something else.
import type { IncomingHttpHeaders } from "node:http";
import { AppError } from "./app-error.js";
import { hasBody } from "./has-body.js";

/** @throws AppError 415 */
export function requireUncompressed(headers: IncomingHttpHeaders): void {
  const { "content-encoding": encoding = "identity" } = headers;
  if (hasBody(headers) && encoding.toLowerCase() !== "identity")
    throw new AppError("UNSUPPORTED_MEDIA_TYPE", "Send the body uncompressed, without Content-Encoding.");
}
