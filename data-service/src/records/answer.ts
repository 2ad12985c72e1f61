// What a write answers: the record as it is now, as far as the caller may read it.
import { AppError } from "@portico/shared/app-error";
import { COLUMN_TYPES, type Stored } from "../catalog/column-types.js";
import type { RecordDeps } from "./deps.js";
import { type RecordShape, readEach, shownAsWritten, type Written } from "./read-one.js";
import type { Versioned } from "./version.js";

/** What is known of records that were written. */
export interface AnswerBesides {
  /** Their documents where nothing else was written with them: they need not be read then. */
  readonly written?: Written | undefined;
  /** They were written by a request before, and may have been deleted since. */
  readonly isRepeat?: boolean;
}

/**
 * The written records; the id alone of those that the caller may not read, and of those that can't be read just now:
 * they are written, and a refusal would say the opposite.
 */
export async function answerOf(
  deps: RecordDeps,
  shape: RecordShape,
  ids: readonly Stored[],
  { written, isRepeat = false }: AnswerBesides = {},
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
  const isLost = records?.includes(undefined) === true && shape.view.rows(table).kind === "always";
  if (isLost && !isRepeat)
    throw new AppError("CONFLICT", "Another request has deleted what this one had just written.");
  return ids.map((id, at) => records?.[at] ?? { json: { id: row.toJson(id) }, version: undefined });
}
