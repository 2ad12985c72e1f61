// A visible table as GET /metadata answers it. Pure.
import type { JsonObject } from "@portico/shared/json";
import type { Column, Rules } from "../catalog/catalog.js";
import { COLUMN_TYPES } from "../catalog/column-types.js";
import type { Shown, VisibleColumn, VisibleRelation, VisibleTable } from "../permission/visible-tables.js";
import { operatorsOf } from "../query/operators.js";

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

function columnJson({ column, ...rights }: VisibleColumn): JsonObject {
  const { name, type, description, required, unique, hidden, readOnly, encrypted, searchable } = column;
  const { comparable } = rights;
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
    sortable: comparable && !encrypted && COLUMN_TYPES[type].sortable,
    operators: comparable ? operatorsOf(column) : [],
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
