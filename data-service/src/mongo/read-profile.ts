// A database that other programs made -> profiles of its collections. Only reads; the database does the counting.
import type { CollectionInfo, Db, Document, IndexDescriptionInfo } from "mongodb";
import { OUR_PREFIX } from "../catalog/index-names.js";
import { chooseFields } from "../catalog/infer/choose-fields.js";
import type { LinkAnswer, LinkQuestion } from "../catalog/infer/infer-links.js";
import type { ServedTable } from "../catalog/infer/infer-tables.js";
import { type CollectionProfile, type FieldProfile, REFERENCE, type Seen } from "../catalog/infer/profile.js";
import { systemTableNames } from "../catalog/system-tables.js";
import { getOrMake } from "../get-or-make.js";
import type { TableDocument } from "./catalog-documents.js";
import { unlessMissing } from "./drop-index.js";
import { comparesPlainly } from "./provision.js";
import { IS_DEFINITION } from "./settle-catalog.js";
import { whyNoTable } from "./why-no-table.js";

/** Up to this many documents are all looked at; of more, a sample of this size. */
const SAMPLE = 5_000;
/** How many different texts lists may hold to be named individually. */
const MOST_WORDS = 20;
const LONGEST_WORD = 64;
/** How many different values of a field are looked up in another collection. */
const LOOKED_UP = 100;

export interface Listed {
  /** Collections whose documents can be served. */
  readonly collections: readonly string[];
  /** The others, each with the reason. */
  readonly left: readonly string[];
}

/** The questions that can be put to a database. */
export interface DatabaseReader {
  /** The collections that hold somebody's data, and those that are left out. */
  list(): Promise<Listed>;
  /** The tables that are there already. */
  tables(): Promise<readonly ServedTable[]>;
  /** Looks at one collection. */
  profile(collection: string): Promise<CollectionProfile>;
  /** How many of a field's values are ids of another collection. */
  answer(question: LinkQuestion): Promise<LinkAnswer>;
}

/** @param systemPrefix SYSTEM_TABLE_PREFIX */
export function makeDatabaseReader(db: Db, systemPrefix: string): DatabaseReader {
  const definitions = db.collection<TableDocument>(systemTableNames(systemPrefix).tables);
  const tables = async () => servedTables(await definitions.find(IS_DEFINITION).toArray());
  return {
    async list() {
      return listCollections(db, systemPrefix, new Set((await tables()).map(({ collection }) => collection)));
    },
    tables,
    profile: (collection) => readProfile(db, collection),
    answer: (question) => answerLink(db, question),
  };
}

function servedTables(documents: readonly TableDocument[]): ServedTable[] {
  const inverses = documents.flatMap(({ relations }) => relations);
  return documents.map(({ name, storage, columns, relations }) => ({
    name,
    collection: storage.collection,
    members: [
      ...[...columns, ...relations].map((member) => member.name),
      ...inverses.flatMap(({ table, inverse }) => (table === name && inverse !== null ? [inverse] : [])),
    ],
  }));
}

async function listCollections(db: Db, systemPrefix: string, used: ReadonlySet<string>): Promise<Listed> {
  const all = await db.listCollections().toArray();
  const names = new Set(all.map(({ name }) => name));
  const judged = all
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((info) => ({ name: info.name, reason: reasonAgainst(info, names, systemPrefix, used) }));
  return {
    collections: judged.filter(({ reason }) => reason === undefined).map(({ name }) => name),
    left: judged.filter(({ reason }) => reason).map(({ name, reason }) => `${name}: ${reason}`),
  };
}

/** Why a collection is not shown; empty for those that nobody would expect. */
function reasonAgainst(
  info: CollectionInfo,
  names: ReadonlySet<string>,
  systemPrefix: string,
  used: ReadonlySet<string>,
): string | undefined {
  const { name } = info;
  if (name.startsWith("system.") || /^_[a-z]/.test(name) || name.startsWith(systemPrefix)) return "";
  if (used.has(name)) return "has a table already";
  const bucket = name.replace(/\.(?:files|chunks)$/, "");
  const isBucket = bucket !== name && names.has(`${bucket}.files`) && names.has(`${bucket}.chunks`);
  return isBucket ? "holds files of GridFS" : whyNoTable(info);
}

