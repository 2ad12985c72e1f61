// What a list shows of each record's relations is what the record shows by itself: lists read related records for the
// whole page, a single record joins them.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { Decimal128, MongoClient } from "mongodb";
import { type Api, asAdmin, signIn } from "../../support/api.js";
import { roleFor } from "../../support/rules.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable, type Row } from "./make.js";

const ANN = { email: "ann@example.com", password: "ann's password" };
const POSTS = 12;

let stack: Stack;
let admin: Api;
let ann: Api;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  const name = { name: "name", type: "string" };
  await makeTable(admin, {
    name: "authors",
    idType: "int",
    columns: [name, { name: "age", type: "int" }],
    relations: [{ name: "mentor", type: "many-to-one", table: "authors", inverse: "pupils" }],
  });
  await makeTable(admin, { name: "tags", columns: [name], softDelete: true });
  await makeTable(admin, {
    name: "posts",
    columns: [name],
    relations: [
      { name: "author", type: "many-to-one", table: "authors", inverse: "posts" },
      { name: "tags", type: "many-to-many", table: "tags", inverse: "posts" },
    ],
  });
  await makeTable(admin, {
    name: "notes",
    idType: "int",
    columns: [name, { name: "stars", type: "int" }],
    relations: [
      { name: "post", type: "many-to-one", table: "posts", inverse: "notes" },
      { name: "by", type: "many-to-one", table: "authors", inverse: "notes" },
    ],
  });
  await makeTable(admin, {
    name: "covers",
    columns: [name],
    relations: [{ name: "post", type: "one-to-one", table: "posts", inverse: "cover" }],
  });
  await fill();
  const role = await roleFor(admin, "reader", ["authors", "tags", "posts", "covers"]);
  // Of notes only those with stars.
  const few = { filter: { stars: { _gt: 2 } } };
  await make(admin, "svc_permission", { role, table: "notes", action: "read", ...few });
  await make(admin, "svc_user", { ...ANN, role });
  ann = await signIn(`${stack.appUrl}/api`, ANN);
});

afterAll(() => stack?.stop());

async function fill(): Promise<void> {
  const many = async (table: string, records: readonly unknown[]): Promise<Row[]> => {
    const { status, body } = await admin.post(`/${table}`, records);
    if (status !== 201) throw new Error(JSON.stringify(body));
    return body.data;
  };
  for (const [at, name] of ["Ann", "Bea", "Cy"].entries()) {
    await make(admin, "authors", at === 0 ? { name } : { name, mentor: at });
  }
  const names = ["red", "green", "blue", "gone"];
  const tags = await many(
    "tags",
    names.map((name) => ({ name })),
  );
  const posts = await many(
    "posts",
    Array.from({ length: POSTS }, (_, at) => ({
      name: `post ${at}`,
      author: at % 4 === 3 ? null : 1 + (at % 3),
      tags: tags.map(({ id }) => id).filter((_id, nth) => (at >> nth) % 2 === 1),
    })),
  );
  // One has far more than the others, and newer ones: whoever asks for the newest of all meets them first.
  const notes = posts.flatMap(({ id }, at) =>
    Array.from({ length: at === 0 ? 1_200 : at % 5 }, (_, nth) => ({
      name: `note ${at}.${nth}`,
      post: id,
      by: 1 + (nth % 3),
      stars: at === 0 ? 1_000 + nth : nth,
    })),
  );
  await many("notes", notes.slice(0, 1_000));
  await many("notes", notes.slice(1_000));
  await many(
    "covers",
    posts.slice(0, 5).map(({ id, name }) => ({ name: `of ${name}`, post: id })),
  );
  await admin.send("DELETE", `/tags/${tags[3].id}`);
}

const SHAPES: readonly Readonly<Record<string, unknown>>[] = [
  { fields: "*,author.name" },
  { fields: "name,author.mentor.mentor.name,tags.name" },
  { fields: "name,author.notes.name,author.pupils" },
  { fields: "name,cover.name,tags.posts" },
  { fields: "name", deep: { notes: { sort: "-stars", limit: 3 } } },
  {
    fields: "name",
    deep: { notes: { sort: "-stars,name", limit: 2, page: 2, fields: "name,by.mentor.name" } },
  },
  { fields: "name", deep: { notes: { limit: 0, fields: "name" } } },
  { fields: "name", deep: { notes: { filter: { stars: { _lt: 3 } }, sort: "stars" } } },
  { fields: "name", deep: { notes: { filter: { by: { name: "Bea" } }, sort: "-name", limit: 2 } } },
  { fields: "name", deep: { notes: { sort: "by.name,-stars", limit: 2 } } },
  { fields: "name", deep: { author: { filter: { name: { _neq: "Ann" } }, deep: { posts: { limit: 2 } } } } },
  { fields: "name", deep: { tags: { sort: "-name", limit: 1, page: 2 } } },
  {
    fields: "name",
    deep: { tags: { deep: { posts: { sort: "name", limit: 2, fields: "name,author.name" } } } },
  },
];

