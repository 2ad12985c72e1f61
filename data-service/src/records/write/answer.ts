// What a write answers: the record as it is now, as far as the caller may read it.
import { COLUMN_TYPES } from "../../catalog/column-types.js";
import type { Stored } from "../../catalog/stored.js";
import { type RecordShape, readEach, shownAsWritten, type Written } from "../read/read-one.js";
import type { RecordDeps } from "../record-deps.js";
import type { Versioned } from "../version.js";

/** What is known about records that were written. */
export interface AnswerOptions {
  /** Their documents where nothing else was written with them: they need not be read then. */
  readonly written?: Written | undefined;
}

/**
 * The written records; only the id of those that the caller may not read, that others have deleted by now, or that can't be
 * read just now: they are written, and a refusal would say the opposite.
 */
export async function answerOf(
  deps: RecordDeps,
  shape: RecordShape,
  ids: readonly Stored[],
  { written }: AnswerOptions = {},
): Promise<Versioned[]> {
  const { table } = shape.node;
  const row = COLUMN_TYPES[table.idColumn.type];
  const show = async (): Promise<readonly (Versioned | undefined)[]> =>
    (written === undefined ? undefined : shownAsWritten(deps, shape, written)) ??
    (await readEach(deps, shape, ids));
  const records = await show().catch((err: unknown) => {
    deps.logger.warn({ err, table: table.name }, "what was written could not be read for the answer");
    return undefined;
  });
  return ids.map((id, at) => records?.[at] ?? { json: { id: row.toJson(id) }, version: undefined });
}
