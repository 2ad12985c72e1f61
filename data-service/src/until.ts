// Waits for what others have to do first: asks again and again, until it is so or it is too late.
import { setTimeout as delay } from "node:timers/promises";

export interface Patience<Late> {
  /** After so long nothing more is asked. */
  readonly patienceMs: number;
  /** The time between an answer and the next question. */
  readonly everyMs: number;
  /** It doubles with each question up to this; without it, it stays the same. */
  readonly atMostMs?: number;
  /** Throws the refusal, or gives what is returned instead of an answer. */
  readonly tooLate: () => Late;
}

/** @param ask gives false as long as it is not so; is asked once at least */
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
