// The records of a table as a change of the table sees them: counted, read and written by storage field, in batches.
import {
  type AnyBulkWriteOperation,
  type Document as BsonDocument,
  type Collection,
  type Db,
  type FindOptions,
  MongoServerError,
} from "mongodb";
import type { Table } from "../catalog/catalog.js";
import type { Stored } from "../catalog/column-types.js";
import { freeField } from "../catalog/fields.js";
import { gramField } from "../catalog/grams.js";
import type { IndexSpec } from "../catalog/indexes.js";
import type { Restorer } from "../catalog/restore-value.js";
import { dropOwnIndexes, ensureIndexes, makeCollection } from "./provision.js";
import { listWithout } from "./record-store.js";
import { makeRoom } from "./room.js";
import { shardById } from "./sharding.js";

/** Records written at once: small enough to leave others room, large enough not to wait for every round trip. */
const BATCH = 1_000;
/** A batch that has grown so large is written before it has as many: both sides hold it in memory. */
const BATCH_BYTES = 8 * 1024 * 1024;
const EXAMPLES = 5;

export interface Found {
  readonly records: number;
  /** Some of their ids, as stored. */
  readonly examples: readonly unknown[];
}

/** A value to store, or nothing to leave the record as it is. */
export type Rewrite = (value: unknown) => Stored | undefined;

/** The later field, and the former one. */
export interface FieldPair {
  readonly from: string;
  readonly to: string;
}

export interface TableData {
  /** All records. */
  count(table: Table): Promise<number>;
  /** Are there any documents? */
  holdsAny(collection: string): Promise<boolean>;
  /** Records that have the field, or have not. */
  withField(table: Table, field: string, present: boolean): Promise<Found>;
  /** Records whose list in the field has more than one member. */
  longerThanOne(table: Table, field: string): Promise<Found>;
  /** Records that share the values of all fields with another one. */
  duplicates(table: Table, fields: readonly string[]): Promise<Found>;
  /** Records whose value in the field the test picks out. */
  matching(table: Table, field: string, test: (value: unknown) => boolean): Promise<Found>;
  /** Writes what `rewrite` makes of one field into another that has no value yet. @param report of each batch */
  copy(table: Table, from: string, to: string, rewrite: Rewrite, report: Report): Promise<void>;
  /** Brings a former field up to date with the later one, in batches. @param report of each batch */
  restore(table: Table, fields: FieldPair, restorer: Restorer, report: Report): Promise<void>;
  /** Would that leave a record without a value in the former field? */
  leavesGaps(table: Table, fields: FieldPair, restorer: Restorer): Promise<boolean>;
  /** Gives the field a value where it has none. */
  setMissing(table: Table, field: string, value: () => Stored, report: Report): Promise<void>;
  /** Links that lead to no record of the target any more. */
  lostLinks(table: Table, field: string, target: string): Promise<Stored[]>;
  /** Takes a link away that leads to no record of the target any more. */
  unlinkLost(table: Table, field: string, list: boolean, target: string): Promise<void>;
  /** Takes fields away, in batches. */
  unset(collection: string, fields: readonly string[]): Promise<void>;
  /** Builds indexes. @throws AppError never; a duplicate is told by `false` */
  build(table: Table, indexes: readonly IndexSpec[]): Promise<boolean>;
  /** Spreads the records over the shards, where there are any. */
  shard(table: Table): Promise<void>;
  /** Drops indexes that are there. */
  dropIndexes(table: Table, indexes: readonly IndexSpec[]): Promise<void>;
  /** Drops a collection with all records. */
  dropCollection(collection: string): Promise<void>;
  /** Forgets the sequence and the history of a table that is gone for good. */
  forget(table: string): Promise<void>;
}

/** Told how many records a batch has brought further. */
export type Report = (records: number) => Promise<void>;

const DUPLICATE_KEY = 11_000;
const INDEX_NOT_FOUND = 27;
const NAMESPACE_NOT_FOUND = 26;

/**
 * @param requireRoom where the disk under the database is ours to look after: asked before each batch of what makes records
 * larger; throws when it is nearly full
 */
