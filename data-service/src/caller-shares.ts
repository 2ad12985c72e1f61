// What the database does at once, shared out among callers: whoever asks much that takes long waits for themselves, and all
// others find it free.
import { unavailable } from "@portico/shared/app-error";
import { LinkedSet } from "@portico/shared/linked-set";
import { LRUCache } from "lru-cache";
import { countedAs } from "./counted-as.js";
import { getOrMake } from "./get-or-make.js";
import type { Principal } from "./principal.js";

export interface ShareLimits {
  /** How many questions the database is asked at once, by all together. */
  readonly most: number;
  /** Where it can work on fewer: how many of them at once may take long, of all callers together. */
  readonly mostSlow: number;
}

/** How long a question waits for others of its caller. */
export interface Patience {
  /** A batch of a stream: it may have to look at all that is left, however quick those before it were. */
  readonly isBatch?: boolean;
  /** After this time it is refused. */
  readonly maxTimeMS: number;
  /** Nobody waits for its answer any more. */
  readonly signal: AbortSignal | undefined;
}

/** Asks when it is the caller's turn. @throws AppError 503 for what waits too long, or the signal's reason */
export type Share = <Answer>(ask: () => Promise<Answer>, patience: Patience) => Promise<Answer>;

/** Told of the questions that wait for others of their caller. */
export interface ShareNotes {
  readonly waiting: (change: 1 | -1) => void;
  readonly refused: () => void;
}

/** A question that takes longer is slow, and so is its caller for a while. */
const SLOW_MS = 250;
const SLOW_FOR_MS = 2_000;
/** What a caller asked before a pause of this length says nothing of what comes after it. */
const PAUSE_MS = 1_000;
/** So many questions of requests that are partly answered begin before one of another that waits. */
const LATER_IN_A_ROW = 8;
/** Of how many callers it is remembered how quick their questions were. */
const REMEMBERED = 1_000;
const RETRY_AFTER_SECONDS = 2;

interface Question {
  readonly since: number;
  /** A quick answer to its caller stands for it. */
  readonly isEarned: boolean;
  readonly isBatch: boolean;
}

interface WaitingQuestion {
  readonly patience: Patience;
  /** Others of its request have been answered. */
  readonly isLater: boolean;
  readonly begin: () => void;
}

/**
 * In the order in which they came, but for those of requests that are partly answered: these are finished before others begin.
 * In one line for all, each question of a request would wait as long as a request of one question does. Of a few requests that
 * have very many, others would see no end: now and then one of theirs is the first.
 */
class WaitingQuestions {
  readonly #later = new LinkedSet<WaitingQuestion>();
  readonly #others = new LinkedSet<WaitingQuestion>();
  /** How many of the later ones have begun since one of the others did, or was none. */
  #inARow = 0;

  get size(): number {
    return this.#later.size + this.#others.size;
  }

  get first(): WaitingQuestion | undefined {
    const [later, other] = [this.#later.first, this.#others.first];
    return this.#inARow < LATER_IN_A_ROW ? (later ?? other) : (other ?? later);
  }

  add(question: WaitingQuestion): void {
    this.#lineOf(question).add(question);
  }

  delete(question: WaitingQuestion): void {
    this.#lineOf(question).delete(question);
  }

  /** The question begins, and waits no more. */
  begin(question: WaitingQuestion): void {
    this.#inARow = question.isLater && this.#others.size > 0 ? this.#inARow + 1 : 0;
    question.begin();
  }

  #lineOf({ isLater }: WaitingQuestion): LinkedSet<WaitingQuestion> {
    return isLater ? this.#later : this.#others;
  }
}

interface Caller {
  readonly underWay: LinkedSet<Question>;
  /** Of those under way. */
  unearned: number;
  readonly waiting: WaitingQuestions;
  /**
   * Quick answers since the last pause or slow one, as far as they were asked for at once. What comes first may be very much, so
   * each of them lets one more begin.
   */
  quick: number;
  /** How many were asked for at once since none was under way. */
  atOnce: number;
  /** Quick answers count again from then on. */
  slowUntil: number;
  endedAt: number;
}

const newCaller = (): Caller => ({
  underWay: new LinkedSet(),
  unearned: 0,
  waiting: new WaitingQuestions(),
  quick: 0,
  atOnce: 0,
  slowUntil: 0,
  endedAt: 0,
});

export class CallerShares {
  readonly #limits: ShareLimits;
  readonly #notes: ShareNotes;
  readonly #now: () => number;
  readonly #callers = new LRUCache<string, Caller>({ max: REMEMBERED });
  /** Those for whom something waits, in the order of their turns. */
  readonly #waiting = new Set<Caller>();
  #underWay = 0;
  #unearned = 0;

