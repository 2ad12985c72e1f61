// Which sessions count here: those made for an origin whose pages this gateway serves (security row A25). Pure.
import { bearerToken } from "@portico/shared/bearer-token";
import { readAccessClaims } from "./access-claims.js";

/**
 * One made for an origin that was taken out of ALLOWED_ORIGINS, or for an APP_URL of before, must be of no use to anybody.
 * @param origin the one that the session was made for; undefined when no browser made it
 */
export function isServed(origin: string | undefined, pageOrigins: readonly string[]): boolean {
  return origin === undefined || pageOrigins.includes(origin);
}

/** Whether an Authorization header counts here. Whether its token is genuine is the data service's to say. */
export function isServedBearer(authorization: string, pageOrigins: readonly string[]): boolean {
  const token = bearerToken(authorization);
  // Only a JWT has dots: API tokens, which outlive their session and so its page, cost no attempt to decode them.
  const claims = token?.includes(".") === true ? readAccessClaims(token) : undefined;
  return isServed(claims?.origin, pageOrigins);
}
