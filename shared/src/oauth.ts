// What both services know of OAuth: the providers, and why a sign-in may come back without a session.

/** In the order in which they are offered. */
export const PROVIDERS = ["google", "facebook", "github"] as const;

export type Provider = (typeof PROVIDERS)[number];

/** The fixed list of `error` values an app can meet on its return address. */
export const OAUTH_ERRORS = [
  /** The person said no at the provider. */
  "access_denied",
  /** The provider refused, or answered what it should not. */
  "provider_error",
  /** The provider could not be reached in time. */
  "provider_unavailable",
  /** The provider gave no e-mail address. */
  "email_missing",
  /** The address belongs to another account, and the provider does not say that it was verified. */
  "email_in_use",
  /** OAUTH_SIGNUP is false, and nobody here has this address. */
  "signup_disabled",
  /** The account was deactivated. */
  "account_disabled",
  /** A root admin signs in on APP_URL alone, unless OAUTH_ROOT_ELSEWHERE is true. */
  "root_admin_elsewhere",
  /** Connecting: this provider account signs in somebody else. */
  "account_in_use",
  /** Connecting: the session that began it has ended. */
  "session_ended",
] as const;

export type OAuthError = (typeof OAUTH_ERRORS)[number];

/** Who somebody is, according to a provider. */
export interface Identity {
  readonly provider: Provider;
  /** The provider's own id of the account, which it never gives to another. */
  readonly subject: string;
  readonly email: string | null;
  /** The provider says that the address belongs to the person. */
  readonly emailVerified: boolean;
  readonly name: string | null;
}

export function isProvider(value: unknown): value is Provider {
  return PROVIDERS.some((each) => each === value);
}

export function isOAuthError(value: unknown): value is OAuthError {
  return OAUTH_ERRORS.some((each) => each === value);
}
