// How instances know of each other.
import { EventEmitter, once } from "node:events";
import { describe, expect, it } from "@jest/globals";
import { systemClock } from "@portico/shared/clock";
import { makeLogger } from "@portico/shared/logger";
import { CurrentCatalog } from "./current-catalog.js";
import { Presence } from "./presence.js";
import { WriteGate } from "./write-gate.js";

/** @param look what an instance waits for whenever it looks for changes */
function presenceOf(look: () => Promise<void> = async () => {}) {
  const left: string[] = [];
  const instances = {
    announce: async () => {},
    leave: async (instance: string) => void left.push(instance),
    behind: async () => [],
    lives: async () => true,
    anyLives: async () => true,
    clear: async () => {},
    sweep: async () => undefined,
  };
  const state = async () => {
    await look();
    return { version: 0, changing: [] };
  };
  const catalogs = new CurrentCatalog({ state, load: async () => [] }, [], systemClock);
  const gate = new WriteGate(catalogs);
  return { presence: new Presence(instances, catalogs, gate, makeLogger("test", "silent")), gate, left };
}

it("a change that has waited in vain for writes says that they may be of any table", async () => {
  const { presence, gate } = presenceOf();
  void gate.run(() => new Promise(() => undefined));
  const message =
    "Writes that began earlier, of this table or another, take too long to end; try again later.";
  await expect(presence.everyone(0, 1)).rejects.toMatchObject({ code: "CONFLICT", messages: message });
});

describe("an instance that stops", () => {
  it("waits for a chore no longer than it may, and takes itself out of the list", async () => {
    const { presence, left } = presenceOf();
    await new Promise<void>((begun) => {
      const chore = () => {
        begun();
        return new Promise(() => undefined);
      };
      void presence.start([chore]);
    });
    await presence.stop(50);
    expect(left).toEqual([presence.id]);
  });

  it("begins no chore after a look for changes that was under way: the database is closed by then", async () => {
    const signals = new EventEmitter();
    let isHeld = false;
    const { presence } = presenceOf(async () => {
      if (!isHeld) return;
      const found = once(signals, "found");
      signals.emit("looking");
      await found;
    });
    let chores = 0;
    const chore = async () => {
      chores += 1;
    };
    await presence.start([chore]);
    const looking = once(signals, "looking");
    isHeld = true;
    await looking;
    const before = chores;
    const stopped = presence.stop(5_000);
    signals.emit("found");
    await stopped;
    expect(chores).toBe(before);
  });
});
