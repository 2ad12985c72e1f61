// Whether a Bearer's session counts here: whether this gateway serves the pages that it was made for (security row A25). Pure.
import { bearerToken } from "@portico/shared/bearer-token";
import { isServed } from "@portico/shared/session-page";
import { readAccessClaims } from "./access-claims.js";

/** Whether an Authorization header counts here. Whether its token is genuine is the data service's to say. */
export function isServedBearer(authorization: string, pageOrigins: readonly string[]): boolean {
  const token = bearerToken(authorization);
  // Only a JWT has dots: API tokens, which outlive their session and so its page, cost no attempt to decode them.
  const claims = token?.includes(".") === true ? readAccessClaims(token) : undefined;
  return isServed(claims?.origin, pageOrigins);
}
