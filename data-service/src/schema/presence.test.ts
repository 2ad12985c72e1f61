// How instances know of each other.
import { describe, expect, it } from "@jest/globals";
import { systemClock } from "@portico/shared/clock";
import { makeLogger } from "@portico/shared/logger";
import { CurrentCatalog } from "./current-catalog.js";
import { Presence } from "./presence.js";
import { WriteGate } from "./write-gate.js";

const source = { state: async () => ({ version: 0, changing: [] }), load: async () => [] };

describe("an instance that stops", () => {
  it("waits for a chore no longer than it may, and takes itself out of the list", async () => {
    const left: string[] = [];
    const instances = {
      announce: async () => {},
      leave: async (instance: string) => void left.push(instance),
      behind: async () => [],
      lives: async () => true,
      anyLives: async () => true,
      clear: async () => {},
    };
    const catalogs = new CurrentCatalog(source, [], systemClock);
    const presence = new Presence(instances, catalogs, new WriteGate(catalogs), makeLogger("test", "silent"));
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
});
