// Whether a body follows the head of a request, as HTTP/1.1 frames it (RFC 9112, section 6).
import type { IncomingHttpHeaders } from "node:http";

export function hasBody(headers: IncomingHttpHeaders): boolean {
  const { "transfer-encoding": chunked, "content-length": length = "0" } = headers;
  return chunked !== undefined || Number(length) !== 0;
}
