// Adopting a database that other programs made: what infer writes serves it, and nothing in it changes until a write.
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Collection, DBRef, Decimal128, type Document, Long, MongoClient, ObjectId } from "mongodb";
import { checksOf, pointerTo } from "../contract/metadata/schema-check.js";
import type { Row } from "../contract/records/make.js";
import {
  columnsWith,
  deleteConfirmed,
  expectDestructive,
  patchConfirmed,
} from "../contract/tables/change.js";
import { type Api, signIn } from "../support/api.js";
import { startEngine, stopEngine } from "../support/engine-of-run.js";
import { fileOf } from "../support/run-state.js";
import { ADMIN, freshDatabase, type RunningService, startService } from "../support/stack.js";
import { until } from "../support/wait.js";
import { bytesOf, COLLECTIONS, ids, makeForeignDatabase } from "./foreign-database.js";

let directory: string;
let client: MongoClient;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "portico-adopt-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** Runs `npm run schema -- …`. */
async function schema(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [fileOf("@portico/data-service/schema-main"), ...words], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, DATA_DIR: directory, NODE_ENV: "test", ...env },
  });
  const [output, errors, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once("close", resolve)),
  ]);
  return { code, output, errors };
}

function serve(mongodbUrl: string, file: string): Promise<RunningService> {
  return startService("@portico/data-service/main", {
    MONGODB_URL: mongodbUrl,
    DATA_DIR: directory,
    DATA_SERVICE_PORT: "0",
    NODE_ENV: "test",
    ADMIN_EMAIL: ADMIN.email,
    ADMIN_PASSWORD: ADMIN.password,
    LOG_LEVEL: "info",
    DEMO: "off",
    SCHEMA_FILE: file,
  });
}

