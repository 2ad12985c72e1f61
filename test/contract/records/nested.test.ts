// Records inside bodies: an object without an id is created and linked, all or none.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Answer, type Api, asAdmin, signIn } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable, type Row } from "./make.js";

const ANN = { email: "ann@example.com", password: "ann's password" };
const TABLES = ["profiles", "stars", "comments", "posts", "tags", "authors"];

let stack: Stack;
let admin: Api;
let ann: Api;
let role: string;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  const name = { name: "name", type: "string", required: true };
  await makeTable(admin, { name: "authors", columns: [{ ...name, unique: true }] });
  await makeTable(admin, { name: "tags", idType: "uuid", columns: [name] });
  await makeTable(admin, {
    name: "posts",
    columns: [{ name: "title", type: "string", required: true }],
    relations: [
      { name: "author", type: "many-to-one", table: "authors", inverse: "posts", required: true },
      { name: "tags", type: "many-to-many", table: "tags", inverse: "posts" },
    ],
  });
  await makeTable(admin, {
    name: "comments",
    idType: "int",
    columns: [{ name: "text", type: "string", required: true }],
    relations: [
      {
        name: "post",
        type: "many-to-one",
        table: "posts",
        inverse: "comments",
        required: true,
        counted: true,
      },
    ],
  });
  await makeTable(admin, {
    name: "stars",
    columns: [{ name: "size", type: "int" }],
    relations: [{ name: "author", type: "one-to-one", table: "authors", inverse: "star" }],
  });
  await makeTable(admin, {
    name: "profiles",
    columns: [{ name: "motto", type: "string" }],
    relations: [{ name: "author", type: "one-to-one", table: "authors", inverse: "profile", required: true }],
  });
  role = (await make(admin, "svc_role", { name: "Writer" })).id;
  await make(admin, "svc_user", { ...ANN, role });
  ann = await signIn(`${stack.appUrl}/api`, ANN);
});

afterAll(() => stack?.stop());

beforeEach(async () => {
  for (const table of [...TABLES, "svc_permission"])
    await admin.send("DELETE", `/${table}?filter=${encodeURIComponent('{"id":{"_is_not_null":true}}')}`);
});

const counts = async (): Promise<number[]> =>
  Promise.all(
    TABLES.map(async (table) => {
      const { body } = await admin.get(`/${table}`, { meta: "totalCount", fields: "id" });
      return body.meta.totalCount;
    }),
  );
const SHAPE = { fields: "title,author.name,tags.name", deep: { comments: { fields: "text" } } };
const shown = (row: Row) => ({
  title: row.title,
  author: row.author?.name,
  tags: row.tags.map(({ name }: Row) => name).sort(),
  comments: row.comments.map(({ text }: Row) => text).sort(),
});
const POST = {
  title: "first",
  author: { name: "Ann" },
  tags: [{ name: "red" }, { name: "blue" }],
  comments: [{ text: "good" }, { text: "bad" }],
};

