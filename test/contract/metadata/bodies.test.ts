// Bodies and operands by the schemas of the document: what fits them the server takes, and what it takes fits them.
import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { type Answer, type Api, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable, type Row } from "../records/make.js";
import { type Check, checksOf, pointerTo } from "./schema-check.js";

jest.setTimeout(120_000);

let stack: Stack;
let admin: Api;
let check: Check;
/** As it was answered. */
let shelves: Row;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  shelves = await makeTable(admin, {
    name: "shelves",
    softDelete: true,
    columns: [
      { name: "name", type: "string" },
      { name: "owner", type: "objectId" },
      { name: "email", type: "string", rules: { format: "email" } },
      { name: "site", type: "string", rules: { format: "url" } },
      { name: "built", type: "datetime" },
      { name: "number", type: "int" },
      { name: "floor", type: "int", rules: { max: 9 } },
      { name: "handle", type: "string", rules: { pattern: "^\\S+@\\S+$" } },
      { name: "letter", type: "string", rules: { pattern: "^.$" } },
      { name: "label", type: "string", rules: { pattern: "^[\\w.]+\\.$" } },
    ],
  });
  await makeTable(admin, {
    name: "books",
    columns: [{ name: "title", type: "string" }],
    relations: [
      { name: "shelf", type: "many-to-one", table: "shelves", inverse: "books" },
      { name: "places", type: "many-to-many", table: "shelves" },
    ],
  });
  await makeTable(admin, { name: "forms", columns: [{ name: "answers", type: "json", required: true }] });
  check = checksOf((await admin.get("/openapi.json")).body);
});
afterAll(() => stack?.stop());

const fits = (schema: string, value: unknown): boolean =>
  check(pointerTo("components", "schemas", schema), value).length === 0;
const isTaken = ({ status }: Answer): boolean => status < 400;
const UPPER = "61E8B014ACFF7FB4F32BAED4";

describe("a record that was read", () => {
  const role = { name: "Readers" };
  it.each<[string, Row]>([
    ["shelves", { name: "north", built: "2024-05-31T12:00:00Z" }],
    ["books", { title: "a", shelf: { name: "south" } }],
    ["svc_role", role],
    ["svc_user", { email: "reader@example.com", name: "Reader" }],
    ["svc_folder", { name: "Letters" }],
    ["svc_permission", { role: null, table: "books", action: "create" }],
    ["svc_route_handler", { route: "/hello", sourceCode: "1" }],
    ["svc_table", { name: "read_again", columns: [{ name: "a", type: "int" }], uniques: [["a"]] }],
  ])("of %s can be sent back as it is", async (table, body) => {
    const { id } = await make(admin, table, body);
    const [record] = (await admin.get(`/${table}/${id}`)).body.data;
    expect(Object.keys(record)).toEqual(expect.arrayContaining(["id", "createdAt", "updatedAt"]));
    expect([fits(`${table}.update`, record), isTaken(await admin.patch(`/${table}/${id}`, record))]).toEqual([
      true,
      true,
    ]);
  });

  it("can be sent as a new one, whose id and times are others", async () => {
    const [record] = (await admin.get("/shelves", { limit: "1" })).body.data;
    const answer = await admin.post("/shelves", record);
    expect([fits("shelves.create", record), answer.status]).toEqual([true, 201]);
    expect(answer.body.data[0].id).not.toBe(record.id);
  });

  it("is a link, and no new record, where it stands in another body", async () => {
    const { id } = await make(admin, "shelves", { name: "west" });
    for (const [table, body] of [
      ["books", { shelf: { id, name: "east" } }],
      ["shelves", { books: [{ id, title: "b" }] }],
    ] as const)
      expect([fits(`${table}.create`, body), isTaken(await admin.post(`/${table}`, body))]).toEqual([
        false,
        false,
      ]);
  });
});

