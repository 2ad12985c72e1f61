// Writes of which nobody knows whether they were done, or that are taken back later, and the refusals that say so.
import { AppError, unavailable, uncertain } from "@portico/shared/app-error";
import { isUnanswered } from "../../mongo/driver-errors.js";

/** Whoever would send it again is warned: it may have been done. */
export function maybeWritten(cause: unknown): AppError {
  const { code, headers } = unavailable("", 2);
  return uncertain(code, "The database did not say whether this was written.", { headers, cause });
}

/**
 * May the write that failed still be done? A command whose answer was lost can be under way for a while, so a look right after
 * it, over another connection, proves nothing.
 */
export function mayStillBeDone(error: unknown): boolean {
  return isUnanswered(error) || saysUncertain(error);
}

/** What the write that failed has left is there for now: whoever finds the note about it takes it back. */
export class TakenBackLater extends AppError {}

/** May what the write that failed has left still change, because it is done after all or taken back? */
export function mayStillChange(error: unknown): boolean {
  return mayStillBeDone(error) || error instanceof TakenBackLater;
}

/** Is it a write's refusal that says so? Questions that come before a write may go unanswered as well. */
export function saysUncertain(error: unknown): boolean {
  return error instanceof AppError && error.details?.uncertain === true;
}

/** For a failed write that nobody takes back. @throws AppError 503 `uncertain` if it may have been done, else the error */
export function throwUnanswered(error: unknown): never {
  throw isUnanswered(error) ? maybeWritten(error) : error;
}
