// A checked request to sign in -> a stored flow, its cookie, and the provider's address to go to.
import { randomBytes } from "node:crypto";
import { AppError } from "@portico/shared/app-error";
import type { Clock } from "@portico/shared/clock";
import type { Provider } from "@portico/shared/oauth";
import type { Request, Response } from "express";
import { flowCookieText, makeFlowCookie, writeFlowCookie } from "../cookies/flow-cookie.js";
import { callerOf } from "../session/caller.js";
import type { IdentityClient } from "../upstream/identity-client.js";
import type { OAuthSettings } from "./oauth-settings.js";
import { type ReturnTarget, readReturnTarget } from "./return-target.js";
import { startStore } from "./state-store.js";
import { runStrategy } from "./strategies/strategy.js";

export interface BeginDeps {
  readonly appUrl: string;
  /** The app's own origin and ALLOWED_ORIGINS. */
  readonly pageOrigins: readonly string[];
  /** By origin, where ALLOWED_ORIGINS names one. */
  readonly bridgePrefixes: ReadonlyMap<string, string>;
  readonly oauth: OAuthSettings;
  readonly identityClient: Pick<IdentityClient, "startFlow">;
  readonly clock: Clock;
}

/** @throws AppError BAD_REQUEST that says what would be right; nothing has been stored by then */
export function requireReturnTarget(
  given: { readonly redirect: string | undefined; readonly cookieBridgePrefix: string | undefined },
  { pageOrigins, bridgePrefixes }: Pick<BeginDeps, "pageOrigins" | "bridgePrefixes">,
): ReturnTarget {
  const verdict = readReturnTarget(given, pageOrigins, bridgePrefixes);
  if (verdict.kind === "refused") throw new AppError("BAD_REQUEST", verdict.message);
  return verdict.value;
}

/**
 * Sets the flow cookie on the response.
 * @param accessToken of the user who connects the provider; null for a sign-in
 * @returns the provider's address
 */
export async function begin(
  deps: BeginDeps,
  provider: Provider,
  target: ReturnTarget,
  accessToken: string | null,
  request: Request,
  response: Response,
): Promise<string> {
  const now = deps.clock.now();
  const cookie = makeFlowCookie(target.origin, now);
  const state = randomBytes(32).toString("base64url");
  const { redirect, origin, bridgePrefix } = target;
  const keep = async (codeVerifier: string): Promise<string> => {
    const flow = {
      provider,
      redirect,
      bridgePrefix,
      state,
      flowCookie: flowCookieText(cookie),
      codeVerifier,
    };
    const isOwnOrigin = origin === deps.appUrl;
    await deps.identityClient.startFlow({ ...flow, isOwnOrigin, accessToken }, callerOf(request));
    return state;
  };
  const outcome = await runStrategy(deps.oauth.of(provider), startStore(keep), request, {});
  if (outcome.kind === "redirect") {
    writeFlowCookie(request, response, cookie, now);
    return outcome.url;
  }
  throw outcome.kind === "failed" ? outcome.cause : new Error("the strategy began without a redirect");
}
