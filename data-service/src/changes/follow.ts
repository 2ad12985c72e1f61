// GET /{table}/changes: tells one caller what happens to the records of a table, until one of the two goes away.
import { AppError, isClientError, unavailable } from "@portico/shared/app-error";
import type { Response } from "express";
import type { Table } from "../catalog/catalog.js";
import { LOOK_AT_CALLER_MS } from "../http/lasting-caller.js";
import type { Feed } from "../journal/feed.js";
import type { Position } from "../mongo/journal-store.js";
import type { Principal } from "../principal.js";
import type { Parameters } from "../query/parameters.js";
import type { RecordDeps } from "../records/deps.js";
import { EventStream } from "./event-stream.js";
import { judge, openWish, type Told, type Wish } from "./judge.js";
import type { Place, Positions } from "./position.js";

export interface FollowDeps extends RecordDeps {
  readonly feed: Feed;
  readonly positions: Positions;
  readonly streams: Streams;
  /** CHANGES_HEARTBEAT_MS */
  readonly changesHeartbeatMs: number;
  /** CHANGES_STALL_MS */
  readonly changesStallMs: number;
}

/** Who follows, and what. */
export interface Follower {
  readonly principal: Principal;
  /** Whose streams are counted together: the user's id, or the address of one who has not signed in. */
  readonly caller: string;
  /** Who it is by now, read anew; undefined when the session or token has ended. */
  readonly present: () => Promise<Principal | undefined>;
  readonly table: string;
  readonly parameters: Parameters;
  /** `Last-Event-ID`, or the parameter of this name. */
  readonly lastEventId: string | undefined;
}

/** Streams of one process: each costs a look at its session every few seconds, and a question a change. */
const MOST_STREAMS = 1_000;
/** Nobody takes them all. */
const MOST_OF_ONE_CALLER = 100;

/** The streams of this process, so that all can be ended when it stops. */
export class Streams {
  readonly #open = new Map<AbortController, string>();
  #isStopping = false;

