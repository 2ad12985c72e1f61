// How large a request's body may be, and whether it says itself that it is larger. Pure.
import type { RouteKind } from "../http/media-type.js";

/** Boundaries, part headers and text parts around the one file; the data service counts the file exactly. */
const MULTIPART_FRAME_BYTES = 64 * 1024;

/**
 * The limit in bytes for one request, by what its body is. None for an imported file: the data service refuses one that is
 * too large, for it alone can say how much of it is kept. We hold no more of it than the buffers on the way do, and those
 * may be larger than any margin.
 */
export function bodyLimit(
  body: RouteKind,
  limits: { readonly bodyMaxBytes: number; readonly uploadMaxBytes: number },
): number {
  if (body === "import") return Number.POSITIVE_INFINITY;
  return body === "upload" ? limits.uploadMaxBytes + MULTIPART_FRAME_BYTES : limits.bodyMaxBytes;
}

/** Whether `Content-Length` alone is reason enough to refuse. */
export function announcesTooMuch(contentLength: string | undefined, limit: number): boolean {
  return contentLength !== undefined && Number(contentLength) > limit;
}
