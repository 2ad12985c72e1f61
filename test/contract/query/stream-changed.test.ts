// What a list that is read slowly shows of records that are changed before it comes to them: never what its caller may not
// see, nor what is not kept any more.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { type Api, asAdmin } from "../../support/api.js";
import { mostInSocket } from "../../support/process-facts.js";
import { readSlowly, type SlowReader } from "../../support/slow-reader.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable } from "../records/make.js";
import { tableNamed } from "../tables/change.js";

const MEBIBYTE = 1024 * 1024;
const TEXT_BYTES = 100_000;
/** More than may be on its way to a client that does not read, and more than are ranked by looking at each. */
const POSTS = 300 + Math.ceil((2 * mostInSocket()) / TEXT_BYTES);
/** The last that any of these lists comes to; the others are like the first of them. */
const LAST = {
  left: { status: "published", note: "to do" },
  withdrawn: { status: "published", note: "open to all" },
  deleted: { status: "published", note: "to do" },
  done: { status: "published", note: "to do" },
  opened: { status: "internal", note: "the customer lies" },
  thanked: { status: "internal", note: "to do" },
  public: { status: "public", note: "as it was made" },
} as const;
/** What may pass until an answer that lasts is looked at again, and something for a busy machine. */
const LOOKED_AT_MS = 4_500;
const NAMES = Object.keys(LAST);

type Name = keyof typeof LAST;

let stack: Stack;
let admin: Api;
let client: MongoClient;
let reader: SlowReader | undefined;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  await makeTable(admin, {
    name: "posts",
    idType: "int",
    softDelete: true,
    columns: ["title", "status", "note"]
      .map((name) => ({ name, type: "string" }))
      .concat({ name: "text", type: "text" }),
  });
  const post = { name: "post", type: "many-to-one", table: "posts", inverse: "comments" };
  await makeTable(admin, { name: "comments", columns: [], relations: [post] });
  client = await MongoClient.connect(stack.mongodbUrl);
  const all = [...Array.from({ length: POSTS - NAMES.length }, () => LAST.left), ...Object.values(LAST)];
  const text = "x".repeat(TEXT_BYTES);
  const posts = all.map((values, at) => ({ _id: at + 1, title: titleOf(at + 1), text, ...values }));
  const collection = client.db().collection<{ _id: number }>("posts");
  for (let at = 0; at < POSTS; at += 100) await collection.insertMany(posts.slice(at, at + 100));
});

afterEach(() => reader?.leave());

afterAll(async () => {
  await client?.close();
  await stack?.stop();
});

function idOf(name: Name): number {
  return POSTS - NAMES.length + NAMES.indexOf(name) + 1;
}

/** In the order of the ids. */
function titleOf(id: number): string {
  return `post ${String(id).padStart(5, "0")}`;
}

async function change(name: Name, body: object): Promise<void> {
  expect((await admin.patch(`/posts/${idOf(name)}`, body)).status).toBe(200);
}

/** Headers of a new user, who may read the posts by these rules alone. */
async function userWith(name: string, rules: readonly object[]): Promise<Record<string, string>> {
  const credentials = { email: `${name}@example.com`, password: "a good password" };
  const role = (await make(admin, "svc_role", { name })).id;
  for (const rule of rules)
    await make(admin, "svc_permission", { role, table: "posts", action: "read", ...rule });
  await make(admin, "svc_permission", { role, table: "comments", action: "read" });
  await make(admin, "svc_user", { ...credentials, role });
  const { body } = await admin.post("/auth/login", credentials);
  return { Authorization: `Bearer ${body.accessToken}` };
}

/** What a list shows of its last records, if these change when its first are read, and which these are. */
async function lastOf(query: string, headers: Record<string, string>, meanwhile: () => Promise<unknown>) {
  reader = await readSlowly(`${stack.appUrl}/api/posts?limit=0&${query}`, headers);
  await reader.readTo(MEBIBYTE);
  await meanwhile();
  const rest = await reader.readRest();
  const text = rest.slice(rest.indexOf(titleOf(idOf("left")))).replaceAll("x".repeat(TEXT_BYTES), "");
  return { text, names: NAMES.filter((_, at) => text.includes(titleOf(idOf("left") + at))) };
}

it("a ranked list leaves out what its caller may not see any more when it reads what it has ranked", async () => {
  const headers = await userWith("reader", [{ filter: { status: { _neq: "draft" } } }]);
  const { text, names } = await lastOf("sort=-_count(comments)&fields=title,text,note", headers, async () => {
    await change("withdrawn", { status: "draft", note: "confidential" });
    expect((await admin.delete(`/posts/${idOf("deleted")}`)).status).toBe(200);
  });
  expect(names).toEqual(["left", "done", "opened", "thanked", "public"]);
  expect(text).not.toContain("confidential");
});

