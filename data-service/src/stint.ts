// Work of many steps that lets others have a turn now and then: nobody else is answered while this process works on something.

/** What takes no longer keeps nobody waiting noticeably. */
const LONG_MS = 10;

interface Waiting {
  readonly since: number;
  readonly resume: () => void;
}

/** The work that waits to go on, the oldest first. */
const waiting: Waiting[] = [];

/**
 * Whatever else there is to do goes first, and then a single step of long work, however much of that there is. The oldest goes
 * on: what it holds is free the sooner, and the last is done no later than if all had their turns one after another.
 */
function othersTurn(since: number): Promise<void> {
  return new Promise((resume) => {
    const after = waiting.findIndex((each) => each.since > since);
    waiting.splice(after < 0 ? waiting.length : after, 0, { since, resume });
    if (waiting.length === 1) setImmediate(resumeOldest);
  });
}

function resumeOldest(): void {
  waiting.shift()?.resume();
  if (waiting.length > 0) setImmediate(resumeOldest);
}

/** A long piece of work, and what was done of it since the last turn of others. */
export class Stint {
  readonly #since = performance.now();
  #began = this.#since;

  /** Asked after each step; then it is time to end it. */
  get isLong(): boolean {
    return performance.now() - this.#began > LONG_MS;
  }

  /** Lets others have their turn, and begins anew. */
  async end(): Promise<void> {
    await othersTurn(this.#since);
    this.#began = performance.now();
  }
}
