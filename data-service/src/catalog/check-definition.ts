// A client's table definition -> a complete one, or every problem it has (422).
import { RE2JS } from "re2js";
import { isArray, isObject, type Json, type JsonObject, kindOf } from "../json.js";
import { buildRules } from "./build-catalog.js";
import { type Catalog, ID_TYPES, type IdType, type OnDelete, type Table } from "./catalog.js";
import { COLUMN_TYPE_NAMES, COLUMN_TYPES, type ColumnType } from "./column-types.js";
import {
  type ColumnDefinition,
  RELATION_TYPES,
  type RelationDefinition,
  type RelationType,
  type RulesDefinition,
  SHARD_KEYS,
  type ShardKey,
  type TableDefinition,
} from "./definition.js";
import { freeField } from "./fields.js";
import {
  collectionNameProblem,
  fieldProblem,
  GENERATED_NAMES,
  memberNameProblem,
  suggestion,
  tableNameProblem,
} from "./names.js";
import { ruleProblem } from "./rules.js";
import { DELETED_AT } from "./soft-delete.js";

const MAX_MEMBERS = 300;
const MAX_ENUM_VALUES = 1000;
const MAX_PATTERN_LENGTH = 500;
const OWN_ID = /^[0-9a-f]{24}$/;

export interface DefinitionContext {
  readonly catalog: Catalog;
  readonly systemPrefix: string;
  /** Makes an id for the table, a column or a relation. */
  readonly newId: () => string;
  /** The table that the definition changes; then `catalog` is that of all the others. Its members keep their ids. */
  readonly existing?: TableDefinition;
  /** New members may bring their ids along, as those of a schema file do. */
  readonly ownIds?: boolean;
}

export type CheckedDefinition =
  | { readonly ok: true; readonly definition: TableDefinition }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Reads one object of a definition, collecting problems under its path. */
class Reader {
  readonly #object: JsonObject;
  readonly #path: string;
  readonly #problems: string[];

  constructor(object: JsonObject, path: string, problems: string[]) {
    this.#object = object;
    this.#path = path;
    this.#problems = problems;
  }

  problem(key: string, text: string): void {
    this.#problems.push(`${this.#path}${key}: ${text}`);
  }

