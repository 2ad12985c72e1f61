// A write that had to wait for others is made by the rights of the moment in which it is made, and by nobody who has left
// meanwhile.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Db, MongoClient, ObjectId } from "mongodb";
import { type Answer, type Api, asAdmin, signIn } from "../../support/api.js";
import { roleFor } from "../../support/rules.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { make, makeTable, valuesOf } from "../records/make.js";

const ANN = { email: "ann@example.com", password: "ann's password" };
const OTHER = { email: "other@example.com", password: "another one's password" };
const TWO = { email: "two@example.com", password: "the second one's password" };
/** A write that waits for nobody has been answered by then. */
const SOON_MS = 1_000;
/** And so long a request does not ask who it comes from. */
const LONG_MS = 3_500;
/** Longer than both, and no longer than leases are. */
const LEASE_MS = 15_000;

let stack: Stack;
let admin: Api;
let client: MongoClient;
let db: Db;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  client = await MongoClient.connect(stack.mongodbUrl);
  db = client.db();
});

afterAll(async () => {
  await client?.close();
  await stack?.stop();
});

const users = () => db.collection<{ email: string; isActive: boolean; isRootAdmin: boolean }>("svc_user");

/** What the writes are answered that wait for others, while something is done to who has sent them. */
async function waited(
  letGo: () => Promise<unknown>,
  meanwhile: () => Promise<unknown>,
  writes: () => readonly Promise<Answer>[],
): Promise<number[]> {
  const answers = Promise.all(writes());
  expect(await Promise.race([answers, delay(SOON_MS, "waiting", { ref: false })])).toBe("waiting");
  await meanwhile();
  await delay(LONG_MS);
  await letGo();
  return (await answers).map(({ status }) => status);
}

/** As an instance leaves things that is in the middle of changing a table. @returns what ends the change */
async function changeElsewhere(table: string): Promise<() => Promise<unknown>> {
  const instances = db.collection<{ _id: string; version: number; at: Date }>("_instances");
  const lives = { $set: { version: 1_000_000 }, $currentDate: { at: true } } as const;
  const announce = () => instances.updateOne({ _id: "elsewhere" }, lives, { upsert: true });
  await announce();
  const alive = setInterval(() => void announce().catch(() => {}), 1_000).unref();
  const versions = db.collection<{ _id: string; version: number }>("_versions");
  const lock = { change: new ObjectId(), instance: "elsewhere" };
  const state = await versions.findOneAndUpdate(
    { _id: "catalog", lock: { $exists: false } },
    { $set: { lock, changing: [table] }, $inc: { version: 1 } },
    { returnDocument: "after" },
  );
  await until(
    () => instances.countDocuments({ version: { $lt: state?.version ?? 0 } }),
    (count) => count === 0,
  );
  return () => {
    clearInterval(alive);
    return versions.updateOne(
      { _id: "catalog" },
      { $unset: { lock: "" }, $set: { changing: [] }, $inc: { version: 1 } },
    );
  };
}

it("writes that wait for a change of their table are refused when their user is deactivated", async () => {
  const { id } = await makeTable(admin, { name: "notes", columns: [{ name: "title", type: "string" }] });
  const role = await roleFor(admin, "Writer", ["notes"]);
  await make(admin, "svc_user", { ...ANN, role });
  const note = (await make(admin, "notes", { title: "as it was" })).id;
  const ann = await signIn(`${stack.appUrl}/api`, ANN);
  const statuses = await waited(
    await changeElsewhere(id),
    () => users().updateOne({ email: ANN.email }, { $set: { isActive: false } }),
    () => [
      ann.post("/notes", { title: "new" }),
      ann.patch(`/notes/${note}`, { title: "changed" }),
      ann.patch(`/notes?filter={"id":"${note}"}`, { title: "changed" }),
      ann.delete(`/notes/${note}`),
    ],
  );
  expect(statuses).toEqual([401, 401, 401, 401]);
  expect(await valuesOf(admin, "notes", "title")).toEqual(["as it was"]);
});

it("writes that wait for those of other root admins are refused to one who is none any more", async () => {
  const [third, fourth] = [
    await make(admin, "svc_user", { email: "third@example.com", isRootAdmin: true }),
    await make(admin, "svc_user", { email: "fourth@example.com", isRootAdmin: true }),
  ];
  await make(admin, "svc_user", { ...TWO, isRootAdmin: true });
  const two = await signIn(`${stack.appUrl}/api`, TWO);
  const locks = db.collection<{ _id: string; holder: string; until: Date }>("_tree_lock");
  await locks.insertOne({ _id: "root admins", holder: "others", until: new Date(Date.now() + LEASE_MS) });
  const statuses = await waited(
    () => locks.deleteOne({ _id: "root admins" }),
    () => users().updateOne({ email: TWO.email }, { $set: { isRootAdmin: false } }),
    () => [two.patch(`/svc_user/${third.id}`, { isActive: false }), two.delete(`/svc_user/${fourth.id}`)],
  );
  expect(statuses).toEqual([403, 403]);
  const left = await users().countDocuments({ email: /^(third|fourth)@/, isActive: true });
  expect(left).toBe(2);
});

it("tables and their changes that wait for others are refused to a root admin who is none any more", async () => {
  await make(admin, "svc_user", { ...OTHER, isRootAdmin: true });
  const other = await signIn(`${stack.appUrl}/api`, OTHER);
  const { id } = await makeTable(admin, { name: "changing" });
  const endChange = await changeElsewhere(id);
  const first = admin.post("/svc_table", { name: "first" });
  const making = db.collection<{ _id: string }>("_making");
  await until(
    () => making.countDocuments({ _id: "first" }),
    (count) => count === 1,
  );
  const statuses = await waited(
    endChange,
    () => users().updateOne({ email: OTHER.email }, { $set: { isRootAdmin: false } }),
    () => [
      other.post("/svc_table", { name: "second" }),
      other.patch(`/svc_table/${id}`, { description: "changed" }),
      other.delete(`/svc_table/${id}`),
    ],
  );
  expect([(await first).status, statuses]).toEqual([201, [403, 403, 403]]);
  expect(await valuesOf(admin, "svc_table", "description", { id })).toEqual([null]);
  expect((await admin.get("/svc_table", { filter: { name: "second" } })).body.data).toEqual([]);
});

it.each([
  ["a new table", "novel"],
  ["a table of documents that are there", "found"],
])("%s that waits is not made for a root admin who is none any more", async (_what, name) => {
  const last = { email: `${name}@example.com`, password: "the last one's password" };
  await make(admin, "svc_user", { ...last, isRootAdmin: true });
  const them = await signIn(`${stack.appUrl}/api`, last);
  const { id } = await makeTable(admin, { name: `before_${name}` });
  await db.collection("found").insertOne({ title: "as it was" });
  const columns = [{ name: "points", type: "int", default: 1 }];
  const statuses = await waited(
    await changeElsewhere(id),
    () => users().updateOne({ email: last.email }, { $set: { isRootAdmin: false } }),
    () => [them.post("/svc_table", { name, columns })],
  );
  expect(statuses).toEqual([403]);
  expect((await admin.get("/svc_table", { filter: { name } })).body.data).toEqual([]);
  expect(await db.collection("found").distinct("points")).toEqual([]);
});
