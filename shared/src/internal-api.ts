// The calls the gateway makes in its own name: their paths, bodies and answers, each checked by the service that receives it.
import { recordOf } from "./json.js";
import type { Identity, OAuthError, Provider } from "./oauth.js";
import { isOAuthError, isProvider } from "./oauth.js";
import { readTokenPair, type TokenPair } from "./token-pair.js";

/** All are POST with a JSON body and an assertion as Bearer token. */
export const INTERNAL_PATHS = {
  startFlow: "/internal/oauth/start-flow",
  takeFlow: "/internal/oauth/take-flow",
  signIn: "/internal/oauth/sign-in",
  redeem: "/internal/oauth/redeem",
  lendAccessToken: "/internal/auth/lend-access-token",
} as const;

/** A sign-in that begins. Secrets are sent as they are; all but the verifier are stored hashed. */
export interface StartFlow {
  readonly provider: Provider;
  /** Checked and canonical. */
  readonly redirect: string;
  readonly bridgePrefix: string;
  readonly state: string;
  /** `name=value` of the flow cookie: with the name, so that another spelling of it is another cookie. */
  readonly flowCookie: string;
  readonly codeVerifier: string;
  /** The flow stays on the app's own origin, so the callback will see the flow cookie. */
  readonly isOwnOrigin: boolean;
  /** Of the user who connects a provider to their account; null for a sign-in. */
  readonly accessToken: string | null;
}

/** A state that came back from the provider. */
export interface TakeFlow {
  readonly provider: Provider;
  readonly state: string;
  /** Every flow cookie of the request. */
  readonly flowCookies: readonly string[];
}

/** Whose account a provider is connected to, and the session that began this, which must live until it is done. */
export interface LinkWish {
  readonly userId: string;
  readonly sessionId: string;
}

/** A flow that was taken: it no longer exists. */
export interface Flow {
  readonly redirect: string;
  readonly bridgePrefix: string;
  readonly codeVerifier: string;
  readonly flowCookieHash: string;
  readonly isOwnOrigin: boolean;
  /** Null for a sign-in. */
  readonly link: LinkWish | null;
}

export interface SignIn {
  readonly flow: Pick<Flow, "redirect" | "flowCookieHash" | "isOwnOrigin" | "link">;
  readonly identity: Identity;
}

/** The bridge code, or why there is none. */
export type SignInAnswer = { readonly code: string } | { readonly error: OAuthError };

export interface Redeem {
  readonly code: string;
  readonly flowCookies: readonly string[];
  /** False only where OAUTH_REQUIRE_FLOW_COOKIE is. */
  readonly requireFlowCookie: boolean;
  /** The return address of the request, which must be that of the flow; null when it names none. */
  readonly redirect: string | null;
}

/** `unknown`: used, expired, or never one of ours. */
export type RedeemRefusal = "unknown" | "flow_cookie_missing" | "other_redirect";

export type RedeemAnswer =
  /** The hash tells which of the browser's flow cookies is used up. */
  | {
      readonly kind: "session";
      readonly redirect: string;
      readonly flowCookieHash: string;
      readonly tokens: TokenPair;
    }
  | { readonly kind: "linked"; readonly redirect: string; readonly flowCookieHash: string }
  | { readonly kind: "error"; readonly redirect: string; readonly error: OAuthError }
  | { readonly kind: "refused"; readonly reason: RedeemRefusal };

/** Asks for an access token for one call, without rotating the refresh token. */
export interface LendAccessToken {
  readonly refreshToken: string;
}

/** Null: the refresh token is not, or no longer, valid. */
export interface LendAccessTokenAnswer {
  readonly accessToken: string | null;
}

/** This and the other readers return undefined for anything that is not exactly of the shape. */
export function readStartFlow(body: unknown): StartFlow | undefined {
  const { provider, redirect, bridgePrefix, state, flowCookie, codeVerifier, isOwnOrigin, accessToken } =
    recordOf(body);
  if (!isProvider(provider) || !isText(redirect) || !isText(bridgePrefix) || !isText(state)) return undefined;
  if (!isText(flowCookie) || !isText(codeVerifier) || typeof isOwnOrigin !== "boolean") return undefined;
  if (accessToken !== null && !isText(accessToken)) return undefined;
  return { provider, redirect, bridgePrefix, state, flowCookie, codeVerifier, isOwnOrigin, accessToken };
}

