// Reads the small bodies of the auth calls by hand, naming every violation (contract, section 2).
import { AppError } from "@portico/shared/app-error";
import { countCharacters } from "./password-problem.js";

/** Takes known keys from a JSON object; `done` refuses with all violations together. */
export class BodyReader {
  readonly #entries: ReadonlyMap<string, unknown>;
  readonly #violations: string[] = [];

  /** @param keys every key the body may have */
  constructor(body: unknown, keys: readonly string[]) {
    // Without a body, every key is missing; saying so tells more than "not an object".
    const given = body ?? {};
    const isObject = typeof given === "object" && !Array.isArray(given);
    // A Map, because `constructor` and the like are keys of every object.
    this.#entries = new Map(isObject ? Object.entries(given) : []);
    if (body === null || !isObject) this.#violations.push("body: must be a JSON object");
    for (const key of this.#entries.keys()) {
      if (!keys.includes(key)) this.#violations.push(`${key}: unknown key; expected ${keys.join(", ")}`);
    }
  }

  /** A text of 1 to `max` characters. */
  text(key: string, max: number): string {
    return this.optionalText(key, max) ?? this.#wrong(key, "is required", "");
  }

  optionalText(key: string, max: number): string | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    if (typeof value !== "string") return this.#wrong(key, "must be text", "");
    // Half a character becomes U+FFFD wherever it is stored or hashed: two texts would be one.
    if (!value.isWellFormed()) return this.#wrong(key, "must be valid Unicode text", "");
    if (value === "") return this.#wrong(key, "must not be empty", "");
    return countCharacters(value) <= max
      ? value
      : this.#wrong(key, `must have at most ${max} characters`, "");
  }

  /** A boolean; false when absent. */
  flag(key: string): boolean {
    const value = this.#entries.get(key) ?? false;
    if (this.#entries.get(key) !== null && typeof value === "boolean") return value;
    return this.#wrong(key, "must be true or false", false);
  }

  /** Adds a violation that the caller has found. */
  wrong(key: string, reason: string): void {
    this.#wrong(key, reason, undefined);
  }

  /** @throws AppError VALIDATION_ERROR when anything was wrong */
  done(): void {
    if (this.#violations.length > 0) throw new AppError("VALIDATION_ERROR", { message: this.#violations });
  }

  #wrong<Value>(key: string, reason: string, standIn: Value): Value {
    this.#violations.push(`${key}: ${reason}`);
    return standIn;
  }
}
