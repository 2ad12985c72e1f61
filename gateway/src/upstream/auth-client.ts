// The gateway's own calls to the data service: log in, refresh, log out, is it ready.
import { AppError } from "@portico/shared/app-error";
import { isAboutToken } from "@portico/shared/bearer-token";
import type { ErrorCode } from "@portico/shared/error-codes";
import { recordOf } from "@portico/shared/json";
import { ORIGIN_HEADER } from "@portico/shared/session-page";
import { readTokenPair, type TokenPair } from "@portico/shared/token-pair";
import { readAccessClaims } from "../session/access-claims.js";
import type { CookieTokens } from "../session/credentials.js";
import {
  type Answer,
  type Caller,
  type CallSettings,
  call,
  callerHeaders,
  postJson,
  refusalOf,
  senseless,
} from "./call.js";
import { isLostAnswer } from "./upstream-error.js";

/** The session made, or the data service's refusal (wrong password, invalid body, too many tries). */
export type LoginResult =
  | { readonly kind: "session"; readonly tokens: TokenPair }
  | { readonly kind: "refused"; readonly error: AppError };

/** `refused` only when the data service said that this token is not valid; every other failure is thrown. */
export type RefreshResult =
  /**
   * `replacedAt` (`performance.now`): not after the moment when the token that was presented was replaced, from which on it is
   * good for a while. Whoever asks again is told of a replacement that was made before.
   */
  | { readonly kind: "session"; readonly tokens: TokenPair; readonly replacedAt: number }
  | { readonly kind: "refused" };

/**
 * What names the session to end: the tokens of the cookies, which may name two, or an Authorization header as the client wrote it.
 */
export type SessionName = CookieTokens | { readonly authorization: string };

/**
 * Every method but `isReady` throws AppError BAD_GATEWAY when the data service can not be reached or its answer makes no
 * sense, QUERY_TIMEOUT when it does not answer in time.
 */
export interface AuthClient {
  /** @param origin the web origin the session is for; undefined when no browser asks */
  logIn(body: unknown, origin: string | undefined, caller: Caller): Promise<LoginResult>;
  /** Asks once more where the answer was lost. */
  refresh(refreshToken: string, caller: Caller): Promise<RefreshResult>;
  /**
   * Resolves for unknown sessions of cookies, too: there is nothing left to end. The session behind a header that is refused
   * may well live on, so that refusal is thrown, and so is FORBIDDEN when the session was made for another page.
   * @param page the origin of the page that asks, where cookies name the session; undefined when no browser asks
   */
  logOut(session: SessionName, page: string | undefined, caller: Caller): Promise<void>;
  /**
   * For a call of the gateway's own that is for sessions alone. Only the data service can tell; asking for the user's providers
   * is the least that it answers nobody else.
   * @throws AppError INVALID_TOKEN or TOKEN_EXPIRED for a token that is not, or no longer, good, FORBIDDEN for an API token
   */
  requireSession(token: string, caller: Caller): Promise<void>;
  /** False where it can not be reached, too. */
  isReady(): Promise<boolean>;
}

interface AuthClientSettings extends CallSettings {
  readonly readyTimeoutMs: number;
}

/** Codes for a token that is not, or no longer, valid; VALIDATION_ERROR means it is too malformed to be ours. */
const NO_REFRESH_TOKEN: ReadonlySet<ErrorCode> = new Set(["INVALID_TOKEN", "VALIDATION_ERROR"]);

/** For asking once more where there was no answer in time: the client has waited long enough. */
const AGAIN_MS = 2_000;

export function makeAuthClient(settings: AuthClientSettings): AuthClient {
  const logOut: AuthClient["logOut"] = async (session, page, caller) => {
    const { body, headers } = nameSession(session);
    const allHeaders = { ...pageHeader(page), ...headers };
    const answer = await postJson(settings, "/auth/logout", body, caller, allHeaders);
    // A page from something in between may be a 200 as well; the session would live on, with nothing left to end it.
    if (answer.status === 200 && recordOf(answer.body).statusCode === 200) return;
    const refusal = refusalOf(answer);
    if ("authorization" in session || !isAboutToken(refusal)) throw refusal;
    // Where a cookie's token is no longer good, it has nothing to end; the other one may.
    const { accessToken, refreshToken } = session;
    if (accessToken !== undefined && refreshToken !== undefined) await logOut({ refreshToken }, page, caller);
  };
  return {
    async logIn(body, origin, caller) {
      const answer = await postJson(settings, "/auth/login", body, caller, pageHeader(origin));
      if (answer.status === 200) return { kind: "session", tokens: tokensOf(answer) };
      return { kind: "refused", error: refusalOf(answer) };
    },
    async refresh(refreshToken, caller) {
      const askedAt = performance.now();
      const ask = async (timeoutMs = settings.timeoutMs): Promise<RefreshResult> => {
        const within = { ...settings, timeoutMs };
        const answer = await postJson(within, "/auth/refresh-token", { refreshToken }, caller);
        if (answer.status === 200) {
          const tokens = tokensOf(answer);
          return {
            kind: "session",
            tokens,
            replacedAt: Math.min(askedAt, performance.now() - ageMs(tokens, answer)),
          };
        }
        const refusal = refusalOf(answer);
        if (NO_REFRESH_TOKEN.has(refusal.code)) return { kind: "refused" };
        throw refusal;
      };
      // The refresh may be done, and only who asks again soon is told its outcome.
      return ask().catch((error: unknown) => {
        if (!isLostAnswer(error)) throw error;
        return ask(isTimeout(error) ? AGAIN_MS : undefined);
      });
    },
    logOut,
    async requireSession(token, caller) {
      const headers = { ...callerHeaders(caller), Authorization: `Bearer ${token}` };
      const url = `${settings.dataServiceUrl}/me/oauth-accounts`;
      const answer = await call(settings.fetch, url, settings.timeoutMs, { headers });
      if (answer.status !== 200 || recordOf(answer.body).statusCode !== 200) throw refusalOf(answer);
    },
    async isReady() {
      const { dataServiceUrl, readyTimeoutMs } = settings;
      const asked = call(settings.fetch, `${dataServiceUrl}/readyz`, readyTimeoutMs, {});
      const answer = await asked.catch(() => undefined);
      return answer?.status === 200 && recordOf(answer.body).status === "ready";
    },
  };
}

/** How long before its answer the data service made these tokens, which it says again to whoever asks again. By its own clock. */
function ageMs({ accessToken }: TokenPair, { date }: Answer): number {
  const age = Date.parse(date ?? "") - (readAccessClaims(accessToken)?.issuedAtMs ?? Number.NaN);
  // Both are whole seconds.
  return age > 1_000 ? age : 0;
}

function isTimeout(error: unknown): boolean {
  return error instanceof AppError && error.code === "QUERY_TIMEOUT";
}

function nameSession(session: SessionName): { body: unknown; headers: Record<string, string> } {
  if ("authorization" in session) return { body: {}, headers: { Authorization: session.authorization } };
  const { accessToken, refreshToken } = session;
  const headers = accessToken === undefined ? {} : { Authorization: `Bearer ${accessToken}` };
  return { body: { refreshToken }, headers };
}

/** Names the web origin for which the tokens are kept in cookies. */
function pageHeader(origin: string | undefined): Record<string, string> {
  return origin === undefined ? {} : { [ORIGIN_HEADER]: origin };
}

function tokensOf(answer: Answer): TokenPair {
  const tokens = readTokenPair(answer.body);
  if (tokens === undefined) throw senseless(answer);
  return tokens;
}
