// Tables with `softDelete`: what was deleted is gone on every road, and can be brought back.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Api, asAdmin, signIn } from "../../support/api.js";
import { CHANGES, openEvents } from "../../support/event-source.js";
import { type Stack, startStack } from "../../support/stack.js";
import { atOnce, make, makeTable, type Row, read, tally, valuesOf } from "./make.js";

let stack: Stack;
let admin: Api;
let editor: Api;
let reader: Api;

const people = {
  editor: { email: "editor@example.com", password: "correct horse battery" },
  reader: { email: "reader@example.com", password: "correct horse battery" },
};
const time = expect.stringMatching(/^\d{4}-.*Z$/);

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  await makeTable(admin, {
    name: "authors",
    softDelete: true,
    columns: [
      { name: "name", type: "string", searchable: true },
      { name: "email", type: "string", unique: true },
    ],
    relations: [{ name: "mentor", type: "many-to-one", table: "authors", inverse: "pupils" }],
  });
  await makeTable(admin, { name: "tags", softDelete: true, columns: [{ name: "name", type: "string" }] });
  await makeTable(admin, {
    name: "posts",
    softDelete: true,
    changes: true,
    history: true,
    columns: [
      { name: "title", type: "string" },
      { name: "views", type: "int" },
      { name: "team", type: "string" },
    ],
    relations: [
      { name: "author", type: "many-to-one", table: "authors", inverse: "posts" },
      { name: "tags", type: "many-to-many", table: "tags", inverse: "posts" },
      { name: "seal", type: "one-to-one", table: "tags", inverse: "sealed" },
    ],
    uniques: [["title", "team"]],
  });
  await makeTable(admin, { name: "plain", columns: [{ name: "title", type: "string" }] });
  await makeTable(admin, {
    name: "settings",
    softDelete: true,
    singleton: true,
    columns: [{ name: "title", type: "string" }],
  });
  [editor, reader] = await Promise.all([
    user("editors", people.editor, [
      { table: "posts", action: "read", filter: { team: { _in: ["blue", "green"] } } },
      { table: "posts", action: "delete", filter: { team: "blue" } },
      { table: "posts", action: "create" },
    ]),
    user("readers", people.reader, [{ table: "posts", action: "read" }]),
  ]);
}, 180_000);

afterAll(() => stack.stop());

async function user(name: string, credentials: { email: string; password: string }, rules: object[]) {
  const role = (await make(admin, "svc_role", { name })).id;
  await make(admin, "svc_user", { ...credentials, role });
  for (const rule of rules) await make(admin, "svc_permission", { role, isEnabled: true, ...rule });
  return signIn(`${stack.appUrl}/api`, credentials);
}

async function makeDeleted(table: string, body: unknown): Promise<Row> {
  const record = await make(admin, table, body);
  await drop(`/${table}/${record.id}`);
  return record;
}

async function drop(path: string): Promise<void> {
  const { status, body } = await admin.delete(path);
  if (status !== 200) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
}

let id: string;
beforeEach(async () => {
  await admin.delete(`/posts?permanent=true&deleted=with&filter={"id":{"_is_not_null":true}}`);
  await admin.delete(`/authors?permanent=true&deleted=with&filter={"id":{"_is_not_null":true}}`);
  id = (await make(admin, "posts", { title: "one", views: 1, team: "blue" })).id;
});

