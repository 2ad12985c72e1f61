// What people do all day, one request at a time: reads, writes, sessions, files, and leaving half-way.
import { get as httpGet } from "node:http";
import { filePart, MULTIPART, multipartBody, textPart } from "../../support/multipart.js";
import { Client, type Outcome } from "../support/client.js";

export interface Person {
  readonly email: string;
  readonly password: string;
}

interface Session {
  readonly person: Person;
  accessToken: string;
  refreshToken: string;
  isRefreshing: boolean;
}

type Work = (mix: Mix) => Promise<Outcome>;

/** Of a hundred requests, how many are which. */
const SHARES: readonly (readonly [share: number, work: Work])[] = [
  [
    24,
    (mix) => mix.send("GET", `/notes?limit=20&sort=-createdAt&fields=id,title,author.name&meta=filterCount`),
  ],
  [8, (mix) => mix.send("GET", `/authors?limit=5&deep={"notes":{"limit":3}}`)],
  [22, (mix) => mix.send("GET", `/notes/${mix.someNote()}`)],
  [10, (mix) => mix.create()],
  [8, (mix) => mix.json("PATCH", `/notes/${mix.someNote()}`, { views: mix.next() })],
  [10, (mix) => mix.removeOldest()],
  [5, (mix) => mix.send("GET", "/me")],
  [1, (mix) => mix.logIn()],
  [1, (mix) => mix.logOut()],
  [2, (mix) => mix.refresh()],
  [2, (mix) => mix.upload()],
  [2, (mix) => mix.removeFile()],
  [2, (mix) => mix.download()],
  [1, (mix) => mix.leaveDownload()],
  [1, (mix) => mix.leaveList()],
  [1, (mix) => mix.leaveUpload()],
];

const PLAN = SHARES.flatMap(([share, work]) => Array.from({ length: share }, () => work));
/** Has no divisor in common with a hundred: each share is kept, and well mixed. */
const STRIDE = 37;
const FEWEST = 100;
const FILE = Buffer.alloc(100 * 1024, "0123456789abcdef");
/** A logged-out session may still be in use for what is under way. */
const GRACE_MS = 5_000;
const TYPE = { "Content-Type": "application/json" };

export class Mix {
  readonly #client: Client;
  readonly #base: string;
  readonly #people: readonly Person[];
  readonly #authors: readonly string[];
  readonly #sessions: Session[] = [];
  readonly #notes: string[] = [];
  readonly #files: string[] = [];
  #count = 0;
  #steps = 0;

  /** @param base `{appUrl}/api` */
  constructor(base: string, people: readonly Person[], authors: readonly string[]) {
    this.#base = base;
    this.#client = new Client(base);
    this.#people = people;
    this.#authors = authors;
  }

