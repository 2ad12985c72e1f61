// Waits for something that others have to do: asks again and again, until it is done or too late.
import { setTimeout as delay } from "node:timers/promises";

export interface Patience<Late> {
  /** How long to keep asking. */
  readonly patienceMs: number;
  /** The time between an answer and the next question. */
  readonly everyMs: number;
  /** The pause doubles with each question, up to this; without it, it stays the same. */
  readonly atMostMs?: number;
  /** Throws the refusal, or returns the result for an answer that came too late. */
  readonly tooLate: () => Late;
}

/** @param ask returns false as long as it is not so; called at least once */
export async function until<Answer, Late = never>(
  ask: () => Promise<Answer | false>,
  { patienceMs, everyMs, atMostMs = everyMs, tooLate }: Patience<Late>,
): Promise<Answer | Late> {
  const began = performance.now();
  for (let pauseMs = everyMs; ; pauseMs = Math.min(2 * pauseMs, atMostMs)) {
    const answer = await ask();
    if (answer !== false) return answer;
    if (performance.now() - began > patienceMs) return tooLate();
    await delay(pauseMs);
  }
}
