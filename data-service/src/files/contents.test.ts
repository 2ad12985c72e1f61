// The bytes of files beside their records: what becomes of them when several let go of some, or many go at once.
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { makeLogger } from "@portico/shared/logger";
import { type ContentLedger, makeContentLedger } from "../mongo/content-ledger.js";
import { openTestDatabase, type TestDatabase } from "../mongo/database-fixture.js";
import { away } from "../mongo/driver-errors.js";
import { mayStillBeDone, TakenBackLater } from "../records/whole/uncertain.js";
import type { ContentStore } from "./content-store.js";
import { Contents } from "./contents.js";

const LEASE_MS = 60_000;

let now = new Date();
/** As much later that what was noted before is spoken for no longer. */
const aLeaseLater = (): void => {
  now = new Date(now.getTime() + LEASE_MS + 1);
};

let database: TestDatabase;
let ledger: ContentLedger;
let contents: Contents;
/** Keys of bytes that are stored. */
const stored = new Set<string>();
let [removing, removingAtOnce] = [0, 0];
/** So many have to be removing before any of them ends, however busy the machine is. */
let awaited = 0;
/** What becomes of the next write instead. */
let failure: Error | undefined;
/** What comes before each removal. */
let beforeRemoval = (): void => undefined;

/** A store that takes its time to remove. */
const store: ContentStore = {
  async write(key) {
    if (failure !== undefined) throw failure;
    stored.add(key);
  },
  mayStillLand: mayStillBeDone,
  async *read() {},
  async remove(key) {
    beforeRemoval();
    removing += 1;
    removingAtOnce = Math.max(removingAtOnce, removing);
    while (removingAtOnce < awaited) await pause(1);
    await pause(20);
    removing -= 1;
    stored.delete(key);
  },
};

const instance = (leaseMs = LEASE_MS, ledgerOf = ledger): Contents => {
  const logger = makeLogger("test", "silent");
  return new Contents({ ledger: ledgerOf, store, clock: { now: () => now }, logger, leaseMs });
};

beforeAll(async () => {
  database = await openTestDatabase();
  ledger = makeContentLedger(database.db, "files");
});

afterAll(() => database?.close());

beforeEach(async () => {
  contents = instance();
  await records().deleteMany({});
  await pending().deleteMany({});
  stored.clear();
  [removing, removingAtOnce, awaited, failure] = [0, 0, 0, undefined];
  beforeRemoval = () => undefined;
});

const records = () => database.db.collection("files");
const pending = () => database.db.collection<{ _id: string; leaseUntil: Date }>("_content_pending");
const notes = () => pending().countDocuments();

/** A file with its bytes. @returns their key */
async function file(): Promise<string> {
  const key = await contents.write((async function* () {})());
  await records().insertOne({ _contentKey: key });
  await contents.settle(key);
  return key;
}

it("many that go at once are decided about a few at a time", async () => {
  const keys = await Promise.all(Array.from({ length: 40 }, file));
  awaited = 8;
  await contents.letGo(keys, () => records().deleteMany({ _contentKey: { $ne: keys[0] } }));
  expect([[...stored], await notes()]).toEqual([[keys[0]], 0]);
  expect(removingAtOnce).toBe(8);
});

describe("of many that go at once, those not begun with are left to the sweep", () => {
  afterEach(() => void jest.restoreAllMocks());

  it.each<[string, () => void]>([
    [
      "once the store has failed",
      () => {
        throw new Error("the bucket says nothing");
      },
    ],
    [
      "after a while",
      () => {
        const later = performance.now() + 6_000;
        jest.spyOn(performance, "now").mockReturnValue(later);
      },
    ],
  ])("%s", async (_when, what) => {
    const keys = await Promise.all(Array.from({ length: 40 }, file));
    let begun = 0;
    beforeRemoval = () => {
      begun += 1;
      what();
    };
    await contents.letGo(keys, () => records().deleteMany({}));
    expect(begun).toBeGreaterThan(0);
    expect(begun).toBeLessThanOrEqual(8);
    expect(stored.size).toBeGreaterThanOrEqual(32);
    expect(await notes()).toBe(stored.size);
    beforeRemoval = () => undefined;
    for (let sweeps = 0; sweeps < 2; sweeps += 1) {
      aLeaseLater();
      await contents.sweep();
    }
    expect([[...stored], await notes()]).toEqual([[], 0]);
  });
});

