// Takes back the writes of a request that is refused half-way, so that a refusal has changed nothing.
import type { Table } from "../catalog/catalog.js";
import type { Document } from "../query/lower/document.js";
import type { RecordDeps } from "./deps.js";

/** Takes one write back. */
export type Undo = () => Promise<void>;

/** Runs writes that note beforehand how to take each back; when one fails, all are taken back, the last first. */
export async function orUndo(writes: (undo: Undo[]) => Promise<void>): Promise<void> {
  const undo: Undo[] = [];
  try {
    await writes(undo);
  } catch (error) {
    for (const takeBack of undo.toReversed()) await takeBack();
    throw error;
  }
}

/** Reads the fields of the documents that `which` selects, and gives what puts them back. */
export async function rememberFields(
  { store }: Pick<RecordDeps, "store">,
  table: Table,
  which: Document,
  fields: readonly string[],
): Promise<Undo> {
  const project = { _id: 1, ...Object.fromEntries(fields.map((field) => [field, 1])) };
  const before = await store.read(table, [{ $match: which }, { $project: project }]);
  return async () => {
    for (const { _id, ...values } of before) {
      const absent = fields.filter((field) => values[field] === undefined);
      const change = {
        ...(Object.keys(values).length === 0 ? {} : { $set: values }),
        ...(absent.length === 0 ? {} : { $unset: Object.fromEntries(absent.map((field) => [field, ""])) }),
      };
      await store.update(table, { _id: _id as Document[string] }, change);
    }
  };
}
