import { describe, expect, it } from "@jest/globals";
import { orUndo } from "./undo.js";

describe("orUndo", () => {
  it("takes nothing back when all goes well", async () => {
    const events: string[] = [];
    await orUndo(async (undo) => {
      undo.push(async () => void events.push("a back"));
    });
    expect(events).toEqual([]);
  });

  it("takes everything back, the last first, and refuses with the first failure", async () => {
    const events: string[] = [];
    const failing = orUndo(async (undo) => {
      undo.push(async () => void events.push("a back"));
      undo.push(async () => void events.push("b back"));
      throw new Error("no c");
    });
    await expect(failing).rejects.toThrow("no c");
    expect(events).toEqual(["b back", "a back"]);
  });
});
