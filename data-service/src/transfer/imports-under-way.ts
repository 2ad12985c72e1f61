// The imports that run in this process: how many there may be. Each holds a batch of its file, which is megabytes where the
// records are large, for as long as its sender takes.
import { AppError, unavailable } from "@portico/shared/app-error";

const MOST_IMPORTS = 16;
/** Nobody takes them all. */
const MOST_OF_ONE_CALLER = 8;
const RETRY_AFTER_SECONDS = 5;

export class ImportsUnderWay {
  readonly #callers: string[] = [];

  /**
   * Runs an import when there is a place for it.
   * @param caller whose imports are counted together
   * @throws AppError 429 when the caller has too many, 503 when all together have
   */
  async run<Result>(caller: string, doImport: () => Promise<Result>): Promise<Result> {
    this.#requirePlace(caller);
    this.#callers.push(caller);
    try {
      return await doImport();
    } finally {
      this.#callers.splice(this.#callers.indexOf(caller), 1);
    }
  }

  #requirePlace(caller: string): void {
    const own = this.#callers.filter((each) => each === caller).length;
    if (own >= MOST_OF_ONE_CALLER)
      throw new AppError("TOO_MANY_REQUESTS", {
        message: `You run ${own} imports already; wait for one of them to end.`,
        headers: { "Retry-After": String(RETRY_AFTER_SECONDS) },
      });
    if (this.#callers.length >= MOST_IMPORTS)
      throw unavailable("Too many imports run here; try again shortly.", RETRY_AFTER_SECONDS);
  }
}
