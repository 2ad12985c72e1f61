// A change that gives values other fields waits for what interrupted requests have written to the table: taken back later, it
// would go into fields that nobody reads any more, even as the plain text of what is encrypted by then.
import { AppError } from "@portico/shared/app-error";
import { until } from "../until.js";
import type { ChangeDeps } from "./change-deps.js";
import { NEVER_YET_MS } from "./dead-instances.js";

/** What could not be taken back for so long (the repair logs why) may never be, and holds up no change any more. */
const TAKEN_BACK_WITHIN_MS = 5 * 60_000;
const [LOOK_MS, LOOK_AT_MOST_MS] = [50, 500];

/**
 * Waits for all that is not whole by now: what a request is still working on, and what the repair will take back. Costs one
 * look where there is none.
 * @param table its id
 * @throws AppError 409 where that takes longer
 */
export async function awaitUnfinished(
  { unfinishedNotes, clock, logger }: Pick<ChangeDeps, "unfinishedNotes" | "clock" | "logger">,
  table: string,
  patienceMs: number,
): Promise<void> {
  const inMs = (ms: number): Date => new Date(clock.now().getTime() + ms);
  const look = () => unfinishedNotes.openIn(table, inMs(-TAKEN_BACK_WITHIN_MS), inMs(NEVER_YET_MS));
  const first = await look();
  if (first.size === 0) return;
  logger.info({ table, notes: [...first] }, "a change of a table waits for requests that are not whole yet");
  // Others may begin all the time.
  const isOver = async () => {
    const now = await look();
    return [...first].every((note) => !now.has(note));
  };
  const tooLate = () => {
    throw new AppError(
      "CONFLICT",
      "A request has written to the table in part, and can't be taken back yet; try again in a minute or two.",
    );
  };
  await until(isOver, { patienceMs, everyMs: LOOK_MS, atMostMs: LOOK_AT_MOST_MS, tooLate });
}
