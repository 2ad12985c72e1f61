// What went wrong at the provider -> one of the fixed words an app may meet. Pure; none of the provider's own text is passed
// on.
import type { OAuthError } from "@portico/shared/oauth";

/** RFC 6749, section 4.1.2.1. Everything else, hostile text included, is `provider_error` (security row A17). */
const ERRORS: ReadonlyMap<string, OAuthError> = new Map([
  ["access_denied", "access_denied"],
  ["server_error", "provider_unavailable"],
  ["temporarily_unavailable", "provider_unavailable"],
]);

export function callbackError(error: string): OAuthError {
  return ERRORS.get(error) ?? "provider_error";
}

/** What the log is told: the provider's word where it is one, for anybody may write that address. */
export function loggedReason(error: string): string {
  return /^\w{1,64}$/.test(error) ? error : "other";
}

/**
 * RFC 9207: if a provider names itself, it must be the one that was asked (security row A13).
 * @param iss as the provider sent it; undefined when it sent none
 */
export function isIssuer(iss: string | undefined, authorizationUrl: string): boolean {
  if (iss === undefined) return true;
  return URL.canParse(iss) && new URL(iss).origin === new URL(authorizationUrl).origin;
}
