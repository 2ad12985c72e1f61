// Which records a read is about: the living, unless `deleted` asks for deleted ones as well. Those are shown to whoever may
// both read and delete them, and so may bring them back.
import { AppError } from "@portico/shared/app-error";
import type { Json } from "@portico/shared/json";
import type { Catalog, Table } from "../../catalog/catalog.js";
import type { ReadView } from "../../permission/read-view.js";
import type { Rights } from "../../permission/rights.js";
import type { Action } from "../../permission/rule.js";
import type { AuthorizedPredicate } from "../../query/ast.js";
import { conjunction, disjunction } from "../../query/logic.js";
import { refuse } from "../../query/refuse.js";
import { anyRow } from "../body/choose-rule.js";
import { withoutOption } from "../find-table.js";

/** Tells the row rule of the records that are asked for; undefined for that of the living. */
export type AskedRows = (view: ReadView) => AuthorizedPredicate | undefined;

/**
 * Reads `deleted=with|only`.
 * @throws AppError 400; 401, 403 for callers who may delete nothing
 */
export function askedRows(
  deleted: Json | undefined,
  rights: Rights,
  catalog: Catalog,
  table: Table,
): AskedRows {
  if (deleted === undefined) return () => undefined;
  if (deleted !== "with" && deleted !== "only") throw refuse("deleted", "must be with or only");
  requireKept(table, "deleted");
  rights.require(catalog, table, "delete");
  const mayDelete = anyRow(rights.write(catalog, table, "delete", "all"));
  return (view) => {
    if (deleted === "only") return conjunction([view.rows(table, "deleted"), mayDelete]);
    if (mayDelete.kind === "always") return view.rows(table, "all");
    return disjunction([view.rows(table), conjunction([view.rows(table, "deleted"), mayDelete])]);
  };
}

/** The actions whose rules decide which records these are. */
export function decidingActions(deleted: Json | undefined): readonly Action[] {
  return deleted === undefined ? ["read"] : ["read", "delete"];
}

/** @throws AppError 400 for a table whose deleted records are gone */
export function requireKept(table: Table, parameter: string): void {
  if (table.deletedAt !== undefined) return;
  throw refuse(parameter, `does not apply: "${table.name}" keeps no deleted records (softDelete)`);
}

/** For the address that restores a record. @throws AppError 404 for a table whose deleted records are gone */
export function requireRestorable(table: Table): void {
  if (table.deletedAt !== undefined) return;
  const remedy = withoutOption(table, "softDelete");
  throw new AppError("NOT_FOUND", `No deleted records of "${table.name}" are kept; ${remedy}.`);
}
