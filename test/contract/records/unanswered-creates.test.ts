// A write of which the database did not say whether it was done: what a look shows then may be relied on.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Db, ObjectId } from "mongodb";
import { type Api, asAdmin } from "../../support/api.js";
import { type BehindProxy, startBehindProxy } from "../../support/behind-proxy.js";
import { type CommandProxy, isCommand, isWriteOf, nth } from "../../support/command-proxy.js";
import { upload } from "../../support/files.js";
import { REPAIRING_OFTEN } from "../../support/stack.js";
import { unfinishedIn } from "../../support/unfinished.js";
import { until } from "../../support/wait.js";
import { makeTable } from "./make.js";

/** Several times as long as from one look for what was left to the next. */
const LOOKED_FOR_MS = 2_000;

let held: BehindProxy;
let proxy: CommandProxy;
let admin: Api;
let db: Db;

beforeAll(async () => {
  held = await startBehindProxy(undefined, REPAIRING_OFTEN);
  ({ proxy, db } = held);
  admin = await asAdmin(held.stack);
  await makeTable(admin, { name: "ships", columns: [{ name: "name", type: "string" }] });
});

afterAll(() => held?.stop());

/** What says that a request is whole. */
const isEnd = (command: string): boolean =>
  isCommand("update", "_unfinished")(command) && command.includes("\u0008done\u0000\u0001");

describe("a create that nobody knows to be whole", () => {
  it("is as a look says, and stays so with what was done to it since", async () => {
    proxy.decide((command) => (isEnd(command) ? "lost" : "pass"));
    const { status, body } = await admin.post("/ships", [{ name: "Hope" }, { name: "Faith" }]);
    expect([status, body.error.details]).toEqual([503, { uncertain: true }]);
    const look = await admin.get("/ships", { sort: "name" });
    expect(look.body.data).toHaveLength(2);
    expect((await admin.patch(`/ships/${look.body.data[0].id}`, { name: "Charity" })).status).toBe(200);
    // As if a minute had passed.
    const notes = db.collection("_unfinished");
    await notes.updateMany({}, { $set: { at: new Date(Date.now() - 300_000) } });
    await sleep(LOOKED_FOR_MS);
    proxy.decide(() => "pass");
    await until(
      () => notes.countDocuments(),
      (count) => count === 0,
      30_000,
    );
    const names = (await admin.get("/ships", { sort: "name" })).body.data.map(
      ({ name }: { name: string }) => name,
    );
    expect(names).toEqual(["Charity", "Hope"]);
  });
});

describe("a create with an Idempotency-Key that was left half-way", () => {
  const send = (key: string, body: unknown) =>
    admin.send("POST", "/ports", {
      body: JSON.stringify(body),
      headers: { "Content-Type": "application/json", "Idempotency-Key": key },
    });
  const isMadeKnown = (command: string): boolean =>
    isCommand("update", "_once")(command) && command.includes("\u0008done\u0000\u0001");

  it("is taken back by whoever sends it again, though an attempt in between could not", async () => {
    await makeTable(admin, { name: "ports", columns: [{ name: "name", type: "string", unique: true }] });
    const ports = [{ name: "Bergen" }, { name: "Cadiz" }];
    const statuses: number[] = [];
    for (const isLost of [isMadeKnown, isCommand("delete", "ports"), () => false]) {
      proxy.decide((command) => (isLost(command) ? "lost" : "pass"));
      statuses.push((await send("left-half-way", ports)).status);
    }
    expect([statuses, await db.collection("ports").countDocuments()]).toEqual([[503, 503, 201], 2]);
  });
});

const isWrite = (command: string): boolean =>
  ["insert", "update", "findAndModify"].some((name) => command.includes(`\u0002${name}\u0000`));

/** From the first command on that names the ship, its answer included, the database says nothing any more. */
function breakAt(name: string, heals: boolean): void {
  let isBroken = false;
  proxy.decide((command) => {
    const isMeant = isWrite(command) && command.includes(name);
    if (isMeant) isBroken = true;
    if (isMeant) return "answer lost";
    return isBroken && !heals ? "lost" : "pass";
  });
}

const named = async (name: string): Promise<number> => db.collection("ships").countDocuments({ name });

