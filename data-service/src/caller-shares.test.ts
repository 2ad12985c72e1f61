// How many questions of one caller the database is asked at once.
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, it } from "@jest/globals";
import { CallerShares } from "./caller-shares.js";
import { countedAs } from "./counted-as.js";
import { ANONYMOUS, type Principal, type User } from "./principal.js";
import { Stop } from "./stop.js";

const user = (userId: string): User => ({ kind: "user", userId, roleId: null, isRootAdmin: false });
const [ann, ben, eve, kim, tom] = [user("ann"), user("ben"), user("eve"), user("kim"), user("tom")];

const rigs: { readonly underWay: () => string[]; readonly end: (at: number) => void }[] = [];

afterEach(async () => {
  for (const { underWay, end } of rigs.splice(0))
    for (; underWay().length > 0; await settled()) for (const _ of underWay()) end(0);
});

/** Shares, and questions that last until they are ended. */
function rig(most: number, { maxTimeMS = 10_000, mostSlow = most } = {}) {
  let now = 1_000;
  const seen = { waiting: 0, refused: 0 };
  const notes = {
    waiting: (change: number) => {
      seen.waiting += change;
    },
    refused: () => {
      seen.refused += 1;
    },
  };
  const shares = new CallerShares({ most, mostSlow }, notes, () => now);
  const begun: { readonly name: string; readonly end: () => void }[] = [];
  const ask = (
    caller: Principal,
    name = countedAs(caller),
    signal?: AbortSignal,
    isBatch = false,
  ): Promise<string> =>
    shares.of(caller)(() => new Promise((resolve) => begun.push({ name, end: () => resolve(name) })), {
      maxTimeMS,
      signal,
      isBatch,
    });
  const askMany = (caller: User, count: number): Promise<string>[] =>
    Array.from({ length: count }, (_, at) => ask(caller, `${caller.userId} ${at + 1}`));
  const underWay = (): string[] => begun.map(({ name }) => name);
  const end = (at: number): void => begun.splice(at, 1)[0]?.end();
  rigs.push({ underWay, end });
  const pass = (milliseconds: number): void => {
    now += milliseconds;
  };
  return { shares, seen, ask, askMany, underWay, end, pass };
}

