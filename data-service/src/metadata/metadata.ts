// A visible table as GET /metadata answers it, and the schemas of that. Pure.
import type { JsonObject } from "@portico/shared/json";
import {
  FLAG,
  LIST_OF_TEXT,
  object,
  type Part,
  TEXT,
  TEXT_OR_NULL,
  WHOLE_NUMBER,
} from "@portico/shared/operation";
import { type Column, ID_TYPES, ON_DELETE, type Rules } from "../catalog/catalog.js";
import { ALL_TYPE_NAMES, COLUMN_TYPES } from "../catalog/column-types.js";
import {
  isFilterable,
  type Shown,
  type VisibleColumn,
  type VisibleRelation,
  type VisibleTable,
} from "../permission/visible-tables.js";
import { operatorsOf } from "../query/operators.js";
import { ref } from "./common-parts.js";

/** Everything about one table that concerns the caller. */
export function metadataOf({ table, columns, relations, actions }: VisibleTable): JsonObject {
  const { name, description, singleton, idType, system } = table;
  const known = new Set([
    ...columns.map(({ column }) => column.name),
    ...relations.map(({ relation }) => relation.name),
  ]);
  return {
    name,
    description,
    singleton,
    idType,
    system,
    actions: { ...actions },
    columns: columns.map(columnJson),
    relations: relations.map(relationJson),
    uniques: table.uniques.filter((names) => names.every((each) => known.has(each))).map((each) => [...each]),
  };
}

function columnJson(member: VisibleColumn): JsonObject {
  const { column, ...rights } = member;
  const { name, type, description, required, unique, hidden, readOnly, encrypted, searchable } = column;
  return {
    name,
    type,
    description,
    required,
    unique,
    hidden,
    encrypted,
    searchable,
    // Only the service writes id, createdAt, updatedAt and deletedAt.
    readOnly: readOnly || column.generated,
    ...(column.default === undefined ? {} : { default: column.default }),
    ...(column.values.length === 0 ? {} : { options: { values: [...column.values] } }),
    ...(Object.keys(column.rules).length === 0 ? {} : { rules: rulesJson(column) }),
    ...rightsJson(rights),
    sortable: isFilterable(member) && COLUMN_TYPES[type].sortable,
    operators: isFilterable(member) ? operatorsOf(column) : [],
  };
}

/** Rules in the form of a definition: `min` and `max` as the column's JSON. */
export function rulesJson({ type, rules }: Pick<Column, "type" | "rules">): JsonObject {
  const { min, max, ...others }: Rules = rules;
  const { toJson } = COLUMN_TYPES[type];
  return {
    ...others,
    ...(min === undefined ? {} : { min: toJson(min) }),
    ...(max === undefined ? {} : { max: toJson(max) }),
  };
}

function relationJson({ relation, target, inverse, ...rights }: VisibleRelation): JsonObject {
  const { name, many, description, required, onDelete, counter, link } = relation;
  return {
    name,
    type: many ? "to-many" : "to-one",
    table: target.name,
    inverse,
    description,
    required,
    counted: counter !== undefined,
    ...(link.on === "self" && !many ? { onDelete } : {}),
    ...rightsJson(rights),
  };
}

function rightsJson(rights: {
  readonly shown: Shown;
  readonly comparable: boolean;
  readonly creatable: boolean;
  readonly updatable: boolean;
}): JsonObject {
  const { shown, comparable, creatable, updatable } = rights;
  return { shown, comparable, creatable, updatable };
}

/** In which rows something may be done. */
export const ROWS: Part = { enum: ["all", "some"] };

export type Members = Readonly<Record<string, Part>>;

/** All of these are there, and `optional` where there is something to tell. */
function told(members: Members, optional: Members = {}): Part {
  return object({ ...members, ...optional }, Object.keys(members));
}

const RIGHTS: Members = {
  shown: { enum: ["always", "in some rows", "never"], description: "`never`: it can only be written." },
  comparable: { ...FLAG, description: "It can be filtered by." },
  creatable: FLAG,
  updatable: FLAG,
};
const BOUND: Part = { type: ["number", "string"] };

/** What `metadataOf` makes, by the names of the schemas. */
export const METADATA_SCHEMAS: Members = {
  TableMetadata: told({
    name: TEXT,
    description: TEXT_OR_NULL,
    singleton: FLAG,
    idType: { enum: [...ID_TYPES] },
    system: FLAG,
    actions: object({ read: ROWS, create: { const: true }, update: ROWS, delete: ROWS }),
    columns: { type: "array", items: ref("ColumnMetadata") },
    relations: { type: "array", items: ref("RelationMetadata") },
    uniques: { type: "array", items: LIST_OF_TEXT },
  }),
  ColumnMetadata: told(
    {
      name: TEXT,
      type: { enum: [...ALL_TYPE_NAMES] },
      description: TEXT_OR_NULL,
      required: FLAG,
      unique: FLAG,
      hidden: FLAG,
      encrypted: FLAG,
      searchable: FLAG,
      readOnly: FLAG,
      ...RIGHTS,
      sortable: FLAG,
      operators: LIST_OF_TEXT,
    },
    { default: {}, options: told({ values: LIST_OF_TEXT }), rules: ref("ColumnRules") },
  ),
  RelationMetadata: told(
    {
      name: TEXT,
      type: { enum: ["to-one", "to-many"] },
      table: TEXT,
      inverse: TEXT_OR_NULL,
      description: TEXT_OR_NULL,
      required: FLAG,
      counted: FLAG,
      ...RIGHTS,
    },
    { onDelete: { enum: [...ON_DELETE] } },
  ),
  ColumnRules: object({
    min: BOUND,
    max: BOUND,
    minLength: WHOLE_NUMBER,
    maxLength: WHOLE_NUMBER,
    pattern: TEXT,
    format: { enum: ["email", "url", "uuid"] },
    minItems: WHOLE_NUMBER,
    maxItems: WHOLE_NUMBER,
  }),
};