describe("a record of a table with softDelete", () => {
  it("has deletedAt, null while it lives, which no body sets", async () => {
    expect(await read(admin, "posts", id)).toMatchObject({ deletedAt: null });
    const { status, body } = await admin.patch(`/posts/${id}`, { deletedAt: "2020-01-01T00:00:00Z" });
    expect({ status, deletedAt: body.data[0].deletedAt }).toEqual({ status: 200, deletedAt: null });
    expect(await read(admin, "posts", id)).toBeDefined();
  });

  it("is answered like any other when it is deleted, and is 404 from then on", async () => {
    const { status, body } = await admin.delete(`/posts/${id}`);
    expect({ status, data: body.data }).toEqual({ status: 200, data: undefined });
    for (const again of [
      await admin.get(`/posts/${id}`),
      await admin.patch(`/posts/${id}`, { title: "two" }),
      await admin.patch(`/posts/${id}`, {}),
      await admin.delete(`/posts/${id}`),
    ])
      expect(again.status).toBe(404);
  });

  it("comes with a new ETag and updatedAt after it was deleted and restored", async () => {
    const before = await admin.get(`/posts/${id}`);
    await drop(`/posts/${id}`);
    const { status, body, headers } = await admin.post(`/posts/${id}/restore`);
    expect(status).toBe(200);
    expect(headers.get("ETag")).not.toBe(before.headers.get("ETag"));
    const [former, now] = [before.body.data[0], body.data[0]];
    expect(now).toEqual({ ...former, updatedAt: time });
    expect(now.updatedAt > former.updatedAt).toBe(true);
  });

  it("is deleted only at the version that If-Match names", async () => {
    const stale = (await admin.get(`/posts/${id}`)).headers.get("ETag") ?? "";
    await admin.patch(`/posts/${id}`, { views: 2 });
    const refused = await admin.send("DELETE", `/posts/${id}`, { headers: { "If-Match": stale } });
    expect(refused.status).toBe(412);
    const fresh = (await admin.get(`/posts/${id}`)).headers.get("ETag") ?? "";
    const { status } = await admin.send("DELETE", `/posts/${id}`, { headers: { "If-Match": fresh } });
    expect(status).toBe(200);
  });

  it("is deleted with others by a filter", async () => {
    await make(admin, "posts", { title: "two", views: 2 });
    await make(admin, "posts", { title: "three", views: 3 });
    const { body } = await admin.delete(`/posts?filter={"views":{"_gte":2}}`);
    expect(body.meta).toEqual({ matched: 2, changed: 2 });
    expect(await valuesOf(admin, "posts", "title")).toEqual(["one"]);
    const { body: gone } = await admin.get("/posts", { deleted: "only", fields: "title", sort: "title" });
    expect(gone.data.map((row: Row) => row.title)).toEqual(["three", "two"]);
  });

  it("is deleted once by many who delete it at the same time", async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => admin.delete(`/posts/${id}`)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200,
      ...Array(7).fill(404),
    ]);
  });
});

