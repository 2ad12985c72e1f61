// DELETE of records, with all that `onDelete` asks for.
import { AppError } from "@portico/shared/app-error";
import type { Catalog, Table } from "../../catalog/catalog.js";
import type { Rights } from "../../permission/rights.js";
import type { AuthorizedPredicate } from "../../query/ast.js";
import { matchStages } from "../../query/lower/condition.js";
import { allOf, Names } from "../../query/lower/document.js";
import { requireSettled } from "../../schema/write-gate.js";
import { PLAIN } from "../body/bind-body.js";
import { anyRow } from "../body/choose-rule.js";
import { tablesDeletedFrom } from "../body/write-plan.js";
import { decideAs } from "../decide-as.js";
import { findTable, parseId } from "../find-table.js";
import { requireKept } from "../read/asked-rows.js";
import { recordShape } from "../read/read-one.js";
import type { ActingDeps, RecordDeps } from "../record-deps.js";
import type { RecordCall, TableCall } from "../request.js";
import { atVersion, type Expected } from "../version.js";
import type { StillMatching } from "../write/still-matching.js";
import { asKnown, judgeRecord, type Known, requireVersion, untilUncontended } from "../write/write-guard.js";
import { writing } from "../write/writing.js";
import { type DeleteStep, type Follow, knownBy, type Reach } from "./delete-effects.js";
import { Deleter } from "./run-delete.js";

export interface RemoveRequest extends RecordCall {
  /** If-Match. */
  readonly expected?: Expected;
  /** It happens only while the record satisfies this. */
  readonly stillMatching?: StillMatching;
  readonly follows?: Follow | undefined;
  /** Removes for good what the table would keep, or has kept: for root admins. */
  readonly permanent?: boolean;
}

/** Deletes one record with all that `onDelete` asks for. @param follows takes along only what the caller may delete */
export async function remove(given: RecordDeps, request: RemoveRequest): Promise<void> {
  await writing(given, request, (deps, rights) => removeSettled(deps, rights, request));
}

async function removeSettled(deps: ActingDeps, rights: Rights, request: RemoveRequest): Promise<void> {
  const { expected, stillMatching, follows, permanent = false } = request;
  // What links here must be known in full: another instance may have made a table with such a link a moment ago.
  const catalog = await deps.catalogs.refresh();
  const table = findTable(catalog, request.table, rights);
  const match = stillMatching?.({ rights, catalog });
  requireRight(rights, catalog, table, permanent);
  requireSettled(catalog, tablesDeletedFrom(catalog, table));
  const id = parseId(table, request.id);
  const state = permanent ? "all" : "living";
  const rowsOf = (each: Table) => anyRow(rights.write(catalog, each, "delete", state));
  const mayTake = async (step: DeleteStep): Promise<void> => {
    // What `onDelete` takes along goes whatever the caller may do with it; see contract 7.
    const followed = [...step.table.relations.values()].some((each) => follows?.(step.table, each));
    if (followed) await requireTakeable(deps, step, rowsOf(step.table));
  };
  const shape = recordShape(deps, rights.view(catalog), table, PLAIN);
  const mayKnow = knownBy(shape.view);
  const reach: Reach =
    follows === undefined ? { permanent, mayKnow } : { permanent, mayKnow, follows, mayTake };
  const deleter = new Deleter(deps, catalog, reach);
  const attempt = async (): Promise<boolean> => {
    const judged = await judgeRecord(deps, shape, id, { rows: rowsOf(table), action: "delete" });
    if (judged === false) return false;
    await requireVersion(deps, shape, id, expected);
    const matching = (await match?.(id)) ?? {};
    const condition = allOf([judged, atVersion(expected), matching]);
    return deleter.deleteOne(table, id, condition);
  };
  const known: Known = { match, expected, hasWritten: () => deleter.hasTaken };
  await untilUncontended(deps, table, id, () => asKnown(deps, shape, id, known, attempt));
}

/** Refuses a delete that could reach no record. @throws AppError 400, 401, 403, 404 */
export async function checkRemove(
  deps: RecordDeps,
  { principal, table }: TableCall,
  permanent: boolean,
): Promise<void> {
  await decideAs(deps, principal, ({ rights, catalog }) =>
    requireRight(rights, catalog, findTable(catalog, table), permanent),
  );
}

function requireRight(rights: Rights, catalog: Catalog, table: Table, permanent: boolean): void {
  rights.require(catalog, table, "delete");
  if (permanent) requirePermanent(rights, table);
}

/** Records are kept against mistakes, and against whoever may delete. @throws AppError 400, 403 */
function requirePermanent(rights: Rights, table: Table): void {
  requireKept(table, "permanent");
  if (!rights.isRoot)
    throw new AppError("FORBIDDEN", `Only root admins remove records of "${table.name}" for good.`);
}

/** @throws AppError 403 when the rules don't let the caller delete each of these */
async function requireTakeable(
  { store }: RecordDeps,
  { table, ids }: DeleteStep,
  rows: AuthorizedPredicate,
): Promise<void> {
  if (rows.kind === "always") return;
  const allowed = await store.existing(table, ids, matchStages([rows], new Names()));
  if (allowed.size === ids.length) return;
  throw new AppError("FORBIDDEN", `You may not delete every "${table.name}" record that would go with it.`);
}
