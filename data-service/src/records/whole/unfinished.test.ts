// Requests of several writes happen wholly or not at all, also when their process dies.
import { describe, expect, it } from "@jest/globals";
import { AppError } from "@portico/shared/app-error";
import { type Logger, makeLogger } from "@portico/shared/logger";
import { ObjectId } from "bson";
import { away as databaseAway } from "../../mongo/driver-errors.js";
import type { Note } from "../../mongo/unfinished-store.js";
import { NOTED_FIELD } from "./former-fields.js";
import type { Step } from "./steps.js";
import { mayStillChange } from "./uncertain.js";
import { Unfinished, type UnfinishedDeps } from "./unfinished.js";

const step = (table: string): Step => ({ kind: "made", table, ids: [1] });
/** A change that names itself, and has found another name. */
const changed = (table: string, by: ObjectId, found?: ObjectId): Step => ({
  kind: "changed",
  table,
  id: 1,
  changes: 0,
  moves: 0,
  by,
  at: new Date(0),
  set: found === undefined ? {} : { [NOTED_FIELD]: found },
  unset: [],
  lists: {},
});
const refusal = new AppError("CONFLICT", "no c");
const unanswered = databaseAway(new Error("the connection is closed"));

/** Of a request with an Idempotency-Key. */
const TURN = { once: { key: "k", owner: "o" }, finish: async () => true };

/** Notes in memory, and what was taken back, in its order. */
function world({ alone = false } = {}) {
  const kept = new Map<string, Note>();
  const back: string[] = [];
  /** Keys that were set free. */
  const freed: string[] = [];
  /** Of those who took it back. */
  const loggers: Logger[] = [];
  /** One for each answer of `end` that is lost, alone or with the process that waits for it. */
  const lost: ("answer" | "process")[] = [];
  const away = { isAway: false };
  const there = { areDone: true };
  /** Tables that are deleted and may come back. */
  const deleted = new Set<string>();
  const same = ({ id, instance }: Pick<Note, "id" | "instance">): boolean =>
    kept.get(id.toHexString())?.instance === instance;
  const notes: UnfinishedDeps["notes"] = {
    begin: async (note) => void kept.set(note.id.toHexString(), note),
    add: async (note, added) => {
      const former = kept.get(note.id.toHexString());
      if (former === undefined || !same(note)) return false;
      kept.set(note.id.toHexString(), { ...former, steps: [...former.steps, added] });
      return true;
    },
    end: async (note) => {
      const former = kept.get(note.id.toHexString());
      if (former === undefined || !same(note)) return false;
      kept.set(note.id.toHexString(), { ...former, done: true });
      const what = lost.pop();
      if (what === undefined) return true;
      if (what === "process") return new Promise(() => undefined);
      throw new Error("the answer is lost");
    },
    leave: async (note, left) => {
      const former = kept.get(note.id.toHexString());
      if (former === undefined || !same(note)) return false;
      kept.set(note.id.toHexString(), { ...former, ...left });
      return true;
    },
    forget: async (note) => void (same(note) && kept.delete(note.id.toHexString())),
    all: async () => [...kept.values()],
    ofOnce: async (key) => [...kept.values()].filter(({ once }) => once?.key === key),
    madeIn: async () => [],
    take: async (left, instance, at) => {
      if (kept.get(left.id.toHexString())?.done === true) return undefined;
      const taken = { ...left, instance, at };
      kept.set(left.id.toHexString(), taken);
      return taken;
    },
  };
  let now = 0;
  const later = (ms: number): void => {
    now += ms;
  };
  const unfinished = (instance: string): Unfinished =>
    new Unfinished({
      notes,
      instance,
      alone,
      clock: { now: () => new Date(now) },
      logger: makeLogger("test", "fatal"),
      once: {
        find: async () => undefined,
        takeOver: async () => true,
        remove: async (key) => void freed.push(key),
      },
      takeBack: async (steps, logger) => {
        loggers.push(logger);
        if (away.isAway) throw new Error("the database is away");
        const [waiting, rest] = [true, false].map((is) =>
          steps.filter(({ table }) => deleted.has(table) === is),
        );
        back.push(...(rest ?? []).toReversed().map(({ table }) => table));
        return { waiting: waiting ?? [], staying: [] };
      },
      areDone: async () => there.areDone,
      areKept: async (steps) => steps.every(({ table }) => deleted.has(table)),
    });
  return { kept, back, freed, loggers, lost, away, there, deleted, later, unfinished };
}