describe("a create with records inside", () => {
  it("makes them all, linked in every kind of relation, and answers them", async () => {
    const { status, body } = await admin.post("/posts", POST, SHAPE);
    expect(status).toBe(201);
    const expected = { title: "first", author: "Ann", tags: ["blue", "red"], comments: ["bad", "good"] };
    expect(shown(body.data[0])).toEqual(expected);
    const sorted = await admin.get("/posts", {
      ...SHAPE,
      sort: "-_count(comments)",
      aggregate: { comments: { count: true } },
    });
    expect(shown(sorted.body.data[0])).toEqual(expected);
    expect(sorted.body.meta.aggregate.comments.count).toBe(2);
  });

  it("goes through several levels, beside ids of records that are there", async () => {
    const red = await make(admin, "tags", { name: "red" });
    const star = { size: 3 };
    const posts = [{ ...POST, author: undefined, tags: [red.id, { name: "new" }] }, { title: "second" }];
    const { status, body } = await admin.post(
      "/authors",
      { name: "Bob", star, posts },
      { deep: { posts: { ...SHAPE, sort: "title" } }, fields: "name,star.size" },
    );
    expect([status, body.data[0]?.star?.size]).toEqual([201, 3]);
    expect(body.data[0].posts.map(shown)).toEqual([
      { title: "first", author: "Bob", tags: ["new", "red"], comments: ["bad", "good"] },
      { title: "second", author: "Bob", tags: [], comments: [] },
    ]);
  });

  it("takes lists of them, all or none", async () => {
    const list = [POST, { title: "second", author: { name: "Bob" } }];
    expect((await admin.post("/posts", list)).body.data).toHaveLength(2);
    const again = [
      { title: "third", author: { name: "Eve" } },
      { title: "fourth", author: { name: "Ann" } },
    ];
    const before = await counts();
    expect((await admin.post("/posts", again)).status).toBe(409);
    expect(await counts()).toEqual(before);
  });

  it("gives each of a long list its own, through all levels", async () => {
    const numbers = Array.from({ length: 60 }, (_, at) => at);
    const own = (at: number) => [1, 2].map((of) => ({ text: `${at}.${of}` }));
    const list = numbers.map((at) => ({
      title: `${at}`,
      author: at % 2 === 0 ? { name: `${at}`, star: { size: at } } : undefined,
      tags: at % 3 === 0 ? [{ name: `${at}` }] : [],
      comments: own(at),
    }));
    const shared = await make(admin, "authors", { name: "shared" });
    const bodies = list.map((each) => ({ ...each, author: each.author ?? shared.id }));
    const fields = "title,author.name,author.star.size,tags.name";
    const { status, body } = await admin.post("/posts", bodies, { ...SHAPE, fields });
    expect(status).toBe(201);
    const made = body.data.map((row: Row) => ({ ...shown(row), size: row.author.star?.size }));
    expect(made).toEqual(
      list.map(({ title, author, tags, comments }) => ({
        title,
        author: author?.name ?? "shared",
        size: author?.star.size,
        tags: tags.map(({ name }) => name),
        comments: comments.map(({ text }) => text),
      })),
    );
    expect(await counts()).toEqual([0, 30, 120, 60, 20, 31]);
  });

  it("is refused with every violation at its place, through all levels, and makes nothing", async () => {
    const body = {
      author: { name: 5 },
      tags: [{ name: "fine" }, {}],
      comments: [
        { text: "fine", post: "x" },
        { text: null, nosuch: 1 },
      ],
    };
    const { status, body: refused } = await admin.post("/posts", body);
    expect(status).toBe(400);
    expect(refused.message).toEqual([
      "title: is required",
      "author.name: must be text, not 5",
      "tags[1].name: is required",
      "comments[0].post: is set by the record around it; leave it out",
      "comments[1].text: must not be null",
      "comments[1].nosuch: unknown field",
    ]);
    expect(await counts()).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it("refuses new records of a change that would change the changed record before it, which keeps its version", async () => {
    const [post, other] = [
      await make(admin, "posts", POST),
      await make(admin, "posts", { ...POST, author: { name: "B" } }),
    ];
    const tag = (await admin.get(`/posts/${post.id}`)).headers.get("etag") ?? "none";
    const before = await counts();
    const patch = (body: Row): Promise<Answer> =>
      admin.send("PATCH", `/posts/${post.id}`, {
        body: JSON.stringify(body),
        headers: { "Content-Type": "application/json", "If-Match": tag },
      });
    const remedy = "holds the record that is changed here; leave it out, and set its links in its own body";
    const { status, body } = await patch({
      author: {
        name: "new",
        posts: [other.id, { id: post.id }, { title: "inside", tags: [{ name: "deep", posts: [post.id] }] }],
      },
      tags: [
        { name: "fine", posts: [other.id] },
        { name: "new", posts: [post.id] },
      ],
    });
    const paths = ["author.posts", "author.posts[2].tags[0].posts", "tags[1].posts"];
    expect([status, body.message]).toEqual([400, paths.map((path) => `${path}: ${remedy}`)]);
    expect(await counts()).toEqual(before);
    expect((await patch({ author: { name: "new", posts: [other.id] } })).status).toBe(200);
    const { body: authors } = await admin.get("/authors", { fields: "posts", filter: { name: "new" } });
    const ids = authors.data[0].posts.map(({ id }: Row) => id).toSorted();
    expect(ids).toEqual([post.id, other.id].toSorted());
  });

  it("takes back what was made when a later record is refused", async () => {
    await make(admin, "authors", { name: "taken" });
    const body = {
      name: "new",
      posts: [
        { ...POST, author: undefined },
        { title: "x", tags: ["0190163d-8694-739b-aea5-966c26f8ad91"] },
      ],
    };
    expect((await admin.post("/authors", body)).status).toBe(400);
    expect(await counts()).toEqual([0, 0, 0, 0, 0, 1]);
    expect((await admin.post("/posts", { ...POST, author: { name: "taken" } })).status).toBe(409);
    expect(await counts()).toEqual([0, 0, 0, 0, 0, 1]);
  });

  it("says where in the request a rule stands that fits no table, as of all that is wrong with it", async () => {
    const relations = [{ name: "rule", type: "many-to-one", table: "svc_permission" }];
    await makeTable(admin, { name: "guards", columns: [{ name: "name", type: "string" }], relations });
    const misfit = { role: null, table: "tags", action: "read", fields: "nosuch" };
    const reason = 'unknown field "nosuch" on "tags"';
    const refused = async (path: string, body: unknown): Promise<unknown> => {
      const { status, body: answer } = await admin.post(path, body);
      return [status, answer.message];
    };
    const guarded = [{ name: "a" }, { name: "b", rule: misfit }];
    expect(await refused("/guards", guarded)).toEqual([400, [`[1].rule.fields: ${reason}`]]);
    expect(await refused("/guards", guarded[1])).toEqual([400, [`rule.fields: ${reason}`]]);
    expect(await refused("/svc_permission", [misfit])).toEqual([400, [`[0].fields: ${reason}`]]);
    expect(await refused("/svc_permission", misfit)).toEqual([400, [`fields: ${reason}`]]);
    for (const table of ["guards", "svc_permission"])
      expect((await admin.get(`/${table}`)).body.data).toEqual([]);
  });

  it("says where in the request a link to an unknown record stands", async () => {
    const lost = "0190163d-8694-739b-aea5-966c26f8ad91";
    const post = (...tags: string[]) => ({ title: "x", tags });
    const { status, body } = await admin.post("/authors", [
      { name: "a" },
      { name: "b", posts: [post(), post(lost)] },
    ]);
    const reason = `there is no "tags" record with the id ${lost}`;
    expect([status, body.message]).toEqual([400, [`[1].posts[1].tags: ${reason}`]]);
    const answer = await admin.post("/posts", [POST, { ...POST, author: { name: "Bob" }, tags: [lost] }]);
    expect([answer.status, answer.body.message]).toEqual([400, [`[1].tags: ${reason}`]]);
    expect(await counts()).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it("may be nested seven levels deep and no deeper", async () => {
    let body: Row = { title: "deepest" };
    for (let level = 0; level < 8; level += 1)
      body = level % 2 === 0 ? { name: `${level}`, posts: [body] } : { title: `${level}`, author: body };
    expect((await admin.post("/posts", body)).body.message[0]).toMatch(
      /records may be nested at most 7 levels deep, with at most 1000 nested records per record$/,
    );
  });

  it("with an Idempotency-Key is made once", async () => {
    const init = {
      body: JSON.stringify(POST),
      headers: { "Content-Type": "application/json", "Idempotency-Key": randomUUID() },
    };
    const first = await admin.send("POST", "/posts", init);
    const second = await admin.send("POST", "/posts", init);
    expect([second.status, second.body]).toEqual([201, first.body]);
    expect(await counts()).toEqual([0, 0, 2, 1, 2, 1]);
  });
});

describe("a change with records inside", () => {
  it("makes and links them; the set is the new one", async () => {
    const post = await make(admin, "posts", POST);
    const { body: before } = await admin.get(`/posts/${post.id}`, { deep: { comments: { sort: "id" } } });
    const [kept] = before.data[0].comments;
    const comments = [kept.id, { text: "new" }];
    expect((await admin.patch(`/posts/${post.id}`, { comments: [{ text: "x" }] })).status).toBe(400);
    const others = before.data[0].comments.slice(1).map(({ id }: Row) => id);
    for (const id of others) await admin.delete(`/comments/${id}`);
    const change = { comments, tags: [{ name: "green" }], author: { name: "Bob" } };
    const { status, body } = await admin.patch(`/posts/${post.id}`, change, SHAPE);
    expect([status, shown(body.data[0])]).toEqual([
      200,
      { title: "first", author: "Bob", tags: ["green"], comments: ["good", "new"] },
    ]);
    expect(await counts()).toEqual([0, 0, 2, 1, 3, 2]);
  });

  it("leaves out what its new records take over, also where the link is required, and nothing else", async () => {
    const { id } = await make(admin, "posts", POST);
    const { data } = (await admin.get("/comments", { sort: "id" })).body;
    const [kept, moved] = data.map((each: Row) => each.id);
    const put = (comments: Row[]) =>
      admin.patch(`/posts/${id}`, {
        comments,
        author: { name: "Bob", posts: [{ title: "second", comments: [moved] }] },
      });
    const before = await counts();
    expect([(await put([])).status, await counts()]).toEqual([400, before]);
    expect((await put([kept])).status).toBe(200);
    const posts = await admin.get("/posts", { sort: "title", fields: "comments.id" });
    expect(posts.body.data).toEqual([{ comments: [{ id: kept }] }, { comments: [{ id: moved }] }]);
  });

  it("puts a new record into a one-to-one place that was taken", async () => {
    const author = await make(admin, "authors", { name: "Ann", star: { size: 1 } });
    const { status } = await admin.patch(`/authors/${author.id}`, { star: { size: 2 } });
    expect(status).toBe(200);
    const { body } = await admin.get("/stars", { fields: "size,author.name", sort: "size" });
    expect(body.data).toEqual([
      { size: 1, author: null },
      { size: 2, author: { id: author.id, name: "Ann" } },
    ]);
  });

  it("is judged with the link of a one-to-one that it sets later", async () => {
    const rule = (parts: Row) => make(admin, "svc_permission", { role, ...parts });
    await rule({ table: "authors", action: "read", filter: { name: { _neq: "Unseen" } } });
    await rule({ table: "authors", action: "update" });
    for (const action of ["read", "update"]) await rule({ table: "stars", action });
    await rule({ table: "stars", action: "create", check: { author: { name: "Ann" } } });
    const put = async (name: string) => {
      const { id } = await make(admin, "authors", { name, star: { size: 1 } });
      const { status, body } = await ann.patch(`/authors/${id}`, { star: { size: 2 } });
      const { body: after } = await admin.get("/stars", { filter: { author: id }, fields: "size" });
      return [status, String(body.message).replace(id, "…"), after.data[0].size];
    };
    expect(await put("Ann")).toEqual([200, "Success", 2]);
    const refused = 'star: No rule lets you create a "stars" record with these values.';
    expect(await put("Bob")).toEqual([403, refused, 1]);
    expect(await put("Unseen")).toEqual([404, 'There is no such record in "authors".', 1]);
    expect((await admin.get("/stars")).body.data).toHaveLength(4);
  });

  it("makes the record of a one-to-one that must have its other end, and never lets a former one go", async () => {
    const author = await make(admin, "authors", { name: "Ann" });
    const put = (motto: string) => admin.patch(`/authors/${author.id}`, { profile: { motto } });
    expect((await put("first")).status).toBe(200);
    const { status, body } = await put("second");
    expect([status, body.error.details]).toEqual([409, { fields: ["author"] }]);
    const { body: all } = await admin.get("/profiles", { fields: "motto,author" });
    expect(all.data).toEqual([{ motto: "first", author: { id: author.id } }]);
  });

  it("of a record that is not there, or has changed, says so and makes nothing", async () => {
    const post = await make(admin, "posts", POST);
    const before = await counts();
    const body = JSON.stringify({ comments: [{ text: "x" }] });
    const headers = { "Content-Type": "application/json" };
    const missing = await admin.send("PATCH", "/posts/000000000000000000000000", { body, headers });
    const stale = { ...headers, "If-Match": '"7-x"' };
    const moved = await admin.send("PATCH", `/posts/${post.id}`, { body, headers: stale });
    expect([missing.status, moved.status]).toEqual([404, 412]);
    expect(await counts()).toEqual(before);
  });

  it("that is refused makes nothing", async () => {
    const post = await make(admin, "posts", POST);
    const before = await counts();
    const missing = await admin.patch("/posts/000000000000000000000000", { author: { name: "Eve" } });
    const refused = await admin.patch(`/posts/${post.id}`, {
      tags: [{ name: "x" }],
      author: { name: "Ann" },
    });
    expect([missing.status, refused.status]).toEqual([404, 409]);
    expect(await counts()).toEqual(before);
  });
});

describe("records inside a body", () => {
  it("are made as everywhere: users with a password that is hashed, and files by their upload alone", async () => {
    await makeTable(admin, {
      name: "teams",
      relations: [
        { name: "head", type: "many-to-one", table: "svc_user" },
        { name: "logo", type: "many-to-one", table: "svc_file" },
      ],
    });
    const eve = { email: "Eve@Example.com", password: "eve's password" };
    expect((await admin.post("/teams", { head: { ...eve, password: "short" } })).body.message).toEqual([
      expect.stringMatching(/^head\.password: /),
    ]);
    const team = await make(admin, "teams", { head: eve });
    expect((await (await signIn(`${stack.appUrl}/api`, eve)).get("/me")).status).toBe(200);
    const needsId = ['logo.id: is required: a new record of "svc_file" is made by a call of its own'];
    for (const { status, body } of [
      await admin.post("/teams", { logo: { filename: "x" } }),
      await admin.patch(`/teams/${team.id}`, { logo: { filename: "x" } }),
    ])
      expect([status, body.message]).toEqual([400, needsId]);
    expect((await admin.get("/svc_file")).body.data).toEqual([]);
  });

  it("are made by the rules for their tables, columns and values included", async () => {
    const rule = (parts: Row) => make(admin, "svc_permission", { role, ...parts });
    for (const table of ["posts", "comments", "authors"]) await rule({ table, action: "read" });
    await rule({ table: "posts", action: "create" });
    const create = () => ann.post("/posts", { title: "x", author: { name: "Eve" } });
    expect((await create()).status).toBe(403);
    await rule({ table: "authors", action: "create", check: { name: { _neq: "Eve" } } });
    expect((await create()).status).toBe(403);
    expect(await counts()).toEqual([0, 0, 0, 0, 0, 0]);
    expect((await ann.post("/posts", { title: "x", author: { name: "Bob" } })).status).toBe(201);
    const hidden = await ann.post("/posts", { title: "x", author: { name: "Zoe" }, tags: [{ name: "x" }] });
    expect([hidden.status, hidden.body.message]).toEqual([400, ["tags: unknown field"]]);
  });

  it("are refused where they link from a table without rules, or by a relation that the rule does not name", async () => {
    const rule = (parts: Row) => make(admin, "svc_permission", { role, ...parts });
    for (const table of ["authors", "posts"]) await rule({ table, action: "read" });
    const { id } = await rule({ table: "authors", action: "create", fields: "name" });
    const create = () => ann.post("/authors", { name: "Eve", posts: [{ title: "x" }] });
    await rule({ table: "posts", action: "create" });
    const unnamed = await create();
    expect([unnamed.status, unnamed.body.message]).toEqual([400, ["posts: you may not write it"]]);
    await admin.patch(`/svc_permission/${id}`, { fields: "name,posts" });
    expect((await create()).status).toBe(201);
    const starred = await ann.post("/authors", { name: "Zoe", star: { size: 1 } });
    expect([starred.status, starred.body.message]).toEqual([400, ["star: unknown field"]]);
  });

  it("are refused where their link to the record around them is unknown to the caller, without its name", async () => {
    const rule = (parts: Row) => make(admin, "svc_permission", { role, ...parts });
    const { id } = await make(admin, "authors", { name: "Ann" });
    for (const table of ["authors", "tags"])
      for (const action of ["read", "create", "update"]) await rule({ table, action });
    await rule({ table: "posts", action: "read", fields: "title" });
    await rule({ table: "posts", action: "create", fields: "title" });
    await rule({ table: "stars", action: "create", fields: "size" });
    const { id: shows } = await rule({ table: "stars", action: "read", fields: "size" });
    const before = await counts();
    const refused = async (answer: Promise<Answer>, ...message: string[]) => {
      const { status, body } = await answer;
      expect([status, body.message]).toEqual([400, message]);
    };
    for (const inside of [{}, { author: id }, { colour: "red" }, { author: { name: "Eve" } }]) {
      const star = { size: 1, ...inside };
      await refused(ann.patch(`/authors/${id}`, { star }), "star: you may not create records here");
      await refused(ann.post("/authors", { name: "x", star }), "star: you may not create records here");
      const posts = [{ title: "x", ...inside }];
      await refused(ann.post("/tags", { name: "x", posts }), "posts[0]: you may not create records here");
    }
    await admin.patch(`/svc_permission/${shows}`, { fields: "size,author" });
    await refused(ann.patch(`/authors/${id}`, { star: { size: 1 } }), "star.author: you may not write it");
    expect(await counts()).toEqual(before);
  });

  it("are refused where the caller could not see one that another links to, in words for who never sent its id", async () => {
    const rule = (parts: Row) => make(admin, "svc_permission", { role, ...parts });
    await rule({ table: "posts", action: "read", filter: { title: { _neq: "hidden" } } });
    for (const table of ["authors", "comments"]) await rule({ table, action: "read" });
    for (const table of ["authors", "comments", "posts"]) await rule({ table, action: "create" });
    await rule({ table: "comments", action: "update" });
    const hidden = { title: "hidden", author: { name: "Bob" } };
    const { id } = await make(admin, "comments", { text: "x", post: POST });
    const before = await counts();
    for (const [answer, place] of [
      [await ann.post("/comments", { text: "x", post: hidden }), "post"],
      [await ann.patch(`/comments/${id}`, { post: hidden }), "post"],
      [await ann.post("/posts", { ...hidden, comments: [{ text: "x" }] }), String.raw`comments\[0\]\.post`],
    ] as const)
      expect([answer.status, answer.body.message]).toEqual([
        400,
        [
          expect.stringMatching(
            `^${place}: there is no "posts" record with the id [0-9a-f]{24}; one that this body makes must be one that you may see$`,
          ),
        ],
      ]);
    expect(await counts()).toEqual(before);
    expect((await ann.post("/posts", hidden)).status).toBe(201);
  });

  it("may be ten thousand for all records of a request, and no more", async () => {
    const { id: author } = await make(admin, "authors", { name: "Ann" });
    const before = await counts();
    const comments = Array.from({ length: 1_000 }, (_, at) => ({ text: `${at}` }));
    const posts = Array.from({ length: 11 }, () => ({ title: "x", author, comments }));
    const { status, body } = await admin.post("/posts", posts);
    expect([status, body.message, await counts()]).toEqual([
      400,
      "body: at most 10000 nested records per request; send fewer at once",
      before,
    ]);
  });

  it("may be a thousand for each record of the request, and no more", async () => {
    const author = { name: "Ann" };
    const comments = (count: number) => Array.from({ length: count }, (_, at) => ({ text: `${at}` }));
    const post = (count: number, name: string) => ({
      title: "x",
      author: { name },
      comments: comments(count),
    });
    const { id } = await make(admin, "authors", author);
    const one = await admin.post("/posts", { title: "x", author: id, comments: comments(1_000) });
    expect(one.status).toBe(201);
    const before = await counts();
    const more = await admin.post("/posts", { title: "x", author: id, comments: comments(1_001) });
    expect([more.status, more.body.message]).toEqual([400, [expect.stringMatching(/^comments.*1,?000/)]]);
    // The author is one of them.
    const list = await admin.post("/posts", [post(999, "Bob"), post(1_000, "Cid")]);
    expect([list.status, await counts()]).toEqual([400, before]);
    expect((await admin.post("/posts", [post(999, "Bob"), post(999, "Cid")])).status).toBe(201);
  });
});
