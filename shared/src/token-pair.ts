// The data service's answer to a login or a refresh, which the gateway turns into cookies.

/** The tokens of a session; times are epoch milliseconds. */
export interface TokenPair {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expTime: number;
  readonly refreshExpTime: number;
  readonly loginProvider: string | null;
}
