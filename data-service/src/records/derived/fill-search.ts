// Stores grams for records that were written before their column became searchable, batch by batch.
import { type Column, type Table, tableById } from "../../catalog/catalog.js";
import { gramField, searchableOf, storedGrams } from "../../catalog/grams.js";
import type { DiskSpace } from "../../mongo/disk-space.js";
import type { RecordStore } from "../../mongo/record-store.js";
import { asStored, stillHas } from "../../query/as-read.js";
import type { Document, StoredRecord } from "../../query/lower/document.js";
import type { CurrentCatalog } from "../../schema/current-catalog.js";
import type { WriteGate } from "../../schema/write-gate.js";

export interface FillDeps {
  readonly catalogs: Pick<CurrentCatalog, "get">;
  readonly gate: Pick<WriteGate, "run">;
  readonly store: Pick<RecordStore, "read" | "updateEach">;
  /** Makes the indexes of grams that are missing, and no others: a change may be dropping those. */
  readonly indexGrams: (table: Table) => Promise<void>;
  /** Undefined where the database looks after its disk itself. */
  readonly diskSpace?: DiskSpace | undefined;
}

/** Few enough to let other requests through in between. */
const BATCH = 200;
/** The space that a gram takes in its record and in the index. */
const GRAM_BYTES = 40;

/**
 * Completes the grams of a table. The records themselves say what is missing, so that this may be interrupted at any
 * moment, and done by several instances at once.
 * @param isStopping asked between batches
 * @returns how many records were completed
 */
export async function fillSearch(deps: FillDeps, table: Table, isStopping: () => boolean): Promise<number> {
  await deps.indexGrams(table);
  let filled = 0;
  for (const column of searchableOf(table.columns.values())) {
    for (let made = BATCH; made > 0 && !isStopping(); filled += made) {
      // A change of the table waits for the batch, and then removes the grams.
      made = await deps.gate.run(() => fillBatch(deps, table.id, column.id));
    }
  }
  return filled;
}

/**
 * Uses the current table: once a column is no longer searchable, no part of its text may be stored again.
 * @returns 0 when nothing was left to do, or when others did it first, who will then do the rest as well
 */
async function fillBatch(deps: FillDeps, tableId: string, columnId: string): Promise<number> {
  const { catalogs, store, diskSpace } = deps;
  const table = tableById(await catalogs.get(), tableId);
  const column = table && searchableOf(table.columns.values()).find(({ id }) => id === columnId);
  if (table === undefined || column === undefined) return 0;
  const missing = { [gramField(column)]: { $exists: false } };
  const project = { $project: { _id: 1, [column.field]: 1 } };
  const found = await store.read(table, [{ $match: missing }, { $limit: BATCH }, project]);
  if (found.length === 0) return 0;
  const grams = found.map((document) => storedGrams(document[column.field]));
  await diskSpace?.require();
  const made = await store.updateEach(
    table,
    found.map((document, at) => fillOne(document, column, grams[at] ?? [])),
  );
  await diskSpace?.written(grams.flat().length * GRAM_BYTES);
  return made;
}

/** Only while the value is the one that was read: whoever has changed it since has stored its grams too. */
function fillOne(
  document: StoredRecord,
  column: Column,
  grams: readonly string[],
): { which: Document; change: Document } {
  const field = gramField(column);
  const unchanged = { _id: asStored(document._id), ...stillHas(document, [column.field]) };
  return { which: { ...unchanged, [field]: { $exists: false } }, change: { $set: { [field]: [...grams] } } };
}
