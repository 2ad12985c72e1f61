// What is exported from one table and imported into another of the same shape is the same, whatever it holds.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { type Api, asAdmin, type Query } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable } from "../records/make.js";
import { patchConfirmed, tableNamed } from "../tables/change.js";
import { type Files, filesOf } from "./files.js";

let stack: Stack;
let admin: Api;
let root: Files;

const COLUMNS = [
  { name: "string", type: "string" },
  { name: "text", type: "text" },
  { name: "secret", type: "text", encrypted: true },
  { name: "preset", type: "string", default: "preset" },
  { name: "int", type: "int" },
  { name: "bigint", type: "bigint" },
  { name: "float", type: "float" },
  { name: "decimal", type: "decimal" },
  { name: "boolean", type: "boolean" },
  { name: "date", type: "date" },
  { name: "datetime", type: "datetime" },
  { name: "enum", type: "enum", options: { values: ["=a", "b c", "'-d"] } },
  { name: "enumList", type: "enumList", options: { values: ["=a", 'b"c'] } },
  { name: "json", type: "json" },
  { name: "uuid", type: "uuid" },
  { name: "objectId", type: "objectId" },
];

/** Text that files, spreadsheets and parsers stumble over, and any other. */
const text = fc.oneof(
  fc.constantFrom(
    "",
    " ",
    "null",
    "=1",
    "'=1",
    "''+",
    "'",
    '"',
    '""',
    ",",
    "\r",
    "\n",
    "\r\n",
    "\0",
    "\uFEFF",
    "\t",
  ),
  fc.string({ unit: "binary", maxLength: 30, size: "max" }).filter((each) => each.isWellFormed()),
  fc
    .array(fc.constantFrom('"', ",", "\n", "\r", "=", "'", "a", " ", "日"), { maxLength: 8 })
    .map((each) => each.join("")),
);
const hex = (length: number) =>
  fc
    .array(fc.constantFrom(..."0123456789abcdef"), { minLength: length, maxLength: length })
    .map((each) => each.join(""));
const time = fc.date({ min: new Date("0001-01-01"), max: new Date("9999-12-31"), noInvalidDate: true });

const record = fc.record({
  string: fc.option(text),
  text: fc.option(text),
  secret: fc.option(text),
  preset: fc.option(text),
  int: fc.option(fc.maxSafeInteger()),
  bigint: fc.option(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n).map(String)),
  float: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })),
  decimal: fc.option(fc.constantFrom("0", "-1", "19.90", "0.000001", "-123456789012345678901234567890.1234")),
  boolean: fc.option(fc.boolean()),
  date: fc.option(time.map((each) => each.toISOString().slice(0, 10))),
  datetime: fc.option(fc.oneof(time, fc.date({ noInvalidDate: true })).map((each) => each.toISOString())),
  enum: fc.option(fc.constantFrom("=a", "b c", "'-d")),
  enumList: fc.option(fc.array(fc.constantFrom("=a", 'b"c'), { maxLength: 3 })),
  json: fc.option(
    fc
      .jsonValue({ maxDepth: 3, stringUnit: "grapheme" })
      .filter((each) => !/__proto__|_bsontype|\\u0000/.test(JSON.stringify(each))),
  ),
  uuid: fc.option(fc.uuid()),
  objectId: fc.option(hex(24)),
  owner: fc.option(fc.constantFrom(1, 2)),
  friends: fc.uniqueArray(fc.constantFrom(1, 2, 3)),
});

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  root = await filesOf(stack, stack.admin);
  await makeTable(admin, { name: "owners", idType: "int", columns: [{ name: "name", type: "string" }] });
  for (const name of ["a", "b", "c"]) await make(admin, "owners", { name });
});

afterAll(() => stack.stop());

async function tables(idType: string, at: number): Promise<[string, string]> {
  const pair: [string, string] = [`from_${idType.toLowerCase()}_${at}`, `to_${idType.toLowerCase()}_${at}`];
  for (const name of pair) {
    const relations = [
      { name: "owner", type: "many-to-one", table: "owners" },
      { name: "friends", type: "many-to-many", table: "owners" },
    ];
    await makeTable(admin, { name, idType, columns: COLUMNS, relations });
  }
  return pair;
}

