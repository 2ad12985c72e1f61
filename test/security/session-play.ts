// One sequence of operations with real browsers' cookies and the real services, each step compared with the model.
import { expect } from "@jest/globals";
import { decodeJwt } from "jose";
import type { Db } from "mongodb";
import { Browser, isClearing, type SetCookie, setCookies } from "../contract/auth/jar.js";
import { make } from "../contract/records/make.js";
import type { Answer, Api } from "../support/api.js";
import type { Stack } from "../support/stack.js";
import {
  type CookieChange,
  type Expected,
  type Held,
  JARS,
  type JarNumber,
  keyOf,
  type ModelSession,
  type Operation,
  type Person,
  SessionModel,
} from "./session-model.js";

/** Where the app lives decides the spelling of its cookies. */
export interface Place {
  readonly prefix: string;
  /** The attribute, where there is one. */
  readonly secure: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
}

export interface System {
  readonly stack: Stack;
  readonly database: Db;
  readonly admin: Api;
  readonly place: Place;
}

/** What a jar holds of ours, without the prefix. */
type Values = Readonly<Record<string, string>>;

/** What a browser does by a request. */
type Asking = Exclude<
  Extract<Operation, { readonly jar: JarNumber }>,
  { readonly does: "copy" | "access cookie goes" }
>;

const NAMES = ["accessToken", "refreshToken", "expTime"];
const GRACE_MS = 30_000;
/** After it what lasts 30 s may end by itself; before it, it lasts. */
export const SURELY_IN_GRACE_MS = 20_000;
const ACCESS_SECONDS = 900;
const DAY_SECONDS = 86_400;
/** Between the making of a token and the cookie that repeats it. */
const TOLERANCE_SECONDS = 100;

let plays = 0;

export class Play {
  readonly #system: System;
  /** Addresses and ids of the people of this sequence alone. */
  readonly #number: number;
  readonly #ids: Readonly<Record<Person, string>>;
  readonly #model = new SessionModel();
  readonly #browsers: Map<JarNumber, Browser>;
  /** The pair of each generation of each session: there must never be another one. */
  readonly #pairs = new Map<string, Values>();
  /** When each pair was superseded, at the earliest, by performance.now(). */
  readonly #superseded = new Map<string, number>();

  private constructor(system: System, number: number, ids: Readonly<Record<Person, string>>) {
    this.#system = system;
    this.#number = number;
    this.#ids = ids;
    this.#browsers = new Map(JARS.map((jar) => [jar, new Browser(system.stack)]));
  }

  static async begin(system: System): Promise<Play> {
    plays += 1;
    const number = plays;
    const idOf = async (person: Person): Promise<string> => {
      const user = { email: emailOf(person, number), password: passwordOf(person, 0) };
      return (await make(system.admin, "svc_user", user)).id;
    };
    return new Play(system, number, { ann: await idOf("ann"), bob: await idOf("bob") });
  }

