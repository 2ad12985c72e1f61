// The records of one table as JSON Schema: as they are answered, created and changed. Pure.
import type { Json } from "@portico/shared/json";
import type { Part } from "@portico/shared/operation";
import { type Column, mayBeNull, type Table } from "../catalog/catalog.js";
import {
  countable,
  isShown,
  type VisibleColumn,
  type VisibleRelation,
  type VisibleTable,
  type Writable,
} from "../permission/visible-tables.js";
import { LIMITS } from "../query/limits.js";
import { COUNTS } from "../query/shape.js";
import { type BodyName, type Brought, broughtBy } from "./brought.js";
import { exampleOf, givenSchema, inputSchema, valueSchema } from "./column-schema.js";
import { ref } from "./common-parts.js";

/** Overrides for single columns, by name: JSON columns whose content has a known shape. */
export type Overrides = Readonly<Record<string, Part>>;

/**
 * `{table}.record`, or `{table}.own`: any part of it may be missing, because `fields` chooses.
 * @param own names of the tables of which `/me` shows more than the caller's rules do
 */
export function recordSchema(
  { columns, relations, table }: VisibleTable,
  overrides: Overrides = {},
  own: ReadonlySet<string> = new Set(),
): Part {
  const values = columns
    .filter(isShown)
    .map(({ column }): [string, Part] => [column.name, overrides[column.name] ?? shownSchema(table, column)]);
  const links = relations
    .filter(isShown)
    .map((each): [string, Part] => [each.relation.name, linkedSchema(each, own)]);
  const numbers = countable({ relations }).map(({ relation }): [string, Part] => [relation.name, NUMBER]);
  const counts: Part = { type: "object", properties: Object.fromEntries(numbers) };
  const { description } = table;
  return {
    type: "object",
    properties: {
      ...Object.fromEntries([...values, ...links]),
      ...(numbers.length === 0 ? {} : { [COUNTS]: counts }),
    },
    ...(description === null ? {} : { description }),
  };
}

function shownSchema(table: Table, column: Column): Part {
  return valueSchema(column, mayBeNull(table, column));
}

/** Of related records. */
const NUMBER: Part = { type: "integer", minimum: 0 };

function linkedSchema({ relation, target }: VisibleRelation, own: ReadonlySet<string>): Part {
  const record = ref(`${target.name}.${own.has(target.name) ? "own" : "record"}`);
  const description = relation.description === null ? {} : { description: relation.description };
  if (relation.many) return { type: "array", items: record, ...description };
  return { anyOf: [record, { type: "null" }], ...description };
}

/** The bodies of a table's new records that leave a link out, by the names of their schemas. */
export function broughtSchemas(
  visible: VisibleTable,
  leftOut: Iterable<string>,
  bodyName: BodyName,
): Readonly<Record<string, Part>> {
  return Object.fromEntries(
    [...leftOut].map((without) => {
      const relations = visible.relations.filter(({ relation }) => relation.name !== without);
      const columns = visible.columns.filter(({ column }) => column !== visible.table.idColumn);
      const schema = bodySchema({ ...visible, columns, relations }, "creatable", bodyName);
      return [bodyName({ table: visible.table.name, without }), schema];
    }),
  );
}

/** `{table}.create` and `{table}.update`. */
export function bodySchema(
  visible: VisibleTable,
  write: Writable,
  bodyName: BodyName,
  overrides: Overrides = {},
): Part {
  const { columns, relations } = visible;
  const values = columns.filter((each) => each[write]);
  const links = relations.filter((each) => each[write]);
  const needed = write === "creatable" ? [...values, ...links].filter(isNeeded).map(nameOf) : [];
  return {
    type: "object",
    properties: {
      ...Object.fromEntries(
        values.map(({ column }) => [column.name, overrides[column.name] ?? inputSchema(column)]),
      ),
      ...Object.fromEntries(links.map((each) => [each.relation.name, linkSchema(each, write, bodyName)])),
      ...Object.fromEntries(
        ignored(visible, write).map(({ column }) => [column.name, shownSchema(visible.table, column)]),
      ),
    },
    additionalProperties: false,
    ...(needed.length === 0 ? {} : { required: needed }),
  };
}

