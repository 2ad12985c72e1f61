// Which key signs at what time, and which are believed.
import { generateKeyPairSync } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { believedAt, inTurn, keyAt, type RingKey, ringKey } from "./keys.js";

const at = (seconds: number) => new Date(seconds * 1000);
const OVERLAP_MS = 930_000;

/** Keys whose turns begin at 0, 1000 and 5000 s. */
let turns: readonly RingKey[];

beforeAll(async () => {
  const made = [5000, 0, 1000].map((seconds) =>
    ringKey(generateKeyPairSync("ed25519").privateKey, at(seconds)),
  );
  turns = inTurn(await Promise.all(made));
});

const turnOf = (key: RingKey | undefined) => (key?.activeFrom.getTime() ?? Number.NaN) / 1000;

describe("the key that signs", () => {
  it.each([
    [0, 0],
    [999, 0],
    [1000, 1000],
    [4999, 1000],
    [99_999, 5000],
  ])("at %d s is the one whose turn began at %d s", (seconds, turn) => {
    expect(turnOf(keyAt(turns, at(seconds)))).toBe(turn);
  });

  it("is the next one that can, and is believed, where the private half is gone", () => {
    const gone = turns.map((key, turn) => (turn < 2 ? { ...key, privateKey: undefined } : key));
    expect(turnOf(keyAt(gone, at(500)))).toBe(5000);
    expect(believedAt(gone, at(500), OVERLAP_MS)).toContain(keyAt(gone, at(500)));
    expect(keyAt(gone.slice(0, 2), at(500))).toBeUndefined();
  });

  it("is the first when no turn has begun, and none without keys", () => {
    expect(turnOf(keyAt(turns.slice(1), at(5)))).toBe(1000);
    expect(keyAt([], at(5))).toBeUndefined();
  });

  it("of two turns that begin at once is the same whatever the order they are read in", () => {
    const twins = turns.map((key) => ({ ...key, activeFrom: at(7) }));
    expect(keyAt(inTurn(twins), at(8))?.kid).toBe(keyAt(inTurn(twins.toReversed()), at(8))?.kid);
  });
});

describe("the keys that are believed", () => {
  it.each([
    ["all at first, also those whose turn is yet to come", 500, [0, 1000, 5000]],
    ["the former until its last token is over", 1929, [0, 1000, 5000]],
    ["and then no longer", 1930, [1000, 5000]],
    ["the last for ever", 1_000_000, [5000]],
  ])("%s", (_name, seconds, expected) => {
    expect(believedAt(turns, at(seconds), OVERLAP_MS).map(turnOf)).toEqual(expected);
  });
});
