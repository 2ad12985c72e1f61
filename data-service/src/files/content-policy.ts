// How a type is served: shown in place only if it is on a short list, otherwise as an attachment. Pure.
import { create as contentDisposition } from "content-disposition";

/** Types that a browser shows or plays, and that can't run script. */
const INLINE: ReadonlySet<string> = new Set([
  ...["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"],
  ...["video/mp4", "video/webm", "audio/mpeg", "audio/ogg", "audio/wav"],
]);

/** No script, no plugin and no form, whatever the bytes are; a picture or a video may show itself. */
const INLINE_POLICY =
  "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; sandbox";
const ATTACHMENT_POLICY = "default-src 'none'; sandbox";

export interface Served {
  readonly filename: string;
  readonly mimetype: string;
  readonly isPublic: boolean;
}

/** The headers that say what it is and what a browser may do with it. @param download always as an attachment */
export function contentHeaders(
  { filename, mimetype, isPublic }: Served,
  download: boolean,
): Record<string, string> {
  const inline = INLINE.has(mimetype) && !download;
  return {
    "Content-Type": mimetype === "text/plain" ? "text/plain; charset=utf-8" : mimetype,
    "Content-Disposition": contentDisposition(filename, { type: inline ? "inline" : "attachment" }),
    "Content-Security-Policy": inline ? INLINE_POLICY : ATTACHMENT_POLICY,
    // Other sites' pages may show a public picture, and nothing else.
    "Cross-Origin-Resource-Policy": isPublic && inline ? "cross-origin" : "same-origin",
    "Cache-Control": isPublic ? "public, max-age=60" : "private, no-cache",
  };
}