async function readProfile(db: Db, name: string): Promise<CollectionProfile> {
  const collection = db.collection<Document>(name);
  const few = await collection.find({}, { projection: { _id: 1 }, limit: SAMPLE + 1 }).toArray();
  const complete = few.length <= SAMPLE;
  const sample: Document[] = complete ? [] : [{ $sample: { size: SAMPLE } }];
  const rows = await collection.aggregate([...sample, ...COUNT_BY_TYPE], { allowDiskUse: true }).toArray();
  const fields = fieldProfiles(rows);
  const ids = fields.find((field) => field.name === "_id")?.values ?? [];
  // Another program may have dropped what a table shows.
  const indexes = (await collection.indexes().catch(unlessMissing)) ?? [];
  return {
    name,
    complete,
    documents: Math.min(few.length, SAMPLE),
    fields: await withWords(
      db,
      name,
      fields.filter((field) => field.name !== "_id"),
    ),
    ids: complete ? ids : [...ids, ...(await outermostIds(db, name))],
    uniques: uniquesAmong(indexes),
    indexes: indexes.filter(({ name }) => name?.startsWith(OUR_PREFIX) !== true).length,
  };
}

async function answerLink(db: Db, question: LinkQuestion): Promise<LinkAnswer> {
  const { collection, field, target } = question;
  const ids = { from: target, localField: "_id", foreignField: "_id", as: "found" };
  const [answer] = await db
    .collection(collection)
    .aggregate([
      ...distinctIn(field, LOOKED_UP),
      { $lookup: { ...ids, pipeline: [{ $project: { _id: 1 } }] } },
      { $group: { _id: null, asked: { $sum: 1 }, found: { $sum: { $size: "$found" } } } },
    ])
    .toArray();
  return { ...question, asked: Number(answer?.asked ?? 0), found: Number(answer?.found ?? 0) };
}

/** The different values in a field of a sample, lists taken apart: each the `_id` of a document. */
function distinctIn(field: string, most: number): Document[] {
  return [
    { $match: { [field]: { $ne: null } } },
    { $limit: SAMPLE },
    { $project: { _id: 0, value: `$${field}` } },
    { $unwind: "$value" },
    { $group: { _id: "$value" } },
    { $limit: most },
  ];
}

/** What is counted about values, by field and type. */
const ORDERED = ["int", "long", "double", "decimal", "binData"];
const scalar = { $cond: [{ $in: ["$type", ORDERED] }, "$value", "$$REMOVE"] };
const length = { $cond: [{ $eq: ["$type", "string"] }, { $strLenCP: stringOf("$value") }, "$$REMOVE"] };
const isFraction = {
  $cond: [
    { $and: [{ $eq: ["$type", "double"] }, { $ne: [{ $trunc: numberOf("$value") }, "$value"] }] },
    1,
    0,
  ],
};

/** The first and the last moment that JavaScript, and so JSON, can tell, in milliseconds. */
const CALENDAR_END = 8.64e15;
/** Answered as null, as a null is. An id stays one, of whatever kind. */
const hasNoJson = {
  $and: [
    { $ne: ["$name", "_id"] },
    {
      $or: [
        { $in: ["$value", [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]] },
        {
          $and: [
            { $eq: [{ $type: "$value" }, "date"] },
            {
              $or: [
                { $gt: ["$value", new Date(CALENDAR_END)] },
                { $lt: ["$value", new Date(-CALENDAR_END)] },
              ],
            },
          ],
        },
      ],
    },
  ],
};

/** As the driver tells them from other objects. */
const isReference = {
  $and: [
    { $eq: [{ $type: memberOf("$value", "$ref") }, "string"] },
    { $not: [{ $in: [{ $type: memberOf("$value", "$id") }, ["missing", "null", "undefined"]] }] },
  ],
};

/** The database evaluates both sides of a condition, so each needs a value of its kind. */
function stringOf(value: string): Document {
  return { $cond: [{ $eq: [{ $type: value }, "string"] }, value, ""] };
}

function memberOf(value: string, name: string): Document {
  const input = { $cond: [{ $eq: [{ $type: value }, "object"] }, value, {}] };
  return { $getField: { field: { $literal: name }, input } };
}

function numberOf(value: string): Document {
  return { $cond: [{ $isNumber: value }, value, 0] };
}

