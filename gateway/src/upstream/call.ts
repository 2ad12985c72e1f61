// One call of the gateway's own to the data service: what it says of the client behind it, and what its answer is.
import { AppError } from "@portico/shared/app-error";
import { PAGE_ORIGINS_HEADER, writePageOrigins } from "@portico/shared/session-page";
import { isOwnError } from "../http/own-error.js";
import { foreignError, notInTime, readUpstreamError } from "./upstream-error.js";

/** The client behind a call, as far as the gateway knows it. */
export interface Caller {
  readonly correlationId: string;
  readonly address: string | undefined;
  readonly userAgent: string | undefined;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  /** Whether it is the data service's, if it is an error: something in between may answer as well. */
  readonly isOwn: boolean;
  readonly retryAfter: string | null;
  /** What the answering clock says. */
  readonly date: string | null;
}

/** Says for which origins a session must have been made to count here. */
export function pageOriginsHeader(pageOrigins: readonly string[]): Record<string, string> {
  return { [PAGE_ORIGINS_HEADER]: writePageOrigins(pageOrigins) };
}

/** Names the client behind a call. */
export function callerHeaders(caller: Caller): Record<string, string> {
  return {
    "X-Correlation-ID": caller.correlationId,
    ...(caller.address === undefined ? {} : { "X-Forwarded-For": caller.address }),
    // Where it is left out, `fetch` names itself; the data service takes an empty one for none.
    "User-Agent": caller.userAgent ?? "",
  };
}

export async function call(
  ask: typeof fetch = fetch,
  url: string,
  timeoutMs: number,
  init: RequestInit,
): Promise<Answer> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await ask(url, { ...init, redirect: "error", signal });
    const text = await response.text();
    const { status, headers } = response;
    const isOwn = isOwnError(Object.fromEntries(headers));
    const [retryAfter, date] = [headers.get("retry-after"), headers.get("date")];
    return { status, body: parse(text), isOwn, retryAfter, date };
  } catch (cause) {
    // `fetch` gives up on a connection before that time: this one was taken.
    throw signal.aborted ? notInTime(cause) : new AppError("BAD_GATEWAY", { cause });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What an answer refuses: only the data service's own words count, as those of something else must sign nobody out. */
export function refusalOf(answer: Answer): AppError {
  const own = answer.isOwn ? readUpstreamError(answer.body, answer.retryAfter) : undefined;
  return own ?? senseless(answer);
}

/** For an answer that is none of the data service's. */
export function senseless({ status, retryAfter }: Answer): AppError {
  return foreignError(status, retryAfter);
}
