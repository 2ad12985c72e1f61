// The shape of a query -> the index that would help it, if a definition accepts it. Pure.
import { type Catalog, fieldNamed, type Table } from "../../catalog/catalog.js";
import { fitsKey, MAX_KEY_NAMES } from "../../catalog/check-keys.js";
import { type IndexSpec, indexesOf, MAX_INDEXES } from "../../catalog/indexes.js";
import { GENERATED_NAMES } from "../../catalog/names.js";
import type { AuthorizedPredicate } from "../ast.js";
import { type QueryShape, shapeOf } from "./shape.js";

/** What to write into the table's definition; null when nothing there would help, or there is no room for it. */
export type Advice =
  | { readonly index: readonly string[] }
  | { readonly searchable: string }
  | { readonly counted: string }
  | null;

export interface Suggestion {
  readonly advice: Advice;
  /** For people: what to do, and where. */
  readonly sentence: string;
}

/** The suggestion for a shape; undefined when what it would suggest exists already, or the shape's fields are gone. */
export function suggest(shape: QueryShape, catalog: Catalog): Suggestion | undefined {
  const table = catalog.tables.get(shape.table);
  if (table === undefined || !isKnown(shape, table)) return undefined;
  const suggestion =
    uncountedSort(shape, table, catalog) ?? unsearchedText(shape, table) ?? indexSuggestion(shape, table);
  if (suggestion === undefined || suggestion.advice === null) return suggestion;
  return indexesOf(table).length < MAX_INDEXES ? suggestion : withoutRoom(suggestion, table);
}

/** Numbers of children and searches need an index of this table, too. */
function withoutRoom({ sentence }: Suggestion, { name }: Table): Suggestion {
  return {
    advice: null,
    sentence: `"${name}" has ${MAX_INDEXES} indexes, the most there can be. Remove one first. ${sentence}`,
  };
}

