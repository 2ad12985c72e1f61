// Writes of records, each with its entry in the journal: announce → write, naming the change in the record → publish. A
// record names its last change, and a write names the one it builds on, so that no change in between goes unnoticed. Tables
// without a journal are written straight away.
import { AppError } from "@portico/shared/app-error";
import { ObjectId } from "bson";
import { isJournaled, type Table } from "../catalog/catalog.js";
import { idText } from "../catalog/record-ids.js";
import { sameValue } from "../catalog/restore-value.js";
import type { Stored } from "../catalog/stored.js";
import { insertedBefore, isUnanswered, throwAway } from "../mongo/driver-errors.js";
import type { RecordStore, Updated, UpdateOperators } from "../mongo/record-store.js";
import { type ListChange, listWith, listWithout } from "../mongo/update-parts.js";
import { piecesOf } from "../pieces.js";
import { asStored } from "../query/as-read.js";
import type { Document, Stage, StoredRecord } from "../query/lower/document.js";
import { refuseContended, untilStill } from "../until-still.js";
import {
  type Actor,
  CHANGE_FIELD,
  type ChangeKind,
  type Entry,
  entryOf,
  imageOf,
  lastChangeOf,
  markOf,
  type Pending,
  timeAfter,
  unchangedSince,
} from "./entry.js";
import type { Journal } from "./journal.js";

/** A record that others keep changing is tried this often before the request gives up. */
const ATTEMPTS = 100;
/** How many records of one call are written at once. */
const AT_ONCE = 10;

type Store = Pick<
  RecordStore,
  "read" | "insert" | "updateById" | "updateAndGet" | "updateMany" | "pull" | "push" | "remove"
>;

export interface JournaledStoreDeps {
  readonly store: Store;
  /**
   * Writes without waiting for the disk, for a database with one journal that keeps everything in order: the entry that is
   * published after each write is waited for, and it is never on disk without what was written before it.
   */
  readonly light: Pick<RecordStore, "insert" | "updateAndGet" | "remove">;
  readonly journal: Pick<
    Journal,
    "announce" | "withdraw" | "publish" | "complete" | "takenBack" | "lastRemovals"
  >;
  /** Names this process. */
  readonly instance: string;
  readonly now: () => Date;
  /** Whoever asked for what is being done. */
  readonly actor: Actor;
  /** The last of those in this process that wait for a record, by its table and id. */
  readonly turns: Map<string, Promise<void>>;
}

export class JournaledStore {
  readonly #deps: JournaledStoreDeps;

  constructor(deps: JournaledStoreDeps) {
    this.#deps = deps;
  }

  read(table: Table, pipeline: Stage[]): Promise<StoredRecord[]> {
    return this.#deps.store.read(table, pipeline);
  }

  /** @param areBrought whether their ids were not made for them, so that other records may have had them */
  async insert(table: Table, documents: readonly Document[], areBrought: boolean): Promise<void> {
    const { store, light, journal } = this.#deps;
    if (!isJournaled(table)) return store.insert(table, documents);
    const idsOf = () => documents.map(({ _id }) => asStored(_id));
    const removals = areBrought ? await journal.lastRemovals(table, idsOf()) : undefined;
    const made = documents.map((document) => {
      const pending = this.#pending(table, "created", document, removals?.get(idText(table, document._id)));
      return { pending, document: { ...document, [CHANGE_FIELD]: markOf(pending) } };
    });
    const pending = made.map((each) => each.pending);
    await journal.announce(pending);
    try {
      await light.insert(
        table,
        made.map(({ document }) => document),
      );
    } catch (error) {
      if (isRefusal(error)) await this.#takeBack(table, pending, documents.slice(0, insertedBefore(error)));
      throw error;
    }
    const entries = made.map((each) => entryOf(table, each.pending, each.document));
    await journal.publish(table, entries).catch(throwAway);
  }

