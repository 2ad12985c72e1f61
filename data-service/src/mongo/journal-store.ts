// The journal of changes (docs/decisions/014-journal-of-changes.md): `_journal_pending` holds changes that are being made,
// `_journal` those that were made, numbered without gaps, `_history` what is kept of them permanently.
import { EJSON } from "bson";
import { BSON, type Collection, type Db, type ObjectId } from "mongodb";
import type { Stored } from "../catalog/stored.js";
import type { Entry, Pending } from "../journal/entry.js";
import { changedFields, type HistoryEntry } from "../journal/history-entry.js";
import type { Document } from "../query/lower/document.js";
import { insertedBefore, isDuplicate, unlessDuplicate } from "./driver-errors.js";
import { dropIndex } from "./drop-index.js";
import type { RequireLock } from "./table-writes.js";
import { unflushed } from "./unflushed.js";

/** A place in the journal: just after this entry. The number alone is not enough, see `read`. */
export interface Position {
  /** 0 = before the first entry. */
  readonly number: number;
  /** 24-hex id of the entry with this number; empty before the first. */
  readonly entry: string;
}

/** An entry and its place. */
export interface Numbered {
  readonly entry: Entry;
  readonly position: Position;
}

/** A change in a record's history: all that are later, or of the same time with a higher number, come after it. */
export interface Moment {
  readonly at: Date;
  readonly revision: number;
}

/** Which entries of a record's history are asked for. */
export interface Lives {
  readonly table: string;
  readonly record: Stored;
  /** Since it was last removed. */
  readonly after?: Date;
  /** The last of them. */
  readonly upTo: Moment;
}

/** An announced change, as far as it tells whether its process still makes it. */
export interface Announced extends Pick<Pending, "id" | "instance" | "at"> {
  /** Of the announcement. */
  readonly bytes: number;
}

/** What became of entries that were to be written. */
export interface Appended {
  /** Those that are in the journal now; of two deletions in the same life of a record only the first stays. */
  readonly written: readonly Entry[];
  /** Those of them that nobody had written before. */
  readonly added: ReadonlySet<Entry>;
}

interface PendingDocument extends Omit<Pending, "id"> {
  _id: ObjectId;
}

interface JournalDocument extends Omit<Entry, "id"> {
  /** 1, 2, 3 … in the order of insertion. */
  _id: number;
  entry: ObjectId;
}

interface HistoryDocument extends Omit<HistoryEntry, "id"> {
  _id: ObjectId;
}

/** How long an instance relies on the last number it has seen: others may have written, and pruned, since. */
const TRUSTED_MS = 60_000;
/** How much of the journal is read at once: a follower holds it for as long as its client takes. */
const MOST_BYTES = 1024 * 1024;
/** Entries that the database sends at once. They may be large, and what is more than `MOST_BYTES` is sent in vain. */
const BATCH_SIZE = 10;

/** An index of earlier versions, by which an id could be deleted only once in all its lives. */
const ONCE_FOR_ALL = "table_1_record_1";
/** Another one, for the history by revisions: these start again when a record comes back with its id. */
const BY_REVISION = "table_1_record_1_revision_-1";
/** The latest life of a record first, and within it the latest change. */
const NEWEST_FIRST = { at: -1, revision: -1, _id: -1 } as const;

/** Of a history in which there is nothing. */
const BEFORE_ALL: Moment = { at: new Date(0), revision: 0 };

/** A record that is kept when it is deleted is only updated. */
const REMOVED = { kind: "deleted" } as const;

/** Where an entry has the values of a record. */
const IMAGES = ["before", "after"] as const;

const PENDING = "_journal_pending";
const JOURNAL = "_journal";
const HISTORY = "_history";