  knows(keys: readonly string[]): void {
    for (const key of Object.keys(this.#object)) {
      if (!keys.includes(key)) this.problem(key, `is not known here${suggestion(key, keys)}`);
    }
  }

  raw(key: string): Json | undefined {
    const value = this.#object[key];
    return value === null ? undefined : value;
  }

  text(key: string): string | undefined {
    const value = this.raw(key);
    if (value === undefined || typeof value === "string") return value;
    this.problem(key, `must be text, not ${kindOf(value)}`);
    return undefined;
  }

  flag(key: string): boolean {
    const value = this.raw(key);
    if (value === undefined || typeof value === "boolean") return value ?? false;
    this.problem(key, `must be true or false, not ${kindOf(value)}`);
    return false;
  }

  choice<const Word extends string>(key: string, words: readonly Word[], fallback?: Word): Word | undefined {
    const value = this.text(key) ?? fallback;
    const word = words.find((each) => each === value);
    if (word === undefined) {
      const given = value === undefined ? "is missing" : `"${value}" is not known`;
      this.problem(key, `${given}; use one of ${words.join(", ")}`);
    }
    return word;
  }

  list(key: string): readonly Json[] {
    const value = this.raw(key) ?? [];
    if (isArray(value)) return value;
    this.problem(key, `must be a list, not ${kindOf(value)}`);
    return [];
  }
}

/** Checks the whole definition of a new table, or of one that is changed. */
export function checkDefinition(body: JsonObject, context: DefinitionContext): CheckedDefinition {
  const problems: string[] = [];
  const reader = new Reader(body, "", problems);
  reader.knows(context.ownIds ? ["id", "storage", ...TABLE_KEYS] : TABLE_KEYS);
  const name = checkTableName(reader, context);
  const columns = reader.list("columns").map((each, at) => checkColumn(each, at, problems, context));
  const relations = reader
    .list("relations")
    .map((each, at) => checkRelation(each, at, name, problems, context));
  checkMemberNames(columns, relations, name, reader.raw("softDelete") === true, problems, context);
  checkIds([...columns, ...relations], problems);
  const storage = checkStorage(body, [...columns, ...relations], problems, context);
  const definition: TableDefinition = {
    id: tableId(reader, context),
    name,
    description: reader.text("description") ?? null,
    singleton: reader.flag("singleton"),
    changes: reader.flag("changes"),
    history: reader.flag("history"),
    softDelete: reader.flag("softDelete"),
    shardKey: checkedShardKey(reader),
    idType: reader.choice<IdType>("idType", ID_TYPES, "objectId") ?? "objectId",
    columns,
    relations,
    uniques: checkKeys(reader, "uniques", columns, relations),
    indexes: checkKeys(reader, "indexes", columns, relations),
    storage: storageOf(name, columns, relations, context.existing, storage),
  };
  checkSoftDelete(definition, problems);
  checkSharding(definition, context.existing, problems);
  return problems.length > 0 ? { ok: false, problems } : { ok: true, definition };
}

/** What a client may say of a table. */
export const TABLE_KEYS: readonly string[] = [
  ...["name", "description", "singleton", "changes", "history", "softDelete", "shardKey", "idType"],
  ...["columns", "relations", "uniques", "indexes"],
];

/** Keeping deleted records is for tables whose readers are all known, and whose links nobody counts. */
function checkSoftDelete({ softDelete, storage, relations }: TableDefinition, problems: string[]): void {
  if (softDelete !== true) return;
  if (storage.adopted === true)
    problems.push("softDelete: other programs would go on seeing what is deleted in this collection");
  for (const [at, { counted }] of relations.entries())
    if (counted) problems.push(`relations[${at}].counted: can't be kept in a table with softDelete`);
}

function checkedShardKey(reader: Reader): ShardKey | null {
  if (reader.raw("shardKey") === undefined) return null;
  return reader.choice<ShardKey>("shardKey", SHARD_KEYS) ?? null;
}

/** A shard knows only its own records: what must be unique among all of them can't lie on several. */
function checkSharding(
  table: TableDefinition,
  existing: TableDefinition | undefined,
  problems: string[],
): void {
  if (existing?.shardKey === "id" && table.shardKey !== "id")
    problems.push("shardKey: records that are spread stay so; copy them into a new table instead");
  if (table.shardKey !== "id") return;
  const unique = uniquePlaces(table);
  for (const place of unique)
    problems.push(`${place}: needs something unique, which no table with a shardKey can promise`);
  // Its indexes are dropped once the change is in use, and MongoDB spreads nothing before.
  const wasUnique = existing !== undefined && existing.shardKey !== "id" && uniquePlaces(existing).length > 0;
  if (unique.length === 0 && wasUnique)
    problems.push("shardKey: remove what is unique in a change of its own first");
}

function uniquePlaces(table: TableDefinition): string[] {
  return [
    ...table.columns.flatMap((column, at) => (column.unique ? [`columns[${at}].unique`] : [])),
    ...table.relations.flatMap(({ type }, at) => (type === "one-to-one" ? [`relations[${at}].type`] : [])),
    ...table.uniques.map((_names, at) => `uniques[${at}]`),
    ...(table.singleton ? ["singleton"] : []),
  ];
}

function tableId(reader: Reader, { existing, ownIds, newId }: DefinitionContext): string {
  const given = ownIds ? reader.text("id") : undefined;
  if (existing !== undefined) return existing.id;
  if (given !== undefined && OWN_ID.test(given)) return given;
  if (given !== undefined) reader.problem("id", "must be 24 hexadecimal digits");
  return newId();
}

function checkTableName(reader: Reader, { systemPrefix }: DefinitionContext): string {
  const name = reader.text("name") ?? "";
  const problem = tableNameProblem(name, systemPrefix);
  if (problem !== undefined) reader.problem("name", problem);
  return name;
}

type MemberKind = "columns" | "relations";

/** A member's id: its own when the table has it already, or when it may bring one along. */
function memberId(reader: Reader, kind: MemberKind, context: DefinitionContext): string {
  const { existing, ownIds, newId } = context;
  const given = reader.raw("id");
  if (given === undefined) return newId();
  const has = (other: MemberKind): boolean => existing?.[other].some(({ id }) => id === given) === true;
  if (has(kind)) return String(given);
  // The field of a column holds values, that of a relation ids: neither can go on as the other.
  const isOthers = has(kind === "columns" ? "relations" : "columns");
  const isOwn = ownIds && typeof given === "string" && OWN_ID.test(given) && !isOthers;
  const elsewhere = isOwn ? memberElsewhere(context.catalog, given) : undefined;
  if (isOwn && elsewhere === undefined) return given;
  const problem = elsewhere === undefined ? "there is no such member" : `is that of "${elsewhere}"`;
  reader.problem("id", `${problem}; leave the id out for a new one`);
  return newId();
}

/** The member of one of these tables that has the id. No two have the same: numbers of children lie under it. */
export function memberElsewhere({ tables }: Catalog, id: string): string | undefined {
  for (const table of tables.values()) {
    const own = [...table.relations.values()].filter(({ link }) => link.on === "self");
    const member = [...table.columns.values(), ...own].find((each) => each.id === id);
    if (member !== undefined) return `${table.name}.${member.name}`;
  }
  return undefined;
}

/** Members may have an id only where ids mean something: not in the definition of a new table. */
function memberKeys(keys: readonly string[], { existing, ownIds }: DefinitionContext): readonly string[] {
  if (ownIds) return ["id", "field", ...keys];
  return existing === undefined ? keys : ["id", ...keys];
}

function checkIds(members: readonly { id: string }[], problems: string[]): void {
  const seen = new Set<string>();
  for (const { id } of members) {
    if (id !== "" && seen.has(id)) problems.push(`columns: two members have the id ${id}`);
    seen.add(id);
  }
}

/** Where an adopted table's data lies already. */
interface GivenStorage {
  readonly collection?: string;
  /** Member id, or the name of a generated column, -> field. */
  readonly fields: Readonly<Record<string, string>>;
}

/**
 * What a schema file says of documents that were there before the table: their collection, and the fields of members.
 * It holds for what is new; a table and a member that are there keep the place they have.
 */
function checkStorage(
  body: JsonObject,
  members: readonly { readonly id: string }[],
  problems: string[],
  { ownIds, existing, systemPrefix }: DefinitionContext,
): GivenStorage | undefined {
  const given = ownIds ? (body.storage ?? undefined) : undefined;
  if (given === undefined) {
    if (ownIds && givenFields(body, members).some(([, field]) => field !== undefined))
      problems.push('storage: is needed where members have a "field": {"collection": …}');
    return undefined;
  }
  if (!isObject(given)) {
    problems.push(`storage: must be an object, not ${kindOf(given)}`);
    return undefined;
  }
  const reader = new Reader(given, "storage.", problems);
  reader.knows(["collection", ...GENERATED_TIMES]);
  const collection = reader.text("collection");
  const problem = collectionNameProblem(collection ?? "", systemPrefix);
  if (problem !== undefined) reader.problem("collection", problem);
  else if (existing !== undefined && existing.storage.collection !== collection)
    reader.problem("collection", `the data lies in "${existing.storage.collection}", and stays there`);
  const times = GENERATED_TIMES.map((name) => [name, reader.text(name)] as const);
  const entries = [...times, ...givenFields(body, members)];
  const fields = entries.filter((entry): entry is [string, string] => entry[1] !== undefined);
  for (const [, field] of fields) {
    const wrong = fieldProblem(field);
    if (wrong !== undefined) problems.push(`storage: the field "${field}" ${wrong}`);
  }
  const names = fields.map(([, field]) => field);
  for (const twice of new Set(names.filter((name, at) => names.indexOf(name) !== at)))
    problems.push(`storage: the field "${twice}" is used twice`);
  return { ...(collection === undefined ? {} : { collection }), fields: Object.fromEntries(fields) };
}

const GENERATED_TIMES = ["createdAt", "updatedAt"] as const;

/** Members stand in the definition in the order of the body. */
function givenFields(
  { columns, relations }: JsonObject,
  members: readonly { readonly id: string }[],
): (readonly [string, string | undefined])[] {
  const lists = [columns, relations].flatMap((list) => (isArray(list) ? list : []));
  return members.map(({ id }, at) => {
    const member = lists[at];
    return [id, isObject(member) && typeof member.field === "string" ? member.field : undefined];
  });
}

const COLUMN_KEYS = [
  ...["name", "type", "required", "default", "unique", "hidden", "readOnly", "encrypted", "searchable"],
  ...["options", "rules", "description"],
];

function checkColumn(
  json: Json,
  at: number,
  problems: string[],
  context: DefinitionContext,
): ColumnDefinition {
  const path = `columns[${at}]`;
  if (!isObject(json)) {
    problems.push(`${path}: must be an object, not ${kindOf(json)}`);
    return unreadableColumn("");
  }
  const reader = new Reader(json, `${path}.`, problems);
  reader.knows(memberKeys(COLUMN_KEYS, context));
  const name = checkMemberName(reader);
  const type = reader.choice<ColumnType>("type", COLUMN_TYPE_NAMES);
  if (type === undefined) return unreadableColumn(name);
  const options = checkOptions(reader, type);
  const rules = checkRules(reader, type);
  const column = {
    id: memberId(reader, "columns", context),
    ...{ name, type, required: reader.flag("required"), unique: reader.flag("unique") },
    ...{
      hidden: reader.flag("hidden"),
      readOnly: reader.flag("readOnly"),
      encrypted: reader.flag("encrypted"),
    },
    searchable: reader.flag("searchable"),
    description: reader.text("description") ?? null,
    ...(options === undefined ? {} : { options }),
    ...(rules === undefined ? {} : { rules }),
  };
  checkFlags(reader, column);
  const standard = checkDefault(reader, column);
  if (column.required && column.readOnly && standard === undefined) {
    reader.problem(
      "default",
      "is needed: nobody may write a read-only column, and this one must have a value",
    );
  }
  return standard === undefined ? column : { ...column, default: standard };
}

/** Keeps the place of a column that was refused, so that later problems name the right position. */
function unreadableColumn(name: string): ColumnDefinition {
  return {
    ...{ id: "", name, type: "json", required: false, unique: false, hidden: false, readOnly: false },
    ...{ encrypted: false, searchable: false, description: null },
  };
}

function checkMemberName(reader: Reader): string {
  const name = reader.text("name") ?? "";
  const problem = memberNameProblem(name);
  if (problem !== undefined) reader.problem("name", problem);
  return name;
}

function checkFlags(reader: Reader, column: ColumnDefinition): void {
  const { type, unique, searchable, encrypted } = column;
  if (unique && (type === "json" || type === "enumList"))
    reader.problem("unique", `${type} columns can't be unique`);
  if (unique && encrypted) reader.problem("unique", "an encrypted column can't be unique");
  if (searchable && !COLUMN_TYPES[type].families.includes("text")) {
    reader.problem("searchable", "only string and text columns can be searchable");
  }
  if (searchable && encrypted) reader.problem("searchable", "an encrypted column can't be searchable");
}

function checkOptions(reader: Reader, type: ColumnType): { values: readonly string[] } | undefined {
  const given = reader.raw("options");
  const isEnum = type === "enum" || type === "enumList";
  if (!isEnum) {
    if (given !== undefined) reader.problem("options", `a ${type} column takes no options`);
    return undefined;
  }
  const values = isObject(given) ? given.values : given;
  const words = isArray(values) ? values.filter((each) => typeof each === "string" && each !== "") : [];
  const distinct = [...new Set(words.map(String))];
  if (
    !isArray(values) ||
    distinct.length === 0 ||
    distinct.length !== values.length ||
    distinct.length > MAX_ENUM_VALUES
  ) {
    reader.problem("options", `must be {"values": […]} with 1 to ${MAX_ENUM_VALUES} different texts`);
  }
  return { values: distinct };
}

const TEXT_RULES = ["minLength", "maxLength", "pattern", "format"];
const LIST_RULES = ["minItems", "maxItems"];

function rulesOf(type: ColumnType): string[] {
  if (COLUMN_TYPES[type].families.includes("text")) return TEXT_RULES;
  if (type === "enumList") return LIST_RULES;
  return COLUMN_TYPES[type].compare === undefined ? [] : ["min", "max"];
}

function checkRules(reader: Reader, type: ColumnType): RulesDefinition | undefined {
  const given = reader.raw("rules");
  if (given === undefined) return undefined;
  if (!isObject(given)) {
    reader.problem("rules", `must be an object, not ${kindOf(given)}`);
    return undefined;
  }
  const allowed = rulesOf(type);
  const rules: Record<string, Json> = {};
  for (const [name, value] of Object.entries(given)) {
    const problem = allowed.includes(name)
      ? ruleValueProblem(name, value, type)
      : `is no rule of ${type} columns${allowed.length > 0 ? `; they have ${allowed.join(", ")}` : ""}`;
    if (problem === undefined) rules[name] = value;
    else reader.problem(`rules.${name}`, problem);
  }
  checkRanges(reader, type, rules);
  return rules;
}

/** Bounds that no value can satisfy. */
function checkRanges(reader: Reader, type: ColumnType, rules: RulesDefinition): void {
  const { min, max } = buildRules(type, rules);
  const { minLength = 0, maxLength = minLength, minItems = 0, maxItems = minItems } = rules;
  const turned = min !== undefined && max !== undefined && (COLUMN_TYPES[type].compare?.(min, max) ?? 0) > 0;
  if (turned) reader.problem("rules.min", "is above max");
  if (minLength > maxLength) reader.problem("rules.minLength", "is above maxLength");
  if (minItems > maxItems) reader.problem("rules.minItems", "is above maxItems");
}

function ruleValueProblem(name: string, value: Json, type: ColumnType): string | undefined {
  if (name === "min" || name === "max") {
    return COLUMN_TYPES[type].parse(value, []) === undefined
      ? `must be ${COLUMN_TYPES[type].expects}`
      : undefined;
  }
  if (name === "pattern") return patternProblem(value);
  if (name === "format") {
    return value === "email" || value === "url" || value === "uuid"
      ? undefined
      : "must be email, url or uuid";
  }
  const count = typeof value === "number" && Number.isInteger(value) && value >= 0;
  return count ? undefined : "must be a whole number from 0";
}

function patternProblem(value: Json): string | undefined {
  if (typeof value !== "string" || value.length > MAX_PATTERN_LENGTH) {
    return `must be a regular expression of at most ${MAX_PATTERN_LENGTH} characters`;
  }
  try {
    RE2JS.compile(value);
    return undefined;
  } catch (error) {
    // RE2 has no look-around and no back-references: that is what keeps it linear.
    return `is not a regular expression in RE2 syntax (${error instanceof Error ? error.message : "unreadable"})`;
  }
}

function checkDefault(reader: Reader, column: ColumnDefinition): Json | undefined {
  const value = reader.raw("default");
  if (value === undefined) return undefined;
  const row = COLUMN_TYPES[column.type];
  const stored = row.parse(value, column.options?.values ?? []);
  const problem =
    stored === undefined
      ? `must be ${row.expects}`
      : ruleProblem(column.type, buildRules(column.type, column.rules ?? {}), stored);
  if (problem !== undefined) reader.problem("default", problem);
  return value;
}

const RELATION_KEYS = ["name", "type", "table", "inverse", "required", "onDelete", "counted", "description"];

function checkRelation(
  json: Json,
  at: number,
  ownName: string,
  problems: string[],
  context: DefinitionContext,
): RelationDefinition {
  const path = `relations[${at}]`;
  if (!isObject(json)) {
    problems.push(`${path}: must be an object, not ${kindOf(json)}`);
    return unreadableRelation("", null);
  }
  const reader = new Reader(json, `${path}.`, problems);
  reader.knows(memberKeys(RELATION_KEYS, context));
  const name = checkMemberName(reader);
  const type = reader.choice("type", RELATION_TYPES);
  const table = checkTarget(reader, ownName, context);
  const inverse = reader.text("inverse") ?? null;
  const inverseProblem = inverse === null ? undefined : memberNameProblem(inverse);
  if (inverseProblem !== undefined) reader.problem("inverse", inverseProblem);
  const required = reader.flag("required");
  if (type === undefined) return unreadableRelation(name, inverse);
  if (required && type === "many-to-many")
    reader.problem("required", "a many-to-many relation can't be required");
  const onDelete = checkOnDelete(reader, type === "many-to-many", required);
  return {
    ...{ id: memberId(reader, "relations", context), name, type, table, inverse, required, onDelete },
    counted: checkCounted(reader, type, inverse),
    description: reader.text("description") ?? null,
  };
}

function checkCounted(reader: Reader, type: RelationType, inverse: string | null): boolean {
  const counted = reader.flag("counted");
  if (counted && type === "one-to-one")
    reader.problem("counted", "a one-to-one relation has nothing to count");
  else if (counted && inverse === null)
    reader.problem("counted", "needs an inverse: the name by which the other table counts these records");
  return counted;
}

/** The same for a relation. */
function unreadableRelation(name: string, inverse: string | null): RelationDefinition {
  return {
    ...{ id: "", name, type: "many-to-one", table: "", inverse, required: false, onDelete: "SET NULL" },
    ...{ counted: false, description: null },
  };
}

function checkOnDelete(reader: Reader, list: boolean, required: boolean): OnDelete {
  const given = reader.raw("onDelete");
  // What a definition without it says when it is read, so that it can be sent back.
  if (list && given !== undefined && given !== "SET NULL")
    reader.problem("onDelete", "does not apply to many-to-many: the link goes, both records stay");
  const fallback = required ? "RESTRICT" : "SET NULL";
  const onDelete =
    reader.choice<OnDelete>("onDelete", ["SET NULL", "CASCADE", "RESTRICT"], fallback) ?? fallback;
  if (required && onDelete === "SET NULL")
    reader.problem("onDelete", "a required relation can't become null; use CASCADE or RESTRICT");
  return onDelete;
}

function checkTarget(reader: Reader, ownName: string, { catalog, systemPrefix }: DefinitionContext): string {
  const table = reader.text("table") ?? "";
  // A record of the table of tables is a definition, which nothing but the making and changing of a table may write.
  const isClosed = table === `${systemPrefix}table` || catalog.tables.get(table)?.journal === true;
  if (isClosed) reader.problem("table", `nothing can link to "${table}"`);
  if (table === "" || (table !== ownName && !catalog.tables.has(table))) {
    reader.problem(
      "table",
      `there is no table "${table}"${suggestion(table, [...catalog.tables.keys(), ownName])}`,
    );
  }
  return table;
}

/** Every name once in a table, the inverse names it gives to other tables included. */
function checkMemberNames(
  columns: readonly ColumnDefinition[],
  relations: readonly RelationDefinition[],
  ownName: string,
  isKept: boolean,
  problems: string[],
  { catalog, existing }: DefinitionContext,
): void {
  if (columns.length + relations.length > MAX_MEMBERS) {
    problems.push(`columns: a table has at most ${MAX_MEMBERS} columns and relations`);
  }
  const taken = new Set<string>();
  const claim = (path: string, table: string, name: string): void => {
    if (table === "" || name === "") return;
    const other = table === ownName ? undefined : catalog.tables.get(table);
    const exists = other !== undefined && hasMember(other, name);
    if (exists || taken.has(`${table}.${name}`)) problems.push(`${path}: "${table}" has a "${name}" already`);
    taken.add(`${table}.${name}`);
  };
  for (const inverse of existing === undefined ? [] : inversesFrom(catalog, existing.name))
    taken.add(`${ownName}.${inverse}`);
  if (isKept) claim("softDelete", ownName, DELETED_AT);
  for (const [at, column] of columns.entries()) claim(`columns[${at}].name`, ownName, column.name);
  for (const [at, relation] of relations.entries()) claim(`relations[${at}].name`, ownName, relation.name);
  for (const [at, relation] of relations.entries()) {
    if (relation.inverse !== null) claim(`relations[${at}].inverse`, relation.table, relation.inverse);
  }
}

/** The names that relations of other tables give to their other end in this one. */
function inversesFrom(others: Catalog, name: string): string[] {
  return [...others.tables.values()]
    .flatMap((table) => [...table.relations.values()])
    .filter((relation) => relation.link.on === "self" && relation.target === name)
    .flatMap(({ inverse }) => (inverse === null ? [] : [inverse]));
}

function hasMember(table: Table, name: string): boolean {
  return table.columns.has(name) || table.relations.has(name);
}

function checkKeys(
  reader: Reader,
  key: "uniques" | "indexes",
  columns: readonly ColumnDefinition[],
  relations: readonly RelationDefinition[],
): string[][] {
  const usable = new Set<string>([
    ...GENERATED_NAMES,
    ...columns.filter((each) => fitsKey(each, key)).map((each) => each.name),
    ...relations.filter((each) => each.type !== "many-to-many").map((each) => each.name),
  ]);
  return reader.list(key).flatMap((entry, at) => {
    const names = namesIn(entry);
    if (names.length === 0 || names.length > 16)
      reader.problem(`${key}[${at}]`, "must be a list of 1 to 16 names");
    const bares = names.map((name) => bareName(name, key));
    if (bares.length === 1 && bares[0] === "id")
      reader.problem(`${key}[${at}]`, '"id" alone is unique and indexed in every table');
    if (new Set(bares).size < bares.length) reader.problem(`${key}[${at}]`, "names a member more than once");
    if (columns.filter((each) => each.type === "enumList" && bares.includes(each.name)).length > 1)
      reader.problem(`${key}[${at}]`, "can hold one enumList column at most");
    for (const bare of bares) {
      if (!usable.has(bare))
        reader.problem(`${key}[${at}]`, `"${bare}" can't be used here${suggestion(bare, usable)}`);
    }
    return [names];
  });
}

/** Nothing where not every entry is a name. */
function namesIn(entry: Json): string[] {
  const given = isArray(entry) ? entry : [];
  const names = given.filter((each) => typeof each === "string");
  return names.length < given.length ? [] : names;
}

/** A list can't be unique together with anything, and what is sealed or untyped has no order. */
function fitsKey({ type, encrypted }: ColumnDefinition, key: "uniques" | "indexes"): boolean {
  return !encrypted && type !== "json" && (type !== "enumList" || key === "indexes");
}

function bareName(name: string, key: "uniques" | "indexes"): string {
  return key === "indexes" ? name.replace(/^-/, "") : name;
}

/**
 * Column data lies under the column's name, ids of linked records under the relation's name with Id or Ids, unless a
 * schema file says where it lies already. Members that are there already keep their fields, and a field that held other
 * values before is not used again.
 */
function storageOf(
  name: string,
  columns: readonly ColumnDefinition[],
  relations: readonly RelationDefinition[],
  existing: TableDefinition | undefined,
  given: GivenStorage | undefined,
): TableDefinition["storage"] {
  const kept = existing?.storage;
  const { collection = given?.collection ?? name, fields: former = {}, retired, journalEpoch } = kept ?? {};
  const adopted = existing === undefined ? given !== undefined : existing.storage.adopted === true;
  const known = { ...(adopted ? given?.fields : {}), ...former };
  const times = GENERATED_TIMES.map((time) => [time, known[time] ?? time] as const);
  const taken = new Set<string>([
    "_id",
    ...times.map(([, field]) => field),
    ...Object.values(known),
    ...(retired ?? []),
  ]);
  const allocate = (id: string, wish: string): [string, string] => {
    const field = known[id] ?? freeField(wish, taken);
    taken.add(field);
    return [id, field];
  };
  const fields = Object.fromEntries([
    ...times.filter(([time, field]) => time !== field),
    ...columns.map((each) => allocate(each.id, each.name)),
    ...relations.map((each) => allocate(each.id, linkField(each))),
  ]);
  return {
    ...{ collection, fields },
    ...(adopted ? { adopted } : {}),
    ...(retired === undefined ? {} : { retired }),
    ...(journalEpoch === undefined ? {} : { journalEpoch }),
  };
}

/** Where the ids of a relation lie, unless something else is said. */
export function linkField({ name, type }: Pick<RelationDefinition, "name" | "type">): string {
  return `${name}${type === "many-to-many" ? "Ids" : "Id"}`;
}
