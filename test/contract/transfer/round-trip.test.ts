// What is exported from one table and imported into another of the same shape is the same, whatever it holds.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import fc from "fast-check";
import { type Api, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable } from "../records/make.js";
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
  fc.string({ unit: "binary", maxLength: 30 }).filter((each) => each.isWellFormed()),
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
  datetime: fc.option(time.map((each) => each.toISOString())),
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
    const property = fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 60 }), async (records) => {
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
