// Contract 6: how long others wait for a change that another instance makes, and what they are told then.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { MongoClient, ObjectId } from "mongodb";
import { type Answer, type Api, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { make, makeTable, type Row } from "../records/make.js";

const PATIENCE_MS = 10_000;
/** Far less than the next longer time that anything waits. */
const MARGIN_MS = 4_000;
const TEXT = { columns: [{ name: "a", type: "string" }] };

let stack: Stack;
let admin: Api;
let client: MongoClient;
let changing: Row;
let other: Row;
let record: Row;
let alive: NodeJS.Timeout;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  client = await MongoClient.connect(stack.mongodbUrl);
  changing = await makeTable(admin, { name: "changing", ...TEXT });
  other = await makeTable(admin, { name: "others", ...TEXT });
  record = await make(admin, "changing", { a: "x" });
  await changeElsewhere(changing.id);
});

afterAll(async () => {
  clearInterval(alive);
  await client.close();
  await stack.stop();
});

/** As an instance leaves things that lives, and is in the middle of changing this table. */
async function changeElsewhere(table: string): Promise<void> {
  const instances = client.db().collection<{ _id: string; version: number; at: Date }>("_instances");
  const announce = () =>
    instances.updateOne(
      { _id: "elsewhere" },
      { $set: { version: 1_000_000 }, $currentDate: { at: true } },
      { upsert: true },
    );
  await announce();
  alive = setInterval(() => void announce().catch(() => {}), 1_000);
  const versions = client.db().collection<{ _id: string; version: number }>("_versions");
  const lock = { change: new ObjectId(), instance: "elsewhere" };
  const state = await versions.findOneAndUpdate(
    { _id: "catalog", lock: { $exists: false }, latest: { $exists: false } },
    { $set: { lock, changing: [table] }, $inc: { version: 1 } },
    { returnDocument: "after" },
  );
  const behind = { version: { $lt: state?.version ?? 0 } };
  await until(
    () => instances.countDocuments(behind),
    (count) => count === 0,
    MARGIN_MS,
  );
}

async function timed(call: () => Promise<Answer>): Promise<Answer & { readonly ms: number }> {
  const began = performance.now();
  return { ...(await call()), ms: performance.now() - began };
}

const afterPatience = (ms: number): boolean => ms > PATIENCE_MS - 500 && ms < PATIENCE_MS + MARGIN_MS;

describe("while a table is being changed", () => {
  it("other changes of tables wait ten seconds and are 409, its writes 503 with Retry-After; reads go on", async () => {
    const [made, changed, deleted, written, patched, removed, read] = await Promise.all([
      timed(() => admin.post("/svc_table", { name: "more", ...TEXT })),
      timed(() => admin.patch(`/svc_table/${other.id}`, { description: "changed" })),
      timed(() => admin.delete(`/svc_table/${other.id}`)),
      timed(() => admin.post("/changing", { a: "y" })),
      timed(() => admin.patch(`/changing/${record.id}`, { a: "y" })),
      timed(() => admin.delete(`/changing/${record.id}`)),
      timed(() => admin.get("/changing")),
    ]);
    for (const { status, body, ms } of [made, changed, deleted]) {
      expect([status, body.error.code, afterPatience(ms)]).toEqual([409, "CONFLICT", true]);
      expect(body.message).toMatch(/being (changed|made); try again when/);
    }
    for (const { status, headers, body, ms } of [written, patched, removed]) {
      expect([status, body.error.code, afterPatience(ms)]).toEqual([503, "SERVICE_UNAVAILABLE", true]);
      expect(headers.get("retry-after")).toMatch(/^\d+$/);
      expect(body.message).toContain('"changing" is being changed');
    }
    expect([read.status, read.body.data.map(({ a }: Row) => a)]).toEqual([200, ["x"]]);
    expect(read.ms).toBeLessThan(MARGIN_MS);
    expect((await admin.post("/others", { a: "z" })).status).toBe(201);
  });
});