it.each([
  ["of this process", () => contents],
  ["of another one", () => instance()],
])(
  "who lets go of the same content as one %s, and fails, leaves the note to that one",
  async (_whose, other) => {
    const key = await file();
    let go = (): void => undefined;
    const held = new Promise<void>((resolve) => (go = resolve));
    const removal = other().letGo([key], async () => {
      await held;
      await records().deleteMany({});
    });
    const failure = contents.letGo([key], async () => {
      throw new Error("has been changed meanwhile");
    });
    await expect(failure).rejects.toThrow("changed meanwhile");
    expect([[...stored], await notes()]).toEqual([[key], 1]);
    go();
    await removal;
    expect([[...stored], await notes()]).toEqual([[], 0]);
  },
);

describe("a content that one work has replaced and gives back", () => {
  const rename = (from: string, to: string) =>
    records().updateOne({ _contentKey: from }, { $set: { _contentKey: to } });
  const refused = async (): Promise<never> => {
    throw new Error("no");
  };
  const write = () => contents.write((async function* () {})());

  it("stays, though another who let go of it was refused meanwhile", async () => {
    const [former, next] = [await file(), await write()];
    const failure = contents.letGo([former], async () => {
      await rename(former, next);
      await expect(contents.letGo([former], refused)).rejects.toThrow("no");
      await rename(next, former);
      return refused();
    });
    await expect(failure).rejects.toThrow("no");
    await contents.discard(next);
    expect([[...stored], await notes()]).toEqual([[former], 0]);
  });

  it("stays, though whoever wrote it gives it up before it is given back", async () => {
    const [former, next, last] = [await file(), await write(), await write()];
    await rename(former, next);
    const failure = contents.letGo([next], async () => {
      await rename(next, last);
      await contents.discard(next);
      await rename(last, next);
      return refused();
    });
    await expect(failure).rejects.toThrow("no");
    await Promise.all([former, last].map((key) => contents.discard(key)));
    expect([[...stored], await notes()]).toEqual([[next], 0]);
  });

  it("goes with its writer's note, where another has let go of it before", async () => {
    const [former, next] = [await file(), await write()];
    await rename(former, next);
    await contents.letGo([next], () => records().deleteMany({ _contentKey: next }));
    await contents.settle(next);
    await contents.discard(former);
    expect([[...stored], await notes()]).toEqual([[], 0]);
  });

  it("stays, though it is given back while a sweep looks", async () => {
    const [former, next] = [await file(), await write()];
    await ledger.open([former], "dead", now);
    await ledger.take(now, now);
    const looking = { ...ledger };
    looking.isNamed = async (key) => {
      if (key !== former) return ledger.isNamed(key);
      let isNamed = true;
      const failure = contents.letGo([former], async () => {
        await rename(former, next);
        isNamed = await ledger.isNamed(key);
        await rename(next, former);
        return refused();
      });
      await expect(failure).rejects.toThrow("no");
      return isNamed;
    };
    await instance(LEASE_MS, looking).sweep();
    expect(stored).toContain(former);
  });
});

it("of several who fail at once, none leaves a note", async () => {
  const key = await file();
  const fail = () => contents.letGo([key], () => Promise.reject(new Error("no")));
  await Promise.allSettled(Array.from({ length: 10 }, fail));
  expect([[...stored], await notes()]).toEqual([[key], 0]);
});

it("a sweep leaves the note of whoever has begun to let go while it decided", async () => {
  const later = new Date(now.getTime() + LEASE_MS);
  await ledger.open(["old"], "dead", now);
  expect(await ledger.take(now, now)).toEqual({ key: "old", again: false });
  expect(await ledger.take(now, later)).toEqual({ key: "old", again: true });
  await ledger.open(["old"], "alive", later);
  await ledger.closeDecided("old", undefined);
  expect(await notes()).toBe(1);
  for (let sweeps = 0; sweeps < 2; sweeps += 1) {
    aLeaseLater();
    await contents.sweep();
  }
  expect(await notes()).toBe(0);
});

describe("a content that nobody has spoken for, for as long as a lease", () => {
  let key: string;
  beforeEach(async () => {
    key = await contents.write((async function* () {})());
    await contents.claim(key);
    aLeaseLater();
    await instance().sweep();
  });

  it("can't come to be named any more, and goes after another lease", async () => {
    await expect(contents.claim(key)).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
    expect([[...stored], await notes()]).toEqual([[key], 1]);
    aLeaseLater();
    await instance().sweep();
    expect([[...stored], await notes()]).toEqual([[], 0]);
  });

  it("stays when the record that was being written then names it by the time", async () => {
    await records().insertOne({ _contentKey: key });
    await contents.settle(key);
    aLeaseLater();
    await instance().sweep();
    expect([[...stored], await notes()]).toEqual([[key], 0]);
  });
});

