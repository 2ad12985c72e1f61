// How many streams there may be, and how they end with their process.
import { describe, expect, it } from "@jest/globals";
import { StreamEnd, Streams } from "./streams.js";

describe("streams of changes", () => {
  it("are a hundred of one caller, and one more when one of these is closed", () => {
    const streams = new Streams();
    const [first = streams.open("ann")] = Array.from({ length: 100 }, () => streams.open("ann"));
    expect(() => streams.open("ann")).toThrow("You follow changes 100 times already");
    streams.open("ben");
    streams.close(first);
    streams.open("ann");
    expect(() => streams.open("ann")).toThrow("You follow changes 100 times already");
  });

  it("are a thousand of all callers", () => {
    const streams = new Streams();
    for (let caller = 0; caller < 1_000; caller += 1) streams.open(`caller ${caller}`);
    expect(() => streams.open("ann")).toThrow("Too many clients follow changes here");
  });

  it("end once: the first reason counts", () => {
    const end = new StreamEnd();
    end.end("slow");
    end.end("gone");
    expect([end.reason, end.signal.aborted]).toEqual(["slow", true]);
  });
});

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
