// What an instance has under way when it is killed, or stands still for so long that another one takes it for dead: the
// other one ends it or takes it back, and undoes nothing that was answered since, and the first one notices.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import type { Db } from "mongodb";
import { type Api, asAdmin } from "../../support/api.js";
import { type BehindProxy, startBehindProxy } from "../../support/behind-proxy.js";
import {
  type CommandProxy,
  type Fate,
  goingOn,
  isCommand,
  isWriteOf,
  nth,
  stopAt,
} from "../../support/command-proxy.js";
import { REPAIRING_OFTEN, type Stack, startStack } from "../../support/stack.js";
import { unfinishedIn } from "../../support/unfinished.js";
import { until } from "../../support/wait.js";
import { columnsWith, deleteConfirmed, tableNamed } from "../tables/change.js";
import { make, makeTable, read, valuesOf } from "./make.js";

/** Ten seconds until an instance is taken for dead, and something for a busy machine. */
const PATIENCE_MS = 60_000;
const LONG = 180_000;

let quick: Stack;
let second: Api;
let db: Db;
/** An instance whose commands to the database can be held up. */
let held: BehindProxy;
let slow: Stack;
let first: Api;
let proxy: CommandProxy;

beforeAll(async () => {
  quick = await startStack({ env: REPAIRING_OFTEN });
  second = await asAdmin(quick);
  const columns = [{ name: "name", type: "string" }];
  const of = (table: string, onDelete: string, more: object = {}) => [
    { name: "of", type: "many-to-one", table, onDelete, ...more },
  ];
  await makeTable(second, { name: "parents", columns });
  await makeTable(second, {
    name: "kids",
    columns,
    relations: of("parents", "RESTRICT", { required: true }),
  });
  await makeTable(second, { name: "ships", columns, softDelete: true });
  await makeTable(second, { name: "sailors", columns, softDelete: true, relations: of("ships", "CASCADE") });
  await makeTable(second, { name: "boxes", columns, idType: "int" });
  await makeTable(second, { name: "labels", columns, relations: of("boxes", "SET NULL") });
  await makeTable(second, { name: "things", columns, relations: of("boxes", "CASCADE") });
  await makeTable(second, { name: "owners", columns });
  const kept = of("owners", "SET NULL", { inverse: "pets" });
  await makeTable(second, { name: "pets", columns, relations: kept });
  await makeTable(second, { name: "shelves", columns });
  await makeTable(second, { name: "crates", columns });
  await makeTable(second, { name: "goods", columns, history: true, relations: of("crates", "SET NULL") });
  const counted = of("shelves", "SET NULL", { inverse: "books", counted: true });
  await makeTable(second, { name: "books", columns, relations: counted });
}, LONG);

beforeEach(async () => {
  held = await startBehindProxy(quick);
  ({ stack: slow, proxy, db } = held);
  first = await asAdmin(slow);
}, LONG);

afterEach(() => held?.stop());

afterAll(() => quick?.stop());

/** Something that waits until it is opened. */
function gate<Value>(value: Value): { readonly passed: Promise<Value>; readonly open: () => void } {
  let open = (): void => undefined;
  const passed = new Promise<Value>((resolve) => {
    open = () => resolve(value);
  });
  return { passed, open };
}

/**
 * Asks the first instance for several things at once, and kills it when each has come to a command of which `when` says so,
 * and which is never done.
 */
async function killedBefore(
  when: (command: string) => boolean,
  ...asks: readonly (() => Promise<unknown>)[]
): Promise<void> {
  const reached = gate(undefined);
  let waiting = 0;
  proxy.decide((command) => {
    if (!when(command)) return "pass";
    waiting += 1;
    if (waiting === asks.length) reached.open();
    return new Promise<Fate>(() => undefined);
  });
  const never = asks.map((ask) => ask().catch(() => undefined));
  await reached.passed;
  slow.dataService.process.kill("SIGKILL");
  await Promise.all(never);
}

