// Decides what becomes of an answer of the data service. Pure.
import type { IncomingHttpHeaders } from "node:http";
import { BAD_TOKEN } from "@portico/shared/bearer-token";
import { isEventStreamType } from "@portico/shared/event-stream";
import { isOwnError } from "../http/own-error.js";

/** The head of an answer. */
export interface AnswerHead {
  readonly statusCode?: number | undefined;
  readonly headers: IncomingHttpHeaders;
}

/**
 * What is done with an answer: `renew` replaces a token that is no longer accepted, `stream` passes on an endless stream of
 * events, `refuse` replaces an error that did not come from the data service, `pass` passes on any other answer.
 */
export type AnswerDecision = "renew" | "stream" | "refuse" | "pass";

export function decideAnswer(
  answer: AnswerHead,
  { canRenew }: { readonly canRenew: boolean },
): AnswerDecision {
  if (canRenew && refusesToken(answer)) return "renew";
  if (isForeign(answer)) return "refuse";
  return isEventStreamType(answer.headers["content-type"]) ? "stream" : "pass";
}

/**
 * An error that comes from something in front of the data service, such as a load balancer: it may reveal addresses, and no
 * client can read it.
 */
function isForeign(answer: AnswerHead): boolean {
  return (answer.statusCode ?? 0) >= 400 && !isOwnError(answer.headers);
}

/**
 * Safe to repeat: the token is checked first, so nothing has been done yet (RFC 6750, section 3.1). Something on the way may
 * refuse a token as well, but not in the data service's words; nor does the data service itself where the session ended later
 * than that.
 */
function refusesToken({ statusCode, headers }: AnswerHead): boolean {
  return (
    statusCode === 401 && headers["www-authenticate"] === BAD_TOKEN["WWW-Authenticate"] && isOwnError(headers)
  );
}
