// What another program may leave in an adopted collection where a single value belongs. MongoDB compares with each member
// of a list, and knows ids of every kind; none of that may make Portico find, change or delete what it should not.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Collection, type Document, MongoClient } from "mongodb";
import type { Row } from "../contract/records/make.js";
import { type Api, asAdmin, type Query } from "../support/api.js";
import { type Stack, startStack } from "../support/stack.js";

let stack: Stack;
let client: MongoClient;
let admin: Api;

beforeAll(async () => {
  stack = await startStack();
  client = await MongoClient.connect(stack.mongodbUrl);
  admin = await asAdmin(stack);
}, 60_000);
afterAll(async () => {
  await client.close();
  await stack.stop();
});

const collection = (name: string): Collection<Document> => client.db().collection<Document>(name);

/** Leaves documents there, in the place of all others. */
async function leave(name: string, documents: readonly Document[]): Promise<void> {
  await collection(name).deleteMany({});
  await collection(name).insertMany([...documents]);
}

/** Makes a table of a collection that holds documents already. */
async function adopt(definition: object): Promise<void> {
  const { status, body } = await admin.post("/svc_table", definition);
  expect([status, body.message]).toEqual([201, "Success"]);
}

async function data(path: string, query: Query = {}): Promise<Row[]> {
  const { status, body } = await admin.get(path, query);
  expect([status, body.message]).toEqual([200, "Success"]);
  return body.data;
}

const idsOf = async (path: string, query: Query = {}): Promise<unknown[]> =>
  (await data(path, { limit: "0", sort: "id", ...query })).map(({ id }) => id);

const stored = (name: string, field: string): Promise<unknown[]> =>
  collection(name)
    .find({}, { sort: { _id: 1 } })
    .map((document) => document[field])
    .toArray();

describe("a list where a single link belongs", () => {
  const BOTH = [1, 2];
  const links = [
    { name: "author", onDelete: "SET NULL", counted: true, inverse: "books" },
    { name: "owner", onDelete: "CASCADE", inverse: "owned" },
    { name: "keeper", onDelete: "RESTRICT", inverse: "kept" },
  ];
  const FIELDS = links.map(({ name }) => `${name}Id`);
  const linked = (to: unknown): Document => Object.fromEntries(FIELDS.map((field) => [field, to]));

  beforeAll(async () => {
    await leave("writers", [{ _id: 1 }]);
    await adopt({ name: "writers", idType: "int", columns: [{ name: "name", type: "string" }] });
    await leave("books", [{ _id: 10 }]);
    const relations = links.map((each) => ({ type: "many-to-one", table: "writers", ...each }));
    await adopt({ name: "books", idType: "int", columns: [{ name: "title", type: "string" }], relations });
  });
  beforeEach(async () => {
    await leave("writers", [
      { _id: 1, name: "Ann" },
      { _id: 2, name: "Bob" },
    ]);
    await leave("books", [
      { _id: 10, authorId: 2 },
      { _id: 11, ...linked(BOTH) },
      { _id: 12, ...linked([null]) },
    ]);
  });

  it("is shown as it is, and leads nowhere", async () => {
    expect(await data("/books/11", { fields: "author" })).toEqual([{ author: { id: BOTH } }]);
    const none = { author: null };
    expect(await data("/books/11", { fields: "author.name" })).toEqual([none]);
    const bob = { author: { id: 2, name: "Bob" } };
    expect(await data("/books", { fields: "author.name", sort: "id" })).toEqual([bob, none, none]);
    expect(await data("/writers/1", { fields: "books.id" })).toEqual([{ books: [] }]);
    const books = [{ books: [] }, { books: [{ id: 10 }] }];
    expect(await data("/writers", { fields: "books.id", sort: "id", limit: "2" })).toEqual(books);
    expect(await data("/writers", { fields: "books.id", sort: "id", limit: "3" })).toEqual(books);
  });

  it("satisfies no filter, in neither direction, and is no link for one either", async () => {
    for (const author of [{ name: "Ann" }, { id: 1 }, { id: { _in: [1, 2] } }, { id: { _lt: 3 } }]) {
      const found = await idsOf("/books", { filter: { _or: [{ author }, { _not: { author } }] } });
      expect({ author, found }).toEqual({ author, found: [10] });
    }
    expect(await idsOf("/books", { filter: { author: { _is_not_null: true } } })).toEqual([10]);
    expect(await idsOf("/books", { filter: { author: null } })).toEqual([11, 12]);
    expect(await idsOf("/books", { filter: { author: { id: { _neq: 9 } } } })).toEqual([10]);
    expect(await idsOf("/writers", { filter: { books: { title: null } } })).toEqual([2]);
    expect(await idsOf("/writers", { filter: { owned: { _is_not_null: true } } })).toEqual([]);
    expect(await idsOf("/writers", { filter: { owned: { id: { _in: [11, 12] } } } })).toEqual([]);
    expect(await idsOf("/books", { sort: "-author.name,id" })).toEqual([10, 11, 12]);
    expect(await idsOf("/writers", { sort: "-_max(owned.id),id" })).toEqual([1, 2]);
    expect(await idsOf("/writers", { sort: "-_count(kept),id" })).toEqual([1, 2]);
  });

  it("is not counted", async () => {
    const counts = await data("/writers", { fields: "_count(books),_count(owned)", sort: "id" });
    expect(counts.map(({ _count }) => _count)).toEqual([
      { books: 0, owned: 0 },
      { books: 0, owned: 0 },
    ]);
    expect((await admin.delete("/books/11")).status).toBe(200);
    const [ann] = await data("/writers/1", { fields: "_count(books)" });
    expect(ann).toEqual({ _count: { books: 0 } });
  });

  it("blocks no delete of what it names, is not let go of by it, and does not go along", async () => {
    expect((await admin.delete("/writers/1")).status).toBe(200);
    for (const field of FIELDS)
      expect(await stored("books", field)).toEqual([field === "authorId" ? 2 : undefined, BOTH, [null]]);
    expect((await admin.delete("/writers/2")).status).toBe(200);
    expect(await stored("books", "authorId")).toEqual([undefined, BOTH, [null]]);
  });

  it("is left alone by links that are set from the other side, unless they name its record", async () => {
    for (const name of ["books", "owned"])
      expect((await admin.patch("/writers/1", { [name]: [] })).status).toBe(200);
    expect((await admin.patch("/writers/1", { books: [10] })).status).toBe(200);
    expect(await stored("books", "authorId")).toEqual([1, BOTH, [null]]);
    expect(await stored("books", "ownerId")).toEqual([undefined, BOTH, [null]]);
    expect((await admin.patch("/writers/1", { books: [11] })).status).toBe(200);
    expect(await stored("books", "authorId")).toEqual([undefined, 1, [null]]);
    expect((await admin.patch("/writers/2", { owned: [11, 12] })).status).toBe(200);
    expect(await stored("books", "ownerId")).toEqual([undefined, 2, 2]);
  });
});
