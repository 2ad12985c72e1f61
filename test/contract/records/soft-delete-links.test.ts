// What becomes of the records that link to one whose table keeps what is deleted: nothing is lost, and what went together
// comes back together.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { MongoClient, ObjectId } from "mongodb";
import { type Api, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { make, makeTable, type Row, read, valuesOf } from "./make.js";

let stack: Stack;
let admin: Api;
let client: MongoClient;

const name = { name: "name", type: "string" };
const to = (table: string, onDelete: string, more: object = {}) => ({
  name: table.slice(0, -1),
  type: "many-to-one",
  table,
  onDelete,
  inverse: null,
  ...more,
});

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  client = await MongoClient.connect(stack.mongodbUrl);
  const soft = { softDelete: true, columns: [name] };
  const hard = { columns: [name] };
  const inShelf = to("shelfs", "CASCADE", { required: true, inverse: "books" });
  await makeTable(admin, { name: "houses", ...hard });
  await makeTable(admin, { name: "kinds", ...hard });
  await makeTable(admin, { name: "shelfs", ...soft, relations: [to("houses", "CASCADE")] });
  await makeTable(admin, {
    name: "books",
    ...soft,
    columns: [name, { name: "code", type: "string", unique: true }],
    relations: [
      inShelf,
      to("kinds", "RESTRICT"),
      { name: "sequel", type: "one-to-one", table: "books", onDelete: "CASCADE" },
    ],
  });
  await makeTable(admin, {
    name: "leaves",
    ...soft,
    changes: true,
    relations: [to("books", "CASCADE", { required: true, inverse: "leaves" })],
  });
  await makeTable(admin, { name: "stickers", ...hard, relations: [to("books", "CASCADE")] });
  await makeTable(admin, {
    name: "loans",
    ...soft,
    relations: [to("books", "RESTRICT", { required: true })],
  });
  await makeTable(admin, {
    name: "fans",
    ...hard,
    relations: [to("books", "SET NULL", { inverse: "fans" })],
  });
}, 180_000);

afterAll(async () => {
  await client?.close();
  await stack.stop();
});

const shelf = async (more: object = {}): Promise<string> =>
  (await make(admin, "shelfs", { name: "shelf", ...more })).id;
const book = async (of: string, more: object = {}): Promise<string> =>
  (await make(admin, "books", { name: "book", shelf: of, ...more })).id;
const leaf = async (of: string): Promise<string> =>
  (await make(admin, "leaves", { name: "leaf", book: of })).id;

const remove = (table: string, id: string, query = "") => admin.delete(`/${table}/${id}${query}`);
const restore = (table: string, id: string) => admin.post(`/${table}/${id}/restore`);

/** Which of the records live: `{books: true, …}`. */
async function living(ids: Readonly<Record<string, string>>): Promise<Record<string, boolean>> {
  const found = Object.entries(ids).map(
    async ([table, id]): Promise<[string, boolean]> => [
      table,
      (await read(admin, table.split(" ")[0] ?? "", id)) !== undefined,
    ],
  );
  return Object.fromEntries(await Promise.all(found));
}

describe("CASCADE", () => {
  it("deletes all levels together, and restores them together", async () => {
    const shelfs = await shelf();
    const books = await book(shelfs);
    const leaves = await leaf(books);
    const before = await read(admin, "leaves", leaves, "name,book.name,book.shelf.name");
    expect((await remove("shelfs", shelfs)).status).toBe(200);
    expect(await living({ shelfs, books, leaves })).toEqual({ shelfs: false, books: false, leaves: false });
    expect((await restore("shelfs", shelfs)).status).toBe(200);
    expect(await read(admin, "leaves", leaves, "name,book.name,book.shelf.name")).toEqual(before);
  });

  it("leaves deleted what was deleted on its own before", async () => {
    const shelfs = await shelf();
    const [books, other] = [await book(shelfs), await book(shelfs)];
    await remove("books", other);
    await remove("shelfs", shelfs);
    await restore("shelfs", shelfs);
    expect(await living({ books, "books other": other })).toEqual({ books: true, "books other": false });
    expect((await restore("books", other)).status).toBe(200);
  });

  it("goes around in circles once", async () => {
    const shelfs = await shelf();
    const first = await book(shelfs);
    const second = await book(shelfs, { sequel: first });
    await admin.patch(`/books/${first}`, { sequel: second });
    await remove("books", first);
    expect(await living({ "books 1": first, "books 2": second })).toEqual({
      "books 1": false,
      "books 2": false,
    });
    await restore("books", first);
    expect((await read(admin, "books", second, "sequel")).sequel).toEqual({ id: first });
    expect((await read(admin, "books", first, "sequel")).sequel).toEqual({ id: second });
  });

  it("is refused where it would delete for good, and nothing has changed then", async () => {
    const shelfs = await shelf();
    const books = await book(shelfs);
    const stickers = (await make(admin, "stickers", { name: "x", book: books })).id;
    const { status, body } = await remove("shelfs", shelfs);
    expect({ status, code: body.error.code, details: body.error.details }).toEqual({
      status: 409,
      code: "CONFLICT",
      details: { table: "stickers", relation: "book" },
    });
    expect(await living({ shelfs, books, stickers })).toEqual({ shelfs: true, books: true, stickers: true });
  });

  it("of a table that keeps nothing deletes its children so that they can be restored, without their link", async () => {
    const house = (await make(admin, "houses", { name: "house" })).id;
    const shelfs = await shelf({ house });
    const books = await book(shelfs);
    expect((await remove("houses", house)).status).toBe(200);
    expect(await living({ shelfs, books })).toEqual({ shelfs: false, books: false });
    expect((await restore("shelfs", shelfs)).body.data[0].house).toBeNull();
    expect(await living({ shelfs, books })).toEqual({ shelfs: true, books: true });
  });
});

