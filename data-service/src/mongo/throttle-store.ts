// Counters of tries in `_throttle`, one document per key, each change one conditional write.
import type { AnyBulkWriteOperation, Collection, Db, Document, UpdateFilter } from "mongodb";
import type { Refused, ThrottleStore } from "../auth/throttle.js";
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

export function throttleCollection(db: Db): Collection<CounterDocument> {
  // It does no harm to lose a count in a power cut, and waiting for the disk would make each sign-in slower.
  return db.collection<CounterDocument>("_throttle", { writeConcern: { w: 1 } });
}

export function makeThrottleStore(db: Db): ThrottleStore {
  const counters = throttleCollection(db);
  const change = async (key: string, stages: Document[]): Promise<CounterDocument | null> => {
    const run = () =>
      counters.findOneAndUpdate({ _id: { $eq: key } }, stages, { upsert: true, returnDocument: "before" });
    // Two upserts of one key at once: the second gets the duplicate error, and then finds it.
    return run().catch((error: unknown) => {
      if (isDuplicate(error)) return run();
      throw error;
    });
  };
  return {
    async take(key, { limit, windowMs, isJudged = false }, now) {
      const live = { $gt: ["$expiresAt", now] };
      const full = { $and: [live, { $gte: ["$count", limit] }] };
      const judged = {
        failed: { $cond: [live, { $ifNull: ["$failed", 0] }, 0] },
        admittedAt: { $cond: [full, "$admittedAt", now] },
      };
      const before = await change(key, [
        {
          $set: {
            count: { $cond: [live, { $min: [{ $add: ["$count", 1] }, limit] }, 1] },
            expiresAt: { $cond: [live, "$expiresAt", later(now, windowMs)] },
            ...(isJudged ? judged : {}),
          },
        },
      ]);
      const isFull = before !== null && before.expiresAt > now && before.count >= limit;
      if (!isFull) return undefined;
      const isOpen = isJudged && (before.failed ?? 0) < limit && isRecent(before.admittedAt ?? now, now);
      return { retryAt: isOpen ? later(now, JUDGED_SOON_MS) : before.expiresAt };
    },
    async takeDelayed(key, { free, firstMs, longestMs, forgetMs }, now) {
      const live = { $gt: ["$expiresAt", now] };
      const waits = { $gt: ["$notBefore", now] };
      const doubled = {
        $multiply: [firstMs, { $pow: [2, { $min: [{ $subtract: ["$count", free] }, 30] }] }],
      };
      const next = { $add: [now, { $min: [longestMs, doubled] }] };
      const before = await change(key, [
        { $set: { count: { $cond: [waits, "$count", { $cond: [live, { $add: ["$count", 1] }, 1] }] } } },
        {
          $set: {
            notBefore: {
              $cond: [waits, "$notBefore", { $cond: [{ $lt: ["$count", free] }, NO_WAIT, next] }],
            },
            expiresAt: { $cond: [waits, "$expiresAt", later(now, forgetMs)] },
          },
        },
      ]);
      return refusedUntil(before?.notBefore, now);
    },
    async settle({ giveBack, fail = [], clear = [], remember }) {
      const changes = [
        ...giveBack.map(oneLess),
        ...fail.map(oneFailed),
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

function oneLess(key: string): CounterWrite {
  const filter = { _id: { $eq: key }, count: { $gt: 0 } };
  return { updateOne: { filter, update: { $inc: { count: -1 }, $unset: { notBefore: "" } } } };
}

function oneFailed(key: string): CounterWrite {
  return { updateOne: { filter: { _id: { $eq: key }, count: { $gt: 0 } }, update: { $inc: { failed: 1 } } } };
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

function refusedUntil(notBefore: Date | undefined, now: Date): Refused {
  return notBefore !== undefined && notBefore > now ? { retryAt: notBefore } : undefined;
}

function isRecent(admittedAt: Date, now: Date): boolean {
  return now.getTime() - admittedAt.getTime() < NEVER_JUDGED_AFTER_MS;
}

function later(now: Date, milliseconds: number): Date {
  return new Date(now.getTime() + milliseconds);
}