  /** @param now in milliseconds */
  constructor(limits: ShareLimits, notes: ShareNotes, now = () => performance.now()) {
    this.#limits = limits;
    this.#notes = notes;
    this.#now = now;
  }

  /**
   * For one request, or for one part of what may have no end: asks as soon as the caller may, who has half of what the others
   * leave. Nothing that is asked so may ask so again: it would wait for itself.
   */
  of(principal: Principal): Share {
    let isAnswered = false;
    return async (ask, patience) => {
      const caller = getOrMake<string, Caller>(this.#callers, countedAs(principal), newCaller);
      // The batches of a stream may have no end.
      const isLater = isAnswered && patience.isBatch !== true;
      const question = this.#mayBegin(caller, patience)
        ? this.#begin(caller, patience)
        : await this.#turn(caller, patience, isLater);
      try {
        return await ask();
      } finally {
        isAnswered = true;
        this.#end(caller, question);
      }
    };
  }

  /** Several who take all that they may leave as much as each of them has, and each may have one unless too many may be slow. */
  #mayBegin(caller: Caller, patience: Patience): boolean {
    const own = caller.underWay.size;
    const { most, mostSlow } = this.#limits;
    if (mostSlow < most && this.#unearned >= mostSlow && !this.#hasEarned(caller, patience)) return false;
    const all = Math.min(most, mostSlow + 2 * this.#earned(caller, patience));
    return own < Math.max(1, Math.floor((all - (this.#underWay - own)) / 2));
  }

  #hasEarned(caller: Caller, patience: Patience): boolean {
    return caller.underWay.size - caller.unearned < this.#earned(caller, patience);
  }

  #earned({ quick, underWay, endedAt }: Caller, { isBatch = false }: Pick<Patience, "isBatch"> = {}): number {
    if (isBatch) return 0;
    const now = this.#now();
    const { first } = underWay;
    const isKnown = first === undefined ? now - endedAt < PAUSE_MS : now - first.since < SLOW_MS;
    return isKnown ? quick : 0;
  }

  #begin(caller: Caller, patience: Patience): Question {
    const isEarned = this.#hasEarned(caller, patience);
    const question = { since: this.#now(), isEarned, isBatch: patience.isBatch === true };
    if (caller.underWay.size === 0) {
      caller.quick = Math.min(this.#earned(caller), caller.atOnce);
      caller.atOnce = 0;
    }
    caller.underWay.add(question);
    caller.atOnce = Math.max(caller.atOnce, caller.underWay.size + caller.waiting.size);
    this.#count(caller, question, 1);
    return question;
  }

  #end(caller: Caller, question: Question): void {
    caller.underWay.delete(question);
    this.#count(caller, question, -1);
    const now = this.#now();
    caller.endedAt = now;
    if (now - question.since >= SLOW_MS) {
      caller.quick = 0;
      caller.slowUntil = now + SLOW_FOR_MS;
    } else if (now >= caller.slowUntil && !question.isBatch && caller.quick < caller.atOnce)
      caller.quick += 1;
    this.#beginWaiting();
  }

  #count(caller: Caller, { isEarned }: Question, change: 1 | -1): void {
    this.#underWay += change;
    if (isEarned) return;
    caller.unearned += change;
    this.#unearned += change;
  }

  #turn(caller: Caller, patience: Patience, isLater: boolean): Promise<Question> {
    const { maxTimeMS, signal } = patience;
    this.#waiting.add(caller);
    this.#notes.waiting(1);
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(late);
        signal?.removeEventListener("abort", giveUp);
        caller.waiting.delete(waiting);
        if (caller.waiting.size === 0) this.#waiting.delete(caller);
        this.#notes.waiting(-1);
      };
      const begin = (): void => {
        leave();
        resolve(this.#begin(caller, patience));
      };
      const giveUp = (): void => {
        leave();
        reject(signal?.reason);
      };
      const refuse = (): void => {
        leave();
        this.#notes.refused();
        const text = "Too many queries are under way; try again in a moment.";
        reject(unavailable(text, RETRY_AFTER_SECONDS));
      };
      const waiting = { patience, isLater, begin };
      const late = setTimeout(refuse, maxTimeMS);
      signal?.addEventListener("abort", giveUp);
      caller.waiting.add(waiting);
    });
  }

  /** One of each in turn, until nobody may begin: whoever had a turn stands behind all others. */
  #beginWaiting(): void {
    for (const caller of this.#waiting) {
      const { first } = caller.waiting;
      if (first === undefined || !this.#mayBegin(caller, first.patience)) continue;
      caller.waiting.begin(first);
      if (this.#waiting.delete(caller)) this.#waiting.add(caller);
    }
  }
}