describe("a restored record", () => {
  it("keeps no link to one that went for good in this moment", async () => {
    const { id: house } = await make(admin, "houses", { name: "h" });
    const { id } = await make(admin, "shelfs", { name: "s", house });
    await admin.delete(`/shelfs/${id}`);
    // As the delete of the house leaves it that has looked for what links there before the shelf came back.
    await client
      .db()
      .collection("houses")
      .deleteOne({ _id: new ObjectId(String(house)) });
    const { status, body } = await restore("shelfs", id);
    expect([status, body.data[0].house]).toEqual([200, null]);
    const filter = { id, house: { _is_null: true } };
    expect((await admin.get("/shelfs", { filter })).body.data).toHaveLength(1);
  });

  it("needs the records that it must link to: they are restored first", async () => {
    const shelfs = await shelf();
    const books = await book(shelfs);
    await remove("shelfs", shelfs);
    const { status, body } = await restore("books", books);
    expect({ status, details: body.error.details }).toEqual({
      status: 409,
      details: { table: "shelfs", relation: "shelf", id: shelfs },
    });
  });

  it("comes back with all that went with it, or not at all", async () => {
    const shelfs = await shelf();
    const books = await book(shelfs, { code: "taken" });
    const leaves = await leaf(books);
    await remove("shelfs", shelfs);
    const other = await book(await shelf(), { code: "taken" });
    expect((await restore("shelfs", shelfs)).status).toBe(409);
    expect(await living({ shelfs, books, leaves })).toEqual({ shelfs: false, books: false, leaves: false });
    await remove("books", other);
    expect((await restore("shelfs", shelfs)).status).toBe(200);
    expect(await living({ shelfs, books, leaves })).toEqual({ shelfs: true, books: true, leaves: true });
  });
});

describe("RESTRICT", () => {
  it("refuses while living records link, and not for deleted ones", async () => {
    const books = await book(await shelf());
    const loans = (await make(admin, "loans", { name: "x", book: books })).id;
    expect((await remove("books", books)).status).toBe(409);
    await remove("loans", loans);
    expect((await remove("books", books)).status).toBe(200);
    expect((await restore("loans", loans)).status).toBe(409);
    await restore("books", books);
    expect((await restore("loans", loans)).body.data[0].book).toEqual({ id: books });
  });

  it.each([
    [409, "goes", { _deletedAt: new Date() }],
    [200, "stays", {}],
  ])(
    "lets a restored record wait for one that it needs and that is being deleted: %i if that %s",
    async (status, _what, fate) => {
      const books = await book(await shelf());
      const loans = (await make(admin, "loans", { name: "x", book: books })).id;
      await remove("loans", loans);
      // As a delete leaves it that has looked for loans, and is about to mark the book as deleted.
      const which = { _id: ObjectId.createFromHexString(books) };
      const stored = client.db().collection("books");
      await stored.updateOne(which, { $set: { _leaving_for: { [new ObjectId().toHexString()]: true } } });
      let isAnswered = false;
      const restored = restore("loans", loans).finally(() => {
        isAnswered = true;
      });
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(isAnswered).toBe(false);
      await stored.updateOne(which, { $set: fate, $unset: { _leaving_for: 1 } });
      expect((await restored).status).toBe(status);
    },
  );

  it("refuses to delete for good what deleted records link to, and says so", async () => {
    const kind = (await make(admin, "kinds", { name: "novel" })).id;
    const books = await book(await shelf(), { kind });
    await remove("books", books);
    const { status, body } = await remove("kinds", kind);
    expect({ status, message: body.message }).toEqual({
      status: 409,
      message: `Deleted records of "books" still link to this "kinds" record by "kind"; remove them for good first.`,
    });
    await remove("books", books, "?permanent=true");
    expect((await remove("kinds", kind)).status).toBe(200);
  });
});

