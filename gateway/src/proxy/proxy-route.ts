// /api/**: how a call reaches the data service, from its session to the bytes.
import type { IncomingHttpHeaders } from "node:http";
import { AppError } from "@portico/shared/app-error";
import { discardBody } from "@portico/shared/discard-body";
import { announcesTooMuch } from "@portico/shared/has-body";
import { notFound } from "@portico/shared/http-context";
import { withoutBodyDeadline } from "@portico/shared/server";
import type { Request, RequestHandler, Response } from "express";
import type { Limits } from "../config.js";
import { isSpecialBody, type RouteKind } from "../http/media-type.js";
import { requireBodyType, requirePage, requireSessionPage } from "../http/page-rule.js";
import { type Received, receivedFrom } from "../session/caller.js";
import { chooseRenewal } from "../session/choose-renewal.js";
import { credentialsOf, headerOf, reliesOnCookies } from "../session/credentials.js";
import { mayBeGivenUp } from "../session/decide-renewal.js";
import {
  answerDeadline,
  borrowSession,
  type LoadSessionDeps,
  loadSession,
  type RefreshedAnswerLimits,
  refreshSession,
  type Session,
} from "../session/load-session.js";
import {
  type ApiCall,
  ignoresCookies,
  ignoresSession,
  isClosed,
  isLogIn,
  isRefresh,
  isUnsafe,
  routeKind,
} from "./api-route.js";
import { type BodyLimit, bodyLimit } from "./body-limit.js";
import type { Forward } from "./forward.js";
import type { FindFile, RecentFile } from "./recent-files.js";
import { type OwnHeaders, upstreamRequestHeaders } from "./request-headers.js";
import { readTarget } from "./target.js";

export interface ProxyDeps extends LoadSessionDeps {
  readonly dataServiceUrl: string;
  readonly bodyMaxBytes: number;
  readonly uploadMaxBytes: number;
  readonly systemTablePrefix: string;
  readonly limits: Pick<Limits, "lingerMs" | "uploadTimeoutMs" | "importTimeoutMs"> & RefreshedAnswerLimits;
  readonly forward: Forward;
  readonly findFile: FindFile;
}

/** Mount it on the whole app, behind `findSessionCookies` and before any body parser. */
export function proxyRoute(deps: ProxyDeps): RequestHandler {
  const addresses = addressesOf(deps);
  return async (request, response, next) => {
    const target = readTarget(request.url);
    if (target === undefined) return next();
    const call = { method: request.method, path: target.path };
    if (isClosed(call)) return notFound(request, response, next);
    const route = routeKind(call, deps.systemTablePrefix);
    const body = isSpecialBody(request.headers["content-type"], route) ? route : "json";
    const limit = checkBodySize(deps, { route, body }, request, response);
    const received = receivedFrom(request);
    const { session, renew } = await actingFor(deps, call, { route, body }, { request, received, response });
    const file = deps.findFile(call, target.query, received.headers);
    const own = { ...addresses, ...pagesFor(call, deps, received) };
    const termsFor = (who: Session) => ({
      headers: upstreamHeaders(own, who, file?.known, call.method, received),
      answerBy: answerDeadline(deps.limits, who),
    });
    deps.forward(
      {
        pathAndQuery: target.path + target.query,
        ...termsFor(session),
        bodyLimit: limit,
        file,
        ...(renew && { renew: async () => termsFor(await renew()) }),
        ...timesFor(body, deps, request),
      },
      request,
      response,
      next,
    );
  };
}

/** An imported file is read as fast as its records are written, and may take any time as long as something moves. */
function timesFor(body: RouteKind, { limits }: ProxyDeps, request: Request) {
  if (body === "upload") return { answerTimeoutMs: limits.uploadTimeoutMs };
  if (body === "json") return {};
  withoutBodyDeadline(request);
  return { answerTimeoutMs: limits.importTimeoutMs, bodyStallMs: limits.importTimeoutMs };
}

/** What a request's route takes beside JSON, and what its own body is. */
interface Kinds {
  readonly route: RouteKind;
  readonly body: RouteKind;
}

