// GET /{table}/changes: tells one caller what happens to the records of a table, until one of the two is gone.
import { AppError, isClientError } from "@portico/shared/app-error";
import { isFailure } from "@portico/shared/http-context";
import type { Response } from "express";
import type { Table } from "../catalog/catalog.js";
import { slowAnswers } from "../http/slow-answers.js";
import type { Feed } from "../journal/feed.js";
import { LOOK_AT_CALLER_MS } from "../lasting-caller.js";
import type { Numbered, Position } from "../mongo/journal-store.js";
import { only } from "../pieces.js";
import type { Principal } from "../principal.js";
import type { Parameters } from "../query/parameters.js";
import { refuse } from "../query/refuse.js";
import { passesName, withoutOption } from "../records/find-table.js";
import { inRoom } from "../records/read/room.js";
import { tablesOf } from "../records/read/still-open.js";
import { isAsBegun } from "../records/read/while-allowed.js";
import type { RecordDeps } from "../records/record-deps.js";
import { EventStream } from "./event-stream.js";
import { judge, type OpenWish, openWish, type Told } from "./judge.js";
import type { Judging } from "./judging.js";
import { type Place, type Positions, readerOf } from "./position.js";
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
  /** When that was read, by `performance.now()`. */
  readonly readAt: number;
  /** Whose streams are counted together. */
  readonly caller: string;
  /** The caller as of now, read again; undefined when the session or token has ended. */
  readonly present: () => Promise<Principal | undefined>;
  readonly table: string;
  readonly parameters: Parameters;
  /** Behind which event to go on, by the name under which the client says so. */
  readonly lastEvent: LastEvent | undefined;
}

/** What a client calls its last event. */
export interface LastEvent {
  readonly name: "Last-Event-ID" | "lastEventId";
  readonly id: string;
}

/**
 * Answers with a stream of events.
 * @throws AppError what a list would be refused with, 404 for a table without `changes`, 400 for a foreign Last-Event-ID
 */
export async function follow(deps: FollowDeps, follower: Follower, response: Response): Promise<void> {
  const began = baseOf(await openWish(deps, follower.principal, follower.table, follower.parameters));
  const { table, reader } = began;
  if (table.changes !== true) {
    const remedy = withoutOption(table, "changes");
    throw new AppError("NOT_FOUND", `Changes of "${table.name}" can't be followed; ${remedy}.`);
  }
  const place = placeOf(deps, follower, table);
  const start = place?.position ?? (await deps.feed.tip());
  const stop = deps.streams.open(follower.caller);
  response.once("close", () => stop.end("gone"));
  try {
    const isLost = place !== undefined && (place.epoch !== table.journalEpoch || place.reader !== reader);
    await new Following(deps, follower, { ...began, at: start, isLost }, response, stop).run();
  } finally {
    stop.end("over");
    deps.streams.close(stop);
  }
}

function placeOf({ positions }: FollowDeps, { lastEvent }: Follower, table: Table): Place | undefined {
  if (lastEvent === undefined || lastEvent.id === "") return undefined;
  const place = positions.read(lastEvent.id, table);
  if (place !== undefined) return place;
  throw refuse(
    lastEvent.name,
    "is not the id of an event of this table; leave it out to begin with what happens next.",
  );
}

/** What a stream depends on, as it was at one moment. */
interface Base {
  readonly table: Table;
  /** By whose rights events are told. */
  readonly reader: string;
  /** All that the stream shows or goes through, by their ids. */
  readonly tables: ReadonlyMap<string, Table>;
}

/** Where a stream begins. */
interface Beginning extends Base {
  readonly at: Position;
  /** Whether what came after this is unknown, or what came before it was told to another reader. */
  readonly isLost: boolean;
}

/** What becomes of some entries. */
interface Judged {
  readonly told: readonly Told[];
  /** The last of them. */
  readonly upTo: Position;
  /** What they were judged by, and when that was so, by `performance.now()`. */
  readonly asked: OpenWish;
  readonly askedAt: number;
}

