// What is stored of a secret of 256 random bits; nothing slower is needed for one.
import { createHash } from "node:crypto";

/** SHA-256 as base64url. */
export function secretHash(secret: string): string {
  return createHash("sha256").update(secret).digest("base64url");
}
