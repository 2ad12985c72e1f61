// What the query language accepts for one table, as JSON Schema: filter, deep, aggregate, a whole QUERY body. Pure.
import { object, type Part } from "@portico/shared/operation";
import type { Column, Table } from "../catalog/catalog.js";
import { ALL_TYPE_NAMES, COLUMN_TYPES, type ColumnType, isText } from "../catalog/column-types.js";
import {
  isFilterable,
  isShown,
  type VisibleRelation,
  type VisibleTable,
} from "../permission/visible-tables.js";
import { aggregatesOf } from "../query/bind-aggregate.js";
import { ON_RELATIONS } from "../query/bind-filter.js";
import { LIMITS } from "../query/limits.js";
import { operandOf, operatorsOf } from "../query/operators.js";
import { standardLimit } from "../query/syntax/paging.js";
import { givenSchema, memberSchema } from "./column-schema.js";
import { FORMAT, FORMAT_WORDS, limitSchema, PAGE, ref } from "./common-parts.js";

/** Columns of these types have values of their own, so they share no schema. */
const hasMembers = (type: ColumnType): boolean => type === "enum" || type === "enumList";

/** What each type of column can be compared with, by the name of its schema. */
export function operatorSchemas(): Readonly<Record<string, Part>> {
  const types = ALL_TYPE_NAMES.filter((type) => !hasMembers(type));
  return Object.fromEntries(types.map((type) => [`Operators.${type}`, operators({ type, values: [] })]));
}

function operators(column: Pick<Column, "type" | "values">): Part {
  const names = operatorsOf({ type: column.type, encrypted: false });
  const properties = names.map((name): [string, Part] => [name, operandSchema(column, name)]);
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    additionalProperties: false,
    minProperties: 1,
  };
}

/** A value to compare with: texts that are stored may be longer than those that one can ask for. */
function operandValue(column: Pick<Column, "type" | "values">): Part {
  return { ...givenSchema(column), ...(isText(column.type) ? { maxLength: LIMITS.textCharacters } : {}) };
}

function operandSchema(column: Pick<Column, "type" | "values">, name: string): Part {
  const value = operandValue(column);
  const text = { type: "string", maxLength: LIMITS.textCharacters };
  const schemas: Readonly<Record<NonNullable<ReturnType<typeof operandOf>>, Part>> = {
    "value or null": { anyOf: [value, { type: "null" }] },
    "two values": { type: "array", items: value, minItems: 2, maxItems: 2 },
    values: { type: "array", items: value, maxItems: LIMITS.listMembers },
    member: memberSchema({ type: "enum", values: column.values }),
    value,
    text,
    flag: { type: "boolean" },
    null: { type: "null" },
  };
  return schemas[operandOf(column.type, name) ?? "null"];
}

/** `{table}.filter` */
export function filterSchema(visible: VisibleTable): Part {
  return object(filterMembers(visible));
}

/** `{table}.related`: a filter on the records that a relation leads to, which may also name their ids. */
export function relatedSchema(visible: VisibleTable): Part {
  const id = idOf(visible.table);
  const onLink = ON_RELATIONS.map((name): [string, Part] => [name, operandSchema(id, name)]);
  return object({ ...Object.fromEntries(onLink), ...filterMembers(visible) });
}

/** The tables whose records filters can reach by a relation. */
export function relatedTables(tables: readonly VisibleTable[]): ReadonlySet<string> {
  const reached = tables.flatMap(({ relations }) => relations.filter(isFilterable));
  return new Set(reached.map(({ target }) => target.name));
}

function filterMembers({ table, columns, relations }: VisibleTable): Readonly<Record<string, Part>> {
  const own = ref(`${table.name}.filter`);
  const list = { type: "array", items: own };
  return {
    _and: list,
    _or: list,
    _not: own,
    ...Object.fromEntries(
      columns.filter(isFilterable).map(({ column }) => [column.name, columnFilter(column)]),
    ),
    ...Object.fromEntries(
      relations.filter(isFilterable).map((each) => [each.relation.name, relationFilter(each)]),
    ),
  };
}

function columnFilter(column: Column): Part {
  const { type } = column;
  const tests = hasMembers(type) ? operators(column) : ref(`Operators.${type}`);
  const isEqual = operandOf(type, "_eq") === "value or null";
  return { anyOf: [...(isEqual ? [operandValue(column)] : []), { type: "null" }, tests] };
}