/**
 * Refuses by `Content-Length` before any other work is done; chunked bodies are counted on their way. For imports the data
 * service does both.
 */
function checkBodySize(
  deps: ProxyDeps,
  { route, body }: Kinds,
  request: Request,
  response: Response,
): BodyLimit {
  const limit = bodyLimit(body, deps);
  if (announcesTooMuch(request.headers, limit.bytes)) {
    discardBody(request, response, deps.limits.lingerMs);
    // A file at a wrong address would be no better with a larger limit.
    requireBodyType(request, route);
    throw new AppError("PAYLOAD_TOO_LARGE", limit.refusal);
  }
  return limit;
}

/** Who a request acts for. */
interface Acting {
  readonly session: Session;
  /** Who it acts for if the data service refuses the token that was in a cookie. */
  readonly renew?: () => Promise<Session>;
}

/** A request that has arrived, and where its answer goes. */
interface Arrived {
  readonly request: Request;
  readonly received: Received;
  readonly response: Response;
}

/**
 * The page of a write is checked twice: before a refresh, and again once the session's origin is known. Reads may come from any;
 * for those of a page that is not served the session is not refreshed (`mayBeGivenUp`).
 */
async function actingFor(
  deps: ProxyDeps,
  call: ApiCall,
  { route, body }: Kinds,
  { request, received, response }: Arrived,
): Promise<Acting> {
  if (ignoresSession(call)) return { session: { kind: "anonymous" } };
  const credentials = ignoresCookies(call) ? headerOf(request) : credentialsOf(request);
  const isJudged = isUnsafe(call) && reliesOnCookies(credentials);
  if (isJudged) {
    requirePage(received, deps.pageOrigins);
    requireBodyType(received, route);
  }
  const judged = (session: Session): Session => {
    if (isJudged && session.kind === "cookie") requireSessionPage(received, session.origin);
    return session;
  };
  const renewal = () => chooseRenewal(body, request, deps.pageOrigins);
  const session = judged(await loadSession(deps, credentials, renewal, received, response));
  // A token is refused before the body is read: the answer and its new cookies leave at once, however large that is.
  const carried = session.kind === "cookie" ? session.carried : undefined;
  if (carried === undefined) return { session };
  const renewed = () =>
    mayBeGivenUp(received.headers, deps.pageOrigins)
      ? borrowSession(deps, carried, received)
      : refreshSession(deps, carried, received, response);
  return { session, renew: async () => judged(await renewed()) };
}

/** What every upstream request says of the two services' addresses. */
type Addresses = Pick<OwnHeaders, "host" | "publicHost" | "publicProtocol">;

function addressesOf(deps: ProxyDeps): Addresses {
  const app = new URL(deps.appUrl);
  return {
    host: new URL(deps.dataServiceUrl).host,
    publicHost: app.host,
    publicProtocol: app.protocol.slice(0, -1),
  };
}

/** What the data service is told of pages where it makes or continues a session. */
type Pages = Pick<OwnHeaders, "origin" | "pageOrigins">;

function pagesFor(
  call: ApiCall,
  { pageOrigins }: Pick<ProxyDeps, "pageOrigins">,
  { headers: { origin } }: Received,
): Pages {
  const isPage = origin !== undefined && pageOrigins.includes(origin);
  return {
    origin: isLogIn(call) && isPage ? origin : undefined,
    pageOrigins: isRefresh(call) ? pageOrigins : undefined,
  };
}

/** @param known a file that is asked for only if it has become another one */
function upstreamHeaders(
  own: Addresses & Pages,
  session: Session,
  known: RecentFile | undefined,
  method: string,
  { headers: ofClient, caller }: Received,
): IncomingHttpHeaders {
  const headers = upstreamRequestHeaders(method, ofClient, {
    ...own,
    correlationId: caller.correlationId,
    authorization: session.kind === "anonymous" ? undefined : session.authorization,
    clientAddress: caller.address,
  });
  if (known !== undefined) headers["if-none-match"] = known.etag;
  return headers;
}
