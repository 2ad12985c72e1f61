// What no rule can ever allow. Pure.
import type { Table } from "../catalog/catalog.js";
import type { Action } from "./rule.js";

/** Names of the system tables that have rules of their own. */
export interface ProtectedTables {
  readonly users: string;
  readonly roles: string;
  readonly permissions: string;
  readonly tables: string;
}

/** Is this forbidden to everybody, even root admins? What is in a journal stays as it was written. */
export function isNobodys({ journal }: Pick<Table, "journal">, action: Action): boolean {
  return journal === true && action !== "read";
}

/**
 * Can no rule allow this to anybody? Whoever could write roles, rules or tables could give themselves any right; and only
 * root admins may read a journal.
 */
export function isBeyondRules(
  { name, journal }: Pick<Table, "name" | "journal">,
  action: Action,
  { roles, permissions, tables }: ProtectedTables,
): boolean {
  return journal === true || (action !== "read" && [roles, permissions, tables].includes(name));
}
