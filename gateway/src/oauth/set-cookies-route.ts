// GET /api/auth/set-cookies: the bridge. The code and the cookie of the browser that began become the session cookies.
import { AppError } from "@portico/shared/app-error";
import type { Clock } from "@portico/shared/clock";
import type { RedeemAnswer, RedeemRefusal } from "@portico/shared/internal-api";
import { isOAuthError } from "@portico/shared/oauth";
import type { Request, RequestHandler, Response } from "express";
import { clearFlowCookie, flowCookiesOf } from "../cookies/flow-cookie.js";
import { writeSessionCookies } from "../cookies/session-cookies.js";
import { callerOf } from "../session/caller.js";
import { type EndFormerSessionDeps, endFormerSession } from "../session/end-former-session.js";
import type { IdentityClient } from "../upstream/identity-client.js";
import { withError } from "./bridge-url.js";
import { readOAuthQuery } from "./query.js";
import { readRedirect } from "./return-target.js";
import { unfinished } from "./unfinished.js";

export interface SetCookiesDeps extends EndFormerSessionDeps {
  /** The app's own origin and ALLOWED_ORIGINS. */
  readonly pageOrigins: readonly string[];
  /** OAUTH_REQUIRE_FLOW_COOKIE */
  readonly requireFlowCookie: boolean;
  readonly identityClient: Pick<IdentityClient, "redeem">;
  readonly clock: Clock;
}

const REFUSALS: Readonly<Record<RedeemRefusal, string>> = {
  unknown: "code: it was used, has expired, or is none of ours; sign in again.",
  flow_cookie_missing:
    "flow_cookie_missing: this browser did not begin this sign-in on this origin. Begin it below the prefix of the app that shows the page, such as /portal/auth/google; for apps that can't, see OAUTH_REQUIRE_FLOW_COOKIE.",
  other_redirect: "redirect: is not the one this sign-in began with.",
};

export function setCookiesRoute(deps: SetCookiesDeps): RequestHandler {
  return async (request, response) => {
    const query = readOAuthQuery(request.url, ["code", "error", "redirect"]);
    const [code, error] = [query.get("code"), query.get("error")];
    if ((code === undefined) === (error === undefined)) {
      throw new AppError("BAD_REQUEST", "code: give either a code or an error.");
    }
    const location =
      code === undefined
        ? errorTarget(deps, error, query.get("redirect"))
        : await redeem(deps, code, query.get("redirect"), request, response);
    response.status(302).set("Location", location).end();
  };
}

/** Where an error is told; it must not become an open redirect either (security row A17). */
function errorTarget(deps: SetCookiesDeps, error: string | undefined, redirect: string | undefined): string {
  if (!isOAuthError(error)) throw new AppError("BAD_REQUEST", "error: is none of those we give.");
  return withError(checkedRedirect(deps, redirect), error);
}

function checkedRedirect({ pageOrigins }: SetCookiesDeps, redirect: string | undefined): string {
  const verdict = readRedirect(redirect, pageOrigins);
  if (verdict.kind === "refused") throw new AppError("BAD_REQUEST", verdict.message);
  return verdict.value.href;
}

async function redeem(
  deps: SetCookiesDeps,
  code: string,
  given: string | undefined,
  request: Request,
  response: Response,
): Promise<string> {
  const redirect = given === undefined ? null : checkedRedirect(deps, given);
  if (!/^[\w-]{43}$/.test(code)) throw refusal("unknown");
  const wish = { code, redirect, flowCookies: flowCookiesOf(request, deps.clock.now()) };
  const { requireFlowCookie } = deps;
  const answer = await deps.identityClient
    .redeem({ ...wish, requireFlowCookie }, callerOf(request))
    .catch((error: unknown): RedeemAnswer => {
      // It may be known only to the data service.
      if (redirect === null) throw error;
      return { kind: "error", redirect, error: unfinished(deps, request, error) };
    });
  return arrive(deps, answer, request, response);
}

async function arrive(
  deps: SetCookiesDeps,
  answer: RedeemAnswer,
  request: Request,
  response: Response,
): Promise<string> {
  if (answer.kind === "refused") throw refusal(answer.reason);
  if (answer.kind === "error") return withError(answer.redirect, answer.error);
  if (answer.kind === "session") {
    // For the origin the browser returns to, which is where it is now.
    writeSessionCookies(response, new URL(answer.redirect).origin, answer.tokens, deps.clock.now());
    await endFormerSession(deps, request);
  }
  clearFlowCookie(request, response, answer.flowCookieHash, deps.clock.now());
  return answer.redirect;
}

function refusal(reason: RedeemRefusal): AppError {
  return new AppError("BAD_REQUEST", { message: REFUSALS[reason], details: { reason } });
}
