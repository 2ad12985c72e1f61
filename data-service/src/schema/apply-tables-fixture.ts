// For tests of schema files: those that speak of tables alone, compared and applied.
import type { FileTable } from "../catalog/schema-file.js";
import { makeTables } from "./apply-file.js";
import type { ChangeDeps } from "./change-deps.js";
import { compareTables, type FileDifference, isStopped } from "./compare-tables.js";
import type { SchemaDeps } from "./create-table.js";

export async function compareFile(deps: ChangeDeps, tables: readonly FileTable[]): Promise<FileDifference[]> {
  return (await compareTables(deps, tables)).differences;
}

/** @returns what was done; if it has problems, nothing was */
export async function applyFile(
  deps: ChangeDeps & SchemaDeps,
  tables: readonly FileTable[],
  confirmed = false,
): Promise<FileDifference[]> {
  const comparison = await compareTables(deps, tables);
  if (isStopped(comparison.differences, confirmed)) return comparison.differences;
  return makeTables(deps, tables, comparison, confirmed);
}
