// Tables as code: the JSON of a schema file, {"tables":[…]}, read, matched with the existing tables, and written. Who may do
// what with them stands beside them: see permission/access-file.
import { isArray, isObject, type Json, type JsonObject, kindOf } from "@portico/shared/json";
import { type JsonRead, readJson } from "@portico/shared/read-json";
import { type FileAccess, NO_ACCESS, readAccess, writeAccess } from "../permission/access-file.js";
import type { StoredAccess } from "../permission/rule.js";
import { COLUMN_KEYS } from "./check-column.js";
import { TABLE_KEYS } from "./check-definition.js";
import { RELATION_KEYS } from "./check-relation.js";
import { linkField } from "./check-storage.js";
import type { ColumnDefinition, RelationDefinition, TableDefinition } from "./definition.js";
import { definitionJson } from "./merge-definition.js";

/** A table of a schema file. Whatever it leaves out has its default. */
export interface FileTable {
  readonly name: string;
  /** The table's id, if the file has one: it stays the same table under another name. */
  readonly id: string | undefined;
  readonly json: JsonObject;
}

export interface SchemaFile {
  readonly tables: readonly FileTable[];
  readonly access: FileAccess;
}

/** Some editors begin every file with it, and nobody sees it. */
const BYTE_ORDER_MARK = /^\uFEFF/;

/** Reads the text of a file. @returns what it says, or every problem it has */
export function readSchemaFile(file: string): SchemaFile & { readonly problems: readonly string[] } {
  const text = file.replace(BYTE_ORDER_MARK, "");
  const read = readJson(text);
  if (read.kind !== "json") return unread(unreadable(text, read));
  const { json } = read;
  if (!isObject(json) || !isArray(json.tables)) return unread('must be an object {"tables":[…]}');
  const problems = Object.keys(json)
    .filter((key) => !["tables", "roles", "everyone"].includes(key))
    .map((key) => `${key}: is not known here`);
  const tables = json.tables.flatMap((each, at) => {
    const name = isObject(each) ? each.name : undefined;
    if (isObject(each) && typeof name === "string")
      return [{ name, id: typeof each.id === "string" ? each.id : undefined, json: each }];
    problems.push(`tables[${at}]: must be an object with a name, not ${kindOf(each)}`);
    return [];
  });
  const names = tables.map(({ name }) => name);
  const ids = tables.flatMap(({ id }) => id ?? []);
  for (const twice of [...repeated(names), ...repeated(ids)])
    problems.push(`tables: "${twice}" is there more than once`);
  const { access, problems: ofAccess } = readAccess(json);
  return { tables, access, problems: [...problems, ...ofAccess] };
}

function unread(problem: string): ReturnType<typeof readSchemaFile> {
  return { tables: [], access: NO_ACCESS, problems: [problem] };
}

function repeated(list: readonly string[]): ReadonlySet<string> {
  return new Set(list.filter((each, at) => list.indexOf(each) !== at));
}

function unreadable(text: string, read: Exclude<JsonRead, { readonly kind: "json" }>): string {
  if (read.kind === "malformed") return `is not valid JSON${mistake(text, read.cause)}`;
  const { place, what } = read.problem;
  return place === "" ? what : `${place}: ${what}`;
}

/** In the words of JSON.parse, which says the position of some mistakes, and quotes the text around the others. */
function mistake(text: string, cause: unknown): string {
  if (!(cause instanceof Error)) return "";
  const words = cause.message.replace(/ is not valid JSON$/, "").replace(/\s+/g, " ");
  return `: ${words.replace(/(?<=JSON at )position (\d+).*$/, (_position, at: string) => lineOf(text, Number(at)))}`;
}

function lineOf(text: string, position: number): string {
  const lines = text.slice(0, position).split("\n");
  return `line ${lines.length}, column ${(lines.at(-1) ?? "").length + 1}`;
}

/**
 * The table that a file's table describes: by its id, otherwise by its name, unless another table of the file is that table
 * by its id.
 */
export function matchTable(
  { id, name }: FileTable,
  file: readonly FileTable[],
  definitions: readonly TableDefinition[],
): TableDefinition | undefined {
  const claimed = new Set(file.map((each) => each.id));
  return (
    definitions.find((each) => each.id === id) ??
    definitions.find((each) => each.name === name && !claimed.has(each.id))
  );
}

