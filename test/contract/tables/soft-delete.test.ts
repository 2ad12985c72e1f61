// `softDelete` as a table's option: what it goes with, what switching it does, and what its reads cost.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Api, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { atOnce, make, makeTable, type Row, read, valuesOf } from "../records/make.js";
import { expectDestructive, patchConfirmed } from "./change.js";

let stack: Stack;
let admin: Api;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
}, 180_000);

afterAll(() => stack.stop());

const title = { name: "title", type: "string" };
const makeBooks = (name: string, more: object = {}) => makeTable(admin, { name, columns: [title], ...more });
const change = (table: Row, body: object, confirm?: string) =>
  admin.patch(`/svc_table/${table.id}`, body, confirm === undefined ? {} : { confirm });

describe("softDelete", () => {
  it("is refused with every problem beside what it does not go with", async () => {
    await makeBooks("shelves");
    const { status, body } = await admin.post("/svc_table", {
      name: "refused",
      softDelete: true,
      columns: [{ name: "deletedAt", type: "datetime" }],
      relations: [
        { name: "shelf", type: "many-to-one", table: "shelves", inverse: "refused", counted: true },
      ],
    });
    expect({ status, message: body.message }).toEqual({
      status: 422,
      message: [
        'columns[0].name: "refused" has a "deletedAt" already',
        "relations[0].counted: can't be kept in a table with softDelete",
      ],
    });
  });

  it("can be switched on where there are records; unique values are then free once deleted", async () => {
    const table = await makeBooks("switched", { columns: [{ ...title, unique: true }] });
    const { id } = await make(admin, "switched", { title: "one" });
    expect((await change(table, { softDelete: true })).body.data[0].softDelete).toBe(true);
    await admin.delete(`/switched/${id}`);
    await make(admin, "switched", { title: "one" });
    expect((await admin.post("/switched", { title: "one" })).status).toBe(409);
    expect((await admin.post(`/switched/${id}/restore`)).status).toBe(409);
  });

  it("can't be switched off while there are deleted records, confirmed or not", async () => {
    const table = await makeBooks("emptied", { softDelete: true, columns: [{ ...title, unique: true }] });
    const { id } = await make(admin, "emptied", { title: "one" });
    await admin.delete(`/emptied/${id}`);
    const costs = [{ what: "table.set", where: "softDelete", rows: 1, examples: [id], confirmable: false }];
    const { confirmHash } = expectDestructive(await change(table, { softDelete: false }), costs);
    expect(confirmHash).toBeNull();
    expectDestructive(await change(table, { softDelete: false }, "0".repeat(64)), costs);
    await admin.delete(`/emptied/${id}?permanent=true`);
    const kept = (await make(admin, "emptied", { title: "two" })).id;
    expect((await change(table, { softDelete: false })).status).toBe(200);
    expect(Object.keys(await read(admin, "emptied", kept))).not.toContain("deletedAt");
    expect((await admin.post("/emptied", { title: "two" })).status).toBe(409);
    await admin.delete(`/emptied/${kept}`);
    expect((await admin.post(`/emptied/${kept}/restore`)).status).toBe(404);
  });

  it("leaves the history of a record that was restored as it is when it is switched off", async () => {
    const table = await makeBooks("told", { softDelete: true, history: true });
    const { id } = await make(admin, "told", { title: "one" });
    await admin.delete(`/told/${id}`);
    await admin.post(`/told/${id}/restore`);
    expect((await change(table, { softDelete: false })).status).toBe(200);
    const { data } = (await admin.get(`/told/${id}/history`)).body;
    expect(data.map(({ event }: Row) => event)).toEqual(["restored", "deleted", "created"]);
  });

  it("keeps a link to a living record where a list becomes a single one, and asks before it loses any other", async () => {
    await makeBooks("kept", { softDelete: true });
    const reading = { name: "reading", type: "many-to-many", table: "kept" };
    const readers = await makeTable(admin, { name: "readers", columns: [title], relations: [reading] });
    const [gone, one, two] = [
      (await make(admin, "kept", { title: "gone" })).id,
      (await make(admin, "kept", { title: "one" })).id,
      (await make(admin, "kept", { title: "two" })).id,
    ];
    const lists: Readonly<Record<string, readonly string[]>> = {
      "a living one": [gone, one],
      none: [gone],
      several: [gone, one, two],
    };
    const ids = new Map<string, string>();
    for (const [title, reading] of Object.entries(lists))
      ids.set(title, (await make(admin, "readers", { title, reading })).id);
    await admin.delete(`/kept/${gone}`);
    const wanted = (more: object) => ({
      relations: [{ id: readers.relations[0].id, type: "many-to-one", ...more }],
    });
    const longer = {
      where: "relations.reading",
      rows: 2,
      examples: [ids.get("a living one"), ids.get("several")],
    };
    const missing = { where: "relations.reading", rows: 1, examples: [ids.get("none")] };
    expectDestructive(await change(readers, wanted({ required: true, onDelete: "RESTRICT" })), [
      longer,
      missing,
    ]);
    await patchConfirmed(admin, readers.id, wanted({}));
    const shown = async (fields: string) =>
      (await admin.get("/readers", { fields, sort: "title" })).body.data;
    expect(await shown("title,reading.title")).toEqual([
      { title: "a living one", reading: { id: one, title: "one" } },
      { title: "none", reading: null },
      { title: "several", reading: { id: one, title: "one" } },
    ]);
    await admin.post(`/kept/${gone}/restore`);
    expect((await shown("title,reading.title"))[1]).toEqual({
      title: "none",
      reading: { id: gone, title: "gone" },
    });
    expect((await admin.post(`/svc_table/${readers.id}/undo`)).status).toBe(200);
    const lengths = (await shown("reading")).map(({ reading }: Row) => reading.length);
    expect(lengths).toEqual([2, 1, 3]);
  });

  it("is in the documents that describe the API", async () => {
    await makeBooks("described", { softDelete: true });
    const { paths, components } = (await admin.get("/openapi.json")).body;
    expect(Object.keys(paths)).toContain("/described/{id}/restore");
    expect(Object.keys(paths)).not.toContain("/shelves/{id}/restore");
    const parametersOf = (path: string, method: string): string[] =>
      paths[path][method].parameters.map((each: Row) => each.name ?? each.$ref.split("/").at(-1));
    expect(parametersOf("/described", "get")).toContain("deleted");
    expect(parametersOf("/described/{id}", "delete")).toContain("permanent");
    expect(parametersOf("/described/{id}/restore", "post")).toContain("IfMatch");
    expect(parametersOf("/shelves", "get")).not.toContain("deleted");
    expect(components.schemas["described.record"].properties.deletedAt).toMatchObject({ readOnly: true });
    const types = await fetch(`${stack.appUrl}/api/types.ts`, { headers: { Authorization: await bearer() } });
    expect(await types.text()).toContain("deletedAt: string | null;");
  });

  it("stays as it is when another change is undone", async () => {
    const table = await makeBooks("undone", { columns: [title, { name: "extra", type: "string" }] });
    await make(admin, "undone", { title: "one", extra: "x" });
    const without = { columns: [{ id: table.columns[0].id }] };
    const { confirmHash } = (await change(table, without)).body.error.details;
    await change(table, without, confirmHash);
    await change(table, { softDelete: true });
    const { id } = await make(admin, "undone", { title: "two" });
    await admin.delete(`/undone/${id}`);
    expect((await admin.post(`/svc_table/${table.id}/undo`)).status).toBe(200);
    expect(await valuesOf(admin, "undone", "title")).toEqual(["one"]);
    expect((await admin.get("/undone", { deleted: "only" })).body.data).toHaveLength(1);
  });

  it("loses no delete that is under way while it is switched on", async () => {
    const table = await makeBooks("busy");
    const ids = (await atOnce(20, () => make(admin, "busy", { title: "x" }))).map((row) => row.id);
    const [switched, ...answers] = await Promise.all([
      change(table, { softDelete: true }),
      ...ids.map((id) => admin.delete(`/busy/${id}`)),
    ]);
    expect([switched.status, ...new Set(answers.map(({ status }) => status))]).toEqual([200, 200]);
    expect((await admin.get("/busy")).body.data).toEqual([]);
    const late = (await make(admin, "busy", { title: "late" })).id;
    await admin.delete(`/busy/${late}`);
    expect((await admin.post(`/busy/${late}/restore`)).status).toBe(200);
  });
});