/** The table's own fields must still exist; those behind relations are not checked. */
function isKnown(shape: QueryShape, table: Table): boolean {
  // A stored number of children has its own index, and a name that nobody can put into another one.
  const sorts = shape.sort.every((key) => /[(.]/.test(key) || table.columns.has(key.replace(/^-/, "")));
  return sorts && shape.filter.every(({ field }) => table.columns.has(field) || table.relations.has(field));
}

function uncountedSort({ sort }: QueryShape, table: Table, { tables }: Catalog): Suggestion | undefined {
  for (const key of sort) {
    const name = /^-?_count\((\w+)\)$/.exec(key)?.[1] ?? "";
    const relation = table.relations.get(name);
    // Numbers are kept with the parents to which others link.
    if (relation === undefined || relation.counter !== undefined || relation.link.on === "self") continue;
    // Nobody counts the links of a table that keeps deleted records.
    if (tables.get(relation.target)?.deletedAt !== undefined) continue;
    return {
      advice: { counted: name },
      sentence: `Set "counted": true on the relation "${relation.inverse}" of "${relation.target}", so that "${table.name}" knows how many "${name}" each record has.`,
    };
  }
  return undefined;
}

function unsearchedText({ filter }: QueryShape, table: Table): Suggestion | undefined {
  const text = filter.find(({ test, field }) => test === "text" && isUnsearched(table, field));
  if (text === undefined) return undefined;
  return {
    advice: { searchable: text.field },
    sentence: `Make "${text.field}" of "${table.name}" searchable, so that text inside it is found without reading every record.`,
  };
}

/** An id may be text as well, but it is in no definition. */
function isUnsearched({ columns }: Table, name: string): boolean {
  const column = columns.get(name);
  return column !== undefined && !column.searchable && !column.generated;
}

interface Key {
  /** With `-` for descending, as `indexes` spells it. */
  readonly name: string;
  readonly role: "equality" | "sort" | "range";
}

function indexSuggestion(shape: QueryShape, table: Table): Suggestion | undefined {
  const keys = indexKeys(shape, table);
  if (keys.some(({ name, role }) => role === "equality" && name === table.idColumn.name)) return undefined;
  // The planner finds these from the children's end, so an index there helps.
  if (keys.length === 0 && shape.sort.some((key) => /^-?_(max|min)\(/.test(key))) return undefined;
  if (keys.length === 0) return { advice: null, sentence: noIndexSentence(shape, table) };
  const present = new Set(
    shape.filter
      .filter(({ test }) => test === "equality" || test === "range")
      .map(({ field }) => fieldNamed(table, field)),
  );
  const useful = [BY_ID, ...indexesOf(table)].filter((spec) => holdsAll(spec, present));
  if (useful.some((spec) => serves(spec, keys, table))) return undefined;
  const index = namesOf(keys, table);
  return { advice: { index }, sentence: `Add ${JSON.stringify(index)} to the indexes of "${table.name}".` };
}

/** Whether an index leads to the records of a condition, and to hardly any others: without one, these would be read for it. */
export function isFoundByIndex(predicate: AuthorizedPredicate, table: Table): boolean {
  const isFound = (each: AuthorizedPredicate): boolean => isFoundByIndex(each, table);
  const { kind } = predicate;
  if (kind === "or") return predicate.of.every(isFound);
  // What belongs to a few others, or is unique, are few records: the rest of the condition may be asked of each.
  if (kind === "and" && predicate.of.some((each) => isOfFew(each) && isFound(each))) return true;
  if (kind === "and" && !predicate.of.every(isFound)) return false;
  // Ids and links always have one; those in lists are nothing that a definition could name.
  if (kind === "keys") return true;
  return indexSuggestion(shapeOf({ table, predicates: [predicate], sort: [] }), table) === undefined;
}

function isOfFew(predicate: AuthorizedPredicate): boolean {
  return predicate.kind === "keys" || (predicate.kind === "test" && predicate.column.unique);
}

/** MongoDB's own, in every collection. */
const BY_ID: IndexSpec = { key: [["_id", 1]], unique: true };

/** Does an index have every record that a query wants? @param present fields in which all wanted records have a value */
function holdsAll(spec: IndexSpec, present: ReadonlySet<string | undefined>): boolean {
  return (spec.present ?? []).every((field) => present.has(field));
}

/** As a definition spells them: every index has the closing id by itself if nothing follows it. */
function namesOf(keys: readonly Key[], { idColumn }: Table): string[] {
  const names = keys.map(({ name }) => name);
  return names.at(-1) === idColumn.name ? names.slice(0, -1) : names;
}

/**
 * Equality narrows the index to one stretch, which is then in the order of the sort, with the id that closes it; a range is
 * checked on the keys.
 */
function indexKeys({ filter, sort }: QueryShape, table: Table): Key[] {
  const fields = (tests: readonly string[]): string[] =>
    filter.filter(({ test }) => tests.includes(test)).map(({ field }) => field);
  const keys: Key[] = [];
  const add = (name: string, role: Key["role"]): void => {
    const known = keys.some((key) => bare(key.name) === bare(name));
    if (!known && keys.length < MAX_KEY_NAMES && isIndexable(table, bare(name), keys))
      keys.push({ name, role });
  };
  for (const field of fields(["equality", "null"])) add(field, "equality");
  // After a key that can't be in the index nothing would be in order, and no two records have the same id.
  const { name: id } = table.idColumn;
  for (const key of sort.length === 0 ? [] : [...sort, id]) {
    if (!isIndexable(table, bare(key), [])) break;
    add(key, "sort");
    if (bare(key) === id) break;
  }
  const [range] = fields(["range"]);
  if (range !== undefined) add(range, "range");
  return keys;
}

function bare(name: string): string {
  return name.replace(/^-/, "");
}

function isIndexable(table: Table, name: string, others: readonly Key[]): boolean {
  const relation = table.relations.get(name);
  if (relation !== undefined) return relation.link.on === "self" && !relation.link.list;
  const column = table.columns.get(name);
  if (column === undefined || !fitsKey(column, "indexes")) return false;
  if (column.generated && !GENERATED_NAMES.some((generated) => generated === name)) return false;
  const isList = (each: string): boolean => table.columns.get(each)?.type === "enumList";
  return !isList(name) || !others.some((key) => isList(bare(key.name)));
}

/** Does an existing index begin with these keys? Among fields tested for equality the order does not matter. */
function serves(spec: IndexSpec, keys: readonly Key[], table: Table): boolean {
  const count = keys.filter(({ role }) => role === "equality").length;
  const wanted = keys.map(({ name }) => fieldNamed(table, bare(name)));
  const present = spec.key.slice(0, keys.length).map(([field]) => field);
  if (present.length < keys.length) return false;
  const equal = new Set<string | undefined>(present.slice(0, count));
  if (!wanted.slice(0, count).every((field) => equal.has(field))) return false;
  if (!wanted.slice(count).every((field, at) => present[count + at] === field)) return false;
  // An index is read in either direction, but in one at a time, even where the id closes a sort.
  const turns = keys.flatMap(({ name, role }, at) =>
    role === "sort" ? [(spec.key[at]?.[1] ?? 1) * (name.startsWith("-") ? -1 : 1)] : [],
  );
  return new Set(turns).size <= 1;
}

function noIndexSentence({ filter, sort }: QueryShape, table: Table): string {
  const tests = filter.map(({ field, test }) => `"${field}" (${test})`).join(", ");
  const parts = [tests, sort.length === 0 ? "" : `sorted by ${sort.join(", ")}`].filter(
    (text) => text !== "",
  );
  const what = parts.length === 0 ? "reading all of it" : parts.join(" ");
  return `No index of "${table.name}" narrows ${what}; ask for fewer records, or by another field.`;
}
