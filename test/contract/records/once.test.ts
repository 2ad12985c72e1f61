// Idempotency-Key: a create that is sent again does nothing twice, whatever happened to its answer.
import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Db, MongoClient, ObjectId } from "mongodb";
import { type Answer, type Api, apiOf, asAdmin, signIn } from "../../support/api.js";
import { allowAll, roleFor } from "../../support/rules.js";
import { type Stack, startStack } from "../../support/stack.js";
import { unfinishedIn } from "../../support/unfinished.js";
import { until } from "../../support/wait.js";
import { deleteConfirmed } from "../tables/change.js";
import { atOnce, make, makeTable, tally } from "./make.js";

const NONE = "0123456789abcdef01234567";
const ANN = { email: "ann@example.com", password: "ann's password" };

let stack: Stack;
let admin: Api;
let ann: Api;
let client: MongoClient;
let db: Db;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  client = await MongoClient.connect(stack.mongodbUrl);
  db = client.db();
  await makeTable(admin, { name: "shops", columns: [{ name: "name", type: "string" }] });
  await makeTable(admin, {
    name: "orders",
    columns: [
      { name: "item", type: "string" },
      { name: "code", type: "string", unique: true },
    ],
    relations: [{ name: "shop", type: "many-to-one", table: "shops", inverse: "orders", counted: true }],
  });
  const role = await roleFor(admin, "Buyer", ["orders"]);
  await make(admin, "svc_user", { ...ANN, role });
  ann = await signIn(`${stack.appUrl}/api`, ANN);
});

afterAll(async () => {
  await client?.close();
  await stack?.stop();
});

const send = (api: Api, key: string, body: unknown, path = "/orders"): Promise<Answer> =>
  api.send("POST", path, {
    body: JSON.stringify(body),
    headers: { "Content-Type": "application/json", "Idempotency-Key": key },
  });
const count = async (item: string): Promise<number> => db.collection("orders").countDocuments({ item });
const entries = () =>
  db.collection<{
    _id: string;
    table: string;
    owner: string;
    until: Date;
    expiresAt: Date;
    leaseUntil: Date;
    ids: ObjectId[];
  }>("_once");

