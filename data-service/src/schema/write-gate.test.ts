// Changes of tables and a stop wait for writes, also when nobody waits for their answer.
import { beforeEach, describe, expect, it } from "@jest/globals";
import { systemClock } from "@portico/shared/clock";
import { CurrentCatalog } from "./current-catalog.js";
import { WriteGate } from "./write-gate.js";

const LONG_MS = 60_000;

let changes: number;
let catalogs: CurrentCatalog;

beforeEach(() => {
  changes = 0;
  const noTables = {
    state: async () => ({ version: changes, changing: [] }),
    load: async () => [],
  };
  catalogs = new CurrentCatalog(noTables, [], systemClock);
});

const makeGate = (): WriteGate => new WriteGate(catalogs);

/** A table was changed, and this instance knows it. */
async function follow(): Promise<void> {
  changes += 1;
  await catalogs.refresh();
}

/** A write that goes on until it is ended. */
function makeWrite(): { readonly write: () => Promise<string>; readonly end: () => void } {
  let end = (): void => {};
  const ended = new Promise<string>((resolve) => {
    end = () => resolve("written");
  });
  return { write: () => ended, end };
}

/** Whether a promise is settled when everything that can go on has gone on. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const nothing = Symbol();
  const later = new Promise((resolve) => setImmediate(() => resolve(nothing)));
  return (await Promise.race([promise, later])) !== nothing;
}

describe("a change of a table", () => {
  it("waits for writes that began by the catalog before it, and for no later ones", async () => {
    const gate = makeGate();
    await follow();
    const [before, after] = [makeWrite(), makeWrite()];
    const writes = [gate.run(before.write)];
    await follow();
    writes.push(gate.run(after.write));
    expect(gate.version).toBe(1);
    before.end();
    await writes[0];
    expect(gate.version).toBe(2);
    after.end();
    await writes[1];
  });

  it("takes no notice of what is held", async () => {
    const gate = makeGate();
    await follow();
    const { write, end } = makeWrite();
    const held = gate.hold(write);
    await follow();
    expect(gate.version).toBe(2);
    end();
    await held;
  });
});

describe("a gate that is closed", () => {
  it("waits for every write under way", async () => {
    const gate = makeGate();
    const [first, second] = [makeWrite(), makeWrite()];
    const writes = [gate.run(first.write), gate.run(second.write)];
    const closed = gate.close(LONG_MS);
    expect(await isSettled(closed)).toBe(false);
    first.end();
    expect(await isSettled(closed)).toBe(false);
    second.end();
    await closed;
    expect(await Promise.all(writes)).toEqual(["written", "written"]);
  });

  it("waits for what is held", async () => {
    const gate = makeGate();
    const { write, end } = makeWrite();
    const held = gate.hold(write);
    const closed = gate.close(LONG_MS);
    expect(await isSettled(closed)).toBe(false);
    end();
    await Promise.all([held, closed]);
  });

  it("waits for no write that was refused", async () => {
    const gate = makeGate();
    await expect(gate.run(() => Promise.reject(new Error("refused")))).rejects.toThrow("refused");
    await gate.close(LONG_MS);
  });

  it("lets no other write begin", async () => {
    const gate = makeGate();
    await gate.close(LONG_MS);
    let hasBegun = false;
    const write = gate.run(async () => {
      hasBegun = true;
    });
    await expect(write).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
    expect(hasBegun).toBe(false);
  });

  it("gives up when its patience ends", async () => {
    const gate = makeGate();
    const { write, end } = makeWrite();
    const running = gate.run(write);
    await gate.close(1);
    end();
    expect(await running).toBe("written");
  });
});
