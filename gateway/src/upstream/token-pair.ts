// The data service's answer to a login or a refresh, checked at the border.
import type { TokenPair } from "@portico/shared/token-pair";

/** Undefined when the answer is not what the contract promises. */
export function readTokenPair(body: unknown): TokenPair | undefined {
  if (typeof body !== "object" || body === null) return undefined;
  const { accessToken, refreshToken, expTime, refreshExpTime, loginProvider }: Record<string, unknown> = {
    ...body,
  };
  if (typeof accessToken !== "string" || accessToken === "") return undefined;
  if (typeof refreshToken !== "string" || refreshToken === "") return undefined;
  if (typeof expTime !== "number" || typeof refreshExpTime !== "number") return undefined;
  if (loginProvider !== null && typeof loginProvider !== "string") return undefined;
  return { accessToken, refreshToken, expTime, refreshExpTime, loginProvider };
}
