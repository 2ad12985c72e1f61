// Parallel requests with one refresh token share one refresh, or one access token that is borrowed.
import type { AuthClient } from "../upstream/auth-client.js";
import type { Caller } from "../upstream/call.js";
import type { IdentityClient } from "../upstream/identity-client.js";

export type Refresh = AuthClient["refresh"];
export type Borrow = IdentityClient["borrowAccessToken"];

/**
 * Wraps a call so that callers who come with the same token while one is running get its result. Nothing is kept
 * afterwards: for later callers, and on other instances, the data service repeats the same successor.
 */
export function shareCalls<Result>(
  call: (refreshToken: string, caller: Caller) => Promise<Result>,
): (refreshToken: string, caller: Caller) => Promise<Result> {
  const underway = new Map<string, Promise<Result>>();
  return (refreshToken, caller) => {
    const running = underway.get(refreshToken);
    if (running !== undefined) return running;
    const started = call(refreshToken, caller).finally(() => underway.delete(refreshToken));
    underway.set(refreshToken, started);
    return started;
  };
}
