// A browser that follows redirects across origins, one step at a time: a cookie jar per host name, and the apps' proxies.
import { isClearing, setCookies } from "../../contract/auth/jar.js";

export interface Step {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly location: string | null;
  /** The address as the browser shows it. */
  readonly url: string;
}

export interface Journey {
  readonly steps: readonly Step[];
  readonly last: Step;
  /** Where it ended: the last answer's address, or one that nobody serves. */
  readonly end: string;
}

/** Address prefixes as the browser knows them, each with the address that really answers. */
export type Places = Readonly<Record<string, string>>;

const MAX_STEPS = 10;

export class Traveller {
  readonly #places: readonly [string, string][];
  readonly #jars = new Map<string, Map<string, string>>();
  readonly #headers: Readonly<Record<string, string>>;

  /** @param headers that go with every request */
  constructor(places: Places, headers: Readonly<Record<string, string>> = {}) {
    this.#headers = headers;
    this.#places = Object.entries(places).sort(([a], [b]) => b.length - a.length);
  }

  /** The cookies an origin would be sent. */
  cookies(origin: string): Map<string, string> {
    const jar = this.#jars.get(origin) ?? new Map<string, string>();
    this.#jars.set(origin, jar);
    return jar;
  }

  cookieHeader(origin: string): string {
    return [...this.cookies(origin)].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  isServed(url: string): boolean {
    return this.#places.some(([prefix]) => url.startsWith(prefix));
  }

  /** One request, redirects not followed. */
  async go(url: string, init: RequestInit & { headers?: Record<string, string> } = {}): Promise<Step> {
    const { origin } = new URL(url);
    const place = this.#places.find(([prefix]) => url.startsWith(prefix));
    const address = place === undefined ? url : place[1] + url.slice(place[0].length);
    const header = this.cookieHeader(origin);
    const cookie = header === "" ? {} : { Cookie: header };
    const response = await fetch(address, {
      redirect: "manual",
      ...init,
      headers: { ...cookie, ...this.#headers, ...init.headers },
    });
    const text = await response.text();
    this.#keep(origin, response);
    const location = response.headers.get("location");
    return { status: response.status, headers: response.headers, text, location, url };
  }

  /** Follows redirects until an answer is none, or leads where `stopBefore` says or nobody serves. */
  async travel(url: string, stopBefore: (url: string) => boolean = () => false): Promise<Journey> {
    const steps: Step[] = [];
    let next = url;
    for (;;) {
      const last = await this.go(next);
      steps.push(last);
      if (last.location === null) return { steps, last, end: next };
      next = new URL(last.location, next).href;
      if (!this.isServed(next) || stopBefore(next)) return { steps, last, end: next };
      if (steps.length === MAX_STEPS) throw new Error(`too many redirects, the last to ${next}`);
    }
  }

  #keep(origin: string, answer: { headers: Headers }): void {
    const jar = this.cookies(origin);
    for (const cookie of setCookies(answer)) {
      // What a browser would not take.
      if ("secure" in cookie.attributes && !origin.startsWith("https:")) continue;
      if (isClearing(cookie)) jar.delete(cookie.name);
      else jar.set(cookie.name, cookie.value);
    }
  }
}