describe("a deleted record is on no road", () => {
  let author: string;
  let gone: string;
  beforeEach(async () => {
    author = (await make(admin, "authors", { name: "Ann", email: "ann@example.com" })).id;
    gone = (await makeDeleted("authors", { name: "Bob", email: "bob@example.com" })).id;
  });

  it("lists, counts, aggregates and files do not have it", async () => {
    await makeDeleted("posts", { title: "gone", views: 100 });
    const { body } = await admin.get("/posts", {
      fields: "title",
      meta: "*",
      filter: { views: { _gte: 0 } },
      aggregate: { views: { count: true, sum: true, max: true } },
    });
    expect(body.data).toEqual([{ title: "one" }]);
    expect(body.meta).toEqual({
      totalCount: 1,
      filterCount: 1,
      aggregate: { views: { count: 1, sum: 1, max: 1 } },
    });
    const file = await fetch(`${stack.appUrl}/api/posts?format=csv&fields=title`, {
      headers: { Authorization: await bearer() },
    });
    expect(await file.text()).toBe("title\r\none\r\n");
    expect((await admin.get("/posts", { meta: "totalCount", limit: "0" })).body.meta).toEqual({
      totalCount: 1,
    });
  });

  it("searches do not find it", async () => {
    expect(await valuesOf(admin, "authors", "name", { name: { _contains: "Bob" } })).toEqual([]);
    expect(await valuesOf(admin, "authors", "name", { email: "bob@example.com" })).toEqual([]);
  });

  it("a link to it reads as null, and as none in filters", async () => {
    await admin.patch(`/posts/${id}`, { author });
    await make(admin, "posts", { title: "two" });
    await drop(`/authors/${author}`);
    expect(await read(admin, "posts", id, "title,author.name")).toEqual({ title: "one", author: null });
    expect(await read(admin, "posts", id, "author")).toEqual({ author: null });
    expect((await read(admin, "posts", id)).author).toBeNull();
    const titles = (filter: object) => valuesOf(admin, "posts", "title", filter);
    expect(await titles({ author: { _is_null: true } })).toEqual(["one", "two"]);
    expect(await titles({ author: { name: "Ann" } })).toEqual([]);
    expect(await titles({ author })).toEqual([]);
    expect(await titles({ _not: { author: { name: "Ann" } } })).toEqual([]);
    const { body } = await admin.get("/posts", { fields: "title,author", sort: "author.name,-title" });
    expect(body.data.map((row: Row) => row.title)).toEqual(["two", "one"]);
  });

  it("it is not among the children of a record, their counts and their extremes", async () => {
    await make(admin, "posts", { title: "kept", views: 5, author });
    const child = await make(admin, "posts", { title: "gone", views: 50, author });
    await make(admin, "authors", { name: "Cid" });
    await drop(`/posts/${child.id}`);
    const { body } = await admin.get("/authors", {
      fields: "name,posts.title,_count(posts)",
      sort: "-_count(posts),name",
      aggregate: { posts: { count: true } },
    });
    expect(body.data).toEqual([
      { name: "Ann", posts: [{ id: expect.anything(), title: "kept" }], _count: { posts: 1 } },
      { name: "Cid", posts: [], _count: { posts: 0 } },
    ]);
    expect(body.meta.aggregate).toEqual({ posts: { count: 1 } });
    expect(await read(admin, "authors", author, "_count(posts)")).toEqual({ _count: { posts: 1 } });
    expect(await valuesOf(admin, "authors", "name", { posts: { title: "gone" } })).toEqual([]);
    const greatest = await admin.get("/authors", { fields: "name", sort: "-_max(posts.views)" });
    expect(greatest.body.data).toEqual([{ name: "Ann" }, { name: "Cid" }]);
    const deep = { posts: { fields: "title", filter: { title: "gone" } } };
    expect((await admin.get("/authors", { fields: "name", deep })).body.data[0].posts).toEqual([]);
  });

  it("it is missing in lists of links, and comes back there", async () => {
    const tags = await Promise.all(["a", "b"].map((name) => make(admin, "tags", { name })));
    await admin.patch(`/posts/${id}`, { tags: tags.map((tag) => tag.id) });
    await drop(`/tags/${tags[0].id}`);
    const names = async () => (await read(admin, "posts", id, "tags.name")).tags.map((tag: Row) => tag.name);
    expect(await names()).toEqual(["b"]);
    const number = async () => (await read(admin, "posts", id, "_count(tags)"))._count;
    expect(await number()).toEqual({ tags: 1 });
    await admin.post(`/tags/${tags[0].id}/restore`);
    expect((await names()).toSorted()).toEqual(["a", "b"]);
    expect(await number()).toEqual({ tags: 2 });
  });

  it("no body links to it", async () => {
    const create = await admin.post("/posts", { title: "two", author: gone });
    expect({ status: create.status, message: create.body.message }).toEqual({
      status: 400,
      message: [`author: there is no "authors" record with the id ${gone}`],
    });
    expect((await admin.patch(`/posts/${id}`, { author: gone })).status).toBe(400);
    const hidden = await makeDeleted("posts", { title: "hidden" });
    expect((await admin.patch(`/authors/${author}`, { posts: [hidden.id] })).status).toBe(400);
  });

  it("a new set of links leaves those of deleted records as they are", async () => {
    const child = await make(admin, "posts", { title: "gone", author });
    await drop(`/posts/${child.id}`);
    await admin.patch(`/authors/${author}`, { posts: [id] });
    await admin.post(`/posts/${child.id}/restore`);
    expect(await read(admin, "posts", child.id, "author")).toEqual({ author: { id: author } });
  });

  it("followers are told that it is deleted, and that it enters when it is restored", async () => {
    const url = `${stack.appUrl}/api/posts/changes?fields=title`;
    const source = await openEvents(url, { Authorization: await bearer() });
    try {
      await drop(`/posts/${id}`);
      await admin.post(`/posts/${id}/restore`);
      const told = await source.first(2, ...CHANGES);
      expect(told.map(({ event }) => event)).toEqual(["deleted", "entered"]);
      expect(told[1]?.data.record).toEqual({ title: "one" });
    } finally {
      source.close();
    }
  });

  it("its history tells when it was deleted and restored, and while it is deleted only root admins", async () => {
    await drop(`/posts/${id}`);
    const events = async (api: Api) =>
      (await api.get(`/posts/${id}/history`)).body.data?.map((each: Row) => each.event);
    expect(await events(admin)).toEqual(["deleted", "created"]);
    expect((await reader.get(`/posts/${id}/history`)).status).toBe(404);
    await admin.post(`/posts/${id}/restore`);
    expect(await events(reader)).toEqual(["restored", "deleted", "created"]);
  });
});

