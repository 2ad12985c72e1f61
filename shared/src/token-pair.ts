// The data service's answer to a login or a refresh, which the gateway checks and turns into cookies.
import { recordOf } from "./json.js";

/** The tokens of a session; times are epoch milliseconds. */
export interface TokenPair {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expTime: number;
  readonly refreshExpTime: number;
  readonly loginProvider: string | null;
}

/** Undefined when the answer is not what the contract promises. */
export function readTokenPair(body: unknown): TokenPair | undefined {
  const { accessToken, refreshToken, expTime, refreshExpTime, loginProvider } = recordOf(body);
  if (typeof accessToken !== "string" || accessToken === "") return undefined;
  if (typeof refreshToken !== "string" || refreshToken === "") return undefined;
  if (typeof expTime !== "number" || typeof refreshExpTime !== "number") return undefined;
  if (loginProvider !== null && typeof loginProvider !== "string") return undefined;
  return { accessToken, refreshToken, expTime, refreshExpTime, loginProvider };
}