describe("a write of one record that the database did and did not answer", () => {
  it("says for a create that it may be there", async () => {
    breakAt("Ulysses", false);
    const { status, body } = await admin.post("/ships", { name: "Ulysses" });
    proxy.decide(() => "pass");
    expect([status, body.error.details, await named("Ulysses")]).toEqual([503, { uncertain: true }, 1]);
  });

  it("says so for a create that is not there, as it may be under way", async () => {
    proxy.decide((command) => (isWrite(command) && command.includes("Dutchman") ? "lost" : "pass"));
    const { status, body } = await admin.post("/ships", { name: "Dutchman" });
    proxy.decide(() => "pass");
    expect([status, body.error.details, await named("Dutchman")]).toEqual([503, { uncertain: true }, 0]);
  });

  it("keeps the bytes of a file whose record may still come to name them", async () => {
    proxy.decide((command) => (isWrite(command) && command.includes("logbook.txt") ? "lost" : "pass"));
    const { status, body } = await upload(admin, "log", "logbook.txt");
    proxy.decide(() => "pass");
    expect([status, body.error.details]).toEqual([503, { uncertain: true }]);
    const kept = ["svc_file", "_content.files", "_content_pending"].map((name) =>
      db.collection(name).countDocuments(),
    );
    expect(await Promise.all(kept)).toEqual([0, 1, 1]);
  });

  it("takes a create back where it can, and then says that nothing is there", async () => {
    breakAt("Argo", true);
    const { status, body } = await admin.post("/ships", { name: "Argo" });
    proxy.decide(() => "pass");
    expect([status, body.error.details, await named("Argo")]).toEqual([503, undefined, 0]);
  });

  it("says for a change that it may have been made", async () => {
    const { body: made } = await admin.post("/ships", { name: "Nautilus" });
    breakAt("Vengeur", true);
    const { status, body } = await admin.patch(`/ships/${made.data[0].id}`, { name: "Vengeur" });
    proxy.decide(() => "pass");
    expect([status, body.error.details, await named("Vengeur")]).toEqual([503, { uncertain: true }, 1]);
  });
});

describe("a change of one's own record whose answer can't be read any more", () => {
  it("answers with the id", async () => {
    const { body: me } = await admin.get("/me");
    let isWritten = false;
    proxy.decide((command) => {
      if (isWritten) return "lost";
      isWritten = isWrite(command) && command.includes("Admiral");
      return "pass";
    });
    const { status, body } = await admin.patch("/me", { name: "Admiral" });
    proxy.decide(() => "pass");
    expect([status, body.data]).toEqual([200, [{ id: me.data[0].id }]]);
    expect((await admin.get("/me")).body.data[0].name).toBe("Admiral");
  });
});

describe("a delete that the database did and did not answer", () => {
  it("says that the record may be gone", async () => {
    const { body: made } = await admin.post("/ships", { name: "Titanic" });
    let isDelete = false;
    proxy.decide((command) => {
      isDelete ||= command.includes("\u0002delete\u0000") && command.includes("ships");
      return isDelete ? "answer lost" : "pass";
    });
    const { status, body } = await admin.delete(`/ships/${made.data[0].id}`);
    proxy.decide(() => "pass");
    expect([status, body.error.details, await named("Titanic")]).toEqual([503, { uncertain: true }, 0]);
  });
});

describe("a change of many that the database breaks off", () => {
  it("says how far it has come", async () => {
    await admin.post(
      "/ships",
      Array.from({ length: 24 }, () => ({ name: "Barge" })),
    );
    let seen = 0;
    proxy.decide((command) => {
      if (isWrite(command) && command.includes("Raft")) seen += 1;
      return seen > 8 ? "lost" : "pass";
    });
    const filter = encodeURIComponent('{"name":"Barge"}');
    const { status, body } = await admin.send("PATCH", `/ships?filter=${filter}`, {
      body: '{"name":"Raft"}',
      headers: { "Content-Type": "application/json" },
    });
    proxy.decide(() => "pass");
    expect([status, body.error.details.changed]).toEqual([503, await named("Raft")]);
    expect(body.message).toMatch(/ records were changed before$/);
  });
});

