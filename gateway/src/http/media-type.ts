// Which bodies a request that relies on cookies may carry: JSON, and multipart on the upload routes. Pure.
import type { IncomingHttpHeaders } from "node:http";

const JSON_BODY = /^application\/json\s*(;|$)/i;
const MULTIPART_BODY = /^multipart\/form-data\s*;/i;

/** Whether a body follows, as HTTP/1.1 frames it. */
export function hasBody(headers: IncomingHttpHeaders): boolean {
  const { "transfer-encoding": chunked, "content-length": length = "0" } = headers;
  return chunked !== undefined || length !== "0";
}

export function isMultipart(contentType: string | undefined): boolean {
  return contentType !== undefined && MULTIPART_BODY.test(contentType);
}

/** A form post of a foreign page can not take this shape without a preflight, except on upload routes. */
export function isAcceptedBody(headers: IncomingHttpHeaders, isUploadRoute: boolean): boolean {
  if (!hasBody(headers)) return true;
  const contentType = headers["content-type"];
  return JSON_BODY.test(contentType ?? "") || (isUploadRoute && isMultipart(contentType));
}
