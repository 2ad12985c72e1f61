// Counters of tries in `_throttle`, one document per key, each change one conditional write.
import {
  type AnyBulkWriteOperation,
  type Collection,
  type Db,
  type Document,
  type Filter,
  MongoBulkWriteError,
  type UpdateFilter,
} from "mongodb";
import type { Bound, GrowingDelay, Quota, ThrottleStore, Try } from "../auth/throttle.js";
import { isDuplicate } from "./driver-errors.js";

interface CounterDocument {
  _id: string;
  count: number;
  /** How many of these have failed, if tries are decided later. */
  failed?: number;
  /** When the last of them was admitted, if tries are decided later. */
  admittedAt?: Date;
  /** From then on the counter is void; every change checks this, because sweeping comes late or never. */
  expiresAt: Date;
  /** Only with a growing delay: no try before this. */
  notBefore?: Date;
  /** The names of the outcomes that were noted last. */
  noted?: string[];
}

/**
 * Not the moment of the try itself, which may be in the future for a try that was admitted earlier, or by a slower clock.
 */
const NO_WAIT = new Date(0);

/**
 * A password is checked within some tenths of a second; a try that is still undecided after this was left by a process that
 * died.
 */
const JUDGED_SOON_MS = 1_000;
const NEVER_JUDGED_AFTER_MS = 30_000;

/** So many others may be noted before one whose answer was lost comes again, within half a minute. */
const MOST_NOTED = 100;

export function throttleCollection(db: Db): Collection<CounterDocument> {
  // It does no harm to lose a count in a power cut, and waiting for the disk would make each sign-in slower.
  return db.collection<CounterDocument>("_throttle", { writeConcern: { w: 1 } });
}

export function makeThrottleStore(db: Db): ThrottleStore {
  const counters = throttleCollection(db);
  return {
    async take(tries, now) {
      for (let first = 0; ; ) {
        const at = await firstNotCounted(counters, tries, first, now);
        const stopped = at === undefined ? undefined : tries[at];
        if (at === undefined || stopped === undefined) return undefined;
        const found = await counters.findOne({ _id: { $eq: stopped.key } });
        const retryAt = found === null ? undefined : refusedUntil(found, stopped.bound, now);
        if (retryAt !== undefined) return { at, retryAt };
        // Another try has made it at the same moment, or it has room again.
        first = at;
      }
    },
    async settle({ name, giveBack, fail = [], clear = [], remember }) {
      const changes = [
        ...giveBack.map((key) => once(name, key, { $inc: { count: -1 }, $unset: { notBefore: "" } })),
        ...fail.map((key) => once(name, key, { $inc: { failed: 1 } })),
        ...clear.map(noneAnyMore),
        ...(remember === undefined ? [] : [noted(remember)]),
      ];
      if (changes.length > 0) await counters.bulkWrite(changes, { ordered: false });
    },
    async knows(key, now) {
      return (await counters.findOne({ _id: { $eq: key }, expiresAt: { $gt: now } })) !== null;
    },
  };
}

type CounterWrite = AnyBulkWriteOperation<CounterDocument>;

/**
 * Counts the tries from the `first` on in one command, up to one that is not counted: its counter is not found by the
 * condition and would be made a second time. It is full, or another try has made it at the same moment.
 *
 * @returns the position of that one; undefined when all are counted
 */
async function firstNotCounted(
  counters: Collection<CounterDocument>,
  tries: readonly Try[],
  first: number,
  now: Date,
): Promise<number | undefined> {
  try {
    await counters.bulkWrite(tries.slice(first).map((each) => oneMore(each, now)));
    return undefined;
  } catch (error) {
    if (!(error instanceof MongoBulkWriteError && isDuplicate(error))) throw error;
    return first + ([error.writeErrors].flat()[0]?.index ?? 0);
  }
}

function oneMore({ key, bound }: Try, now: Date): CounterWrite {
  const change = "limit" in bound ? withinQuota(bound, now) : afterDelay(bound, now);
  return {
    updateOne: { filter: { _id: { $eq: key }, $nor: [change.full] }, update: change.update, upsert: true },
  };
}

/** How one try more is counted, unless the counter is full. */
interface Count {
  readonly full: Filter<CounterDocument>;
  readonly update: Document[];
}

