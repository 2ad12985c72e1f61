// Docs, operations: a table with a shardKey is spread over the shards of a cluster. There is no cluster here: the data
// service talks to the engine through a proxy that calls itself a router and notes what it is asked to spread.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { type Api, asAdmin } from "../../support/api.js";
import { type RouterProxy, startRouterProxy } from "../../support/router-proxy.js";
import { freshDatabase, type Stack, startStack } from "../../support/stack.js";
import { columnsWith, tableNamed } from "./change.js";

const TEXT = { name: "a", type: "string" };

let router: RouterProxy;
let stack: Stack;
let admin: Api;
let database: string;

beforeAll(async () => {
  const url = new URL(freshDatabase());
  database = url.pathname.slice(1);
  router = await startRouterProxy({ path: decodeURIComponent(url.hostname) });
  const mongodbUrl = `mongodb://127.0.0.1:${router.port}/${database}?directConnection=true`;
  stack = await startStack({ mongodbUrl });
  admin = await asAdmin(stack);
});

afterAll(async () => {
  await stack.stop();
  await router.close();
});

/** What was spread, and by which key, since the last look. */
let seen = 0;
function spread(): unknown[] {
  const since = router.sharded.slice(seen).map(({ shardCollection, key }) => ({ shardCollection, key }));
  seen = router.sharded.length;
  return since;
}

const byId = (collection: string) => ({
  shardCollection: `${database}.${collection}`,
  key: { _id: "hashed" },
});

describe("a table with a shardKey", () => {
  it("is spread by the hash of its ids when it is made, and usable at once", async () => {
    const made = await admin.post("/svc_table", { name: "spread", shardKey: "id", columns: [TEXT] });
    expect([made.status, made.body.data[0].shardKey, spread()]).toEqual([201, "id", [byId("spread")]]);
    expect((await admin.post("/spread", { a: "x" })).status).toBe(201);
    expect((await admin.get("/spread", { filter: { a: "x" }, fields: "a" })).body.data).toEqual([{ a: "x" }]);
  });

  it("is spread when it gets the key later, with its records; the index that this needs is made before", async () => {
    const made = await admin.post("/svc_table", { name: "later", columns: [TEXT] });
    await admin.post("/later", [{ a: "x" }, { a: "y" }]);
    expect([made.body.data[0].shardKey, spread()]).toEqual([null, []]);
    expect((await admin.patch(`/svc_table/${made.body.data[0].id}`, { shardKey: "id" })).status).toBe(200);
    expect(spread()).toEqual([byId("later")]);
    const client = await MongoClient.connect(stack.mongodbUrl);
    const indexes = await client.db().collection("later").indexes();
    await client.close();
    expect(indexes.map(({ key }) => key)).toContainEqual({ _id: "hashed" });
    expect((await admin.get("/later", { fields: "a" })).body.data.length).toBe(2);
  });

  it("is spread at the next start where it was not; other tables are left alone", async () => {
    await admin.post("/svc_table", { name: "alone", columns: [TEXT] });
    spread();
    await stack.dataService.stop();
    await stack.restartDataService();
    expect(spread()).toEqual([byId("spread"), byId("later")]);
  });

  it("keeps the key it has", async () => {
    const { id } = await tableNamed(admin, "spread");
    const { status, body } = await admin.patch(`/svc_table/${id}`, { shardKey: null });
    expect([status, body.message]).toEqual([
      422,
      ["shardKey: records that are spread stay so; copy them into a new table instead"],
    ]);
  });

  it("has nothing that is unique but its ids, from the beginning or later", async () => {
    const { status, body } = await admin.post("/svc_table", {
      name: "never_made",
      shardKey: "id",
      singleton: true,
      uniques: [["a", "b"]],
      columns: [TEXT, { name: "b", type: "string", unique: true }],
      relations: [{ name: "other", type: "one-to-one", table: "spread" }],
    });
    const places = ["columns[1].unique", "relations[0].type", "uniques[0]", "singleton"];
    expect([status, body.message]).toEqual([
      422,
      places.map((place) => `${place}: needs something unique, which no table with a shardKey can promise`),
    ]);
    const table = await tableNamed(admin, "spread");
    const columns = columnsWith(table, "a", { unique: true });
    expect((await admin.patch(`/svc_table/${table.id}`, { columns })).status).toBe(422);
  });

  it("knows no other key", async () => {
    const { status, body } = await admin.post("/svc_table", { name: "never_made", shardKey: "a" });
    expect([status, body.message]).toEqual([422, ['shardKey: "a" is not known; use one of id']]);
  });

  it("is not made when MongoDB refuses to spread it, and the answer says why", async () => {
    router.answer({ ok: 0, code: 72, codeName: "InvalidOptions", errmsg: "can't shard this one" });
    const { status, body } = await admin.post("/svc_table", { name: "refused", shardKey: "id" });
    router.answer(undefined);
    expect([status, body.message]).toEqual([
      409,
      `shardKey: MongoDB can't spread "refused": can't shard this one`,
    ]);
    expect(await tableNamed(admin, "refused")).toBeUndefined();
    expect((await admin.post("/svc_table", { name: "refused", shardKey: "id" })).status).toBe(201);
  });

  it("is given the key in a change of its own, after what was unique was given up", async () => {
    const columns = [{ ...TEXT, unique: true }];
    const made = await admin.post("/svc_table", { name: "was_unique", columns });
    const [table] = made.body.data;
    const without = { columns: columnsWith(table, "a", { unique: false }) };
    const { status, body } = await admin.patch(`/svc_table/${table.id}`, { ...without, shardKey: "id" });
    expect([status, body.message]).toEqual([
      422,
      ["shardKey: remove what is unique in a change of its own first"],
    ]);
    expect((await admin.patch(`/svc_table/${table.id}`, without)).status).toBe(200);
    expect((await admin.patch(`/svc_table/${table.id}`, { shardKey: "id" })).status).toBe(200);
  });

  it("is served where MongoDB refuses to spread it at a start", async () => {
    router.answer({ ok: 0, code: 72, codeName: "InvalidOptions", errmsg: "can't shard this one" });
    await stack.dataService.stop();
    await stack.restartDataService();
    router.answer(undefined);
    expect((await admin.get("/spread", { fields: "a" })).body.data).toEqual([{ a: "x" }]);
  });

  it("is not asked to be spread again when the cluster says that it is", async () => {
    const client = await MongoClient.connect(stack.mongodbUrl);
    const known = client.db("config").collection<{ _id: string; key: object }>("collections");
    const _id = `${database}.later`;
    await known.insertOne({ _id, key: { _id: 1 } });
    spread();
    await stack.dataService.stop();
    await stack.restartDataService();
    await known.deleteOne({ _id });
    await client.close();
    const asked = spread();
    expect(asked).toContainEqual(byId("spread"));
    expect(asked).not.toContainEqual(byId("later"));
  });

  it("that is spread by another key already is refused", async () => {
    const client = await MongoClient.connect(stack.mongodbUrl);
    const known = client.db("config").collection<{ _id: string; key: object }>("collections");
    const _id = `${database}.by_others`;
    await known.insertOne({ _id, key: { a: 1, _id: 1 } });
    spread();
    const { status, body } = await admin.post("/svc_table", { name: "by_others", shardKey: "id" });
    await known.deleteOne({ _id });
    await client.close();
    const message = 'shardKey: "by_others" is sharded by another key already (a, _id).';
    expect([status, body.message, spread()]).toEqual([409, message, []]);
  });

  it("that is spread already, by a key that the account may not ask for, is left as it is", async () => {
    router.answer({ ok: 0, code: 23, codeName: "AlreadyInitialized", errmsg: "sharded already" });
    const { status } = await admin.post("/svc_table", { name: "by_hand", shardKey: "id" });
    router.answer(undefined);
    expect(status).toBe(201);
  });
});

