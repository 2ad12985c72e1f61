// The one way to refuse a request: throw an AppError; its code decides the status.
import { ERROR_CODES, type ErrorCode } from "./error-codes.js";

/** What a refusal may say beside its code. */
export interface Refusal {
  /** What is wrong, where, and what would be right. An array when a body has several violations. */
  message?: string | readonly string[];
  /** Machine-readable facts for the client, put into `error.details`. */
  details?: Readonly<Record<string, unknown>>;
  /** Response headers that belong to the refusal, such as `Allow` or `Retry-After`. */
  headers?: Readonly<Record<string, string>>;
  /** Kept for the log, never shown to the client. */
  cause?: unknown;
}

/** A refusal on its way to the client. Anything else that is thrown becomes a bare 500. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly messages: string | readonly string[];
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly headers: Readonly<Record<string, string>>;

  /**
   * @param code a row of ERROR_CODES; the status follows from it
   * @param refusal a message, or a message with details, headers and cause
   */
  constructor(code: ErrorCode, refusal: string | Refusal = {}) {
    const { message, details, headers, cause } = typeof refusal === "string" ? { message: refusal } : refusal;
    const messages = message ?? ERROR_CODES[code].text;
    super(typeof messages === "string" ? messages : messages.join("; "), { cause });
    this.name = "AppError";
    this.code = code;
    this.status = ERROR_CODES[code].status;
    this.messages = messages;
    this.details = details;
    this.headers = headers ?? {};
  }

  /** What is wrong, each for itself. */
  get violations(): readonly string[] {
    return typeof this.messages === "string" ? [this.messages] : this.messages;
  }
}

/** A refusal of a request that may be sent again: 503. @param retryAfterSeconds how long the client is told to wait */
export function unavailable(message: string, retryAfterSeconds: number, cause?: unknown): AppError {
  const headers = { "Retry-After": String(retryAfterSeconds) };
  return new AppError("SERVICE_UNAVAILABLE", { message, headers, cause });
}

/** A refusal of a write that may have been done all the same: whoever would send it again is warned. @param why what is not known */
export function uncertain(
  code: ErrorCode,
  why: string,
  { headers, cause }: Pick<Refusal, "headers" | "cause"> = {},
): AppError {
  const message = `${why} It may have been done, or still be done later: look before you send it again.`;
  return new AppError(code, { message, details: { uncertain: true }, ...(headers && { headers }), cause });
}

/** A refusal with a 4xx: nothing that was asked for has been done. After any other error nobody knows how much was. */
export function isClientError(error: unknown): error is AppError {
  return error instanceof AppError && error.status < 500;
}

/** A refusal because of what is already there, or of what the collection itself demands: 409. */
export function isConflict(error: unknown): error is AppError {
  return error instanceof AppError && error.status === 409;
}
