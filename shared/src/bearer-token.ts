// The Authorization header of RFC 6750: which part is the token, and how a missing or bad one is refused.
import { AppError, type Refusal } from "./app-error.js";
import type { ErrorCode } from "./error-codes.js";

const BEARER = /^Bearer +([\w.~+/-]+=*)$/i;

/** Section 3.1: the same for every bad token. */
export const BAD_TOKEN = { "WWW-Authenticate": 'Bearer error="invalid_token"' };

/**
 * For a token that was good when its request came, where the session ended while that was under way: it is not for another
 * token to do the rest, and the browser may have newer cookies by now. So no gateway renews by this.
 */
export const ENDED_MEANWHILE = {
  "WWW-Authenticate":
    'Bearer error="invalid_token", error_description="the session ended while the request was under way"',
};

/** Why a token may be refused: it is not one of ours, or no longer valid. */
type TokenCode = "INVALID_TOKEN" | "TOKEN_EXPIRED";

/** The token; undefined for a header of another kind. */
export function bearerToken(header: string): string | undefined {
  return BEARER.exec(header)?.[1];
}

/** The refusal of a token. */
export function badToken(
  code: TokenCode = "INVALID_TOKEN",
  refusal: Pick<Refusal, "message" | "cause"> = {},
): AppError {
  return new AppError(code, { ...refusal, headers: BAD_TOKEN });
}

/** The refusal of a request whose session ended while it was under way. */
export function endedMeanwhile(): AppError {
  return new AppError("INVALID_TOKEN", { message: "Your session has ended.", headers: ENDED_MEANWHILE });
}

export function isAboutToken(error: unknown): error is AppError & { readonly code: TokenCode } {
  return error instanceof AppError && isTokenCode(error.code);
}

export function isTokenCode(code: ErrorCode): code is TokenCode {
  return code === "INVALID_TOKEN" || code === "TOKEN_EXPIRED";
}

/** The refusal of an anonymous caller who would have to sign in first. */
export function signInNeeded(message = "Sign in first."): AppError {
  return new AppError("UNAUTHORIZED", { message, headers: { "WWW-Authenticate": "Bearer" } });
}