  /** See RecordStore; it may return more than `fields`. */
  async updateById(
    table: Table,
    id: Stored,
    change: UpdateOperators,
    fields: Document,
    freeOf?: string,
  ): Promise<Updated | undefined> {
    if (!isJournaled(table)) return this.#deps.store.updateById(table, id, change, fields, freeOf);
    return this.#change(
      table,
      { _id: id, ...(freeOf === undefined ? {} : { [freeOf]: { $exists: false } }) },
      { change },
    );
  }

  /** See RecordStore: changes one record; it may return more than `fields`. */
  async updateAndGet(
    table: Table,
    which: Document,
    change: UpdateOperators,
    fields: Document,
  ): Promise<StoredRecord | undefined> {
    if (!isJournaled(table)) return this.#deps.store.updateAndGet(table, which, change, fields);
    return (await this.#change(table, which, { change }))?.document;
  }

  async updateMany(table: Table, which: Document, change: UpdateOperators): Promise<number> {
    if (!isJournaled(table)) return this.#deps.store.updateMany(table, which, change);
    return this.#changeEach(table, which, { change });
  }

  async pull(table: Table, which: Document, field: string, ids: readonly Stored[]): Promise<number> {
    if (!isJournaled(table)) return this.#deps.store.pull(table, which, field, ids);
    return this.#changeList(table, which, listWithout(field, ids));
  }

  async push(table: Table, which: Document, field: string, id: Stored): Promise<number> {
    if (!isJournaled(table)) return this.#deps.store.push(table, which, field, id);
    return this.#changeList(table, which, listWith(field, id));
  }

  async #changeList(table: Table, which: Document, { having, set }: ListChange): Promise<number> {
    return this.#changeEach(table, { $and: [which, having] }, { set });
  }

  async remove(table: Table, which: Document): Promise<number> {
    if (!isJournaled(table)) return this.#deps.store.remove(table, which);
    return this.#each(table, which, (id) => this.#removeOne(table, { $and: [{ _id: id }, which] }));
  }

  /**
   * For inserts that were refused halfway: whatever was inserted is removed. Nobody is told of its making, unless others have told
   * of it; but lists may have shown it, so followers are told of its end, which is announced as any other.
   */
  async #takeBack(table: Table, pending: readonly Pending[], inserted: readonly Document[]): Promise<void> {
    const ours = {
      _id: { $in: pending.map(({ record }) => record) },
      [`${CHANGE_FIELD}.e`]: { $in: pending.map(({ id }) => id) },
    };
    const { store, journal } = this.#deps;
    if (pending.length > 1) {
      const followed = table.changes === true ? inserted : [];
      // As if they named no change: where others tell of the making after all, they still tell of its end, for the history.
      const ends = followed.map((document) => this.#pending(table, "deleted", document));
      if (ends.length > 0) await journal.announce(ends);
      await store.remove(table, ours);
      await journal.takenBack(table, pending, ends);
    }
    await journal.withdraw(pending);
  }

  async #changeEach(table: Table, which: Document, wish: Wish): Promise<number> {
    return this.#each(table, which, async (id) => {
      const done = await this.#change(table, { $and: [{ _id: id }, which] }, wish);
      return done?.isChanged === true ? 1 : 0;
    });
  }

  /** Does something for each record that the condition selects now. @returns the sum */
  async #each(table: Table, which: Document, act: (id: Stored) => Promise<number>): Promise<number> {
    const found = await this.#deps.store.read(table, [{ $match: which }, { $project: { _id: 1 } }]);
    const ids = found.map(({ _id }) => asStored(_id));
    let sum = 0;
    for (const some of piecesOf(ids, AT_ONCE)) {
      const numbers = await allEnded(some.map(act));
      sum += numbers.reduce((total, number) => total + number, 0);
    }
    return sum;
  }

  /** Changes one record that the condition selects. @returns undefined when it selects none */
  async #change(table: Table, which: Document, wish: Wish): Promise<Done | undefined> {
    const { light } = this.#deps;
    return this.#inTurn(table, which, async (before): Promise<Done | false> => {
      if (changesNothing(table, before, wish)) return { document: before, isChanged: false };
      const pending = await this.#announce(table, "updated", before);
      const unchanged = { $and: [which, unchangedSince(before)] };
      const after = await this.#orWithdraw(pending, () =>
        light.updateAndGet(table, unchanged, marked(wish, pending)),
      );
      await this.#tell(table, pending, after && entryOf(table, pending, after));
      return after === undefined ? false : { document: after, isChanged: true };
    });
  }

  async #removeOne(table: Table, which: Document): Promise<number> {
    const { light } = this.#deps;
    const removed = await this.#inTurn(table, which, async (before): Promise<number | false> => {
      const pending = await this.#announce(table, "deleted", before);
      const count = await this.#orWithdraw(pending, () =>
        light.remove(table, { $and: [which, unchangedSince(before)] }),
      );
      await this.#tell(table, pending, count > 0 ? entryOf(table, pending) : undefined);
      return count === 0 ? false : count;
    });
    return removed ?? 0;
  }

  /**
   * Acts on the record that the condition selects, again and again until nobody interfered. In this process, those that want
   * the same record take turns: otherwise all but one of them would try in vain.
   * @param act returns false when another was faster
   * @returns undefined when there is no such record, or no longer
   */
  async #inTurn<Result>(
    table: Table,
    which: Document,
    act: (before: StoredRecord) => Promise<Result | false>,
  ): Promise<Result | undefined> {
    let before = await this.#readOne(table, which);
    if (before === undefined) return undefined;
    const { turns } = this.#deps;
    const key = `${table.id} ${String(before._id)}`;
    const former = turns.get(key);
    let end = (): void => {};
    const turn = new Promise<void>((resolve) => {
      end = resolve;
    });
    turns.set(key, turn);
    try {
      if (former !== undefined) {
        await former;
        before = await this.#readOne(table, which);
      }
      const actOnIt = async (): Promise<Result | undefined | false> => {
        const result = before && (await act(before));
        if (result === false) before = await this.#readOne(table, which);
        return result;
      };
      return await untilStill(actOnIt, { attempts: ATTEMPTS, gaveUp: refuseContended(table.name) });
    } finally {
      end();
      if (turns.get(key) === turn) turns.delete(key);
    }
  }

  /** Completes earlier changes and announces this one. */
  async #announce(table: Table, kind: ChangeKind, before: StoredRecord): Promise<Pending> {
    const { journal } = this.#deps;
    await journal.complete(table, [before]);
    const pending = this.#pending(table, kind, before);
    await journal.announce([pending]);
    return pending;
  }

  /** Publishes a change that was made, or withdraws its announcement. @param entry undefined when it was not made */
  async #tell(table: Table, pending: Pending, entry: Entry | undefined): Promise<void> {
    const { journal } = this.#deps;
    if (entry === undefined) await journal.withdraw([pending]);
    else await journal.publish(table, [entry]).catch(throwAway);
  }

  async #readOne(table: Table, which: Document): Promise<StoredRecord | undefined> {
    const [found] = await this.#deps.store.read(table, [{ $match: which }, { $limit: 1 }]);
    return found;
  }

  /** A refusal is known to have written nothing. After any other failure the announcement stays, for a repair. */
  async #orWithdraw<Result>(pending: Pending, write: () => Promise<Result>): Promise<Result> {
    try {
      return await write();
    } catch (error) {
      if (isRefusal(error)) await this.#deps.journal.withdraw([pending]);
      throw error;
    }
  }

  /**
   * @param document the record as it was before, or as it is made
   * @param removed when the last record was removed that had its id before: each life is later than the one before
   */
  #pending(table: Table, kind: ChangeKind, document: StoredRecord, removed?: Date): Pending {
    const { instance, now, actor } = this.#deps;
    const isNew = kind === "created";
    const last = isNew ? undefined : lastChangeOf(document);
    const at = timeAfter(removed === undefined ? last : { at: new Date(removed.getTime() + 1) }, now());
    const id = new ObjectId();
    return {
      id,
      table: table.id,
      kind,
      instance,
      at,
      by: actor.userId,
      record: asStored(document._id),
      revision: (last?.revision ?? 0) + 1,
      ...(isNew ? {} : { before: imageOf(table, document) }),
      ...(kind === "deleted" ? { previous: last?.id ?? id } : {}),
    };
  }
}

