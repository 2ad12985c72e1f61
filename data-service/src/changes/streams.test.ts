// How many streams there may be, and how they end with their process.
import { describe, expect, it } from "@jest/globals";
import { Streams } from "./streams.js";

describe("streams of changes in a process that stops", () => {
  it("end so that browsers open them elsewhere", () => {
    const streams = new Streams();
    const open = streams.open("ann");
    streams.stop();
    expect(open.reason).toBe("restart");
  });

  it("end at once where they come late, and count for nobody", () => {
    const streams = new Streams();
    streams.stop();
    const late = Array.from({ length: 200 }, () => streams.open("ann"));
    expect(new Set(late.map(({ reason }) => reason))).toEqual(new Set(["restart"]));
    expect(late.every(({ signal }) => signal.aborted)).toBe(true);
  });
});
