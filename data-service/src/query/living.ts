// Which records of a table exist: deleted ones that are kept don't, unless somebody asks for them. Pure.
import type { Table } from "../catalog/catalog.js";
import { type AuthorizedPredicate, NEVER } from "./ast.js";
import { conjunction, negation } from "./logic.js";

/** Records that exist, those that were deleted and are kept, or both. */
export type State = "living" | "deleted" | "all";

/**
 * The rows, in one state. This is a row rule like any other, put where row rules are, so that a deleted record is absent
 * everywhere. A table that keeps no deleted records has only living ones, and its rows stay as they are.
 */
export function inState(table: Table, rows: AuthorizedPredicate, state: State): AuthorizedPredicate {
  const { deletedAt } = table;
  if (state === "all") return rows;
  if (deletedAt === undefined) return state === "living" ? rows : NEVER;
  const isLiving: AuthorizedPredicate = { kind: "test", column: deletedAt, test: { op: "isNull" } };
  return conjunction([state === "living" ? isLiving : negation(isLiving), rows]);
}

/** For a table that keeps deleted records: does the predicate let all living ones pass, and nothing else? */
export function isLivingOnly(table: Table, predicate: AuthorizedPredicate): boolean {
  const isTest = predicate.kind === "test" && predicate.test.op === "isNull";
  return isTest && predicate.column === table.deletedAt;
}
