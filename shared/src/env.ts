// Reads settings from the environment and reports every problem at once (contract, section 8).

/** All that is wrong with the settings, one line a problem. */
export class ConfigError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.name = "ConfigError";
    this.problems = problems;
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/** An address, as its two parts. */
export interface OriginAndPath {
  readonly origin: string;
  readonly path: string | undefined;
}

/** Reads variables one by one, collecting problems; `done` throws them all together. */
export class EnvReader {
  readonly #env: Environment;
  readonly #problems: string[] = [];

  constructor(env: Environment) {
    this.#env = env;
  }

  /** Notes a problem found by the caller. */
  problem(text: string): void {
    this.#problems.push(text);
  }

  /** The variable's text, or undefined when it is unset or empty. */
  optional(name: string): string | undefined {
    const value = this.#env[name];
    return value === undefined || value === "" ? undefined : value;
  }

  text(name: string, fallback: string): string {
    return this.optional(name) ?? fallback;
  }

  /** A whole number within bounds. */
  integer(name: string, fallback: number, range: { min: number; max: number }): number {
    const value = this.optional(name);
    if (value === undefined) return fallback;
    const number = /^-?\d+$/.test(value) ? Number(value) : Number.NaN;
    if (number >= range.min && number <= range.max) return number;
    this.problem(`${name} must be a whole number from ${range.min} to ${range.max}, not "${value}".`);
    return fallback;
  }

  /** One of the listed words. */
  choice<const Word extends string>(name: string, fallback: Word, words: readonly Word[]): Word {
    const value = this.optional(name);
    if (value === undefined) return fallback;
    const word = words.find((each) => each === value);
    if (word !== undefined) return word;
    this.problem(`${name} must be one of ${words.join(", ")}, not "${value}".`);
    return fallback;
  }

  boolean(name: string, fallback: boolean): boolean {
    return this.choice(name, fallback ? "true" : "false", ["true", "false"]) === "true";
  }

  /** An http(s) origin such as `https://example.com`, without path, query or user info. */
  origin(name: string, fallback: string): string {
    const value = this.text(name, fallback);
    const origin = parseOrigin(value);
    if (origin !== undefined) return origin;
    this.problem(
      `${name} must be an http(s) address without path or query, such as ${fallback}, not "${value}".`,
    );
    return fallback;
  }

  /** A comma-separated list of origins, each of which may be followed by a path. */
  origins(name: string): readonly OriginAndPath[] {
    const entries = this.text(name, "")
      .split(",")
      .map((entry) => entry.trim())
      .filter((entry) => entry !== "");
    return entries.flatMap((entry) => {
      const parsed = parseOriginAndPath(entry);
      if (parsed !== undefined) return [parsed];
      this.problem(
        `${name}: "${entry}" is not an origin; write each as https://app.example.com, or https://app.example.com/portal, without patterns such as *.`,
      );
      return [];
    });
  }

  /** Throws a ConfigError with every problem seen, or returns normally. */
  done(): void {
    if (this.#problems.length > 0) throw new ConfigError(this.#problems);
  }
}

function parseOrigin(text: string): string | undefined {
  const parsed = parseOriginAndPath(text);
  return parsed?.path === undefined ? parsed?.origin : undefined;
}

/**
 * A name, with the underscores that some have, or an address; as URL parsers write them. Those take much more, such as `*` or
 * two hosts with a semicolon between, which no browser is ever at: the setting would be kept and never match.
 */
const HOST = /^(?:[\w-]+(?:\.[\w-]+)*\.?|\[[\da-f:.]+\])$/;

function parseOriginAndPath(text: string): OriginAndPath | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, origin, hostname, pathname, search, hash, username, password } = new URL(text);
  const isPlain = search === "" && hash === "" && username === "" && password === "";
  if (!isPlain || !HOST.test(hostname) || (protocol !== "http:" && protocol !== "https:")) return undefined;
  return { origin, path: pathname === "/" ? undefined : pathname };
}
