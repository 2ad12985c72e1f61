// The shape of a query -> the index that would help it. Pure.
import { type Catalog, fieldNamed, type Table } from "../../catalog/catalog.js";
import { type IndexSpec, indexesOf } from "../../catalog/indexes.js";
import type { QueryShape } from "./shape.js";

/** What to write into the table's definition; null when nothing there would help. */
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

/** MongoDB's limit for the fields of an index, less the id that closes it. */
const MOST_FIELDS = 16;

/** The suggestion for a shape; undefined when what would be suggested is there, or the shape's fields are gone. */
export function suggest(shape: QueryShape, catalog: Catalog): Suggestion | undefined {
  const table = catalog.tables.get(shape.table);
  if (table === undefined || !isKnown(shape, table)) return undefined;
  const uncounted = uncountedSort(shape, table);
  if (uncounted !== undefined) return uncounted;
  const text = shape.filter.find(({ test }) => test === "text");
  if (text !== undefined && table.columns.get(text.field)?.searchable === false) {
    return {
      advice: { searchable: text.field },
      sentence: `Make "${text.field}" of "${table.name}" searchable, so that text inside it is found without reading every record.`,
    };
  }
  return indexSuggestion(shape, table);
}

/** Fields of the table itself must still be there; what lies behind relations is not looked at. */
function isKnown(shape: QueryShape, table: Table): boolean {
  // A number of children that is kept has an index of its own, and a name that nobody can put into one.
  const sorts = shape.sort.every((key) => /[(.]/.test(key) || table.columns.has(key.replace(/^-/, "")));
  return sorts && shape.filter.every(({ field }) => table.columns.has(field) || table.relations.has(field));
}

function uncountedSort({ sort }: QueryShape, table: Table): Suggestion | undefined {
  for (const key of sort) {
    const name = /^-?_count\((\w+)\)$/.exec(key)?.[1] ?? "";
    const relation = table.relations.get(name);
    // Numbers are kept with the parents that others link to.
    if (relation === undefined || relation.counter !== undefined || relation.link.on === "self") continue;
    return {
      advice: { counted: name },
      sentence: `Set "counted": true on the relation "${relation.inverse}" of "${relation.target}", so that "${table.name}" knows how many "${name}" each record has.`,
    };
  }
  return undefined;
}

interface Key {
  /** With `-` for descending, as `indexes` spells it. */
  readonly name: string;
  readonly role: "equality" | "sort" | "range";
}

function indexSuggestion(shape: QueryShape, table: Table): Suggestion | undefined {
  const keys = indexKeys(shape, table);
  if (keys.some(({ name, role }) => role === "equality" && name === table.idColumn.name)) return undefined;
  // The planner finds these from the children's end, so what helps is an index there.
  if (keys.length === 0 && shape.sort.some((key) => /^-?_(max|min)\(/.test(key))) return undefined;
  if (keys.length === 0) return { advice: null, sentence: noIndexSentence(shape, table) };
  if (indexesOf(table).some((spec) => serves(spec, keys, table))) return undefined;
  const index = keys.map(({ name }) => name);
  return {
    advice: { index },
    sentence: `Add ${JSON.stringify(index)} to the indexes of "${table.name}".`,
  };
}

/** Equality narrows to one stretch of the index, the sort then lies in order, and a range is checked on the keys. */
function indexKeys({ filter, sort }: QueryShape, table: Table): Key[] {
  const fields = (tests: readonly string[]): string[] =>
    filter.filter(({ test }) => tests.includes(test)).map(({ field }) => field);
  const keys: Key[] = [];
  const add = (name: string, role: Key["role"]): void => {
    const known = keys.some((key) => bare(key.name) === bare(name));
    if (!known && keys.length < MOST_FIELDS && isIndexable(table, bare(name), keys))
      keys.push({ name, role });
  };
  for (const field of fields(["equality", "null"])) add(field, "equality");
  // A key behind a relation can't stand in the index, and what follows it would not be in order.
  const foreign = sort.findIndex((key) => !table.columns.has(bare(key)));
  for (const key of foreign < 0 ? sort : sort.slice(0, foreign)) add(key, "sort");
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
  if (column === undefined || column.encrypted || column.type === "json") return false;
  const isList = (each: string): boolean => table.columns.get(each)?.type === "enumList";
  return !isList(name) || !others.some((key) => isList(bare(key.name)));
}

/** Does an index that is there begin with these keys? Among fields tested for equality the order is free. */
function serves(spec: IndexSpec, keys: readonly Key[], table: Table): boolean {
  const count = keys.filter(({ role }) => role === "equality").length;
  const wanted = keys.map(({ name }) => fieldNamed(table, bare(name)));
  const present = spec.key.slice(0, keys.length).map(([field]) => field);
  if (present.length < keys.length) return false;
  const equal = new Set<string | undefined>(present.slice(0, count));
  if (!wanted.slice(0, count).every((field) => equal.has(field))) return false;
  if (!wanted.slice(count).every((field, at) => present[count + at] === field)) return false;
  // An index is read in either direction, but in one at a time.
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
