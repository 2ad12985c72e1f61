// Who is signed in, after all that browsers, thieves, root and time have done: contract 3.1 to 3.3 as a small model. Pure.
import fc from "fast-check";

export const PEOPLE = ["ann", "bob"] as const;
export type Person = (typeof PEOPLE)[number];

/** Three browsers, or three copies of one browser's cookies. */
export const JARS = [0, 1, 2] as const;
export type JarNumber = (typeof JARS)[number];

export type Operation =
  | { readonly does: "sign in"; readonly jar: JarNumber; readonly person: Person; readonly remember: boolean }
  | { readonly does: "sign in wrongly"; readonly jar: JarNumber; readonly person: Person }
  | { readonly does: "look"; readonly jar: JarNumber }
  /** A look without an access cookie. */
  | { readonly does: "look later"; readonly jar: JarNumber }
  /** Max-Age of the access cookie is over: a browser drops it, and what shows its time. */
  | { readonly does: "access cookie goes"; readonly jar: JarNumber }
  /** Both begin without an access cookie. */
  | { readonly does: "two tabs look at once"; readonly jar: JarNumber }
  | { readonly does: "log out"; readonly jar: JarNumber }
  | { readonly does: "log out everywhere"; readonly jar: JarNumber }
  | { readonly does: "change the password"; readonly jar: JarNumber }
  /** A thief takes the cookies, or a browser is restored from a backup. */
  | { readonly does: "copy"; readonly from: JarNumber; readonly jar: JarNumber }
  /** The grace period of every rotation so far is over. */
  | { readonly does: "half a minute goes by" }
  | { readonly does: "root sets a password"; readonly person: Person }
  | { readonly does: "root deactivates" | "root activates"; readonly person: Person };

/** What the answer does to the three cookies. */
export type CookieChange = "set" | "cleared" | "kept";

export interface Expected {
  readonly status: number;
  /** Kept for half a minute, which the gateway counts by itself, and cleared after it. */
  readonly cookies: CookieChange | "kept for a while";
}

export interface ModelSession {
  readonly number: number;
  readonly person: Person;
  readonly remember: boolean;
  generation: number;
  isAlive: boolean;
  /** The previous refresh token is still good for the same successor. */
  isInGrace: boolean;
  refreshes: number;
}

/** A cookie of a session, of the generation that it was made in. */
export interface Held {
  readonly session: ModelSession;
  readonly generation: number;
}

export interface Jar {
  readonly access?: Held;
  readonly refresh?: Held;
}

interface Account {
  isActive: boolean;
  /** How often it has been changed. */
  password: number;
  /** Of sign-ins and password changes, since the last success. */
  failures: number;
}

/** Who a request acts for, once its cookies have been read and refreshed. */
interface Caller {
  readonly session: ModelSession | undefined;
  readonly cookies: Expected["cookies"];
}

/** Of one account from one address; the next would be 429, which is not what this is about. */
const MOST_FAILURES = 5;
/** A minute and session; two tabs may make two. */
const MOST_REFRESHES = 30;

export class SessionModel {
  readonly accounts: Readonly<Record<Person, Account>> = { ann: newAccount(), bob: newAccount() };
  readonly sessions: ModelSession[] = [];
  readonly #jars = new Map<JarNumber, Jar>();
  /** Whose cookies a sign-in replaced: answers to what was asked with them before come late, and leave the new ones alone. */
  readonly #replaced = new Set<string>();
  /** Whose session a log-out ended; likewise. */
  readonly #loggedOut = new Set<string>();

  jar(number: JarNumber): Jar {
    return this.#jars.get(number) ?? {};
  }

  aliveOf(person: Person): ModelSession[] {
    return this.sessions.filter((session) => session.isAlive && session.person === person);
  }