describe("a database of ten collections as other programs leave them", () => {
  let url: string;
  let file: string;
  let summary: string;
  let before: Record<string, string[]>;
  let indexes: Record<string, unknown[]>;
  let service: RunningService | undefined;
  let admin: Api;

  const data = async (path: string, query: Readonly<Record<string, unknown>> = {}) => {
    const { status, body } = await admin.get(path, query);
    expect({ status, path, message: body.message }).toEqual({ status: 200, path, message: "Success" });
    return body.data;
  };
  const idsOf = async (path: string, query: Readonly<Record<string, unknown>>) =>
    (await data(path, { limit: "0", ...query })).map(({ id }: { id: unknown }) => id);
  const indexesOf = async () => {
    const read = Object.keys(COLLECTIONS).map(async (name): Promise<[string, Document[]]> => {
      return [name, await client.db().collection(name).indexes()];
    });
    return Object.fromEntries(await Promise.all(read));
  };

  beforeAll(async () => {
    url = freshDatabase();
    file = join(directory, "schema.json");
    client = new MongoClient(url);
    await makeForeignDatabase(client.db());
    [before, indexes] = [await bytesOf(client.db()), await indexesOf()];
    const collections = await client.db().listCollections().toArray();
    const inferred = await schema(["infer", file, "--database", url]);
    expect(inferred.errors).toBe("");
    summary = inferred.output;
    expect(await client.db().listCollections().toArray()).toEqual(collections);
    service = await serve(url, file);
    admin = await signIn(service.url, ADMIN);
  });
  afterAll(async () => {
    await service?.stop();
    await client.db().dropDatabase();
    await client.close();
  });

  it("is described: what was recognised, what was not, what is left out", () => {
    for (const line of [
      "blogPosts → blog_posts: 15 documents, ids objectId, 4 columns, 3 relations",
      "  author: many-to-one to authors, from authorId; 1 of 4 ids looked up are not there",
      "  sort: numbers and texts, served as json",
      "  roles: lists of 2 different texts, served as enumList; other texts must be added to its options",
      "  __v: left as it is, not served",
      "  meta.seo: left as it is, not served",
      "  raw: bytes, served as base64, read-only",
      "drafts: is a view, left out",
      'folded: is a collection with a default collation ("en"), left out',
      "fs.chunks: holds files of GridFS, left out",
      "fs.files: holds files of GridFS, left out",
    ])
      expect(summary.split("\n")).toContain(line);
  });

  it("is served whole: every document of every collection is a record", async () => {
    const tables = { blogPosts: "blog_posts", Comment: "comment" } as Readonly<Record<string, string>>;
    for (const [name, documents] of Object.entries(COLLECTIONS)) {
      const records = await data(`/${tables[name] ?? name}`, { limit: "0" });
      expect({ name, count: records.length }).toEqual({ name, count: documents.length });
    }
  });

  it("shows values of every kind, explicit nulls and missing fields as null", async () => {
    expect(await data("/authors", { fields: "bio,createdAt,roles", limit: "4" })).toEqual([
      { bio: "About 1", createdAt: "2024-01-01T00:00:00.000Z", roles: ["editor"] },
      { bio: "About 2", createdAt: "2024-01-02T00:00:00.000Z", roles: ["editor", "admin"] },
      { bio: null, createdAt: "2024-01-03T00:00:00.000Z", roles: ["editor"] },
      { bio: null, createdAt: "2024-01-04T00:00:00.000Z", roles: ["editor", "admin"] },
    ]);
    expect(await data("/devices", { limit: "1" })).toEqual([
      {
        id: "0190163d-8694-739b-aea5-000000000001",
        serial: "9007199254740994",
        on: true,
        raw: "AQID",
        createdAt: null,
        updatedAt: null,
      },
    ]);
    expect(await data("/orders", { fields: "total,createdAt", limit: "1" })).toEqual([
      { total: "1.90", createdAt: "2024-01-01T00:00:00.000Z" },
    ]);
    expect(await data("/articles", { fields: "id,id_field,sort,updatedAt", limit: "2" })).toEqual([
      { id: 10, id_field: "article-1", sort: 1, updatedAt: null },
      { id: 20, id_field: "article-2", sort: "last", updatedAt: null },
    ]);
  });

  it("is described with times that may be null, of which other tables always have both", async () => {
    const document = (await admin.get("/openapi.json")).body;
    const [device] = await data("/devices", { limit: "1" });
    const check = checksOf(document);
    const { createdAt, updatedAt } = device;
    const problemsOf = (schema: string, value: unknown) =>
      check(pointerTo("components", "schemas", schema), value);
    expect(problemsOf("devices.record", device)).toEqual([]);
    expect(problemsOf("devices.update", { createdAt, updatedAt })).toEqual([]);
    const timesOf = (name: string) => {
      const { properties } = document.components.schemas[`${name}.record`];
      return [properties.createdAt.type, properties.updatedAt.type];
    };
    expect([timesOf("devices"), timesOf("svc_role")]).toEqual([
      [
        ["string", "null"],
        ["string", "null"],
      ],
      ["string", "string"],
    ]);
    const types: string = (await admin.get("/types.ts")).body;
    const timesIn = (name: string) => {
      const [record = ""] = types.slice(types.indexOf(`\n  ${name}: {`)).split("create:", 1);
      return record.match(/\b(?:createdAt|updatedAt): .*;/g);
    };
    expect([timesIn("devices"), timesIn("svc_role")]).toEqual([
      ["createdAt: string | null;", "updatedAt: string | null;"],
      ["createdAt: string;", "updatedAt: string;"],
    ]);
  });

  it("filters, sorts and counts it", async () => {
    expect(await idsOf("/authors", { filter: { bio: null } })).toEqual(
      [ids.author(3), ids.author(4)].map(String),
    );
    expect(await idsOf("/authors", { filter: { roles: { _contains: "admin" } }, limit: "1" })).toEqual([
      String(ids.author(2)),
    ]);
    expect(await idsOf("/tags", { filter: { id: { _starts_with: "r" } } })).toEqual(["red"]);
    expect(await idsOf("/devices", { filter: { serial: { _gt: "9007199254740994" } } })).toHaveLength(2);
    expect(await idsOf("/orders", { filter: { total: { _between: ["2.9", "3.90"] } } })).toHaveLength(2);
    expect(await idsOf("/articles", { sort: "-createdAt", limit: "2" })).toEqual([100, 90]);
    expect(await idsOf("/blog_posts", { sort: "author.firstName,-views", limit: "2" })).toEqual(
      [ids.post(15), ids.post(14)].map(String),
    );
    const { body } = await admin.get("/blog_posts", { meta: "*", aggregate: { views: { sum: true } } });
    expect(body.meta).toEqual({ totalCount: 15, filterCount: 15, aggregate: { views: { sum: 123.5 } } });
  });

  it("follows references, both ways, and lists of them", async () => {
    const [post] = await data("/blog_posts", { fields: "title,author.firstName,tags.label", limit: "1" });
    expect(post).toEqual({
      title: "Post 1",
      author: { id: String(ids.author(2)), firstName: "Author 2" },
      tags: [
        { id: "green", label: "GREEN" },
        { id: "red", label: "RED" },
      ],
    });
    const [author] = await data("/authors", {
      fields: "firstName",
      deep: { blog_posts: { fields: "title", sort: "-title", limit: 1 } },
    });
    expect(author).toEqual({
      firstName: "Author 1",
      blog_posts: [{ id: String(ids.post(9)), title: "Post 9" }],
    });
    expect(await idsOf("/tags", { filter: { blog_posts: { title: "Post 1" } } })).toEqual(["green", "red"]);
    expect(await idsOf("/blog_posts", { filter: { author: { email: "author2@example.com" } } })).toHaveLength(
      4,
    );
    expect(await idsOf("/blog_posts", { filter: { author: null } })).toHaveLength(2);
    expect(await data("/categories/2", { fields: "parent.name" })).toEqual([
      { parent: { id: 1, name: "Category 1" } },
    ]);
    expect(await data(`/sessions/${ids.session(1)}`, { fields: "device.on" })).toEqual([
      { device: { id: "0190163d-8694-739b-aea5-000000000002", on: false } },
    ]);
  });

  it("a link to a document that is gone shows its id, and has no fields", async () => {
    const path = `/blog_posts/${ids.post(15)}`;
    expect(await data(path, { fields: "author" })).toEqual([{ author: { id: "000000010000000000000063" } }]);
    expect(await data(path, { fields: "author.email" })).toEqual([{ author: null }]);
  });

  it.each([
    { author: { _is_not_null: true } },
    { author: { id: { _neq: "507f1f77bcf86cd799439011" } } },
    { author: { id: { _not_in: [] } } },
    { author: { id: { _is_not_null: true } } },
    { author: {} },
    { _not: { author: { id: { _is_null: true } } } },
  ])("finds a link to a document that is gone by %j, which asks nothing of it but its id", async (filter) => {
    const id = String(ids.post(15));
    expect(await data("/blog_posts", { fields: "id", filter: { _and: [{ id }, filter] } })).toEqual([{ id }]);
  });

  it("keeps a link to a document that is gone when its relation is removed and brought back", async () => {
    const [{ id, relations }] = await data("/svc_table", { filter: { name: "blog_posts" } });
    const others = relations.filter(({ name }: { name: string }) => name !== "author");
    const refused = await admin.patch(`/svc_table/${id}`, { relations: others });
    const confirm = refused.body.error.details.confirmHash;
    expect((await admin.patch(`/svc_table/${id}`, { relations: others }, { confirm })).status).toBe(200);
    expect((await admin.post(`/svc_table/${id}/undo`)).status).toBe(200);
    // In its former place, so that the file says what is there.
    expect((await admin.patch(`/svc_table/${id}`, { relations })).status).toBe(200);
    expect(await data(`/blog_posts/${ids.post(15)}`, { fields: "author" })).toEqual([
      { author: { id: "000000010000000000000063" } },
    ]);
  });

  it("names ids of several kinds in one collection without mistaking them", async () => {
    const all = await data("/settings", { limit: "0" });
    expect(all.map(({ id }: { id: string }) => id)).toEqual([
      ...["1.5", "5", "9007199254740995", '"000000090000000000000002"', '"5"', "home"],
      ...['{"tenant":"a","year":2024}', "0190163d-8694-739b-aea5-000000000007", "000000090000000000000001"],
      '{"$date":"1970-01-03T00:00:00Z"}'.replace("1970", "2024"),
    ]);
    for (const record of all) {
      expect(await data(`/settings/${encodeURIComponent(record.id)}`)).toEqual([record]);
      expect(await idsOf("/settings", { filter: { id: { _in: [record.id] } } })).toEqual([record.id]);
    }
    expect(await idsOf("/settings", { filter: { value: null }, fields: "id" })).toEqual([
      "5",
      '{"tenant":"a","year":2024}',
    ]);
  });

  it("takes no condition for an id", async () => {
    for (const id of [
      '{"$gt":""}',
      '{"$regularExpression":{"pattern":"h","options":""}}',
      '{"a":{"$ne":1}}',
    ]) {
      const path = `/settings/${encodeURIComponent(id)}`;
      expect((await admin.get(path)).status).toBe(404);
      expect((await admin.delete(path)).status).toBe(404);
      expect((await admin.patch(path, { value: 1 })).status).toBe(404);
      expect((await admin.get("/settings", { filter: { id: { _in: [id] } } })).status).toBe(400);
    }
  });

  it("has not changed by a byte, and its own indexes are all there", async () => {
    expect(await bytesOf(client.db())).toEqual(before);
    const now = await indexesOf();
    for (const [name, own] of Object.entries(indexes)) expect(now[name]).toEqual(expect.arrayContaining(own));
  });

  it("is the same to the next start, which finds nothing to change", async () => {
    const env = { MONGODB_URL: url, SCHEMA_FILE: file };
    expect(await schema(["diff"], env)).toEqual({ code: 0, output: "no difference\n", errors: "" });
    const again = join(directory, "again.json");
    expect((await schema(["pull", again], env)).code).toBe(0);
    expect(await schema(["diff", again], env)).toMatchObject({ code: 0 });
    const pulled = JSON.parse(await readFile(again, "utf8")).tables;
    const orders = pulled.find(({ name }: { name: string }) => name === "orders");
    expect(orders.storage).toEqual({
      collection: "orders",
      createdAt: "created_at",
      updatedAt: "updated_at",
    });
    expect(orders.relations[0].field).toBe("author_id");
    await service?.stop();
    service = await serve(url, file);
    admin = await signIn(service.url, ADMIN);
    expect(await bytesOf(client.db())).toEqual(before);
  });

  it("is not inferred a second time, and no file is overwritten", async () => {
    const second = join(directory, "second.json");
    const { output } = await schema(["infer", second, "--database", url]);
    expect(JSON.parse(await readFile(second, "utf8"))).toEqual({ tables: [] });
    expect(output).toContain("authors: has a table already, left out");
    const { code, errors } = await schema(["infer", file, "--database", url]);
    expect([code, errors]).toEqual([1, `Nothing is inferred: ${file} exists, and is left as it is.\n`]);
    // It is no reason to wait for a database.
    const nowhere = "mongodb://127.0.0.1:9/nothing";
    expect(await schema(["infer", file, "--database", nowhere])).toMatchObject({ code, errors });
  });

  it("changes where it is written to, in the fields that are written, and nowhere else", async () => {
    const post = `/blog_posts/${ids.post(2)}`;
    expect((await admin.patch(post, { title: "New", author: null })).status).toBe(200);
    expect((await admin.patch("/orders/000000030000000000000001", { total: "5.00" })).status).toBe(200);
    expect((await admin.delete(`/settings/${encodeURIComponent('"5"')}`)).status).toBe(200);
    expect((await admin.delete("/tags/blue")).status).toBe(200);
    const after = await bytesOf(client.db());
    const others = (bytes: Record<string, string[]>, name: string, left: readonly number[]) =>
      bytes[name]?.filter((_, at) => !left.includes(at));
    expect(others(after, "blogPosts", [1])).toEqual(others(before, "blogPosts", [1]));
    expect(others(after, "orders", [0])).toEqual(others(before, "orders", [0]));
    expect(after.settings).toEqual(others(before, "settings", [2]));
    expect(after.tags).toEqual(others(before, "tags", [2]));
    for (const name of ["authors", "articles", "categories", "devices", "sessions", "Comment", "fs.files"])
      expect(after[name]).toEqual(before[name]);
    const { authorId, title, updatedAt, _record_version, ...rest } = (await client
      .db()
      .collection("blogPosts")
      .findOne({ _id: ids.post(2) }, { promoteValues: false })) as Document;
    const { authorId: _link, title: _title, ...was } = COLLECTIONS.blogPosts?.[1] ?? {};
    expect({ ...rest, comments: null }).toEqual({ ...was, comments: null });
    expect(Number(_record_version)).toBe(1);
    expect({ authorId, title: String(title), at: updatedAt instanceof Date }).toEqual({
      authorId: undefined,
      title: "New",
      at: true,
    });
    const order = await client
      .db()
      .collection("orders")
      .findOne({ _id: ids.order(1) });
    const former = Object.keys(COLLECTIONS.orders?.[0] ?? {});
    expect(new Set(Object.keys(order ?? {}))).toEqual(new Set([...former, "_record_version"]));
  });

  it("gives new records ids of the collection's kind that nobody has", async () => {
    const made = async (path: string, body: object) => {
      const { status, headers, body: answer } = await admin.post(path, body);
      expect({ status, message: answer.message }).toEqual({ status: 201, message: "Success" });
      expect(headers.get("Location")).toBe(`/api${path}/${answer.data[0].id}`);
      return answer.data[0].id;
    };
    const article = { id_field: "new", status: "draft", sort: 1, category: 1 };
    expect(await made("/articles", article)).toBe(101);
    // Another program goes on counting by itself.
    await client
      .db()
      .collection<{ _id: number }>("articles")
      .insertOne({ ...COLLECTIONS.articles?.[0], _id: 102 });
    expect(await made("/articles", article)).toBe(103);
    expect(await made("/tags", { label: "NEW", uber_uns: false })).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    expect(await made("/settings", { value: 1 })).toMatch(/^[0-9a-f]{24}$/);
    expect(await made("/devices", { on: true })).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    const author = { firstName: "Ann", email: "ann@example.com", roles: [], address: {} };
    await made("/authors", author);
    const stored = await client.db().collection("authors").findOne({ email: "ann@example.com" });
    expect(stored).toMatchObject({ firstName: "Ann", createdAt: expect.any(Date) });
  });

  it("the database's own unique indexes are refusals like any other", async () => {
    const author = { firstName: "Ann", email: "author1@example.com", roles: [], address: {} };
    const { status, body } = await admin.post("/authors", author);
    expect({ status, fields: body.error.details }).toEqual({ status: 409, fields: { fields: ["email"] } });
    const order = { number: "A-2", shop: "main", total: "1", lines: [], author: String(ids.author(1)) };
    expect((await admin.post("/orders", order)).status).toBe(409);
  });

  it("shows what another program writes later as it is, also where it does not fit the column", async () => {
    const odd = {
      firstName: 5,
      email: { a: 1 },
      roles: "editor",
      address: null,
      bio: ["x"],
      createdAt: "soon",
    };
    const { insertedId } = await client
      .db()
      .collection<Document>("authors")
      .insertOne({ ...odd });
    expect(await data(`/authors/${insertedId}`)).toEqual([
      { id: String(insertedId), ...odd, updatedAt: null },
    ]);
    await client
      .db()
      .collection<{ _id: string; serial: string }>("devices")
      .insertOne({ _id: "not a UUID", serial: "none" });
    const { status, body } = await admin.get("/devices", {
      aggregate: { serial: { sum: true } },
      limit: "0",
    });
    expect({ status, ids: body.data.at(0).id }).toEqual({ status: 200, ids: "not a UUID" });
  });

  it("takes null for no value when the type of a column changes", async () => {
    const [{ id, columns }] = await data("/svc_table", { filter: { name: "authors" } });
    const wider = columns.map((each: { name: string }) =>
      each.name === "bio" ? { ...each, type: "text" } : each,
    );
    expect((await admin.patch(`/svc_table/${id}`, { columns: wider })).status).toBe(200);
    expect(await data("/authors", { fields: "bio", limit: "3" })).toEqual([
      ...[{ bio: "About 1" }, { bio: "About 2" }, { bio: null }],
    ]);
  });

  it("loses nothing when tables change: what Portico no longer shows stays in the documents", async () => {
    await client
      .db()
      .collection("authors")
      .updateOne({ _id: ids.author(1) }, { $set: { nickname: "Al" } });
    const table = async () => (await data("/svc_table", { filter: { name: "authors" } }))[0];
    const { id, columns } = await table();
    const added = await admin.patch(`/svc_table/${id}`, {
      columns: [...columns, { name: "nickname", type: "string" }],
    });
    expect(added.status).toBe(200);
    expect(await data(`/authors/${ids.author(1)}`, { fields: "nickname" })).toEqual([{ nickname: "Al" }]);
    const stored = await bytesOf(client.db());
    const without = columns.filter(({ name }: { name: string }) => name !== "bio");
    const refused = await admin.patch(`/svc_table/${id}`, { columns: without });
    expect(refused.status).toBe(409);
    const { confirmHash } = refused.body.error.details;
    expect(
      (await admin.patch(`/svc_table/${id}`, { columns: without }, { confirm: confirmHash })).status,
    ).toBe(200);
    expect((await data(`/authors/${ids.author(1)}`))[0]).not.toHaveProperty("bio");
    expect(await bytesOf(client.db())).toEqual(stored);
  });

  it("sets links in documents that say null, or name a single one", async () => {
    await client
      .db()
      .collection<Document>("blogPosts")
      .updateOne({ _id: ids.post(11) }, { $set: { tags: "green" } });
    const posts = [ids.post(11), ids.post(12)].map(String);
    expect((await admin.patch("/tags/red", { blog_posts: posts })).status).toBe(200);
    expect(await idsOf("/blog_posts", { filter: { tags: "red" } })).toEqual(posts);
    expect((await admin.delete("/tags/green")).status).toBe(200);
    expect(await data(`/blog_posts/${posts[0]}`, { fields: "tags" })).toEqual([{ tags: [{ id: "red" }] }]);
  });

  it("a new column's default reaches every document, whatever the kind of its id", async () => {
    const more = Array.from({ length: 1_500 }, (_, at) => ({ _id: at % 3 === 0 ? `many${at}` : 1_000 + at }));
    await client.db().collection<{ _id: number | string }>("settings").insertMany(more);
    const [{ id, columns }] = await data("/svc_table", { filter: { name: "settings" } });
    const flag = { name: "flag", type: "boolean", required: true, default: true };
    expect((await admin.patch(`/svc_table/${id}`, { columns: [...columns, flag] })).status).toBe(200);
    const { body } = await admin.get("/settings", { meta: "filterCount", filter: { flag: null } });
    expect(body.meta).toEqual({ filterCount: 0 });
  });

  it("a collection that holds documents and is given a table by hand is adopted too", async () => {
    await client.db().collection("plain").insertOne({ kept: "before", title: "One" });
    const made = await admin.post("/svc_table", {
      name: "plain",
      columns: [{ name: "title", type: "string" }],
    });
    const { id, columns } = made.body.data[0];
    const kept = { name: "kept", type: "string" };
    expect((await admin.patch(`/svc_table/${id}`, { columns: [...columns, kept] })).status).toBe(200);
    expect(await data("/plain", { fields: "title,kept" })).toEqual([{ title: "One", kept: "before" }]);
  });

  describe("given a table by hand", () => {
    const owner = { name: "owner", type: "many-to-one", table: "owners", inverse: "things" };
    const byHand = (definition: object) => admin.post("/svc_table", { name: "by_hand", ...definition });
    const documents = (): Collection<Document> => client.db().collection<Document>("by_hand");
    let ownerId: ObjectId;
    beforeAll(async () => {
      await admin.post("/svc_table", { name: "owners" });
    });
    beforeEach(async () => {
      await documents().deleteMany({});
      ownerId = new ObjectId((await admin.post("/owners", {})).body.data[0].id);
      await documents().insertMany([
        { ownerId, title: "same", tags: ["red"] },
        { ownerId, title: "same", tags: ["red", "blue"] },
      ]);
    });
    afterEach(async () => {
      for (const { id } of await data("/svc_table", { filter: { name: "by_hand" } })) {
        const refused = await admin.delete(`/svc_table/${id}`);
        const { confirmHash } = refused.body.error.details;
        expect((await admin.delete(`/svc_table/${id}?confirm=${confirmHash}`)).status).toBe(200);
        await client.db().collection("_changes").deleteMany({ table: id });
      }
    });

    it("counts the documents, gives them defaults, and lets be what misses a required value", async () => {
      const made = await byHand({
        columns: [
          { name: "title", type: "string" },
          { name: "stars", type: "int", default: 3 },
          { name: "needed", type: "string", required: true },
        ],
        relations: [{ ...owner, counted: true }],
      });
      expect([made.status, made.body.message]).toEqual([201, "Success"]);
      const record = { title: "same", stars: 3, needed: null };
      expect(await data("/by_hand", { fields: "title,stars,needed" })).toEqual([record, record]);
      const withoutThings = { id: String(ownerId), things: { _is_null: true } };
      expect(await data("/owners", { filter: withoutThings })).toEqual([]);
    });

    it("adds up only what are numbers, and takes a list with a null in it for a list", async () => {
      await documents().deleteMany({});
      await documents().insertMany([
        { many: "7", few: "7", tags: ["red", null] },
        { many: true, few: true, tags: null },
        { many: new Date(1), few: new Date(1), tags: ["blue"] },
      ]);
      const columns = [
        { name: "many", type: "bigint" },
        { name: "few", type: "int" },
        { name: "tags", type: "enumList", options: { values: ["red", "blue"] } },
      ];
      expect((await byHand({ columns })).status).toBe(201);
      const aggregate = { many: { sum: true, avg: true }, few: { sum: true, avg: true } };
      const { body } = await admin.get("/by_hand", { aggregate });
      const overNothing = { sum: null, avg: null };
      expect(body.meta.aggregate).toEqual({ many: overNothing, few: overNothing });
      const tagsWhere = async (filter: object) =>
        (await data("/by_hand", { fields: "tags", filter, sort: "id" })).map(({ tags }: Row) => tags);
      expect(await tagsWhere({ tags: null })).toEqual([null]);
      expect(await tagsWhere({ tags: { _is_null: false } })).toEqual([["red", null], ["blue"]]);
      expect(await tagsWhere({ _not: { tags: { _contains: "blue" } } })).toEqual([["red", null]]);
    });

    it("reads NaN and infinities as null, whatever the number", async () => {
      await documents().deleteMany({});
      const [decimal, double] = [Decimal128.fromString("NaN"), Number.NEGATIVE_INFINITY];
      await documents().insertOne({ many: double, exact: decimal, few: double });
      const columns = [
        { name: "many", type: "bigint" },
        { name: "exact", type: "decimal" },
        { name: "few", type: "int" },
      ];
      expect((await byHand({ columns })).status).toBe(201);
      const nothing = { many: null, exact: null, few: null };
      expect(await data("/by_hand", { fields: "many,exact,few" })).toEqual([nothing]);
      const all = { sum: true, avg: true, min: true, max: true };
      const { body } = await admin.get("/by_hand", { aggregate: { many: all, exact: all, few: all } });
      const none = { sum: null, avg: null, min: null, max: null };
      expect(body.meta.aggregate).toEqual({ many: none, exact: none, few: none });
    });

    it("finds a time beyond the calendar and an infinity, null as they are shown, by ranges open at their end", async () => {
      await documents().deleteMany({});
      const { insertedId: _id } = await documents().insertOne({ few: Number.POSITIVE_INFINITY });
      const at = { $toDate: Long.fromString("8640000000000001") };
      await documents().updateOne({ _id }, [{ $set: { at } }]);
      const columns = [
        { name: "few", type: "float" },
        { name: "at", type: "datetime" },
      ];
      expect((await byHand({ columns })).status).toBe(201);
      const found = (filter: object) => data("/by_hand", { fields: "few,at", filter });
      const [now, later] = ["2024-01-05T00:00:00Z", "9999-12-31T00:00:00Z"];
      for (const filter of [{ few: { _gt: 5 } }, { at: { _gt: now } }, { at: { _is_null: false } }])
        expect(await found(filter)).toEqual([{ few: null, at: null }]);
      for (const filter of [{ few: { _between: [5, 1e300] } }, { at: { _between: [now, later] } }])
        expect(await found(filter)).toEqual([]);
    });

    it("takes a time in a year of more than four digits as it shows it", async () => {
      await documents().deleteMany({});
      await documents().insertMany([{ at: new Date("+010000-01-01T04:59:59.000Z") }, { at: new Date(0) }]);
      expect((await byHand({ columns: [{ name: "at", type: "datetime" }] })).status).toBe(201);
      const [late, early] = await data("/by_hand");
      expect(late.at).toBe("+010000-01-01T04:59:59.000Z");
      const found = (filter: object) => idsOf("/by_hand", { filter });
      expect(await found({ at: late.at })).toEqual([late.id]);
      expect(await found({ at: { _neq: late.at } })).toEqual([early.id]);
      expect(await found({ at: { _between: ["2200-01-01", late.at] } })).toEqual([late.id]);
      const written = await admin.patch(`/by_hand/${late.id}`, late);
      expect([written.status, written.body.data[0].at]).toEqual([200, late.at]);
    });

    it("counts a list that names a record twice, or null beside it, once", async () => {
      const other = new ObjectId((await admin.post("/owners", {})).body.data[0].id);
      await documents().deleteMany({});
      await documents().insertMany([
        { ownersIds: [ownerId, ownerId] },
        { ownersIds: [null, ownerId] },
        { ownersIds: ownerId },
        { ownersIds: [null, other] },
      ]);
      const owners = { ...owner, name: "owners", type: "many-to-many", counted: true };
      expect((await byHand({ relations: [owners] })).status).toBe(201);
      const numberOf = async (id: ObjectId): Promise<number> =>
        (await data(`/owners/${id}`, { fields: "_count(things)" }))[0]._count.things;
      expect([await numberOf(ownerId), await numberOf(other)]).toEqual([3, 1]);
      for (const { id } of await data("/by_hand", { sort: "id", limit: "2" }))
        expect((await admin.delete(`/by_hand/${id}`)).status).toBe(200);
      expect([await numberOf(ownerId), await numberOf(other)]).toEqual([1, 1]);
    });

    it("has its indexes used and left, whatever the table comes to be; those that were built for it go", async () => {
      const filter = { unique: true, partialFilterExpression: { email: { $exists: true } } };
      await documents().createIndex({ email: 1 }, { ...filter, name: "their_email" });
      await documents().createIndex({ title: 1, _id: 1 }, { name: "their_title" });
      const names = async () => {
        const found = await documents().indexes();
        return found.map(({ name = "" }) => name).filter((name) => /email|code|title/.test(name));
      };
      const theirs = ["their_email", "their_title"];
      const column = (name: string, unique: boolean) => ({ name, type: "string", unique });
      const made = await byHand({
        columns: [column("email", true), column("code", true), column("title", false)],
        indexes: [["title"], ["code", "title"]],
      });
      expect([made.status, made.body.message]).toEqual([201, "Success"]);
      const ours = [/^portico_code_1_[0-9a-f]{24}$/, /^portico_code_1_title_1__id_1_[0-9a-f]{24}$/];
      const known = [...theirs, ...ours.map((name) => expect.stringMatching(name))];
      expect(await names()).toEqual(expect.arrayContaining(known));
      expect((await names()).length).toBe(4);
      const [{ id, columns }] = made.body.data;
      const patch = { columns: columns.map((each: { id: string }) => ({ id: each.id, unique: false })) };
      expect((await admin.patch(`/svc_table/${id}`, { ...patch, indexes: [] })).status).toBe(200);
      expect(await names()).toEqual(theirs);
      // A change that is given up takes back no index that was there before it.
      const unique = [{ ...columns[0], unique: true }, columns[1], { ...columns[2], unique: true }];
      expect((await admin.patch(`/svc_table/${id}`, { columns: unique })).status).toBe(409);
      const lists = { columns: [...unique.slice(0, 2), { ...column("tags", true) }] };
      expect((await admin.patch(`/svc_table/${id}`, lists)).status).toBe(409);
      expect(await names()).toEqual(theirs);
      for (const name of theirs) await documents().dropIndex(name);
    });

    describe("with a state and a title that other programs go on writing", () => {
      const stateValues = ["open", "shut", "never"];
      let table: Row;
      const stored = () =>
        documents()
          .find({}, { sort: { _id: 1 } })
          .toArray();
      const patch = (change: object, query: Readonly<Record<string, string>> = {}) =>
        admin.patch(`/svc_table/${table.id}`, change, query);
      beforeEach(async () => {
        await documents().deleteMany({});
        await documents().insertMany([
          { state: "open", title: "one" },
          { state: "shut", title: "two" },
          { title: null },
        ]);
        const state = { name: "state", type: "enum", options: { values: stateValues } };
        const made = await byHand({ columns: [state, { name: "title", type: "string" }] });
        expect([made.status, made.body.message]).toEqual([201, "Success"]);
        table = made.body.data[0];
      });

      it.each<[string, string, object]>([
        ["a column becomes a text", "title", { type: "text" }],
        ["an enum column becomes a string", "state", { type: "string", options: null }],
        ["a value that nobody has is no longer one", "state", { options: { values: ["open", "shut"] } }],
        ["a column becomes required with a default", "title", { required: true, default: "none" }],
      ])("stays in the fields of the others when %s", async (_what, name, change) => {
        const { status, body } = await patch({ columns: columnsWith(table, name, change) });
        expect([status, body.message]).toEqual([200, "Success"]);
        const [{ id }] = await data("/by_hand", { limit: "1" });
        expect((await admin.patch(`/by_hand/${id}`, { title: "ours", state: "shut" })).status).toBe(200);
        expect((await stored())[0]).toMatchObject({ title: "ours", state: "shut" });
        await documents().updateOne({ title: "ours" }, { $set: { title: "theirs", state: "open" } });
        expect((await data(`/by_hand/${id}`))[0]).toMatchObject({ title: "theirs", state: "open" });
      });

      it("gives the default of a column that becomes required to nulls too, and leaves no note of it", async () => {
        const change = { columns: columnsWith(table, "title", { required: true, default: "none" }) };
        expect((await patch(change)).status).toBe(200);
        const [, , third] = await stored();
        expect(third).toEqual({ _id: expect.anything(), title: "none" });
      });

      it("asks before it drops a value that documents have, and leaves it there", async () => {
        const change = { columns: columnsWith(table, "state", { options: { values: ["open"] } }) };
        const why = expect.stringMatching(/stays as it is$/);
        const { confirmHash } = expectDestructive(await patch(change), [{ rows: 1, why }]);
        expect((await patch(change, { confirm: String(confirmHash) })).status).toBe(200);
        expect(await data("/by_hand", { fields: "state", limit: "2" })).toEqual([
          { state: "open" },
          { state: "shut" },
        ]);
      });

      it.each<[string, object]>([
        ["another type", { type: "json" }],
        ["encryption", { encrypted: true }],
      ])("says that %s parts the two, and an undo brings them together again", async (_what, different) => {
        const before = await stored();
        const change = { columns: columnsWith(table, "title", different) };
        const why = expect.stringMatching(/keep using the field "title", .* "title_[0-9a-f]{24}"/);
        const { confirmHash } = expectDestructive(await patch(change), [{ rows: 3, why }]);
        expect(await stored()).toEqual(before);
        expect((await patch(change, { confirm: String(confirmHash) })).status).toBe(200);
        expect(await data("/by_hand", { fields: "title", limit: "2" })).toEqual([
          { title: "one" },
          { title: "two" },
        ]);
        expect((await admin.post(`/svc_table/${table.id}/undo`)).status).toBe(200);
        await documents().updateOne({ title: "one" }, { $set: { title: "theirs" } });
        expect(await data("/by_hand", { fields: "title", limit: "1" })).toEqual([{ title: "theirs" }]);
      });

      it.each<[string, object]>([
        ["another type", { type: "int" }],
        ["encryption", { encrypted: true }],
      ])(
        "after %s an undo takes nothing from what other programs wrote meanwhile",
        async (_what, different) => {
          await documents().deleteMany({});
          const numbers = ["1", "2", "3", "4", "5", "x"].map((title, place) => ({ place, title }));
          await documents().insertMany([...numbers, { place: 6 }]);
          const at = async (place: number): Promise<string> => {
            const found = await documents().findOne({ place });
            return String(found?._id);
          };
          const change = { columns: columnsWith(table, "title", different) };
          const { confirmHash } = (await patch(change)).body.error.details;
          expect((await patch(change, { confirm: confirmHash })).status).toBe(200);
          const isNumber = "type" in different;
          const ours = (value: string) => ({ title: isNumber ? Number(value) : value });
          await documents().insertOne({ place: 7, title: "40" });
          await documents().updateOne({ place: 1 }, { $set: { title: "31" } });
          await documents().updateOne({ place: 2 }, { $unset: { title: "" } });
          await documents().updateOne({ place: 5 }, { $set: { title: "50" } });
          expect((await admin.patch(`/by_hand/${await at(6)}`, ours("60"))).status).toBe(200);
          expect((await admin.patch(`/by_hand/${await at(3)}`, ours("30"))).status).toBe(200);
          expect((await admin.post("/by_hand", ours("70"))).status).toBe(201);
          expect((await admin.post(`/svc_table/${table.id}/undo`)).status).toBe(200);
          const after = await documents()
            .find({}, { sort: { place: 1, title: 1 } })
            .toArray();
          const titles = after.map(({ place = 8, title }) => [place, title]).toSorted(([a], [b]) => a - b);
          expect(titles).toEqual([
            [0, "1"],
            [1, "31"],
            [2, undefined],
            [3, "30"],
            [4, "5"],
            [5, "50"],
            [6, "60"],
            [7, "40"],
            [8, "70"],
          ]);
          expect(
            after.flatMap((each) => Object.keys(each)).filter((name) => name.startsWith("_was_")),
          ).toEqual([]);
        },
      );

      it("an undo that is refused, and made again, brings back what was written in between", async () => {
        const unique = { columns: columnsWith(table, "title", { unique: true }) };
        expect((await patch(unique)).status).toBe(200);
        const change = { columns: columnsWith(table, "title", { type: "json", unique: false }) };
        const { confirmHash } = (await patch(change)).body.error.details;
        expect((await patch(change, { confirm: confirmHash })).status).toBe(200);
        const [first, second] = await data("/by_hand", { fields: "id", limit: "2" });
        for (const { id } of [first, second])
          expect((await admin.patch(`/by_hand/${id}`, { title: "alike" })).status).toBe(200);
        expect((await admin.post(`/svc_table/${table.id}/undo`)).status).toBe(409);
        expect((await admin.patch(`/by_hand/${second.id}`, { title: "different" })).status).toBe(200);
        expect((await admin.post(`/svc_table/${table.id}/undo`)).status).toBe(200);
        expect((await stored()).map(({ title }) => title)).toEqual(["alike", "different", null]);
        expect((await patch({ columns: columnsWith(table, "title", { unique: false }) })).status).toBe(200);
      });

      it("finds the default that a searchable column's gaps were filled with", async () => {
        const title = columnsWith(table, "title", { searchable: true });
        expect((await patch({ columns: title })).status).toBe(200);
        const find = async (text: string) =>
          (await data("/by_hand", { filter: { title: { _contains: text } } })).length;
        // As in the background, within half a minute.
        await documents().updateOne({ title: null }, { $set: { _g_title: [] } });
        const filled = columnsWith(table, "title", { required: true, default: "untitled work" });
        expect((await patch({ columns: filled })).status).toBe(200);
        expect([await find("untitled"), await find("one")]).toEqual([1, 1]);
      });

      it("is shown again by a new table once the former one is deleted", async () => {
        await deleteConfirmed(admin, table.id);
        const made = await byHand({ columns: [{ name: "title", type: "string" }] });
        expect(made.status).toBe(201);
        expect(await data("/by_hand", { fields: "title", limit: "2" })).toEqual([
          { title: "one" },
          { title: "two" },
        ]);
      });

      it("says what is wrong with an order by two columns that hold lists in a document", async () => {
        const rank = { name: "rank", type: "string" };
        expect((await patch({ columns: [...table.columns, rank] })).status).toBe(200);
        await documents().updateMany({}, { $set: { title: ["a", "b"], rank: ["c", "d"] } });
        const { status, body } = await admin.get("/by_hand", { sort: "title,rank" });
        expect([status, body.message]).toEqual([400, expect.stringMatching(/^sort: a record holds lists/)]);
      });

      it("makes no days of required times where a document has something else in their place", async () => {
        await documents().updateMany({}, { $set: { at: new Date("2026-05-06T07:08:09Z") } });
        const at = { name: "at", type: "datetime", required: true };
        table = (await patch({ columns: [...table.columns, at] })).body.data[0];
        const change = { columns: columnsWith(table, "at", { type: "date" }) };
        const parting = { rows: 3, confirmable: true };
        const cut = { rows: 3, confirmable: true, why: "have a time of day, which would be dropped" };
        expectDestructive(await patch(change), [parting, cut]);
        await documents().updateOne({ state: "open" }, { $set: { at: "yesterday" } });
        const gone = { rows: 3, confirmable: false, why: expect.stringMatching(/is required, so give it/) };
        expectDestructive(await patch(change), [parting, gone]);
      });

      it("finds its values again when a column is removed and added anew", async () => {
        const [state, title] = table.columns;
        table = await patchConfirmed(admin, table.id, { columns: [state] });
        const added = await patch({ columns: [state, { name: "title", type: "string" }] });
        expect([added.status, added.body.message]).toEqual([200, "Success"]);
        expect(await data("/by_hand", { fields: "title", limit: "1" })).toEqual([{ title: "one" }]);
        // Under another name the new column is in the way of the former one.
        const [, second] = added.body.data[0].columns;
        const renamed = { columns: [state, { id: second.id, name: "heading" }] };
        expect((await patch(renamed)).status).toBe(200);
        const undone = await admin.post(`/svc_table/${table.id}/undo`);
        expect([undone.status, undone.body.message]).toEqual([
          409,
          ['the field of "title" is now used by "heading"'],
        ]);
        expect(title.name).toBe("title");
      });

      it("refuses an undo that would lead a column back to a field that another one shows by now", async () => {
        const [state, title] = table.columns;
        await patchConfirmed(admin, table.id, { columns: columnsWith(table, "title", { type: "json" }) });
        const heading = { id: title.id, name: "heading" };
        const added = await patch({ columns: [state, heading, { name: "title", type: "string" }] });
        expect([added.status, added.body.message]).toEqual([200, "Success"]);
        const undone = await admin.post(`/svc_table/${table.id}/undo`);
        expect([undone.status, undone.body.message]).toEqual([
          409,
          ['the field of "heading" is now used by "title"'],
        ]);
      });

      it("refuses a default that would not be unique, and has written it nowhere", async () => {
        const before = await stored();
        const code = { name: "code", type: "string", default: "x" };
        const unique = await patch({ columns: [...table.columns, { ...code, unique: true }] });
        expectDestructive(unique, [{ where: "columns.code", rows: 3, confirmable: false }]);
        const pair = { columns: [...table.columns, code], uniques: [["code", "state"]] };
        await documents().updateMany({}, { $set: { state: "open" } });
        expectDestructive(await patch(pair), [{ where: "uniques", rows: 3, confirmable: false }]);
        expect(await stored()).toEqual(before.map((each) => ({ ...each, state: "open" })));
      });

      it("refuses a default for the gaps of a column that is unique already", async () => {
        const code = { name: "code", type: "string", unique: true };
        const [{ columns }] = (await patch({ columns: [...table.columns, code] })).body.data;
        const before = await stored();
        const filled = columnsWith({ ...table, columns }, "code", { required: true, default: "x" });
        expectDestructive(await patch({ columns: filled }), [
          { where: "columns.code", rows: 3, why: expect.stringContaining("default"), confirmable: false },
        ]);
        expect(await stored()).toEqual(before);
      });

      it("says so where an index of the collection's own refuses what a change would write", async () => {
        const problem = async () =>
          (await data(`/svc_table/${table.id}`, { fields: "change" }))[0].change.problem;
        const sku = { name: "sku", type: "string", default: "x" };
        const change = { columns: [...table.columns, sku] };
        const partialFilterExpression = { sku: { $exists: true } };
        await documents().createIndex(
          { sku: 1 },
          { unique: true, partialFilterExpression, name: "their_sku" },
        );
        const shared = await patch(change);
        expect([shared.status, shared.body.message]).toEqual([
          409,
          expect.stringMatching(/sku.*unique index/),
        ]);
        expect(await problem()).toBe(shared.body.message);
        await documents().dropIndex("their_sku");
      });
    });

    it("whose documents miss values can be undone no more than any other new table", async () => {
      await documents().insertOne({ other: true });
      const title = { name: "title", type: "string", required: true };
      const made = await byHand({ description: "theirs", columns: [title], indexes: [["title"]] });
      const [{ id }] = made.body.data;
      expect([made.status, (await admin.post(`/svc_table/${id}/undo`)).status]).toEqual([201, 409]);
      const [now] = await data(`/svc_table/${id}`);
      expect(now).toMatchObject({ description: "theirs", columns: [title], indexes: [["title"]] });
    });

    it.each<[string, object, number, string]>([
      ["softDelete", { softDelete: true }, 422, "softDelete: "],
      ["a second record of a singleton", { singleton: true }, 422, "singleton: "],
      [
        "values that are not unique",
        { columns: [{ name: "title", type: "string", unique: true }] },
        409,
        "columns.title: 2 of the records share their value",
      ],
      [
        "members of lists that are not unique",
        { columns: [{ name: "tags", type: "string", unique: true }] },
        409,
        "tags: ",
      ],
    ])("refuses %s, and leaves no table behind", async (_what, definition, status, sentence) => {
      const refused = await byHand(definition);
      expect([refused.status, [refused.body.message].flat().join("\n")]).toEqual([
        status,
        expect.stringContaining(sentence),
      ]);
      expect((await admin.get("/by_hand")).status).toBe(404);
      const again = await byHand({ columns: [{ name: "title", type: "string" }] });
      expect(again.status).toBe(201);
      expect(await data("/by_hand", { fields: "title" })).toEqual([{ title: "same" }, { title: "same" }]);
    });
  });
});

