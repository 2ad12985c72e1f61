// The first bytes of a file -> its type. What the client says about it is ignored.
import { fileTypeFromBuffer } from "file-type";

/** How much is looked at: as much as file-type asks for. */
export const HEAD_BYTES = 4_100;

export const UNKNOWN_TYPE = "application/octet-stream";

/** Other names of the same type, and a variant of it. */
const SAME: Readonly<Record<string, string>> = { "image/apng": "image/png", "audio/vnd.wave": "audio/wav" };

/**
 * What file-type tells by a word or two and is text, at least where it begins. For everything else, text that begins with the
 * same letters (`BMW;2020`, `MAC addresses`) is just text.
 */
const TEXTUAL: ReadonlySet<string> = new Set([
  ...["application/pdf", "application/postscript", "application/eps", "application/rtf", "model/stl"],
  ...["application/pgp-encrypted", "application/x-ms-regedit", "application/x-unix-archive"],
  ...["text/vcard", "text/calendar", "text/vtt"],
]);

/** In either order of bytes. file-type does not know one whose directory lies behind the head. */
const TIFF = /^(?:II\*\0|MM\0\*)/;

/** A prolog, comments and blanks before the markup begins, and what follows them. */
const PROLOG = /^\s*(?:(?:<\?[^>]*\?>|<!--[\s\S]*?-->|<!doctype[^>]*>)\s*)*/i;
const HTML =
  /<!doctype\s+html|<(?:html|head|body|script|iframe|title|style|link|meta|h[1-6]|div|table|img|a)[\s>/]/i;
const XML = /^\s*<(?:\?xml|[a-z_][\w.-]*[\s>/:])/i;
/**
 * Inside the bytes of a picture this is a trick: a file that is two things at once. XML allows a prefix before the name.
 */
const MARKUP_INSIDE = /<(?:[\w.-]+:)?(?:script|html|svg|iframe|body)[\s>/]/i;

/** @param head the first HEAD_BYTES bytes, or all there are */
export async function sniff(head: Buffer): Promise<string> {
  if (head.length === 0) return UNKNOWN_TYPE;
  // file-type takes the mark of UTF-16 for sound.
  const marked = utf16Of(head) === undefined ? undefined : textType(head);
  if (marked !== undefined) return marked;
  const found = await fileTypeFromBuffer(head);
  const text = head.toString("latin1");
  if (found === undefined) return textType(head) ?? (TIFF.test(text) ? "image/tiff" : UNKNOWN_TYPE);
  const mime = SAME[found.mime] ?? found.mime.split(";")[0] ?? UNKNOWN_TYPE;
  const twofold = /^(?:image|audio|video)\//.test(mime) && MARKUP_INSIDE.test(text);
  if (twofold) return UNKNOWN_TYPE;
  return TEXTUAL.has(mime) ? mime : (textType(head) ?? mime);
}

/** By its mark. */
function utf16Of(head: Buffer): "utf-16le" | "utf-16be" | undefined {
  if (head[0] === 0xff && head[1] === 0xfe) return "utf-16le";
  return head[0] === 0xfe && head[1] === 0xff ? "utf-16be" : undefined;
}

/** The type of a text by its beginning, with the charset of plain text that is not UTF-8; undefined when it is not text. */
function textType(head: Buffer): string | undefined {
  const text = asText(head);
  if (text === undefined) return undefined;
  if (/^<svg[\s>]/i.test(text.replace(PROLOG, ""))) return "image/svg+xml";
  if (!/^\s*<\?xml/.test(text) && HTML.test(text)) return "text/html";
  if (XML.test(text)) return "application/xml";
  const utf16 = utf16Of(head);
  return utf16 === undefined ? "text/plain" : `text/plain; charset=${utf16}`;
}

/** UTF-8 without control characters; the last character may be cut off. UTF-16 is recognised by its mark. */
function asText(head: Buffer): string | undefined {
  try {
    const text = new TextDecoder(utf16Of(head) ?? "utf-8", { fatal: true }).decode(head, { stream: true });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
    return /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}