describe("writes at once of which one is refused and a later one not answered", () => {
  const code = { name: "code", type: "string", unique: true };
  /** Tells the write of one record, also from those of others that go with it. */
  const isWriteOfOne = (table: string, id: string) => (command: string) =>
    isWriteOf(table)(command) &&
    command.includes(`\u0007_id\u0000${Buffer.from(id, "hex").toString("latin1")}`);

  it("are uncertain where they are changes of many", async () => {
    await makeTable(admin, { name: "flags", columns: [code] });
    const { body: made } = await admin.post("/flags", [{ code: "taken" }, {}, {}]);
    const isLast = isWriteOfOne("flags", made.data[2].id);
    proxy.decide((command) => (isLast(command) ? "lost" : "pass"));
    const filter = encodeURIComponent('{"code":null}');
    const { status, body } = await admin.patch(`/flags?filter=${filter}`, { code: "taken" });
    proxy.decide(() => "pass");
    expect([status, body.error.details]).toEqual([503, { changed: 0, uncertain: true }]);
  });

  it("are looked for once more where they are links of a set", async () => {
    await makeTable(admin, {
      name: "masts",
      history: true,
      columns: [{ name: "place", type: "int" }],
      relations: [{ name: "ship", type: "many-to-one", table: "ships", inverse: "masts" }],
      uniques: [["ship", "place"]],
    });
    const { id: ship } = (await admin.post("/ships", { name: "Preussen" })).body.data[0];
    const places = [{ place: 1, ship }, { place: 1 }, { place: 2 }];
    const { body: made } = await admin.post("/masts", places);
    const masts: string[] = made.data.map(({ id }: { id: string }) => id);
    const [, , late = ""] = masts;
    const isLate = isWriteOfOne("masts", late);
    proxy.decide((command) => (isLate(command) ? "lost" : "pass"));
    const { status } = await admin.patch(`/ships/${ship}`, { masts });
    proxy.decide(() => "pass");
    expect(status).toBe(503);
    // The command that was lost arrives after all.
    const notes = db.collection("_unfinished");
    const note = await notes.findOne({ again: true, "steps.kind": "linked" });
    const { by, to } = note?.steps.find(({ kind }: { kind: string }) => kind === "linked") ?? {};
    const written = { $set: { shipId: to?.id, _moved_shipId: by } };
    await db.collection("masts").updateOne({ _id: ObjectId.createFromHexString(late) }, written);
    // As if two minutes had passed.
    await notes.updateMany({}, { $set: { at: new Date(Date.now() - 300_000) } });
    const lateLink = async () => (await admin.get(`/masts/${late}`, { fields: "ship.id" })).body.data[0].ship;
    expect(await until(lateLink, (link) => link === null, 30_000)).toBe(null);
  });
});

describe("records that are linked", () => {
  let id = "";
  beforeAll(async () => {
    await makeTable(admin, {
      name: "voyages",
      relations: [{ name: "ship", type: "many-to-one", table: "ships" }],
    });
    id = (await admin.post("/ships", { name: "Beagle" })).body.data[0].id;
  });

  it("say nothing of uncertainty where only a read before the write went unanswered", async () => {
    const isRead = isCommand("find", "ships");
    proxy.decide((command) => (isRead(command) ? "lost" : "pass"));
    const { status, body } = await admin.post("/voyages", { ship: id });
    proxy.decide(() => "pass");
    expect([status, body.error.details, await db.collection("voyages").countDocuments()]).toEqual([
      503,
      undefined,
      0,
    ]);
  });

  it("say of a delete that they may be gone", async () => {
    await admin.post("/voyages", { ship: id });
    let isDelete = false;
    proxy.decide((command) => {
      isDelete ||= command.includes("\u0002delete\u0000") && command.includes("ships");
      return isDelete ? "answer lost" : "pass";
    });
    const { status, body } = await admin.delete(`/ships/${id}`);
    proxy.decide(() => "pass");
    expect([status, body.error.details, await named("Beagle")]).toEqual([503, { uncertain: true }, 0]);
  });

  it("say of a delete that can't be withdrawn that they may yet go, and go", async () => {
    await makeTable(admin, { name: "buoys", columns: [{ name: "name", type: "string" }] });
    const relation = { name: "buoy", type: "many-to-one", table: "buoys", onDelete: "RESTRICT" };
    await makeTable(admin, { name: "chains", relations: [relation] });
    const { body: made } = await admin.post("/buoys", { name: "Nore" });
    let isMarked = false;
    proxy.decide((command) => {
      if (isMarked) return "lost";
      isMarked = isCommand("update", "buoys")(command);
      return "pass";
    });
    const { status, body } = await admin.delete(`/buoys/${made.data[0].id}`);
    expect([status, body.error.details, await db.collection("buoys").countDocuments()]).toEqual([
      503,
      { uncertain: true },
      1,
    ]);
    // As if a minute had passed.
    await db.collection("_deletes").updateMany({}, { $set: { at: new Date(Date.now() - 300_000) } });
    proxy.decide(() => "pass");
    await until(
      () => db.collection("buoys").countDocuments(),
      (count) => count === 0,
      30_000,
    );
  });

  it("are gone where only the mark of their delete could not be taken off", async () => {
    await makeTable(admin, { name: "docks", softDelete: true, columns: [{ name: "name", type: "string" }] });
    await makeTable(admin, {
      name: "berths",
      relations: [{ name: "dock", type: "many-to-one", table: "docks", onDelete: "RESTRICT" }],
    });
    const { body: made } = await admin.post("/docks", { name: "Tilbury" });
    let isDeleted = false;
    proxy.decide((command) => {
      const isUpdate = isCommand("update", "docks")(command);
      if (isUpdate && isDeleted) return "lost";
      isDeleted ||= isUpdate && command.includes("\u0009_deletedAt\u0000");
      return "pass";
    });
    const { status } = await admin.delete(`/docks/${made.data[0].id}`);
    proxy.decide(() => "pass");
    expect([status, (await admin.get("/docks")).body.data, isDeleted]).toEqual([200, [], true]);
  });
});