it.each([
  ["csv", "int"],
  ["ndjson", "int"],
  ["csv", "objectId"],
  ["csv", "uuid"],
] as const)(
  "%s, ids of the type %s",
  async (format, idType) => {
    let at = format === "csv" ? 0 : 100;
    const everything = async (table: string) =>
      (await root.fetch(`/${table}`, { format: "ndjson", fields: "*,friends" })).text;
    const many = fc.array(record, { minLength: 1, maxLength: 60, size: "max" });
    const property = fc.asyncProperty(many, async (records) => {
      at += 1;
      const [from, to] = await tables(idType, at);
      const { status, body } = await admin.post(`/${from}`, records);
      expect([status, body.message]).toEqual([201, "Success"]);
      const file = await root.fetch(`/${from}`, { format, fields: "*,friends" });
      const answer = await root[format](to, file.text);
      expect([answer.status, answer.body.message]).toEqual([200, "Success"]);
      expect(await everything(to)).toBe(await everything(from));
    });
    await fc.assert(property, { numRuns: 6, endOnFailure: true });
  },
  120_000,
);

it.each(["csv", "ndjson"] as const)("%s: every link of a record, however many it has", async (format) => {
  const [from, to] = await tables("int", format === "csv" ? 500 : 501);
  const made = await admin.post(
    "/owners",
    Array.from({ length: 25 }, (_, at) => ({ name: `many${at}` })),
  );
  const friends = made.body.data.map(({ id }: { id: number }) => id);
  await make(admin, from, { friends });
  const file = await root.fetch(`/${from}`, { format, fields: "*,friends" });
  expect((await root[format](to, file.text)).status).toBe(200);
  const { body } = await admin.get(`/${to}`, { fields: "id", deep: { friends: { fields: "id", limit: 0 } } });
  expect(body.data[0].friends).toEqual(friends.map((id: number) => ({ id })));
  const few = await root.fetch(`/${from}`, {
    format: "ndjson",
    fields: "friends",
    deep: { friends: { limit: 2 } },
  });
  expect(JSON.parse(few.text).friends).toHaveLength(2);
});

interface Wanted {
  readonly name: string;
  readonly columns?: readonly object[];
  readonly relations?: readonly { readonly table: string; readonly [setting: string]: unknown }[];
}

/** Makes tables twice, as they are and as `copied_…` for their copies. */
async function twice(tables: readonly Wanted[]): Promise<void> {
  for (const prefix of ["", "copied_"])
    for (const { relations = [], name, ...rest } of tables) {
      const led = relations.map((each) => ({ ...each, table: prefix + each.table }));
      await makeTable(admin, { ...rest, name: prefix + name, relations: led });
    }
}

/** Exports a table and imports it into its copy. */
async function copy(format: "csv" | "ndjson", table: string, query: Query = {}): Promise<void> {
  const file = await root.fetch(`/${table}`, { format, ...query });
  const { status, body } = await root[format](`copied_${table}`, file.text);
  expect([table, status, body.message]).toEqual([table, 200, "Success"]);
}

async function expectCopied(table: string, query: Query): Promise<void> {
  const [one, other] = [await admin.get(`/${table}`, query), await admin.get(`/copied_${table}`, query)];
  expect(other.body.data).toEqual(one.body.data);
}

it.each(["csv", "ndjson"] as const)("%s: columns that are read-only by now", async (format) => {
  const table = `numbered_${format}`;
  const serial = { name: "serial", type: "string", unique: true };
  const state = { name: "state", type: "string", required: true, default: "new" };
  await twice([{ name: table, columns: [{ name: "name", type: "string" }, serial, state] }]);
  await make(admin, table, { name: "a", serial: "S1", state: "sent" });
  await make(admin, table, { name: "b" });
  for (const name of [table, `copied_${table}`]) {
    const { id, columns } = await tableNamed(admin, name);
    const now = columns.map((each: object & { name: string }) => ({
      ...each,
      readOnly: each.name !== "name",
    }));
    expect((await admin.patch(`/svc_table/${id}`, { columns: now })).status).toBe(200);
  }
  await copy(format, table);
  await expectCopied(table, {});
  expect((await admin.post(`/copied_${table}`, { serial: "S2" })).status).toBe(400);
});