/** A record as a change has left it. */
interface Done {
  readonly document: StoredRecord;
  readonly isChanged: boolean;
}

/** What a record is to become: fields to set, or fields computed from those that it has. */
type Wish = { readonly change: UpdateOperators } | { readonly set: Document };

/** The change, and the mark that names it in the record. */
function marked(wish: Wish, pending: Pending): UpdateOperators | Stage[] {
  const mark = markOf(pending);
  if ("set" in wish) return [{ $set: { ...wish.set, [CHANGE_FIELD]: { $literal: mark } } }];
  return { ...wish.change, $set: { ...wish.change.$set, [CHANGE_FIELD]: mark } };
}

/**
 * Sets only what is already set, and takes away only what is not there. A write that sets `updatedAt` is a change, even if
 * another one has set the same in this very millisecond.
 */
function changesNothing({ updatedAt }: Table, before: StoredRecord, wish: Wish): boolean {
  if ("set" in wish) return false;
  const { $set = {}, $unset = {} } = wish.change;
  if (updatedAt.field in $set) return false;
  const isSet = Object.entries($set).every(([field, value]) => sameValue(before[field], value));
  return isSet && Object.keys($unset).every((field) => before[field] === undefined);
}

/** A unique value that is taken, a validator that objects, a record that is too large. */
const REFUSALS: readonly string[] = ["DUPLICATE_RESOURCE", "CONFLICT", "BAD_REQUEST"];

/** The database has answered, and has written nothing (to the record at which it refused). */
function isRefusal(error: unknown): boolean {
  return error instanceof AppError && REFUSALS.includes(error.code);
}

/**
 * All have ended before a failure is reported: what is then taken back must not still be running. One that may still be done is
 * reported rather than the first: of that, nobody would look again.
 */
async function allEnded<Result>(tasks: readonly Promise<Result>[]): Promise<Result[]> {
  const ended = await Promise.allSettled(tasks);
  const reasons = ended.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
  if (reasons.length > 0) throw reasons.find(isUnanswered) ?? reasons[0];
  return ended.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
}
