// Files of deleted records: what root takes out of one database with `deleted=with` is the same in another, and can be
// restored there.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Api, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable, type Row, read } from "../records/make.js";
import { type Files, filesOf } from "./files.js";

const ANN = { email: "ann@example.com", password: "ann's password" };
const FORMATS = ["csv", "ndjson"] as const;
type Format = (typeof FORMATS)[number];

let stack: Stack;
let admin: Api;
let root: Files;
let ann: Files;
let role: string;
let at = 0;
/** Names of the tables that are copied, and of those that they are copied to. */
let from: Names;
let to: Names;

interface Names {
  readonly tags: string;
  readonly orders: string;
  readonly lines: string;
}

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  root = await filesOf(stack, stack.admin);
  role = (await make(admin, "svc_role", { name: "clerk" })).id;
  await make(admin, "svc_user", { ...ANN, role });
  ann = await filesOf(stack, ANN);
});

afterAll(() => stack.stop());

beforeEach(async () => {
  at += 1;
  from = await makeTables(`a${at}`);
  to = await makeTables(`b${at}`);
});

async function makeTables(end: string): Promise<Names> {
  const names = { tags: `tags_${end}`, orders: `orders_${end}`, lines: `lines_${end}` };
  const soft = { softDelete: true, idType: "int" };
  await makeTable(admin, { ...soft, name: names.tags, columns: [{ name: "name", type: "string" }] });
  await makeTable(admin, {
    ...soft,
    name: names.orders,
    columns: [{ name: "code", type: "string", unique: true }],
    relations: [{ name: "tags", type: "many-to-many", table: names.tags }],
  });
  const order = { name: "order", type: "many-to-one", table: names.orders };
  await makeTable(admin, {
    ...soft,
    name: names.lines,
    columns: [{ name: "count", type: "int" }],
    relations: [
      { ...order, inverse: "lines", required: true, onDelete: "CASCADE" },
      { ...order, name: "instead", inverse: "replaced" },
      { name: "seal", type: "one-to-one", table: names.tags, inverse: "sealed" },
    ],
  });
  return names;
}

const fieldsOf = { tags: "*", orders: "*,tags", lines: "*" };
const KINDS = ["tags", "orders", "lines"] as const;

const fileOf = async (names: Names, kind: (typeof KINDS)[number], format: Format): Promise<string> => {
  const fields = kind === "tags" ? "*,-sealed" : fieldsOf[kind];
  const { status, text } = await root.fetch(`/${names[kind]}`, { format, fields, deleted: "with" });
  expect(status).toBe(200);
  return text;
};

async function copy(format: Format): Promise<void> {
  for (const kind of KINDS) {
    const { status, body } = await root[format](to[kind], await fileOf(from, kind, format));
    expect([status, body.message]).toEqual([200, "Success"]);
    expect(await fileOf(to, kind, format)).toBe(await fileOf(from, kind, format));
  }
}

async function remove(table: string, id: number): Promise<void> {
  expect((await admin.delete(`/${table}/${id}`)).status).toBe(200);
}

async function restore(table: string, id: number): Promise<void> {
  expect((await admin.post(`/${table}/${id}/restore`)).status).toBe(200);
}

const make1 = async (table: string, body: object): Promise<number> => (await make(admin, table, body)).id;