describe.each(["orTakeBack", "wholly"] as const)("%s", (how) => {
  it("takes nothing back when all goes well, and keeps no note", async () => {
    const { kept, back, unfinished } = world();
    const result = await unfinished("one")[how](async (log) => {
      await log.note(step("a"));
      return "made";
    });
    expect([result, back, kept.size]).toEqual(["made", [], 0]);
  });

  it("takes everything back, the last first, and refuses with the first failure", async () => {
    const { kept, back, unfinished } = world();
    const failing = unfinished("one")[how](async (log) => {
      await log.note(step("a"));
      await log.note(step("b"));
      throw refusal;
    });
    await expect(failing).rejects.toBe(refusal);
    expect([back, kept.size]).toEqual([["b", "a"], 0]);
  });
});

describe("a write that was not answered", () => {
  it.each([
    ["may be made yet where it is not there", false, { uncertain: true }],
    ["is taken back where it is there", true, undefined],
  ])("%s", async (_what, areDone, details) => {
    const { back, there, unfinished } = world();
    there.areDone = areDone;
    const failing = unfinished("one").orTakeBack(async (log) => {
      await log.note(step("a"));
      throw unanswered;
    });
    await expect(failing).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE", details });
    expect(back).toEqual(["a"]);
  });

  it("of several is looked for once more two minutes later", async () => {
    const { kept, back, later, unfinished } = world();
    const one = unfinished("one");
    const failing = one.wholly(async (log) => {
      await log.note(step("a"));
      throw unanswered;
    });
    await expect(failing).rejects.toBe(unanswered);
    expect([back, [...kept.values()].map(({ at }) => at.getTime())]).toEqual([["a"], [120_000]]);
    later(120_000);
    expect(await unfinished("other").repair(async () => true)).toBe(1);
    expect([back, kept.size]).toEqual([["a", "a"], 0]);
  });
});

describe("a request with a logger of its own", () => {
  const logger = makeLogger("request", "silent");

  it.each(["orTakeBack", "wholly"] as const)("has it told what its taking back meets: %s", async (how) => {
    const { loggers, unfinished } = world();
    const failing = unfinished("one")
      .loggingTo(logger)
      [how](async (log) => {
        await log.note(step("a"));
        throw refusal;
      });
    await expect(failing).rejects.toBe(refusal);
    expect(loggers).toEqual([logger]);
  });

  it("is one that its process still works on", async () => {
    const { unfinished } = world();
    const one = unfinished("one");
    const takenBack = await one.loggingTo(logger).wholly(async (log) => {
      await log.note(step("a"));
      return one.repair(async () => true);
    });
    expect(takenBack).toBe(0);
  });
});