  /** Keys of the pairs with which late answers come: a sign-in has replaced them, or a log-out has ended their session. */
  get superseded(): ReadonlySet<string> {
    return new Set([...this.#replaced, ...this.#loggedOut]);
  }

  /** Whether no limit on tries stands against it. */
  allows(operation: Operation): boolean {
    const isRoom = Object.values(this.accounts).every(({ failures }) => failures < MOST_FAILURES);
    if (operation.does === "sign in" || operation.does === "sign in wrongly") return isRoom;
    if (!("jar" in operation)) return true;
    const { refresh } = this.jar(operation.jar);
    return isRoom && (refresh?.session.refreshes ?? 0) + 2 <= MOST_REFRESHES;
  }

  /** The answer has cleared them. */
  empty(number: JarNumber): void {
    this.#jars.set(number, {});
  }

  /** Moves on. @returns what is answered; undefined where nobody asks the services */
  step(operation: Operation): Expected | undefined {
    switch (operation.does) {
      case "sign in":
        return this.#signIn(operation);
      case "sign in wrongly":
        this.accounts[operation.person].failures += 1;
        return { status: 401, cookies: "kept" };
      case "look":
        return this.#look(operation.jar);
      case "look later":
      case "two tabs look at once":
        this.#dropAccess(operation.jar);
        return this.#look(operation.jar);
      case "log out":
        return this.#logOut(operation.jar);
      case "log out everywhere":
        return this.#logOutEverywhere(operation.jar);
      case "change the password":
        return this.#changePassword(operation.jar);
      default:
        return this.#happen(operation);
    }
  }

  /** What no answer to a browser tells of. */
  #happen(operation: Operation): undefined {
    if (operation.does === "access cookie goes") this.#dropAccess(operation.jar);
    if (operation.does === "copy") this.#jars.set(operation.jar, this.jar(operation.from));
    if (operation.does === "half a minute goes by") {
      for (const session of this.sessions) session.isInGrace = false;
    }
    if (operation.does === "root sets a password") {
      this.accounts[operation.person].password += 1;
      this.#endAll(operation.person);
    }
    if (operation.does === "root activates") this.accounts[operation.person].isActive = true;
    if (operation.does === "root deactivates") {
      this.accounts[operation.person].isActive = false;
      this.#endAll(operation.person);
    }
  }

  #signIn({ jar, person, remember }: Operation & { does: "sign in" }): Expected {
    const account = this.accounts[person];
    if (!account.isActive) {
      account.failures += 1;
      return { status: 401, cookies: "kept" };
    }
    account.failures = 0;
    // The session that the browser had must not live on beside the new one.
    const former = this.jar(jar).refresh;
    if (former !== undefined) {
      former.session.isAlive = false;
      this.#replaced.add(keyOf(former));
    }
    const session: ModelSession = {
      number: this.sessions.length,
      person,
      remember,
      generation: 0,
      isAlive: true,
      isInGrace: false,
      refreshes: 0,
    };
    this.sessions.push(session);
    this.#hold(jar, session);
    return { status: 200, cookies: "set" };
  }

  #look(jar: JarNumber): Expected {
    const { session, cookies } = this.#caller(jar);
    return { status: session === undefined ? 401 : 200, cookies };
  }

  #logOut(jar: JarNumber): Expected {
    const { access, refresh } = this.jar(jar);
    // Any generation will do: whoever holds one may end the session.
    const named = refresh?.session ?? access?.session;
    if (named !== undefined) named.isAlive = false;
    if (refresh !== undefined) this.#loggedOut.add(keyOf(refresh));
    if (refresh !== undefined && this.#replaced.has(keyOf(refresh)))
      return { status: 200, cookies: "kept for a while" };
    this.empty(jar);
    return { status: 200, cookies: "cleared" };
  }

  /** Asks for one's sessions, ends the others, and logs out. */
  #logOutEverywhere(jar: JarNumber): Expected {
    const { session, cookies } = this.#caller(jar);
    if (session === undefined) return { status: 401, cookies };
    this.#endAll(session.person);
    const { refresh } = this.jar(jar);
    if (refresh !== undefined) this.#loggedOut.add(keyOf(refresh));
    this.empty(jar);
    return { status: 200, cookies };
  }

  #changePassword(jar: JarNumber): Expected {
    const { session, cookies } = this.#caller(jar);
    if (session === undefined) return { status: 401, cookies };
    const account = this.accounts[session.person];
    account.password += 1;
    account.failures = 0;
    this.#endAll(session.person);
    session.isAlive = true;
    return { status: 200, cookies };
  }

  #caller(jar: JarNumber): Caller {
    const { access, refresh } = this.jar(jar);
    // Nothing is refreshed before it has to be; that a session has ended shows when its token is refused.
    if (access?.session.isAlive === true) return { session: access.session, cookies: "kept" };
    if (refresh === undefined) return { session: undefined, cookies: "kept" };
    const session = this.#refreshed(refresh);
    if (session !== undefined) {
      this.#hold(jar, session);
      return { session, cookies: "set" };
    }
    const key = keyOf(refresh);
    if (this.#replaced.has(key) || this.#loggedOut.has(key)) return { session, cookies: "kept for a while" };
    this.empty(jar);
    return { session, cookies: "cleared" };
  }

  #refreshed({ session, generation }: Held): ModelSession | undefined {
    session.refreshes += 2;
    if (!session.isAlive) return undefined;
    const behind = session.generation - generation;
    if (behind === 0) {
      session.generation += 1;
      session.isInGrace = true;
    } else if (behind > 1 || !session.isInGrace) session.isAlive = false;
    return alive(session);
  }

  #hold(jar: JarNumber, session: ModelSession): void {
    const held = { session, generation: session.generation };
    this.#jars.set(jar, { access: held, refresh: held });
  }

  #dropAccess(jar: JarNumber): void {
    const { refresh } = this.jar(jar);
    this.#jars.set(jar, refresh === undefined ? {} : { refresh });
  }

  #endAll(person: Person): void {
    for (const session of this.aliveOf(person)) session.isAlive = false;
  }
}

