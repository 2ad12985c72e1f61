// GET /{table}/{id}/history: who changed what in a record and when.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { type Answer, type Api, apiOf, asAdmin, signIn } from "../../support/api.js";
import { mostInSocket } from "../../support/process-facts.js";
import { readSlowly, type SlowReader } from "../../support/slow-reader.js";
import { type Stack, startStack } from "../../support/stack.js";
import { columnsWith, patchConfirmed, tableNamed } from "../tables/change.js";
import { filesOf } from "../transfer/files.js";

const reader = { email: "reader@example.com", password: "correct horse battery" };
const slow = { ...reader, email: "slow@example.com" };

const TEXT_BYTES = 900_000;
/** With the text before and after each, far more than may be on its way to a client that does not read. */
const ENTRIES = Math.ceil((20 * 1024 * 1024 + 2 * mostInSocket()) / (2 * TEXT_BYTES));

let stack: Stack;
let admin: Api;
let me: string;
let role: string;
let user: string;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  me = (await admin.get("/me")).body.data[0].id;
  await make("/svc_table", { name: "shelves", columns: [{ name: "name", type: "string" }] });
  await make("/svc_table", { name: "rooms", softDelete: true });
  await make("/svc_table", {
    name: "books",
    history: true,
    columns: [
      { name: "title", type: "string" },
      { name: "pages", type: "int" },
      { name: "price", type: "decimal" },
      { name: "hidden", type: "string", hidden: true },
      { name: "pin", type: "string", encrypted: true },
    ],
    relations: [
      { name: "shelf", type: "many-to-one", table: "shelves", inverse: "books" },
      { name: "labels", type: "many-to-many", table: "shelves", inverse: "labelled" },
      { name: "room", type: "many-to-one", table: "rooms", inverse: "books" },
    ],
  });
  role = await make("/svc_role", { name: "readers" });
  user = await make("/svc_user", { ...reader, role });
});

afterAll(() => stack.stop());

async function make(path: string, body: unknown): Promise<string> {
  const answer = await admin.post(path, body);
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.body.data[0].id;
}

/** Collections with a document that has the text in it. */
async function placesOf(text: string): Promise<string[]> {
  const { MongoClient } = await import("mongodb");
  const client = await MongoClient.connect(stack.mongodbUrl);
  const names = (await client.db().listCollections().toArray()).map(({ name }) => name);
  const found = await Promise.all(
    names.map(async (name) => {
      const all = JSON.stringify(await client.db().collection(name).find().toArray());
      return all.includes(text) ? [name] : [];
    }),
  );
  await client.close();
  return found.flat().toSorted();
}

const at = expect.stringMatching(/^\d{4}-.*Z$/);
const id = expect.stringMatching(/^[0-9a-f]{24}$/);