it("a ranked list leaves out what its filter does not match any more, too", async () => {
  const headers = await userWith("worker", [{}]);
  const filter = encodeURIComponent(JSON.stringify({ note: "to do" }));
  const query = `sort=-_count(comments)&fields=title,text&filter=${filter}`;
  const { names } = await lastOf(query, headers, () => change("done", { note: "done" }));
  expect(names).toEqual(["left", "thanked"]);
});

it("a column that a rule shows in some rows is never shown as it was when the rule did not match", async () => {
  await change("thanked", { status: "public", note: "thank you" });
  const headers = await userWith("clerk", [
    { fields: "title,text,status" },
    { fields: "note", filter: { status: "public" } },
  ]);
  const { text, names } = await lastOf("sort=title&fields=title,text,note", headers, () =>
    change("opened", { status: "public", note: "resolved" }),
  );
  expect(names).toContain("opened");
  expect(text).not.toContain("the customer lies");
  // What stays as it is shows what it may, whether it was changed before or never.
  expect(text).toContain("thank you");
  expect(text).toContain("as it was made");
});

it("a list breaks off at its end when a number of related records that it shows is not kept any more by then", async () => {
  const headers = await userWith("editor", [{}]);
  const { id, relations } = await tableNamed(admin, "comments");
  const count = async (counted: boolean): Promise<void> => {
    const body = { relations: [{ id: relations[0].id, counted }] };
    expect((await admin.patch(`/svc_table/${id}`, body)).status).toBe(200);
  };
  await count(true);
  const list = lastOf("fields=title,text,_count(comments)", headers, async () => {
    await count(false);
    await make(admin, "comments", { post: idOf("left") });
  });
  await expect(list).rejects.toThrow("aborted");
});

it.each([
  ["of a page", "limit=150"],
  ["of all", "limit=0"],
])("a file %s breaks off when its caller may not read it any more before its end", async (what, query) => {
  const role = `exporter-${what.replaceAll(" ", "-")}`;
  const headers = await userWith(role, [{}]);
  // Nothing is read before, and no gateway is between: so that little of a page is on its way.
  reader = await readSlowly(`${stack.dataUrl}/posts?format=ndjson&${query}`, headers);
  const { body } = await admin.get("/svc_permission", { filter: { role: { name: role } } });
  for (const { id } of body.data) expect((await admin.delete(`/svc_permission/${id}`)).status).toBe(200);
  await expect(reader.readRest()).rejects.toThrow("aborted");
});

it("a file is whole though a rule was made for a table that has no part in it", async () => {
  await makeTable(admin, { name: "events", columns: [] });
  const headers = await userWith("archivist", [{}]);
  reader = await readSlowly(`${stack.dataUrl}/posts?format=ndjson&fields=title,text`, headers);
  await make(admin, "svc_permission", { role: null, table: "events", action: "read" });
  const lines = (await reader.readRest()).trimEnd().split("\n");
  expect(lines.at(-1)).toContain(titleOf(POSTS));
});

it("a list whose records share a large one breaks off when its caller may not read that any more", async () => {
  await makeTable(admin, { name: "covers", columns: [{ name: "text", type: "text" }] });
  const relations = [{ name: "cover", type: "many-to-one", table: "covers" }];
  await makeTable(admin, { name: "issues", columns: [], relations });
  const headers = await userWith("subscriber", [{}]);
  const { body } = await admin.get("/svc_role", { filter: { name: "subscriber" } });
  const grant = (table: string) =>
    make(admin, "svc_permission", { role: body.data[0].id, table, action: "read" });
  await grant("issues");
  const { id } = await grant("covers");
  const cover = (await make(admin, "covers", { text: "x".repeat(10 * TEXT_BYTES) })).id;
  const issues = Array.from({ length: 100 }, () => ({ cover }));
  expect((await admin.post("/issues", issues)).status).toBe(201);
  reader = await readSlowly(`${stack.dataUrl}/issues?limit=0&fields=cover.text`, headers);
  // More than the database sends first.
  await reader.readTo(12 * MEBIBYTE);
  expect((await admin.delete(`/svc_permission/${id}`)).status).toBe(200);
  await delay(LOOKED_AT_MS);
  await expect(reader.readAll()).rejects.toThrow("aborted");
  expect(reader.bytes()).toBeLessThan(mostInSocket() + 14 * MEBIBYTE);
});
