// Contract 5: lists as CSV and NDJSON files.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { type Api, asAdmin } from "../../support/api.js";
import { readSlowly } from "../../support/slow-reader.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable } from "../records/make.js";
import { type Files, filesOf } from "./files.js";

const ANN = { email: "ann@example.com", password: "ann's password" };
const MEBIBYTE = 1024 * 1024;

let stack: Stack;
let admin: Api;
let root: Files;
let ann: Files;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  root = await filesOf(stack, stack.admin);
  await makeTable(admin, {
    name: "writers",
    idType: "int",
    columns: [
      { name: "name", type: "string" },
      { name: "salary", type: "int" },
    ],
  });
  await makeTable(admin, {
    name: "books",
    idType: "int",
    columns: [
      { name: "title", type: "string" },
      { name: "pages", type: "int" },
      { name: "tags", type: "enumList", options: { values: ["new", "old"] } },
    ],
    relations: [{ name: "writer", type: "many-to-one", table: "writers", inverse: "books" }],
  });
  await make(admin, "writers", { name: "Ann", salary: 10 });
  await make(admin, "books", { title: 'He said "no"', pages: -5, tags: ["new", "old"], writer: 1 });
  await make(admin, "books", { title: "", writer: 1 });
  await make(admin, "books", { title: "=1+1" });
  for (let at = 0; at < 12; at += 1) await make(admin, "books", { title: `b${at}` });
  const editions = { name: "book", type: "many-to-one", table: "books", inverse: "editions" };
  await makeTable(admin, { name: "editions", relations: [editions] });
  await make(admin, "editions", { book: 1 });
  const role: string = (await make(admin, "svc_role", { name: "reader" })).id;
  await admin.post("/svc_permission", [
    { role, table: "books", action: "read", filter: { pages: { _is_not_null: true } } },
    { role, table: "books", action: "read", filter: { id: { _lte: 3 } }, fields: "id,title" },
    { role, table: "writers", action: "read", fields: "id,name" },
  ]);
  await make(admin, "svc_user", { ...ANN, role });
  ann = await filesOf(stack, ANN);
});

afterAll(() => stack.stop());

const FIRST = { filter: { id: { _lte: 3 } } };

describe("format=csv", () => {
  it("has a header and a line for each record, as RFC 4180 writes them", async () => {
    const { status, headers, text } = await root.fetch("/books", {
      ...FIRST,
      format: "csv",
      fields: "title,pages,tags,writer.name",
    });
    expect(status).toBe(200);
    expect(headers.get("Content-Type")).toBe("text/csv; charset=utf-8; header=present");
    expect(headers.get("Content-Disposition")).toBe("attachment; filename=books.csv");
    expect(text.split("\r\n")).toEqual([
      "title,pages,tags,writer.id,writer.name",
      '"He said ""no""",-5,"[""new"",""old""]",1,Ann',
      '"",,,1,Ann',
      "'=1+1,,,,",
      "",
    ]);
  });

  it("writes records of a to-many relation as JSON in one cell", async () => {
    const { text } = await root.fetch("/writers", { format: "csv", fields: "name,books.title", filter: {} });
    expect(text).toContain('Ann,"[{""id"":1,""title"":""He said \\""no\\""""},{""id"":2,""title"":""""}]"');
  });

  it("has a column for each number of related records, called as `fields` calls it", async () => {
    const fields = "title,_count(editions),writer._count(books)";
    const { text } = await root.fetch("/books", { ...FIRST, format: "csv", fields });
    expect(text.split("\r\n")).toEqual([
      "title,writer.id,writer._count(books),_count(editions)",
      '"He said ""no""",1,2,1',
      '"",1,2,0',
      "'=1+1,,,0",
      "",
    ]);
    const ndjson = await root.fetch("/books", { ...FIRST, format: "ndjson", fields: "_count(editions)" });
    expect(ndjson.text).toBe([1, 0, 0].map((editions) => `{"_count":{"editions":${editions}}}\n`).join(""));
  });

  it("has only a header where nothing matches", async () => {
    const { text } = await root.fetch("/books", { format: "csv", fields: "id,title", filter: { id: 999 } });
    expect(text).toBe("id,title\r\n");
  });

  it("keeps the order of sort", async () => {
    const { text } = await root.fetch("/books", { ...FIRST, format: "csv", fields: "id", sort: "-id" });
    expect(text).toBe("id\r\n3\r\n2\r\n1\r\n");
  });
});

describe("format=ndjson", () => {
  it("is a record a line, as the list has it", async () => {
    const { headers, text } = await root.fetch("/books", { format: "ndjson", limit: 3, sort: "title" });
    expect(headers.get("Content-Type")).toBe("application/x-ndjson; charset=utf-8");
    expect(headers.get("Content-Disposition")).toBe("attachment; filename=books.ndjson");
    const { body } = await admin.get("/books", { limit: 3, sort: "title" });
    expect(text).toBe(body.data.map((each: unknown) => `${JSON.stringify(each)}\n`).join(""));
  });

  it("is empty where nothing matches", async () => {
    const { status, text } = await root.fetch("/books", { format: "ndjson", filter: { id: 999 } });
    expect([status, text]).toEqual([200, ""]);
  });
});