/** Columns that a record may bring along which was read, changed and sent back: the service alone writes them. */
function ignored({ table, columns }: VisibleTable, write: Writable): readonly VisibleColumn[] {
  const isTables = table.ownCreate === "json";
  // What makes a table is a definition and no record, of which nothing is ignored.
  if (isTables && write === "creatable") return [];
  return columns.filter(
    (each) => isShown(each) && (each.column.generated || (isTables && each.column.readOnly)),
  );
}

const isNeeded = ({ needed }: VisibleColumn | VisibleRelation): boolean => needed;

function nameOf(member: VisibleColumn | VisibleRelation): string {
  return "column" in member ? member.column.name : member.relation.name;
}

/** An id, `{"id":…}`, or a new record; to-many takes the full new set. */
function linkSchema(visible: VisibleRelation, write: Writable, bodyName: BodyName): Part {
  const { relation, target, linksThere } = visible;
  const brought = broughtBy(visible, write);
  const created = brought === undefined ? [] : [broughtSchema(brought, bodyName)];
  const links = linksThere ? [...idSchemas(target), ...created] : created;
  // To link to nothing is to set links, too.
  if (relation.many)
    return {
      type: "array",
      items: { anyOf: links },
      ...(linksThere ? {} : { minItems: 1 }),
      maxItems: LIMITS.links,
    };
  return { anyOf: [...links, ...(relation.required || !linksThere ? [] : [{ type: "null" }])] };
}

/** A new record inside a body: what has an id is a link. */
function broughtSchema(brought: Brought, bodyName: BodyName): Part {
  const schema = ref(bodyName(brought));
  return brought.without === undefined ? { ...schema, not: { required: ["id"] } } : schema;
}

/** The forms in which a body names a record that is there. */
function idSchemas({ idColumn }: Table): readonly Part[] {
  const id = givenSchema(idColumn);
  return [id, { type: "object", properties: { id }, required: ["id"], additionalProperties: false }];
}

/** A record as an answer may show it. */
export function recordExample(
  { columns, relations }: VisibleTable,
  overrides: Overrides = {},
): Readonly<Record<string, Json>> {
  const values = columns
    .filter(isShown)
    .filter(({ column }) => !column.hidden && !(column.name in overrides))
    .map(({ column }): [string, Json] => [column.name, exampleOf(column) ?? null]);
  const links = relations
    .filter(isShown)
    .filter(({ relation }) => !relation.many)
    .map(({ relation, target }): [string, Json] => [relation.name, { id: idExample(target) }]);
  return Object.fromEntries([...values, ...links].filter(([, value]) => value !== null));
}

/**
 * A body that the table accepts, with links only where it needs them: which records exist is not known here. Undefined when
 * no example can be given for something that it needs.
 */
export function bodyExample(
  { columns, relations }: VisibleTable,
  write: Writable,
): Readonly<Record<string, Json>> | undefined {
  const values = columns
    .filter((each) => each[write])
    .map(({ column, needed }) => ({
      name: column.name,
      needed,
      value: column.secret ? "correct horse battery" : exampleOf(column),
    }));
  const links = relations
    .filter((each) => write === "creatable" && each.creatable && each.needed && !each.relation.many)
    .map(({ relation, target, needed }) => ({
      name: relation.name,
      needed,
      value: relation.required ? idExample(target) : null,
    }));
  const all = [...values, ...links];
  if (write === "creatable" && all.some(({ needed, value }) => needed && value === undefined))
    return undefined;
  return Object.fromEntries(all.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])));
}

/** An id that a record of the table could have. */
export function idExample(target: VisibleRelation["target"]): Json {
  return exampleOf({ ...target.idColumn, default: undefined }) ?? null;
}
