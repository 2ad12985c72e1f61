// What a change of a table asks about its records, by storage field.
import type { Document as BsonDocument, Db } from "mongodb";
import type { Table } from "../catalog/catalog.js";
import type { FieldPair } from "../catalog/fills.js";
import type { Restored, Restorer } from "../catalog/restore-value.js";
import { DELETED_FIELD } from "../catalog/soft-delete.js";
import type { Stored } from "../catalog/stored.js";
import { asStored } from "../query/as-read.js";
import { listIn } from "./update-parts.js";
import { BATCH } from "./walk-records.js";
import { whyNoTable } from "./why-no-table.js";

/** How many records are named by their ids. */
export const EXAMPLES = 5;

export interface Found {
  readonly records: number;
  /** Some of their ids, as stored. */
  readonly examples: readonly unknown[];
}

/** How many different links. */
export type LinkCount = "none" | "some" | "several";

/** Looks at a value of a record, for whose refusals there is its id. */
export type Test = (value: unknown, id: unknown) => boolean;

export interface TableQuestions {
  /** Counts all records. */
  count(table: Table): Promise<number>;
  /** Counts those that are not deleted. */
  countLiving(table: Table): Promise<number>;
  /** Completes "people …"; undefined for a collection that can be a table, and where there is none. */
  whyNoTable(collection: string): Promise<string | undefined>;
  /** Are there any documents? */
  holdsAny(collection: string): Promise<boolean>;
  /** Records that have a value in the field. */
  withValue(table: Table, field: string): Promise<Found>;
  /** Records that have none. */
  withoutValue(table: Table, field: string): Promise<Found>;
  /** Records with this many different links in the field, which holds lists of them. */
  withLinks(table: Table, field: string, count: LinkCount): Promise<Found>;
  /** Records that share the values of all fields with another one. @param given values that records without one will get */
  duplicates(table: Table, fields: readonly string[], given?: ReadonlyMap<string, Stored>): Promise<Found>;
  /** Records whose value in the field passes the test. */
  matching(table: Table, field: string, test: Test): Promise<Found>;
  /** Would restoring leave a record without a value in the former field? */
  leavesGaps(table: Table, fields: FieldPair, restorer: Restorer): Promise<boolean>;
  /** Links that lead to no record of the target any more. */
  lostLinks(table: Table, field: string, target: string): Promise<Stored[]>;
  /** Links that lead to deleted records, which the target keeps. */
  deletedLinks(table: Table, field: string, target: Table): Promise<Stored[]>;
}

export function makeTableQuestions(db: Db): TableQuestions {
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
  return {
    count: (table) => of(table).countDocuments({}),
    countLiving: (table) => of(table).countDocuments(living(table)),
    async whyNoTable(name) {
      const found = await db.listCollections({ name }, { nameOnly: false }).next();
      return found === null ? undefined : whyNoTable(found);
    },
    async holdsAny(collection) {
      const one = await db.collection(collection).findOne({}, { projection: { _id: 1 } });
      return one !== null;
    },
    withValue: (table, field) => found(table, filled(field)),
    withoutValue: (table, field) => found(table, empty(field)),
    withLinks: (table, field, count) =>
      found(table, { $expr: HAS_LINKS[count]({ $size: differentLinks(field) }) }),
    duplicates: (table, fields, given = new Map()) => duplicates(of(table), table, fields, given),
    async matching(table, field, test) {
      const examples: unknown[] = [];
      let records = 0;
      const cursor = of(table).find(filled(field), { projection: { [field]: 1 }, batchSize: 5 * BATCH });
      for await (const document of cursor) {
        if (!test(document[field], document._id)) continue;
        records += 1;
        if (examples.length < EXAMPLES) examples.push(document._id);
      }
      return { records, examples };
    },
    async leavesGaps(table, fields, restorer) {
      const cursor = of(table).find({}, { projection: projectionOf(fields), batchSize: 5 * BATCH });
      for await (const document of cursor) {
        const restored = restoredIn(document, fields, restorer);
        const value: unknown = restored === undefined ? document[fields.former] : restored.value;
        if (value === undefined || value === null) return true;
      }
      return false;
    },
    lostLinks: (table, field, target) => lostLinks(of(table), field, target),
    deletedLinks: (table, field, { collection }) =>
      linkedIdsIn(of(table), field, collection, { [`found.${DELETED_FIELD}`]: { $exists: true } }),
  };
}

/** The fields that `restoredIn` looks at. */
export function projectionOf({ later, former, note }: FieldPair): BsonDocument {
  return { [later]: 1, [former]: 1, ...(note === undefined ? {} : { [note.field]: 1 }) };
}

/** What a document's former field should hold again; undefined if it stays as it is. */
export function restoredIn(
  document: BsonDocument,
  { later, former, note }: FieldPair,
  restorer: Restorer,
): Restored {
  return restorer(document[later], document[former], note && document[note.field]);
}

/** Has a value: other programs store null as well. `$ne: null` would miss a list that contains a null. */
export function filled(field: string): BsonDocument {
  return { [field]: { $exists: true }, $expr: { $ne: [`$${field}`, null] } };
}

export function empty(field: string): BsonDocument {
  return { $or: [{ [field]: { $exists: false } }, { $expr: { $eq: [`$${field}`, null] } }] };
}

const HAS_LINKS: Readonly<Record<LinkCount, (size: BsonDocument) => BsonDocument>> = {
  none: (size) => ({ $eq: [size, 0] }),
  some: (size) => ({ $gt: [size, 0] }),
  several: (size) => ({ $gt: [size, 1] }),
};

/** The different links in a list: other programs may leave it empty, or put nulls in it. */
function differentLinks(field: string): BsonDocument {
  return { $setUnion: [{ $filter: { input: listIn(field), cond: { $ne: ["$$this", null] } } }] };
}

/** A deleted record's values, and its place as a singleton's only record, are free for others. */
function living({ deletedAt }: Table): BsonDocument {
  return deletedAt === undefined ? {} : { [deletedAt.field]: { $eq: null } };
}

type Records = ReturnType<Db["collection"]>;

async function duplicates(
  records: Records,
  table: Table,
  fields: readonly string[],
  given: ReadonlyMap<string, Stored>,
): Promise<Found> {
  const needed = fields.filter((field) => !given.has(field));
  const all = { ...Object.fromEntries(needed.map((field) => [field, { $exists: true }])), ...living(table) };
  const key = fields.map((field) =>
    given.has(field) ? { $ifNull: [`$${field}`, { $literal: given.get(field) }] } : `$${field}`,
  );
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
export function lostLinks(records: Records, field: string, target: string): Promise<Stored[]> {
  return linkedIdsIn(records, field, target, { found: [] });
}

/** Linked ids, chosen by what is `found` in the target for them. */
async function linkedIdsIn(
  records: Records,
  field: string,
  target: string,
  match: BsonDocument,
): Promise<Stored[]> {
  const ids = records.aggregate(
    [
      { $match: { [field]: { $exists: true } } },
      { $unwind: `$${field}` },
      { $group: { _id: `$${field}` } },
      { $match: { _id: { $ne: null } } },
      { $lookup: { from: target, localField: "_id", foreignField: "_id", as: "found" } },
      { $match: match },
      { $project: { _id: 1 } },
    ],
    { allowDiskUse: true },
  );
  return (await ids.toArray()).map(({ _id }) => asStored(_id));
}
