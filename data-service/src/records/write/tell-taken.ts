// What a caller is told about a unique value that another record has: an index may hold columns that they may not know.
import type { Catalog, Column, Relation, Table } from "../../catalog/catalog.js";
import type { Rights } from "../../permission/rights.js";
import { Taken } from "../../store-refusals.js";
import { isWritable } from "../body/bind-body.js";
import type { RecordDeps } from "../record-deps.js";

/** Whether the caller may read a member in some record, or write it. */
export function mayName(rights: Rights, catalog: Catalog, table: Table, member: Column | Relation): boolean {
  return rights.view(catalog).shows(table, member) || isWritable(rights, catalog, table, member);
}

/** Runs a write. @throws AppError its refusals, naming no unique members but those that the caller may know */
export async function tellingTaken<Result>(
  { catalogs }: Pick<RecordDeps, "catalogs">,
  rights: Rights,
  write: () => Promise<Result>,
): Promise<Result> {
  try {
    return await write();
  } catch (error) {
    if (error instanceof Taken) throw toldOf(error, rights, await catalogs.get());
    throw error;
  }
}

function toldOf(taken: Taken, rights: Rights, catalog: Catalog): Taken {
  const { table, members } = taken;
  if (table === undefined) return taken;
  const known = members.filter((member) => mayName(rights, catalog, table, member));
  const actions = ["create", "update", "delete"] as const;
  const isKnown =
    rights.view(catalog).mayRead(table) ||
    actions.some((action) => rights.write(catalog, table, action).length > 0);
  // The answer of the database tells which of several records was refused.
  return new Taken(isKnown ? table : undefined, known, taken.cause);
}
