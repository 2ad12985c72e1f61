// What a caller may do, in words for clients: which tables, which rows, which members. Pure.
import type { Json, JsonObject } from "@portico/shared/json";
import { isShown, type VisibleColumn, type VisibleRelation, type VisibleTable } from "./visible-tables.js";

/** One entry for each table with which the caller may do anything. */
export function overviewOf(tables: readonly VisibleTable[]): Json[] {
  return tables.map((table) => ({ table: table.table.name, ...actionsOf(table) }));
}

function actionsOf(table: VisibleTable): JsonObject {
  const { read, create, update, delete: remove } = table.actions;
  const names = namesIn(table);
  return {
    ...(read ? { read: { rows: read, fields: names(isShown), comparable: names(isComparable) } } : {}),
    ...(create ? { create: { fields: names(({ creatable }) => creatable) } } : {}),
    ...(update ? { update: { rows: update, fields: names(({ updatable }) => updatable) } } : {}),
    ...(remove ? { delete: { rows: remove } } : {}),
  };
}

type Member = VisibleColumn | VisibleRelation;
const isComparable = ({ comparable }: Member): boolean => comparable;

function namesIn({ columns, relations }: VisibleTable): (isWanted: (member: Member) => boolean) => string[] {
  return (isWanted) => [
    ...columns.filter(isWanted).map(({ column }) => column.name),
    ...relations.filter(isWanted).map(({ relation }) => relation.name),
  ];
}
