// Makes the records of one request all or none, whatever dies, and only once where it has an Idempotency-Key.
import type { Table } from "../../catalog/catalog.js";
import { underNote } from "../acting-for.js";
import type { ActingDeps } from "../record-deps.js";
import { type OnceKey, once } from "../write/once.js";
import type { Create, Made } from "../write/run-create.js";
import type { StepLog } from "./steps.js";

/**
 * Judges the records of one request, and says how they are made. As long as it fails, nothing has been written.
 * @param deps with the writes of the request
 */
type Judge = (deps: ActingDeps) => Promise<Create>;

/** Records that are there, by this request or by one with the same key before. */
export interface MadeOnce extends Made {
  readonly isRepeat: boolean;
}

/** How the records are made. */
interface Making {
  readonly key?: OnceKey | undefined;
  readonly table: Table;
  /** Whether a crash could leave some of them, to be taken back by whoever finds the note of them. */
  readonly needsNote: boolean;
}

export async function allOrNone(
  deps: ActingDeps,
  { key, table, needsNote }: Making,
  judge: Judge,
): Promise<MadeOnce> {
  const { unfinished } = deps;
  const first = (made: Made): MadeOnce => ({ ...made, isRepeat: false });
  if (key === undefined && !needsNote) return first(await unfinished.orTakeBack(await judge(deps)));
  // The write that says that all of it is there waits for the disk, and for everything written before it.
  const noted = async (log: StepLog) => (await judge(underNote(deps)))(log);
  if (key === undefined) return first(await unfinished.wholly(noted));
  const { result: ids, isRepeat } = await once(deps.once, { ...key, table: table.id }, unfinished, (turn) =>
    unfinished.wholly(async (log) => (await noted(log)).ids, turn),
  );
  return { ids, documents: undefined, isRepeat };
}