async function bearer(): Promise<string> {
  return `Bearer ${(await admin.post("/auth/login", stack.admin)).body.accessToken}`;
}

describe("deleted=with and deleted=only", () => {
  beforeEach(async () => {
    for (const team of ["blue", "green", "red"]) await makeDeleted("posts", { title: "gone", team });
    await make(admin, "posts", { title: "two", team: "green" });
  });
  const shown = async (api: Api, deleted: string, query = {}) => {
    const { body } = await api.get("/posts", { deleted, fields: "title,team", sort: "title,team", ...query });
    return body.data.map(({ title, team }: Row) => `${title} ${team}`);
  };

  it("show the deleted records, in lists, counts and files and by their ids", async () => {
    expect(await shown(admin, "only")).toEqual(["gone blue", "gone green", "gone red"]);
    expect(await shown(admin, "with")).toEqual([
      "gone blue",
      "gone green",
      "gone red",
      "one blue",
      "two green",
    ]);
    const { body } = await admin.get("/posts", {
      deleted: "only",
      meta: "*",
      limit: "1",
      filter: { team: "red" },
    });
    expect(body.meta).toEqual({ totalCount: 3, filterCount: 1 });
    expect(body.data[0].deletedAt).toEqual(time);
    const path = `/posts/${body.data[0].id}`;
    expect((await admin.get(path, { deleted: "with" })).body.data[0].title).toBe("gone");
    expect((await admin.get(path, { deleted: "only" })).status).toBe(200);
    expect((await admin.get(`/posts/${id}`, { deleted: "only" })).status).toBe(404);
  });

  it("sort by when they were deleted, and filter by it", async () => {
    const { body } = await admin.get("/posts", {
      deleted: "only",
      sort: "-deletedAt",
      fields: "team,deletedAt",
    });
    expect(body.data.map((row: Row) => row.team)).toEqual(["red", "green", "blue"]);
    const filter = { deletedAt: { _lte: body.data[1].deletedAt } };
    expect(await shown(admin, "only", { filter })).toEqual(["gone blue", "gone green"]);
  });

  it("show a caller those that they may read and may delete", async () => {
    expect(await shown(editor, "only")).toEqual(["gone blue"]);
    expect(await shown(editor, "with")).toEqual(["gone blue", "one blue", "two green"]);
  });

  it("are refused where one may delete nothing", async () => {
    expect((await reader.get("/posts", { deleted: "with" })).status).toBe(403);
    expect((await reader.get(`/posts/${id}`, { deleted: "only" })).status).toBe(403);
  });

  it("are refused for a table that keeps nothing, for other words, and where they say nothing", async () => {
    for (const answer of [
      await admin.get("/plain", { deleted: "only" }),
      await admin.get("/plain", { deleted: "with" }),
      await admin.get("/plain", { deleted: "only", format: "ndjson" }),
      await admin.get("/posts", { deleted: "yes" }),
      await admin.patch("/posts", {}, { deleted: "only", filter: { team: "blue" } }),
      await admin.delete(`/posts?deleted=only&filter={"team":"blue"}`),
      await admin.post("/posts", { title: "x" }, { deleted: "with" }),
    ]) {
      expect(answer.status).toBe(400);
      expect(answer.body.message).toMatch(/^deleted: /);
    }
  });

  it("make a file of everything, which a root admin can import with what is deleted in it", async () => {
    const file = await fetch(`${stack.appUrl}/api/posts?format=ndjson&deleted=with&fields=-seal,-tags`, {
      headers: { Authorization: await bearer() },
    });
    const text = await file.text();
    await admin.delete(`/posts?permanent=true&deleted=with&filter={"id":{"_is_not_null":true}}`);
    const { status } = await admin.send("POST", "/posts/import", {
      body: text,
      headers: { "Content-Type": "application/x-ndjson" },
    });
    expect(status).toBe(200);
    expect(await shown(admin, "only")).toEqual(["gone blue", "gone green", "gone red"]);
    expect(await valuesOf(admin, "posts", "title")).toEqual(["one", "two"]);
  });

  it("show relations of deleted records as those of any other: to living ones alone", async () => {
    const author = await make(admin, "authors", { name: "Ann" });
    const post = await makeDeleted("posts", { title: "linked", author: author.id });
    const query = { deleted: "only", fields: "author.name" };
    const linked = async () => (await admin.get(`/posts/${post.id}`, query)).body.data[0].author;
    expect(await linked()).toEqual({ id: author.id, name: "Ann" });
    await drop(`/authors/${author.id}`);
    expect(await linked()).toBeNull();
  });
});

