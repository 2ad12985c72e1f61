// Reads what a client says about a table, and collects every problem under its path.
import { isArray, isObject, type Json, type JsonObject, kindOf } from "@portico/shared/json";
import { suggestion } from "./names.js";

/** How many problems of a definition are told: a megabyte may hold a hundred thousand. */
const MOST_PROBLEMS = 100;
/** Names of ours, and what is said of them, are shorter. */
const LONGEST_PROBLEM = 1_000;

/** The problems of a definition, shared by the readers of its parts. */
interface Found {
  readonly told: string[];
  untold: number;
}

/** Reads one object of a definition, collecting problems under its path. */
export class DefinitionReader {
  readonly #object: JsonObject;
  readonly #path: string;
  readonly #found: Found;

  /**
   * @param path of the object in the definition, up to and including what precedes a key; empty for the definition itself
   */
  constructor(object: JsonObject, path = "", found: Found = { told: [], untold: 0 }) {
    this.#object = object;
    this.#path = path;
    this.#found = found;
  }

  /** Everything that is wrong, here and in the objects inside; of very much, the first of it, and how much more there is. */
  get problems(): readonly string[] {
    const { told, untold } = this.#found;
    return untold === 0 ? told : [...told, `definition: has ${untold} more problems`];
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
    if (isObject(value)) return new DefinitionReader(value, `${this.#path}${key}.`, this.#found);
    this.problem(key, `must be an object, not ${kindOf(value ?? null)}`);
    return undefined;
  }

  problem(key: string, text: string): void {
    const { told } = this.#found;
    if (told.length < MOST_PROBLEMS) told.push(`${this.#path}${key}: ${text}`.slice(0, LONGEST_PROBLEM));
    else this.#found.untold += 1;
  }

  /** What may have been meant, worded to end a problem. It takes long to find, so that it is left out where nothing is told. */
  suggestion(unknown: string, known: Iterable<string>): string {
    return this.#found.told.length < MOST_PROBLEMS ? suggestion(unknown, known) : "";
  }

  knows(keys: readonly string[]): void {
    for (const key of Object.keys(this.#object)) {
      if (!keys.includes(key)) this.problem(key, `is not known here${this.suggestion(key, keys)}`);
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
