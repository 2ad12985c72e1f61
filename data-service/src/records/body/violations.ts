// What is wrong with a body, collected so that one answer tells all of it.
import { AppError } from "@portico/shared/app-error";
import { isArray, type Json, kindOf, noObject } from "@portico/shared/json";

/** Where in a request the body at a position stands: what violations in it begin with. */
export type PathOf = (at: number) => string;

/** The only body. */
export const alone: PathOf = () => "";
/** One of a list. */
export const inList: PathOf = (at) => `[${at}].`;

/** What a violation of the whole body at a place begins with, rather than of a member in it. */
export function asWhole(place: string): string {
  return place.replace(/\.$/, ": ");
}

/** The refusal of a body that is no object: of the whole of it, and no member. */
export class NoObject extends AppError {
  readonly kind: string;

  constructor(body: Json) {
    super("VALIDATION_ERROR", { message: [`body: ${noObject(body)}`] });
    this.kind = kindOf(body);
  }
}

export function pathIn(body: Json): PathOf {
  return isArray(body) ? inList : alone;
}

/** How many records one refusal names. */
export const MOST_NAMED = 100;

/** How many violations of one request are told: a megabyte may hold a hundred thousand. */
export const MOST_VIOLATIONS = 100;

const CUT_OFF = "body: may have more problems than these";

export class Violations {
  readonly #most: number;
  readonly #messages: string[] = [];
  /** Some were left out, or may have been. */
  #isCutOff = false;

  /** @param most how many are noted: once there are so many, nothing more is checked */
  constructor(most = MOST_VIOLATIONS) {
    this.#most = most;
  }

  /**
   * Runs a check and notes what it refuses.
   * @param prefix where in the body it looks
   * @returns what the check gives, undefined where it has refused or was not run
   * @throws AppError another refusal; where something is known to be wrong, that is said instead
   */
  collect<Result>(prefix: string, check: () => Result): Result | undefined {
    if (this.#messages.length >= this.#most) {
      this.#isCutOff = true;
      return undefined;
    }
    try {
      return check();
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "VALIDATION_ERROR") {
        // A relation that is unknown to the caller says nothing about the table behind it.
        this.refuseAny(error);
        throw error;
      }
      const messages = told(error, prefix);
      const some = messages.slice(0, this.#most - this.#messages.length);
      // One by one: there may be more than a call takes arguments.
      for (const message of some) this.#messages.push(message);
      if (some.length < messages.length) this.#isCutOff = true;
      return undefined;
    }
  }

  /** @throws AppError VALIDATION_ERROR with all that was noted, if anything was */
  refuseAny(cause?: unknown): void {
    if (this.#messages.length === 0) return;
    const more = this.#isCutOff ? [CUT_OFF] : [];
    throw new AppError("VALIDATION_ERROR", { message: [...this.#messages, ...more], cause });
  }
}

function told(error: AppError, prefix: string): string[] {
  // `[0].body` would be a column of that name.
  if (error instanceof NoObject && prefix !== "")
    return [`${asWhole(prefix)}must be a JSON object, not ${error.kind}`];
  return error.violations.map((message) => prefix + message);
}