describe("a create with an Idempotency-Key", () => {
  it("that is sent again answers the record of the first", async () => {
    const [key, item] = [randomUUID(), "again"];
    const first = await send(admin, key, { item });
    const second = await send(admin, key, { item });
    expect([second.status, second.body]).toEqual([201, first.body]);
    expect(second.headers.get("location")).toBe(first.headers.get("location"));
    expect(await count(item)).toBe(1);
  });

  it("keeps nothing by which its body could be guessed", async () => {
    const [key, item] = [randomUUID(), "secret"];
    await send(admin, key, { item });
    const kept = JSON.stringify(await entries().find().toArray());
    const asked = JSON.stringify(["orders", "", { item }]);
    for (const form of ["base64url", "base64", "hex"] as const)
      expect(kept).not.toContain(createHash("sha256").update(asked).digest(form));
  });

  it("that is sent 50 times at once makes one record", async () => {
    const [key, item] = [randomUUID(), "parallel"];
    const answers = await atOnce(50, () => send(admin, key, { item }));
    expect(tally(answers)).toEqual({ 201: 50 });
    expect(new Set(answers.map(({ body }) => body.data[0].id)).size).toBe(1);
    expect(await count(item)).toBe(1);
  });

  it("with a list is made once as a whole", async () => {
    const [key, item] = [randomUUID(), "list"];
    const list = [{ item }, { item }, { item }];
    const first = await send(admin, key, list);
    expect((await send(admin, key, list)).body.data).toEqual(first.body.data);
    expect(await count(item)).toBe(3);
  });

  it("answers the id of what was deleted since, at the same address", async () => {
    const [key, listKey, treeKey] = [randomUUID(), randomUUID(), randomUUID()];
    const first = await send(admin, key, { item: "gone" });
    const [{ id }] = first.body.data;
    await admin.delete(`/orders/${id}`);
    const again = await send(admin, key, { item: "gone" });
    expect([again.status, again.body.data]).toEqual([201, [{ id }]]);
    expect(again.headers.get("location")).toBe(first.headers.get("location"));
    expect(await count("gone")).toBe(0);

    const list = [{ item: "kept" }, { item: "gone" }];
    const [kept, gone] = (await send(admin, listKey, list)).body.data;
    await admin.delete(`/orders/${gone.id}`);
    const answer = await send(admin, listKey, list);
    expect([answer.status, answer.body.data]).toEqual([201, [kept, { id: gone.id }]]);

    const tree = { item: "brought", shop: { name: "with it" } };
    const [order] = (await send(admin, treeKey, tree)).body.data;
    await admin.delete(`/orders/${order.id}`);
    const repeated = await send(admin, treeKey, tree);
    expect([repeated.status, repeated.body.data]).toEqual([201, [{ id: order.id }]]);
  });

  it("answers the id of what its caller may not read any more", async () => {
    const key = randomUUID();
    const [{ id }] = (await send(ann, key, { item: "read no more" })).body.data;
    const rules = await admin.get("/svc_permission", { filter: { table: "orders", action: "read" } });
    for (const rule of rules.body.data) await admin.patch(`/svc_permission/${rule.id}`, { isEnabled: false });
    const again = await send(ann, key, { item: "read no more" });
    for (const rule of rules.body.data) await admin.patch(`/svc_permission/${rule.id}`, { isEnabled: true });
    expect([again.status, again.body.data]).toEqual([201, [{ id }]]);
  });

  it("that came with another body, table or shape before is refused with 409", async () => {
    const key = randomUUID();
    await send(admin, key, { item: "one" });
    for (const [body, path] of [
      [{ item: "other" }, "/orders"],
      [{ item: "one" }, "/orders?fields=item"],
      [{ name: "one" }, "/shops"],
    ] as const) {
      const { status, body: refused } = await send(admin, key, body, path);
      expect([status, refused.error.code]).toEqual([409, "CONFLICT"]);
    }
    expect(await count("other")).toBe(0);
  });

  it("that came for another table of the same name before is refused with 409, and makes nothing", async () => {
    const [key, fleeting] = [randomUUID(), { name: "fleeting", columns: [{ name: "name", type: "string" }] }];
    const { id } = await makeTable(admin, fleeting);
    expect((await send(admin, key, { name: "x" }, "/fleeting")).status).toBe(201);
    await deleteConfirmed(admin, id);
    await makeTable(admin, fleeting);
    const { status, body } = await send(admin, key, { name: "x" }, "/fleeting");
    expect([status, body.error?.code]).toEqual([409, "CONFLICT"]);
    expect((await admin.get("/fleeting")).body.data).toEqual([]);
  });

  it("that a former version kept, without its table, is known", async () => {
    const [key, item] = [randomUUID(), "former"];
    const first = await send(admin, key, { item });
    await entries().updateOne({ ids: new ObjectId(first.body.data[0].id) }, { $unset: { table: "" } });
    expect((await send(admin, key, { item })).body).toEqual(first.body);
  });

  it("is the caller's own: the same key of somebody else is another", async () => {
    const [key, item] = [randomUUID(), "own"];
    const [first, second] = [await send(admin, key, { item }), await send(ann, key, { item })];
    expect(first.body.data[0].id).not.toBe(second.body.data[0].id);
  });

  it("is the user's, whichever session or API token they send it with", async () => {
    const [key, item] = [randomUUID(), "from elsewhere"];
    const first = await send(ann, key, { item });
    const wish = { name: "ci", expiresAt: "never" };
    const [{ token }] = (await ann.post("/auth/api-tokens", wish)).body.data;
    for (const other of [
      await signIn(`${stack.appUrl}/api`, ANN),
      apiOf(`${stack.appUrl}/api`, { Authorization: `Bearer ${token}` }),
    ]) {
      const again = await send(other, key, { item });
      expect([again.status, again.body]).toEqual([201, first.body]);
    }
    expect(await count(item)).toBe(1);
  });

  it("of visitors never shows what another request has made", async () => {
    await allowAll(admin, ["shops"], null);
    const visitor = apiOf(`${stack.appUrl}/api`);
    const key = randomUUID();
    const first = await send(visitor, key, { name: "first" }, "/shops");
    const other = await send(visitor, key, { name: "second" }, "/shops");
    expect([other.status, other.body.data[0].name]).toEqual([201, "second"]);
    const again = await send(visitor, key, { name: "first" }, "/shops");
    expect(again.body.data).toEqual(first.body.data);
  });

  it("that was refused may be sent again, put right or not", async () => {
    const key = randomUUID();
    expect((await send(admin, key, { nosuch: 1 })).status).toBe(400);
    await make(admin, "orders", { code: "taken" });
    expect((await send(admin, key, { code: "taken" })).status).toBe(409);
    expect((await send(admin, key, { code: "free", item: "right" })).status).toBe(201);
  });

  it("is refused when it is no key", async () => {
    for (const key of ["with space", "x".repeat(256)])
      expect((await send(admin, key, { item: "bad key" })).status).toBe(400);
    expect(await count("bad key")).toBe(0);
  });

  it.each([
    ["/svc_table", "application/json", JSON.stringify({ name: "with_a_key" })],
    ["/orders/import", "application/x-ndjson", '{"item":"imported"}\n'],
    [
      "/svc_file",
      "multipart/form-data; boundary=x",
      '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\na\r\n--x--\r\n',
    ],
    [`/svc_table/${NONE}/undo`, "application/json", "{}"],
    [`/orders/${NONE}/restore`, "application/json", "{}"],
    ["/svc_permission/explain", "application/json", "{}"],
    ["/auth/api-tokens", "application/json", '{"name":"ci","expiresAt":"never"}'],
    ["/auth/keys/rotate", "application/json", "{}"],
  ])("is refused where it would do nothing: POST %s", async (path, type, body) => {
    const headers = { "Content-Type": type, "Idempotency-Key": randomUUID() };
    const answer = await admin.send("POST", path, { body, headers });
    expect([answer.status, answer.body.message]).toEqual([
      400,
      "Idempotency-Key: is for new records in JSON; leave it out here.",
    ]);
    expect((await admin.get("/svc_table", { filter: { name: "with_a_key" } })).body.data).toEqual([]);
    expect((await admin.get("/svc_file")).body.data).toEqual([]);
    expect((await admin.get("/auth/api-tokens")).body.data).toEqual([]);
    expect((await admin.get("/.well-known/jwks.json")).body.keys).toHaveLength(1);
    expect(await count("imported")).toBe(0);
  });

  it.each([
    ["PATCH", `/orders/${NONE}`],
    ["PATCH", '/orders?filter={"item":"x"}'],
    ["DELETE", `/orders/${NONE}`],
    ["DELETE", '/orders?filter={"item":"x"}'],
    ["PATCH", "/me"],
    ["DELETE", `/svc_folder/${NONE}`],
  ])("is refused for what it does not make safe: %s %s", async (method, path) => {
    const headers = { "Content-Type": "application/json", "Idempotency-Key": randomUUID() };
    const answer = await admin.send(method, path, { body: '{"item":"y"}', headers });
    expect([answer.status, answer.body.message]).toEqual([
      400,
      "Idempotency-Key: is for new records in JSON; leave it out here.",
    ]);
  });

  it("refuses a body that is nested too deep to be told from another", async () => {
    const { status } = await admin.send("POST", "/orders", {
      body: `{"item":${"[".repeat(5_000)}${"]".repeat(5_000)}}`,
      headers: { "Content-Type": "application/json", "Idempotency-Key": randomUUID() },
    });
    expect(status).toBe(400);
  });

  it("is forgotten after 24 hours", async () => {
    const [key, item] = [randomUUID(), "old"];
    await send(admin, key, { item });
    const [entry] = await entries().find().sort({ expiresAt: -1 }).limit(1).toArray();
    expect((entry?.until.getTime() ?? 0) - Date.now()).toBeGreaterThan(23.9 * 3_600_000);
    await entries().updateMany({}, { $set: { until: new Date(0) } });
    await send(admin, key, { item });
    expect(await count(item)).toBe(2);
  });

  it("is known for a week, for what a process leaves that dies right after the answer", async () => {
    await send(admin, randomUUID(), { item: "known" });
    const [entry] = await entries().find().sort({ expiresAt: -1 }).limit(1).toArray();
    expect((entry?.expiresAt.getTime() ?? 0) - Date.now()).toBeGreaterThan(6.9 * 24 * 3_600_000);
  });

  it("keeps nothing of the body", async () => {
    await send(admin, randomUUID(), { item: "a secret" });
    expect(JSON.stringify(await entries().find().toArray())).not.toContain("secret");
  });
});

