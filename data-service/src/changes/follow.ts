// GET /{table}/changes: tells one caller what happens to the records of a table, until one of the two is gone.
import { AppError, isClientError } from "@portico/shared/app-error";
import type { Response } from "express";
import type { Table } from "../catalog/catalog.js";
import type { Feed } from "../journal/feed.js";
import { LOOK_AT_CALLER_MS } from "../lasting-caller.js";
import type { Numbered, Position } from "../mongo/journal-store.js";
import type { Principal } from "../principal.js";
import type { Parameters } from "../query/parameters.js";
import { inRoom } from "../records/read/room.js";
import type { RecordDeps } from "../records/record-deps.js";
import { EventStream } from "./event-stream.js";
import { judge, openWish, type Told, type Wish } from "./judge.js";
import type { Judging } from "./judging.js";
import type { Place, Positions } from "./position.js";
import type { EndReason, StreamEnd, Streams } from "./streams.js";

export interface FollowDeps extends RecordDeps {
  readonly feed: Feed;
  readonly positions: Positions;
  readonly streams: Streams;
  readonly judging: Judging;
  /** CHANGES_HEARTBEAT_MS */
  readonly changesHeartbeatMs: number;
  /** CHANGES_STALL_MS */
  readonly changesStallMs: number;
}

/** Who follows, and what. */
export interface Follower {
  readonly principal: Principal;
  /** Whose streams are counted together. */
  readonly caller: string;
  /** The caller as of now, read again; undefined when the session or token has ended. */
  readonly present: () => Promise<Principal | undefined>;
  readonly table: string;
  readonly parameters: Parameters;
  /** `Last-Event-ID`, or the parameter of this name. */
  readonly lastEventId: string | undefined;
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
  const role = roleOf(follower.principal);
  const stop = deps.streams.open(follower.caller);
  response.once("close", () => stop.end("gone"));
  try {
    const isLost = place !== undefined && (place.epoch !== table.journalEpoch || place.role !== role);
    await new Following(deps, follower, table, response, stop).run(start, isLost);
  } finally {
    stop.end("over");
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
  /** As they were at the point from which the stream continues without a gap. */
  #table: Table;
  #role: string;
  #present: Table;
  readonly #stream: EventStream;
  readonly #stop: StreamEnd;
  #principal: Principal;
  /**
   * Earlier events were told by the rights of another role, or later ones were not kept: the client must read everything
   * again.
   */
  #mustReset = false;
  #beatAt = 0;

  constructor(deps: FollowDeps, follower: Follower, table: Table, response: Response, stop: StreamEnd) {
    this.#deps = deps;
    this.#follower = follower;
    this.#principal = follower.principal;
    this.#role = roleOf(follower.principal);
    this.#table = table;
    this.#present = table;
    this.#stream = new EventStream(response, deps.changesStallMs);
    this.#stop = stop;
  }

  /** @param isLost whether what came after the start is unknown, or what came before it was told to another role */
  async run(start: Position, isLost: boolean): Promise<void> {
    this.#mustReset = isLost;
    this.#stream.open();
    const looking = setInterval(() => void this.#lookAtCaller(), LOOK_AT_CALLER_MS).unref();
    try {
      this.#stream.end(await this.#tell(start));
    } catch (err) {
      // The head has been sent, so an error body would be read as events. The client learns what is wrong when it
      // reconnects.
      const { table } = this.#follower;
      if (!(err instanceof AppError)) this.#deps.logger.error({ err, table }, "a stream of changes broke");
      this.#stream.end(reasonOf(err));
    } finally {
      clearInterval(looking);
    }
  }

  /** @returns why it ended */
  async #tell(start: Position): Promise<EndReason> {
    const { feed } = this.#deps;
    let at = start;
    const send = (event: string) => this.#stream.send({ event, id: this.#idOf(at), data: {} });
    const isKnown = !this.#mustReset && (await feed.read(at)) !== undefined;
    if (isKnown && !(await send("ready"))) return "slow";
    while (this.#stop.reason === undefined) {
      const entries = await feed.read(at);
      if (entries === undefined || this.#mustReset) {
        this.#mustReset = false;
        this.#table = this.#present;
        this.#role = roleOf(this.#principal);
        at = await feed.tip();
        if (!(await send("reset"))) return "slow";
      } else if (entries.length === 0) {
        if (!(await this.#wait(at))) return "slow";
      } else {
        if (!(await this.#tellOf(entries))) return "slow";
        at = entries.at(-1)?.position ?? at;
      }
    }
    return this.#stop.reason;
  }

  /** Some are told before the next are judged: a client that reads slowly holds no more than these. */
  async #tellOf(entries: readonly Numbered[]): Promise<boolean> {
    const own = entries.filter(({ entry }) => entry.table === this.#table.id);
    if (own.length === 0) return true;
    for await (const some of inRoom(own, (each) => this.#judge(each))) {
      for (const told of some) {
        // Nobody knows what follows from this change: the client has to look.
        this.#mustReset ||= told.event === "reset";
        // What was judged by former rights is not told: a reset follows.
        if (this.#isOver()) return true;
        if (!(await this.#send(told))) return false;
      }
      if (this.#isOver()) return true;
    }
    return true;
  }

  async #judge(entries: readonly Numbered[]): Promise<readonly Told[]> {
    const wish = await this.#openWish();
    if (!this.#goesOn(wish.table)) return [];
    const judged = () => judge(this.#deps, wish, entries);
    return this.#deps.judging.run(wish, entries, this.#stop.signal, judged);
  }

  /** Nothing more is told of what has been read. */
  #isOver(): boolean {
    return this.#stop.reason !== undefined || this.#mustReset;
  }

  #openWish(): Promise<Wish> {
    const { table, parameters } = this.#follower;
    return openWish(this.#deps, this.#principal, table, parameters);
  }

  #send({ event, position, data }: Told): Promise<boolean> {
    this.#beatAt = performance.now();
    return this.#stream.send({ event, id: this.#idOf(position), data });
  }

  /** Waits until there is more to read, or it is time for a sign of life. */
  async #wait(at: Position): Promise<boolean> {
    // An end that came during a read that found nothing no longer wakes anybody.
    if (this.#stop.reason !== undefined) return true;
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
      if (now === undefined) return this.#stop.end("signed-out");
      this.#mustReset ||= roleOf(now) !== this.#role;
      this.#principal = now;
      this.#goesOn((await this.#openWish()).table);
      if (this.#mustReset) this.#wake();
    } catch (error) {
      // A caller who can't be checked must not be told anything.
      this.#stop.end(reasonOf(error));
    }
  }

  /** @param table as it is now @returns whether its journal holds everything that happened, and may be told */
  #goesOn(table: Table): boolean {
    this.#present = table;
    // The table was replaced by another one of the same name, or can no longer be followed.
    if (table.id !== this.#table.id || table.changes !== true) this.#stop.end("refused");
    // For a while the table kept no journal.
    else if (table.journalEpoch !== this.#table.journalEpoch) this.#mustReset = true;
    else return true;
    return false;
  }

  #idOf(position: Position): string {
    return this.#deps.positions.write(position, this.#table, this.#role);
  }
}

/** A right that is gone, or a name: a client that reconnects gets the refusal. Anything else may be over by then. */
function reasonOf(error: unknown): EndReason {
  return isClientError(error) ? "refused" : "unavailable";
}

/** Says by whose rights a caller is told of records: those of a role, which root admins don't need. */
function roleOf(principal: Principal): string {
  if (principal.kind === "anonymous") return "anonymous";
  return `${principal.roleId ?? "none"}${principal.isRootAdmin ? "-root" : ""}`;
}
