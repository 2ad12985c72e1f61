// Takes back the writes of a request that is refused half-way, so that a refusal has changed nothing.
import type { Table } from "../catalog/catalog.js";
import type { Stored } from "../catalog/column-types.js";
import type { Document } from "../query/lower/document.js";
import type { RecordDeps } from "./deps.js";

/** Takes one write back. */
export type Undo = () => Promise<void>;

/** Runs writes that note beforehand how to take each back; when one fails, all are taken back, the last first. */
export async function orUndo<Result>(writes: (undo: Undo[]) => Promise<Result>): Promise<Result> {
  const undo: Undo[] = [];
  try {
    return await writes(undo);
  } catch (error) {
    for (const takeBack of undo.toReversed()) await takeBack();
    throw error;
  }
}

/** Reads the fields of the documents that `which` selects, and gives what puts them back. */
export async function rememberFields(
  { store, writes }: Pick<RecordDeps, "store" | "writes">,
  table: Table,
  which: Document,
  fields: readonly string[],
): Promise<Undo> {
  const project = { _id: 1, ...Object.fromEntries(fields.map((field) => [field, 1])) };
  const before = await store.read(table, [{ $match: which }, { $project: project }]);
  return async () => {
    for (const { _id, ...values } of before) {
      const unset = fields.filter((field) => values[field] === undefined);
      // What was just read goes back as it was.
      await writes.update(table, _id as Stored, { set: values as Document, unset });
    }
  };
}