it("records older than a rule, into a copy that gets the rule afterwards", async () => {
  const name = "coded";
  const columns = [
    { name: "name", type: "string" },
    { name: "code", type: "string" },
  ];
  await twice([{ name, columns }]);
  await make(admin, name, { code: "toolong" });
  const strict = async (table: string) => {
    const { id, columns: before } = await tableNamed(admin, table);
    const rules = [{ required: true }, { rules: { maxLength: 3 } }];
    const after = before.map((each: object, at: number) => ({ ...each, ...rules[at] }));
    await patchConfirmed(admin, id, { columns: after });
  };
  await strict(name);
  await copy("csv", name);
  await strict(`copied_${name}`);
  await expectCopied(name, {});
  const file = await root.fetch(`/${name}`, { format: "csv" });
  const again = await root.csv(`copied_${name}`, file.text);
  expect(again.body.message).toEqual([
    "line 2: code: must have at most 3 characters",
    "line 2: name: is required",
  ]);
});

describe.each(["csv", "ndjson"] as const)("%s: two tables", (format) => {
  it("of which one has a one-to-one relation to the other, one after the other", async () => {
    const [users, profiles] = [`users_${format}`, `profiles_${format}`];
    const user = { name: "user", type: "one-to-one", table: users, inverse: "profile", required: true };
    await twice([
      { name: users, columns: [{ name: "name", type: "string" }] },
      { name: profiles, relations: [user] },
    ]);
    for (const name of ["a", "b"]) {
      const { id } = await make(admin, users, { name });
      await make(admin, profiles, { user: id });
    }
    await copy(format, users);
    await copy(format, profiles);
    await expectCopied(profiles, {});
    await expectCopied(users, { fields: "*,profile.*" });
  });

  it("that lead to each other: the first without its links, the second with the other side of them", async () => {
    const [teams, people] = [`teams_${format}`, `people_${format}`];
    await twice([{ name: teams }, { name: people }]);
    const fans = { name: "fans", type: "many-to-many", table: "owners" };
    for (const prefix of ["", "copied_"]) {
      const lead = { name: "lead", type: "many-to-one", table: prefix + people, inverse: "leads" };
      await relate(prefix + teams, [lead, fans]);
      const team = { name: "team", type: "many-to-one", table: prefix + teams, inverse: "members" };
      await relate(prefix + people, [team]);
    }
    const lead = await make(admin, people, {});
    const team = await make(admin, teams, { lead: lead.id, fans: [2, 1] });
    await make(admin, teams, { lead: lead.id });
    await make(admin, people, { team: team.id });
    expect((await admin.patch(`/${people}/${lead.id}`, { team: team.id })).status).toBe(200);
    await copy(format, teams, { fields: "-lead,fans.id" });
    await copy(format, people, { fields: "*,leads" });
    await expectCopied(teams, { fields: "*,fans" });
    await expectCopied(people, {});
  });
});

async function relate(table: string, relations: readonly object[]): Promise<void> {
  const { id } = await tableNamed(admin, table);
  expect((await admin.patch(`/svc_table/${id}`, { relations })).status).toBe(200);
}

it("ids of several kinds, with space around those that are texts", async () => {
  const [from, to] = await tables("mixed", 502);
  const ids = [" lead", "tail ", "5", '"5"'];
  const lines = ids.map((id) => JSON.stringify({ id, string: id })).join("\n");
  expect((await root.ndjson(from, lines)).status).toBe(200);
  const file = await root.fetch(`/${from}`, { format: "csv", fields: "id,string" });
  expect((await root.csv(to, file.text)).status).toBe(200);
  const { body } = await admin.get(`/${to}`, { fields: "id,string" });
  const all = body.data.map((each: { id: string; string: string }) => [each.id, each.string]);
  expect(all.toSorted()).toEqual(ids.map((id) => [id, id]).toSorted());
});
