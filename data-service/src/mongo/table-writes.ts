// What a change of a table writes into its records and their collection, by storage field, in batches.
import {
  type AnyBulkWriteOperation,
  type Document as BsonDocument,
  type Db,
  MongoServerError,
} from "mongodb";
import type { Table } from "../catalog/catalog.js";
import type { Stored } from "../catalog/column-types.js";
import type { Copy, FieldPair, Note } from "../catalog/fills.js";
import { gramField } from "../catalog/grams.js";
import type { IndexSpec } from "../catalog/indexes.js";
import type { Restorer } from "../catalog/restore-value.js";
import { asStored, stillHas } from "../query/as-read.js";
import type { DiskSpace } from "./disk-space.js";
import { asRefusal, isDuplicate } from "./driver-errors.js";
import { type Building, ensureIndexes, makeCollection, ownIndexNames } from "./provision.js";
import { listWithout } from "./record-store.js";
import { forgetSequence } from "./sequences.js";
import { shardById } from "./sharding.js";
import { empty, filled, lostLinks, projectionOf, restoredIn } from "./table-questions.js";
import { BATCH, walkRecords } from "./walk-records.js";

/** A value to store, or nothing to leave the record as it is. */
export type Rewrite = (value: unknown) => Stored | undefined;

/** Told how many records a batch has brought further. */
export type Report = (records: number) => Promise<void>;

/** Asked before anything is taken away. Throws to keep it. */
export type Ask = () => Promise<void>;

/** A field to be filled. */
export interface Gap {
  readonly field: string;
  /** The field that is to note what was filled. */
  readonly mark?: string | undefined;
  /** Also where another program has stored null. */
  readonly nulls?: boolean;
}

export interface TableWrites {
  /** Writes what `rewrite` makes of one field into another that has no value yet. @param report of each batch */
  copy(table: Table, fields: Copy, rewrite: Rewrite, report: Report): Promise<void>;
  /** Brings a former field up to date with the later one, in batches. @param report of each batch */
  restore(table: Table, fields: FieldPair, restorer: Restorer, report: Report): Promise<void>;
  /** Gives the field a value where it has none. */
  setMissing(table: Table, where: Gap, value: () => Stored, report: Report): Promise<void>;
  /** Takes such values back, unless somebody has written others since, and what was noted of them. */
  takeBack(
    collection: string,
    where: { readonly field: string; readonly mark: string },
    ask: Ask,
  ): Promise<void>;
  /** Takes a link away that leads to no record of the target any more. */
  unlinkLost(
    table: Table,
    link: { readonly field: string; readonly list: boolean },
    target: string,
    ask: Ask,
  ): Promise<void>;
  /** Takes fields away, in batches. */
  unset(collection: string, fields: readonly string[], ask?: Ask): Promise<void>;
  /** Builds indexes for a change. @throws AppError 409 where MongoDB allows no more; a duplicate is told by `false` */
  build(table: Table, indexes: readonly IndexSpec[], building: Building): Promise<boolean>;
  /** Spreads the records over the shards, where there are any. */
  shard(table: Table): Promise<void>;
  /**
   * Drops indexes that are there. None that are built after `ask` has allowed it, however late the drop arrives: see
   * `Building`.
   * @param isMeant of an index by its name; without it all are
   */
  dropIndexes(
    table: Table,
    indexes: readonly IndexSpec[],
    ask: Ask,
    isMeant?: (name: string) => boolean,
  ): Promise<void>;
  /** Drops a collection with all records. */
  dropCollection(collection: string): Promise<void>;
  /** Takes the values of these fields out of what is kept of earlier changes of the records. */
  forgetValues(table: string, fields: readonly string[]): Promise<void>;
  /** Forgets the sequence and the history of a table that is gone for good. */
  forget(table: string): Promise<void>;
}

const INDEX_NOT_FOUND = 27;
const NAMESPACE_NOT_FOUND = 26;