/** The first instance stands still at such a command, and says no more that it lives, until it goes on. */
function standsStillAt(when: (command: string) => boolean): { reached: Promise<unknown>; goOn: () => void } {
  const [reached, others] = [gate(undefined), gate<Fate>("pass")];
  const isAnnounced = isCommand("update", "_instances");
  let stands = false;
  proxy.decide((command) => {
    if (when(command)) {
      stands = true;
      reached.open();
    }
    return stands && (when(command) || isAnnounced(command)) ? others.passed : "pass";
  });
  const goOn = (): void => {
    proxy.decide(() => "pass");
    others.open();
  };
  return { reached: reached.passed, goOn };
}

/** As if a minute had passed since the first instance was killed: no other has anything under way. */
async function takenForDead(): Promise<void> {
  const notes = ["_deletes", "_unfinished", "_counting", "_journal_pending"].map((name) =>
    db.collection(name),
  );
  const open = { done: { $ne: true } };
  const names = await Promise.all(notes.map((each) => each.distinct("instance", open)));
  const at = new Date(Date.now() - 60_000);
  for (const each of notes) await each.updateMany(open, { $set: { at } });
  await db.collection<{ _id: string }>("_instances").deleteMany({ _id: { $in: names.flat() } });
}

/** Resolves when no note of this kind is left to be worked off. */
async function workedOff(notes: "_deletes" | "_unfinished"): Promise<void> {
  const deletes = () => db.collection("_deletes").countDocuments({ done: { $ne: true } });
  const left = notes === "_deletes" ? deletes : () => unfinishedIn(db);
  expect(await until(left, (count) => count === 0, PATIENCE_MS)).toBe(0);
}

describe("a delete of an instance that stood still", () => {
  it(
    "is refused when somebody has linked to the record after it was let go",
    async () => {
      const { id } = await make(second, "parents", { name: "P" });
      const [insert, others] = [gate<Fate>("pass"), gate<Fate>("pass")];
      const [inserting, deleting, looking] = [gate(undefined), gate(undefined), gate(undefined)];
      const [isInsert, isDelete] = [isCommand("insert", "kids"), isCommand("delete", "parents")];
      const isAnnounced = isCommand("update", "_instances");
      let [isLinked, stands] = [false, false];
      proxy.decide((command) => {
        if (isInsert(command) && !isLinked) {
          inserting.open();
          return insert.passed;
        }
        const isLook = isLinked && command.includes("parents") && command.includes("_leaving_for");
        if (isLook) looking.open();
        if (isDelete(command)) {
          stands = true;
          deleting.open();
        }
        return stands && (isLook || isDelete(command) || isAnnounced(command)) ? others.passed : "pass";
      });
      // It has looked whether the record is there, and its link is not written yet.
      const linked = first.post("/kids", { name: "K", of: id });
      await inserting.passed;
      // Marked, and nothing found that stands against it.
      const gone = first.delete(`/parents/${id}`);
      await deleting.passed;
      isLinked = true;
      insert.open();
      // About to look whether the record is still there.
      await looking.passed;
      await workedOff("_deletes");
      proxy.decide(() => "pass");
      others.open();
      expect([(await linked).status, (await gone).status]).toEqual([201, 409]);
      expect((await read(second, "kids", (await linked).body.data[0].id, "of")).of).toEqual({ id });
    },
    LONG,
  );
});