describe("infer", () => {
  it("reads an embedded database, in which no table is made", async () => {
    const folder = join(directory, "engine");
    const engine = await startEngine(folder);
    const other = new MongoClient(engine.uri);
    await other
      .db("shop")
      .collection<{ _id: number; name: string }>("userProfiles")
      .insertOne({ _id: 1, name: "Ann" });
    await other.close();
    await stopEngine(engine);
    const file = join(directory, "embedded.json");
    const made = await schema(["infer", file, "--database", `mongodb_embedded://${folder}?db=shop`]);
    expect(made).toMatchObject({ code: 0, errors: "" });
    expect(JSON.parse(await readFile(file, "utf8"))).toEqual({
      tables: [
        {
          name: "user_profiles",
          storage: { collection: "userProfiles" },
          idType: "int",
          columns: [{ name: "name", type: "string" }],
        },
      ],
    });
    const again = await startEngine(folder);
    const look = new MongoClient(again.uri);
    expect((await look.db("shop").listCollections().toArray()).map(({ name }) => name)).toEqual([
      "userProfiles",
    ]);
    await look.close();
    await stopEngine(again);
  });

  it("finds what leads to collections that have tables already", async () => {
    const url = freshDatabase();
    const other = new MongoClient(url);
    const people = [new ObjectId(), new ObjectId()];
    await other
      .db()
      .collection("people")
      .insertMany(people.map((_id, at) => ({ _id, name: `P${at}`, orders: [at] })));
    const files = ["people.json", "people-then-orders.json"].map((name) => join(directory, name));
    const [first = "", second = ""] = files;
    await schema(["infer", first, "--database", url]);
    const before = await serve(url, first);
    expect((await (await signIn(before.url, ADMIN)).get("/people")).status).toBe(200);
    await before.stop();
    const orders = people.map((buyerId, at) => ({ buyerId, total: at }));
    await other.db().collection("orders").insertMany(orders);
    const { output, errors } = await schema(["infer", second, "--database", url]);
    expect(errors).toBe("");
    expect(output.split("\n")).toEqual(
      expect.arrayContaining([
        "  buyer: many-to-one to people, from buyerId",
        "people: has a table already, left out",
      ]),
    );
    // The other end has a column "orders".
    expect(JSON.parse(await readFile(second, "utf8")).tables).toMatchObject([
      { name: "orders", relations: [{ name: "buyer", table: "people", inverse: "orders_by_buyer" }] },
    ]);
    const service = await serve(url, second);
    const api = await signIn(service.url, ADMIN);
    const shown = await api.get("/people", { fields: "name,orders,orders_by_buyer.total" });
    await service.stop();
    await other.db().dropDatabase();
    await other.close();
    expect(shown.body.data).toMatchObject([
      { name: "P0", orders: [0], orders_by_buyer: [{ total: 0 }] },
      { name: "P1", orders: [1], orders_by_buyer: [{ total: 1 }] },
    ]);
  });

  it("passes over a table whose collection another program has dropped", async () => {
    const url = freshDatabase();
    const other = new MongoClient(url);
    await other.db().collection("people").insertOne({ name: "P" });
    const files = ["gone-first.json", "gone-second.json"].map((name) => join(directory, name));
    const [first = "", second = ""] = files;
    await schema(["infer", first, "--database", url]);
    await (await serve(url, first)).stop();
    await other.db().collection("people").drop();
    await other.db().collection("orders").insertOne({ buyerId: new ObjectId() });
    const { code, errors } = await schema(["infer", second, "--database", url]);
    await other.db().dropDatabase();
    await other.close();
    expect([code, errors]).toEqual([0, ""]);
    expect(JSON.parse(await readFile(second, "utf8")).tables).toMatchObject([
      { name: "orders", columns: [{ name: "buyerId", type: "objectId" }] },
    ]);
  });

  it("leaves out a field that queries can't speak of, whatever it leads to", async () => {
    const url = freshDatabase();
    const other = new MongoClient(url);
    const _id = new ObjectId();
    await other.db().collection("letters").insertOne({ _id, title: "a", $answerTo: _id });
    const file = join(directory, "dollars.json");
    const { code, errors } = await schema(["infer", file, "--database", url]);
    await other.db().dropDatabase();
    await other.close();
    expect([code, errors]).toEqual([0, ""]);
    const [{ columns, relations }] = JSON.parse(await readFile(file, "utf8")).tables;
    expect([columns, relations]).toEqual([[{ name: "title", type: "string" }], undefined]);
  });

  it("writes a file that starts, whatever number of fields needs an index", async () => {
    const url = freshDatabase();
    const other = new MongoClient(url);
    const names = Array.from({ length: 70 }, (_, at) => `d${at}`);
    const wide = { title: "a", ...Object.fromEntries(names.map((name) => [name, new Date()])) };
    await other
      .db()
      .collection("wide")
      .insertOne({ ...wide });
    const file = join(directory, "wide.json");
    const { output } = await schema(["infer", file, "--database", url]);
    expect(output).toContain(" 55 columns,");
    const tables = JSON.parse(await readFile(file, "utf8"));
    const service = await serve(url, file);
    const api = await signIn(service.url, ADMIN);
    expect((await api.get("/wide", { fields: "title,d53" })).body.data).toEqual([
      { title: "a", d53: expect.any(String) },
    ]);
    await service.stop();
    await other.db().dropDatabase();
    tables.tables[0].columns.push({ name: "d54", type: "datetime" });
    await writeFile(file, JSON.stringify(tables));
    const start = await serve(url, file).catch(String);
    expect(start).toContain("SCHEMA_FILE can't be applied to the tables that are there. Change the file.\n");
    expect(start).toContain("wide: indexes: the table needs 57 indexes (for dates and times, links,");
    await other.close();
  });

  it("and whatever number of indexes the collection has already", async () => {
    const url = freshDatabase();
    const other = new MongoClient(url);
    const names = Array.from({ length: 50 }, (_, at) => `d${at}`);
    const wide = other.db().collection<Document>("wide");
    await wide.insertOne({ code: "a", ...Object.fromEntries(names.map((name) => [name, new Date()])) });
    await wide.createIndexes([
      { key: { code: 1 }, unique: true },
      ...names.slice(0, 20).map((name) => ({ key: { [name]: 1 } })),
    ]);
    const file = join(directory, "indexed.json");
    const { output } = await schema(["infer", file, "--database", url]);
    expect(output).toContain(" 41 columns,");
    const service = await serve(url, file);
    expect(await wide.indexes()).toHaveLength(64);
    await service.stop();
    await other.db().dropDatabase();
    await other.close();
  });

  it("takes what has no JSON for no value", async () => {
    const url = freshDatabase();
    const other = new MongoClient(url);
    const at = new Date("2024-01-01");
    const docs = Array.from({ length: 10 }, () => ({ at, d: 1.5, dec: new Decimal128("1.5"), whole: at }));
    const when = other.db().collection("when");
    await when.insertMany([
      ...docs,
      { at, d: Number.NaN, dec: new Decimal128("NaN"), whole: at },
      { at, d: Number.NEGATIVE_INFINITY, dec: new Decimal128("Infinity"), whole: at },
    ]);
    const beyond = { $toDate: Long.fromString("8640000000000001") };
    await when.updateOne({ d: Number.NaN }, [{ $set: { at: beyond } }]);
    const file = join(directory, "when.json");
    await schema(["infer", file, "--database", url]);
    await other.db().dropDatabase();
    await other.close();
    expect(JSON.parse(await readFile(file, "utf8")).tables[0].columns).toEqual([
      { name: "at", type: "datetime" },
      { name: "d", type: "float" },
      { name: "dec", type: "decimal" },
      { name: "whole", type: "datetime", required: true },
    ]);
  });

  it("takes a reference, which no JSON is written back as, for read-only, and so the lists of them", async () => {
    const url = freshDatabase();
    const other = new MongoClient(url);
    const reference = new DBRef("people", new ObjectId());
    const refs = { one: reference, many: [reference, null] };
    const alike = { half: { $ref: "people" }, none: { $ref: "people", $id: null }, odd: { $ref: 1, $id: 1 } };
    const posts = other.db().collection("posts");
    await posts.insertMany([
      { ...refs, ...alike, some: reference },
      { ...refs, ...alike, some: { of: 1 } },
    ]);
    const file = join(directory, "references.json");
    const { output } = await schema(["infer", file, "--database", url]);
    const service = await serve(url, file);
    const api = await signIn(service.url, ADMIN);
    const [post] = (await api.get("/posts", { fields: "one,many,half" })).body.data;
    await service.stop();
    await other.db().dropDatabase();
    await other.close();
    const shown = { $ref: "people", $id: String(reference.oid) };
    expect(post).toEqual({ one: shown, many: [shown, null], half: alike.half });
    const [{ columns }] = JSON.parse(await readFile(file, "utf8")).tables;
    expect(columns).toEqual([
      { name: "one", type: "json", readOnly: true },
      { name: "many", type: "json", readOnly: true },
      ...["half", "none", "odd", "some"].map((name) => ({ name, type: "json" })),
    ]);
    for (const line of [
      "  one: values of the type DBRef, served as json, read-only",
      "  many: lists with values of the type DBRef, served as json, read-only",
      "  some: other values and objects, served as json",
    ])
      expect(output.split("\n")).toContain(line);
  });

  it("copes with a collection that is used as a map, and serves the most frequent of its fields", async () => {
    const url = freshDatabase();
    const other = new MongoClient(url);
    // All that is seen of so many fields is more than fits into one document, even one that the database only works with.
    const name = "x".repeat(3_000);
    const maps = Array.from({ length: 200 }, (_, at) => ({
      title: "a",
      ...Object.fromEntries(Array.from({ length: 100 }, (__, key) => [`${name}${at}_${key}`, [key]])),
    }));
    await other.db().collection("counts").insertMany(maps);
    const file = join(directory, "maps.json");
    const { code, output, errors } = await schema(["infer", file, "--database", url]);
    await other.db().dropDatabase();
    await other.close();
    expect([code, errors]).toEqual([0, ""]);
    expect(output).toContain("\n  19751 of its 20001 fields are rare, and not served\n");
    const [{ columns }] = JSON.parse(await readFile(file, "utf8")).tables;
    expect(columns).toHaveLength(250);
    expect(columns[0]).toEqual({ name: "title", type: "string", required: true });
  });

  it("of a collection too large to be looked at whole claims no more than is certain", async () => {
    const url = freshDatabase();
    const large = new MongoClient(url);
    const many = Array.from({ length: 5_100 }, (_, at) => ({
      _id: at as number | string,
      kinds: ["a", "b"],
    }));
    await large
      .db()
      .collection<{ _id: number | string }>("events")
      .insertMany([...many, { _id: "last" }]);
    const file = join(directory, "large.json");
    const { output } = await schema(["infer", file, "--database", url]);
    await large.db().dropDatabase();
    await large.close();
    expect(output).toContain(
      "events → events: a sample of 5000 documents, ids mixed, 1 column, 0 relations\n",
    );
    const [events] = JSON.parse(await readFile(file, "utf8")).tables;
    expect(events).toEqual({
      name: "events",
      storage: { collection: "events" },
      idType: "mixed",
      columns: [{ name: "kinds", type: "json" }],
    });
  });

  it.each([
    [[], "Say what to do: pull, diff, apply or infer."],
    [["nonsense"], '"nonsense" is none of pull, diff, apply and infer.'],
    [["infer", "a", "b"], '"b" is one word too many.'],
    [["infer", "--database"], "Option '--database <value>' argument missing."],
    [["diff", "--nonsense"], "Unknown option '--nonsense'."],
    [["diff", "--confirm"], "diff takes no --confirm."],
    [
      ["pull", "--database", "mongodb://localhost"],
      "pull takes no --database: its database is MONGODB_URL, or the one in DATA_DIR.",
    ],
  ])("%j ends with 2, and is told what is wrong before how it is used", async (words, reason) => {
    const { code, errors } = await schema(words);
    expect([code, errors.split("\n").slice(0, 2)]).toEqual([
      2,
      [reason, "usage: npm run schema -- <command> [file]"],
    ]);
  });
});