describe("where a write has failed that can still be done, or is taken back later", () => {
  const unanswered = away(new Error("the connection is closed"));
  const takenBackLater = new TakenBackLater("SERVICE_UNAVAILABLE");
  const twoLeasesLater = async (): Promise<void> => {
    for (let sweeps = 0; sweeps < 2; sweeps += 1) {
      aLeaseLater();
      await contents.sweep();
    }
  };

  it.each([
    ["the answer was lost", unanswered, 1],
    ["it was refused", new Error("no"), 0],
  ])("the bytes that come all the same are removed, and looked for where %s", async (_why, error, left) => {
    failure = error;
    await expect(contents.write((async function* () {})())).rejects.toBe(error);
    expect([[...stored], await notes()]).toEqual([[], left]);
    for await (const { _id } of pending().find()) stored.add(_id);
    await twoLeasesLater();
    expect([[...stored], await notes()]).toEqual([[], 0]);
  });

  it.each([
    ["it is, or is not", unanswered],
    ["it is taken back, which could not be done at once", takenBackLater],
  ])("the former bytes stay until %s", async (_what, error) => {
    const [replaced, kept] = [await file(), await file()];
    const failure = contents.letGo([replaced, kept], () => Promise.reject(error));
    await expect(failure).rejects.toBe(error);
    expect([stored.size, await notes()]).toEqual([2, 2]);
    await records().deleteMany({ _contentKey: replaced });
    await twoLeasesLater();
    expect([[...stored], await notes()]).toEqual([[kept], 0]);
  });

  it("the new bytes go once the record that names them is taken back", async () => {
    const key = await file();
    await ledger.open([key], key, now);
    await contents.giveUp(key, takenBackLater);
    await records().deleteMany({ _contentKey: key });
    await twoLeasesLater();
    expect([[...stored], await notes()]).toEqual([[], 0]);
  });

  it("the new bytes stay for the record that comes to name them", async () => {
    const [named, unnamed] = await Promise.all([1, 2].map(() => contents.write((async function* () {})())));
    for (const key of [named, unnamed]) await contents.giveUp(String(key), unanswered);
    expect([stored.size, await notes()]).toEqual([2, 2]);
    await records().insertOne({ _contentKey: named });
    await twoLeasesLater();
    expect([[...stored], await notes()]).toEqual([[named], 0]);
  });
});

it("a content that was left is waited for no longer when the clock has been set back since", async () => {
  await contents.write((async function* () {})());
  now = new Date(now.getTime() - 24 * 60 * 60_000);
  await instance().sweep();
  aLeaseLater();
  await instance().sweep();
  expect([[...stored], await notes()]).toEqual([[], 0]);
});

it("a content that was left goes at once where the only process starts", async () => {
  await contents.write((async function* () {})());
  const alone = instance();
  await alone.start(true);
  await alone.stop(5_000);
  expect([[...stored], await notes()]).toEqual([[], 0]);
});

describe("a sweep that takes its time", () => {
  async function begin(leaseMs?: number): Promise<Contents> {
    for (const key of ["one", "two", "three"]) stored.add(key);
    await ledger.open([...stored], "dead", now);
    awaited = 2;
    const sweeper = instance(leaseMs);
    await sweeper.start(true);
    while (removing === 0) await pause(1);
    return sweeper;
  }

  it("is the only one, while what its process works on is spoken for", async () => {
    // Its turns come every 10 ms.
    const leaseMs = 30;
    const sweeper = await begin(leaseMs);
    const key = await sweeper.write((async function* () {})());
    for (let turns = 0; turns < 3; turns += 1) {
      now = new Date(now.getTime() + leaseMs / 2);
      const spokenFor = { _id: key, leaseUntil: new Date(now.getTime() + leaseMs) };
      while ((await pending().countDocuments(spokenFor)) === 0) await pause(1);
    }
    expect(removingAtOnce).toBe(1);
    awaited = 0;
    await sweeper.stop(5_000);
  });

  it("is let end when it is to stop", async () => {
    const sweeper = await begin();
    const stopped = sweeper.stop(30_000);
    awaited = 0;
    await stopped;
    expect([stored.size, await notes()]).toEqual([0, 0]);
  });

  it("ends with the content that it is at, when that takes long", async () => {
    const sweeper = await begin();
    const stopped = sweeper.stop(3_000);
    await pause(1_500);
    awaited = 0;
    await stopped;
    expect([stored.size, await notes()]).toEqual([2, 2]);
  });
});
