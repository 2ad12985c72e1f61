// The hash that is stored of a secret; 256 random bits need no slower one.
import { hash } from "node:crypto";

/** SHA-256 as base64url. */
export function secretHash(secret: string): string {
  return hash("sha256", secret, "base64url");
}
