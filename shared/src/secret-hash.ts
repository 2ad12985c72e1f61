// What is stored of a secret of 256 random bits; nothing slower is needed for one.
import { hash } from "node:crypto";

/** SHA-256 as base64url. */
export function secretHash(secret: string): string {
  return hash("sha256", secret, "base64url");
}
