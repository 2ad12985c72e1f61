// The media type of a body in UTF-8 (RFC 9110, section 8.3); other character sets are not read.
import { parse } from "content-type";

const UTF_8 = /^utf-?8$/i;

/** @returns the media type in lower case, without parameters; undefined without one, or with another character set */
export function utf8Type(contentType = ""): string | undefined {
  const { type, parameters } = parse(contentType);
  const { charset = "utf-8" } = parameters;
  return type !== "" && UTF_8.test(charset) ? type.toLowerCase() : undefined;
}
