// How large a request's body may be. Pure.
import type { RouteKind } from "../http/media-type.js";

/** Boundaries, part headers and text parts around the one file; the data service counts the file exactly. */
const MULTIPART_FRAME_BYTES = 64 * 1024;

/** How large a body may be. */
export interface BodyLimit {
  readonly bytes: number;
  /** The message for a larger one; it names what the settings allow. */
  readonly refusal: string;
}

/**
 * The limit for one request, by what its body is. None for an imported file: the data service refuses one that is too large,
 * because only it can say how much of it was kept. We hold no more of it than the buffers on the way do, and those may be
 * larger than any margin.
 */
export function bodyLimit(
  body: RouteKind,
  limits: { readonly bodyMaxBytes: number; readonly uploadMaxBytes: number },
): BodyLimit {
  const { bodyMaxBytes, uploadMaxBytes } = limits;
  if (body === "upload") {
    const refusal = `file: must have at most ${uploadMaxBytes} bytes, and the rest of the body ${MULTIPART_FRAME_BYTES}`;
    return { bytes: uploadMaxBytes + MULTIPART_FRAME_BYTES, refusal };
  }
  const bytes = body === "import" ? Number.POSITIVE_INFINITY : bodyMaxBytes;
  return { bytes, refusal: `The body is larger than ${bytes} bytes.` };
}