  /** Sessions, notes and files to begin with. */
  async fill(): Promise<void> {
    for (const _each of this.#people) await this.logIn();
    while (this.#notes.length < 2 * FEWEST) await this.create();
    while (this.#files.length < 10) await this.upload();
  }

  /** The next request of the mix; its text is not kept. */
  async step(): Promise<Outcome> {
    this.#steps += 1;
    const work = PLAN[(this.#steps * STRIDE) % PLAN.length];
    if (work === undefined) throw new Error("no work");
    return { ...(await work(this)), text: "" };
  }

  next(): number {
    this.#count += 1;
    return this.#count;
  }

  send(method: string, path: string): Promise<Outcome> {
    return this.#client.ask(method, encodeURI(path), { headers: this.#authorization() });
  }

  json(method: string, path: string, value: unknown): Promise<Outcome> {
    const headers = { ...this.#authorization(), ...TYPE };
    return this.#client.ask(method, path, { body: JSON.stringify(value), headers });
  }

  someNote(): string {
    // Not the oldest, which may be going.
    return pick(this.#notes.slice(20), this.next()) ?? "";
  }

  async create(): Promise<Outcome> {
    const count = this.next();
    const note = { title: `note ${count}`, body: `text ${count} `.repeat(50), views: count };
    const outcome = await this.json("POST", "/notes", { ...note, author: pick(this.#authors, count) });
    if (outcome.ended === 201) this.#notes.push(JSON.parse(outcome.text).data[0].id);
    return outcome;
  }

  removeOldest(): Promise<Outcome> {
    const oldest = this.#notes.length > FEWEST ? this.#notes.shift() : undefined;
    return oldest === undefined ? this.create() : this.send("DELETE", `/notes/${oldest}`);
  }

  async logIn(): Promise<Outcome> {
    const person = pick(this.#people, this.next());
    if (person === undefined) throw new Error("nobody");
    const outcome = await this.#client.post("/auth/login", person);
    if (outcome.ended === 200) {
      const { accessToken, refreshToken } = JSON.parse(outcome.text);
      this.#sessions.push({ person, accessToken, refreshToken, isRefreshing: false });
    }
    return outcome;
  }

  async logOut(): Promise<Outcome> {
    if (this.#sessions.length < this.#people.length) return this.logIn();
    const at = this.#sessions.findIndex(({ isRefreshing }) => !isRefreshing);
    const [session] = this.#sessions.splice(at, 1);
    if (at < 0 || session === undefined) return this.logIn();
    await new Promise((resolve) => setTimeout(resolve, GRACE_MS));
    return this.#client.post("/auth/logout", { refreshToken: session.refreshToken });
  }

  async refresh(): Promise<Outcome> {
    const free = this.#sessions.filter(({ isRefreshing }) => !isRefreshing);
    const session = pick(free, this.next());
    if (session === undefined) return this.logIn();
    session.isRefreshing = true;
    const outcome = await this.#client.post("/auth/refresh-token", { refreshToken: session.refreshToken });
    if (outcome.ended === 200) {
      const { accessToken, refreshToken } = JSON.parse(outcome.text);
      Object.assign(session, { accessToken, refreshToken });
    }
    session.isRefreshing = false;
    return outcome;
  }

  async upload(): Promise<Outcome> {
    const outcome = await this.#client.ask("POST", "/svc_file", {
      body: multipartBody([textPart("isPublic", "true"), filePart("file", "soak.bin", "a/b", FILE)]),
      headers: { ...this.#authorization(), "Content-Type": MULTIPART },
    });
    if (outcome.ended === 201) this.#files.push(JSON.parse(outcome.text).data[0].id);
    return outcome;
  }

  removeFile(): Promise<Outcome> {
    const oldest = this.#files.length > 10 ? this.#files.shift() : undefined;
    return oldest === undefined ? this.upload() : this.send("DELETE", `/svc_file/${oldest}`);
  }

  async download(): Promise<Outcome> {
    const outcome = await this.send("GET", `/assets/${this.#files.at(-1)}`);
    // Not JSON, and as it should be.
    return {
      ...outcome,
      isJson: outcome.ended === 200 ? outcome.text.length === FILE.length : outcome.isJson,
    };
  }

  leaveDownload(): Promise<Outcome> {
    return this.#leave(`/assets/${this.#files.at(-1)}`, 10_000);
  }

  leaveList(): Promise<Outcome> {
    return this.#leave("/notes?limit=0", 1);
  }

  /** Announces a file, sends a part of it, goes away. */
  leaveUpload(): Promise<Outcome> {
    const body = multipartBody([filePart("file", "half.bin", "a/b", FILE)]);
    const began = performance.now();
    return new Promise((resolve) => {
      const request = httpGet(`${this.#base}/svc_file`, {
        method: "POST",
        agent: false,
        headers: { ...this.#authorization(), "Content-Type": MULTIPART, "Content-Length": body.length },
      });
      request.once("error", () => {});
      request.once("close", () => resolve(left(began)));
      request.write(body.subarray(0, 50_000), () => request.destroy());
    });
  }

  /** Goes away when so many bytes of the answer have come. */
  #leave(path: string, bytes: number): Promise<Outcome> {
    const began = performance.now();
    return new Promise((resolve) => {
      const request = httpGet(this.#base + path, { agent: false, headers: this.#authorization() });
      request.once("error", () => {});
      request.once("close", () => resolve(left(began)));
      request.once("response", (answer) => {
        let come = 0;
        answer.on("data", (piece: Buffer) => {
          come += piece.length;
          if (come >= bytes) request.destroy();
        });
        answer.once("error", () => {});
      });
    });
  }

  #authorization(): { Authorization?: string } {
    const session = pick(this.#sessions, this.next());
    return session === undefined ? {} : { Authorization: `Bearer ${session.accessToken}` };
  }

  close(): void {
    this.#client.close();
  }
}

function pick<Each>(list: readonly Each[], number: number): Each | undefined {
  return list[(number * 7919) % Math.max(1, list.length)];
}

/** Nobody waits for an answer. */
function left(began: number): Outcome {
  const at = performance.now();
  return { ended: 204, text: "", isJson: true, ms: at - began, at };
}
