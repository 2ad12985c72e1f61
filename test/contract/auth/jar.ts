// A browser's cookie jar, and the little of a browser that the cookie rules are about.
import { type Answer, apiOf } from "../../support/api.js";
import type { Stack } from "../../support/stack.js";

/** One Set-Cookie line, taken apart; names of attributes in lower case. */
export interface SetCookie {
  readonly name: string;
  readonly value: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** The Set-Cookie lines of an answer. */
export function setCookies({ headers }: { headers: Headers }): SetCookie[] {
  return headers.getSetCookie().map((line) => {
    const [pair = "", ...rest] = line.split(/; */);
    const attributes = rest.map((part): [string, string] => {
      const [name = "", value = ""] = part.split("=");
      return [name.toLowerCase(), value];
    });
    const equals = pair.indexOf("=");
    return {
      name: pair.slice(0, equals),
      value: pair.slice(equals + 1),
      attributes: Object.fromEntries(attributes),
    };
  });
}

/** Whether a line takes its cookie away. */
export function isClearing({ value, attributes }: SetCookie): boolean {
  return value === "" && attributes["max-age"] === "0" && Date.parse(attributes.expires ?? "") <= Date.now();
}

export type HeaderLines = Readonly<Record<string, string>>;

/** A page in a browser: sends its cookies and keeps those it is given. */
export class Browser {
  readonly #base: string;
  readonly #cookies = new Map<string, string>();

  constructor(stack: Pick<Stack, "appUrl">) {
    this.#base = `${stack.appUrl}/api`;
  }

  /** A jar with these cookies. */
  static with(stack: Pick<Stack, "appUrl">, cookies: Readonly<Record<string, string | undefined>>): Browser {
    const browser = new Browser(stack);
    for (const [name, value] of Object.entries(cookies)) {
      if (value !== undefined) browser.#cookies.set(name, value);
    }
    return browser;
  }

  get cookies(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#cookies);
  }

  get cookieHeader(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  async send(method: string, path: string, body?: unknown, headers: HeaderLines = {}): Promise<Answer> {
    const cookie: HeaderLines = this.#cookies.size === 0 ? {} : { Cookie: this.cookieHeader };
    const type: HeaderLines = body === undefined ? {} : { "Content-Type": "application/json" };
    const answer = await apiOf(this.#base).send(method, path, {
      headers: { ...cookie, ...type, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    for (const line of setCookies(answer)) {
      if (isClearing(line)) this.#cookies.delete(line.name);
      else this.#cookies.set(line.name, line.value);
    }
    return answer;
  }

  get(path: string, headers?: HeaderLines): Promise<Answer> {
    return this.send("GET", path, undefined, headers);
  }

  post(path: string, body?: unknown, headers?: HeaderLines): Promise<Answer> {
    return this.send("POST", path, body, headers);
  }

  /** Signs in by cookie. */
  async logIn(credentials: object, headers?: HeaderLines): Promise<Answer> {
    const answer = await this.post("/login", credentials, headers);
    if (answer.status !== 200) throw new Error(`log-in answered ${answer.status}`);
    return answer;
  }
}