describe("POST /{table}/{id}/restore", () => {
  it("brings a record back with its links", async () => {
    const author = await make(admin, "authors", { name: "Ann" });
    await admin.patch(`/posts/${id}`, { author: author.id });
    await drop(`/posts/${id}`);
    const { status, body } = await admin.post(`/posts/${id}/restore`, undefined, {
      fields: "title,author.name",
    });
    expect({ status, data: body.data }).toEqual({
      status: 200,
      data: [{ title: "one", author: { id: author.id, name: "Ann" } }],
    });
    expect(await valuesOf(admin, "authors", "name", { posts: { title: "one" } })).toEqual(["Ann"]);
  });

  it("leaves a record that is not deleted as it is", async () => {
    const before = await read(admin, "posts", id);
    expect((await admin.post(`/posts/${id}/restore`)).body.data).toEqual([before]);
  });

  it("takes no body: only an empty one is none", async () => {
    const gone = await makeDeleted("posts", { title: "gone", team: "blue" });
    const restore = (body: string) =>
      admin.send("POST", `/posts/${gone.id}/restore`, {
        body,
        headers: { "Content-Type": "application/json" },
      });
    for (const [body, message] of [
      ["{bad", /^The body is not valid JSON/],
      ['{"title":"back"}', /^body: a restore takes none/],
      ["[]", /^body: a restore takes none/],
      ["null", /^body: a restore takes none/],
    ] as const) {
      const refused = await restore(body);
      expect([body, refused.status, refused.body?.message]).toEqual([
        body,
        400,
        expect.stringMatching(message),
      ]);
    }
    expect((await admin.get(`/posts/${gone.id}`)).status).toBe(404);
    expect((await restore("{}")).status).toBe(200);
  });

  it("restores only at the version that If-Match names", async () => {
    const living = (await admin.get(`/posts/${id}`)).headers.get("ETag") ?? "";
    await drop(`/posts/${id}`);
    const deleted = (await admin.get(`/posts/${id}`, { deleted: "only" })).headers.get("ETag") ?? "";
    const restore = (ifMatch: string) =>
      admin.send("POST", `/posts/${id}/restore`, { headers: { "If-Match": ifMatch } });
    const statuses: number[] = [];
    for (const tag of ["zzz", '"zzz"', living, deleted, deleted, "*"])
      statuses.push((await restore(tag)).status);
    expect(statuses).toEqual([400, 412, 412, 200, 412, 200]);
  });

  it("restores once where many name the same version at the same time", async () => {
    await drop(`/posts/${id}`);
    const tag = (await admin.get(`/posts/${id}`, { deleted: "only" })).headers.get("ETag") ?? "";
    const answers = await atOnce(10, () =>
      admin.send("POST", `/posts/${id}/restore`, { headers: { "If-Match": tag } }),
    );
    expect(tally(answers)).toEqual({ 200: 1, 412: 9 });
  });

  it("is for those who may delete the record", async () => {
    const [blue, green] = await Promise.all(
      ["blue", "green"].map((team) => makeDeleted("posts", { title: "gone", team })),
    );
    expect((await reader.post(`/posts/${blue.id}/restore`)).status).toBe(403);
    expect((await editor.post(`/posts/${green.id}/restore`)).status).toBe(404);
    expect((await editor.post(`/posts/${blue.id}/restore`)).status).toBe(200);
  });

  it("is no way back from what others have deleted, with a rule for living records alone", async () => {
    const [mine, taken] = await Promise.all(
      ["mine", "taken"].map((title) => make(admin, "posts", { title, team: "green" })),
    );
    const author = { ...people.editor, email: "author@example.com" };
    const api = await user("authors of living posts", author, [
      { table: "posts", action: "read" },
      { table: "posts", action: "delete", filter: { team: "green", deletedAt: null } },
    ]);
    expect((await api.delete(`/posts/${mine.id}`)).status).toBe(200);
    expect((await admin.delete(`/posts/${taken.id}`)).status).toBe(200);
    for (const { id } of [mine, taken]) {
      expect((await api.post(`/posts/${id}/restore`)).status).toBe(404);
      expect((await admin.patch(`/posts/${id}`, { title: "moved" })).status).toBe(404);
    }
  });

  it("is for the owner that the record names, not for members whose membership went along", async () => {
    const to = (name: string, table: string, more: object = {}) => ({
      name,
      type: "many-to-one",
      table,
      ...more,
    });
    const owner = to("owner", "svc_user");
    await makeTable(admin, { name: "projects", softDelete: true, columns: [], relations: [owner] });
    const project = to("project", "projects", { required: true, onDelete: "CASCADE", inverse: "members" });
    const relations = [project, to("user", "svc_user")];
    await makeTable(admin, { name: "memberships", softDelete: true, columns: [], relations });
    const rules = (filter: object) =>
      ["read", "delete"].map((action) => ({ table: "projects", action, filter }));
    const [byMembership, byItself] = [{ members: { user: "$user.id" } }, { owner: "$user.id" }];
    const credentials = { ...people.editor, email: "owner@example.com" };
    const api = await user("owners", credentials, [...rules(byMembership), ...rules(byItself)]);
    const self = (await api.get("/me")).body.data[0].id;
    const named = await make(admin, "projects", { owner: self, members: [{ user: self }] });
    const unnamed = await make(admin, "projects", { members: [{ user: self }] });
    for (const each of [named, unnamed]) expect((await api.delete(`/projects/${each.id}`)).status).toBe(200);
    expect((await api.get("/projects", { deleted: "only" })).body.data.map((row: Row) => row.id)).toEqual([
      named.id,
    ]);
    expect((await api.post(`/projects/${unnamed.id}/restore`)).status).toBe(404);
    expect((await api.post(`/projects/${named.id}/restore`)).status).toBe(200);
    expect(await valuesOf(admin, "memberships", "project.id")).toHaveLength(1);
  });

  describe("of what needs a deleted record", () => {
    const reads = ["clients", "parcels"].map((table) => ({ table, action: "read" }));
    const restores = ["orders", "parcels", "clients"].map((table) => ({ table, action: "delete" }));
    const [ofClients, ofParcels] = reads;
    const ofGreen = { ...ofParcels, filter: { team: "green" } };
    const facts = { table: "clients", relation: "client" };
    let order: Row;

    beforeAll(async () => {
      const to = (name: string, table: string, more: object = {}) => ({
        name,
        type: "many-to-one",
        table,
        required: true,
        ...more,
      });
      const [columns, softDelete] = [[{ name: "team", type: "string" }], true];
      for (const name of ["clients", "orders"]) await makeTable(admin, { name, softDelete, columns });
      const inOrder = to("order", "orders", { onDelete: "CASCADE", inverse: "parcels" });
      const relations = [inOrder, to("client", "clients")];
      await makeTable(admin, { name: "parcels", softDelete, columns, relations });
      const parcels = [{ team: "blue", client: { team: "gone" } }];
      order = await make(admin, "orders?fields=*,parcels.id,parcels.client.id", { parcels });
      for (const path of [`/orders/${order.id}`, `/clients/${order.parcels[0].client.id}`]) await drop(path);
    });

    it.each([
      ["who may see both", true, [...reads, ...restores]],
      ["who may not see it deleted", false, [...reads, ...restores.slice(0, 2)]],
      ["who may not see what needs it", false, [ofClients, ofGreen, ...restores]],
      [
        "who may not see the link",
        false,
        [ofClients, { ...ofParcels, fields: "team" }, { ...ofGreen, fields: "client" }, ...restores],
      ],
    ])("names the two to those %s (%p)", async (name, isNamed, given) => {
      const rules = [...given, { table: "orders", action: "read" }] as object[];
      const email = `${name.replaceAll(" ", ".")}@example.com`;
      const api = await user(name, { ...people.editor, email }, rules);
      const { status, body } = await api.post(`/orders/${order.id}/restore`);
      const [{ id: parcel, client }] = order.parcels;
      const [one, other] = isNamed
        ? [`The "parcels" record ${parcel}`, `the record ${client.id}`]
        : [`This "parcels" record`, "a record"];
      expect({ status, message: body.message, details: body.error.details }).toEqual({
        status: 409,
        message: `${one} needs its "client", ${other} of "clients" that is deleted; restore that first.`,
        details: isNamed ? { ...facts, id: client.id } : facts,
      });
    });
  });

  it("is 404 for what was never there, and for a table that keeps nothing", async () => {
    expect((await admin.post("/posts/000000000000000000000000/restore")).status).toBe(404);
    const plain = await make(admin, "plain", { title: "x" });
    const { status, body } = await admin.post(`/plain/${plain.id}/restore`);
    expect([status, body.message]).toEqual([404, expect.stringContaining('set "softDelete": true')]);
    expect((await admin.post("/svc_folder/000000000000000000000000/restore")).body.message).toBe(
      'No deleted records of "svc_folder" are kept; tables of the service itself have no such option.',
    );
    expect((await admin.get(`/posts/${id}/restore`)).status).toBe(405);
  });
});

