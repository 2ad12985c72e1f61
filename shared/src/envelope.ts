// The shape of every answer, success or error (contract, section 2).
import type { AppError } from "./app-error.js";

/** Body of a successful answer. */
export interface SuccessBody {
  statusCode: number;
  message: "Success";
  data?: readonly unknown[];
  meta?: Readonly<Record<string, unknown>>;
}

/** Body of a refusal, from either service. */
export interface ErrorBody {
  success: false;
  statusCode: number;
  message: string | readonly string[];
  error: {
    code: string;
    message: string;
    details?: Readonly<Record<string, unknown>>;
    timestamp: string;
    path: string;
    method: string;
    correlationId: string;
  };
}

/** What the error body says about the request it answers. */
export interface RequestFacts {
  /** The path the client called, `/api/...`, without its query. */
  path: string;
  method: string;
  correlationId: string;
}

/**
 * Wraps records into the success shape.
 * @param data the records; omitted for answers without records, such as a delete
 */
export function success(
  statusCode: number,
  data?: readonly unknown[],
  meta?: Readonly<Record<string, unknown>>,
): SuccessBody {
  return {
    statusCode,
    message: "Success",
    ...(data === undefined ? {} : { data }),
    ...(meta === undefined ? {} : { meta }),
  };
}

/** Turns a refusal into its body. `now` is the time of the answer. */
export function errorBody(error: AppError, request: RequestFacts, now: Date): ErrorBody {
  return {
    success: false,
    statusCode: error.status,
    message: error.messages,
    error: {
      code: error.code,
      message: error.message,
      ...(error.details === undefined ? {} : { details: error.details }),
      timestamp: now.toISOString(),
      path: request.path,
      method: request.method,
      correlationId: request.correlationId,
    },
  };
}