describe("a definition", () => {
  const columnsOf = (columns: readonly unknown[]) => ({
    columns: [...columns, ...shelves.columns.slice(1).map(({ id }: Row) => ({ id }))],
  });

  it("of a change may name a member by its id alone, reset what it is, and add others", async () => {
    const [{ id }] = shelves.columns;
    const settings = { required: null, hidden: null, rules: null, options: null, default: null };
    const changes: [unknown, boolean][] = [
      [columnsOf([{ id, hidden: true }]), true],
      [columnsOf([{ id, ...settings, description: null }]), true],
      [columnsOf([{ id }, { name: "attic", type: "int", required: null }]), true],
      [columnsOf([{ id, name: null }]), false],
      [columnsOf([{ hidden: true }]), false],
      [columnsOf([{ name: "cellar" }]), false],
      [{ relations: [{ name: "room" }] }, false],
    ];
    for (const [body, isFine] of changes) {
      const answer = await admin.patch(`/svc_table/${shelves.id}`, body);
      // Whether it would lose data is another matter.
      const isUnderstood = isTaken(answer) || answer.body.error.code === "DESTRUCTIVE_CHANGE";
      expect([body, fits("svc_table.update", body), isUnderstood]).toEqual([body, isFine, isFine]);
    }
  });

  it("of a new table names no member by an id", async () => {
    const member = { name: "a", type: "int", unique: null };
    const tables: [unknown, boolean][] = [
      [{ name: "new_one", columns: [member] }, true],
      [{ name: "new_two", columns: [{ id: shelves.id, ...member }] }, false],
      [{ name: "new_three", columns: [{ name: "a" }] }, false],
      [{ id: shelves.id, name: "new_four" }, false],
    ];
    for (const [body, isFine] of tables)
      expect([body, fits("svc_table.create", body), isTaken(await admin.post("/svc_table", body))]).toEqual([
        ...[body, isFine, isFine],
      ]);
  });

  it("is answered with the id of every member", () => {
    const [{ id, ...nameless }] = shelves.columns;
    expect([fits("ColumnDefinition", { id, ...nameless }), fits("ColumnDefinition", nameless)]).toEqual([
      true,
      false,
    ]);
  });
});

describe("values", () => {
  it("may have all forms that the server takes", async () => {
    const bodies: [Row, boolean][] = [
      [{ owner: UPPER }, true],
      [{ owner: UPPER.slice(1) }, false],
      [{ email: "jörg@exämple.de" }, true],
      [{ site: "https://exämple.de/ä" }, true],
      [{ number: Number.MAX_SAFE_INTEGER, floor: Number.MIN_SAFE_INTEGER }, true],
      [{ number: Number.MAX_SAFE_INTEGER + 1 }, false],
      [{ number: Number.MIN_SAFE_INTEGER - 1 }, false],
      [{ floor: Number.MIN_SAFE_INTEGER - 1 }, false],
      [{ floor: 10 }, false],
      [{ handle: "a\u00a0b@c" }, true],
      [{ letter: "\u2028" }, true],
      [{ label: "a.b." }, true],
      [{ label: "ab" }, false],
    ];
    for (const [body, isFine] of bodies)
      expect([body, fits("shelves.create", body), isTaken(await admin.post("/shelves", body))]).toEqual([
        ...[body, isFine, isFine],
      ]);
  });

  it("of a required JSON column are anything but null", async () => {
    const { id } = await make(admin, "forms", { answers: {} });
    const bodies: [Row, boolean][] = [
      ...[{ a: null }, [null], [], 0, false, ""].map((answers): [Row, boolean] => [{ answers }, true]),
      [{ answers: null }, false],
    ];
    for (const [body, isFine] of bodies) {
      const isAnswered = fits("forms.record", body);
      expect([
        body,
        fits("forms.create", body),
        isTaken(await admin.post("/forms", body)),
        isAnswered,
      ]).toEqual([body, isFine, isFine, isFine]);
      expect([body, fits("forms.update", body), isTaken(await admin.patch(`/forms/${id}`, body))]).toEqual([
        ...[body, isFine, isFine],
      ]);
    }
  });

  it("may have them in filters and links as well", async () => {
    const { id } = await make(admin, "shelves", {});
    const link = { shelf: id.toUpperCase(), places: [{ id: id.toUpperCase() }] };
    expect([fits("books.create", link), isTaken(await admin.post("/books", link))]).toEqual([true, true]);
    const filters: [Row, boolean][] = [
      [{ owner: { _in: [UPPER] } }, true],
      [{ number: { _lte: Number.MAX_SAFE_INTEGER } }, true],
      [{ number: { _lte: Number.MAX_SAFE_INTEGER + 1 } }, false],
    ];
    for (const [filter, isFine] of filters)
      expect([fits("shelves.filter", filter), isTaken(await admin.get("/shelves", { filter }))]).toEqual([
        ...[isFine, isFine],
      ]);
  });

  it("of links are ten thousand at most", async () => {
    const { id } = await make(admin, "shelves", {});
    for (const [count, isFine] of [
      [10_000, true],
      [10_001, false],
    ] as const) {
      const body = { places: Array.from({ length: count }, () => id) };
      expect([count, fits("books.create", body), isTaken(await admin.post("/books", body))]).toEqual([
        ...[count, isFine, isFine],
      ]);
    }
  });

  it("of a format may name the usual one", async () => {
    const query = { format: "json" };
    expect([fits("books.query", query), isTaken(await admin.get("/books", query))]).toEqual([true, true]);
  });
});
