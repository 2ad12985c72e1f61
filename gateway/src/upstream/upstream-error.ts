// The data service's error body -> the same refusal of our own, under the path the client called; what stands for an answer that
// is none of the data service's, or does not come.
import { AppError, unavailable } from "@portico/shared/app-error";
import { BAD_TOKEN, isTokenCode } from "@portico/shared/bearer-token";
import { ERROR_CODES, type ErrorCode } from "@portico/shared/error-codes";
import { isObject, recordOf } from "@portico/shared/json";

export const NO_VALID_ANSWER = "The data service gave no valid answer.";

export function notInTime(cause: unknown): AppError {
  return new AppError("QUERY_TIMEOUT", { message: "The data service did not answer in time.", cause });
}

/** Why there is no answer of the data service: another one came. */
class ForeignAnswer extends Error {
  /** With less than 500 the request was refused on the way; with more, the data service may have been asked. */
  readonly isRefusal: boolean;

  constructor(status = 0) {
    super(`An answer that is none of the data service's came with the status ${status}.`);
    this.isRefusal = status >= 400 && status < 500;
  }
}

/**
 * What the client is told instead of an error that did not come from the data service, or of an answer that can't be one of its.
 * @param retryAfter the `Retry-After` header of the answer
 */
export function foreignError(status: number | undefined, retryAfter: string | null | undefined): AppError {
  const cause = new ForeignAnswer(status);
  if (status === 429 || status === 503) {
    const seconds = Number(retryAfter);
    const wait = Number.isSafeInteger(seconds) && seconds > 0 ? seconds : 1;
    return unavailable("The service is not available at this moment.", wait, cause);
  }
  const code = status === 504 ? "QUERY_TIMEOUT" : "BAD_GATEWAY";
  return new AppError(code, { message: NO_VALID_ANSWER, cause });
}

/** Refusals that stand for an answer which did not come, where their cause does not say more. */
const LOST_ANSWERS: readonly ErrorCode[] = ["BAD_GATEWAY", "QUERY_TIMEOUT"];

/** Whether it stands for an answer of the data service that was lost: what was asked may have been done. */
export function isLostAnswer(error: unknown): boolean {
  if (!(error instanceof AppError)) return !isUnconnected(error);
  if (error.cause instanceof ForeignAnswer) return !error.cause.isRefusal;
  return LOST_ANSWERS.includes(error.code) && !isUnconnected(error.cause);
}

/** Whether nothing was handed over: an error of a socket, or one of `fetch`, which tells of that as its cause. */
function isUnconnected(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  if ("syscall" in error && (error.syscall === "connect" || error.syscall === "getaddrinfo")) return true;
  if ("code" in error && error.code === "UND_ERR_CONNECT_TIMEOUT") return true;
  // Of a host with several addresses.
  if ("errors" in error && Array.isArray(error.errors)) return error.errors.every(isUnconnected);
  return "cause" in error && isUnconnected(error.cause);
}

/**
 * Keeps code, messages and details; drops path, time and everything unknown. If a token is refused, the client sent it to us
 * as a Bearer token, so we owe it the challenge.
 * @param retryAfter the `Retry-After` header of the answer
 * @returns undefined when the body is not the contract's error shape
 */
export function readUpstreamError(body: unknown, retryAfter: string | null): AppError | undefined {
  const { error, message: sent } = recordOf(body);
  const { code, details } = recordOf(error);
  if (!isErrorCode(code)) return undefined;
  const message = readMessage(sent);
  return new AppError(code, {
    ...(message === undefined ? {} : { message }),
    ...(isObject(details) ? { details } : {}),
    headers: {
      ...(isTokenCode(code) ? BAD_TOKEN : {}),
      ...(retryAfter === null ? {} : { "Retry-After": retryAfter }),
    },
  });
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(ERROR_CODES, code);
}

function readMessage(message: unknown): string | readonly string[] | undefined {
  if (typeof message === "string") return message;
  return Array.isArray(message) && message.every((line) => typeof line === "string") ? message : undefined;
}
