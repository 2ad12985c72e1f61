// Tokens in places where none belong, such as a path or a request's id (security row L1): they are cut out of what is logged.
// Anybody can send a text of 32 KB here, so each pattern reads it only once and never backtracks into what it has read.

const REDACTED = "[redacted]";

/** Refresh tokens and API tokens. */
const OPAQUE = /svc_(?:rt|pat)_[\w-]{20,}/g;

/** Three parts or more with dots between them; a JWT where one begins with `{"`, which is `eyJ`. */
const DOTTED = /(?<![\w-])[\w-]+(?:\.[\w-]+){2,}/g;

/** Letters, digits, `-`, `.`, `_` and `~`, which mean the same when they are percent-encoded (RFC 3986, section 2.3). */
const ENCODED = /%(?:3\d|[46][1-9a-f]|[57][\da]|2[de]|5f|7e)/gi;

/** Even the shortest JWT that says anything is longer. */
const SHORTEST_JWT = 40;

const isJwt = (parts: string): boolean => parts.length > SHORTEST_JWT && parts.includes("eyJ");

/** @returns the text; if it has tokens, each is replaced, and needless percent-encoding is decoded */
export function withoutTokens(text: string): string {
  const plain = text.includes("%") ? text.replace(ENCODED, decodeURIComponent) : text;
  const left = plain.replace(OPAQUE, REDACTED).replace(DOTTED, (parts) => (isJwt(parts) ? REDACTED : parts));
  return left === plain ? text : left;
}
