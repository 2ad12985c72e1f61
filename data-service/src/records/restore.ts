// POST /{table}/{id}/restore: brings a deleted record back, with all that went with it.
import type { Principal } from "../principal.js";
import type { Parameters } from "../query/parameters.js";
import { requireSettled } from "../schema/write-gate.js";
import { actingFor } from "./acting-for.js";
import { answerOf } from "./answer.js";
import { requireRestorable } from "./asked-rows.js";
import { anyRow, judgeRows, notAllowed } from "./authorize-write.js";
import type { RecordDeps } from "./deps.js";
import { findTable, parseId } from "./find-table.js";
import { recordShape } from "./read-one.js";
import { knownBy } from "./run-delete.js";
import { runRestore } from "./run-restore.js";
import { tellingTaken } from "./tell-taken.js";
import type { Versioned } from "./version.js";
import { isVisible, whileOthersChange } from "./write-guard.js";
import { tablesDeletedFrom } from "./write-plan.js";

/**
 * Restores one record, for whoever may delete it. One that is not deleted stays as it is, so that asking again does no harm.
 * @returns it in the asked shape
 * @throws AppError 401, 403, 404, 409 when another has its unique value by now, or a record that it needs is deleted
 */
export async function restore(
  given: RecordDeps,
  principal: Principal,
  tableName: string,
  idText: string,
  parameters: Parameters,
): Promise<Versioned> {
  const deps = actingFor(given, principal);
  return deps.gate.run(async () => {
    const rights = await deps.rights(principal);
    const catalog = await deps.catalogs.refresh();
    const table = findTable(catalog, tableName);
    rights.require(catalog, table, "delete");
    requireRestorable(table);
    requireSettled(catalog, tablesDeletedFrom(catalog, table));
    const id = parseId(table, idText);
    const shape = recordShape(deps, rights, table, catalog, parameters);
    const rows = anyRow(rights.write(catalog, table, "delete", "all"));
    const mayKnow = knownBy(shape.view);
    await whileOthersChange(deps, table, id, async () => {
      const guard = await judgeRows(deps, table, id, rows);
      if (guard === undefined) throw notAllowed(table, "restore", await isVisible(deps, shape, id));
      return tellingTaken(deps, rights, () => runRestore(deps, catalog, table, id, guard, mayKnow));
    });
    const [record] = await answerOf(deps, shape, [id]);
    if (record === undefined) throw new Error("an answer without its record");
    return record;
  });
}