function relationFilter({ target }: VisibleRelation): Part {
  return { anyOf: [operandValue(idOf(target)), { type: "null" }, ref(`${target.name}.related`)] };
}

function idOf({ idColumn: { type } }: Table): Pick<Column, "type" | "values"> {
  return { type, values: [] };
}

/** Names separated by commas, or a list of them where the query is JSON. */
const NAMES: Part = { anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }] };
function paging(maxLimit: number | undefined): Readonly<Record<string, Part>> {
  const words = `${standardLimit(maxLimit)} where none is given${maxLimit === undefined ? "; 0 = all" : ""}.`;
  return {
    limit: { ...limitSchema(maxLimit), description: words },
    page: { ...PAGE, description: "From 1." },
  };
}

/** What queries may ask for beyond their table. */
export interface QuerySyntax {
  /** Whether anything of a table's relations can be loaded. */
  readonly hasDeep: (table: string) => boolean;
  /** QUERY_MAX_LIMIT, undefined = none. */
  readonly maxLimit: number | undefined;
}

/** The relations of a table that `deep` can load. */
export function loadable({ relations }: VisibleTable): readonly VisibleRelation[] {
  return relations.filter(isShown);
}

/** `{table}.deep` */
export function deepSchema(visible: VisibleTable, syntax: QuerySyntax): Part {
  return object(
    Object.fromEntries(loadable(visible).map((each) => [each.relation.name, deepSetting(each, syntax)])),
  );
}

function deepSetting({ relation, target }: VisibleRelation, { hasDeep, maxLimit }: QuerySyntax): Part {
  const name = target.name;
  return {
    type: "object",
    properties: {
      fields: NAMES,
      filter: ref(`${name}.filter`),
      ...(relation.many ? { sort: NAMES, ...paging(maxLimit) } : {}),
      ...(hasDeep(name) ? { deep: ref(`${name}.deep`) } : {}),
    },
    additionalProperties: false,
  };
}

/** `{table}.aggregate` */
export function aggregateSchema({ columns, relations }: VisibleTable): Part {
  const flags = (ops: readonly string[]): Part => ({
    type: "object",
    properties: Object.fromEntries(ops.map((op) => [op, { const: true }])),
    additionalProperties: false,
    minProperties: 1,
  });
  const ofColumns = columns
    .filter(({ comparable }) => comparable)
    .map(({ column }) => [column.name, flags(aggregatesOf(column))]);
  const counted = relations.filter((each) => each.relation.many && isFilterable(each));
  const ofRelations = counted.map(({ relation }) => [relation.name, flags(["count"])]);
  const properties: Readonly<Record<string, Part>> = Object.fromEntries([...ofColumns, ...ofRelations]);
  return { type: "object", properties, additionalProperties: false };
}

/** `{table}.query`: the body of QUERY. */
export function querySchema(
  { table, showsDeleted }: VisibleTable,
  { hasDeep, maxLimit }: QuerySyntax,
  hasExplain: boolean,
): Part {
  const { name } = table;
  return {
    type: "object",
    properties: {
      fields: NAMES,
      filter: ref(`${name}.filter`),
      sort: NAMES,
      ...paging(maxLimit),
      meta: NAMES,
      ...(hasDeep(name) ? { deep: ref(`${name}.deep`) } : {}),
      aggregate: ref(`${name}.aggregate`),
      ...(hasExplain ? { explain: { type: "boolean" } } : {}),
      format: { ...FORMAT, description: FORMAT_WORDS },
      ...(showsDeleted ? { deleted: { enum: ["with", "only"] } } : {}),
    },
    additionalProperties: false,
  };
}

/** What a table can be sorted by, in words. */
export function sortWords({ columns, relations }: VisibleTable): string {
  const sortable = columns.filter(({ column }) => COLUMN_TYPES[column.type].sortable).filter(isFilterable);
  const lists = relations.filter((each) => each.relation.many && isFilterable(each));
  return [
    ...sortable.map(({ column }) => column.name),
    ...lists.map(({ relation }) => `_count(${relation.name})`),
  ].join(", ");
}