describe("values that must be unique", () => {
  it("are free again when their record is deleted; it comes back only while they are", async () => {
    const first = await makeDeleted("authors", { name: "Ann", email: "ann@example.com" });
    const second = await make(admin, "authors", { name: "Other", email: "ann@example.com" });
    const refused = await admin.post(`/authors/${first.id}/restore`);
    expect({ status: refused.status, code: refused.body.error.code }).toEqual({
      status: 409,
      code: "DUPLICATE_RESOURCE",
    });
    expect(refused.body.error.details.fields).toEqual(["email"]);
    expect(await read(admin, "authors", first.id)).toBeUndefined();
    await drop(`/authors/${second.id}`);
    expect((await admin.post(`/authors/${first.id}/restore`)).status).toBe(200);
    expect((await admin.post("/authors", { email: "ann@example.com" })).status).toBe(409);
  });

  it("are so together too, and so is the owner of a one-to-one", async () => {
    const tag = await make(admin, "tags", { name: "seal" });
    await admin.patch(`/posts/${id}`, { seal: tag.id });
    expect((await admin.post("/posts", { title: "x", seal: tag.id })).status).toBe(409);
    expect((await admin.post("/posts", { title: "one", team: "blue" })).status).toBe(409);
    await drop(`/posts/${id}`);
    await make(admin, "posts", { title: "one", team: "blue", seal: tag.id });
    expect((await admin.post(`/posts/${id}/restore`)).status).toBe(409);
  });

  it("hold for the only record of a singleton", async () => {
    const first = await makeDeleted("settings", { title: "one" });
    const second = await make(admin, "settings", { title: "two" });
    expect((await admin.post(`/settings/${first.id}/restore`)).status).toBe(409);
    await drop(`/settings/${second.id}`);
    expect((await admin.post(`/settings/${first.id}/restore`)).status).toBe(200);
  });
});

