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

export interface CallSettings {
  readonly dataServiceUrl: string;
  /** The app's own origin and ALLOWED_ORIGINS: a session must have been made for one of them to count here. */
  readonly pageOrigins: readonly string[];
  readonly timeoutMs: number;
  /** What the calls are made with. */
  readonly fetch: typeof fetch;
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

/** @param headers beside those that every one of these calls has */
export function postJson(
  settings: CallSettings,
  path: string,
  body: unknown,
  caller: Caller,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return call(settings.fetch, `${settings.dataServiceUrl}${path}`, settings.timeoutMs, {
    method: "POST",
    headers: {
      ...callerHeaders(caller),
      [PAGE_ORIGINS_HEADER]: writePageOrigins(settings.pageOrigins),
      "Content-Type": "application/json",
      ...headers,
    },
    body: JSON.stringify(body),
  });
}

/** Redirects are never followed. */
export async function call(
  ask: typeof fetch,
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
