// May an answer that has begun go on? Only while its tables still have what it shows, unhidden and where it reads it. Pure.
import { type Catalog, type Relation, type Table, tableById, targetOf } from "../../catalog/catalog.js";
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
    children.every(
      ({ relation, node }) => leadsTo(now, relation, node.table, catalog) && isStillOpen(node, catalog),
    )
  );
}

function leadsTo(now: Table, { id }: Relation, target: Table, catalog: Catalog): boolean {
  const relation = [...now.relations.values()].find((each) => each.id === id);
  return relation !== undefined && targetOf(catalog, relation).id === target.id;
}

function isStoredAlike(began: Table, now: Table): boolean {
  if ((now.deletedAt === undefined) !== (began.deletedAt === undefined)) return false;
  const present = new Set(placesOf(now));
  return placesOf(began).every((place) => present.has(place));
}

/** Where and how each member is stored. */
function placesOf({ columns, relations }: Table): string[] {
  const ofColumns = [...columns.values()].map(({ id, field, type, encrypted }) => [
    id,
    field,
    type,
    encrypted,
  ]);
  const ofRelations = [...relations.values()].map(({ id, link }) => [id, link.on, link.field, link.list]);
  return [...ofColumns, ...ofRelations].map((place) => JSON.stringify(place));
}