describe("a schema file that says where data lies", () => {
  let url: string;
  beforeAll(async () => {
    url = freshDatabase();
    await (await serve(url, "")).stop();
  });
  afterAll(async () => {
    const empty = new MongoClient(url);
    await empty.db().dropDatabase();
    await empty.close();
  });

  it.each([
    [
      { storage: { collection: "_sessions" } },
      /storage\.collection: "_sessions" is not a collection of yours/,
    ],
    [{ storage: { collection: "svc_user" } }, /storage\.collection: "svc_user" is not a collection of yours/],
    [{ storage: { collection: "a", columns: 1 } }, /storage\.columns: is not known here/],
    [
      { columns: [{ name: "a", type: "int", field: "b" }] },
      /storage: is needed where members have a "field"/,
    ],
    [
      { storage: { collection: "a" }, columns: [{ name: "a", type: "int", field: "$b" }] },
      /the field "\$b" has a name that queries can't use/,
    ],
    [
      { storage: { collection: "a", createdAt: "b" }, columns: [{ name: "a", type: "int", field: "b" }] },
      /the field "b" is used twice/,
    ],
    [
      {
        storage: { collection: "a" },
        columns: [
          { name: "b", type: "string" },
          { name: "raw", type: "json", field: "b" },
        ],
      },
      /the field "b" is used twice/,
    ],
    [
      {
        storage: { collection: "a" },
        columns: [{ name: "raw", type: "json", field: "bId" }],
        relations: [{ name: "b", type: "many-to-one", table: "things" }],
      },
      /the field "bId" is used twice/,
    ],
    [
      { storage: { collection: "a" }, columns: [{ name: "b", type: "string", field: "updatedAt" }] },
      /the field "updatedAt" is used twice/,
    ],
  ])("is refused where that can't be: %j", async (table, sentence) => {
    const file = join(directory, "wrong.json");
    await writeFile(file, JSON.stringify({ tables: [{ name: "things", ...table }] }));
    const { code, output } = await schema(["diff", file], { MONGODB_URL: url });
    expect({ code, output }).toEqual({ code: 1, output: expect.stringMatching(sentence) });
  });
});