export function makeTableData(db: Db, requireRoom?: () => Promise<void>): TableData {
  const room = requireRoom && makeRoom(db, requireRoom);
  const of = (table: Table) => db.collection<BsonDocument>(table.collection);
  const found = async (table: Table, filter: BsonDocument): Promise<Found> => {
    const records = await of(table).countDocuments(filter);
    const few =
      records === 0
        ? []
        : await of(table)
            .find(filter, { projection: { _id: 1 }, limit: EXAMPLES })
            .toArray();
    return { records, examples: few.map(({ _id }) => _id) };
  };
  const inBatches = async (
    collection: string,
    filter: BsonDocument,
    projection: BsonDocument,
    each: (batch: BsonDocument[]) => Promise<void>,
  ): Promise<void> => {
    let after: unknown;
    for (;;) {
      // Not `$gt`, which compares only with ids of the same kind.
      const rest = after === undefined ? filter : { $and: [filter, { _id: { $ne: after } }] };
      const begin = after === undefined ? {} : { min: { _id: after }, hint: { _id: 1 } };
      const options = { sort: { _id: 1 }, limit: BATCH, ...begin } as const;
      const { batch, bytes } = await readBatch(
        db.collection<BsonDocument>(collection),
        rest,
        projection,
        options,
      );
      if (batch.length === 0) return;
      after = batch.at(-1)?._id;
      await each(batch);
      await room?.written(bytes);
    }
  };
  const write = async (table: Table, writes: readonly AnyBulkWriteOperation[]): Promise<void> => {
    if (writes.length === 0) return;
    await room?.require();
    await of(table).bulkWrite(writes, { ordered: false });
  };
  return {
    count: (table) => of(table).countDocuments({}),
    async holdsAny(collection) {
      const one = await db.collection(collection).findOne({}, { projection: { _id: 1 } });
      return one !== null;
    },
    withField: (table, field, present) => found(table, present ? filled(field) : empty(field)),
    longerThanOne: (table, field) => found(table, { [`${field}.1`]: { $exists: true } }),
    duplicates: (table, fields) => duplicates(of(table), table, fields),
    async matching(table, field, test) {
      const examples: unknown[] = [];
      let records = 0;
      const cursor = of(table).find(filled(field), { projection: { [field]: 1 }, batchSize: 5 * BATCH });
      for await (const document of cursor) {
        if (!test(document[field])) continue;
        records += 1;
        if (examples.length < EXAMPLES) examples.push(document._id);
      }
      return { records, examples };
    },
    async copy(table, from, to, rewrite, report) {
      const waiting = { ...filled(from), [to]: { $exists: false } };
      await inBatches(table.collection, waiting, { [from]: 1 }, async (batch) => {
        const writes = batch.flatMap((document) => {
          const value = rewrite(document[from]);
          return value === undefined ? [] : [setOne(document, to, value)];
        });
        await write(table, writes);
        await report(batch.length);
      });
    },
    async restore(table, { from, to }, restorer, report) {
      const either = { $or: [{ [from]: { $exists: true } }, { [to]: { $exists: true } }] };
      await inBatches(table.collection, either, { [from]: 1, [to]: 1 }, async (batch) => {
        const writes = batch.flatMap((document) => {
          const restored = restorer(document[from], document[to]);
          return restored === undefined ? [] : [putBack(document, to, restored.value)];
        });
        await write(table, writes);
        await report(batch.length);
      });
    },
    async leavesGaps(table, { from, to }, restorer) {
      const cursor = of(table).find({}, { projection: { [from]: 1, [to]: 1 }, batchSize: 5 * BATCH });
      for await (const document of cursor) {
        const restored = restorer(document[from], document[to]);
        const value: unknown = restored === undefined ? document[to] : restored.value;
        if (value === undefined || value === null) return true;
      }
      return false;
    },
    async setMissing(table, field, value, report) {
      await inBatches(table.collection, { [field]: { $exists: false } }, { _id: 1 }, async (batch) => {
        const writes = batch.map((document) => setOne(document, field, value()));
        await write(table, writes);
        await report(batch.length);
      });
    },
    lostLinks: (table, field, target) => lostLinks(of(table), field, target),
    async unlinkLost(table, field, list, target) {
      const lost = await lostLinks(of(table), field, target);
      for (let at = 0; at < lost.length; at += BATCH) {
        const some = lost.slice(at, at + BATCH);
        const { having, set } = listWithout(field, some);
        await of(table).updateMany(having, list ? [{ $set: set }] : { $unset: { [field]: "" } });
      }
    },
    async unset(collection, fields) {
      const filter = { $or: fields.map((field) => ({ [field]: { $exists: true } })) };
      if (fields.length === 0) return;
      await inBatches(collection, filter, { _id: 1 }, async (batch) => {
        const which = { _id: { $in: batch.map(({ _id }) => _id) } };
        const change = { $unset: Object.fromEntries(fields.map((field) => [field, ""])) };
        await db.collection<BsonDocument>(collection).updateMany(which, change);
      });
    },
    async build(table, indexes) {
      try {
        await makeCollection(db, table.collection);
        await ensureIndexes(db, table, indexes);
        return true;
      } catch (error) {
        if (error instanceof MongoServerError && error.code === DUPLICATE_KEY) return false;
        throw error;
      }
    },
    shard: (table) => shardById(db, table.collection),
    async dropIndexes(table, indexes) {
      await dropOwnIndexes(db, table, indexes).catch(unlessMissing);
    },
    async dropCollection(collection) {
      await db.dropCollection(collection).catch(unlessMissing);
    },
    async forget(table) {
      await db.collection<{ _id: string }>("_sequences").deleteOne({ _id: table });
      await db.collection("_history").deleteMany({ table });
    },
  };
}

