// What breaks off the questions of a request is heard as Node's own signal is.
import { describe, expect, it } from "@jest/globals";
import { Stop } from "./stop.js";

const GONE = new Error("gone");

/** What listeners hear, and how. */
function heardFrom(stop: { signal: AbortSignal; abort(reason: unknown): void }): unknown[] {
  const heard: unknown[] = [];
  const { signal } = stop;
  function plain(this: AbortSignal, { type }: Event): void {
    heard.push([type, this === signal, this.aborted, this.reason]);
  }
  const left = (): void => void heard.push("left");
  signal.addEventListener("abort", plain, { once: true });
  signal.addEventListener("abort", plain, { once: true });
  signal.addEventListener("abort", left);
  signal.addEventListener("abort", { handleEvent: ({ type }) => void heard.push(["object", type]) });
  signal.onabort = ({ type }) => void heard.push(["property", type]);
  signal.removeEventListener("abort", left);
  signal.removeEventListener("abort", () => {});
  signal.throwIfAborted();
  heard.push([signal.aborted, signal.reason]);
  stop.abort(GONE);
  stop.abort(new Error("again"));
  heard.push([signal.aborted, signal.reason]);
  return heard.sort((one, other) => JSON.stringify(one).localeCompare(JSON.stringify(other)));
}

describe("a stop", () => {
  it("is heard as that of an AbortController", () => {
    const stop = new Stop();
    const heard = heardFrom({ signal: stop, abort: (reason) => stop.abort(reason) });
    expect(heard).toEqual(heardFrom(new AbortController()));
    expect(heard).toHaveLength(5);
  });

  it("throws its reason, once there is one", () => {
    const stop = new Stop();
    stop.throwIfAborted();
    stop.abort(GONE);
    expect(() => stop.throwIfAborted()).toThrow(GONE);
  });
});