describe("the history of a collection whose times lie in other fields", () => {
  it("tells of a column in the field that is the time of a change elsewhere", async () => {
    const url = freshDatabase();
    const file = join(directory, "times.json");
    const storage = { collection: "legacy", updatedAt: "changed_at" };
    const columns = [{ name: "edited", field: "updatedAt", type: "string" }];
    await writeFile(file, JSON.stringify({ tables: [{ name: "legacy", storage, columns, history: true }] }));
    const service = await serve(url, file);
    try {
      const admin = await signIn(service.url, ADMIN);
      const [{ id }] = (await admin.post("/legacy", { edited: "one" })).body.data;
      expect((await admin.patch(`/legacy/${id}`, { edited: "two" })).status).toBe(200);
      const { body } = await admin.get(`/legacy/${id}/history`);
      expect(body.data.map(({ changes }: Row) => changes)).toEqual([
        { edited: { from: "one", to: "two" } },
        { edited: { from: null, to: "one" } },
      ]);
    } finally {
      await service.stop();
      const owner = new MongoClient(url);
      await owner.db().dropDatabase();
      await owner.close();
    }
  });
});

describe("a list of links in a field named by digits", () => {
  it.each(["7", "01"])("%s is read like any other", async (field) => {
    const url = freshDatabase();
    const owner = await MongoClient.connect(url);
    const lists = [undefined, [1, 3], [1], []];
    const teams: Document[] = lists.map((list, at) => ({ _id: at + 1, ...(list && { [field]: list }) }));
    await owner.db().collection<Document>("teams").insertMany(teams);
    const file = join(directory, "digits.json");
    const rivals = { name: "rivals", field, type: "many-to-many", table: "teams", inverse: "rivalOf" };
    const storage = { collection: "teams" };
    const tables = [{ name: "teams", idType: "int", storage, relations: [rivals] }];
    await writeFile(file, JSON.stringify({ tables }));
    const service = await serve(url, file);
    try {
      const admin = await signIn(service.url, ADMIN);
      const read = async (path: string, query: Readonly<Record<string, unknown>>) => {
        const { status, body } = await admin.get(path, query);
        expect({ status, query, message: body.message }).toEqual({
          status: 200,
          query,
          message: "Success",
        });
        return body;
      };
      const namedBy = async (query: Readonly<Record<string, unknown>>) =>
        (await read("/teams", query)).data.map(({ id }: Row) => id);
      const linked = (...to: readonly number[]) => to.map((id) => ({ id }));
      expect((await read("/teams", { fields: "id,rivals", sort: "-id", limit: "2" })).data).toEqual([
        { id: 4, rivals: [] },
        { id: 3, rivals: linked(1) },
      ]);
      expect((await read("/teams/2", { fields: "_count(rivals),rivals.id" })).data).toEqual([
        { _count: { rivals: 2 }, rivals: linked(1, 3) },
      ]);
      expect(await namedBy({ sort: "-_count(rivals),id" })).toEqual([2, 3, 1, 4]);
      expect(await namedBy({ sort: "_max(rivals.id),id" })).toEqual([3, 2, 1, 4]);
      expect(await namedBy({ filter: { rivals: { _is_null: true } }, sort: "id" })).toEqual([1, 4]);
      const { meta } = await read("/teams", { aggregate: { rivals: { count: true } } });
      expect(meta.aggregate).toEqual({ rivals: { count: 3 } });
      const changed = await admin.patch("/teams/3?fields=rivals", { rivals: [2, 4] });
      expect(changed.body.data).toEqual([{ rivals: linked(2, 4) }]);
    } finally {
      await service.stop();
      await owner.db().dropDatabase();
      await owner.close();
    }
  });
});

