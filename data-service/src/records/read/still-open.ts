// Do tables still keep open what an answer shows that has begun, and where it reads that? Pure.
import { type Catalog, type Column, type Table, tableById } from "../../catalog/catalog.js";
import type { AuthorizedNode } from "../../query/ast.js";

/**
 * @returns false once something that the answer shows is hidden, and once columns or relations of its tables are gone or
 * lie elsewhere: it goes on reading where it began
 */
export function isStillOpen({ table, columns, children }: AuthorizedNode, catalog: Catalog): boolean {
  const now = tableById(catalog, table.id);
  if (now === undefined || !isStoredAlike(table, now)) return false;
  const hidden = new Set([...now.columns.values()].flatMap((column) => (column.hidden ? [column.id] : [])));
  return (
    columns.every((column) => column.hidden || !hidden.has(column.id)) &&
    children.every(({ node }) => isStillOpen(node, catalog))
  );
}

function isStoredAlike(began: Table, now: Table): boolean {
  if ((now.deletedAt === undefined) !== (began.deletedAt === undefined)) return false;
  const present = new Set([...now.columns.values()].map(placeOf));
  const relations = new Set([...now.relations.values()].map(({ id }) => id));
  return (
    [...began.columns.values()].every((column) => present.has(placeOf(column))) &&
    [...began.relations.values()].every(({ id }) => relations.has(id))
  );
}

function placeOf({ id, field, type, encrypted }: Column): string {
  return JSON.stringify([id, field, type, encrypted]);
}