class Following {
  readonly #deps: FollowDeps;
  readonly #follower: Follower;
  /** Up to here everything has been told, and the base is that of then: the stream has no gap since. */
  #at: Position;
  #base: Base;
  #present: Base;
  readonly #stream: EventStream;
  readonly #stop: StreamEnd;
  #principal: Principal;
  /**
   * Earlier events were told by the rights of another reader, or later ones were not kept: the client must read everything
   * again.
   */
  #mustReset: boolean;

  constructor(deps: FollowDeps, follower: Follower, begin: Beginning, response: Response, stop: StreamEnd) {
    this.#deps = deps;
    this.#follower = follower;
    this.#principal = follower.principal;
    this.#at = begin.at;
    this.#base = begin;
    this.#present = begin;
    this.#mustReset = begin.isLost;
    this.#stream = new EventStream(response, deps.changesStallMs, stop.signal, slowAnswers);
    this.#stop = stop;
  }

  async run(): Promise<void> {
    this.#stream.open();
    this.#lookAfter(Math.max(0, this.#follower.readAt + LOOK_AT_CALLER_MS - performance.now()));
    const beating = setInterval(() => this.#beat(), this.#deps.changesHeartbeatMs).unref();
    try {
      this.#stream.end(await this.#tell());
    } catch (err) {
      // The head has been sent, so an error body would be read as events. The client learns what is wrong when it
      // reconnects.
      const { table } = this.#follower;
      if (!(err instanceof AppError) || isFailure(err))
        this.#deps.logger.error({ err, table }, "a stream of changes broke");
      this.#stream.end(reasonOf(err));
    } finally {
      clearTimeout(this.#looking);
      clearInterval(beating);
    }
  }

  /** @returns why it ended */
  async #tell(): Promise<EndReason> {
    const { feed } = this.#deps;
    const isKnown = !this.#mustReset && (await feed.read(this.#at)) !== undefined;
    if (isKnown) await this.#send("ready");
    while (this.#stop.reason === undefined) {
      const entries = await feed.read(this.#at);
      if (entries === undefined || this.#mustReset) await this.#reset();
      else if (entries.length === 0) await this.#wait();
      else await this.#tellOf(entries);
    }
    return this.#stop.reason;
  }

  async #reset(): Promise<void> {
    const tip = await this.#deps.feed.tip();
    // All at once: a sign of life with the new reader and the former place would say that nothing was missed.
    this.#mustReset = false;
    this.#base = this.#present;
    this.#at = tip;
    await this.#send("reset");
  }

  /** Some are told before the next are judged: a client that reads slowly holds no more than these. */
  async #tellOf(entries: readonly Numbered[]): Promise<void> {
    const own = entries.filter(({ entry }) => entry.table === this.#base.table.id);
    if (own.length > 0)
      for await (const parts of inRoom(own, (some) => this.#judge(some), only))
        for (const part of parts) if (!(await this.#sendAll(part))) return;
    this.#at = entries.at(-1)?.position ?? this.#at;
  }

  /** @returns whether all of it is told; what is not is read and judged again, if the stream goes on */
  async #sendAll({ told, upTo, asked, askedAt }: Judged): Promise<boolean> {
    let lookedAt = askedAt;
    for (const { event, position, data } of told) {
      // A client that reads slowly must not be told by former rules what they showed.
      if (performance.now() - lookedAt > LOOK_AT_CALLER_MS) {
        lookedAt = performance.now();
        if (!(await this.#mayStill(asked))) return false;
      }
      // Nobody knows what follows from this change: the client has to look.
      this.#mustReset ||= event === "reset";
      // What was judged by former rights is not told: a reset follows.
      if (this.#isOver()) return false;
      this.#at = position;
      await this.#send(event, data);
    }
    if (this.#isOver()) return false;
    this.#at = upTo;
    return true;
  }

  async #judge(entries: readonly Numbered[]): Promise<readonly Judged[]> {
    const asked = await this.#openWish();
    const { wish } = asked;
    if (!this.#goesOn(asked)) return [];
    const askedAt = performance.now();
    const judged = () => judge(this.#deps, wish, entries);
    const told = await this.#deps.judging.run(wish, entries, this.#stop.signal, judged);
    const isLate = !this.#isOver() && performance.now() - askedAt > LOOK_AT_CALLER_MS;
    if (isLate && !(await this.#mayStill(asked))) return this.#judge(entries);
    return [{ told, upTo: entries.at(-1)?.position ?? this.#at, asked, askedAt }];
  }

  /** A judgement may have waited for its turn, and for its client: rules take effect within seconds. */
  async #mayStill({ wish, rights }: OpenWish): Promise<boolean> {
    const now = await this.#deps.rights(this.#principal);
    const began = { rights, actions: ["read"], shown: wish.shown } as const;
    return isAsBegun(began, now, await this.#deps.catalogs.get());
  }

  /** Nothing more is told of what has been read. */
  #isOver(): boolean {
    return this.#stop.reason !== undefined || this.#mustReset;
  }

  #openWish(): Promise<OpenWish> {
    const { table, parameters } = this.#follower;
    return openWish(this.#deps, this.#principal, table, parameters);
  }

  async #send(event: string, data: readonly string[] = ["{}"]): Promise<void> {
    const isTaken = await this.#stream.send({ event, id: this.#idOf(this.#at), data });
    if (!isTaken) this.#stop.end("slow");
  }

  /** A sign of life, also while nothing of what is read and judged is told: it moves the client's place on. */
  #beat(): void {
    if (!this.#isOver()) this.#stream.beat(this.#idOf(this.#at));
    this.#wake();
  }

  /** Waits until there is more to read, or something else to do. */
  async #wait(): Promise<void> {
    // An end that came during a read that found nothing no longer wakes anybody.
    if (this.#stop.reason !== undefined) return;
    const wake = new AbortController();
    const stop = (): void => wake.abort();
    this.#stop.signal.addEventListener("abort", stop, { once: true });
    this.#wake = stop;
    await this.#deps.feed.more(this.#at, wake.signal);
    this.#stop.signal.removeEventListener("abort", stop);
  }

  #wake: () => void = () => {};

  #looking: NodeJS.Timeout | undefined;

  /** And again and again from then on. */
  #lookAfter(ms: number): void {
    const look = (): void => {
      this.#lookAfter(LOOK_AT_CALLER_MS);
      void this.#lookAtCaller();
    };
    this.#looking = setTimeout(look, ms).unref();
  }

  async #lookAtCaller(): Promise<void> {
    try {
      const now = await this.#follower.present();
      if (now === undefined) return this.#stop.end("signed-out");
      this.#principal = now;
      this.#goesOn(await this.#openWish());
      if (this.#mustReset) this.#wake();
    } catch (error) {
      // A caller who can't be checked must not be told anything.
      this.#stop.end(reasonOf(error));
    }
  }

  /** @param asked as it is now @returns whether the table's journal holds everything that happened, and may be told */
  #goesOn(asked: OpenWish): boolean {
    const begun = this.#base;
    this.#present = baseOf(asked);
    const { table, reader } = this.#present;
    // The table was replaced by another one of the same name, or can no longer be followed.
    if (table.id !== begun.table.id || table.changes !== true) this.#stop.end("refused");
    // For a while the table kept no journal, or the reader was told other records until now, be it by former names.
    else if (
      table.journalEpoch !== begun.table.journalEpoch ||
      reader !== begun.reader ||
      haveOtherMembers(this.#present, begun)
    )
      this.#mustReset = true;
    else return true;
    return false;
  }

  #idOf(position: Position): string {
    return this.#deps.positions.write(position, this.#base.table, this.#base.reader);
  }
}

/** A right that is gone, or a name: a client that reconnects gets the refusal. Anything else may be over by then. */
function reasonOf(error: unknown): EndReason {
  return isClientError(error) ? "refused" : "unavailable";
}

function baseOf({ wish, rights }: OpenWish): Base {
  const tables = tablesOf(wish.shown);
  const reader = readerOf(rights.reader(tables));
  return { table: wish.table, reader, tables: new Map([...tables].map((table) => [table.id, table])) };
}

/** Does a name in one of the tables stand for another column or link than before? Other tables define some of the links. */
function haveOtherMembers({ tables }: Base, begun: Base): boolean {
  return [...begun.tables].some(([id, former]) => {
    const now = tables.get(id);
    return now !== undefined && passesName(former, now);
  });
}