describe("permanent=true", () => {
  it("removes for good what is deleted and what is not", async () => {
    const gone = await makeDeleted("posts", { title: "gone" });
    for (const each of [id, gone.id]) {
      expect((await admin.delete(`/posts/${each}?permanent=true`)).status).toBe(200);
      expect((await admin.get(`/posts/${each}`, { deleted: "with" })).status).toBe(404);
      expect((await admin.post(`/posts/${each}/restore`)).status).toBe(404);
    }
  });

  it("empties what was deleted by a filter", async () => {
    for (const title of ["a", "b"]) await makeDeleted("posts", { title });
    const { body } = await admin.delete(
      `/posts?deleted=only&permanent=true&filter={"id":{"_is_not_null":true}}`,
    );
    expect(body.meta).toEqual({ matched: 2, changed: 2 });
    expect((await admin.get("/posts", { deleted: "with" })).body.data).toHaveLength(1);
  });

  it("takes the links to it out of all records, deleted ones too", async () => {
    const author = await make(admin, "authors", { name: "Ann" });
    await admin.patch(`/posts/${id}`, { author: author.id });
    await drop(`/posts/${id}`);
    await admin.delete(`/authors/${author.id}?permanent=true`);
    await make(admin, "authors", { name: "x" });
    await admin.post(`/posts/${id}/restore`);
    expect(await valuesOf(admin, "posts", "title", { author: { _is_null: true } })).toEqual(["one"]);
  });

  it("is for root admins, and for tables that keep what is deleted", async () => {
    expect((await editor.delete(`/posts/${id}?permanent=true`)).status).toBe(403);
    const plain = await make(admin, "plain", { title: "x" });
    expect((await admin.delete(`/plain/${plain.id}?permanent=true`)).status).toBe(400);
    expect((await admin.delete(`/posts/${id}?permanent=maybe`)).status).toBe(400);
    expect(await read(admin, "posts", id)).toBeDefined();
  });
});
