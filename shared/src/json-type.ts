// What counts as JSON by its media type: `application/json`, and every `application/…+json` (RFC 6839, section 3.1).
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;

/** @param contentType with or without parameters */
export function isJsonType(contentType = ""): boolean {
  return JSON_TYPE.test(contentType);
}