  /** Does it, unless a limit on tries stands against it, and compares everything that can be seen. */
  async take(operation: Operation): Promise<void> {
    if (!this.#model.allows(operation)) return;
    const begun = performance.now();
    const answers = await this.#perform(operation);
    const expected = this.#model.step(operation);
    for (const key of this.#model.superseded)
      if (!this.#superseded.has(key)) this.#superseded.set(key, begun);
    for (const answer of answers) this.#compareAnswer(answer, operation, expected);
    for (const jar of JARS) this.#compareJar(jar);
    await Promise.all(JARS.map((jar) => this.#lookAgain(jar)));
    await Promise.all(this.#model.sessions.map((session) => this.#useAccessOf(session)));
  }

  /** @returns the answers that the model speaks of */
  async #perform(operation: Operation): Promise<Answer[]> {
    switch (operation.does) {
      case "half a minute goes by":
        await this.#endGrace();
        return [];
      case "root sets a password":
        await this.#change(operation.person, { password: this.#nextPassword(operation.person) });
        return [];
      case "root deactivates":
      case "root activates":
        await this.#change(operation.person, { isActive: operation.does === "root activates" });
        return [];
      case "copy":
        this.#browsers.set(operation.jar, this.#copyOf(this.#browser(operation.from).cookies));
        return [];
      case "access cookie goes":
        this.#dropAccess(operation.jar);
        return [];
      default:
        return this.#askFrom(operation);
    }
  }

  async #askFrom(operation: Asking): Promise<Answer[]> {
    const browser = this.#browser(operation.jar);
    switch (operation.does) {
      case "sign in": {
        const { person, remember } = operation;
        const password = passwordOf(person, this.#model.accounts[person].password);
        return [await this.#send(browser, "POST", "/login", { ...this.#email(person), password, remember })];
      }
      case "sign in wrongly": {
        const body = { ...this.#email(operation.person), password: "not the password" };
        return [await this.#send(browser, "POST", "/login", body)];
      }
      case "look later":
        return [await this.#send(this.#dropAccess(operation.jar), "GET", "/me")];
      case "two tabs look at once":
        return this.#lookTwice(operation.jar);
      case "log out":
        return [await this.#send(browser, "POST", "/logout")];
      case "log out everywhere":
        return [await this.#endSessions(browser, operation.jar)];
      case "change the password":
        return [await this.#changeOwnPassword(browser, operation.jar)];
      case "look":
        return [await this.#send(browser, "GET", "/me")];
    }
  }

  /** As a page of the app would; from an address of its own, for failed sign-ins of one address have a limit. */
  #send(browser: Browser, method: string, path: string, body?: unknown): Promise<Answer> {
    const { env } = this.#system.place;
    return browser.send(method, path, body, {
      Origin: env.APP_URL ?? this.#system.stack.appUrl,
      "Sec-Fetch-Site": "same-origin",
      "X-Forwarded-For": `10.30.${this.#number >> 8}.${this.#number & 255}`,
    });
  }

  /** Two requests of one jar; whichever answer comes last, the cookies are the same. */
  #lookTwice(jar: JarNumber): Promise<Answer[]> {
    const browser = this.#dropAccess(jar);
    const tab = this.#copyOf(browser.cookies);
    return Promise.all([browser, tab].map((each) => this.#send(each, "GET", "/me")));
  }

  async #changeOwnPassword(browser: Browser, jar: JarNumber): Promise<Answer> {
    // Whoever is nobody is refused before the password is looked at.
    const person = this.#model.jar(jar).refresh?.session.person ?? "ann";
    const currentPassword = passwordOf(person, this.#model.accounts[person].password);
    const body = { password: this.#nextPassword(person), currentPassword };
    return this.#send(browser, "PATCH", "/me", body);
  }

  /** @returns the answer to its first request */
  async #endSessions(browser: Browser, jar: JarNumber): Promise<Answer> {
    const person = this.#model.jar(jar).refresh?.session.person ?? "ann";
    const list = await this.#send(browser, "GET", "/me/sessions");
    if (list.status !== 200) return list;
    const alive = this.#model.aliveOf(person).map((session) => this.#idOf(session));
    const listed: { id: string; current: boolean }[] = list.body.data;
    expect(listed.map(({ id }) => id).toSorted()).toEqual(alive.toSorted());
    for (const { id } of listed.filter(({ current }) => !current)) {
      expect((await this.#send(browser, "DELETE", `/me/sessions/${id}`)).status).toBe(200);
    }
    const last = await this.#send(browser, "POST", "/logout");
    expect(last.status).toBe(200);
    this.#compareCleared(setCookies(last));
    return list;
  }

  async #change(person: Person, body: object): Promise<void> {
    const { status } = await this.#system.admin.patch(`/svc_user/${this.#ids[person]}`, body);
    expect(status).toBe(200);
  }

  /** Moves every rotation into the past. */
  async #endGrace(): Promise<void> {
    const rotatedAt = { $subtract: ["$rotatedAt", GRACE_MS + 1] };
    const back = [{ $set: { rotatedAt } }, { $unset: "supersededAt" }];
    await this.#system.database.collection("_sessions").updateMany({}, back);
  }

  #compareAnswer(answer: Answer, operation: Operation, expected: Expected | undefined): void {
    if (expected === undefined || !("jar" in operation)) return;
    const lines = setCookies(answer);
    const change = lines.length === 0 ? "kept" : lines.every(isClearing) ? "cleared" : "set";
    const due = this.#dueChange(expected, operation.jar, change);
    expect([operation.does, answer.status, change]).toEqual([operation.does, expected.status, due]);
    if (change === "cleared") this.#model.empty(operation.jar);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    const { access } = this.#model.jar(operation.jar);
    if (change === "cleared") this.#compareCleared(lines);
    if (change === "set" && access !== undefined) this.#compareSet(lines, access);
    if (operation.does.includes("look") && answer.status === 200) this.#compareUser(answer, access?.session);
  }

  /** Only the gateway knows when exactly the while is over; a sequence may take longer. */
  #dueChange({ cookies }: Expected, jar: JarNumber, seen: CookieChange): CookieChange {
    if (cookies !== "kept for a while") return cookies;
    const { refresh } = this.#model.jar(jar);
    const since = refresh && this.#superseded.get(keyOf(refresh));
    const isOver = since === undefined || performance.now() - since > SURELY_IN_GRACE_MS;
    return isOver && seen === "cleared" ? seen : "kept";
  }

  #compareUser({ body }: Answer, session: ModelSession | undefined): void {
    expect(body.data[0].email).toBe(session === undefined ? undefined : this.#email(session.person).email);
  }

  #compareSet(lines: readonly SetCookie[], held: Held): void {
    const common = {
      httponly: "",
      samesite: "Lax",
      priority: "High",
      path: "/",
      ...this.#system.place.secure,
    };
    const refreshSeconds = (held.session.remember ? 7 : 1) * DAY_SECONDS;
    expect(lines.map(({ name }) => name)).toEqual(NAMES.map((name) => this.#system.place.prefix + name));
    for (const [at, { attributes }] of lines.entries()) {
      const { "max-age": age, expires = "", ...rest } = attributes;
      expect(rest).toEqual(common);
      const left = (NAMES[at] === "refreshToken" ? refreshSeconds : ACCESS_SECONDS) - Number(age);
      expect([left >= 0, left < TOLERANCE_SECONDS]).toEqual([true, true]);
      const apart = Date.parse(expires) / 1000 - (Date.now() / 1000 + Number(age));
      expect(Math.abs(apart)).toBeLessThan(TOLERANCE_SECONDS);
    }
    this.#comparePair(held, valuesOf(Object.fromEntries(lines.map(({ name, value }) => [name, value]))));
  }

  #compareCleared(lines: readonly SetCookie[]): void {
    const { prefix, secure } = this.#system.place;
    expect(lines.map(({ name }) => name)).toEqual(NAMES.map((name) => prefix + name));
    for (const line of lines) {
      const { expires: _expires, ...rest } = line.attributes;
      // With other attributes a browser would take it for another cookie.
      expect(rest).toEqual({
        "max-age": "0",
        httponly: "",
        samesite: "Lax",
        priority: "High",
        path: "/",
        ...secure,
      });
    }
  }

  #compareJar(number: JarNumber): void {
    const { access, refresh } = this.#model.jar(number);
    const values = valuesOf(this.#browser(number).cookies);
    const names = [...(access === undefined ? [] : ["accessToken", "expTime"])];
    if (refresh !== undefined) names.push("refreshToken");
    expect(Object.keys(values).toSorted()).toEqual(names.toSorted());
    if (refresh !== undefined) this.#comparePair(refresh, values);
  }

  /** Whoever is told of a generation is told the same; each names its session and user. */
  #comparePair(held: Held, values: Values): void {
    const { session, generation } = held;
    const key = keyOf(held);
    const known = this.#pairs.get(key);
    if (known !== undefined) {
      expect({ ...known, ...values }).toEqual(known);
      return;
    }
    this.#pairs.set(key, values);
    const { sub, sid, exp = Number.NaN } = decodeJwt(values.accessToken ?? "");
    expect([sub, values.expTime]).toEqual([this.#ids[session.person], String(exp * 1000)]);
    if (generation > 0) expect(sid).toBe(this.#idOf(session));
  }

  /** A jar that needs no refresh can be asked without changing anything; of an ended session its access cookie alone. */
  async #lookAgain(number: JarNumber): Promise<void> {
    const { access, refresh } = this.#model.jar(number);
    if (access === undefined && refresh !== undefined) return;
    const isSignedIn = access?.session.isAlive ?? false;
    const name = this.#name("accessToken");
    const browser = this.#browser(number);
    const asking =
      isSignedIn || access === undefined ? browser : this.#copyOf({ [name]: browser.cookies[name] });
    const answer = await this.#send(asking, "GET", "/me");
    expect([`jar ${number}`, answer.status]).toEqual([`jar ${number}`, isSignedIn ? 200 : 401]);
    if (isSignedIn || access === undefined) expect(setCookies(answer)).toEqual([]);
    else this.#compareCleared(setCookies(answer));
    if (isSignedIn) this.#compareUser(answer, access?.session);
  }

  /** An access token of a session is worth what the session is, whoever keeps it. */
  async #useAccessOf(session: ModelSession): Promise<void> {
    const pair = this.#pairs.get(`${session.number}.0`);
    const answer = await this.#send(
      this.#copyOf({ [this.#name("accessToken")]: pair?.accessToken }),
      "GET",
      "/me",
    );
    const what = `access token of session ${session.number}`;
    expect([what, answer.status]).toEqual([what, session.isAlive ? 200 : 401]);
  }

  #idOf({ number }: ModelSession): string {
    return String(decodeJwt(this.#pairs.get(`${number}.0`)?.accessToken ?? "").sid);
  }

  #dropAccess(number: JarNumber): Browser {
    const refreshToken = this.#name("refreshToken");
    const browser = this.#copyOf({ [refreshToken]: this.#browser(number).cookies[refreshToken] });
    this.#browsers.set(number, browser);
    return browser;
  }

  #browser(number: JarNumber): Browser {
    return this.#browsers.get(number) ?? new Browser(this.#system.stack);
  }

  #copyOf(cookies: Readonly<Record<string, string | undefined>>): Browser {
    return Browser.with(this.#system.stack, cookies);
  }

  #name(name: string): string {
    return this.#system.place.prefix + name;
  }

  #email(person: Person): { readonly email: string } {
    return { email: emailOf(person, this.#number) };
  }

  #nextPassword(person: Person): string {
    return passwordOf(person, this.#model.accounts[person].password + 1);
  }
}

/** The values of cookies by their names without the prefix. */
function valuesOf(cookies: Readonly<Record<string, string>>): Values {
  const values = Object.entries(cookies).map(([name, value]) => [name.replace(/^__Host-/, ""), value]);
  return Object.fromEntries(values);
}

function emailOf(person: Person, number: number): string {
  return `${person}${number}@example.com`;
}

function passwordOf(person: Person, change: number): string {
  return `${person}'s password ${change}`;
}
