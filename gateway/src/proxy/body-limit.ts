// How large a request's body may be, and whether it says itself that it is larger. Pure.

/** Boundaries, part headers and text parts around the one file; the data service counts the file exactly. */
const MULTIPART_FRAME_BYTES = 64 * 1024;

/** The limit in bytes for one request. */
export function bodyLimit(
  isMultipartUpload: boolean,
  limits: { readonly bodyMaxBytes: number; readonly uploadMaxBytes: number },
): number {
  return isMultipartUpload ? limits.uploadMaxBytes + MULTIPART_FRAME_BYTES : limits.bodyMaxBytes;
}

/** Whether `Content-Length` alone is reason enough to refuse. */
export function announcesTooMuch(contentLength: string | undefined, limit: number): boolean {
  return contentLength !== undefined && Number(contentLength) > limit;
}