/** As many documents as are written at once, by their number and by their size as a whole. */
async function readBatch(
  records: Collection<BsonDocument>,
  filter: BsonDocument,
  projection: BsonDocument,
  options: FindOptions,
): Promise<{ batch: BsonDocument[]; bytes: number }> {
  const size = freeField("_size", new Set(Object.keys(projection)));
  const whole = { ...projection, [size]: { $bsonSize: "$$ROOT" } };
  const batch: BsonDocument[] = [];
  let bytes = 0;
  for await (const document of records.find(filter, { ...options, projection: whole })) {
    batch.push(document);
    bytes += Number(document[size]);
    if (bytes >= BATCH_BYTES) break;
  }
  return { batch, bytes };
}

/** Has a value: other programs store null as well. `$ne: null` would pass over a list that has a null in it. */
function filled(field: string): BsonDocument {
  return { [field]: { $exists: true }, $expr: { $ne: [`$${field}`, null] } };
}

function empty(field: string): BsonDocument {
  return { $or: [{ [field]: { $exists: false } }, { $expr: { $eq: [`$${field}`, null] } }] };
}

function setOne({ _id }: BsonDocument, field: string, value: Stored) {
  return {
    updateOne: { filter: { _id, [field]: { $exists: false } }, update: { $set: { [field]: value } } },
  };
}

/** Only while the former value is the one that was read; what was stored beside it for searching goes with it. */
function putBack(document: BsonDocument, field: string, value: Stored | undefined) {
  const former: unknown = document[field];
  const unchanged = former === undefined ? { $exists: false } : { $eq: former };
  const grams = { [gramField({ field })]: "" };
  const update =
    value === undefined ? { $unset: { [field]: "", ...grams } } : { $set: { [field]: value }, $unset: grams };
  return { updateOne: { filter: { _id: document._id, [field]: unchanged }, update } };
}

function unlessMissing(error: unknown): void {
  const missing =
    error instanceof MongoServerError && [INDEX_NOT_FOUND, NAMESPACE_NOT_FOUND].includes(Number(error.code));
  if (!missing) throw error;
}

type Records = ReturnType<Db["collection"]>;

async function duplicates(records: Records, { deletedAt }: Table, fields: readonly string[]): Promise<Found> {
  // What a deleted record has is free for others.
  const living = deletedAt === undefined ? {} : { [deletedAt.field]: { $eq: null } };
  const all = { ...Object.fromEntries(fields.map((field) => [field, { $exists: true }])), ...living };
  const key = fields.map((field) => `$${field}`);
  const groups = [
    { $match: all },
    { $group: { _id: key, count: { $sum: 1 }, one: { $min: "$_id" }, other: { $max: "$_id" } } },
    { $match: { count: { $gt: 1 } } },
  ];
  const options = { allowDiskUse: true };
  const [sum] = await records
    .aggregate([...groups, { $group: { _id: null, records: { $sum: "$count" } } }], options)
    .toArray();
  const few = await records.aggregate([...groups, { $limit: 2 }], options).toArray();
  return { records: Number(sum?.records ?? 0), examples: few.flatMap(({ one, other }) => [one, other]) };
}

/** Linked ids that no record of the target has. */
async function lostLinks(records: Records, field: string, target: string): Promise<Stored[]> {
  const lost = records.aggregate(
    [
      { $match: { [field]: { $exists: true } } },
      { $unwind: `$${field}` },
      { $group: { _id: `$${field}` } },
      { $match: { _id: { $ne: null } } },
      { $lookup: { from: target, localField: "_id", foreignField: "_id", as: "found" } },
      { $match: { found: [] } },
      { $project: { _id: 1 } },
    ],
    { allowDiskUse: true },
  );
  // Ids came from the same database and go back into it.
  return (await lost.toArray()).map(({ _id }) => _id as Stored);
}