describe("a schema file that says another place than the data has", () => {
  it("is refused, and nothing is changed", async () => {
    const url = freshDatabase();
    await (await serve(url, "")).stop();
    const file = join(directory, "moved.json");
    const apply = async (...columns: readonly object[]) => {
      const people = { name: "people", storage: { collection: "people" }, columns };
      await writeFile(file, JSON.stringify({ tables: [people] }));
      return schema(["apply", file], { MONGODB_URL: url });
    };
    const mail = { name: "mail", type: "string" };
    expect(await apply({ ...mail, field: "email" })).toMatchObject({ code: 0, errors: "" });
    const refused = (problem: string) => ({ code: 1, output: expect.stringContaining(problem) });
    expect(await apply({ ...mail, field: "address" })).toMatchObject(
      refused('the data of "mail" lies in the field "email", not "address"'),
    );
    // Where the first one's data lies, the file need not say.
    expect(await apply(mail, { name: "raw", type: "json", field: "email" })).toMatchObject(
      refused('the field "email" is used twice'),
    );
    expect(await apply(mail)).toMatchObject({ code: 0, errors: "" });
    await MongoClient.connect(url).then(async (other) => {
      await other.db().dropDatabase();
      await other.close();
    });
  });
});

describe("a collection with a validator", () => {
  let url: string;
  let service: RunningService;
  let admin: Api;

  beforeAll(async () => {
    url = freshDatabase();
    const owner = new MongoClient(url);
    const validator = {
      $jsonSchema: { required: ["age"], properties: { age: { bsonType: "number", maximum: 150 } } },
    };
    for (const name of ["people", "followed"]) await owner.db().createCollection(name, { validator });
    const linked = { $or: [{ kind: { $ne: "signed" } }, { author: { $type: "objectId" } }] };
    for (const name of ["books", "followed_books"])
      await owner.db().createCollection(name, { validator: linked });
    await owner.close();
    const file = join(directory, "validated.json");
    const columns = [
      { name: "age", type: "int" },
      { name: "tags", type: "json" },
    ];
    const author = { name: "author", type: "many-to-one", table: "authors", onDelete: "SET NULL" };
    const ofBooks = {
      columns: [{ name: "kind", type: "string" }],
      relations: [{ ...author, field: "author" }],
    };
    const tables = [
      { name: "people", storage: { collection: "people" }, columns },
      { name: "followed", storage: { collection: "followed" }, columns, changes: true, history: true },
      { name: "authors", columns: [{ name: "name", type: "string" }] },
      { name: "books", storage: { collection: "books" }, ...ofBooks },
      { name: "followed_books", storage: { collection: "followed_books" }, ...ofBooks, changes: true },
    ];
    await writeFile(file, JSON.stringify({ tables }));
    service = await serve(url, file);
    admin = await signIn(service.url, ADMIN);
  });
  afterAll(async () => {
    await service?.stop();
    const owner = new MongoClient(url);
    await owner.db().dropDatabase();
    await owner.close();
  });

  const saying = (name: string) =>
    `"${name}": the collection's own validation in the database (its validator) refuses this record.`;
  const refused = (message: string | readonly string[]) => ({
    status: 409,
    body: { message, error: { code: "CONFLICT" } },
  });

  it.each(["people", "followed"])(
    "refuses what the validator refuses with 409, and changes nothing: %s",
    async (name) => {
      const made = await admin.post(`/${name}`, { age: 30 });
      expect(made.status).toBe(201);
      const [{ id }] = made.body.data;
      expect(await admin.post(`/${name}`, { age: 200 })).toMatchObject(refused(saying(name)));
      const second = refused([`[1]: ${saying(name)}`]);
      expect(await admin.post(`/${name}`, [{ age: 1 }, { age: 200 }])).toMatchObject(second);
      expect(await admin.patch(`/${name}/${id}`, { age: 200 })).toMatchObject(refused(saying(name)));
      const { body } = await admin.get(`/${name}`, { fields: "age" });
      expect(body.data).toEqual([{ age: 30 }]);
      expect((await admin.patch(`/${name}/${id}`, { age: 31 })).status).toBe(200);
    },
  );

  it.each(["books", "followed_books"])(
    "keeps the links that it refuses to let go, and no others, when what they lead to is deleted: %s",
    async (name) => {
      const author = (await admin.post("/authors", { name: "Ann" })).body.data[0].id;
      const kinds = ["plain", "signed", "plain", "signed", "plain"];
      const made = await admin.post(
        `/${name}`,
        kinds.map((kind) => ({ kind, author })),
      );
      expect(made.status).toBe(201);
      expect((await admin.delete(`/authors/${author}`)).status).toBe(200);
      const { body } = await admin.get(`/${name}`, { fields: "author.name" });
      expect([body.data, (await admin.get("/authors")).body.data]).toEqual([
        kinds.map(() => ({ author: null })),
        [],
      ]);
      const owner = await MongoClient.connect(url);
      const left = await owner
        .db()
        .collection(name)
        .find({ author: { $type: "objectId" } })
        .toArray();
      expect(left.map(({ kind }) => kind)).toEqual(["signed", "signed"]);
      const undone = () => owner.db().collection("_deletes").countDocuments({ done: false });
      await until(undone, (count) => count === 0, 5_000);
      await owner.close();
    },
  );

  it("takes back the defaults of a change that it refuses, and nothing that others have written", async () => {
    const owner = await MongoClient.connect(url);
    const validator = { $or: [{ code: { $exists: false } }, { long: { $exists: false } }] };
    const documents = await owner.db().createCollection<Document>("coded", { validator });
    await documents.insertMany([{ code: "x" }, { code: null }, {}, { long: "y" }]);
    const before = await documents.find().toArray();
    const made = await admin.post("/svc_table", { name: "coded" });
    const columns = [{ name: "code", type: "string", required: true, default: "x" }];
    const { id } = made.body.data[0];
    const { status, body } = await admin.patch(`/svc_table/${id}`, { columns });
    expect([status, await documents.find().toArray()]).toEqual([409, before]);
    // Whoever has not waited for the answer reads the same.
    const { change } = (await admin.get(`/svc_table/${id}`)).body.data[0];
    expect(change.problem).toBe(body.message);
    expect(body.message).toContain('"coded": the collection\'s own validation');
    await owner.close();
  });

  it("counts children, also where it refuses the number of a parent", async () => {
    const owner = await MongoClient.connect(url);
    const validator = { $or: [{ isOpen: true }, { name: { $exists: false } }] };
    const parents = await owner.db().createCollection<Document>("shops", { validator });
    await parents.insertMany([{ isOpen: true, name: "one" }, { name: "two" }], {
      bypassDocumentValidation: true,
    });
    await admin.post("/svc_table", { name: "shops", columns: [{ name: "name", type: "string" }] });
    const shop = { name: "shop", type: "many-to-one", table: "shops", inverse: "sales" };
    const made = await admin.post("/svc_table", { name: "sales", relations: [shop] });
    const shops = (await admin.get("/shops", { sort: "name" })).body.data;
    for (const { id } of shops) expect((await admin.post("/sales", { shop: id })).status).toBe(201);
    const [{ id, relations }] = made.body.data;
    const counted = await admin.patch(`/svc_table/${id}`, {
      relations: [{ id: relations[0].id, counted: true }],
    });
    expect([counted.status, counted.body.message]).toEqual([200, "Success"]);
    const sorted = await admin.get("/shops", { sort: "-_count(sales)", fields: "name" });
    expect(sorted.body.data).toEqual([{ name: "one" }, { name: "two" }]);
    // Children are written all the same, and nothing of it keeps other changes waiting.
    for (const { id: parent } of shops) {
      const sale = await admin.post("/sales", { shop: parent });
      expect(sale.status).toBe(201);
      expect((await admin.patch(`/sales/${sale.body.data[0].id}`, { shop: null })).status).toBe(200);
    }
    expect((await admin.patch(`/svc_table/${id}`, { description: "sold" })).status).toBe(200);
    await owner.close();
  });

  it("names the line of an import that the validator refuses, also where a record brings others", async () => {
    const lines = [{ age: 1 }, { age: 2 }, { age: 200 }, { age: 3 }].map((each) => JSON.stringify(each));
    const send = (file: readonly string[]) =>
      admin.send("POST", "/people/import", {
        body: file.join("\n"),
        headers: { "Content-Type": "application/x-ndjson" },
      });
    const { status, body } = await send(lines);
    expect({ status, rejected: body.error.details.rejected }).toMatchObject({
      status: 400,
      rejected: [{ line: 3, messages: [expect.stringContaining("(its validator) refuses this record")] }],
    });
    const other = await send([...lines, JSON.stringify({ age: 4, tags: ["a"] })]);
    expect(other.body.error.details.rejected).toMatchObject([{ line: 3, messages: [saying("people")] }]);
    const alone = await send([JSON.stringify({ age: 200, tags: ["a"] })]);
    expect(alone.body.error.details.rejected).toMatchObject([
      { line: 1, messages: [expect.stringMatching(/^"people": /)] },
    ]);
  });

  it("names the line of an import that a unique index of another program refuses", async () => {
    const owner = new MongoClient(url);
    try {
      await owner.db().collection("people").createIndex({ age: 1 }, { unique: true });
      const { body } = await admin.send("POST", "/people/import", {
        body: [91, 92, 92, 93].map((age) => JSON.stringify({ age })).join("\n"),
        headers: { "Content-Type": "application/x-ndjson" },
      });
      const taken = 'age: a record of "people" with this value exists already';
      expect(body.error.details.rejected).toEqual([{ line: 3, messages: [taken] }]);
    } finally {
      await owner.db().collection("people").dropIndex("age_1");
      await owner.close();
    }
  });
});