describe("a create whose process died", () => {
  const DEAD = "a process that died";

  /**
   * What a request leaves behind that came as far as writing some of its records.
   * @param done and as far as saying that all of them are there
   * @returns their ids
   */
  async function interrupted(key: string, body: unknown, written: number, done = false): Promise<string[]> {
    const first = await send(admin, key, body);
    const ids = first.body.data.map(({ id }: { id: string }) => id);
    for (const id of ids.slice(written)) await admin.delete(`/orders/${id}`);
    const [entry] = await entries().find().sort({ expiresAt: -1 }).limit(1).toArray();
    if (entry === undefined) throw new Error("the key is not kept");
    const unsaid = { $unset: { done: "", ids: "" }, $set: { leaseUntil: new Date(0) } } as const;
    if (!done) await entries().updateOne({ _id: entry._id }, unsaid);
    const table = await admin.get("/svc_table", { filter: { name: "orders" }, fields: "id" });
    await db.collection("_unfinished").insertOne({
      instance: DEAD,
      at: new Date(),
      once: { key: entry._id, owner: entry.owner },
      steps: [{ kind: "made", table: table.body.data[0].id, ids: ids.map((id: string) => new ObjectId(id)) }],
    });
    return ids.slice(0, written);
  }

  it("right after its answer stays made when its key is used again after 24 hours", async () => {
    const [key, item] = [randomUUID(), "known by its key"];
    await interrupted(key, [{ item }, { item }], 2, true);
    await entries().updateMany({}, { $set: { until: new Date(0) } });
    expect((await send(admin, key, [{ item }, { item }])).status).toBe(201);
    await until(
      () => unfinishedIn(db),
      (count) => count === 0,
    );
    expect(await count(item)).toBe(4);
  });

  it.each([0, 1, 3])("after %i of three records is made anew by sending it again", async (written) => {
    const [key, item] = [randomUUID(), `interrupted ${written}`];
    const shop = (await make(admin, "shops", { name: item })).id;
    const list = [1, 2, 3].map((at) => ({ item, code: `${key} ${at}`, shop }));
    const left = await interrupted(key, list, written);
    const again = await send(admin, key, list);
    expect([again.status, again.body.data.length]).toEqual([201, 3]);
    expect(await count(item)).toBe(3);
    expect(again.body.data.filter(({ id }: { id: string }) => left.includes(id))).toEqual([]);
    expect(await db.collection("_unfinished").countDocuments({ instance: DEAD })).toBe(0);
    const { body } = await admin.get("/shops", {
      sort: "-_count(orders)",
      filter: { id: shop },
      deep: { orders: {} },
    });
    expect(body.data[0].orders).toHaveLength(3);
  });

  it("is waited for, and then 409 with Retry-After, until 30 s after it began", async () => {
    const [key, item] = [randomUUID(), "may still live"];
    const began = Date.now();
    await send(admin, key, { item });
    const [entry] = await entries().find().sort({ expiresAt: -1 }).limit(1).toArray();
    if (entry === undefined) throw new Error("the key is not kept");
    const lease = entry.leaseUntil.getTime() - began;
    expect([lease >= 30_000, lease < 40_000]).toEqual([true, true]);
    await entries().updateOne({ _id: entry._id }, { $unset: { done: "", ids: "" } });
    const { status, headers, body } = await send(admin, key, { item });
    expect([status, body.error.code]).toEqual([409, "CONFLICT"]);
    expect(headers.get("retry-after")).toMatch(/^\d+$/);
    expect(await count(item)).toBe(1);
  });

  it("while its clock was ahead is made anew by sending it again", async () => {
    const [key, item] = [randomUUID(), "ahead"];
    const left = await interrupted(key, [{ item }, { item }], 1);
    const ahead = new Date(Date.now() + 3_600_000);
    await entries().updateOne({ leaseUntil: new Date(0) }, { $set: { leaseUntil: ahead } });
    const again = await send(admin, key, [{ item }, { item }]);
    expect([again.status, await count(item)]).toEqual([201, 2]);
    expect(again.body.data.filter(({ id }: { id: string }) => left.includes(id))).toEqual([]);
  });

  it("by kill -9 in mid-write is made once", async () => {
    const keys = Array.from({ length: 12 }, () => randomUUID());
    const body = (key: string) => Array.from({ length: 200 }, () => ({ item: key }));
    const sent = keys.map((key) => send(admin, key, body(key)).catch(() => undefined));
    await Promise.race(sent);
    await stack.dataService.stop("SIGKILL");
    // Some were answered, and some were cut off: else nothing was in mid-write.
    expect(new Set((await Promise.all(sent)).map((answer) => answer?.status === 201)).size).toBe(2);
    await stack.restartDataService();
    // The lease of a process that is gone ends by itself; here nobody waits for it.
    await entries().updateMany({ done: { $ne: true } }, { $set: { leaseUntil: new Date(0) } });
    const answers = await Promise.all(keys.map((key) => send(admin, key, body(key))));
    expect(tally(answers)).toEqual({ 201: 12 });
    expect(await Promise.all(keys.map(count))).toEqual(keys.map(() => 200));
  });
});
