// Table -> the indexes it needs. Pure; mongo/provision makes them.
import { type Column, type Counter, type Relation, requireField, type Table } from "./catalog.js";
import { gramField, searchableOf } from "./grams.js";
import { OWN_FIELDS } from "./own-fields.js";

export interface IndexSpec {
  /** Field and direction, in order. */
  readonly key: readonly (readonly [field: string, direction: 1 | -1])[];
  readonly unique: boolean;
  /** Only documents that have all of these are in the index. Null is never stored, so nulls never collide. */
  readonly present?: readonly string[];
  /** Only documents without this field are in the index. */
  readonly absent?: string;
}

/** Of a table. MongoDB allows more per collection; a few stay free for later features. */
export const MAX_INDEXES = 56;

/** What MongoDB allows; the index on `_id` counts as well. */
export const MAX_INDEXES_OF_COLLECTION = 64;

/** Marks the only record of a singleton table. */
export const SINGLETON_FIELD = OWN_FIELDS.singleton.name;

/**
 * The indexes that contract 6 names: links, createdAt, updatedAt, dates, uniques, counters and the owner's own. An index for
 * sorting ends in `_id`, because `id` closes every sort.
 */
export function indexesOf(table: Table): IndexSpec[] {
  const links = [...table.relations.values()].filter((relation) => relation.link.on === "self");
  const columns = [...table.columns.values()].filter((column) => column !== table.idColumn);
  const specs = [
    ...links.flatMap((relation) =>
      relation.exclusive ? exclusiveIndexes(table, relation) : linkIndexes(table, relation),
    ),
    ...columns
      .filter((column) => isDate(column) && !column.unique && column !== table.deletedAt)
      .map((column) => greatestFirst(column.field)),
    ...(table.deletedAt === undefined ? [] : [deletedOnly(table.deletedAt)]),
    ...columns.filter((column) => column.unique).map((column) => uniqueOn(table, [column.name])),
    ...table.uniques.map((names) => uniqueOn(table, names)),
    ...(table.uniquesWithNull ?? []).map((names) => ({ ...uniqueOn(table, names), present: [] })),
    ...table.indexes.map((names) => declared(table, names)),
    ...[...table.relations.values()].flatMap(({ link, counter }) =>
      link.on === "target" && counter !== undefined ? [counterIndex(counter)] : [],
    ),
    ...gramIndexesOf(table),
    ...(table.singleton
      ? [{ key: [[SINGLETON_FIELD, 1] as const], unique: true, ...amongLiving(table) }]
      : []),
  ];
  return withoutRepeats(specs);
}

/** The index that a number of children gives to the table at the other end, to sort by. */
export function counterIndex({ column }: Counter): IndexSpec {
  return greatestFirst(column.field);
}

/** The indexes that searches of a table use. */
export function gramIndexesOf(table: Table): IndexSpec[] {
  return searchableOf(table.columns.values()).map(grams);
}

function isDate({ type, encrypted }: Column): boolean {
  return (type === "date" || type === "datetime") && !encrypted;
}

/** A unique index over living records does not find deleted ones, which a delete for good must find, too. */
function exclusiveIndexes(table: Table, relation: Relation): IndexSpec[] {
  const unique = uniqueOn(table, [relation.name]);
  return table.deletedAt === undefined ? [unique] : [unique, byLink(relation)];
}

/** Deleted records are few; lists of living ones use other indexes. */
function deletedOnly({ field }: Column): IndexSpec {
  return { ...greatestFirst(field), present: [field] };
}

function byLink({ link }: Relation): IndexSpec {
  return {
    key: [
      [link.field, 1],
      ["_id", 1],
    ],
    unique: false,
  };
}

/** Children by id and, where a parent can ask for its children, the newest of them. */
function linkIndexes({ createdAt }: Table, relation: Relation): IndexSpec[] {
  const { link, inverse } = relation;
  const byId = byLink(relation);
  const newest: IndexSpec = {
    key: [
      [link.field, 1],
      [createdAt.field, -1],
      ["_id", 1],
    ],
    unique: false,
  };
  return inverse === null ? [byId] : [byId, newest];
}

/** Lists are usually asked for newest or largest first; in this order `id` closes the sort along the index. */
function greatestFirst(field: string): IndexSpec {
  return {
    key: [
      [field, -1],
      ["_id", 1],
    ],
    unique: false,
  };
}

/** Does not end in `_id`: a record has many of these keys, and a search for rare ones sorts few. */
function grams(column: Column): IndexSpec {
  return { key: [[gramField(column), 1]], unique: false };
}

function uniqueOn(table: Table, names: readonly string[]): IndexSpec {
  const fields = names.map((name) => requireField(table, name));
  return { key: fields.map((field) => [field, 1]), unique: true, present: fields, ...amongLiving(table) };
}

/** A deleted record's values are free for others. */
function amongLiving({ deletedAt }: Table): Pick<IndexSpec, "absent"> {
  return deletedAt === undefined ? {} : { absent: deletedAt.field };
}

function declared(table: Table, names: readonly string[]): IndexSpec {
  const key = names.map((name): [string, 1 | -1] => {
    const descending = name.startsWith("-");
    return [requireField(table, descending ? name.slice(1) : name), descending ? -1 : 1];
  });
  const closed = key.some(([field]) => field === "_id");
  return { key: closed ? key : [...key, ["_id", 1]], unique: false };
}

/** What is wrong with a table that needs more indexes than it may have. */
export function tooManyIndexes(table: Table): string | undefined {
  const needed = indexesOf(table).length;
  if (needed <= MAX_INDEXES) return undefined;
  const what =
    "dates and times, links, numbers of related records, and what is unique, searchable or indexed";
  return `indexes: the table needs ${needed} indexes (for ${what}); ${MAX_INDEXES} is the most`;
}

/** By this MongoDB tells indexes apart. Not by their names: `a_1_b_1` may be `a, b`, or a field called `a_1_b`. */
export function keyIdentity(key: readonly (readonly [field: string, direction: unknown])[]): string {
  return JSON.stringify(key);
}

/** MongoDB refuses the same keys twice; a unique index serves for both. */
function withoutRepeats(specs: readonly IndexSpec[]): IndexSpec[] {
  const byKey = new Map<string, IndexSpec>();
  for (const spec of specs) {
    const identity = keyIdentity(spec.key);
    if (byKey.get(identity)?.unique !== true) byKey.set(identity, spec);
  }
  return [...byKey.values()];
}
