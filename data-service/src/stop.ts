// Tells everything that is under way for a request that its result is no longer needed.

type Listener = Parameters<AbortSignal["addEventListener"]>[1];

/**
 * An AbortController that is its own signal, because one is needed for every request. The driver adds and removes about five
 * listeners per command, which with Node's own signal takes a tenth of the processor time of a list.
 */
export class Stop implements AbortSignal {
  onabort: AbortSignal["onabort"] = null;
  #isAborted = false;
  #reason: unknown;
  #listeners: Listener[] = [];

  get aborted(): boolean {
    return this.#isAborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  /** Works once; later reasons are ignored. */
  abort(reason: unknown): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.#reason = reason;
    this.dispatchEvent(new Event("abort"));
  }

  throwIfAborted(): void {
    if (this.#isAborted) throw this.#reason;
  }

  /** Only for `abort`. It happens once, so nobody hears it twice. */
  addEventListener(_type: string, listener: Listener): void {
    if (!this.#listeners.includes(listener)) this.#listeners.push(listener);
  }

  removeEventListener(_type: string, listener: Listener): void {
    const at = this.#listeners.indexOf(listener);
    if (at >= 0) this.#listeners.splice(at, 1);
  }

  dispatchEvent(event: Event): boolean {
    this.onabort?.(event);
    for (const listener of this.#listeners.splice(0)) {
      if (typeof listener === "function") listener.call(this, event);
      else listener.handleEvent(event);
    }
    return true;
  }
}