/** Until what has ended has let others begin. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("the questions of one caller", () => {
  it("are half of what may be asked at once, the others in the order in which they came", async () => {
    const { askMany, underWay, end, seen } = rig(6);
    const answers = askMany(ann, 5);
    expect([underWay(), seen.waiting]).toEqual([["ann 1", "ann 2", "ann 3"], 2]);
    end(1);
    await settled();
    expect([underWay(), seen.waiting]).toEqual([["ann 1", "ann 3", "ann 4"], 1]);
    end(0);
    await settled();
    for (let left = 3; left > 0; left -= 1) end(0);
    expect(await Promise.all(answers)).toEqual(["ann 1", "ann 2", "ann 3", "ann 4", "ann 5"]);
    expect(seen).toEqual({ waiting: 0, refused: 0 });
  });

  it("are half of what others leave, so that several who ask much keep nobody out", async () => {
    const { ask, askMany, underWay, end } = rig(12);
    void [...askMany(ann, 9), ...askMany(ben, 9)];
    expect(underWay().filter((name) => name.startsWith("ann"))).toHaveLength(6);
    expect(underWay().filter((name) => name.startsWith("ben"))).toHaveLength(3);
    void ask(eve);
    expect(underWay()).toContain("eve");
    // Ann's turn is over: she is left (12 - 3 - 1) / 2, and Ben (12 - 4 - 1) / 2.
    for (let ended = 0; ended < 2; ended += 1) end(0);
    await settled();
    expect(underWay().filter((name) => name.startsWith("ann")).length).toBe(4);
    expect(underWay().filter((name) => name.startsWith("ben")).length).toBe(3);
  });

  it("are one at least, whatever others ask, where the database has a queue of its own", () => {
    const { askMany, ask, underWay } = rig(1);
    void [...askMany(ann, 2), ask(ben), ask(eve)];
    expect(underWay()).toEqual(["ann 1", "ben", "eve"]);
  });

  it("are as many as there are where there is no limit", () => {
    const { askMany, underWay } = rig(Number.POSITIVE_INFINITY);
    void askMany(ann, 100);
    expect(underWay()).toHaveLength(100);
  });

  it("are refused when they wait too long, and those behind them are asked", async () => {
    const { ask, underWay, end, seen } = rig(2, { maxTimeMS: 20 });
    const [first, second] = [ask(ann, "first"), ask(ann, "second")];
    await expect(second).rejects.toMatchObject({
      code: "SERVICE_UNAVAILABLE",
      headers: { "Retry-After": "2" },
    });
    expect(seen).toEqual({ waiting: 0, refused: 1 });
    const third = ask(ann, "third");
    end(0);
    await first;
    await settled();
    expect(underWay()).toEqual(["third"]);
    await delay(30);
    expect(seen).toEqual({ waiting: 0, refused: 1 });
    end(0);
    expect(await third).toBe("third");
  });

  it("come before others where their request is partly answered, but for the batches of a stream", async () => {
    const { shares, ask, underWay, end } = rig(2);
    const patience = { maxTimeMS: 10_000, signal: undefined };
    const [page, stream] = [shares.of(ann), shares.of(ann)];
    for (const share of [page, stream]) await share(async () => "first", patience);
    void [ask(ann, "a"), ask(ann, "b"), ask(ann, "c")];
    const order: string[] = [];
    const noting = (name: string) => async () => order.push(name);
    const answers = [
      stream(noting("batch"), { ...patience, isBatch: true }),
      page(noting("second"), patience),
      page(noting("third"), patience),
    ];
    expect([underWay(), order]).toEqual([["a"], []]);
    end(0);
    await settled();
    expect([underWay(), order]).toEqual([["b"], ["second", "third"]]);
    for (; underWay().length > 0; await settled()) end(0);
    await Promise.all(answers);
    expect(order).toEqual(["second", "third", "batch"]);
  });

  it("come one after eight of requests that are partly answered, however many these have", async () => {
    const { shares, ask, underWay, end } = rig(2);
    const patience = { maxTimeMS: 10_000, signal: undefined };
    const page = shares.of(ann);
    await page(async () => "first", patience);
    void ask(ann, "a");
    const order: string[] = [];
    const noting = (name: string) => async () => order.push(name);
    const answers = [
      shares.of(ann)(noting("other"), patience),
      ...Array.from({ length: 10 }, () => page(noting("later"), patience)),
      shares.of(ann)(noting("another"), patience),
    ];
    expect(underWay()).toEqual(["a"]);
    end(0);
    await Promise.all(answers);
    const later = (count: number): string[] => Array(count).fill("later");
    expect(order).toEqual([...later(8), "other", ...later(2), "another"]);
  });

  it("wait no longer than for their client, and those behind them are asked", async () => {
    const { ask, underWay, end, seen } = rig(2);
    const [stop, later] = [new Stop(), new Stop()];
    const [first, left, third] = [ask(ann, "first"), ask(ann, "left", stop), ask(ann, "third", later)];
    stop.abort(new Error("gone"));
    await expect(left).rejects.toThrow("gone");
    expect(seen).toEqual({ waiting: 1, refused: 0 });
    end(0);
    await first;
    await settled();
    expect(underWay()).toEqual(["third"]);
    later.abort(new Error("gone while it was asked"));
    expect(seen.waiting).toBe(0);
    end(0);
    expect(await third).toBe("third");
  });

  it("leave their places when they fail", async () => {
    const { shares, ask, underWay } = rig(2);
    const broken = shares.of(ann)(() => Promise.reject(new Error("broken")), {
      maxTimeMS: 1_000,
      signal: undefined,
    });
    await expect(broken).rejects.toThrow("broken");
    void ask(ann);
    expect(underWay()).toEqual(["ann"]);
  });

  it("are those of one network where nobody has signed in", () => {
    const { ask, underWay } = rig(2);
    for (const address of ["192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2"])
      void ask({ ...ANONYMOUS, address }, address);
    expect(underWay()).toEqual(["192.0.2.1", "192.0.2.2"]);
  });

  describe("where the database works on fewer at once than it has connections", () => {
    const embedded = () => {
      const made = rig(20, { mostSlow: 8 });
      const endSome = async (count: number): Promise<void> => {
        for (let ended = 0; ended < count; ended += 1) made.end(0);
        await settled();
      };
      return { ...made, endSome };
    };

    it("are one more for each quick answer, to half of the connections", async () => {
      const { askMany, underWay, endSome, pass } = embedded();
      void askMany(ann, 40);
      expect(underWay()).toHaveLength(4);
      pass(249);
      await endSome(1);
      expect(underWay()).toHaveLength(5);
      await endSome(4);
      expect(underWay()).toHaveLength(9);
      await endSome(4);
      expect(underWay()).toHaveLength(10);
    });

    it("are few again as soon as one of them takes long, and for a while after it", async () => {
      const { askMany, underWay, endSome, pass } = embedded();
      void askMany(ann, 90);
      await endSome(4);
      await endSome(8);
      expect(underWay()).toHaveLength(10);
      pass(250);
      await endSome(6);
      expect(underWay()).toHaveLength(4);
      await endSome(4);
      for (let passed = 200; passed < 2_000; passed += 200) {
        pass(200);
        await endSome(4);
        expect(underWay()).toHaveLength(4);
      }
      pass(200);
      await endSome(4);
      expect(underWay()).toHaveLength(8);
    });

    it("are few at first after a pause: what was quick before says nothing of it", async () => {
      const { askMany, underWay, endSome, pass } = embedded();
      void askMany(ann, 30);
      while (underWay().length > 0) await endSome(1);
      pass(999);
      void askMany(ann, 10);
      expect(underWay()).toHaveLength(10);
      await endSome(10);
      pass(1_000);
      void askMany(ann, 10);
      expect(underWay()).toHaveLength(4);
    });

    it("are few after any number of quick answers that were asked for one after another", async () => {
      const { ask, askMany, underWay, endSome } = embedded();
      void askMany(ann, 30);
      while (underWay().length > 0) await endSome(1);
      for (let asked = 0; asked < 30; asked += 1) {
        void ask(ann);
        await endSome(1);
      }
      void askMany(ann, 30);
      expect(underWay()).toHaveLength(5);
    });

    it("are one more for each quick answer beside those of others that may take long, too", async () => {
      const { ask, askMany, underWay, end } = embedded();
      void ask(kim);
      end(0);
      await settled();
      for (const caller of [ann, ben, eve, tom]) void askMany(caller, 9);
      void askMany(kim, 9);
      const seen: number[] = [];
      for (let ended = 0; ended < 4; ended += 1) {
        seen.push(underWay().length - 8);
        end(8);
        await settled();
      }
      expect(seen).toEqual([1, 1, 2, 3]);
    });

    it("are few while they are batches of streams: quick ones say nothing of the next", async () => {
      const { ask, underWay, endSome } = embedded();
      const askBatches = (caller: User): void => {
        for (let asked = 0; asked < 30; asked += 1) void ask(caller, caller.userId, undefined, true);
      };
      askBatches(ann);
      await endSome(4);
      await endSome(4);
      expect(underWay()).toHaveLength(4);
      for (const caller of [ben, eve, kim, tom]) askBatches(caller);
      expect(underWay()).toHaveLength(8);
      void ask(ann);
      expect(underWay()).toHaveLength(8);
    });

    it("are no more of all together than may take long, one at least for as many callers as find room", async () => {
      const { askMany, ask, underWay, endSome } = embedded();
      for (const caller of [ann, ben, eve, tom]) void askMany(caller, 9);
      const full = ["ann 1", "ann 2", "ann 3", "ann 4", "ben 1", "ben 2", "eve 1", "tom 1"];
      void ask(kim);
      expect(underWay()).toEqual(full);
      await endSome(1);
      expect(underWay()).toEqual([...full.slice(1), "kim"]);
    });

    it("take turns while too many may take long: who has many waiting gets no more than others", async () => {
      const { askMany, ask, underWay, pass, endSome } = embedded();
      const names = Array.from({ length: 10 }, (_, at) => `user${at}`);
      for (const name of names) void askMany(user(name), 200);
      const begun = new Set(underWay().map((name) => name.split(" ")[0]));
      for (let ended = 0; ended < 10; ended += 1) {
        pass(300);
        await endSome(1);
        begun.add(underWay().at(-1)?.split(" ")[0]);
      }
      expect(begun).toEqual(new Set(names));
      void ask(kim);
      for (let ended = 0; ended < 11 && !underWay().includes("kim"); ended += 1) {
        pass(300);
        await endSome(1);
      }
      expect([underWay().includes("kim"), underWay().length]).toEqual([true, 8]);
    });

    it("find their places beside those, as many as were answered quickly since the last pause", async () => {
      const { askMany, underWay, end, pass } = embedded();
      void askMany(kim, 2);
      for (const at of [1, 0]) end(at);
      await settled();
      for (const caller of [ann, ben, eve, tom]) void askMany(caller, 9);
      pass(999);
      void askMany(kim, 3);
      expect(underWay().slice(8)).toEqual(["kim 1", "kim 2"]);
      for (const at of [9, 8]) end(at);
      await settled();
      expect(underWay().slice(8)).toEqual(["kim 3"]);
      end(8);
      await settled();
      pass(1_000);
      void askMany(kim, 1);
      expect(underWay()).toHaveLength(8);
    });
  });
});
