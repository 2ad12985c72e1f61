// The first bytes of a file -> its type. What the client says about it is ignored.
import { fileTypeFromBuffer } from "file-type";

/** As much as is looked at: what file-type asks for. */
export const HEAD_BYTES = 4_100;

export const UNKNOWN_TYPE = "application/octet-stream";

/** Names of the same thing, and a kind of it. */
const SAME: Readonly<Record<string, string>> = { "image/apng": "image/png", "audio/vnd.wave": "audio/wav" };

/** What follows a prolog, comments and blanks where markup begins. */
const PROLOG = /^\s*(?:(?:<\?[^>]*\?>|<!--[\s\S]*?-->|<!doctype[^>]*>)\s*)*/i;
const HTML =
  /<!doctype\s+html|<(?:html|head|body|script|iframe|title|style|link|meta|h[1-6]|div|table|img|a)[\s>/]/i;
const XML = /^\s*<(?:\?xml|[a-z_][\w.-]*[\s>/:])/i;
/** In the bytes of a picture it is a trick: a file that is two things at once. XML may put a prefix before the name. */
const MARKUP_INSIDE = /<(?:[\w.-]+:)?(?:script|html|svg|iframe|body)[\s>/]/i;

/** @param head the first bytes, HEAD_BYTES of them if there are so many */
export async function sniff(head: Buffer): Promise<string> {
  if (head.length === 0) return UNKNOWN_TYPE;
  // The mark of UTF-16 looks like sound to file-type.
  const marked = isUtf16(head) ? textType(head) : undefined;
  if (marked !== undefined) return marked;
  const found = await fileTypeFromBuffer(head);
  if (found === undefined || isXml(found.mime)) return textType(head) ?? found?.mime ?? UNKNOWN_TYPE;
  const mime = SAME[found.mime] ?? found.mime.split(";")[0] ?? UNKNOWN_TYPE;
  const twofold = /^(?:image|audio|video)\//.test(mime) && MARKUP_INSIDE.test(head.toString("latin1"));
  return twofold ? UNKNOWN_TYPE : mime;
}

function isUtf16(head: Buffer): boolean {
  return head[0] === 0xff && head[1] === 0xfe;
}

function isXml(mime: string): boolean {
  return mime.endsWith("xml");
}

/** Text by what it begins with; undefined when it is none. */
function textType(head: Buffer): string | undefined {
  const text = asText(head);
  if (text === undefined) return undefined;
  if (/^<svg[\s>]/i.test(text.replace(PROLOG, ""))) return "image/svg+xml";
  if (!/^\s*<\?xml/.test(text) && HTML.test(text)) return "text/html";
  return XML.test(text) ? "application/xml" : "text/plain";
}

/** UTF-8 without control characters; the last character may be cut off. UTF-16 is recognised by its mark. */
function asText(head: Buffer): string | undefined {
  const encoding = isUtf16(head) ? "utf-16le" : "utf-8";
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(head, { stream: true });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
    return /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}
