// What an app is told of a sign-in that the data service could not finish in this moment.
import { AppError } from "@portico/shared/app-error";
import type { Logger } from "@portico/shared/logger";
import type { Request } from "express";
import { callerOf } from "../session/caller.js";

/**
 * By then the flow or its code may be spent, and the app waits for an answer: it can begin another sign-in in a moment.
 * @param details go into the log
 * @throws the error where it would come again
 */
export function unfinished(
  { logger }: { readonly logger: Pick<Logger, "warn"> },
  request: Request,
  error: unknown,
  details: Readonly<Record<string, unknown>> = {},
): "provider_unavailable" {
  if (!(error instanceof AppError) || !isPassing(error)) throw error;
  const { correlationId } = callerOf(request);
  logger.warn({ correlationId, ...details, err: error }, "a sign-in could not be finished");
  return "provider_unavailable";
}

/** Too many requests, an overload, a restart, a failure. */
function isPassing({ status }: AppError): boolean {
  return status === 429 || status >= 500;
}
