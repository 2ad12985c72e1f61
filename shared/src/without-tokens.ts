// Tokens in places where none belong (security row L1): a path, an id of a request. They are cut out of what is written
// down.

/** Refresh tokens, API tokens, and JWTs, whose first part begins with `{"`. */
const TOKEN = /svc_(?:rt|pat)_[\w-]{20,}|eyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]{5,}/g;

/** @returns the text, with each token in it replaced */
export function withoutTokens(text: string): string {
  return text.replace(TOKEN, "[redacted]");
}