describe("what a process has left", () => {
  /** A request whose process dies after these steps. */
  async function left(unfinished: Unfinished, ...tables: readonly string[]): Promise<void> {
    void unfinished.wholly(async (log) => {
      for (const table of tables) await log.note(step(table));
      await new Promise(() => undefined);
    });
    await new Promise((resolve) => setImmediate(resolve));
  }

  it("is taken back by another one", async () => {
    const { kept, back, unfinished } = world({ alone: true });
    await left(unfinished("dead"), "a", "b");
    expect(await unfinished("other").repair(async ({ instance }) => instance === "dead")).toBe(1);
    expect([back, kept.size]).toEqual([["b", "a"], 0]);
  });

  it("is taken back after what has written over it, also where that is not known as left until later", async () => {
    const { kept, back, unfinished } = world();
    const [early, late] = [new ObjectId(), new ObjectId()];
    for (const steps of [[changed("early", early, late)], [changed("late", late)]]) {
      const note = { id: new ObjectId(), instance: "one", at: new Date(0), steps };
      kept.set(note.id.toHexString(), note);
    }
    const isLate = ({ steps: [first] }: Note): boolean => first?.table === "late";
    expect(await unfinished("two").repair(async (note) => isLate(note))).toBe(0);
    expect(await unfinished("two").repair(async () => true)).toBe(2);
    expect(back).toEqual(["early", "late"]);
  });

  it("is taken back once more two minutes later where its commands may still be done", async () => {
    const { kept, back, later, unfinished } = world();
    await left(unfinished("dead"), "a");
    const other = unfinished("other");
    const isDead = async ({ instance, at }: Note): Promise<boolean> =>
      instance === "dead" || at.getTime() <= 120_000;
    expect([await other.repair(isDead), kept.size]).toEqual([1, 1]);
    later(120_000);
    expect([await other.repair(isDead), kept.size, back]).toEqual([1, 0, ["a", "a"]]);
  });

  it("in a table that was deleted meanwhile is taken back when that has come back", async () => {
    const { kept, back, deleted, unfinished } = world({ alone: true });
    await left(unfinished("dead"), "a", "b", "c");
    deleted.add("b");
    expect([await unfinished("second").repair(async () => true), back]).toEqual([1, ["c", "a"]]);
    deleted.clear();
    expect([await unfinished("third").repair(async () => true), back]).toEqual([1, ["c", "a", "b"]]);
    expect(kept.size).toBe(0);
  });

  it("of links in lists, which say of nobody that they are theirs, is taken back once", async () => {
    const { kept, later, unfinished } = world();
    const link: Step = {
      kind: "linked",
      table: "l",
      field: "f",
      list: true,
      to: { table: "a", id: 1 },
      by: new ObjectId(),
      gained: [],
      lost: [],
    };
    const note = { id: new ObjectId(), instance: "dead", at: new Date(0), steps: [step("a"), link] };
    kept.set(note.id.toHexString(), note);
    expect(await unfinished("other").repair(async () => true)).toBe(1);
    expect([...kept.values()]).toMatchObject([{ again: true, steps: [step("a")] }]);
    later(120_000);
    expect([await unfinished("other").repair(async () => true), kept.size]).toEqual([1, 0]);
  });

  it("is nothing that this process still works on, however long it takes", async () => {
    const { back, unfinished } = world();
    const one = unfinished("one");
    const result = await one.wholly(async (log) => {
      await log.note(step("a"));
      return one.repair(async () => true);
    });
    expect([result, back]).toEqual([0, []]);
  });

  it("that was slow and not dead is not answered as done", async () => {
    const { kept, back, unfinished } = world();
    const slow = unfinished("slow").wholly(async (log) => {
      await log.note(step("a"));
      await unfinished("other").repair(async () => true);
      return "made";
    });
    await expect(slow).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
    expect(back).toEqual(["a", "a"]);
    expect([...kept.values()]).toMatchObject([{ instance: "other", again: true }]);
  });

  it.each([
    ["without a key waits for others to do so", undefined, "120"],
    ["with a key does so when it is sent again", TURN, "2"],
  ])("that can't be taken back at once %s", async (_what, turn, seconds) => {
    const { kept, back, away, unfinished } = world();
    const failing = unfinished("one").wholly(async (log) => {
      await log.note(step("a"));
      away.isAway = true;
      throw refusal;
    }, turn);
    const error = await failing.catch((error) => error);
    const { code, headers, details } = error;
    expect([code, headers, details]).toEqual(["SERVICE_UNAVAILABLE", { "Retry-After": seconds }, undefined]);
    expect(mayStillChange(error)).toBe(true);
    away.isAway = false;
    expect([kept.size, await unfinished("other").repair(async () => true), back]).toEqual([1, 1, ["a"]]);
  });

  it("keeps its key from starting afresh as long as another request with it has left something", async () => {
    const { kept, freed, unfinished } = world();
    for (const [table, again] of [
      ["a", true],
      ["b", false],
    ] as const) {
      const note = { id: new ObjectId(), instance: "dead", at: new Date(0), once: TURN.once, again };
      kept.set(note.id.toHexString(), { ...note, steps: [step(table)] });
    }
    const other = unfinished("other");
    expect([await other.repair(async ({ again }) => again === true), freed]).toEqual([1, []]);
    expect([await other.repair(async () => true), freed]).toEqual([1, ["k"]]);
  });

  it("can't go on once it was taken back", async () => {
    const { back, unfinished } = world();
    const slow = unfinished("slow").wholly(async (log) => {
      await log.note(step("a"));
      await unfinished("other").repair(async () => true);
      await log.note(step("b"));
    });
    await expect(slow).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
    expect(back).toEqual(["a", "a"]);
  });
});

describe("a request whose last answer is lost", () => {
  it("is asked about again, and is whole", async () => {
    const { kept, back, lost, unfinished } = world();
    lost.push("answer", "answer");
    const result = await unfinished("one").wholly(async (log) => {
      await log.note(step("a"));
      return "made";
    });
    expect([result, back, kept.size]).toEqual(["made", [], 0]);
  });

  it("is whole, also where another process looks before it is asked about again", async () => {
    const { kept, back, lost, unfinished } = world();
    lost.push("answer");
    const request = unfinished("one").wholly(async (log) => {
      await log.note(step("a"));
      return "made";
    });
    while (lost.length > 0) await new Promise((resolve) => setImmediate(resolve));
    expect(await unfinished("other").repair(async () => false)).toBe(0);
    expect([await request, back, kept.size]).toEqual(["made", [], 0]);
  });

  it("is taken back by nobody when its process dies then", async () => {
    const { kept, back, lost, unfinished } = world();
    lost.push("process");
    void unfinished("dead").wholly(async (log) => {
      await log.note(step("a"));
    });
    while (lost.length > 0) await new Promise((resolve) => setImmediate(resolve));
    expect(await unfinished("other").repair(async () => true)).toBe(0);
    expect([back, kept.size]).toEqual([[], 0]);
  });
});
