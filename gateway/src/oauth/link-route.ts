// POST /api/auth/{provider}/link: a signed-in user connects a provider; the answer says where to go.
import { setTimeout } from "node:timers/promises";
import { AppError } from "@portico/shared/app-error";
import { badToken, bearerToken, isAboutToken, signInNeeded } from "@portico/shared/bearer-token";
import { beside } from "@portico/shared/beside";
import { SMALL_BODY_MAX_BYTES } from "@portico/shared/body-limits";
import { success } from "@portico/shared/envelope";
import { recordOf } from "@portico/shared/json";
import { bodyOf, jsonBody } from "@portico/shared/json-body";
import type { Provider } from "@portico/shared/oauth";
import type { Request, RequestHandler, Response } from "express";
import { requireBodyType, requirePage, requireSessionPage } from "../http/page-rule.js";
import { receivedFrom } from "../session/caller.js";
import { chooseRenewal } from "../session/choose-renewal.js";
import { credentialsOf, reliesOnCookies } from "../session/credentials.js";
import {
  answerDeadline,
  type LoadSessionDeps,
  loadSession,
  type RefreshedAnswerLimits,
  refreshSession,
  type Session,
} from "../session/load-session.js";
import type { AuthClient } from "../upstream/auth-client.js";
import { notInTime } from "../upstream/upstream-error.js";
import { type BeginDeps, begin, requireReturnTarget } from "./begin.js";
import type { ReturnTarget } from "./return-target.js";

export interface LinkDeps extends BeginDeps, LoadSessionDeps {
  readonly authClient: Pick<AuthClient, "requireSession">;
  readonly limits: RefreshedAnswerLimits;
}

const KEYS = ["redirect", "cookieBridgePrefix"];

/** It goes to the data service in a body of limited size; our tokens have a few hundred characters. */
const LONGEST_TOKEN = 8_192;

/** Who connects a provider. */
interface Linker {
  readonly session: Session;
  readonly accessToken: string;
}

const linkers = beside<Request, Linker>();

/** The handlers of the route, in order. The page is judged before anything is read (security row B4), then the caller. */
export function linkRoute(deps: LinkDeps, provider: Provider): readonly RequestHandler[] {
  return [
    async (request, response, next) => {
      if (reliesOnCookies(credentialsOf(request))) {
        requirePage(request, deps.pageOrigins);
        requireBodyType(request, "json");
      }
      linkers.set(request, await requireLinker(deps, request, response));
      next();
    },
    ...jsonBody(SMALL_BODY_MAX_BYTES),
    async (request, response) => {
      const linker = linkers.get(request);
      if (linker === undefined) throw new Error("the caller must be known before this handler");
      response.json({ ...success(200), url: await link(deps, provider, linker, request, response) });
    },
  ];
}

/**
 * @throws AppError 401 for a caller who is nobody, FORBIDDEN for an API token, and for a page of another origin than the
 * session's
 */
async function requireLinker(deps: LinkDeps, request: Request, response: Response): Promise<Linker> {
  const received = receivedFrom(request);
  const renewal = () => chooseRenewal("json", request, deps.pageOrigins);
  const session = await loadSession(deps, credentialsOf(request), renewal, received, response);
  const prove = async (who: Session): Promise<Linker> => {
    const accessToken = accessTokenOf(who, request);
    await inTime(deps, who, deps.authClient.requireSession(accessToken, received.caller));
    return { session: who, accessToken };
  };
  return prove(session).catch(async (error: unknown) => {
    // As for forwarded requests: a token that looks fresh but is no longer accepted is replaced or cleared, once.
    if (session.kind !== "cookie" || session.carried === undefined || !isAboutToken(error)) throw error;
    return prove(await refreshSession(deps, session.carried, received, response));
  });
}

/** @returns where the user goes next */
async function link(
  deps: LinkDeps,
  provider: Provider,
  { session, accessToken }: Linker,
  request: Request,
  response: Response,
): Promise<string> {
  const target = requireReturnTarget(readBody(bodyOf(request)), deps);
  requireOwnOrigin(target, session);
  return inTime(deps, session, begin(deps, provider, target, accessToken, request, response));
}

/** @throws AppError QUERY_TIMEOUT when the answer has to leave, as forwarded ones have, for the cookies that it brings */
async function inTime<Value>({ limits }: LinkDeps, session: Session, work: Promise<Value>): Promise<Value> {
  const answerBy = answerDeadline(limits, session);
  if (answerBy === undefined) return work;
  const ended = new AbortController();
  const leftMs = Math.max(0, answerBy - performance.now());
  const late = setTimeout(leftMs, undefined, { signal: ended.signal }).then(() => {
    throw notInTime(new Error("The cookies of a refresh had to leave."));
  });
  return Promise.race([work, late]).finally(() => ended.abort());
}

/** @throws AppError UNAUTHORIZED when nobody is signed in, FORBIDDEN for a page of another origin than the session's */
function accessTokenOf(session: Session, request: Request): string {
  if (session.kind === "anonymous") throw signInNeeded();
  if (session.kind === "cookie") requireSessionPage(request, session.origin);
  const token = bearerToken(session.authorization);
  if (token === undefined || token.length > LONGEST_TOKEN) throw badToken();
  return token;
}

/** The cookie of the flow is of the page's origin, and has to come along to the bridge. @throws AppError VALIDATION_ERROR */
function requireOwnOrigin({ origin }: ReturnTarget, session: Session): void {
  if (session.kind !== "cookie" || session.origin === origin) return;
  const message = [`redirect: must be on ${session.origin}, where this session was begun`];
  throw new AppError("VALIDATION_ERROR", { message });
}

/** @throws AppError VALIDATION_ERROR with every violation */
function readBody(body: unknown): { redirect: string | undefined; cookieBridgePrefix: string | undefined } {
  const entries = new Map(Object.entries(recordOf(body)));
  const violations = [...entries].flatMap(([key, value]) => {
    if (!KEYS.includes(key)) return [`${key}: unknown key; expected ${KEYS.join(", ")}`];
    return typeof value === "string" ? [] : [`${key}: must be text`];
  });
  if (!entries.has("redirect")) violations.push("redirect: is required");
  if (violations.length > 0) throw new AppError("VALIDATION_ERROR", { message: violations });
  const text = (key: string): string | undefined => {
    const value = entries.get(key);
    return typeof value === "string" ? value : undefined;
  };
  return { redirect: text("redirect"), cookieBridgePrefix: text("cookieBridgePrefix") };
}