/** @param space where the disk under the database is ours to look after: asked before each batch that makes records larger */
export function makeTableWrites(db: Db, space: DiskSpace | undefined): TableWrites {
  const of = (table: Table) => db.collection<BsonDocument>(table.collection);
  const walk = (
    collection: string,
    filter: BsonDocument,
    projection: BsonDocument,
    each: (batch: BsonDocument[]) => Promise<void>,
  ): Promise<void> =>
    walkRecords(db.collection<BsonDocument>(collection), { filter, projection, space }, each);
  const write = async (table: Table, writes: readonly AnyBulkWriteOperation[]): Promise<void> => {
    if (writes.length === 0) return;
    await space?.require();
    await of(table)
      .bulkWrite(writes, { ordered: false })
      .catch((error: unknown) => {
        throw asRefusal(error, table);
      });
  };
  return {
    async copy(table, { from, to, note }, rewrite, report) {
      const waiting = { ...filled(from), [to]: { $exists: false } };
      await walk(table.collection, waiting, { [from]: 1 }, async (batch) => {
        const writes = batch.flatMap((document) => {
          const [former, value] = [asStored(document[from]), rewrite(document[from])];
          const set = {
            ...(value === undefined ? {} : { [to]: value }),
            ...noting(note, former, value),
          };
          return Object.keys(set).length === 0 ? [] : [setOne(document, to, set)];
        });
        await write(table, writes);
        await report(batch.length);
      });
    },
    async restore(table, fields, restorer, report) {
      const { later, former } = fields;
      const either = { $or: [{ [later]: { $exists: true } }, { [former]: { $exists: true } }] };
      await walk(table.collection, either, projectionOf(fields), async (batch) => {
        const writes = batch.flatMap((document) => {
          const restored = restoredIn(document, fields, restorer);
          return restored === undefined ? [] : [putBack(document, fields, restored.value)];
        });
        await write(table, writes);
        await report(batch.length);
      });
    },
    async setMissing(table, { field, mark, nulls = false }, value, report) {
      const gap = nulls ? empty(field) : { [field]: { $exists: false } };
      await walk(table.collection, gap, { [field]: 1 }, async (batch) => {
        const writes = batch.map((document) => fillOne(document, gap, { field, mark }, value()));
        await write(table, writes);
        await report(batch.length);
      });
    },
    async takeBack(collection, { field, mark }, ask) {
      const isOurs = { $eq: [`$${field}`, `$${mark}.value`] };
      // Where there was nothing before, this takes the field away.
      const former = { $cond: [isOurs, `$${mark}.former`, `$${field}`] };
      const back = [{ $set: { [field]: former } }, { $unset: mark }];
      await walk(collection, { [mark]: { $exists: true } }, { _id: 1 }, async (batch) => {
        await ask();
        const which = { _id: { $in: batch.map(({ _id }) => _id) } };
        await db.collection<BsonDocument>(collection).updateMany(which, back);
      });
    },
    async unlinkLost(table, { field, list }, target, ask) {
      const lost = await lostLinks(of(table), field, target);
      for (let at = 0; at < lost.length; at += BATCH) {
        await ask();
        const some = lost.slice(at, at + BATCH);
        const { having, set } = listWithout(field, some);
        await of(table).updateMany(having, list ? [{ $set: set }] : { $unset: { [field]: "" } });
      }
    },
    async unset(collection, fields, ask) {
      const filter = { $or: fields.map((field) => ({ [field]: { $exists: true } })) };
      if (fields.length === 0) return;
      await walk(collection, filter, { _id: 1 }, async (batch) => {
        await ask?.();
        const which = { _id: { $in: batch.map(({ _id }) => _id) } };
        const change = { $unset: Object.fromEntries(fields.map((field) => [field, ""])) };
        await db.collection<BsonDocument>(collection).updateMany(which, change);
      });
    },
    async build(table, indexes, building) {
      try {
        await makeCollection(db, table.collection);
        await ensureIndexes(db, table, indexes, building);
        return true;
      } catch (error) {
        if (isDuplicate(error)) return false;
        throw error;
      }
    },
    shard: (table) => shardById(db, table.collection),
    async dropIndexes(table, indexes, ask, isMeant = () => true) {
      if (indexes.length === 0) return;
      // First the names, then the question: what is built once somebody else goes on has another name.
      const names = await ownIndexNames(db, table, indexes).catch(unlessMissing);
      for (const name of names ?? []) {
        if (!isMeant(name)) continue;
        await ask();
        await of(table).dropIndex(name).catch(unlessMissing);
      }
    },
    async dropCollection(collection) {
      await db.dropCollection(collection).catch(unlessMissing);
    },
    async forgetValues(table, fields) {
      const paths = fields.flatMap((field) => [`before.${field}`, `after.${field}`]);
      if (paths.length === 0) return;
      const having = { table, $or: paths.map((path) => ({ [path]: { $exists: true } })) };
      const change = { $unset: Object.fromEntries(paths.map((path) => [path, ""])) };
      for (const name of ["_journal_pending", "_journal", "_history"])
        await db.collection(name).updateMany(having, change);
    },
    async forget(table) {
      await forgetSequence(db, table);
      await db.collection("_history").deleteMany({ table });
    },
  };
}

/** Only while the field is not there. */
function setOne({ _id }: BsonDocument, field: string, set: Readonly<Record<string, Stored>>) {
  return { updateOne: { filter: { _id, [field]: { $exists: false } }, update: { $set: set } } };
}

/** What notes that a value was made of a former one. */
function noting(
  note: Note | undefined,
  former: Stored | undefined,
  made: Stored | undefined,
): Readonly<Record<string, Stored>> {
  const held = note?.holds === "made" ? made : former;
  return note === undefined || held === undefined ? {} : { [note.field]: held };
}

/**
 * Only while the former value is the one that was read; what was stored beside it for searching goes with it. What is noted
 * is what it is now: an undo that is given up is not the doing of others.
 */
function putBack(document: BsonDocument, { later, former, note }: FieldPair, value: Stored | undefined) {
  const set =
    value === undefined ? {} : { [former]: value, ...noting(note, value, asStored(document[later])) };
  const others = [former, gramField({ field: former }), ...(note === undefined ? [] : [note.field])];
  const gone = others.filter((field) => !(field in set));
  const update = {
    ...(value === undefined ? {} : { $set: set }),
    $unset: Object.fromEntries(gone.map((field) => [field, ""])),
  };
  return { updateOne: { filter: { _id: document._id, ...stillHas(document, [former]) }, update } };
}

/** Only while there is still nothing. */
function fillOne({ _id, ...document }: BsonDocument, gap: BsonDocument, { field, mark }: Gap, value: Stored) {
  const former = field in document ? { former: document[field] } : {};
  const note = mark === undefined ? {} : { [mark]: { value, ...former } };
  // What was stored for searching says that there is nothing.
  const update = { $set: { [field]: value, ...note }, $unset: { [gramField({ field })]: "" } };
  return { updateOne: { filter: { $and: [{ _id }, gap] }, update } };
}

function unlessMissing(error: unknown): void {
  const missing =
    error instanceof MongoServerError && [INDEX_NOT_FOUND, NAMESPACE_NOT_FOUND].includes(Number(error.code));
  if (!missing) throw error;
}