describe("a list shows of each record what the record shows by itself", () => {
  for (const [who, api] of [
    ["root", () => admin],
    ["somebody who may not see every row", () => ann],
  ] as const) {
    it.each(SHAPES.map((shape) => [JSON.stringify(shape), shape] as const))(
      `to ${who}: %s`,
      async (_, shape) => {
        const { status, body } = await api().get("/posts", { ...shape, limit: "50", sort: "name" });
        expect([status, body.data?.length]).toEqual([200, POSTS]);
        const { body: ids } = await admin.get("/posts", { fields: "id", limit: "50", sort: "name" });
        for (const [at, { id }] of ids.data.entries()) {
          const alone = await api().get(`/posts/${id}`, shape);
          expect({ status: alone.status, record: body.data[at] }).toEqual({
            status: 200,
            record: alone.body.data[0],
          });
        }
      },
    );
  }

  it("in a list without end", async () => {
    const shape = { fields: "name,post.author.name", sort: "id", limit: "0" };
    const { body } = await admin.get("/notes", shape);
    expect(body.data.length).toBeGreaterThan(1_200);
    for (const note of [body.data[0], body.data[777], body.data.at(-1)]) {
      const { body: alone } = await admin.get("/notes", {
        ...shape,
        filter: { name: note.name },
        limit: "1",
      });
      expect(alone.data).toEqual([note]);
    }
  });
});

describe("what a list shows is asked for", () => {
  const questionsOf = async (shape: Readonly<Record<string, unknown>>): Promise<string[]> => {
    const { body } = await admin.get("/posts", { ...shape, limit: "50", explain: "true" });
    return body.data[0].questions.map(({ table }: Row) => table).sort();
  };

  it("with one question for each relation, however long the page", async () => {
    expect(await questionsOf({ fields: "name,author.mentor.name,cover.name" })).toEqual([
      "authors",
      "authors",
      "covers",
    ]);
  });

  it("with one more for those whose children one question leaves out", async () => {
    const deep = { notes: { sort: "-stars", limit: 3, fields: "name" } };
    expect(await questionsOf({ fields: "name", deep })).toEqual(["notes", "posts"]);
  });

  it("with a join for single records", async () => {
    const { body } = await admin.get("/posts", { fields: "author.name", limit: "2", explain: "true" });
    expect(body.data[0].questions).toEqual([]);
    expect(JSON.stringify(body.data[0].pipeline)).toContain("$lookup");
  });
});

describe("links that only the database can compare", () => {
  let client: MongoClient;
  /** The field of a note that holds its author. */
  let link: string;
  beforeAll(async () => {
    client = await MongoClient.connect(stack.mongodbUrl);
    const note = await client.db().collection("notes").findOne({ name: "note 1.0" });
    link = Object.keys(note ?? {}).find((key) => /by/i.test(key)) ?? "";
  });
  afterAll(() => client?.close());

  it("lead where they always led", async () => {
    const { body } = await admin.post("/notes", [{ name: "odd" }, { name: "even" }, { name: "none" }]);
    const notes = client.db().collection("notes");
    await notes.updateOne({ name: "odd" }, { $set: { [link]: Decimal128.fromString("1") } });
    await notes.updateOne({ name: "even" }, { $set: { [link]: 2 } });
    const filter = { id: { _in: body.data.map(({ id }: Row) => id) } };
    const { body: list } = await admin.get("/notes", { fields: "name,by.name", filter, sort: "id" });
    expect(list.data).toEqual([
      { name: "odd", by: { id: 1, name: "Ann" } },
      { name: "even", by: { id: 2, name: "Bea" } },
      { name: "none", by: null },
    ]);
    const { body: byAuthor } = await admin.get("/authors", {
      fields: "name",
      sort: "id",
      limit: "3",
      deep: { notes: { filter, fields: "name" } },
    });
    expect(byAuthor.data.map(({ notes }: Row) => notes.map(({ name }: Row) => name))).toEqual([
      ["odd"],
      ["even"],
      [],
    ]);
  });

  it("lead to records that are called otherwise, also where these are ranked by them", async () => {
    const [authors, notes] = [
      client.db().collection<{ _id: unknown; name: string }>("authors"),
      client.db().collection("notes"),
    ];
    const numbers = Array.from({ length: 14 }, (_, at) => 101 + at);
    await authors.insertMany([
      { _id: Decimal128.fromString("100"), name: "Decimal" },
      ...numbers.map((_id) => ({ _id, name: `author ${_id}` })),
    ]);
    const stars = (of: number) => 10_000 - of;
    const { body } = await admin.post(
      "/notes",
      [100, ...numbers].map((of) => ({ name: `by ${of}`, stars: stars(of) })),
    );
    for (const of of [100, ...numbers]) await notes.updateOne({ name: `by ${of}` }, { $set: { [link]: of } });
    const filter = { id: { _in: body.data.map(({ id }: Row) => id) } };
    const { body: list } = await admin.get("/notes", { fields: "by.name", filter, sort: "id", limit: "3" });
    const names = ["Decimal", "author 101", "author 102"];
    expect(list.data.map(({ by }: Row) => by.name)).toEqual(names);
    const { body: ranked } = await admin.get("/authors", { sort: "-_max(notes.stars),id", limit: "3" });
    expect(ranked.data.map(({ name }: Row) => name)).toEqual(names);
  });
});
