// What a record is before a change that may have to be taken back.
import type { Table } from "../catalog/catalog.js";
import type { Stored } from "../catalog/column-types.js";
import { VERSION_FIELD } from "../mongo/record-store.js";
import { asStored } from "../query/as-read.js";
import { type FieldChange, movesIn } from "./counted-writes.js";
import type { RecordDeps } from "./deps.js";
import type { Changed, UndoLog } from "./undo.js";
import { versionOf } from "./version.js";

/** Notes what the fields of a record are before they change. @returns the note; none when there is no such record */
export async function noteFields(
  { store }: RecordDeps,
  table: Table,
  id: Stored,
  change: FieldChange,
  log: UndoLog,
): Promise<Changed | undefined> {
  const { set, unset } = change;
  const at = set[table.updatedAt.field];
  if (!(at instanceof Date)) throw new Error(`a change of "${table.name}" does not say when it is made`);
  const fields = [...Object.keys(set), ...unset, ...movesIn(table, change)];
  const project = Object.fromEntries([VERSION_FIELD, ...fields].map((field) => [field, 1]));
  const [before] = await store.read(table, [{ $match: { _id: id } }, { $project: project }]);
  if (before === undefined) return undefined;
  const had = fields.filter((field) => before[field] !== undefined);
  const step: Changed = {
    kind: "changed",
    table: table.id,
    id,
    version: versionOf(before),
    at,
    // What was just read goes back as it was.
    set: Object.fromEntries(had.map((field) => [field, asStored(before[field])])),
    unset: fields.filter((field) => before[field] === undefined),
  };
  await log.note(step);
  return step;
}
