// Refresh tokens: `svc_rt_` and base64url of session id (16 bytes), generation (4) and a MAC over both (32).
import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";

const PREFIX = "svc_rt_";
const PURPOSE = "portico refresh token 1";
const SESSION_BYTES = 16;
const NAMED_BYTES = SESSION_BYTES + 4;
const MAC_BYTES = 32;
/** 52 bytes in base64url without padding. */
const FORM = /^svc_rt_[\w-]{70}$/;

/** Long enough for every token of ours; a longer text can't be one. */
export const TOKEN_MAX_CHARACTERS = 4096;

/** What a genuine token names. `decideRotation` decides whether it is current. */
export interface RefreshClaims {
  readonly sessionId: string;
  readonly generation: number;
}

/** Writes and reads tokens. Nothing is stored: the same claims always give the same token. */
export interface RefreshTokens {
  write(claims: RefreshClaims): string;
  /** Undefined for everything that `write` did not write, byte for byte. */
  read(token: string): RefreshClaims | undefined;
}

/** @param encryptionKey 32 bytes; the MAC key is derived from it (HKDF, RFC 5869) for this purpose alone */
export function makeRefreshTokens(encryptionKey: Buffer): RefreshTokens {
  const key = Buffer.from(hkdfSync("sha256", encryptionKey, "", PURPOSE, MAC_BYTES));
  const mac = (named: Buffer): Buffer => createHmac("sha256", key).update(named).digest();
  return {
    write({ sessionId, generation }) {
      const named = Buffer.alloc(NAMED_BYTES);
      named.write(sessionId, "base64url");
      named.writeUInt32BE(generation, SESSION_BYTES);
      return PREFIX + Buffer.concat([named, mac(named)]).toString("base64url");
    },
    read(token) {
      if (!FORM.test(token)) return undefined;
      const bytes = Buffer.from(token.slice(PREFIX.length), "base64url");
      // The last character has four spare bits, which must be zero in the canonical form.
      if (bytes.toString("base64url") !== token.slice(PREFIX.length)) return undefined;
      const named = bytes.subarray(0, NAMED_BYTES);
      if (!timingSafeEqual(bytes.subarray(NAMED_BYTES), mac(named))) return undefined;
      return {
        sessionId: named.toString("base64url", 0, SESSION_BYTES),
        generation: named.readUInt32BE(SESSION_BYTES),
      };
    },
  };
}
