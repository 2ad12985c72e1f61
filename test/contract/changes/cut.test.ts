// Contract 5.3 and 5.4: what is told of changes that are too large for the journal to keep all of them.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { type Db, MongoClient } from "mongodb";
import { type Api, apiOf, asAdmin, search } from "../../support/api.js";
import { type EventSource, openEvents } from "../../support/event-source.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable } from "../records/make.js";

const reader = { email: "reader@example.com", password: "correct horse battery" };

/** Its state before a change and after it are too much together. */
const LARGE = `${"x".repeat(6_400_000)} needle`;
const SIZE = { $project: { size: { $bsonSize: "$$ROOT" } } };
const CONTAINED = { body: { _contains: "needle" } };

let stack: Stack;
let admin: Api;
let client: MongoClient;
let db: Db;
const open: EventSource[] = [];

beforeAll(async () => {
  stack = await startStack({ env: { BODY_MAX_BYTES: String(16 * 1024 * 1024) } });
  admin = await asAdmin(stack);
  client = await MongoClient.connect(stack.mongodbUrl);
  db = client.db();
  const columns = [
    { name: "title", type: "string" },
    { name: "body", type: "text" },
  ];
  await makeTable(admin, { name: "drafts", idType: "int", changes: true, history: true, columns });
  const role = (await make(admin, "svc_role", { name: "readers" })).id;
  await make(admin, "svc_user", { ...reader, role });
  const filter = { body: { _is_null: true } };
  await make(admin, "svc_permission", { role, table: "drafts", action: "read", filter });
});

afterEach(() => {
  for (const source of open.splice(0)) source.close();
});

afterAll(async () => {
  await client?.close();
  await stack?.stop();
});

async function follow(who: { email: string; password: string }, filter: object): Promise<EventSource> {
  const { body } = await apiOf(`${stack.appUrl}/api`).post("/auth/login", who);
  const url = `${stack.dataUrl}/drafts/changes${search({ fields: "id", filter })}`;
  const source = await openEvents(url, { Authorization: `Bearer ${body.accessToken}` });
  open.push(source);
  return source;
}

async function makeDraft(values: object): Promise<number> {
  const { status, body } = await admin.post("/drafts?fields=id", values);
  expect(status).toBe(201);
  return body.data[0].id;
}

async function change(id: number, values: object): Promise<void> {
  expect((await admin.patch(`/drafts/${id}?fields=id`, values)).status).toBe(200);
}

/** What a stream was told, in words. */
function told(source: EventSource): string[] {
  return source.told.map(({ event, data }) => (data.id === undefined ? event : `${event} ${data.id}`));
}

describe("a change of a record that the journal has no room for", () => {
  it("is told to nobody who did not see the record", async () => {
    const id = await makeDraft({ title: "a", body: LARGE });
    const source = await follow(reader, {});
    await change(id, { title: "b" });
    const last = await makeDraft({ title: "last" });
    await source.first(1, "created");
    expect(told(source)).toEqual(["ready", `created ${last}`]);
  });

  it("is told where nothing that was left out has to be looked at", async () => {
    const id = await makeDraft({ title: "a", body: LARGE });
    const sources = await Promise.all(
      [{ title: "b" }, { body: { _is_not_null: true } }, { _or: [{ id }, CONTAINED] }].map((filter) =>
        follow(stack.admin, filter),
      ),
    );
    await change(id, { title: "b" });
    await Promise.all(sources.map((source) => source.first(1, "entered", "updated", "reset")));
    expect(sources.map(told)).toEqual(
      ["entered", "updated", "updated"].map((event) => ["ready", `${event} ${id}`]),
    );
  });

  it("is passed over where the rest is enough to know that it does not matter", async () => {
    const id = await makeDraft({ title: "a", body: LARGE });
    const source = await follow(stack.admin, { _or: [{ title: "last" }, { title: "c", ...CONTAINED }] });
    await change(id, { title: "b" });
    const last = await makeDraft({ title: "last" });
    await source.first(1, "created");
    expect(told(source)).toEqual(["ready", `created ${last}`]);
  });

  it("is never missed where what was left out decides: the stream says `reset`", async () => {
    const id = await makeDraft({ title: "a", body: LARGE });
    const sources = await Promise.all(
      [CONTAINED, { _not: CONTAINED }].map((filter) => follow(stack.admin, filter)),
    );
    await change(id, { title: "b" });
    await Promise.all(sources.map((source) => source.first(1, "reset")));
    expect((await admin.delete(`/drafts/${id}`)).status).toBe(200);
    await sources[0]?.first(1, "deleted");
    expect(sources.map(told)).toEqual([
      ["ready", "reset", `deleted ${id}`],
      ["ready", "reset"],
    ]);
  });
});

describe("a record of nearly 16 MB", () => {
  /** So much that what its table has of it leaves room for its last change, but an announcement has none for the record. */
  const full = async (): Promise<number> => {
    const id = await makeDraft({ title: "new" });
    await change(id, { title: "a" });
    const drafts = db.collection<{ _id: number }>("drafts");
    const [stored] = await drafts.aggregate([{ $match: { _id: id } }, SIZE]).toArray();
    const body = "x".repeat(16 * 1024 * 1024 - stored?.size - 30);
    await drafts.updateOne({ _id: id }, { $set: { body } });
    return id;
  };

  it("can be changed, and what was not changed is told as such", async () => {
    const id = await full();
    await change(id, { title: "b" });
    const { body } = await admin.get(`/drafts/${id}/history`);
    expect(body.data[0].changes).toEqual({ title: { from: "a", to: "b" } });
  });

  it("can be deleted", async () => {
    expect((await admin.delete(`/drafts/${await full()}`)).status).toBe(200);
  });
});

describe("the history of a record that the journal has no room for", () => {
  it("tells what changed, without the values that were not kept", async () => {
    const id = await makeDraft({ title: "a", body: LARGE });
    await change(id, { title: "b" });
    await change(id, { body: LARGE.repeat(2) });
    await change(id, { body: null });
    const { body } = await admin.get(`/drafts/${id}/history`);
    expect(body.data.slice(0, 3).map(({ changes }: { changes: unknown }) => changes)).toEqual([
      { body: { to: null } },
      { body: {} },
      { title: { from: "a", to: "b" } },
    ]);
  });
});
