// POST /{table}/{id}/restore: brings a deleted record back, with all that went with it.
import type { Table } from "../../catalog/catalog.js";
import { allOf } from "../../query/lower/document.js";
import { requireSettled } from "../../schema/write-gate.js";
import { anyRow } from "../body/choose-rule.js";
import { tablesDeletedFrom } from "../body/write-plan.js";
import { findTable, parseId } from "../find-table.js";
import { requireRestorable } from "../read/asked-rows.js";
import { recordShape } from "../read/read-one.js";
import type { RecordDeps } from "../record-deps.js";
import type { RecordRequest } from "../request.js";
import { atVersion, type Expected, type Versioned } from "../version.js";
import { answerOf } from "../write/answer.js";
import { asKnown, judgeRecord, requireVersion, untilUncontended } from "../write/write-guard.js";
import { writing } from "../write/writing.js";
import { runRestore } from "./run-restore.js";

export interface RestoreRequest extends RecordRequest {
  /** If-Match. */
  readonly expected?: Expected;
}

/**
 * Restores one record, for whoever may delete it. One that is not deleted stays as it is, so that asking again does no harm.
 * @returns it in the asked shape
 * @throws AppError 401, 403, 404, 409 when another has its unique value by now, or a record that it needs is deleted, 412
 */
export async function restore(given: RecordDeps, request: RestoreRequest): Promise<Versioned> {
  return writing(given, request, async (deps, rights) => {
    const catalog = await deps.catalogs.refresh();
    const table = findTable(catalog, request.table);
    rights.require(catalog, table, "delete");
    requireRestorable(table);
    requireSettled(catalog, tablesDeletedFrom(catalog, table));
    const id = parseId(table, request.id);
    const shape = recordShape(deps, rights.view(catalog), table, request.parameters);
    const mayDelete = (each: Table) => anyRow(rights.write(catalog, each, "delete", "all"));
    await untilUncontended(deps, table, id, async () => {
      const judge = () => judgeRecord(deps, shape, id, { rows: mayDelete(table), action: "restore" });
      const judged = await asKnown(deps, shape, id, { expected: request.expected }, judge);
      if (judged === false) return false;
      await requireVersion(deps, shape, id, request.expected);
      const condition = allOf([judged, atVersion(request.expected)]);
      return runRestore(deps, catalog, table, id, condition, { view: shape.view, mayDelete });
    });
    const [record] = await answerOf(deps, shape, [id]);
    if (record === undefined) throw new Error("an answer without its record");
    return record;
  });
}
