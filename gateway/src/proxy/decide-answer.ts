// Decides what becomes of an answer of the data service. Pure.
import type { IncomingHttpHeaders } from "node:http";

/** The head of an answer. */
export interface AnswerHead {
  readonly statusCode?: number | undefined;
  readonly headers: IncomingHttpHeaders;
}

/**
 * What is done with an answer: `renew` replaces a token that is no longer accepted, `stream` passes on events without an
 * end of their own, `pass` passes on any other one.
 */
export type AnswerDecision = "renew" | "stream" | "pass";

export function decideAnswer(
  answer: AnswerHead,
  { canRenew }: { readonly canRenew: boolean },
): AnswerDecision {
  if (canRenew && refusesToken(answer)) return "renew";
  return isEventStream(answer) ? "stream" : "pass";
}

/** So that nothing was done: this is said of a token alone, before anything else is looked at (RFC 6750, section 3.1). */
function refusesToken({ statusCode, headers }: AnswerHead): boolean {
  return statusCode === 401 && headers["www-authenticate"]?.includes('error="invalid_token"') === true;
}

function isEventStream({ headers }: AnswerHead): boolean {
  return headers["content-type"]?.startsWith("text/event-stream") === true;
}