export function readTakeFlow(body: unknown): TakeFlow | undefined {
  const { provider, state, flowCookies } = recordOf(body);
  if (!isProvider(provider) || !isText(state) || !isTexts(flowCookies)) return undefined;
  return { provider, state, flowCookies };
}

export function readFlow(body: unknown): Flow | undefined {
  const { redirect, bridgePrefix, codeVerifier, flowCookieHash, isOwnOrigin, ...rest } = recordOf(body);
  const link = readLinkWish(rest.link);
  if (!isText(redirect) || !isText(bridgePrefix) || !isText(codeVerifier)) return undefined;
  if (!isText(flowCookieHash) || typeof isOwnOrigin !== "boolean" || link === undefined) return undefined;
  return { redirect, bridgePrefix, codeVerifier, flowCookieHash, isOwnOrigin, link };
}

export function readSignIn(body: unknown): SignIn | undefined {
  const { flow, identity } = recordOf(body);
  const { redirect, flowCookieHash, isOwnOrigin, ...rest } = recordOf(flow);
  const link = readLinkWish(rest.link);
  const { provider, subject, email, emailVerified, name } = recordOf(identity);
  if (!isText(redirect) || !isText(flowCookieHash) || typeof isOwnOrigin !== "boolean") return undefined;
  if (link === undefined || !isProvider(provider) || !isText(subject)) return undefined;
  if (!isTextOrNull(email) || typeof emailVerified !== "boolean" || !isTextOrNull(name)) return undefined;
  return {
    flow: { redirect, flowCookieHash, isOwnOrigin, link },
    identity: { provider, subject, email, emailVerified, name },
  };
}

export function readSignInAnswer(body: unknown): SignInAnswer | undefined {
  const { code, error } = recordOf(body);
  if (isText(code)) return { code };
  return isOAuthError(error) ? { error } : undefined;
}

export function readRedeem(body: unknown): Redeem | undefined {
  const { code, flowCookies, requireFlowCookie, redirect } = recordOf(body);
  if (!isText(code) || !isTexts(flowCookies) || typeof requireFlowCookie !== "boolean") return undefined;
  return isTextOrNull(redirect) ? { code, flowCookies, requireFlowCookie, redirect } : undefined;
}

export function readRedeemAnswer(body: unknown): RedeemAnswer | undefined {
  const { kind, redirect, error, reason, tokens, flowCookieHash } = recordOf(body);
  if (kind === "refused") return isRefusal(reason) ? { kind, reason } : undefined;
  if (!isText(redirect)) return undefined;
  if (kind === "error") return isOAuthError(error) ? { kind, redirect, error } : undefined;
  if (!isText(flowCookieHash)) return undefined;
  if (kind === "linked") return { kind, redirect, flowCookieHash };
  const pair = readTokenPair(tokens);
  return kind === "session" && pair !== undefined
    ? { kind, redirect, flowCookieHash, tokens: pair }
    : undefined;
}

export function readLendAccessToken(body: unknown): LendAccessToken | undefined {
  const { refreshToken } = recordOf(body);
  return isText(refreshToken) ? { refreshToken } : undefined;
}

export function readLendAccessTokenAnswer(body: unknown): LendAccessTokenAnswer | undefined {
  const { accessToken } = recordOf(body);
  return isTextOrNull(accessToken) ? { accessToken } : undefined;
}

function readLinkWish(value: unknown): LinkWish | null | undefined {
  if (value === null) return null;
  const { userId, sessionId } = recordOf(value);
  return isText(userId) && isText(sessionId) ? { userId, sessionId } : undefined;
}

function isRefusal(value: unknown): value is RedeemRefusal {
  return value === "unknown" || value === "flow_cookie_missing" || value === "other_redirect";
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || isText(value);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText);
}
