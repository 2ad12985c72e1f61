// Access token -> the claims the gateway plans by. It verifies nothing; the data service does.
import { copyOfText } from "@portico/shared/copy-of-text";
import { decodeJwt } from "jose";
import { LRUCache } from "lru-cache";

/** Unverified; good for deciding when to refresh and which page may use the session, for nothing else. */
export interface AccessClaims {
  readonly issuedAtMs: number | undefined;
  readonly expiresAtMs: number;
  /** The web origin the session was made for. */
  readonly origin: string | undefined;
}

/** Tokens whose claims are remembered: a browser sends the same one for minutes. */
const MOST_TOKENS = 1_000;
/** The data service makes none that are longer; a client may send anything. */
const LONGEST_REMEMBERED = 4_096;
const known = new LRUCache<string, AccessClaims>({ max: MOST_TOKENS });

/** Undefined when the text is not a JWT with an expiry. */
export function readAccessClaims(token: string): AccessClaims | undefined {
  const before = known.get(token);
  if (before !== undefined) return before;
  const claims = decodeClaims(token);
  if (claims !== undefined && token.length <= LONGEST_REMEMBERED) known.set(copyOfText(token), claims);
  return claims;
}

function decodeClaims(token: string): AccessClaims | undefined {
  try {
    const { iat, exp, origin } = decodeJwt(token);
    if (typeof exp !== "number") return undefined;
    return {
      issuedAtMs: typeof iat === "number" ? iat * 1000 : undefined,
      expiresAtMs: exp * 1000,
      origin: typeof origin === "string" ? origin : undefined,
    };
  } catch {
    return undefined;
  }
}
