// Ends the session that a browser had before it signs in anew: a planted or forgotten one must not live on beside the new
// one (security row A2).
import { setTimeout } from "node:timers/promises";
import type { Logger } from "@portico/shared/logger";
import type { Request } from "express";
import type { AuthClient } from "../upstream/auth-client.js";
import { callerOf } from "./caller.js";
import { credentialsOf, refreshTokensOf, tokensOf } from "./credentials.js";
import type { SupersededTokens } from "./superseded-tokens.js";

export interface EndFormerSessionDeps {
  readonly authClient: Pick<AuthClient, "logOut">;
  readonly supersededTokens: Pick<SupersededTokens, "bySignIn">;
  readonly logger: Logger;
}

/**
 * The end of a session waits for most members of a database's set, for as long as a client would for its answer; by itself it is
 * done in milliseconds.
 */
const PATIENCE_MS = 1_500;

/**
 * Ends the session of the request's cookies, if any. A failure to do so does not stop the sign-in, and what takes long goes on
 * behind its answer.
 */
export async function endFormerSession(deps: EndFormerSessionDeps, request: Request): Promise<void> {
  const { cookies } = credentialsOf(request);
  // First: others of this browser's requests may be refused as soon as it has ended.
  for (const refreshToken of refreshTokensOf(cookies)) deps.supersededTokens.bySignIn.note(refreshToken);
  const caller = callerOf(request);
  const ends = tokensOf(cookies).map((session) =>
    // Whichever page it was made for: its cookies are about to be overwritten.
    deps.authClient.logOut(session, undefined, caller).catch((err: unknown) => {
      deps.logger.warn({ correlationId: caller.correlationId, err }, "former session not ended");
    }),
  );
  if (ends.length === 0) return;
  await Promise.race([Promise.all(ends), setTimeout(PATIENCE_MS, undefined, { ref: false })]);
}