describe("a collection that others have sharded", () => {
  it("is no table with something unique where MongoDB refuses it, and the answer says why", async () => {
    const errmsg = "cannot create unique index over { a: 1 } with shard key pattern { b: 1 }";
    router.answer({ ok: 0, code: 67, codeName: "CannotCreateIndex", errmsg }, "createIndexes");
    const columns = [{ ...TEXT, unique: true }];
    const { status, body } = await admin.post("/svc_table", { name: "others", columns });
    router.answer(undefined, "createIndexes");
    expect([status, body.message]).toEqual([409, `MongoDB can't make an index of "others": ${errmsg}`]);
  });

  it("refuses changes that an old MongoDB can't make by the id", async () => {
    const made = await admin.post("/spread", { a: "y" });
    const errmsg = "Query for sharded findAndModify must contain the shard key";
    router.answer({ ok: 0, code: 61, codeName: "ShardKeyNotFound", errmsg }, "findAndModify");
    const { status, body } = await admin.patch(`/spread/${made.body.data[0].id}`, { a: "z" });
    router.answer(undefined, "findAndModify");
    const message =
      "The collection is sharded by another key than its ids, by which this MongoDB changes no single record.";
    expect([status, body.message]).toEqual([409, message]);
  });
});

describe("a service behind a router", () => {
  it("is not ready while the router finds no primary of the shard, though it answers itself", async () => {
    const errmsg = 'Could not find host matching read preference { mode: "primary" }';
    router.answer({ ok: 0, code: 133, codeName: "FailedToSatisfyReadPreference", errmsg }, "find");
    const without = await fetch(`${stack.dataUrl}/readyz`);
    router.answer(undefined, "find");
    const again = await fetch(`${stack.dataUrl}/readyz`);
    expect([without.status, again.status]).toEqual([503, 200]);
  });
});