describe.each(FORMATS)("a copy of deleted records, by %s", (format) => {
  it("is the same, and what went together is restored together in it", async () => {
    const order = await make1(from.orders, { code: "a" });
    const alone = await make1(from.lines, { order, count: 1 });
    const both = [await make1(from.lines, { order, count: 2 }), await make1(from.lines, { order, count: 3 })];
    await remove(from.lines, alone);
    await remove(from.orders, order);
    await copy(format);
    for (const { orders, lines } of [from, to]) {
      await restore(orders, order);
      const ids = both.map((id) => ({ id }));
      expect((await read(admin, orders, String(order), "lines")).lines).toEqual(ids);
      await restore(lines, alone);
      const all = [alone, ...both].map((id) => ({ id }));
      expect((await read(admin, orders, String(order), "lines")).lines).toEqual(all);
    }
  });

  it("has the links of living records to deleted ones, which lead there again after a restore", async () => {
    const [order, gone] = [await make1(from.orders, { code: "a" }), await make1(from.orders, { code: "b" })];
    const line = await make1(from.lines, { order, instead: gone });
    const [one, two] = [await make1(from.tags, { name: "x" }), await make1(from.tags, { name: "y" })];
    const tagged = await make1(from.orders, { tags: [one, two] });
    await remove(from.orders, gone);
    await remove(from.tags, one);
    await copy(format);
    expect((await read(admin, to.lines, String(line), "instead")).instead).toBeNull();
    expect((await read(admin, to.orders, String(tagged), "tags")).tags).toEqual([{ id: two }]);
    await restore(to.orders, gone);
    await restore(to.tags, one);
    expect((await read(admin, to.lines, String(line), "instead")).instead).toEqual({ id: gone });
    expect((await read(admin, to.orders, String(tagged), "tags")).tags).toEqual([{ id: one }, { id: two }]);
  });

  it("has the links to deleted records of a table that keeps none itself, for root alone", async () => {
    const papers = [`papers_a${at}`, `papers_b${at}`] as const;
    for (const [name, { tags }] of [
      [papers[0], from],
      [papers[1], to],
    ] as const) {
      const relations = [
        { name: "tag", type: "many-to-one", table: tags },
        { name: "tags", type: "many-to-many", table: tags },
      ];
      await makeTable(admin, { name, columns: [{ name: "n", type: "int" }], relations });
      for (const action of ["read", "delete"])
        await make(admin, "svc_permission", { role, table: name, action });
    }
    const gone = await make1(from.tags, { name: "x" });
    await make(admin, papers[0], { n: 1, tag: gone, tags: [gone] });
    await remove(from.tags, gone);
    await copy(format);
    const asked = { format, fields: "*,tags", deleted: "with" };
    const file = async (of: string) => (await root.fetch(`/${of}`, asked)).text;
    const { status, body } = await root[format](papers[1], await file(papers[0]));
    expect([status, body.message]).toEqual([200, "Success"]);
    expect(await file(papers[1])).toBe(await file(papers[0]));
    await restore(to.tags, gone);
    const [copied] = (await admin.get(`/${papers[1]}`, { fields: "n,tag,tags" })).body.data;
    expect(copied).toMatchObject({ n: 1, tag: { id: gone }, tags: [{ id: gone }] });
    expect((await ann.fetch(`/${papers[0]}`, asked)).status).toBe(400);
  });

  it("has deleted records whose values others have taken since", async () => {
    const former = await make1(from.orders, { code: "a" });
    await remove(from.orders, former);
    await make1(from.orders, { code: "a" });
    const dry = await root[format](to.orders, await fileOf(from, "orders", format), { dryRun: "true" });
    expect([dry.status, dry.body.message]).toEqual([200, "Success"]);
    await copy(format);
  });

  it("has deleted records without what they had to link to, where that was removed for good", async () => {
    const [shops, stalls] = [`shops_${at}`, [`stalls_a${at}`, `stalls_b${at}`]];
    await makeTable(admin, { name: shops, columns: [{ name: "name", type: "string" }] });
    const shop = { name: "shop", type: "many-to-one", table: shops, required: true, onDelete: "CASCADE" };
    for (const name of stalls) {
      const relations = [{ ...shop, inverse: null }];
      await makeTable(admin, { name, softDelete: true, columns: [{ name: "n", type: "int" }], relations });
    }
    const [here = "", there = ""] = stalls;
    const gone = (await make(admin, shops, { name: "x" })).id;
    await make(admin, here, { n: 1, shop: gone });
    await remove(shops, gone);
    const file = async (of: string) => (await root.fetch(`/${of}`, { format, deleted: "with" })).text;
    const { status, body } = await root[format](there, await file(here));
    expect([status, body.message]).toEqual([200, "Success"]);
    expect(await file(there)).toBe(await file(here));
  });

  it("is refused to anybody but root, who would get living records of it", async () => {
    for (const action of ["create", "read", "delete"])
      await make(admin, "svc_permission", { role, table: from.orders, action });
    await make1(from.orders, { code: "a" });
    await remove(from.orders, await make1(from.orders, { code: "b" }));
    const { text } = await ann.fetch(`/${from.orders}`, {
      format,
      fields: "code,deletedAt",
      deleted: "with",
    });
    const file = text.replaceAll('"a"', '"c"').replace(/^a,/m, "c,");
    const { status, body } = await ann[format](from.orders, file);
    const line = format === "csv" ? 3 : 2;
    const message = `line ${line}: deletedAt: deleted records are imported by root admins only; leave this one out`;
    expect([status, body.message]).toEqual([400, [message]]);
    expect(body.error.details).toMatchObject({ imported: 0 });
    const living = file
      .split("\n")
      .toSpliced(line - 1, 1)
      .join("\n");
    expect((await ann[format](from.orders, living)).status).toBe(200);
  });
});

it("a living record is not imported without the living one that it must link to", async () => {
  const order = await make1(from.orders, { code: "a" });
  await remove(from.orders, order);
  const { status, body } = await root.ndjson(from.lines, JSON.stringify({ order, count: 1 }));
  const message = `line 1: order: there is no "${from.orders}" record with the id ${order}`;
  expect([status, body.message]).toEqual([400, [message]]);
});

describe("links to deleted records", () => {
  let line: number;
  let gone: number;
  beforeEach(async () => {
    gone = await make1(from.orders, { code: "gone" });
    const order = await make1(from.orders, { code: "here" });
    line = await make1(from.lines, { order, instead: gone });
    await remove(from.orders, gone);
  });
  const insteadOf = (text: string): unknown => JSON.parse(text).instead;

  it("are in files of root alone, and only where deleted records are asked for", async () => {
    for (const action of ["read", "delete"]) {
      for (const table of [from.orders, from.lines])
        await make(admin, "svc_permission", { role, table, action });
    }
    const address = `/${from.lines}`;
    const asked = { format: "ndjson", deleted: "with" };
    expect(insteadOf((await root.fetch(address, asked)).text)).toEqual({ id: gone });
    expect(insteadOf((await root.fetch(address, { format: "ndjson" })).text)).toBeNull();
    expect(insteadOf((await ann.fetch(address, asked)).text)).toBeNull();
    const list = await admin.get(address, { deleted: "with" });
    expect(list.body.data.map((each: Row) => each.instead)).toEqual([null]);
  });

  it("are in a file of deleted records alone, with what is asked of the records there", async () => {
    await remove(from.lines, line);
    const asked = { format: "ndjson", deleted: "only", fields: "instead.code" };
    expect(insteadOf((await root.fetch(`/${from.lines}`, asked)).text)).toEqual({ id: gone, code: "gone" });
  });
});

it("of a one-to-one relation, the other side names the living record that links to it", async () => {
  const order = await make1(from.orders, { code: "a" });
  const seal = await make1(from.tags, { name: "x" });
  await remove(from.lines, await make1(from.lines, { order, seal }));
  const line = await make1(from.lines, { order, seal });
  const { text } = await root.fetch(`/${from.tags}`, { format: "ndjson", deleted: "with", fields: "sealed" });
  expect(JSON.parse(text)).toEqual({ sealed: { id: line } });
});
