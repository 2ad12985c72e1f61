// The `id:` of an event leads back to its place in the journal, tells nothing, and can't be forged.
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { makePositions } from "./position.js";

const entry = "0123456789abcdef01234567";
const table = { id: "t", journalEpoch: 3 };

describe("a position", () => {
  const positions = makePositions(randomBytes(32));

  it.each([
    { number: 0, entry: "" },
    { number: 1, entry },
    { number: 9_007_199_254_740_991, entry },
  ])("%j comes back as it was", (position) => {
    expect(positions.read(positions.write(position, table), table)).toEqual({ position, epoch: 3 });
  });

  it("reads differently each time, so that it tells nothing of how much is written", () => {
    const position = { number: 5, entry };
    expect(positions.write(position, table)).not.toBe(positions.write(position, table));
  });

  it("of another table, another system, or changed, is none", () => {
    const text = positions.write({ number: 5, entry }, table);
    expect(positions.read(text, { id: "other" })).toBeUndefined();
    expect(makePositions(randomBytes(32)).read(text, table)).toBeUndefined();
    expect(positions.read(`${text.slice(0, -3)}AAA`, table)).toBeUndefined();
    expect(positions.read("", table)).toBeUndefined();
  });
});