describe("a collection that two tables want", () => {
  let url: string;
  let service: RunningService;
  let admin: Api;
  let other: MongoClient;

  const fileFor = async (name: string, collection: string): Promise<string> => {
    const file = join(directory, `${name}.json`);
    const columns = [{ name: "a", type: "string" }];
    await writeFile(file, JSON.stringify({ tables: [{ name, storage: { collection }, columns }] }));
    return file;
  };
  const apply = async (name: string, collection: string) =>
    schema(["apply", await fileFor(name, collection)], { MONGODB_URL: url });

  beforeAll(async () => {
    url = freshDatabase();
    other = await MongoClient.connect(url);
    service = await serve(url, "");
    admin = await signIn(service.url, ADMIN);
  });
  afterAll(async () => {
    await service.stop();
    await other.close();
  });

  it("is given to one of them, also when both ask at the same moment", async () => {
    const ended = await Promise.all([apply("one", "wanted"), apply("two", "wanted")]);
    expect(ended.map(({ code }) => code).toSorted()).toEqual([0, 1]);
    expect(ended.map(({ output, errors }) => output + errors).join()).toMatch(
      /"wanted" is the collection of the table "(one|two)"/,
    );
  });

  it("is not given back to a deleted table, and loses nothing of what that has left", async () => {
    const columns = [
      { name: "a", type: "string" },
      { name: "b", type: "string" },
    ];
    const { body } = await admin.post("/svc_table", { name: "former", columns });
    const [{ id, columns: made }] = body.data;
    await admin.post("/former", { a: "x", b: "y" });
    const without = { columns: made.slice(1) };
    const lossy = await admin.patch(`/svc_table/${id}`, without);
    const hash = lossy.body.error.details.confirmHash;
    expect((await admin.patch(`/svc_table/${id}`, without, { confirm: hash })).status).toBe(200);
    const refused = await admin.delete(`/svc_table/${id}`);
    const confirm = refused.body.error.details.confirmHash;
    expect((await admin.delete(`/svc_table/${id}?confirm=${confirm}`)).status).toBe(200);
    expect(await apply("latter", "former")).toMatchObject({ code: 0, errors: "" });
    const undone = await admin.post(`/svc_table/${id}/undo`);
    expect([undone.status, undone.body.message]).toEqual([
      409,
      'storage.collection: "former" is the collection of the table "latter"',
    ]);
    const changes = other.db().collection("_changes");
    const aMonthAgo = new Date(Date.now() - 32 * 24 * 60 * 60 * 1000);
    await changes.updateMany({ table: id }, { $set: { at: aMonthAgo } });
    await service.stop();
    service = await serve(url, "");
    admin = await signIn(service.url, ADMIN);
    await until(
      () => changes.countDocuments({ table: id }),
      (count) => count === 0,
    );
    expect((await admin.get("/latter", { fields: "a" })).body.data).toEqual([{ a: "x" }]);
  });
});