describe("SET NULL", () => {
  it("reads as null while the record is deleted, and leads to it again when it is restored", async () => {
    const books = await book(await shelf());
    const fan = (await make(admin, "fans", { name: "Ann", book: books })).id;
    const before = await admin.get(`/fans/${fan}`);
    await remove("books", books);
    expect((await read(admin, "fans", fan)).book).toBeNull();
    await restore("books", books);
    expect((await admin.get(`/fans/${fan}`)).body.data).toEqual(before.body.data);
  });

  it("keeps a link that was set to another record meanwhile", async () => {
    const shelfs = await shelf();
    const [books, other] = [await book(shelfs), await book(shelfs)];
    const fan = (await make(admin, "fans", { name: "Ann", book: books })).id;
    await remove("books", books);
    await admin.patch(`/fans/${fan}`, { book: other });
    await restore("books", books);
    expect((await read(admin, "fans", fan)).book).toEqual({ id: other });
  });
});

describe("permanent=true", () => {
  it("takes along for good what CASCADE names, deleted before or not", async () => {
    const shelfs = await shelf();
    const [books, other] = [await book(shelfs), await book(shelfs)];
    const stickers = (await make(admin, "stickers", { name: "x", book: books })).id;
    const fan = (await make(admin, "fans", { name: "Ann", book: books })).id;
    await remove("books", other);
    expect((await remove("shelfs", shelfs, "?permanent=true")).status).toBe(200);
    expect(await living({ shelfs, books, stickers })).toEqual({
      shelfs: false,
      books: false,
      stickers: false,
    });
    for (const each of [books, other]) expect((await restore("books", each)).status).toBe(404);
    const stored = await client
      .db()
      .collection("fans")
      .findOne({ _id: new ObjectId(fan) });
    expect(stored).not.toHaveProperty("bookId");
  });
});

describe("a process that dies while it deletes or restores", () => {
  const LEAVES = 60;
  const leavesOf = (of: string) => valuesOf(admin, "leaves", "id", { book: { id: of } });
  const stored = (of: string) =>
    client
      .db()
      .collection("leaves")
      .find({ bookId: new ObjectId(of) });

  async function bookWithLeaves(): Promise<string> {
    const of = await book(await shelf());
    const answer = await admin.post(
      "/leaves",
      Array.from({ length: LEAVES }, (_, at) => ({ name: `leaf ${at}`, book: of })),
    );
    expect(answer.status).toBe(201);
    return of;
  }

  /** Kills the data service as soon as some of the leaves, and not all, are in the other state. */
  async function killMidway(
    of: string,
    call: Promise<unknown>,
    isDone: (leaf: Row) => boolean,
  ): Promise<void> {
    const outcome = call.catch(() => undefined);
    for (;;) {
      const done = (await stored(of).toArray()).filter(isDone).length;
      if (done > 0) break;
    }
    await stack.dataService.stop("SIGKILL");
    await outcome;
    await stack.restartDataService();
    admin = await asAdmin(stack);
  }

  it("leaves no link to what is gone, and who asks again completes it", async () => {
    const of = await bookWithLeaves();
    await killMidway(of, remove("books", of), (each) => each._deletedAt !== undefined);
    expect((await read(admin, "books", of))?.id).toBe(of);
    const left = await leavesOf(of);
    expect(left.length).toBeLessThan(LEAVES);
    expect((await remove("books", of)).status).toBe(200);
    expect((await stored(of).toArray()).filter((each) => each._deletedAt === undefined)).toEqual([]);

    await killMidway(of, restore("books", of), (each) => each._deletedAt === undefined);
    expect((await restore("books", of)).status).toBe(200);
    expect(await leavesOf(of)).toHaveLength(LEAVES);
  }, 180_000);
});

it("a link that came too late for a record removed for good is let go by the look that follows", async () => {
  const gone = new ObjectId();
  const fan = await make(admin, "fans", { name: "late" });
  const books = (await admin.get("/svc_table", { filter: { name: "books" }, fields: "id" })).body.data[0].id;
  const fans = client.db().collection("fans");
  const which = { _id: ObjectId.createFromHexString(fan.id) };
  await fans.updateOne(which, { $set: { bookId: gone } });
  const [past, facts] = [new Date(Date.now() - 120_000), { instance: "another", done: true }];
  const note = { ...facts, group: new ObjectId(), at: past, table: books, ids: [gone] };
  await client.db().collection("_deletes").insertOne(note);
  const linked = () => fans.findOne(which).then((found) => found?.bookId ?? null);
  expect(await until(linked, (link) => link === null, 30_000)).toBeNull();
});
