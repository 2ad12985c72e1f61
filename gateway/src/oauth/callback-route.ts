// GET /api/auth/{provider}/callback: the browser is back from the provider. Mints the bridge code, and no session.
import { AppError } from "@portico/shared/app-error";
import type { Clock } from "@portico/shared/clock";
import type { Flow } from "@portico/shared/internal-api";
import type { Logger } from "@portico/shared/logger";
import type { Identity, OAuthError, Provider } from "@portico/shared/oauth";
import type { Request, RequestHandler } from "express";
import { flowCookiesOf } from "../cookies/flow-cookie.js";
import { callerOf } from "../session/caller.js";
import type { IdentityClient } from "../upstream/identity-client.js";
import { type BridgeMessage, bridgeUrl } from "./bridge-url.js";
import { callbackError, isIssuer, loggedReason } from "./callback-error.js";
import type { OAuthSettings } from "./oauth-settings.js";
import { type OAuthQuery, readOAuthQuery } from "./query.js";
import { returnStore } from "./state-store.js";
import { runStrategy } from "./strategies/strategy.js";
import { ProviderUnavailable } from "./strategies/transport.js";
import { unfinished } from "./unfinished.js";

export interface CallbackDeps {
  readonly oauth: OAuthSettings;
  readonly identityClient: Pick<IdentityClient, "takeFlow" | "signIn">;
  readonly clock: Clock;
  readonly logger: Logger;
}

const NAMES = ["state", "code", "error", "error_code", "iss"];

/** Takes the flow first: what the provider says, an error included, counts only for a flow of ours. */
export function callbackRoute(deps: CallbackDeps, provider: Provider): RequestHandler {
  return async (request, response) => {
    const query = readOAuthQuery(request.url, NAMES);
    const state = query.get("state");
    const flow = await takeFlow(deps, provider, state, request);
    if (state === undefined || flow === undefined) throw foreignState();
    const message = await finish(deps, provider, { ...flow, state }, query, request);
    const { redirect, bridgePrefix } = flow;
    const location = bridgeUrl({ redirect, bridgePrefix, origin: new URL(redirect).origin }, message);
    // An empty fragment ends one that came along, which would reach the app.
    const end = deps.oauth.of(provider).row.addsFragment ? "#" : "";
    response
      .status(302)
      .set("Location", location + end)
      .end();
  };
}

async function takeFlow(
  { identityClient, clock }: CallbackDeps,
  provider: Provider,
  state: string | undefined,
  request: Request,
): Promise<Flow | undefined> {
  if (state === undefined || !/^[\w-]{43}$/.test(state)) return undefined;
  const flowCookies = flowCookiesOf(request, clock.now());
  return identityClient.takeFlow({ provider, state, flowCookies }, callerOf(request));
}

function foreignState(): AppError {
  return new AppError("BAD_REQUEST", {
    message: "state: no sign-in is under way with it in this browser, or it took too long; begin again.",
    details: { reason: "state_unknown" },
  });
}

async function finish(
  deps: CallbackDeps,
  provider: Provider,
  flow: Flow & { readonly state: string },
  query: OAuthQuery,
  request: Request,
): Promise<BridgeMessage> {
  const code = query.get("code");
  // Facebook sends its own name for some errors.
  const error = query.get("error") ?? query.get("error_code");
  const refusedFor = (reason: string): void =>
    deps.logger.warn(
      { correlationId: callerOf(request).correlationId, provider, reason },
      "provider refused",
    );
  if (error !== undefined) {
    // People may change their minds.
    if (error !== "access_denied") refusedFor(loggedReason(error));
    return { error: callbackError(error) };
  }
  const { settings } = deps.oauth.of(provider);
  const isFromIssuer = isIssuer(query.get("iss"), settings.authorizationUrl);
  if (code === undefined || code === "" || !isFromIssuer) {
    refusedFor(isFromIssuer ? "no code" : "another issuer");
    return { error: "provider_error" };
  }
  const result = await identify(deps, provider, flow, code, request);
  if ("error" in result) return result;
  return deps.identityClient
    .signIn({ flow, identity: result }, callerOf(request))
    .catch((error: unknown) => ({ error: unfinished(deps, request, error, { provider }) }));
}

/** Asks the provider who it is, within the time budget. */
async function identify(
  { oauth, logger }: CallbackDeps,
  provider: Provider,
  { state, codeVerifier }: Flow & { readonly state: string },
  code: string,
  request: Request,
): Promise<Identity | { readonly error: OAuthError }> {
  const configured = oauth.of(provider);
  const store = returnStore({ state, codeVerifier });
  const outcome = await runStrategy(configured, store, request, { state, code });
  const identity = outcome.kind === "profile" ? configured.row.identity(outcome.profile) : undefined;
  if (identity !== undefined) return identity;
  const cause = outcome.kind === "failed" ? outcome.cause : new Error("the profile names nobody");
  const { correlationId } = callerOf(request);
  logger.warn({ correlationId, provider, reasons: reasonsOf(cause) }, "provider gave no identity");
  return { error: cause instanceof ProviderUnavailable ? "provider_unavailable" : "provider_error" };
}

/** Only the messages along the chain of causes: the provider's answer itself may hold secrets. */
function reasonsOf(cause: unknown): readonly string[] {
  if (!(cause instanceof Error)) return [];
  // A parser quotes what it could not read.
  const reason = cause instanceof SyntaxError ? cause.name : cause.message || cause.name;
  return [reason, ...reasonsOf(cause.cause)];
}
