// What became of tries, noted in the end: a right password that was not noted would count as failed for a quarter of an hour, and
// some moments of an overload would keep a whole network from signing in.
import { randomBytes } from "node:crypto";
import type { Logger } from "@portico/shared/logger";
import type { Outcome, ThrottleStore } from "./throttle.js";

/** The pauses before an outcome is written again. */
const AGAIN_AFTER_MS = [1_000, 2_000, 4_000, 8_000, 16_000];

export interface Outcomes {
  /** Notes one at once, or later if the database is too busy now. Never rejects. */
  settle(outcome: Omit<Outcome, "name">): Promise<void>;
  /** Tries once more to note all that wait, for the process ends. */
  stop(): Promise<void>;
}

export function makeOutcomes(store: Pick<ThrottleStore, "settle">, logger: Logger): Outcomes {
  const waiting = new Map<Outcome, NodeJS.Timeout>();
  const settle = async (outcome: Outcome, [pause, ...others]: readonly number[]): Promise<void> => {
    waiting.delete(outcome);
    try {
      await store.settle(outcome);
    } catch (err) {
      if (pause === undefined)
        return logger.warn(
          { err },
          "what became of a sign-in was not noted, so it counts as one that failed",
        );
      const again = setTimeout(() => void settle(outcome, others), pause).unref();
      waiting.set(outcome, again);
    }
  };
  return {
    // It may have been noted, and only the answer lost: the name tells.
    settle: (outcome) => settle({ ...outcome, name: randomBytes(9).toString("base64url") }, AGAIN_AFTER_MS),
    async stop() {
      const left = [...waiting];
      for (const [, again] of left) clearTimeout(again);
      await Promise.all(left.map(([outcome]) => settle(outcome, [])));
    },
  };
}
