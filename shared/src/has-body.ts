// What the head of a request says about its body, as HTTP/1.1 frames it (RFC 9112, section 6).
import type { IncomingHttpHeaders } from "node:http";

/** Whether there is one. */
export function hasBody(headers: IncomingHttpHeaders): boolean {
  const { "transfer-encoding": chunked, "content-length": length = "0" } = headers;
  return chunked !== undefined || Number(length) !== 0;
}

/** Whether `Content-Length` alone is enough to refuse. */
export function announcesTooMuch(
  { "content-length": length }: IncomingHttpHeaders,
  mostBytes: number,
): boolean {
  return length !== undefined && Number(length) > mostBytes;
}
