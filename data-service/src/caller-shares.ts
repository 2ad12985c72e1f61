// The connections of the database, shared out among callers: whoever asks much that takes long waits for themselves, and all
// others find connections free.
import { unavailable } from "@portico/shared/app-error";
import { Counts } from "@portico/shared/counts";
import { countedAs, type Principal } from "./principal.js";
import type { InTurn } from "./turns.js";

export interface ShareLimits {
  /** How many questions the database is asked at once, by all together. */
  readonly most: number;
  /** How long one waits for others of its caller before it is refused. */
  readonly maxWaitMs: number;
}

/** Told of the questions that wait for others of their caller. */
export interface ShareNotes {
  readonly waiting: (change: 1 | -1) => void;
  readonly refused: () => void;
}

const RETRY_AFTER_SECONDS = 2;

export class CallerShares {
  readonly #limits: ShareLimits;
  readonly #notes: ShareNotes;
  readonly #underWay = new Counts();
  /** What begins those that wait, in the order in which they came, by caller. */
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(limits: ShareLimits, notes: ShareNotes) {
    this.#limits = limits;
    this.#notes = notes;
  }

  /**
   * Asks as soon as the caller may, who has half of what the others leave. Nothing that is asked so may ask so again: it would
   * wait for itself.
   * @throws AppError 503 for what waits too long
   */
  of(caller: Principal, maxWaitMs = this.#limits.maxWaitMs): InTurn {
    return async (question) => {
      const name = countedAs(caller);
      if (this.#mayBegin(name)) this.#underWay.add(name, 1);
      else await this.#turn(name, maxWaitMs);
      try {
        return await question();
      } finally {
        this.#underWay.add(name, -1);
        if (this.#waiting.size > 0) this.#beginWaiting();
      }
    };
  }

  /** Several who take all that they may leave as much as each of them has. */
  #mayBegin(name: string): boolean {
    const own = this.#underWay.of(name);
    const left = this.#limits.most - (this.#underWay.all - own);
    return own < Math.max(1, Math.floor(left / 2));
  }

  /** Counts it as under way when it ends. */
  #turn(name: string, maxWaitMs: number): Promise<void> {
    const queue = this.#waiting.get(name) ?? new Set();
    this.#waiting.set(name, queue);
    this.#notes.waiting(1);
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(late);
        queue.delete(begin);
        if (queue.size === 0) this.#waiting.delete(name);
        this.#notes.waiting(-1);
      };
      const begin = (): void => {
        leave();
        this.#underWay.add(name, 1);
        resolve();
      };
      const late = setTimeout(() => {
        leave();
        this.#notes.refused();
        reject(
          unavailable("Too many of your queries are under way; try again in a moment.", RETRY_AFTER_SECONDS),
        );
      }, maxWaitMs);
      queue.add(begin);
    });
  }

  #beginWaiting(): void {
    for (const [name, queue] of this.#waiting)
      for (const begin of queue) {
        if (!this.#mayBegin(name)) break;
        begin();
      }
  }
}