/** Of a pair of tokens. */
export function keyOf({ session, generation }: Held): string {
  return `${session.number}.${generation}`;
}

function newAccount(): Account {
  return { isActive: true, password: 0, failures: 0 };
}

function alive(session: ModelSession): ModelSession | undefined {
  return session.isAlive ? session : undefined;
}

const jar = fc.constantFrom(...JARS);
const person = fc.constantFrom(...PEOPLE);
const does = <Name extends Operation["does"]>(name: Name) => fc.constant(name);

const byAnn = { does: "sign in", jar: 0, person: "ann", remember: false } as const;

/** What refreshes and copies comes often, what ends sessions seldom, or nothing would be left to go wrong. */
const anyOperation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ does: does("sign in"), jar, person, remember: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ does: does("sign in wrongly"), jar, person }) },
  { weight: 3, arbitrary: fc.record({ does: does("look"), jar }) },
  { weight: 32, arbitrary: fc.record({ does: does("look later"), jar }) },
  { weight: 12, arbitrary: fc.record({ does: does("two tabs look at once"), jar }) },
  { weight: 6, arbitrary: fc.record({ does: does("access cookie goes"), jar }) },
  { weight: 1, arbitrary: fc.record({ does: does("log out"), jar }) },
  { weight: 1, arbitrary: fc.record({ does: does("log out everywhere"), jar }) },
  { weight: 4, arbitrary: fc.record({ does: does("change the password"), jar }) },
  { weight: 24, arbitrary: fc.record({ does: does("copy"), from: jar, jar }) },
  { weight: 8, arbitrary: fc.record({ does: does("half a minute goes by") }) },
  { weight: 1, arbitrary: fc.record({ does: does("root sets a password"), person }) },
  { weight: 1, arbitrary: fc.record({ does: does("root deactivates"), person }) },
  { weight: 3, arbitrary: fc.record({ does: does("root activates"), person }) },
);

/** Sequences of them; before anybody has signed in there is little to see. */
export const operations: fc.Arbitrary<Operation[]> = fc
  .array(anyOperation, { maxLength: 40, size: "max" })
  .map((rest) => [byAnn, ...rest]);

/** What must be in every run, however short. */
export const CLASSICS: readonly Operation[][] = [
  // A thief comes two generations late, and both lose the session.
  [
    byAnn,
    { does: "copy", from: 0, jar: 1 },
    { does: "look later", jar: 0 },
    { does: "look later", jar: 0 },
    { does: "look later", jar: 1 },
    { does: "look", jar: 0 },
  ],
  // One generation late: the same successor within the grace period, after it the end.
  [
    byAnn,
    { does: "copy", from: 0, jar: 1 },
    { does: "copy", from: 0, jar: 2 },
    { does: "look later", jar: 0 },
    { does: "two tabs look at once", jar: 1 },
    { does: "half a minute goes by" },
    { does: "look later", jar: 2 },
    { does: "look later", jar: 1 },
  ],
  // A password change ends the other sessions, and keeps the one that made it with every copy of it.
  [
    byAnn,
    { ...byAnn, jar: 1, remember: true },
    { does: "copy", from: 0, jar: 2 },
    { does: "two tabs look at once", jar: 0 },
    { does: "change the password", jar: 0 },
    { does: "look later", jar: 1 },
    { does: "log out", jar: 2 },
    { does: "look later", jar: 0 },
  ],
  // Everywhere is every session of one person; root and a sign-in end some too.
  [
    byAnn,
    { ...byAnn, jar: 1, remember: true },
    { does: "sign in", jar: 2, person: "bob", remember: false },
    { does: "log out everywhere", jar: 0 },
    { does: "look later", jar: 1 },
    byAnn,
    byAnn,
    { does: "root deactivates", person: "ann" },
    byAnn,
    { does: "sign in wrongly", jar: 0, person: "ann" },
    { does: "look later", jar: 0 },
    { does: "root activates", person: "ann" },
    byAnn,
    { does: "root sets a password", person: "ann" },
    { does: "look later", jar: 0 },
  ],
  // Whoever still holds what a sign-in replaced, or what a log-out ended, may be a request on its way.
  [
    byAnn,
    { does: "copy", from: 0, jar: 1 },
    { does: "copy", from: 0, jar: 2 },
    byAnn,
    { does: "look", jar: 1 },
    { does: "log out", jar: 1 },
    { does: "copy", from: 0, jar: 1 },
    { does: "log out", jar: 0 },
    { does: "look", jar: 1 },
    { does: "two tabs look at once", jar: 2 },
    { does: "log out", jar: 1 },
  ],
];
