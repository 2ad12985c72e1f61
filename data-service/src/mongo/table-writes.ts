// What a change of a table writes into its records, by storage field, in batches.
import type { AnyBulkWriteOperation, Document as BsonDocument, Db } from "mongodb";
import type { Table } from "../catalog/catalog.js";
import type { Copy, FieldPair, Note } from "../catalog/fills.js";
import { gramField } from "../catalog/grams.js";
import type { Restorer } from "../catalog/restore-value.js";
import type { Stored } from "../catalog/stored.js";
import { piecesOf } from "../pieces.js";
import { asStored, stillHas } from "../query/as-read.js";
import type { DiskSpace } from "./disk-space.js";
import { asRefusal } from "./driver-errors.js";
import { empty, filled, lostLinks, projectionOf, restoredIn } from "./table-questions.js";
import { listWithout } from "./update-parts.js";
import { BATCH, walkRecords } from "./walk-records.js";

/** A value to store, or undefined to leave the record as it is. The id is for refusals. */
export type Rewrite = (value: unknown, id: unknown) => Stored | undefined;

/** Told how many more records a batch has finished. */
export type Report = (records: number) => Promise<void>;

/**
 * Called before anything is taken away. @throws AppError when whoever changes the table has lost its lock; then nothing is
 * taken away
 */
export type RequireLock = () => Promise<void>;

/** A field to be filled. */
export interface Gap {
  readonly field: string;
  /** The field in which to note what was filled. */
  readonly mark?: string | undefined;
  /** Also fills nulls that another program has stored. */
  readonly nulls?: boolean;
}

export interface TableWrites {
  /** Writes what `rewrite` makes of one field into another that has no value yet. @param report called after each batch */
  copy(table: Table, fields: Copy, rewrite: Rewrite, report: Report): Promise<void>;
  /** Brings a former field up to date with the later one, in batches. @param report called after each batch */
  restore(table: Table, fields: FieldPair, restorer: Restorer, report: Report): Promise<void>;
  /** Gives the field a value where it has none. */
  setMissing(table: Table, where: Gap, value: () => Stored, report: Report): Promise<void>;
  /** Takes such values back, unless somebody has written others since, together with the notes about them. */
  takeBack(
    collection: string,
    where: { readonly field: string; readonly mark: string },
    requireLock: RequireLock,
  ): Promise<void>;
  /** Removes a link that no longer leads to a record of the target. */
  unlinkLost(
    table: Table,
    link: { readonly field: string; readonly list: boolean },
    target: string,
    requireLock: RequireLock,
  ): Promise<void>;
  /** Removes fields, in batches. */
  unset(collection: string, fields: readonly string[], requireLock?: RequireLock): Promise<void>;
}

/** @param space given if the disk under the database is ours to watch: asked before each batch that makes records larger */
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
          const [former, value] = [asStored(document[from]), rewrite(document[from], document._id)];
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
    async takeBack(collection, { field, mark }, requireLock) {
      const isOurs = { $eq: [`$${field}`, `$${mark}.value`] };
      // If there was nothing before, this removes the field.
      const former = { $cond: [isOurs, `$${mark}.former`, `$${field}`] };
      const back = [{ $set: { [field]: former } }, { $unset: mark }];
      await walk(collection, { [mark]: { $exists: true } }, { _id: 1 }, async (batch) => {
        await requireLock();
        const which = { _id: { $in: batch.map(({ _id }) => _id) } };
        await db.collection<BsonDocument>(collection).updateMany(which, back);
      });
    },
    async unlinkLost(table, { field, list }, target, requireLock) {
      const lost = await lostLinks(of(table), field, target);
      for (const some of piecesOf(lost, BATCH)) {
        await requireLock();
        const { having, set } = listWithout(field, some);
        await of(table).updateMany(having, list ? [{ $set: set }] : { $unset: { [field]: "" } });
      }
    },
    async unset(collection, fields, requireLock) {
      const filter = { $or: fields.map((field) => ({ [field]: { $exists: true } })) };
      if (fields.length === 0) return;
      await walk(collection, filter, { _id: 1 }, async (batch) => {
        await requireLock?.();
        const which = { _id: { $in: batch.map(({ _id }) => _id) } };
        const change = { $unset: Object.fromEntries(fields.map((field) => [field, ""])) };
        await db.collection<BsonDocument>(collection).updateMany(which, change);
      });
    },
  };
}

/** Only while the field does not exist. */
function setOne({ _id }: BsonDocument, field: string, set: Readonly<Record<string, Stored>>) {
  return { updateOne: { filter: { _id, [field]: { $exists: false } }, update: { $set: set } } };
}

/** Notes that a value was made from a former one. */
function noting(
  note: Note | undefined,
  former: Stored | undefined,
  made: Stored | undefined,
): Readonly<Record<string, Stored>> {
  const held = note?.holds === "made" ? made : former;
  return note === undefined || held === undefined ? {} : { [note.field]: held };
}

/**
 * Only while the former value is the one that was read; what was stored beside it for searching is removed with it. The note
 * says what it is now: an undo that is given up must not look like somebody else's write.
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