describe("a file", () => {
  it("holds all records unless a limit is named, and a page of them when it is", async () => {
    const lines = async (query: object) =>
      (await root.fetch("/books", { format: "ndjson", ...query })).text.split("\n").length - 1;
    expect(await lines({})).toBe(15);
    expect(await lines({ limit: 0 })).toBe(15);
    expect(await lines({ limit: 4 })).toBe(4);
    expect(await lines({ limit: 4, page: 4 })).toBe(3);
  });

  it("has the links that the records hold themselves; from the other side only where these are named", async () => {
    await makeTable(admin, { name: "owners", idType: "int", columns: [{ name: "name", type: "string" }] });
    const relations = [{ name: "owner", type: "one-to-one", table: "owners", inverse: "pet" }];
    await makeTable(admin, { name: "pets", idType: "int", relations });
    await make(admin, "owners", { name: "o" });
    await make(admin, "pets", { owner: 1 });
    const csv = async (table: string, fields?: string) => {
      const query = fields === undefined ? {} : { fields };
      const { text } = await root.fetch(`/${table}`, { format: "csv", ...query });
      return text.split("\r\n")[0];
    };
    expect(await csv("pets")).toBe("id,createdAt,updatedAt,owner.id");
    for (const fields of [undefined, "*"])
      expect(await csv("owners", fields)).toBe("id,name,createdAt,updatedAt");
    expect(await csv("owners", "-createdAt,-updatedAt")).toBe("id,name");
    expect(await csv("owners", "name,pet")).toBe("name,pet.id");
    expect(await csv("pets", "id,owner.*")).toBe("id,owner.id,owner.name,owner.createdAt,owner.updatedAt");
    const named = await root.fetch("/owners", { format: "ndjson", fields: "*,pet" });
    expect(JSON.parse(named.text)).toMatchObject({ name: "o", pet: { id: 1 } });
    const unnamed = await root.fetch("/owners", { format: "ndjson" });
    expect(JSON.parse(unnamed.text)).not.toHaveProperty("pet");
  });

  it("comes by QUERY as well", async () => {
    const answer = await fetch(`${stack.appUrl}/api/books`, {
      method: "QUERY",
      headers: { Authorization: `Bearer ${root.token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ format: "csv", fields: "id", filter: { id: 2 } }),
    });
    expect(await answer.text()).toBe("id\r\n2\r\n");
  });

  it.each([
    [{ meta: "*" }, "meta"],
    [{ aggregate: { pages: { sum: true } } }, "aggregate"],
    [{ explain: "true" }, "explain"],
  ])("has no place for %j", async (query, name) => {
    const { status, text } = await root.fetch("/books", { format: "csv", ...query });
    expect(status).toBe(400);
    expect(JSON.parse(text).message).toBe(
      `${name}: does not apply to format=csv, which holds records and nothing else`,
    );
  });

  it("is asked for by one of three names, of a list", async () => {
    const other = await root.fetch("/books", { format: "xml" });
    expect([other.status, JSON.parse(other.text).message]).toEqual([
      400,
      "format: must be json, csv or ndjson",
    ]);
    expect((await root.fetch("/books", { format: "json" })).headers.get("Content-Type")).toMatch(
      /^application\/json/,
    );
    const one = await root.fetch("/books/1", { format: "csv" });
    expect([one.status, JSON.parse(one.text).message]).toEqual([400, "format: does not apply to this call"]);
  });

  it("that is refused is no file", async () => {
    const { status, headers } = await root.fetch("/books", { format: "csv", filter: { nme: 1 } });
    expect([status, headers.get("Content-Disposition")]).toEqual([400, null]);
    expect(headers.get("Content-Type")).toMatch(/^application\/json/);
  });

  it("shows in each row what the caller may see there, and no more", async () => {
    const csv = await ann.fetch("/books", { format: "csv", fields: "id,title,pages,writer.name" });
    expect(csv.text).toBe(
      'id,title,pages,writer.id,writer.name\r\n1,"He said ""no""",-5,1,Ann\r\n2,"",,,\r\n3,\'=1+1,,,\r\n',
    );
    const ndjson = await ann.fetch("/books", { format: "ndjson", fields: "id,pages" });
    expect(ndjson.text).toBe('{"id":1,"pages":-5}\n{"id":2}\n{"id":3}\n');
    const unknown = await ann.fetch("/books", { format: "csv", fields: "writer.salary" });
    expect(JSON.parse(unknown.text).message).toContain('unknown field "salary" on "writers"');
  });
});

describe("a large file", () => {
  const ROWS = 30_000;
  let client: MongoClient;

  beforeAll(async () => {
    await makeTable(admin, { name: "rows", idType: "int", columns: [{ name: "text", type: "text" }] });
    client = await MongoClient.connect(stack.mongodbUrl);
    const text = "x".repeat(1_000);
    const rows = client.db().collection<{ _id: number; text: string }>("rows");
    for (let at = 0; at < ROWS; at += 5_000)
      await rows.insertMany(Array.from({ length: 5_000 }, (_, more) => ({ _id: at + more, text })));
  });
  afterAll(() => client.close());

  it("comes whole", async () => {
    const { text } = await root.fetch("/rows", { format: "csv", fields: "id" });
    const lines = text.split("\r\n");
    expect(lines.length).toBe(ROWS + 2);
    expect(lines.slice(1, -1).every((line, at) => line === String(at))).toBe(true);
  });

  it.each(["csv", "ndjson"])("that fails in the middle breaks the connection (%s)", async (format) => {
    await makeTable(admin, {
      name: `gone_${format}`,
      idType: "int",
      columns: [{ name: "text", type: "text" }],
    });
    await client
      .db()
      .collection("rows")
      .aggregate([{ $out: `gone_${format}` }])
      .toArray();
    const url = `${stack.appUrl}/api/gone_${format}?format=${format}`;
    const reader = await readSlowly(url, { Authorization: `Bearer ${root.token}` });
    await reader.readTo(MEBIBYTE);
    await client.db().collection(`gone_${format}`).drop();
    await expect(reader.readAll()).rejects.toThrow(/aborted|Premature close/);
  });
});
