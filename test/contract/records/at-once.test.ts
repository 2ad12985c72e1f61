// Changes of many records at the same time, which the service makes together: each is answered as if it had come alone.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { MongoClient, ObjectId } from "mongodb";
import { type Answer, type Api, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { atOnce, make, makeTable, type Row, read, tally } from "./make.js";

const COUNT = 40;

let stack: Stack;
let api: Api;
let client: MongoClient;
let books: Row[];

beforeAll(async () => {
  stack = await startStack();
  api = await asAdmin(stack);
  client = await MongoClient.connect(stack.mongodbUrl);
  await makeTable(api, {
    name: "books",
    columns: [
      { name: "title", type: "string", searchable: true },
      { name: "code", type: "string", unique: true },
      { name: "stock", type: "int" },
    ],
  });
  const book = { name: "book", type: "many-to-one", table: "books", inverse: "loans", onDelete: "RESTRICT" };
  await makeTable(api, { name: "loans", relations: [book] });
});

afterAll(async () => {
  await client?.close();
  await stack?.stop();
});

beforeEach(async () => {
  books = await atOnce(COUNT, (at) => make(api, "books", { title: `book ${at}` }));
});

const idOf = (at: number): string => books[at % COUNT].id;
const patch = (at: number, body: object): Promise<Answer> => api.patch(`/books/${idOf(at)}`, body);
/** How often a record was changed. */
const version = ({ headers }: Answer): string => /^"(\d+)-/.exec(headers.get("etag") ?? "")?.[1] ?? "none";
const versions = async (): Promise<string[]> =>
  Promise.all(books.map(async ({ id }) => version(await api.get(`/books/${id}`))));

describe("changes of many records at once", () => {
  it("are each answered with their own record", async () => {
    const answers = await atOnce(COUNT, (at) => patch(at, { title: `changed ${at}`, stock: at }));
    expect(answers.map(({ status, body }) => [status, body.data[0].id, body.data[0].title])).toEqual(
      books.map(({ id }, at) => [200, id, `changed ${at}`]),
    );
    expect(new Set(answers.map(version))).toEqual(new Set(["1"]));
    expect(await versions()).toEqual(books.map(() => "1"));
  });

  it("are made once, whatever becomes of the others", async () => {
    await patch(0, { code: "taken" });
    const nobody = new ObjectId().toHexString();
    const answers = await atOnce(COUNT, (at) => {
      if (at % 4 === 1) return patch(at, { code: "taken" });
      if (at % 4 === 2) return api.patch(`/books/${nobody}`, { stock: 1 });
      return patch(at, { stock: at });
    });
    expect(tally(answers)).toEqual({ 200: COUNT / 2, 404: COUNT / 4, 409: COUNT / 4 });
    const expected = books.map((_, at) => (at === 0 ? "2" : at % 4 === 3 || at % 4 === 0 ? "1" : "0"));
    expect(await versions()).toEqual(expected);
  });

  it("are each made, where all are of the same record", async () => {
    const answers = await atOnce(COUNT, (at) => patch(0, { stock: at }));
    expect(tally(answers)).toEqual({ 200: COUNT });
    expect(version(await api.get(`/books/${idOf(0)}`))).toBe(String(COUNT));
  });

  it("may add members of their own each", async () => {
    const members = [{ title: "t" }, { stock: 7 }, { code: null }];
    const answers = await atOnce(COUNT, (at) => patch(at, { ...members[at % 3], code: `c${idOf(at)}` }));
    expect(tally(answers)).toEqual({ 200: COUNT });
    expect((await read(api, "books", idOf(1))).stock).toBe(7);
    expect((await read(api, "books", idOf(3))).title).toBe("t");
  });

  it("wait for what becomes of a record that is being deleted, and keep nobody else waiting", async () => {
    // As a delete leaves it that is about to look for loans.
    const stored = client.db().collection("books");
    const which = { _id: ObjectId.createFromHexString(idOf(0)) };
    await stored.updateOne(which, { $set: { _leaving_for: { [new ObjectId().toHexString()]: true } } });
    let isAnswered = false;
    const waiting = patch(0, { stock: 1 }).finally(() => {
      isAnswered = true;
    });
    const others = await atOnce(COUNT - 1, (at) => patch(at + 1, { stock: at }));
    expect(tally(others)).toEqual({ 200: COUNT - 1 });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(isAnswered).toBe(false);
    await stored.updateOne(which, { $unset: { _leaving_for: 1 } });
    const answer = await waiting;
    expect([answer.status, version(answer)]).toEqual([200, "1"]);
    expect(await versions()).toEqual(books.map(() => "1"));
  });

  it("leave no trace of deletes in a record", async () => {
    const loan = await make(api, "loans", { book: idOf(0) });
    expect((await api.delete(`/books/${idOf(0)}`)).status).toBe(409);
    await api.delete(`/loans/${loan.id}`);
    await atOnce(COUNT, (at) => patch(at, { stock: at }));
    expect(
      await client
        .db()
        .collection("books")
        .countDocuments({ _leaving_for: { $exists: true } }),
    ).toBe(0);
  });
});