describe("the history of a record", () => {
  it("has an entry of every change, also of equal ones in the same moment", async () => {
    for (let round = 0; round < 10; round += 1) {
      const book = await make("/books", { title: "one" });
      await Promise.all(Array.from({ length: 8 }, () => admin.patch(`/books/${book}`, { title: "two" })));
      const { body } = await admin.get(`/books/${book}/history`);
      expect(body.data.map(({ revision }: { revision: number }) => revision)).toEqual([
        9, 8, 7, 6, 5, 4, 3, 2, 1,
      ]);
    }
  });

  it("tells what was changed from what to what, by whom and when, newest first", async () => {
    const shelf = await make("/shelves", { name: "top" });
    const book = await make("/books", { title: "one", pages: 3, price: "1.50", labels: [shelf] });
    await admin.patch(`/books/${book}`, { title: "two", price: null, shelf });
    const { status, body } = await admin.get(`/books/${book}/history`);
    expect(status).toBe(200);
    expect(body.data).toEqual([
      {
        id,
        event: "updated",
        revision: 2,
        at,
        by: me,
        changes: {
          title: { from: "one", to: "two" },
          price: { from: "1.50", to: null },
          shelf: { from: null, to: shelf },
        },
      },
      {
        id,
        event: "created",
        revision: 1,
        at,
        by: me,
        changes: {
          title: { from: null, to: "one" },
          pages: { from: null, to: 3 },
          price: { from: null, to: "1.50" },
          labels: { from: null, to: [shelf] },
        },
      },
    ]);
  });

  it("tells an empty set of links as an empty list, and null only of a record that was not there", async () => {
    const shelf = await make("/shelves", { name: "labels" });
    const book = await make("/books", { title: "one" });
    await admin.patch(`/books/${book}`, { labels: [shelf] });
    await admin.patch(`/books/${book}`, { labels: [] });
    await admin.delete(`/books/${book}`);
    const { body } = await admin.get(`/books/${book}/history`);
    expect(body.data.map(({ changes }: { changes: object }) => changes)).toEqual([
      { title: { from: "one", to: null } },
      { labels: { from: [shelf], to: [] } },
      { labels: { from: [], to: [shelf] } },
      { title: { from: null, to: "one" } },
    ]);
  });

  it("has an entry without changes of a write that changed nothing of the record itself", async () => {
    const shelf = await make("/shelves", { name: "same" });
    const book = await make("/books", { title: "same" });
    await admin.patch(`/books/${book}`, { title: "same" });
    await admin.patch(`/books/${book}`, {});
    await admin.patch(`/shelves/${shelf}`, { books: [book] });
    const { body } = await admin.get(`/books/${book}/history`);
    expect(
      body.data.map(({ revision, changes }: { revision: number; changes: object }) => [revision, changes]),
    ).toEqual([
      [3, { shelf: { from: null, to: shelf } }],
      [2, {}],
      [1, { title: { from: null, to: "same" } }],
    ]);
  });

  it("never has hidden or encrypted values, also not in the database", async () => {
    const book = await make("/books", { title: "x", hidden: "h1", pin: "1234" });
    await admin.patch(`/books/${book}`, { hidden: "h2", pin: "9876" });
    const { body } = await admin.get(`/books/${book}/history`);
    expect(body.data.map(({ changes }: { changes: object }) => Object.keys(changes))).toEqual([
      [],
      ["title"],
    ]);
    const { MongoClient } = await import("mongodb");
    const client = await MongoClient.connect(stack.mongodbUrl);
    const kept = await client.db().collection("_history").find().toArray();
    const sealed = kept.flatMap(({ before, after }) => [before?.pin, after?.pin].filter(Boolean));
    await client.close();
    expect(sealed.length).toBeGreaterThan(0);
    expect(sealed.every((value) => value.length() === 0)).toBe(true);
  });

  it("loses the values of a column that becomes encrypted, and so does every other place", async () => {
    const columns = ["code", "note"].map((name) => ({ name, type: "string" }));
    const table = await make("/svc_table", { name: "vault", history: true, changes: true, columns });
    const one = await make("/vault", { code: "PLAIN-1", note: "n" });
    await admin.patch(`/vault/${one}`, { code: "PLAIN-2" });
    const [code, note] = (await admin.get(`/svc_table/${table}`)).body.data[0].columns;
    // A former type keeps its values for an undo.
    const text = { columns: [{ id: code.id, type: "json" }, { id: note.id }] };
    expect((await admin.patch(`/svc_table/${table}`, text)).status).toBe(200);
    expect(await placesOf("PLAIN-")).toEqual(["_history", "_journal", "vault"]);
    const secret = { columns: [{ id: code.id, encrypted: true }] };
    const refused = await admin.patch(`/svc_table/${table}`, secret);
    const confirm = refused.body.error.details.confirmHash;
    expect((await admin.patch(`/svc_table/${table}`, secret, { confirm })).status).toBe(200);
    expect(await placesOf("PLAIN-")).toEqual([]);
    expect((await admin.get("/vault")).body.data[0].code).toBe("PLAIN-2");
    expect((await admin.post(`/svc_table/${table}/undo`)).status).toBe(200);
    expect((await admin.get("/vault")).body.data[0]).toMatchObject({ code: "PLAIN-2", note: "n" });
  });

  it("goes on when values are stored elsewhere: another type, another list of values, no nulls any more", async () => {
    const columns = [
      { name: "name", type: "string" },
      { name: "size", type: "string" },
      { name: "state", type: "enum", options: { values: ["new", "old", "gone"] } },
      { name: "rank", type: "int", default: 1 },
    ];
    const relations = [{ name: "shelf", type: "many-to-one", table: "shelves" }];
    const table = await make("/svc_table", { name: "boxes", history: true, columns, relations });
    const shelf = await make("/shelves", { name: "any" });
    const box = await make("/boxes", { name: "a", size: "012", state: "new", rank: 2, shelf });
    const { body } = await admin.get(`/svc_table/${table}`);
    const [name, size, state, rank] = body.data[0].columns;
    await patchConfirmed(admin, table, {
      columns: [
        { id: name.id },
        { id: size.id, type: "int" },
        { id: state.id, options: { values: ["new", "old"] } },
        { id: rank.id, required: true },
      ],
      relations: [{ id: body.data[0].relations[0].id, type: "many-to-many" }],
    });
    await admin.patch(`/boxes/${box}`, { size: 13, state: "old", rank: 3, shelf: [] });
    const { body: history } = await admin.get(`/boxes/${box}/history`);
    expect(history.data.map(({ changes }: { changes: object }) => changes)).toEqual([
      {
        size: { from: 12, to: 13 },
        state: { from: "new", to: "old" },
        rank: { from: 2, to: 3 },
        shelf: { from: [shelf], to: [] },
      },
      {
        name: { from: null, to: "a" },
        size: { from: null, to: "012" },
        state: { from: null, to: "new" },
        rank: { from: null, to: 2 },
        shelf: { from: null, to: shelf },
      },
    ]);
  });

  it("still tells a value that the column may no longer have, also after that was undone", async () => {
    const columns = [{ name: "state", type: "enum", options: { values: ["new", "old", "gone"] } }];
    const table = await make("/svc_table", { name: "jars", history: true, columns });
    const jar = await make("/jars", { state: "gone" });
    await patchConfirmed(admin, table, {
      columns: columnsWith(await tableNamed(admin, "jars"), "state", { options: { values: ["new", "old"] } }),
    });
    await admin.patch(`/jars/${jar}`, { state: "old" });
    const told = async () => {
      const { body } = await admin.get(`/jars/${jar}/history`);
      return body.data.map(({ changes }: { changes: object }) => changes);
    };
    const expected = [{ state: { from: null, to: "old" } }, { state: { from: null, to: "gone" } }];
    expect(await told()).toEqual(expected);
    expect((await admin.post(`/svc_table/${table}/undo`)).status).toBe(200);
    expect(await told()).toEqual(expected);
  });

  it("tells after an undo also what was written under the other type, each value as it was then", async () => {
    const columns = [{ name: "size", type: "string" }];
    const relations = [{ name: "shelves", type: "many-to-many", table: "shelves" }];
    const table = await make("/svc_table", { name: "crates", history: true, columns, relations });
    const shelf = await make("/shelves", { name: "any" });
    const crate = await make("/crates", { size: "007", shelves: [shelf] });
    const { id: link } = (await tableNamed(admin, "crates")).relations[0];
    await patchConfirmed(admin, table, {
      columns: columnsWith(await tableNamed(admin, "crates"), "size", { type: "int" }),
      relations: [{ id: link, type: "many-to-one" }],
    });
    await admin.patch(`/crates/${crate}`, { size: 99, shelves: null });
    expect((await admin.post(`/svc_table/${table}/undo`)).status).toBe(200);
    await admin.patch(`/crates/${crate}`, { size: "new" });
    const { body } = await admin.get(`/crates/${crate}/history`);
    expect(body.data.map(({ changes }: { changes: object }) => changes)).toEqual([
      { size: { from: "99", to: "new" } },
      { size: { from: 7, to: 99 }, shelves: { from: shelf, to: [] } },
      { size: { from: null, to: "007" }, shelves: { from: null, to: [shelf] } },
    ]);
  });

  it("tells after an undo of values of another type as they were, in full", async () => {
    const columns = [
      { name: "amount", type: "int" },
      { name: "ratio", type: "float" },
      { name: "day", type: "date" },
      { name: "code", type: "string" },
    ];
    const table = await make("/svc_table", { name: "sums", history: true, columns });
    const sum = await make("/sums", { amount: 1, ratio: 1.5, day: "2024-05-31", code: "1" });
    const types = new Map([
      ["amount", "decimal"],
      ["ratio", "bigint"],
      ["day", "datetime"],
      ["code", "bigint"],
    ]);
    const { columns: former } = await tableNamed(admin, "sums");
    const changed = former.map((each: { name: string }) => ({ ...each, type: types.get(each.name) }));
    await patchConfirmed(admin, table, { columns: changed });
    const big = "9007199254740993";
    const written = {
      amount: "12345678901234567890.120",
      ratio: big,
      day: "2024-05-31T10:30:00.000Z",
      code: big,
    };
    expect((await admin.patch(`/sums/${sum}`, written)).status).toBe(200);
    expect((await admin.post(`/svc_table/${table}/undo`)).status).toBe(200);
    const { body } = await admin.get(`/sums/${sum}/history`);
    const to = (name: string): unknown => body.data[0].changes[name].to;
    expect(Object.fromEntries(Object.keys(written).map((name) => [name, to(name)]))).toEqual(written);
  });

  it("tells after an undo also what was written under each of several types since", async () => {
    const columns = [{ name: "size", type: "string" }];
    const table = await make("/svc_table", { name: "barrels", history: true, columns });
    const barrel = await make("/barrels", { size: "007" });
    const typed = async (type: string) => ({
      columns: columnsWith(await tableNamed(admin, "barrels"), "size", { type }),
    });
    await patchConfirmed(admin, table, await typed("int"));
    await admin.patch(`/barrels/${barrel}`, { size: 99 });
    expect((await admin.patch(`/svc_table/${table}`, await typed("string"))).status).toBe(200);
    await admin.patch(`/barrels/${barrel}`, { size: "new" });
    expect((await admin.post(`/svc_table/${table}/undo`)).status).toBe(200);
    const { body } = await admin.get(`/barrels/${barrel}/history`);
    expect(body.data.map(({ changes }: { changes: object }) => changes)).toEqual([
      { size: { from: "99", to: "new" } },
      { size: { from: 7, to: 99 } },
      { size: { from: null, to: "007" } },
    ]);
  });

  it("tells nothing after an undo of what was written while the column was encrypted, or led to another table", async () => {
    const columns = [{ name: "code", type: "string" }];
    const relations = [{ name: "place", type: "many-to-one", table: "shelves" }];
    const table = await make("/svc_table", { name: "safes", history: true, columns, relations });
    const shelf = await make("/shelves", { name: "any" });
    const safe = await make("/safes", { code: "1", place: shelf });
    const { id: link } = (await tableNamed(admin, "safes")).relations[0];
    await patchConfirmed(admin, table, {
      columns: columnsWith(await tableNamed(admin, "safes"), "code", { encrypted: true }),
      relations: [{ id: link, table: "rooms" }],
    });
    await admin.patch(`/safes/${safe}`, { code: "2", place: await make("/rooms", {}) });
    const made = await make("/safes", { code: "3", place: await make("/rooms", {}) });
    expect((await admin.post(`/svc_table/${table}/undo`)).status).toBe(200);
    const changesOf = async (id: string) => {
      const { body } = await admin.get(`/safes/${id}/history`);
      return body.data.map(({ changes }: { changes: object }) => changes);
    };
    expect(await changesOf(safe)).toEqual([{}, { place: { from: null, to: shelf } }]);
    expect(await changesOf(made)).toEqual([{}]);
  });

  it("goes by pages, and says how many entries there are", async () => {
    const book = await make("/books", { pages: 0 });
    for (const pages of [1, 2, 3, 4]) await admin.patch(`/books/${book}`, { pages });
    const { body } = await admin.get(`/books/${book}/history`, { limit: "2", page: "2", meta: "totalCount" });
    expect(body.data.map(({ revision }: { revision: number }) => revision)).toEqual([3, 2]);
    expect(body.meta).toEqual({ totalCount: 5 });
    expect((await admin.get(`/books/${book}/history`, { limit: "101" })).status).toBe(400);
    expect((await admin.get(`/books/${book}/history`, { sort: "x" })).status).toBe(400);
  });

  it("outlives the record, for root admins", async () => {
    const book = await make("/books", { title: "gone" });
    await admin.delete(`/books/${book}`);
    const { body } = await admin.get(`/books/${book}/history`);
    expect(body.data.map(({ event }: { event: string }) => event)).toEqual(["deleted", "created"]);
    expect(body.data[0].changes).toEqual({ title: { from: "gone", to: null } });
  });

  it("tells of each deletion of a record that was brought back with its id", async () => {
    const book = await make("/books", { title: "gone" });
    await admin.delete(`/books/${book}`);
    const files = await filesOf(stack, stack.admin);
    const back = await files.csv("books", `id,title\n${book},back\n`);
    expect([back.status, (await admin.delete(`/books/${book}`)).status]).toEqual([200, 200]);
    const { body } = await admin.get(`/books/${book}/history`);
    const deleted = body.data.filter(({ event }: { event: string }) => event === "deleted");
    expect(deleted.map(({ changes }: { changes: { title: object } }) => changes.title)).toEqual([
      { from: "back", to: null },
      { from: "gone", to: null },
    ]);
  });

  it("tells of the latest life first of a record that was brought back with its id, page by page", async () => {
    const book = await make("/books", { title: "a" });
    for (const title of ["b", "c"]) await admin.patch(`/books/${book}`, { title });
    await admin.delete(`/books/${book}`);
    const files = await filesOf(stack, stack.admin);
    expect((await files.csv("books", `id,title\n${book},d\n`)).status).toBe(200);
    await admin.patch(`/books/${book}`, { title: "e" });
    const of = async (page: number, limit: number): Promise<unknown[]> => {
      const query = { limit: String(limit), page: String(page) };
      const { body } = await admin.get(`/books/${book}/history`, query);
      return body.data.map(({ changes }: { changes: { title: { to: string | null } } }) => changes.title.to);
    };
    const newestFirst = ["e", "d", null, "c", "b", "a"];
    expect(await of(1, 10)).toEqual(newestFirst);
    expect([...(await of(1, 4)), ...(await of(2, 4))]).toEqual(newestFirst);
  });

  it("tells of what the deletion of another record does", async () => {
    const shelf = await make("/shelves", { name: "low" });
    const book = await make("/books", { title: "on it", shelf });
    await admin.delete(`/shelves/${shelf}`);
    const { body } = await admin.get(`/books/${book}/history`);
    expect(body.data[0]).toMatchObject({ event: "updated", changes: { shelf: { from: shelf, to: null } } });
  });

  it("is there only where the table keeps one and there is such a record", async () => {
    const shelf = await make("/shelves", { name: "plain" });
    const refused = await admin.get(`/shelves/${shelf}/history`);
    expect([refused.status, refused.body.message]).toEqual([404, expect.stringMatching(/"history": true/)]);
    expect((await admin.get("/svc_user/000000000000000000000000/history")).body.message).toBe(
      'No history of "svc_user" is kept; tables of the service itself have no such option.',
    );
    expect((await admin.get("/books/000000000000000000000000/history")).status).toBe(404);
    expect((await admin.get("/books/nonsense/history")).status).toBe(404);
    const { status, headers } = await admin.delete(`/books/${shelf}/history`);
    expect([status, headers.get("Allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
  });
});

it("of a deleted record that is kept is empty where none was kept until then, as that of a living one", async () => {
  const table = await make("/svc_table", { name: "drawers", softDelete: true });
  const [kept, living] = [await make("/drawers", {}), await make("/drawers", {})];
  await admin.delete(`/drawers/${kept}`);
  await admin.patch(`/svc_table/${table}`, { history: true });
  for (const each of [kept, living]) {
    const { status, body } = await admin.get(`/drawers/${each}/history`, { meta: "totalCount" });
    expect({ status, data: body.data, meta: body.meta }).toEqual({
      status: 200,
      data: [],
      meta: { totalCount: 0 },
    });
  }
});

describe("a reader who is not root", () => {
  let api: Api;

  beforeAll(async () => {
    const rule = { table: "books", action: "read", role };
    await make("/svc_permission", { ...rule, fields: "title,shelf,labels", filter: { pages: { _gt: 0 } } });
    await make("/svc_permission", { ...rule, fields: "pages", filter: { pages: { _gt: 100 } } });
    await make("/svc_permission", { table: "shelves", action: "read", role, filter: { name: "open" } });
    api = await signIn(`${stack.appUrl}/api`, reader);
  });

  const changesOf = async (book: string, asking = api) => {
    const { status, body } = await asking.get(`/books/${book}/history`);
    return status === 200
      ? body.data.map(({ changes }: { changes: object }) => Object.keys(changes))
      : status;
  };

  it("is told of the columns that the row shows now, and of links only where all they lead to may be seen", async () => {
    const shelf = await make("/shelves", { name: "open" });
    const thin = await make("/books", { title: "thin", pages: 5, price: "1.00", shelf, labels: [shelf] });
    const thick = await make("/books", { title: "thick", pages: 500 });
    expect(await changesOf(thin)).toEqual([["title"]]);
    expect(await changesOf(thick)).toEqual([["title", "pages"]]);
  });

  it("is told of links to a table that may be seen whole, where the row shows them; of a list if every row does", async () => {
    const other = await make("/svc_role", { name: "readers of all shelves" });
    const rule = { action: "read", role: other };
    const few = { pages: { _between: [1, 100] } };
    await make("/svc_permission", {
      ...rule,
      table: "books",
      fields: "title,shelf,labels,room",
      filter: few,
    });
    await make("/svc_permission", {
      ...rule,
      table: "books",
      fields: "title",
      filter: { pages: { _gt: 100 } },
    });
    for (const table of ["shelves", "rooms"]) await make("/svc_permission", { ...rule, table });
    const browser = { email: "browser@example.com", password: "correct horse battery" };
    await make("/svc_user", { ...browser, role: other });
    const browsing = await signIn(`${stack.appUrl}/api`, browser);
    const shelf = await make("/shelves", { name: "any" });
    const links = { shelf, labels: [shelf], room: await make("/rooms", {}) };
    const thin = await make("/books", { title: "thin", pages: 5, ...links });
    const thick = await make("/books", { title: "thick", pages: 500, ...links });
    expect(await changesOf(thin, browsing)).toEqual([["title", "shelf", "room"]]);
    expect(await changesOf(thick, browsing)).toEqual([["title"]]);
  });

  it("is told nothing of records that can't be seen now, nor of deleted ones", async () => {
    const book = await make("/books", { title: "was seen", pages: 5 });
    expect(await changesOf(book)).toEqual([["title"]]);
    await admin.patch(`/books/${book}`, { pages: 0 });
    expect(await changesOf(book)).toBe(404);
    await admin.patch(`/books/${book}`, { pages: 5 });
    await admin.delete(`/books/${book}`);
    expect(await changesOf(book)).toBe(404);
    expect((await apiOf(`${stack.appUrl}/api`).get(`/books/${book}/history`)).status).toBe(401);
  });

  it("is told nothing of another record that had the id before, nor how much there is of it", async () => {
    const book = await make("/books", { title: "another's", pages: 5 });
    await admin.patch(`/books/${book}`, { title: "another's still" });
    await admin.delete(`/books/${book}`);
    const files = await filesOf(stack, stack.admin);
    expect((await files.csv("books", `id,title,pages\n${book},new,5\n`)).status).toBe(200);
    await admin.patch(`/books/${book}`, { title: "newer" });
    const query = { meta: "totalCount", limit: "1" };
    const [first, second] = await Promise.all(
      ["1", "2"].map((page) => api.get(`/books/${book}/history`, { ...query, page })),
    );
    expect(first?.body.meta).toEqual({ totalCount: 2 });
    expect(first?.body.data[0].changes).toEqual({ title: { from: "new", to: "newer" } });
    expect(second?.body.data[0]).toMatchObject({
      event: "created",
      changes: { title: { from: null, to: "new" } },
    });
    expect((await api.get(`/books/${book}/history`)).body.data).toHaveLength(2);
    expect((await admin.get(`/books/${book}/history`)).body.data).toHaveLength(5);
  });

  describe("and reads slowly", () => {
    /** What may pass until an answer that lasts is looked at again, and something for a busy machine. */
    const LOOKED_AT_MS = 4_500;
    let rule: string;
    let shelves: string;
    let account: string;
    let path: string;
    let reading: SlowReader | undefined;

    beforeAll(async () => {
      const labels = { name: "labels", type: "many-to-many", table: "shelves", inverse: "long" };
      const columns = [{ name: "text", type: "text" }];
      await make("/svc_table", { name: "long", history: true, columns, relations: [labels] });
      const whole = await make("/svc_role", { name: "readers of what is long" });
      shelves = await make("/svc_permission", { table: "shelves", action: "read", role: whole });
      rule = await make("/svc_permission", { table: "long", action: "read", role: whole });
      account = await make("/svc_user", { ...slow, role: whole });
      const long = await make("/long", { text: "" });
      path = `/long/${long}/history?limit=100`;
      const { MongoClient, ObjectId } = await import("mongodb");
      const client = await MongoClient.connect(stack.mongodbUrl);
      const kept = client.db().collection("_history");
      const created = await kept.findOne({ record: new ObjectId(long) });
      const image = { text: "x".repeat(TEXT_BYTES) };
      const updated = { ...created, kind: "updated", before: image, after: image };
      for (let at = 0; at < ENTRIES; at += 1) await kept.insertOne({ ...updated, _id: new ObjectId() });
      await client.close();
    });

    afterEach(() => reading?.leave());

    it("gets all of it though a rule was made for a table that has no part in it", async () => {
      const { body } = await apiOf(`${stack.appUrl}/api`).post("/auth/login", slow);
      const headers = { Authorization: `Bearer ${body.accessToken}` };
      reading = await readSlowly(`${stack.appUrl}/api${path}`, headers);
      await reading.readTo(TEXT_BYTES);
      await make("/svc_permission", { table: "rooms", action: "read", role: null });
      await delay(LOOKED_AT_MS);
      expect(await reading.readAll()).toBeGreaterThan(ENTRIES * 2 * TEXT_BYTES);
    });

    it.each<[string, () => Promise<Answer>]>([
      [
        "fewer records may be read to which a list of links leads",
        () => admin.patch(`/svc_permission/${shelves}`, { filter: { name: "open" } }),
      ],
      ["less may be read", () => admin.patch(`/svc_permission/${rule}`, { filter: { text: "" } })],
      ["the session has ended", () => admin.patch(`/svc_user/${account}`, { isActive: false })],
    ])("gets no more once %s", async (_word, change) => {
      const { body } = await apiOf(`${stack.appUrl}/api`).post("/auth/login", slow);
      const headers = { Authorization: `Bearer ${body.accessToken}` };
      reading = await readSlowly(`${stack.appUrl}/api${path}`, headers);
      await reading.readTo(TEXT_BYTES);
      expect((await change()).status).toBe(200);
      await delay(LOOKED_AT_MS);
      await expect(reading.readAll()).rejects.toThrow("aborted");
    });
  });

  it("is named as the one who made a change", async () => {
    await make("/svc_permission", { table: "books", action: "create", fields: "title,pages", role });
    const { status, body } = await api.post("/books", { title: "mine", pages: 7 });
    expect(status).toBe(201);
    const history = await admin.get(`/books/${body.data[0].id}/history`);
    expect(history.body.data[0].by).toBe(user);
  });
});
