// The streams of changes that are open in this process: how many there may be, and why one ends.
import { AppError, unavailable } from "@portico/shared/app-error";

/** What a client is told about the end; `gone` and `over` are never told, because nobody reads any more. */
export type EndReason = "signed-out" | "refused" | "unavailable" | "restart" | "slow" | "gone" | "over";

/** The end of one stream, which happens once: the first reason counts. */
export class StreamEnd {
  readonly #controller = new AbortController();
  #reason: EndReason | undefined;

  /** Aborted with the end. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Undefined until the stream has ended. */
  get reason(): EndReason | undefined {
    return this.#reason;
  }

  end(reason: EndReason): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller.abort();
  }
}

/** Streams of one process: each costs a look at its session every few seconds, and a query per change. */
const MOST_STREAMS = 1_000;
/** So that nobody takes them all. */
const MOST_OF_ONE_CALLER = 100;

/** The streams of this process, so that all can be ended when it stops. */
export class Streams {
  readonly #open = new Map<StreamEnd, string>();
  #isStopping = false;

  /**
   * @returns one that has ended already where the process stops: browsers open it again elsewhere, and would not after a refusal
   * @throws AppError 429 when the caller has too many, 503 when all together have
   */
  open(caller: string): StreamEnd {
    const stream = new StreamEnd();
    if (this.#isStopping) {
      stream.end("restart");
      return stream;
    }
    const own = [...this.#open.values()].filter((each) => each === caller).length;
    if (own >= MOST_OF_ONE_CALLER)
      throw new AppError("TOO_MANY_REQUESTS", {
        message: `You follow changes ${own} times already; end some of these first.`,
        headers: { "Retry-After": "5" },
      });
    if (this.#open.size >= MOST_STREAMS)
      throw unavailable("Too many clients follow changes here; try again shortly.", 5);
    this.#open.set(stream, caller);
    return stream;
  }

  close(stream: StreamEnd): void {
    this.#open.delete(stream);
  }

  stop(): void {
    this.#isStopping = true;
    for (const stream of this.#open.keys()) stream.end("restart");
  }
}