/** These stay as they are when a file leaves them out. */
const KEPT_KEYS = ["name", "type", "table"];

/**
 * The body of the change that makes a table what the file says. The file is the whole truth, so whatever it leaves out is
 * set to null, and its members get the ids of the table's members: by id, otherwise by name.
 */
export function changeBody(table: FileTable, existing: TableDefinition): JsonObject {
  const { id: _id, ...json } = table.json;
  return {
    ...nulls(TABLE_KEYS),
    ...json,
    columns: withIds(json.columns, existing.columns, COLUMN_KEYS),
    relations: withIds(json.relations, existing.relations, RELATION_KEYS),
    uniques: json.uniques ?? [],
    indexes: json.indexes ?? [],
  };
}

function nulls(keys: readonly string[]): Record<string, null> {
  return Object.fromEntries(keys.filter((key) => !KEPT_KEYS.includes(key)).map((key) => [key, null]));
}

function withIds(
  given: Json | undefined,
  existing: readonly (ColumnDefinition | RelationDefinition)[],
  keys: readonly string[],
): Json {
  if (!isArray(given)) return given ?? [];
  const known = new Set(existing.map(({ id }) => id));
  const named = new Set(
    given.flatMap((each) => (isObject(each) && typeof each.id === "string" ? [each.id] : [])),
  );
  return given.map((each) => {
    if (!isObject(each)) return each;
    const whole = { ...nulls(keys), ...each };
    if (typeof each.id === "string" && known.has(each.id)) return whole;
    const same = existing.find((member) => member.name === each.name && !named.has(member.id));
    return same === undefined ? whole : { ...whole, id: same.id };
  });
}

/** Definitions as the text of a schema file, without values that are the defaults; and who may do what, if it is to say so. */
export function writeSchemaFile(definitions: readonly TableDefinition[], access?: StoredAccess): string {
  const tables = definitions
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((definition) => ({ id: definition.id, ...short(fileJson(definition)) }));
  return `${JSON.stringify({ tables, ...(access && writeAccess(access)) }, null, 2)}\n`;
}

/** A definition with what a schema file must say about data that existed before: its collection and its fields. */
function fileJson(definition: TableDefinition): JsonObject {
  const { name, ...json } = definitionJson(definition);
  const { storage } = definition;
  if (storage.adopted !== true) return { name: name ?? null, ...json };
  const { createdAt, updatedAt } = storage.fields;
  const times = { ...(createdAt && { createdAt }), ...(updatedAt && { updatedAt }) };
  const columns = definition.columns.map((each) => [each.id, each.name] as const);
  const links = definition.relations.map((each) => [each.id, linkField(each)] as const);
  const usual = new Map([...columns, ...links]);
  const withField = (member: Json): Json => {
    if (!isObject(member)) return member;
    const field = storage.fields[String(member.id)];
    return field === undefined || field === usual.get(String(member.id)) ? member : { ...member, field };
  };
  const withFields = (members: Json | undefined): Json => (isArray(members) ? members.map(withField) : []);
  return {
    name: name ?? null,
    storage: { collection: storage.collection, ...times },
    ...json,
    columns: withFields(json.columns),
    relations: withFields(json.relations),
  };
}

const FLAGS = [
  ...[
    "singleton",
    "changes",
    "history",
    "softDelete",
    "required",
    "unique",
    "hidden",
    "readOnly",
    "encrypted",
    "searchable",
  ],
  "counted",
];

function short(json: JsonObject): JsonObject {
  const isDefault = ([key, value]: [string, Json]): boolean =>
    value === null ||
    (value === false && FLAGS.includes(key)) ||
    (key === "idType" && value === "objectId") ||
    (key === "onDelete" && value === "SET NULL") ||
    // A column's default may well be an empty list.
    (isArray(value) && value.length === 0 && key !== "default");
  const kept = Object.entries(json).filter((entry) => !isDefault(entry));
  return Object.fromEntries(
    kept.map(([key, value]) => {
      const isMembers = (key === "columns" || key === "relations") && isArray(value);
      return [key, isMembers ? value.map((each) => (isObject(each) ? short(each) : each)) : value];
    }),
  );
}
