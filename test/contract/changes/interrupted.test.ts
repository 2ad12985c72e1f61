// What a process that dies in the middle of a write leaves behind, put there by hand: others tell of what was written,
// in its place, and of nothing else.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Db, MongoClient, ObjectId } from "mongodb";
import { type Api, asAdmin } from "../../support/api.js";
import { CHANGES, type EventSource, openEvents } from "../../support/event-source.js";
import { REPAIRING_OFTEN, type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";

let stack: Stack;
let admin: Api;
let client: MongoClient;
let db: Db;
let table: string;
let authorization: string;
let source: EventSource;

interface Stored {
  readonly _id: ObjectId;
  readonly title: string;
  readonly _change: { readonly e: ObjectId; readonly n: number };
}

beforeAll(async () => {
  stack = await startStack({ env: REPAIRING_OFTEN });
  admin = await asAdmin(stack);
  const { body } = await admin.post("/svc_table", {
    name: "letters",
    changes: true,
    history: true,
    columns: [{ name: "title", type: "string" }],
  });
  table = body.data[0].id;
  authorization = `Bearer ${(await admin.post("/auth/login", stack.admin)).body.accessToken}`;
  client = await MongoClient.connect(stack.mongodbUrl);
  db = client.db();
});

afterAll(async () => {
  await client?.close();
  await stack.stop();
});

beforeEach(async () => {
  source?.close();
  source = await openEvents(`${stack.appUrl}/api/letters/changes`, { Authorization: authorization });
});

const letters = () => db.collection<Stored>("letters");

async function make(title: string): Promise<Stored> {
  const { body } = await admin.post("/letters", { title });
  const found = await letters().findOne({ _id: ObjectId.createFromHexString(body.data[0].id) });
  if (found === null) throw new Error("no letter");
  return found;
}

/** Since then an instance counts as dead. */
const aWhileAgo = (): Date => new Date(Date.now() - 60_000);
/** What it has sent before that is not under way any more, either. */
const longAgo = (): Date => new Date(Date.now() - 180_000);

/** An id of a process whose clock says so. */
function idMadeAt(time: Date): ObjectId {
  const begin = ObjectId.createFromTime(Math.floor(time.getTime() / 1000))
    .toHexString()
    .slice(0, 8);
  return ObjectId.createFromHexString(begin + new ObjectId().toHexString().slice(8));
}

/** Says that a change is about to be made, by an instance that has died since. @returns its id */
async function announce(
  kind: string,
  letter: Pick<Stored, "_id"> & Partial<Stored>,
  at = new Date(),
): Promise<ObjectId> {
  const _id = at > new Date() ? idMadeAt(at) : new ObjectId();
  const { _change: _mark, ...before } = letter;
  await db.collection("_journal_pending").insertOne({
    _id,
    table,
    record: letter._id,
    kind,
    by: null,
    instance: "dead",
    revision: (letter._change?.n ?? 0) + 1,
    at,
    ...(kind === "created" ? {} : { before }),
    ...(kind === "deleted" ? { previous: letter._change?.e ?? _id } : {}),
  });
  return _id;
}

async function write(letter: Stored, title: string, at?: Date): Promise<void> {
  await change(letter, title, await announce("updated", letter, at));
}

async function change(letter: Stored, title: string, e: ObjectId): Promise<void> {
  await letters().updateOne(
    { _id: letter._id },
    { $set: { title, _change: { e, n: letter._change.n + 1 } } },
  );
}

const told = () =>
  source.told
    .filter(({ event }) => CHANGES.includes(event))
    .map(({ event, data }) => `${event} ${data.id} ${data.revision}`);

/** Lets so much time pass that all that was announced is over, and waits until it is told or forgotten. */
async function nothingAnnounced(): Promise<void> {
  const pending = db.collection("_journal_pending");
  await pending.updateMany({}, { $set: { at: longAgo() } });
  await until(
    () => pending.countDocuments(),
    (count) => count === 0,
  );
}

describe("a write that was made and not told", () => {
  it("is told before the next change of its record", async () => {
    const letter = await make("a");
    await write(letter, "b");
    expect((await admin.patch(`/letters/${letter._id}`, { title: "c" })).status).toBe(200);
    await source.first(3, ...CHANGES);
    expect(told()).toEqual([`created ${letter._id} 1`, `updated ${letter._id} 2`, `updated ${letter._id} 3`]);
    const { body } = await admin.get(`/letters/${letter._id}/history`);
    expect(body.data.map(({ changes }: { changes: { title: object } }) => changes.title)).toEqual([
      { from: "b", to: "c" },
      { from: "a", to: "b" },
      { from: null, to: "a" },
    ]);
  });

  it("is told before its record is deleted", async () => {
    const letter = await make("a");
    await write(letter, "b");
    expect((await admin.delete(`/letters/${letter._id}`)).status).toBe(200);
    await source.first(3, ...CHANGES);
    expect(told()).toEqual([`created ${letter._id} 1`, `updated ${letter._id} 2`, `deleted ${letter._id} 3`]);
  });

  it("is told when nobody touches its record, whatever it was", async () => {
    const [changed, deleted] = [await make("a"), await make("b")];
    await write(changed, "c");
    await announce("deleted", deleted);
    await letters().deleteOne({ _id: deleted._id });
    const made = { _id: new ObjectId(), title: "d" };
    const e = await announce("created", made);
    await letters().insertOne({ ...made, _change: { e, n: 1 } });
    await nothingAnnounced();
    await source.first(5, ...CHANGES);
    expect(told().slice(2).toSorted()).toEqual(
      [`created ${made._id} 1`, `deleted ${deleted._id} 2`, `updated ${changed._id} 2`].toSorted(),
    );
  });

  it("is told also where the database made it after its process was taken for dead", async () => {
    const [letter, other] = [await make("a"), await make("b")];
    const e = await announce("updated", letter, aWhileAgo());
    await write(other, "c", aWhileAgo());
    await source.first(3, ...CHANGES);
    expect(told().at(-1)).toBe(`updated ${other._id} 2`);
    await change(letter, "d", e);
    await source.first(4, ...CHANGES);
    expect(told().at(-1)).toBe(`updated ${letter._id} 2`);
    await nothingAnnounced();
  });

  it("is told also where the clock of its process was ahead, and what was not made is forgotten", async () => {
    const [written, announced] = [await make("a"), await make("b")];
    const ahead = new Date(Date.now() + 3_600_000);
    await write(written, "c", ahead);
    await announce("updated", announced, ahead);
    await until(
      () => db.collection("_journal_pending").countDocuments(),
      (count) => count === 0,
    );
    await source.first(3, ...CHANGES);
    expect(told().slice(2)).toEqual([`updated ${written._id} 2`]);
  });

  it("stands in the history, too, where a crash of the database took it from there and others built upon it", async () => {
    const letter = await make("a");
    for (const title of ["b", "c"]) await admin.patch(`/letters/${letter._id}`, { title });
    const which = { record: letter._id, revision: 2 };
    const entry = await db.collection<{ entry: ObjectId; after: object }>("_journal").findOne(which);
    expect((await db.collection("_history").deleteOne(which)).deletedCount).toBe(1);
    if (entry === null) throw new Error("no entry");
    const { entry: _id, _id: _number, after: _after, ...announced } = entry;
    await db.collection("_journal_pending").insertOne({ _id, ...announced, instance: "dead" });
    await nothingAnnounced();
    const { body } = await admin.get(`/letters/${letter._id}/history`);
    expect(body.data.map(({ revision }: { revision: number }) => revision)).toEqual([3, 2, 1]);
  });

  it("is told once, whoever finds it", async () => {
    const letter = await make("a");
    await write(letter, "b");
    // Told and not withdrawn, as by a process that died in between.
    await admin.patch(`/letters/${letter._id}`, { title: "c" });
    const [entry] = await db.collection("_journal").find({ record: letter._id, revision: 2 }).toArray();
    await db.collection("_journal_pending").insertOne({
      _id: entry?.entry,
      table,
      record: letter._id,
      kind: "updated",
      by: null,
      instance: "dead",
      revision: 2,
      at: new Date(0),
      before: {},
    });
    await nothingAnnounced();
    await make("last");
    await source.first(4, ...CHANGES);
    expect(
      told()
        .slice(0, 3)
        .map((each) => each.at(-1)),
    ).toEqual(["1", "2", "3"]);
    expect(await db.collection("_history").countDocuments({ record: letter._id })).toBe(3);
  });
});

describe("a record that another program has written", () => {
  it("is told of each time it is deleted", async () => {
    const stranger = { _id: new ObjectId(), title: "of no process of ours" };
    for (const _life of [1, 2]) {
      await db.collection("letters").insertOne(stranger);
      expect((await admin.delete(`/letters/${stranger._id}`)).status).toBe(200);
    }
    const last = await make("last");
    await source.first(1, "created");
    const deletion = `deleted ${stranger._id} 1`;
    expect(told()).toEqual([deletion, deletion, `created ${last._id} 1`]);
    expect(await db.collection("_history").countDocuments({ record: stranger._id })).toBe(2);
  });

  it("is told of once where a process that died was about to delete it, too", async () => {
    const stranger = { _id: new ObjectId(), title: "of no process of ours" };
    await db.collection("letters").insertOne(stranger);
    await announce("deleted", stranger);
    expect((await admin.delete(`/letters/${stranger._id}`)).status).toBe(200);
    await nothingAnnounced();
    const last = await make("last");
    await source.first(1, "created");
    expect(told()).toEqual([`deleted ${stranger._id} 1`, `created ${last._id} 1`]);
  });
});

describe("a write that was made and can't be told", () => {
  it("is 503, as it may have been made, and stands before the next change in the history", async () => {
    const letter = await make("a");
    await db.renameCollection("_journal", "elsewhere");
    await db.createCollection("_journal", { validator: { never: true } });
    const { status, body } = await admin.patch(`/letters/${letter._id}`, { title: "b" });
    await db.renameCollection("elsewhere", "_journal", { dropTarget: true });
    expect([status, body.error.details]).toEqual([503, { uncertain: true }]);
    expect((await admin.patch(`/letters/${letter._id}`, { title: "c" })).status).toBe(200);
    const { body: history } = await admin.get(`/letters/${letter._id}/history`);
    expect(
      history.data.map(({ changes }: { changes: { title: { to: string } } }) => changes.title.to),
    ).toEqual(["c", "b", "a"]);
  });
});

describe("a write that was announced and not made", () => {
  it("is never told, and stands in nobody's way", async () => {
    const letter = await make("a");
    await announce("updated", letter);
    await announce("deleted", letter);
    await announce("created", { _id: new ObjectId() });
    await admin.patch(`/letters/${letter._id}`, { title: "b" });
    await nothingAnnounced();
    const last = await make("last");
    await source.first(3, ...CHANGES);
    expect(told()).toEqual([`created ${letter._id} 1`, `updated ${letter._id} 2`, `created ${last._id} 1`]);
  });

  it("is never told of a record that somebody else has changed and deleted since", async () => {
    const letter = await make("a");
    await announce("deleted", letter);
    await admin.patch(`/letters/${letter._id}`, { title: "b" });
    await admin.delete(`/letters/${letter._id}`);
    await nothingAnnounced();
    await make("last");
    await source.first(4, ...CHANGES);
    expect(told().slice(0, 3)).toEqual([
      `created ${letter._id} 1`,
      `updated ${letter._id} 2`,
      `deleted ${letter._id} 3`,
    ]);
    expect(told()[3]).toMatch(/^created /);
  });
});
