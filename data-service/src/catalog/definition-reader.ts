// Reads what a client says about a table, and collects every problem under its path.
import { isArray, isObject, type Json, type JsonObject, kindOf } from "@portico/shared/json";
import { suggestion } from "./names.js";

/** Reads one object of a definition, collecting problems under its path. */
export class DefinitionReader {
  readonly #object: JsonObject;
  readonly #path: string;
  readonly #problems: string[];

  /**
   * @param path of the object in the definition, up to and including what precedes a key; empty for the definition itself
   */
  constructor(object: JsonObject, path = "", problems: string[] = []) {
    this.#object = object;
    this.#path = path;
    this.#problems = problems;
  }

  /** Everything that is wrong, here and in the objects inside. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  /** Reads the object under a key. @returns undefined, after noting a problem, if it is not an object */
  object(key: string): DefinitionReader | undefined {
    return this.#inside(key, this.#object[key]);
  }

  /** Reads one object of a list. @returns undefined, after noting a problem, if it is not an object */
  at(key: string, place: number): DefinitionReader | undefined {
    const list = this.#object[key];
    return this.#inside(`${key}[${place}]`, isArray(list) ? list[place] : undefined);
  }

  #inside(key: string, value: Json | undefined): DefinitionReader | undefined {
    if (isObject(value)) return new DefinitionReader(value, `${this.#path}${key}.`, this.#problems);
    this.problem(key, `must be an object, not ${kindOf(value ?? null)}`);
    return undefined;
  }

  problem(key: string, text: string): void {
    this.#problems.push(`${this.#path}${key}: ${text}`);
  }

  knows(keys: readonly string[]): void {
    for (const key of Object.keys(this.#object)) {
      if (!keys.includes(key)) this.problem(key, `is not known here${suggestion(key, keys)}`);
    }
  }

  raw(key: string): Json | undefined {
    const value = this.#object[key];
    return value === null ? undefined : value;
  }

  text(key: string): string | undefined {
    const value = this.raw(key);
    if (value === undefined || typeof value === "string") return value;
    this.problem(key, `must be text, not ${kindOf(value)}`);
    return undefined;
  }

  flag(key: string): boolean {
    const value = this.raw(key);
    if (value === undefined || typeof value === "boolean") return value ?? false;
    this.problem(key, `must be true or false, not ${kindOf(value)}`);
    return false;
  }

  choice<const Word extends string>(key: string, words: readonly Word[], fallback?: Word): Word | undefined {
    const value = this.text(key) ?? fallback;
    const word = words.find((each) => each === value);
    if (word === undefined) {
      const given = value === undefined ? "is missing" : `"${value}" is not known`;
      this.problem(key, `${given}; use one of ${words.join(", ")}`);
    }
    return word;
  }

  list(key: string): readonly Json[] {
    const value = this.raw(key) ?? [];
    if (isArray(value)) return value;
    this.problem(key, `must be a list, not ${kindOf(value)}`);
    return [];
  }
}
