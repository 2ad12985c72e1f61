// A schema file as a whole: first its tables, then who may do what with them.
import type { TableDefinition } from "../catalog/definition.js";
import type { SchemaFile } from "../catalog/schema-file.js";
import type { FileAccess } from "../permission/access-file.js";
import { holdersIn } from "../permission/compare-access.js";
import type { StoredAccess } from "../permission/rule.js";
import { repairBeforeChanges } from "../records/whole/repair-before-changes.js";
import type { UnfinishedRepairDeps } from "../records/whole/repair-unfinished.js";
import {
  type AccessComparison,
  type AccessDeps,
  applyAccess,
  compareAccessThen,
  notedGoing,
  pulledAccess,
  storedRoles,
} from "./apply-access.js";
import { makeTables } from "./apply-file.js";
import type { ChangeDeps } from "./change-deps.js";
import { type Comparison, compareTables, type FileDifference, isStopped } from "./compare-tables.js";
import type { SchemaDeps } from "./create-table.js";
import { betweenChanges } from "./rule-change.js";

/** What has to be done, or was done. */
export interface FileDifferences {
  readonly tables: readonly FileDifference[];
  /** Roles and rules. */
  readonly access: readonly FileDifference[];
}

export type WholeFileDeps = ChangeDeps & SchemaDeps & AccessDeps & UnfinishedRepairDeps;

const NOTHING: AccessComparison = { differences: [], going: new Set() };

/** What a database says of itself in a file. */
export interface PulledFile {
  readonly tables: readonly TableDefinition[];
  readonly access: StoredAccess;
}

/** All of a database that a file can say. */
export async function pullWholeFile(deps: WholeFileDeps): Promise<PulledFile> {
  return betweenChanges(deps, async () => ({
    tables: await deps.catalogStore.load(),
    access: await pulledAccess(deps),
  }));
}

/** Compares a file with the database; changes nothing. */
export async function compareWholeFile(deps: WholeFileDeps, file: SchemaFile): Promise<FileDifferences> {
  return (await betweenChanges(deps, () => compare(deps, file))).differences;
}

async function compare(
  deps: WholeFileDeps,
  { tables, access }: SchemaFile,
): Promise<{
  readonly compared: Comparison;
  readonly differences: FileDifferences;
  readonly going: AccessComparison["going"];
}> {
  const compared = await compareTables(await withoutReplacedRules(deps, access), tables);
  // Rules of a table that can't be what the file says would be refused for that alone.
  const isPossible = compared.order.length === tables.length;
  const { differences, going } = isPossible ? await compareAccessThen(deps, access, compared) : NOTHING;
  return { compared, going, differences: { tables: compared.differences, access: differences } };
}

/**
 * Applies a file; doing it again changes nothing.
 * @param confirmed also makes changes that lose data
 * @returns what was done; if it has problems, nothing was
 */
export async function applyWholeFile(
  deps: WholeFileDeps,
  file: SchemaFile,
  confirmed = false,
): Promise<FileDifferences> {
  await repairBeforeChanges(deps);
  const { compared, differences, going } = await betweenChanges(deps, () => compare(deps, file));
  if (isStopped([...differences.tables, ...differences.access], confirmed)) return differences;
  if (going.size > 0) await deps.goingRules.note([...going]);
  const tables = await makeTables(
    await withoutReplacedRules(deps, file.access),
    file.tables,
    compared,
    confirmed,
  );
  const done = await applyAccess(deps, file.access, going);
  await forgetGoing(deps, going);
  return { tables, access: done };
}

/** Those that the tables of another file, which was interrupted, have switched off are still for that one to remove. */
async function forgetGoing(deps: WholeFileDeps, gone: ReadonlySet<string>): Promise<void> {
  await deps.goingRules.forget([...gone, ...(await notedGoing(deps)).obsolete]);
}

/**
 * A rule that a change of tables would switch off is not lost where the file says which rules its holder has: they are made
 * what it says next.
 */
async function withoutReplacedRules(deps: WholeFileDeps, access: FileAccess): Promise<WholeFileDeps> {
  const isReplaced = holdersIn(access, await storedRoles(deps));
  const enabled = async () => (await deps.rules.enabled()).filter(({ roleId }) => !isReplaced(roleId));
  return { ...deps, rules: { ...deps.rules, enabled } };
}