  /** @throws AppError 429 when the caller has too many, 503 when all together have */
  open(caller: string): AbortController {
    const own = [...this.#open.values()].filter((each) => each === caller).length;
    if (own >= MOST_OF_ONE_CALLER)
      throw new AppError("TOO_MANY_REQUESTS", {
        message: `You follow changes ${own} times already; end some of these first.`,
        headers: { "Retry-After": "5" },
      });
    if (this.#isStopping || this.#open.size >= MOST_STREAMS)
      throw unavailable("Too many clients follow changes here; try again shortly.", 5);
    const stream = new AbortController();
    this.#open.set(stream, caller);
    return stream;
  }

  close(stream: AbortController): void {
    this.#open.delete(stream);
  }

  stop(): void {
    this.#isStopping = true;
    for (const stream of this.#open.keys()) stream.abort("restart");
  }
}

/**
 * Answers with a stream of events.
 * @throws AppError what a list would be refused with, 404 for a table without `changes`, 400 for a foreign Last-Event-ID
 */
export async function follow(deps: FollowDeps, follower: Follower, response: Response): Promise<void> {
  const { table } = await openWish(deps, follower.principal, follower.table, follower.parameters);
  if (table.changes !== true) {
    const remedy = table.system
      ? "tables of the service itself have none to follow"
      : `set "changes": true in its definition`;
    throw new AppError("NOT_FOUND", `Changes of "${table.name}" can't be followed; ${remedy}.`);
  }
  const place = placeOf(deps, follower, table);
  const start = place?.position ?? (await deps.feed.tip());
  const stop = deps.streams.open(follower.caller);
  response.once("close", () => stop.abort("gone"));
  try {
    const isLost = place !== undefined && place.epoch !== table.journalEpoch;
    await new Following(deps, follower, table, response, stop).run(start, isLost);
  } finally {
    stop.abort("over");
    deps.streams.close(stop);
  }
}

function placeOf({ positions }: FollowDeps, { lastEventId }: Follower, table: Table): Place | undefined {
  if (lastEventId === undefined || lastEventId === "") return undefined;
  const place = positions.read(lastEventId, table);
  if (place !== undefined) return place;
  throw new AppError(
    "BAD_REQUEST",
    "Last-Event-ID: is not the id of an event of this table; leave it out to begin with what happens next.",
  );
}

class Following {
  readonly #deps: FollowDeps;
  readonly #follower: Follower;
  /** As it was when the stream began to go on without a gap. */
  #table: Table;
  #present: Table;
  readonly #stream: EventStream;
  readonly #stop: AbortController;
  #principal: Principal;
  /** What was told before went by the rights of another role, or what came behind it was not kept. */
  #isOther = false;
  #beatAt = 0;

  constructor(deps: FollowDeps, follower: Follower, table: Table, response: Response, stop: AbortController) {
    this.#deps = deps;
    this.#follower = follower;
    this.#principal = follower.principal;
    this.#table = table;
    this.#present = table;
    this.#stream = new EventStream(response, deps.changesStallMs);
    this.#stop = stop;
  }

  /** @param isLost nobody knows what came behind the start */
  async run(start: Position, isLost: boolean): Promise<void> {
    this.#isOther = isLost;
    this.#stream.open();
    const looking = setInterval(() => void this.#lookAtCaller(), LOOK_AT_CALLER_MS).unref();
    try {
      this.#stream.end(await this.#tell(start));
    } catch (err) {
      // The head is out: an error body would read as events. What is wrong is told when the client comes back.
      if (!(err instanceof AppError)) this.#deps.logger.error({ err }, "a stream of changes broke");
      this.#stream.end(reasonOf(err));
    } finally {
      clearInterval(looking);
    }
  }

  /** @returns why it ended */
  async #tell(start: Position): Promise<string> {
    const { feed } = this.#deps;
    let at = start;
    const send = (event: string) => this.#stream.send({ event, id: this.#idOf(at), data: {} });
    const isKnown = !this.#isOther && (await feed.read(at)) !== undefined;
    if (isKnown && !(await send("ready"))) return "slow";
    while (!this.#stop.signal.aborted) {
      const entries = await feed.read(at);
      if (entries === undefined || this.#isOther) {
        this.#isOther = false;
        this.#table = this.#present;
        at = await feed.tip();
        if (!(await send("reset"))) return "slow";
      } else if (entries.length === 0) {
        if (!(await this.#wait(at))) return "slow";
      } else {
        if (!(await this.#tellOf(entries))) return "slow";
        at = entries.at(-1)?.position ?? at;
      }
    }
    return String(this.#stop.signal.reason);
  }

  async #tellOf(entries: Awaited<ReturnType<Feed["read"]>> & object): Promise<boolean> {
    if (!entries.some(({ entry }) => entry.table === this.#table.id)) return true;
    const wish = await this.#openWish();
    if (!this.#goesOn(wish.table)) return true;
    for (const told of await judge(this.#deps, wish, entries)) {
      if (this.#stop.signal.aborted) return true;
      if (!(await this.#send(told))) return false;
    }
    return true;
  }

  #openWish(): Promise<Wish> {
    const { table, parameters } = this.#follower;
    return openWish(this.#deps, this.#principal, table, parameters);
  }

  #send({ event, position, data }: Told): Promise<boolean> {
    this.#beatAt = performance.now();
    return this.#stream.send({ event, id: this.#idOf(position), data });
  }

  /** Until there is more to read, or it is time for a sign of life. */
  async #wait(at: Position): Promise<boolean> {
    const { feed, changesHeartbeatMs } = this.#deps;
    const wake = new AbortController();
    const timer = setTimeout(() => wake.abort(), changesHeartbeatMs).unref();
    const stop = (): void => wake.abort();
    this.#stop.signal.addEventListener("abort", stop, { once: true });
    this.#wake = stop;
    await feed.more(at, wake.signal);
    clearTimeout(timer);
    this.#stop.signal.removeEventListener("abort", stop);
    if (performance.now() - this.#beatAt < changesHeartbeatMs) return true;
    this.#beatAt = performance.now();
    return this.#stream.beat(this.#idOf(at));
  }

  #wake: () => void = () => {};

  async #lookAtCaller(): Promise<void> {
    try {
      const now = await this.#follower.present();
      if (now === undefined) return this.#stop.abort("signed-out");
      this.#isOther ||= !isSame(now, this.#principal);
      this.#principal = now;
      this.#goesOn((await this.#openWish()).table);
      if (this.#isOther) this.#wake();
    } catch (error) {
      // Who can't be asked about must not be told anything either.
      this.#stop.abort(reasonOf(error));
    }
  }

  /** @param table as it is by now @returns whether what its journal holds is all that happened, and is to be told */
  #goesOn(table: Table): boolean {
    this.#present = table;
    // It was replaced by another one of its name, or is no longer followed by anybody.
    if (table.id !== this.#table.id || table.changes !== true) this.#stop.abort("refused");
    // For a while it kept no journal.
    else if (table.journalEpoch !== this.#table.journalEpoch) this.#isOther = true;
    else return true;
    return false;
  }

  #idOf(position: Position): string {
    return this.#deps.positions.write(position, this.#table);
  }
}

/** A right that is gone, or a name: coming back gets the refusal. Anything else may be over by then. */
function reasonOf(error: unknown): string {
  return isClientError(error) ? "refused" : "unavailable";
}

function isSame(a: Principal, b: Principal): boolean {
  if (a.kind !== "user" || b.kind !== "user") return a.kind === b.kind;
  return a.roleId === b.roleId && a.isRootAdmin === b.isRootAdmin;
}
