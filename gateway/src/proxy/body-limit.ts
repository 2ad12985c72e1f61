// How large a request's body may be, and whether it says itself that it is larger. Pure.
import type { RouteKind } from "../http/media-type.js";

/** Boundaries, part headers and text parts around the one file; the data service counts the file exactly. */
const MULTIPART_FRAME_BYTES = 64 * 1024;

/**
 * The data service, which counts as well, refuses first: it can say how much of the file it has kept. More than the
 * buffers between here and there hold.
 */
const IMPORT_MARGIN_BYTES = 16 * 1024 * 1024;

/** The limit in bytes for one request, by what its body is. */
export function bodyLimit(
  body: RouteKind,
  limits: {
    readonly bodyMaxBytes: number;
    readonly uploadMaxBytes: number;
    readonly importMaxBytes: number;
  },
): number {
  if (body === "upload") return limits.uploadMaxBytes + MULTIPART_FRAME_BYTES;
  return body === "import" ? limits.importMaxBytes + IMPORT_MARGIN_BYTES : limits.bodyMaxBytes;
}

/** Whether `Content-Length` alone is reason enough to refuse. */
export function announcesTooMuch(contentLength: string | undefined, limit: number): boolean {
  return contentLength !== undefined && Number(contentLength) > limit;
}
