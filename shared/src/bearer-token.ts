// The Authorization header of RFC 6750, section 2.1: what is a token in it.

const BEARER = /^Bearer +([\w.~+/-]+=*)$/i;

/** The token; undefined where the header is not of this kind. */
export function bearerToken(header: string): string | undefined {
  return BEARER.exec(header)?.[1];
}
