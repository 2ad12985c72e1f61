// POST /api/login: e-mail and password become the session cookies; no token reaches a script.
import { SMALL_BODY_MAX_BYTES } from "@portico/shared/body-limits";
import type { Clock } from "@portico/shared/clock";
import { success } from "@portico/shared/envelope";
import { bodyOf, jsonBody } from "@portico/shared/json-body";
import type { Request, RequestHandler, Response } from "express";
import { writeSessionCookies } from "../cookies/session-cookies.js";
import { requireBodyType, requirePage } from "../http/page-rule.js";
import { callerOf } from "../session/caller.js";
import { type EndFormerSessionDeps, endFormerSession } from "../session/end-former-session.js";
import type { AuthClient } from "../upstream/auth-client.js";

export interface LoginDeps extends EndFormerSessionDeps {
  readonly appUrl: string;
  /** The app's own origin and ALLOWED_ORIGINS. */
  readonly pageOrigins: readonly string[];
  readonly authClient: Pick<AuthClient, "logIn" | "logOut">;
  readonly clock: Clock;
}

/** The handlers of the route, in order. The Authorization header is ignored. */
export function loginRoute(deps: LoginDeps): readonly RequestHandler[] {
  return [
    (request, _response, next) => {
      requirePage(request, deps.pageOrigins);
      requireBodyType(request, "json");
      next();
    },
    ...jsonBody(SMALL_BODY_MAX_BYTES),
    (request, response) => logIn(deps, request, response),
  ];
}

async function logIn(deps: LoginDeps, request: Request, response: Response): Promise<void> {
  const origin = browserOrigin(request, deps.appUrl);
  const body = bodyOf(request);
  // Not `??`: null is a body, and what is wrong with it is the data service's to say.
  const given = body === undefined ? {} : body;
  const result = await deps.authClient.logIn(given, origin, callerOf(request));
  if (result.kind === "refused") throw result.error;
  // As after every refresh: the browser lives on that origin, whose scheme decides the spelling.
  writeSessionCookies(response, origin ?? deps.appUrl, result.tokens, deps.clock.now());
  await endFormerSession(deps, request);
  const { expTime, refreshExpTime, loginProvider } = result.tokens;
  response.json({ ...success(200), expTime, refreshExpTime, loginProvider });
}

/** The origin the session is for; undefined for a program that is not a browser. */
function browserOrigin(request: Request, appUrl: string): string | undefined {
  const { origin, "sec-fetch-site": site } = request.headers;
  return origin ?? (site === undefined ? undefined : appUrl);
}
