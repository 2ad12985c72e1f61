// What a caller may do, in words for clients: which tables, which rows, which members. Pure.
import type { Catalog, Column, Relation, Table } from "../catalog/catalog.js";
import type { Json, JsonObject } from "../json.js";
import type { AuthorizedPredicate } from "../query/ast.js";
import type { WriteGrant } from "./compile-rules.js";
import { ReadView } from "./read-view.js";
import type { Rights } from "./rights.js";

/** One entry for each table that the caller may do anything with. */
export function overviewOf(rights: Rights, catalog: Catalog): Json[] {
  const view = new ReadView(catalog, rights.read(catalog));
  return [...catalog.tables.values()].flatMap((table) => {
    const actions = {
      ...readEntry(view, table),
      ...writeEntry(rights.write(catalog, table, "create"), table, "create"),
      ...writeEntry(rights.write(catalog, table, "update"), table, "update"),
      ...writeEntry(rights.write(catalog, table, "delete"), table, "delete"),
    };
    return Object.keys(actions).length === 0 ? [] : [{ table: table.name, ...actions }];
  });
}

/** "all" only where no rule looks at the row. */
function rowsOf(rows: readonly AuthorizedPredicate[]): "all" | "some" {
  return rows.some(({ kind }) => kind === "always") ? "all" : "some";
}

function readEntry(view: ReadView, table: Table): JsonObject {
  const fields = view.names(table, "show");
  if (fields.length === 0) return {};
  const comparable = view.names(table, "use");
  return { read: { rows: rowsOf([view.rows(table)]), fields, comparable } };
}

function writeEntry(
  grants: readonly WriteGrant[],
  table: Table,
  action: "create" | "update" | "delete",
): JsonObject {
  if (grants.length === 0) return {};
  const rows = rowsOf(grants.map((grant) => grant.rows));
  if (action === "delete") return { delete: { rows } };
  const writable = (member: Column | Relation): boolean =>
    !("generated" in member && (member.generated || member.readOnly)) &&
    grants.some(({ members }) => members(member));
  const fields = [...table.columns.values(), ...table.relations.values()]
    .filter(writable)
    .map(({ name }) => name);
  return action === "create" ? { create: { fields } } : { update: { rows, fields } };
}