export class JournalStore {
  readonly #pending: Collection<PendingDocument>;
  readonly #journal: Collection<JournalDocument>;
  readonly #history: Collection<HistoryDocument>;
  /** All of them, for changes that must be on disk even without a crash; the others may be written without waiting. */
  readonly #lasting: Readonly<Record<"pending" | "journal" | "history", Collection>>;
  readonly #isEmbedded: boolean;
  readonly #now: () => Date;
  /** The last number that this instance knows of, and when it learned it. */
  #last: { readonly number: number; readonly at: number } | undefined;
  /**
   * The last number that is on disk. Kept only where nobody else writes: nothing is published there that a crash could undo.
   */
  #durable = 0;

  /**
   * @param isCluster whether the database is more than one server
   * @param isEmbedded whether the engine ends with this process, which alone uses it
   */
  constructor(db: Db, isCluster: boolean, isEmbedded: boolean, now: () => Date) {
    this.#isEmbedded = isEmbedded;
    this.#now = now;
    const light = unflushed(isEmbedded);
    this.#pending = db.collection<PendingDocument>(PENDING, light);
    // What a member of a cluster may still lose must not be told to anybody.
    const safe = isCluster ? { readConcern: { level: "majority" } as const } : {};
    this.#journal = db.collection<JournalDocument>(JOURNAL, safe);
    // Written before the announcement is withdrawn: whatever a crash takes of it can be found again by that.
    this.#history = db.collection<HistoryDocument>(HISTORY, light);
    this.#lasting = {
      pending: db.collection(PENDING),
      journal: db.collection(JOURNAL),
      history: db.collection(HISTORY),
    };
  }

  /** Call this before anything else. */
  async ensureIndexes(): Promise<void> {
    await this.#pending.createIndex({ instance: 1 });
    await this.#journal.createIndex({ entry: 1 }, { unique: true });
    // A record is deleted once, whoever reports it; if it was brought back with its id, it may be deleted again.
    await this.#journal.createIndex(
      { table: 1, record: 1, previous: 1 },
      { unique: true, partialFilterExpression: { kind: "deleted" } },
    );
    await dropIndex(this.#journal, ONCE_FOR_ALL);
    await this.#journal.createIndex({ at: 1 });
    await this.#history.createIndex({ table: 1, record: 1, ...NEWEST_FIRST });
    await dropIndex(this.#history, BY_REVISION);
    // Who looks for the last deletion of a record must not read all that was ever written of it.
    await this.#history.createIndex({ table: 1, record: 1, at: -1 }, { partialFilterExpression: REMOVED });
    this.#durable = await this.#lastNumber();
  }

  /** Notes changes that are about to be made. Await it before making any of them. */
  async announce(pending: readonly Pending[]): Promise<void> {
    await this.#pending.insertMany(pending.map(({ id, ...rest }) => ({ _id: id, ...rest })));
  }

  /** Those of the changes that may not be in the journal yet, in the order in which they were announced. */
  async announced(ids: readonly ObjectId[]): Promise<Pending[]> {
    const found = this.#pending.find({ _id: { $in: [...ids] } }).sort({ _id: 1 });
    return (await found.toArray()).map(toPending);
  }

  /** Who has announced which change that may not be in the journal yet, in the same order. */
  async announcers(): Promise<Announced[]> {
    const projection = { instance: 1, at: 1, bytes: { $bsonSize: "$$ROOT" } } as const;
    const found = this.#pending.find<Omit<Announced, "id"> & { _id: ObjectId }>({}, { projection });
    return (await found.sort({ _id: 1 }).toArray()).map(({ _id, ...rest }) => ({ id: _id, ...rest }));
  }

  /** Forgets changes that are in the journal, or were not made. */
  async withdraw(ids: readonly ObjectId[]): Promise<void> {
    await this.#pending.deleteMany({ _id: { $in: [...ids] } });
  }

  /**
   * Writes entries into the journal, each of them once, whoever brings it and however often. Every entry gets the number
   * after the last existing one: two instances that take the same number collide, and one tries again. So there is never a
   * gap that an entry could fill behind a reader's back.
   */
  async append(entries: readonly Entry[]): Promise<Appended> {
    let rest = entries;
    const refused = new Set<Entry>();
    const added = new Set<Entry>();
    while (rest.length > 0) {
      const last = this.#trustedLast() ?? (await this.#lastNumber());
      const documents = rest.map(({ id, ...entry }, at) => ({ _id: last + 1 + at, entry: id, ...entry }));
      this.#last = undefined;
      try {
        await this.#journal.insertMany(documents, { ordered: true });
        this.#last = { number: last + documents.length, at: this.#now().getTime() };
        for (const entry of rest) added.add(entry);
        break;
      } catch (error) {
        if (!isDuplicate(error)) throw error;
        const count = insertedBefore(error);
        for (const entry of rest.slice(0, count)) added.add(entry);
        rest = await this.#missing(rest.slice(count), refused);
      }
    }
    this.#durable = Math.max(this.#durable, this.#last?.number ?? (await this.#lastNumber()));
    return { written: entries.filter((entry) => !refused.has(entry)), added };
  }

  /** The entries of changes; none of those that were not made, or were pruned. */
  async entries(ids: readonly ObjectId[]): Promise<Entry[]> {
    const found = await this.#journal.find({ entry: { $in: [...ids] } }).toArray();
    return found.map(({ _id: _number, entry, ...rest }) => ({ id: entry, ...rest }));
  }

  /** Was the record deleted after this change was announced, by this or another one? */
  async isDeletedAfter(change: Omit<Pending, "instance">): Promise<boolean> {
    const { id, table, record, revision, at, previous } = change;
    // Of a life that began with a known change, the index takes no second deletion. Of another life, one may have this number.
    const number = previous?.equals(id) === true ? { $gte: revision } : { $gt: revision };
    return this.#has({ table, record, kind: "deleted", revision: number, at: { $gte: at } });
  }

  /** Is somebody about to delete the record, or has just done so without having told? */
  async isDeletionAnnounced(table: string, record: Stored): Promise<boolean> {
    const which = { table, record, kind: "deleted" } as const;
    return (await this.#pending.findOne(which, { projection: { _id: 1 } })) !== null;
  }

  /** Keeps entries permanently. Repeating it changes nothing. */
  async keep(entries: readonly Entry[]): Promise<void> {
    const documents = entries.map((entry) => {
      const { id, ...rest } = changedFields(entry);
      return { _id: id, ...rest };
    });
    await this.#history.insertMany(documents, { ordered: false }).catch(unlessDuplicate);
  }

  /** The position after the last entry that may be published. */
  async tip(): Promise<Position> {
    const [last] = await this.#journal
      .find(this.#told(0), { projection: { entry: 1 }, sort: { _id: -1 }, limit: 1 })
      .toArray();
    return last === undefined
      ? { number: 0, entry: "" }
      : { number: last._id, entry: last.entry.toHexString() };
  }

  /**
   * The entries after a position, in their order; only some of them, if there are many.
   * @returns undefined when the journal no longer goes back that far, or is another one: a standalone server that crashes
   * may lose its last entries and give their numbers to others
   */
  async read(position: Position, limit: number): Promise<readonly Numbered[] | undefined> {
    const cursor = this.#journal
      .find(this.#told(position.number))
      .sort({ _id: 1 })
      .limit(limit + 1)
      .batchSize(BATCH_SIZE);
    const found: Numbered[] = [];
    let isFirst = true;
    let bytes = 0;
    try {
      for await (const { _id, entry: id, ...rest } of cursor) {
        const at: Position = { number: _id, entry: id.toHexString() };
        const isStart = at.number === position.number && at.entry === position.entry;
        if (isFirst && !isStart && !(position.number === 0 && _id === 1)) return undefined;
        isFirst = false;
        if (isStart) continue;
        found.push({ entry: { id, ...rest }, position: at });
        bytes += BSON.calculateObjectSize(rest);
        if (bytes > MOST_BYTES) break;
      }
    } finally {
      await cursor.close();
    }
    return isFirst && position.number > 0 ? undefined : found;
  }

  /**
   * Forgets entries from before a time, and those that exceed `most`. The last of those from before stays: for its number,
   * and for followers who have been told about it and nothing since.
   */
  async prune(before: Date, most: number): Promise<void> {
    const number = await this.#lastNumber();
    const [young] = await this.#journal
      .find({ at: { $gte: before } }, { projection: { _id: 1 }, sort: { _id: 1 }, limit: 1 })
      .toArray();
    const first = Math.max(young?._id ?? number, number - most);
    await this.#journal.deleteMany({ _id: { $lt: Math.min(first - 1, number) } });
  }

  /** Removes the values of these storage fields from everything known about earlier changes of a table's records. */
  async forgetValues(table: string, fields: readonly string[], requireLock?: RequireLock): Promise<void> {
    const paths = IMAGES.flatMap((image) => fields.map((field) => `${image}.${field}`));
    const change = { $unset: Object.fromEntries(paths.map((path) => [path, ""])) };
    await this.#rewrite(table, paths, change, requireLock);
  }

  /**
   * Everything known about the values of storage fields is known of other fields from now on. Repeating it changes nothing.
   * @param fields the other field by the one that has the values; no record ever used both at once
   */
  async moveValues(
    table: string,
    fields: ReadonlyMap<string, string>,
    requireLock?: RequireLock,
  ): Promise<void> {
    const moved = IMAGES.flatMap((image) =>
      [...fields].map(([from, to]): [string, string] => [`${image}.${from}`, `${image}.${to}`]),
    );
    const paths = moved.map(([from]) => from);
    await this.#rewrite(table, paths, { $rename: Object.fromEntries(moved) }, requireLock);
  }

  /** Changes everything that is known of a table's records and has a value at one of these paths. */
  async #rewrite(
    table: string,
    paths: readonly string[],
    change: Document,
    requireLock: RequireLock = async () => {},
  ): Promise<void> {
    if (paths.length === 0) return;
    const having = { table, $or: paths.map((path) => ({ [path]: { $exists: true } })) };
    const { pending, journal, history } = this.#lasting;
    for (const each of [pending, journal, history]) {
      await requireLock();
      await each.updateMany(having, change);
    }
  }

  /** Forgets the history of a table that is gone for good. */
  async forgetTable(table: string): Promise<void> {
    await this.#lasting.history.deleteMany({ table });
  }

  /** The latest change in the history of whatever has or had this id. What is made from now on comes after it. */
  async latestOf(table: string, record: Stored): Promise<Moment> {
    const options = { projection: { _id: 0, at: 1, revision: 1 }, sort: NEWEST_FIRST, limit: 1 } as const;
    const [latest = BEFORE_ALL] = await this.#history.find({ table, record }, options).toArray();
    return latest;
  }

  /**
   * The lives of a record in the history of its table, up to a moment: all that ever had this id, or the one that has it now.
   */
  async livesOf(table: string, record: Stored, which: "all" | "present", upTo: Moment): Promise<Lives> {
    const lives: Lives = { table, record, upTo };
    if (which === "all") return lives;
    const options = { projection: { at: 1 }, sort: { at: -1 }, limit: 1 } as const;
    const [removed] = await this.#history.find({ table, record, ...REMOVED }, options).toArray();
    return removed === undefined ? lives : { ...lives, after: removed.at };
  }

  /** When records of a table were last removed that had one of these ids, as far as its history tells. */
  async lastRemovals(
    table: string,
    records: readonly Stored[],
  ): Promise<readonly { readonly record: Stored; readonly at: Date }[]> {
    const found = await this.#history
      .aggregate<{ _id: Stored; at: Date }>([
        { $match: { table, record: { $in: [...records] }, ...REMOVED } },
        { $group: { _id: "$record", at: { $max: "$at" } } },
      ])
      .toArray();
    return found.map(({ _id, at }) => ({ record: _id, at }));
  }

  /** What is kept of a record, newest first, read as it is asked for: entries may be large. */
  async *historyOf(
    lives: Lives,
    { skip, limit }: { readonly skip: number; readonly limit: number },
  ): AsyncGenerator<HistoryEntry> {
    const [last, earlier] = partsOf(lives);
    let told = 0;
    for await (const entry of this.#kept(last, skip, limit)) {
      told += 1;
      yield entry;
    }
    if (told === limit) return;
    const skipped = skip === 0 ? 0 : await this.#history.countDocuments(last);
    yield* this.#kept(earlier, Math.max(0, skip - skipped), limit - told);
  }

  async *#kept(which: Document, skip: number, limit: number): AsyncGenerator<HistoryEntry> {
    const cursor = this.#history.find(which).sort(NEWEST_FIRST).skip(skip).limit(limit);
    try {
      for await (const { _id, ...entry } of cursor) yield { id: _id, ...entry };
    } finally {
      await cursor.close();
    }
  }

  async countHistoryOf(lives: Lives): Promise<number> {
    const counts = await Promise.all(partsOf(lives).map((part) => this.#history.countDocuments(part)));
    return counts.reduce((sum, count) => sum + count);
  }

  /** Entries from this number on. */
  #told(from: number) {
    return { _id: this.#isEmbedded ? { $gte: from, $lte: this.#durable } : { $gte: from } };
  }

  /** A number whose successor was pruned would collide with nothing, and no follower would ever see its entry. */
  #trustedLast(): number | undefined {
    if (this.#last === undefined) return undefined;
    const age = this.#now().getTime() - this.#last.at;
    return Math.abs(age) < TRUSTED_MS ? this.#last.number : undefined;
  }

  /**
   * In a cluster only what is safe: after a number that is rolled back, the next one would leave a gap. Numbers that are
   * taken but not safe yet lead to a collision.
   */
  async #lastNumber(): Promise<number> {
    const options = { projection: { _id: 1 }, sort: { _id: -1 }, limit: 1 } as const;
    const [last] = await this.#journal.find({}, options).toArray();
    return last?._id ?? 0;
  }

  /** Those that are not in the journal yet. @param refused gets those that must not be */
  async #missing(entries: readonly Entry[], refused: Set<Entry>): Promise<readonly Entry[]> {
    const ids = entries.map(({ id }) => id);
    const known = await this.#journal.find({ entry: { $in: ids } }, { projection: { entry: 1 } }).toArray();
    const there = new Set(known.map(({ entry }) => entry.toHexString()));
    const open = entries.filter(({ id }) => !there.has(id.toHexString()));
    const missing: Entry[] = [];
    const deleted = new Set<string>();
    for (const entry of open) {
      const key = EJSON.stringify([entry.table, entry.record, entry.previous ?? null]);
      const isSecond = entry.kind === "deleted" && (deleted.has(key) || (await this.#isDeleted(entry)));
      if (entry.kind === "deleted") deleted.add(key);
      if (isSecond) refused.add(entry);
      else missing.push(entry);
    }
    return missing;
  }

  async #isDeleted({ table, record, previous = null }: Entry): Promise<boolean> {
    return this.#has({ table, record, kind: "deleted", previous });
  }

  async #has(which: Document): Promise<boolean> {
    return (await this.#journal.findOne(which, { projection: { _id: 1 } })) !== null;
  }
}

/**
 * Those of the time of the last, and all before, each of which the index has side by side. Asked for both at once, the database
 * may read every entry that is only skipped, and takes longer to count.
 */
function partsOf({ table, record, after, upTo }: Lives): readonly [Document, Document] {
  const since = after === undefined ? {} : { $gt: after };
  return [
    { table, record, at: { ...since, $eq: upTo.at }, revision: { $lte: upTo.revision } },
    { table, record, at: { ...since, $lt: upTo.at } },
  ];
}

function toPending({ _id, ...rest }: PendingDocument): Pending {
  return { id: _id, ...rest };
}
