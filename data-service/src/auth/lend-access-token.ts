// Refresh token -> an access token for one call, without changing the session or its refresh token.
import type { Logger } from "@portico/shared/logger";
import { type AcceptRefreshDeps, acceptRefresh } from "./accept-refresh.js";
import type { ClientFacts } from "./client-facts.js";
import type { Tokens } from "./token-pair.js";

export interface LendAccessTokenDeps extends AcceptRefreshDeps {
  readonly tokens: Tokens;
}

/**
 * For calls whose answer comes so late that the browser would keep using replaced tokens until then (contract, section 3.3), or
 * may reach nobody.
 * It does not count as a refresh: a page may send more files in a minute than a session may be refreshed.
 * @param log carries the request's correlation id
 * @returns undefined for every token that a refresh would refuse
 */
export async function lendAccessToken(
  deps: LendAccessTokenDeps,
  refreshToken: string,
  client: ClientFacts,
  log: Pick<Logger, "warn">,
): Promise<string | undefined> {
  const presented = deps.tokens.refresh.read(refreshToken);
  const accepted = presented && (await acceptRefresh(deps, presented, client, log));
  if (accepted === undefined) return undefined;
  const { id: sessionId, userId, origin } = accepted.session;
  const issuedAtSeconds = Math.floor(deps.clock.now().getTime() / 1000);
  return deps.tokens.access.sign({ userId, sessionId, origin }, issuedAtSeconds);
}
