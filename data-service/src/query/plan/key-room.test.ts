// The keys of all relations of a query stay below the size of one command.
import { describe, expect, it } from "@jest/globals";
import { KeyRoom } from "./key-room.js";

describe("the room for keys", () => {
  it("is shared by all relations of a query, and weighs what the keys weigh", () => {
    const room = new KeyRoom(2_000);
    const small = Array.from({ length: 10 }, (_, at) => `${at}`.repeat(36));
    expect([1, 2, 3, 4, 5].map(() => room.takes(small))).toEqual([true, true, true, true, false]);
    expect(room.takes(["x"])).toBe(true);
  });

  it("is none for a few keys that are long", () => {
    expect(new KeyRoom(2_000).takes(["x".repeat(2_000)])).toBe(false);
  });
});