/**
 * Whether such a time is still to come. One that is later than anybody sets it was set before the clock was set back, and would
 * stand for as much longer. Twice as late is not: tries come with the time of before they waited, and from other instances.
 */
function ahead(longestMs: number, now: Date): { readonly $gt: Date; readonly $lte: Date } {
  return { $gt: now, $lte: later(now, 2 * longestMs) };
}

function isAhead(at: Date, longestMs: number, now: Date): boolean {
  const { $gt, $lte } = ahead(longestMs, now);
  return at > $gt && at <= $lte;
}

/** For an update: whether its counter still counts. */
function isLive(windowMs: number, now: Date): Document {
  const { $gt, $lte } = ahead(windowMs, now);
  return { $and: [{ $gt: ["$expiresAt", $gt] }, { $lte: ["$expiresAt", $lte] }] };
}

function withinQuota({ limit, windowMs, isJudged }: Quota, now: Date): Count {
  const live = isLive(windowMs, now);
  const judged = { failed: { $cond: [live, { $ifNull: ["$failed", 0] }, 0] }, admittedAt: now };
  return {
    full: { expiresAt: ahead(windowMs, now), count: { $gte: limit } },
    update: [
      {
        $set: {
          count: { $cond: [live, { $add: ["$count", 1] }, 1] },
          expiresAt: { $cond: [live, "$expiresAt", later(now, windowMs)] },
          ...(isJudged === true ? judged : {}),
        },
      },
    ],
  };
}

function afterDelay({ free, firstMs, longestMs, forgetMs }: GrowingDelay, now: Date): Count {
  const live = isLive(forgetMs, now);
  const doubled = { $multiply: [firstMs, { $pow: [2, { $min: [{ $subtract: ["$count", free] }, 30] }] }] };
  const next = { $add: [now, { $min: [longestMs, doubled] }] };
  return {
    full: { notBefore: ahead(longestMs, now) },
    update: [
      { $set: { count: { $cond: [live, { $add: ["$count", 1] }, 1] }, expiresAt: later(now, forgetMs) } },
      { $set: { notBefore: { $cond: [{ $lt: ["$count", free] }, NO_WAIT, next] } } },
    ],
  };
}

/** When the next try may be made, if the counter has no room for one now. */
function refusedUntil(counter: CounterDocument, bound: Bound, now: Date): Date | undefined {
  if (!("limit" in bound)) {
    const { notBefore } = counter;
    return notBefore !== undefined && isAhead(notBefore, bound.longestMs, now) ? notBefore : undefined;
  }
  const { limit, windowMs, isJudged } = bound;
  if (!isAhead(counter.expiresAt, windowMs, now) || counter.count < limit) return undefined;
  const isOpen =
    isJudged === true && (counter.failed ?? 0) < limit && isRecent(counter.admittedAt ?? now, now);
  return isOpen ? later(now, JUDGED_SOON_MS) : counter.expiresAt;
}

/** Adds to a counter, unless the outcome of this name has done so before. */
function once(name: string, key: string, change: UpdateFilter<CounterDocument>): CounterWrite {
  const filter = { _id: { $eq: key }, count: { $gt: 0 }, noted: { $ne: name } };
  const update = { ...change, $push: { noted: { $each: [name], $slice: -MOST_NOTED } } };
  return { updateOne: { filter, update } };
}

/** Left for the sweep: deleting it would take a separate command, and the next try an insert. */
function noneAnyMore(key: string): CounterWrite {
  const update: UpdateFilter<CounterDocument> = {
    $set: { count: 0, failed: 0, expiresAt: NO_WAIT },
    $unset: { notBefore: "" },
  };
  return { updateOne: { filter: { _id: { $eq: key } }, update } };
}

function noted({ key, until }: { readonly key: string; readonly until: Date }): CounterWrite {
  const update = { $set: { expiresAt: until }, $setOnInsert: { count: 0 } };
  return { updateOne: { filter: { _id: { $eq: key } }, update, upsert: true } };
}

function isRecent(admittedAt: Date, now: Date): boolean {
  return now.getTime() - admittedAt.getTime() < NEVER_JUDGED_AFTER_MS;
}

function later(now: Date, milliseconds: number): Date {
  return new Date(now.getTime() + milliseconds);
}
