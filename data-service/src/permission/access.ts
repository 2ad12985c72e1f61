// Who may do what. Until rules arrive: root everything, signed-in users the owner's tables, anonymous nothing.
import { AppError } from "@portico/shared/app-error";
import type { Column, Table } from "../catalog/catalog.js";
import { COLUMN_TYPES } from "../catalog/column-types.js";
import type { Principal, SignedIn } from "../principal.js";
import { ALWAYS } from "../query/ast.js";
import type { ReadPolicies, ReadPolicy } from "./read-view.js";

export type Action = "read" | "create" | "update" | "delete";

const EVERYTHING: ReadPolicy = { rows: ALWAYS, mayRead: () => true };
const ALL_BUT_HIDDEN: ReadPolicy = { rows: ALWAYS, mayRead: (column) => !column.hidden };

/** The read rights of a principal, table by table. */
export function readPolicies(principal: Principal): ReadPolicies {
  if (principal.kind === "anonymous") return () => undefined;
  if (principal.isRootAdmin) return () => EVERYTHING;
  return (table) => (table.system ? undefined : ALL_BUT_HIDDEN);
}

/**
 * What `/me` may show: the user's own record and role, and beyond them what the user may read anyway.
 * @param own names of the users' and the roles' table
 */
export function ownRecordPolicies(principal: SignedIn, own: { users: string; roles: string }): ReadPolicies {
  const others = readPolicies(principal);
  const mayRead = ALL_BUT_HIDDEN.mayRead;
  return (table) => {
    if (table.name === own.roles) return ALL_BUT_HIDDEN;
    if (table.name !== own.users) return others(table);
    const value = COLUMN_TYPES[table.idColumn.type].parse(principal.userId, []);
    if (value === undefined) return undefined;
    return { rows: { kind: "test", column: table.idColumn, test: { op: "eq", value } }, mayRead };
  };
}

/**
 * Lets the action pass or refuses it.
 * @throws AppError 401 for anonymous callers, 403 for signed-in ones without the right
 */
export function requireAccess(principal: Principal, table: Table, action: Action): void {
  if (principal.kind === "anonymous") {
    throw new AppError("UNAUTHORIZED", {
      message: `Sign in to ${action} "${table.name}".`,
      headers: { "WWW-Authenticate": "Bearer" },
    });
  }
  if (table.journal && action !== "read") {
    throw new AppError(
      "FORBIDDEN",
      `Nobody may ${action} records of "${table.name}"; the service alone writes them.`,
    );
  }
  if (table.system && !principal.isRootAdmin) {
    throw new AppError("FORBIDDEN", `You may not ${action} "${table.name}".`);
  }
}

/** The columns a principal may write, once the action itself is allowed. */
export function writeView(principal: Principal): { mayWrite: (column: Column) => boolean } {
  const isRoot = principal.kind === "user" && principal.isRootAdmin;
  return { mayWrite: (column) => isRoot || !column.hidden };
}
