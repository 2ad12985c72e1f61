// The data service's error body -> the same refusal of our own, under the path the client called.
import { AppError } from "@portico/shared/app-error";
import { ERROR_CODES, type ErrorCode } from "@portico/shared/error-codes";

/**
 * Keeps code, messages and details, drops path, time and everything unknown.
 * @param retryAfter the `Retry-After` header of the answer
 * @returns undefined when the body is not the contract's error shape
 */
export function readUpstreamError(body: unknown, retryAfter: string | null): AppError | undefined {
  const error = record(record(body)?.error);
  const code = error?.code;
  if (error === undefined || !isErrorCode(code)) return undefined;
  const message = readMessage(record(body)?.message);
  const details = record(error.details);
  return new AppError(code, {
    ...(message === undefined ? {} : { message }),
    ...(details === undefined ? {} : { details }),
    ...(retryAfter === null ? {} : { headers: { "Retry-After": retryAfter } }),
  });
}

/** Whether a refusal says that a token is not good, or not any more. */
export function isAboutToken(error: unknown): boolean {
  return error instanceof AppError && (error.code === "INVALID_TOKEN" || error.code === "TOKEN_EXPIRED");
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(ERROR_CODES, code);
}

function readMessage(message: unknown): string | readonly string[] | undefined {
  if (typeof message === "string") return message;
  return Array.isArray(message) && message.every((line) => typeof line === "string") ? message : undefined;
}

function record(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
}
