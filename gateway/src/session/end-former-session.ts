// Ends the session that a browser had before it signs in anew: a planted or forgotten one must not live on beside the new
// one (security row A2).
import type { Logger } from "@portico/shared/logger";
import type { Request } from "express";
import type { AuthClient } from "../upstream/auth-client.js";
import { callerOf } from "./caller.js";
import { credentialsOf } from "./credentials.js";
import type { SupersededTokens } from "./superseded-tokens.js";

export interface EndFormerSessionDeps {
  readonly authClient: Pick<AuthClient, "logOut">;
  readonly supersededTokens: Pick<SupersededTokens, "bySignIn">;
  readonly logger: Logger;
}

/** Ends the session of the request's cookies, if any. A failure to do so does not stop the sign-in. */
export async function endFormerSession(deps: EndFormerSessionDeps, request: Request): Promise<void> {
  const { cookies } = credentialsOf(request);
  if (cookies.kind !== "present" || cookies.refreshToken === undefined) return;
  // First: others of this browser's requests may be refused as soon as it has ended.
  deps.supersededTokens.bySignIn.note(cookies.refreshToken);
  const caller = callerOf(request);
  // Whichever page it was made for: its cookies are about to be overwritten.
  await deps.authClient
    .logOut({ refreshToken: cookies.refreshToken }, undefined, caller)
    .catch((err: unknown) => {
      deps.logger.warn({ correlationId: caller.correlationId, err }, "former session not ended");
    });
}
