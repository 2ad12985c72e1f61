// How a type is served: shown in place only if it is on a short list, otherwise as an attachment. Pure.
import { create as contentDisposition } from "content-disposition";

/** No script, no plugin and no form, whatever the bytes are; a picture or a video may show itself. */
const SHOWN_POLICY =
  "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; sandbox";
/** A browser's player asks for the same address again, and of the origin `null` it is refused. */
const PLAYED_POLICY = `${SHOWN_POLICY} allow-same-origin`;
const ATTACHMENT_POLICY = "default-src 'none'; sandbox";

/** Types that a browser shows or plays, and that can't run script. */
const INLINE_POLICIES: ReadonlyMap<string, string> = new Map([
  ...["png", "jpeg", "gif", "webp", "avif"].map((type) => [`image/${type}`, SHOWN_POLICY] as const),
  ...["video/mp4", "video/webm", "audio/mpeg", "audio/ogg", "audio/wav"].map(
    (type) => [type, PLAYED_POLICY] as const,
  ),
]);

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
  const inlinePolicy = download ? undefined : INLINE_POLICIES.get(mimetype);
  const inline = inlinePolicy !== undefined;
  return {
    "Content-Type": mimetype === "text/plain" ? "text/plain; charset=utf-8" : mimetype,
    "Content-Disposition": contentDisposition(filename, { type: inline ? "inline" : "attachment" }),
    "Content-Security-Policy": inlinePolicy ?? ATTACHMENT_POLICY,
    // Other sites' pages may show a public picture, and nothing else.
    "Cross-Origin-Resource-Policy": isPublic && inline ? "cross-origin" : "same-origin",
    "Cache-Control": isPublic ? "public, max-age=60" : "private, no-cache",
  };
}