describe("a change of which one link was let go of when the database went away", () => {
  it("says that it will be rolled back, and is", async () => {
    await makeTable(admin, {
      name: "figureheads",
      relations: [{ name: "ship", type: "one-to-one", table: "ships", inverse: "figurehead" }],
    });
    const { id } = (await admin.post("/ships", { name: "Cutty" })).body.data[0];
    const former = (await admin.post("/figureheads", { ship: id })).body.data[0];
    const wanted = (await admin.post("/figureheads", {})).body.data[0];
    const isSecond = nth(2, isWriteOf("figureheads"));
    let isAway = false;
    proxy.decide((command) => {
      isAway ||= isSecond(command);
      return isAway ? "lost" : "pass";
    });
    const { status, headers } = await admin.patch(`/ships/${id}`, { name: "Sark", figurehead: wanted.id });
    proxy.decide(() => "pass");
    const seen = async () => (await admin.get(`/ships/${id}`, { fields: "name,figurehead.id" })).body.data[0];
    expect([status, headers.get("retry-after")]).toEqual([503, "120"]);
    expect(await seen()).toMatchObject({ name: "Sark", figurehead: null });
    // As if a minute had passed: not before it was looked at, as it is taken back from then on.
    await db.collection("_unfinished").updateMany({}, { $set: { at: new Date(Date.now() - 300_000) } });
    expect(
      await until(
        () => unfinishedIn(db),
        (count) => count === 0,
        30_000,
      ),
    ).toBe(0);
    expect(await seen()).toMatchObject({ name: "Cutty", figurehead: { id: former.id } });
  });
});

describe("a create of a counted child whose answer was lost", () => {
  it("is counted once it is there, though it came after its parent's children were counted", async () => {
    await makeTable(admin, {
      name: "crews",
      columns: [{ name: "name", type: "string" }],
      relations: [{ name: "ship", type: "many-to-one", table: "ships", inverse: "crews", counted: true }],
    });
    const { body: made } = await admin.post("/ships", { name: "Pequod" });
    const { id } = made.data[0];
    proxy.decide((command) => (isCommand("insert", "crews")(command) ? "lost" : "pass"));
    expect((await admin.post("/crews", { name: "late", ship: id })).status).toBe(503);
    proxy.decide(() => "pass");
    // The command that was lost arrives after all.
    await db.collection("crews").insertOne({ name: "late", shipId: ObjectId.createFromHexString(id) });
    // As if two minutes had passed.
    await db.collection("_counting").updateMany({}, { $set: { at: new Date(Date.now() - 300_000) } });
    const number = async () =>
      (await admin.get(`/ships/${id}`, { fields: "_count(crews)" })).body.data[0]._count.crews;
    expect(await until(number, (seen) => seen === 1, 30_000)).toBe(1);
    await until(
      () => db.collection("_counting").countDocuments(),
      (marks) => marks === 0,
    );
  });
});

describe("a create that got no number for its id", () => {
  it("says nothing of uncertainty", async () => {
    await makeTable(admin, {
      name: "tickets",
      idType: "int",
      columns: [{ name: "name", type: "string" }],
    });
    proxy.decide((command) => (command.includes("_sequences") ? "lost" : "pass"));
    const { status, body } = await admin.post("/tickets", { name: "First" });
    proxy.decide(() => "pass");
    expect([status, body.error.details]).toEqual([503, undefined]);
  });
});