async function bearer(): Promise<string> {
  return `Bearer ${(await admin.post("/auth/login", stack.admin)).body.accessToken}`;
}

describe("a list of a table with softDelete", () => {
  const ROWS = 200;
  interface Explained {
    readonly indexes: readonly string[];
    readonly documentsExamined: number;
    readonly fullScans: number;
    readonly counts: readonly { readonly documentsExamined: number; readonly keysExamined: number }[];
  }
  const explain = async (query: Record<string, unknown>): Promise<Explained> =>
    (await admin.get("/many", { ...query, explain: "true" })).body.data[0];

  beforeAll(async () => {
    await makeBooks("many", {
      softDelete: true,
      columns: [title, { name: "code", type: "string", unique: true }],
      indexes: [["title"]],
    });
    const bodies = Array.from({ length: ROWS }, (_, at) => ({ title: `t${at % 20}`, code: `c${at}` }));
    const made = (await admin.post("/many", bodies, { fields: "id" })).body.data;
    await Promise.all(made.slice(0, 5).map(({ id }: Row) => admin.delete(`/many/${id}`)));
  }, 180_000);

  it("goes along the indexes that it would without: sorted, filtered, and by unique values", async () => {
    const newest = await explain({ sort: "-createdAt", limit: "10" });
    expect([newest.indexes, newest.fullScans]).toEqual([["createdAt_-1__id_1"], 0]);
    expect(newest.documentsExamined).toBeLessThanOrEqual(15);
    const titled = await explain({ filter: { title: "t7" }, limit: "0" });
    expect([titled.indexes, titled.documentsExamined]).toEqual([["title_1__id_1"], 10]);
    const coded = await explain({ filter: { code: "c99" } });
    expect([coded.indexes, coded.documentsExamined]).toEqual([["code_1"], 1]);
  });

  it("counts all of them by reading only what is deleted", async () => {
    const totalCount = async () => (await admin.get("/many", { meta: "totalCount" })).body.meta.totalCount;
    expect(await totalCount()).toBe(ROWS - 5);
    const { counts } = await explain({ meta: "totalCount" });
    expect(counts[0]?.documentsExamined).toBeLessThanOrEqual(5);
  });

  it("shows the deleted ones along an index of their own", async () => {
    const plan = await explain({ deleted: "only", sort: "-deletedAt" });
    expect([plan.indexes, plan.documentsExamined]).toEqual([["_deletedAt_-1__id_1"], 5]);
  });
});