describe("a delete that was answered, and whose instance was killed before it noted that", () => {
  it(
    "takes away nothing that was restored or made anew since",
    async () => {
      const ship = await make(second, "ships", { name: "Hope" });
      const sailor = await make(second, "sailors", { name: "Ann", of: ship.id });
      const [alone, full] = [await make(second, "boxes", {}), await make(second, "boxes", {})];
      await make(second, "things", { of: full.id });
      const paths = [`/ships/${ship.id}`, `/boxes/${alone.id}`, `/boxes/${full.id}`];
      const isUpdate = isCommand("update", "_deletes");
      const never = new Promise<Fate>(() => undefined);
      proxy.decide((command) => (isUpdate(command) && command.includes("\bdone\0\u0001") ? never : "pass"));
      for (const path of paths) expect((await first.delete(path)).status).toBe(200);
      slow.dataService.process.kill("SIGKILL");
      expect(await db.collection("_deletes").countDocuments({ done: false })).toBeGreaterThanOrEqual(3);
      expect((await second.post(`/ships/${ship.id}/restore`)).status).toBe(200);
      const lines = [alone, full].map(({ id }) => JSON.stringify({ id, name: "again" }));
      const imported = await second.send("POST", "/boxes/import", {
        headers: { "Content-Type": "application/x-ndjson" },
        body: lines.join("\n"),
      });
      expect(imported.status).toBe(200);
      await takenForDead();
      await workedOff("_deletes");
      const found = await Promise.all([...paths, `/sailors/${sailor.id}`].map((path) => second.get(path)));
      expect(found.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      expect((await read(second, "sailors", sailor.id, "of")).of).toEqual({ id: ship.id });
    },
    LONG,
  );
});

describe("a set of links of an instance that was killed", () => {
  /** Sets an owner's pets, and is killed before a command of which `when` says so. */
  async function interrupted(
    owner: string,
    pets: unknown[],
    when: (command: string) => boolean,
  ): Promise<void> {
    await killedBefore(when, () => first.patch(`/owners/${owner}`, { pets }));
  }

  async function ownersAndPets() {
    const [ann, ben] = [await make(second, "owners", {}), await make(second, "owners", {})];
    const former = await make(second, "pets", { of: ann.id });
    const wanted = await make(second, "pets", { of: ben.id });
    return { ann, ben, former, wanted };
  }

  const ownerOf = async (pet: string) => (await read(second, "pets", pet, "of")).of;

  it(
    "before it wrote any leaves one that somebody else has let go or made since as it is",
    async () => {
      const { ann, former, wanted } = await ownersAndPets();
      await interrupted(ann.id, [wanted.id, { name: "new" }], isCommand("update", "pets"));
      expect((await second.patch(`/pets/${former.id}`, { of: null })).status).toBe(200);
      expect((await second.patch(`/pets/${wanted.id}`, { of: ann.id })).status).toBe(200);
      await takenForDead();
      await workedOff("_unfinished");
      expect([await ownerOf(former.id), await ownerOf(wanted.id)]).toEqual([null, { id: ann.id }]);
    },
    LONG,
  );

  it(
    "after it wrote them takes them back, but for those that somebody else has set to the same since",
    async () => {
      const { ann, ben, former, wanted } = await ownersAndPets();
      const [left, chosen] = [
        await make(second, "pets", { of: ann.id }),
        await make(second, "pets", { of: ben.id }),
      ];
      const isUpdate = isCommand("update", "_unfinished");
      const isEnd = (command: string) => isUpdate(command) && command.includes("\bdone\0\u0001");
      await interrupted(ann.id, [wanted.id, chosen.id, { name: "new" }], isEnd);
      expect([await ownerOf(former.id), await ownerOf(wanted.id)]).toEqual([null, { id: ann.id }]);
      for (const pet of [former, wanted])
        expect((await second.patch(`/pets/${pet.id}`, { name: "changed" })).status).toBe(200);
      expect((await second.patch(`/pets/${left.id}`, { of: null })).status).toBe(200);
      expect((await second.patch(`/pets/${chosen.id}`, { of: ann.id })).status).toBe(200);
      await takenForDead();
      await workedOff("_unfinished");
      expect([await ownerOf(former.id), await ownerOf(wanted.id)]).toEqual([{ id: ann.id }, { id: ben.id }]);
      expect([await ownerOf(left.id), await ownerOf(chosen.id)]).toEqual([null, { id: ann.id }]);
    },
    LONG,
  );
});

describe("a change of a record whose one link lies in another record, of an instance that was killed", () => {
  it(
    "when the former link was let go of gives back the record's own fields, and the link",
    async () => {
      const person = { name: "person", type: "one-to-one", table: "owners", inverse: "profile" };
      await makeTable(second, { name: "profiles", relations: [person] });
      const { id } = await make(second, "owners", { name: "before" });
      const [former, wanted] = [
        await make(second, "profiles", { person: id }),
        await make(second, "profiles", {}),
      ];
      await killedBefore(nth(2, isWriteOf("profiles")), () =>
        first.patch(`/owners/${id}`, { name: "half", profile: wanted.id }),
      );
      const seen = () => read(second, "owners", id, "name,profile.id");
      expect(await seen()).toMatchObject({ name: "half", profile: null });
      await workedOff("_unfinished");
      expect(await seen()).toMatchObject({ name: "before", profile: { id: former.id } });
    },
    LONG,
  );
});

describe("a change of a table to which an instance that was killed has written in part", () => {
  it(
    "waits until that is taken back, so that no plain text comes into a column that is encrypted by then",
    async () => {
      const columns = [{ name: "secret", type: "string", searchable: true }];
      const table = await makeTable(second, { name: "vaults", columns });
      const relations = [{ name: "of", type: "many-to-one", table: "vaults", inverse: "chests" }];
      await makeTable(second, { name: "chests", relations });
      const { id } = await make(second, "vaults", { secret: "plain text" });
      const chest = await make(second, "chests", {});
      await killedBefore(isWriteOf("chests"), () =>
        first.patch(`/vaults/${id}`, { secret: "half", chests: [chest.id] }),
      );
      const stored = () => db.collection("vaults").findOne();
      expect(await stored()).toMatchObject({ secret: "half" });
      const body = { columns: columnsWith(table, "secret", { encrypted: true, searchable: false }) };
      const change = second.patch(`/svc_table/${table.id}`, body);
      await delay(500);
      await takenForDead();
      expect([200, 202]).toContain((await change).status);
      const isEncrypted = async () => (await tableNamed(second, "vaults")).columns[0].encrypted === true;
      await until(isEncrypted, Boolean, PATIENCE_MS);
      await workedOff("_unfinished");
      expect(await read(second, "vaults", id, "secret")).toEqual({ secret: "plain text" });
      expect(Object.values((await stored()) ?? {})).not.toContain("plain text");
      // Where its note is kept for a second look.
      const notes = async () => JSON.stringify(await db.collection("_unfinished").find().toArray());
      await until(notes, (text) => !/plain text|set":\{[^}]*secret/.test(text));
    },
    LONG,
  );
});

describe("changes of the same record by two requests of an instance that was killed", () => {
  it(
    "are both taken back, also where the one that began first wrote last",
    async () => {
      const { id } = await make(second, "owners", { name: "before" });
      const pet = await make(second, "pets", {});
      const isLink = isWriteOf("pets");
      const early = await stopAt(proxy, isCommand("insert", "pets"), () =>
        first
          .patch(`/owners/${id}`, { name: "early", pets: [pet.id, { name: "new" }] })
          .catch(() => undefined),
      );
      const late = await stopAt(proxy, isLink, () =>
        first.patch(`/owners/${id}`, { name: "late", pets: [pet.id] }).catch(() => undefined),
      );
      const again = await goingOn(proxy, isLink, early);
      const seen = () => read(second, "owners", id, "name,pets.id");
      expect(await seen()).toMatchObject({ name: "early" });
      slow.dataService.process.kill("SIGKILL");
      await Promise.all([late.answer, again.answer]);
      await takenForDead();
      await workedOff("_unfinished");
      expect(await seen()).toEqual({ name: "before", pets: [] });
    },
    LONG,
  );
});

describe("what an instance that was killed had written in a table that is deleted before it is seen to", () => {
  const isEnd = (command: string): boolean =>
    isCommand("update", "_unfinished")(command) && command.includes("done");

  /** @returns what brings it back */
  async function deleteGoods(): Promise<() => Promise<void>> {
    const { id } = await tableNamed(second, "goods");
    await deleteConfirmed(second, id);
    return async () => {
      expect((await second.send("POST", `/svc_table/${id}/undo`)).status).toBe(200);
    };
  }

  /** Resolves when what was announced so far has been looked at: what no table stands for is forgotten then. */
  async function journalRepaired(): Promise<void> {
    const announced = db.collection("_journal_pending");
    const at = new Date(Date.now() - 60_000);
    const { insertedId } = await announced.insertOne({ table: "none", instance: "gone", at });
    const isLeft = () => announced.countDocuments({ _id: insertedId });
    expect(await until(isLeft, (count) => count === 0, PATIENCE_MS)).toBe(0);
  }

  it(
    "is taken back when the table comes back",
    async () => {
      await make(second, "goods", { name: "kept" });
      await killedBefore(isEnd, () => first.post("/goods", { name: "half", of: { name: "half" } }));
      const undo = await deleteGoods();
      const left = db.collection("_unfinished");
      // The second look follows two minutes after the first.
      for (const again of [true, false]) {
        await takenForDead();
        expect(
          await until(
            () => left.countDocuments({ again }),
            (count) => count === 1,
            PATIENCE_MS,
          ),
        ).toBe(1);
      }
      expect((await second.get("/crates", { filter: { name: "half" } })).body.data).toEqual([]);
      await undo();
      await takenForDead();
      await workedOff("_unfinished");
      expect(await valuesOf(second, "goods", "name")).toEqual(["kept"]);
    },
    LONG,
  );

  it(
    "is in its history when the table comes back",
    async () => {
      const { id } = await make(second, "goods", { name: "before" });
      await killedBefore(isCommand("insert", "_journal"), () =>
        first.patch(`/goods/${id}`, { name: "after" }),
      );
      const undo = await deleteGoods();
      await takenForDead();
      await journalRepaired();
      await undo();
      const history = async (): Promise<number> =>
        (await second.get(`/goods/${id}/history`)).body.data.length;
      expect(await until(history, (count) => count === 2, PATIENCE_MS)).toBe(2);
    },
    LONG,
  );
});

describe("records that are made together by an instance that stood still", () => {
  it(
    "were taken back by another one, which is said, and not that what they link to is not there",
    async () => {
      const { reached, goOn } = standsStillAt(isCommand("insert", "pets"));
      const before = (await second.get("/owners", { meta: "totalCount" })).body.meta;
      const made = first.post("/owners", { name: "Eve", pets: [{ name: "A" }, { name: "B" }] });
      await reached;
      await workedOff("_unfinished");
      goOn();
      const { status, body } = await made;
      expect([status, body.message]).toEqual([503, expect.stringMatching(/taken back; send it again\.$/)]);
      expect((await second.get("/owners", { meta: "totalCount" })).body.meta).toEqual(before);
      expect((await second.get("/pets", { filter: { name: { _in: ["A", "B"] } } })).body.data).toEqual([]);
    },
    LONG,
  );
});

describe("the number of children", () => {
  /** Ten seconds until an instance is taken for dead, and something for a busy machine. */
  const EXACT_WITHIN_MS = 30_000;

  const numberOf = async (shelf: string): Promise<number> =>
    (await read(second, "shelves", shelf, "_count(books)"))._count.books;
  const really = async (shelf: string): Promise<number> =>
    (await second.get("/books", { filter: { of: { id: shelf } }, fields: "id" })).body.data.length;
  const exact = (shelf: string, number: number) =>
    until(
      () => numberOf(shelf),
      (seen) => seen === number,
      EXACT_WITHIN_MS,
    );

  /** A shelf with two books. */
  async function shelfAndBook(): Promise<{ shelf: string; book: string }> {
    const { id: shelf } = await make(second, "shelves", {});
    await make(second, "books", { of: shelf });
    const { id: book } = await make(second, "books", { of: shelf });
    return { shelf, book };
  }

  it(
    "is exact again soon after an instance was killed that had changed children, and not counted that",
    async () => {
      const [more, fewer, less] = [await shelfAndBook(), await shelfAndBook(), await shelfAndBook()];
      await killedBefore(
        isCommand("update", "shelves"),
        () => first.post("/books", { of: more.shelf }),
        () => first.patch(`/books/${fewer.book}`, { of: null }),
        () => first.delete(`/books/${less.book}`),
      );
      await takenForDead();
      for (const [{ shelf }, number] of [
        [more, 3],
        [fewer, 1],
        [less, 1],
      ] as const) {
        expect(await really(shelf)).toBe(number);
        expect(await exact(shelf, number)).toBe(number);
        expect(await really(shelf)).toBe(number);
      }
    },
    LONG,
  );

  it(
    "is exact after an instance that stood still, and was taken for dead, has counted after all",
    async () => {
      const { shelf } = await shelfAndBook();
      const { reached, goOn } = standsStillAt(isCommand("update", "shelves"));
      const made = first.post("/books", { of: shelf });
      await reached;
      expect(await exact(shelf, 3)).toBe(3);
      goOn();
      expect((await made).status).toBe(201);
      expect(await numberOf(shelf)).toBe(3);
    },
    LONG,
  );
});