/** A row for each field and type, of the values themselves and of what is in those that are lists. */
const COUNT_BY_TYPE: Document[] = [
  { $project: { entry: { $objectToArray: "$$ROOT" } } },
  { $unwind: { path: "$entry", includeArrayIndex: "place" } },
  {
    $project: {
      _id: 0,
      place: 1,
      name: "$entry.k",
      value: [["$entry.v"], { $cond: [{ $isArray: "$entry.v" }, "$entry.v", []] }],
    },
  },
  { $unwind: { path: "$value", includeArrayIndex: "isMember" } },
  { $unwind: "$value" },
  {
    $set: { type: { $cond: [hasNoJson, "null", { $cond: [isReference, REFERENCE, { $type: "$value" }] }] } },
  },
  {
    $group: {
      _id: { name: "$name", type: "$type", isMember: { $eq: ["$isMember", 1] } },
      count: { $sum: 1 },
      least: { $min: scalar },
      greatest: { $max: scalar },
      shortest: { $min: length },
      longest: { $max: length },
      fractions: { $sum: isFraction },
      place: { $min: "$place" },
    },
  },
  { $sort: { place: 1, _id: 1 } },
];

function fieldProfiles(rows: readonly Document[]): FieldProfile[] {
  const fields = new Map<string, { name: string; values: Seen[]; members: Seen[] }>();
  for (const row of rows) {
    const name = String(row._id.name);
    const { values, members } = getOrMake(fields, name, () => ({ name, values: [], members: [] }));
    const seen = toSeen(row);
    if (row._id.isMember === true) members.push(seen);
    else if (isValue(seen)) values.push(seen);
  }
  return [...fields.values()];
}

/** Asks the database for the texts in lists, of the fields that will be served. */
async function withWords(
  db: Db,
  collection: string,
  fields: readonly FieldProfile[],
): Promise<FieldProfile[]> {
  const served = new Set(chooseFields(fields).served);
  return Promise.all(
    fields.map(async (field) => {
      const isTexts = field.members.length > 0 && field.members.every(isShortText);
      const words = isTexts && served.has(field) ? await wordsOf(db, collection, field.name) : undefined;
      return words === undefined ? field : { ...field, words };
    }),
  );
}

function toSeen(row: Document): Seen {
  const { _id, count, least, greatest, shortest, longest, fractions } = row;
  return { type: String(_id.type), count, least, greatest, shortest, longest, fractions };
}

/** Null is the absence of a value, and so is what older MongoDBs called undefined. */
function isValue({ type }: Seen): boolean {
  return type !== "null" && type !== "undefined" && type !== "missing";
}

function isShortText({ type, longest = 0 }: Seen): boolean {
  return type === "string" && longest <= LONGEST_WORD;
}

/** The different texts in a field's lists, in their order; undefined when there are many. */
async function wordsOf(db: Db, collection: string, field: string): Promise<string[] | undefined> {
  const groups = await db
    .collection(collection)
    .aggregate(distinctIn(field, MOST_WORDS + 1))
    .toArray();
  return groups.length > MOST_WORDS ? undefined : groups.map(({ _id }) => String(_id)).toSorted();
}

/** MongoDB orders by type first, so the first and the last id show whether there are several types. */
async function outermostIds(db: Db, collection: string): Promise<Seen[]> {
  const ends = await Promise.all(
    ([1, -1] as const).map((direction) =>
      db
        .collection(collection)
        .aggregate([
          { $sort: { _id: direction } },
          { $limit: 1 },
          { $project: { value: "$_id", type: { $type: "$_id" } } },
        ])
        .toArray(),
    ),
  );
  return ends.flat().map(({ value, type }): Seen => ({ type, count: 1, least: value, greatest: value }));
}

function uniquesAmong(indexes: readonly IndexDescriptionInfo[]): string[][] {
  return indexes
    .filter((index) => index.unique === true && comparesPlainly(index))
    .filter(({ key, partialFilterExpression: filter }) => filter === undefined || isPresence(filter, key))
    .filter(({ key }) => Object.values(key).every((direction) => direction === 1 || direction === -1))
    .map(({ key }) => Object.keys(key));
}

/** It only leaves out documents without one of the fields. */
function isPresence(filter: Document, key: Document): boolean {
  return Object.entries(filter).every(
    ([field, condition]) => field in key && JSON.stringify(condition) === '{"$exists":true}',
  );
}
