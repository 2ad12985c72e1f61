// Contract 5: files of records as a body, in batches.
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Api, asAdmin, signIn } from "../../support/api.js";
import { untilLogged } from "../../support/process-facts.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { make, makeTable, type Row, tally, valuesOf } from "../records/make.js";
import { type Files, filesOf } from "./files.js";

const ANN = { email: "ann@example.com", password: "ann's password" };
const BODY_MAX = 64 * 1024;
const FILE_MAX = 11 * 1024 * 1024;
const TOO_LONG = `is longer than ${BODY_MAX} bytes; perhaps it begins a quoted cell that never ends`;
/** Records of a batch. */
const BATCH = 500;

let stack: Stack;
let admin: Api;
let root: Files;
let ann: Files;
let items: string;
let tables = 0;

beforeAll(async () => {
  stack = await startStack({
    env: { BODY_MAX_BYTES: String(BODY_MAX), IMPORT_MAX_BYTES: String(FILE_MAX) },
  });
  admin = await asAdmin(stack);
  root = await filesOf(stack, stack.admin);
  await makeTable(admin, { name: "owners", idType: "int", columns: [{ name: "name", type: "string" }] });
  await make(admin, "owners", { name: "Ann" });
  await make(admin, "owners", { name: "Bob" });
  const role: string = (await make(admin, "svc_role", { name: "clerk" })).id;
  await make(admin, "svc_user", { ...ANN, role });
  await make(admin, "svc_permission", { role, table: "owners", action: "read" });
  ann = await filesOf(stack, ANN);
});

afterAll(() => stack.stop());

/** A table of its own for every test. */
beforeEach(async () => {
  tables += 1;
  items = `items${tables}`;
  await makeTable(admin, {
    name: items,
    idType: "int",
    columns: [
      { name: "name", type: "string", required: true, unique: true, rules: { maxLength: 50 } },
      { name: "count", type: "int", default: 7 },
      { name: "sale", type: "boolean" },
      { name: "kind", type: "enum", required: true, default: "a", options: { values: ["a", "b"] } },
      { name: "extra", type: "json" },
      { name: "cost", type: "int", hidden: true },
    ],
    relations: [
      { name: "owner", type: "many-to-one", table: "owners" },
      { name: "friends", type: "many-to-many", table: "owners" },
    ],
  });
});

const names = (): Promise<Row[]> => valuesOf(admin, items, "name");
const many = (count: number, line: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => line(at)).join("");
const details = ({ body }: { body: Row }): Row => body.error.details;

describe("an import of CSV", () => {
  it("makes records of lines, by the types of the columns", async () => {
    const file = [
      "name,count,sale,extra,owner,friends",
      'a,-3,TRUE,"{""x"":[1]}",1,"[1,{""id"":2}]"',
      'b,,false,,,"[]"',
    ];
    const { status, body } = await root.csv(items, file.join("\n"));
    expect([status, body.data]).toEqual([200, [{ imported: 2, checked: 2, dryRun: false }]]);
    const { body: list } = await admin.get(`/${items}`, {
      fields: "name,count,sale,kind,extra,owner,friends",
    });
    expect(list.data).toEqual([
      {
        name: "a",
        count: -3,
        sale: true,
        kind: "a",
        extra: { x: [1] },
        owner: { id: 1 },
        friends: [{ id: 1 }, { id: 2 }],
      },
      { name: "b", count: null, sale: false, kind: "a", extra: null, owner: null, friends: [] },
    ]);
  });

  it("takes an empty cell for null, an empty quoted one for empty text, and for a required column the default", async () => {
    await root.csv(items, 'name,count,kind\n"",,\n');
    const { body } = await admin.get(`/${items}`, { fields: "name,count,kind" });
    expect(body.data).toEqual([{ name: "", count: null, kind: "a" }]);
  });

  it("leaves columns that the file does not have to their defaults", async () => {
    await root.csv(items, "name\nx\n");
    expect(await valuesOf(admin, items, "count")).toEqual([7]);
  });

  it("names a link by the relation, or by its id", async () => {
    expect((await root.csv(items, "name,owner.id\nx,2\n")).status).toBe(200);
    const { body } = await admin.get(`/${items}`, { fields: "owner" });
    expect(body.data).toEqual([{ owner: { id: 2 } }]);
  });

  it.each([
    ["\n", ""],
    ["\r\n", ""],
    ["\r", ""],
    ["\n", "\uFEFF"],
  ])("reads lines that end in %j, after %j", async (end, mark) => {
    const file = `${mark}name,count${end}"a${end}b",1${end}c,2`;
    expect((await root.csv(items, file)).body.data[0].imported).toBe(2);
    expect(await names()).toEqual([`a${end}b`, "c"]);
  });

  it("reads quotes, separators, NUL and other languages inside cells", async () => {
    const values = ['say "hello", Ann', "\0", "日本語 🎉", " space ", "'quoted'"];
    const file = `name\n${values.map((value) => `"${value.replaceAll('"', '""')}"\n`).join("")}`;
    expect((await root.csv(items, file)).status).toBe(200);
    expect((await names()).toSorted()).toEqual(values.toSorted());
  });

  it("takes the guard off cells that would be formulas, and leaves other cells that look like one", async () => {
    await root.csv(items, "name\n'=1+1\n''@x\n-5\n=2\n'x\n");
    expect((await names()).toSorted()).toEqual(["=1+1", "'@x", "-5", "=2", "'x"].toSorted());
  });

  it("passes over empty lines, except in a file of one column", async () => {
    expect((await root.csv(items, "name,count\n\na,1\n\n\n")).body.data[0].checked).toBe(1);
    const one = await root.csv(items, "owner\n\n");
    expect(details(one).rejected).toEqual([{ line: 2, messages: ["name: is required"] }]);
  });

  it("takes a file of a header alone, and refuses an empty one", async () => {
    expect((await root.csv(items, "name,count\r\n")).body.data).toEqual([
      { imported: 0, checked: 0, dryRun: false },
    ]);
    const empty = await root.csv(items, "");
    expect(empty.status).toBe(400);
    expect(empty.body.message).toEqual(["line 1: is missing: the first line names the columns"]);
  });

  it.each([
    ["name,nam\na,b\n", 'nam: unknown field; did you mean "name"?'],
    ["name,name\na,b\n", "name: is named twice"],
    ["name,owner,owner.id\na,1,1\n", "owner: is named twice"],
    ["name,\na,b\n", "column 2 has no name"],
    [
      "name,owner.name\na,b\n",
      'owner.name: of a linked record only the id can be imported, as "owner"; leave this column out',
    ],
    ["name,_count(friends)\na,1\n", "_count(friends): is counted from other records; leave this column out"],
    ["name,__proto__\na,b\n", "__proto__: unknown field"],
    ["name;count\na;1\n", "cells are separated by commas, not by semicolons"],
    ["name\tcount\na\t1\n", "cells are separated by commas, not by tabs"],
    ["name;,count\na,1\n", 'name;: unknown field; did you mean "name"?'],
    ["name,co\0unt\na,b\n", 'co\0unt: unknown field; did you mean "count"?'],
  ])("refuses the header of %j", async (file, message) => {
    const answer = await root.csv(items, file);
    expect(answer.status).toBe(400);
    expect(details(answer)).toMatchObject({ imported: 0, rejected: [{ line: 1, messages: [message] }] });
    expect(await names()).toEqual([]);
  });

  it.each([
    ["one name again and again", "name,".repeat(12_000), "name: is named twice"],
    ["names that nobody knows", many(9_000, (at) => `x${at},`), "x0: unknown field"],
    ["no names at all", ",".repeat(60_000), "column 1 has no name"],
  ])("refuses a very long header at once, telling twenty problems of it: %s", async (_what, line, first) => {
    const start = performance.now();
    const answer = await root.csv(items, line);
    expect(performance.now() - start).toBeLessThan(3_000);
    expect(answer.status).toBe(400);
    const [{ messages }] = details(answer).rejected;
    expect([messages.length, messages[0]]).toEqual([20, first]);
  });

  it.each([
    ["name,count\na\n", 2, "has 1 cells, and the first line names 2 columns"],
    ["name,count\na,1,2\n", 2, "has 3 cells, and the first line names 2 columns"],
    ["name,count\na,1\nb,x\n", 3, 'count: must be a whole number, not "x"'],
    ["name,count\na,1.5\n", 2, 'count: must be a whole number, not "1.5"'],
    ["name,sale\na,yes\n", 2, 'sale: must be true or false, not "yes"'],
    ["name,kind\na,c\n", 2, 'kind: must be one of the column\'s values (a, b), not "c"'],
    ["name,extra\na,{x}\n", 2, 'extra: must be JSON, such as {"a":1} or ["a"]'],
    ["name,owner\na,99\n", 2, 'owner: there is no "owners" record with the id 99'],
    ['name,count\n"a\nb\nc",1\nd,x\n', 5, 'count: must be a whole number, not "x"'],
    ["name,count\na,1\nb,2\na,3\n", 4, "name: line 2 has this value already"],
    ['name,count\na,"1\nb,2\n', 2, "begins a quoted cell that never ends"],
    ['name,count\na,x"y\n', 2, 'has a quote inside a cell that is not quoted; write "say ""hello"""'],
    [
      'name,count\na,"1"2\n',
      2,
      'has text after a closing quote; cells are separated by commas, and quotes inside a quoted cell are doubled, ""',
    ],
    [Buffer.from("name\na\nb\n\xe4\nc\n", "latin1"), 4, "is not UTF-8"],
    [`name\na\n${"x".repeat(10_000_000)}\n`, 3, TOO_LONG],
    [`name\na\n"${"x\n".repeat(1_000_000)}"\n`, 3, TOO_LONG],
  ])("names the bad line of a file and keeps none of its batch (%#)", async (file, line, message) => {
    const answer = await root.csv(items, file);
    expect(answer.status).toBe(400);
    expect(details(answer)).toEqual({
      imported: 0,
      dryRun: false,
      next: 2,
      rejected: [{ line, messages: [message] }],
    });
    expect(answer.body.message).toEqual([`line ${line}: ${message}`]);
    expect(await names()).toEqual([]);
  });

  it("names every bad line of the batch, with everything that is wrong there", async () => {
    await make(admin, items, { name: "there" });
    const answer = await root.csv(items, "name,count,owner\nok,1,1\n,x,1\nok2,1,99\nthere,1,1\nok,2,1\n");
    expect(details(answer).rejected).toEqual([
      { line: 3, messages: ['count: must be a whole number, not "x"', "name: is required"] },
      { line: 4, messages: ['owner: there is no "owners" record with the id 99'] },
      { line: 5, messages: [`name: a record of "${items}" with this value exists already`] },
      { line: 6, messages: ["name: line 2 has this value already"] },
    ]);
    expect(await names()).toEqual(["there"]);
  });
});

describe("a line with a cell of JSON in which a name comes twice", () => {
  it("is told where, instead of losing one of them", async () => {
    const { body } = await root.csv(items, `name,extra\na,"{""x"":{""y"":1,""y"":2}}"\n`);
    expect(body.message).toEqual(["line 2: extra.x.y: is given twice in one object; only one would count"]);
    expect(await names()).toEqual([]);
  });
});

describe("a line with a cell that is no JSON", () => {
  const extra = 'extra: must be JSON, such as {"a":1} or ["a"]';
  const friends = "friends: must be a list of ids, such as [1,2]";

  it("is told what else is wrong in it, in an import and in a dry run", async () => {
    const file = "name,count,extra,friends\na,x,{y},2\nb,1,,1;2\n,1,{z},[1]\n";
    for (const query of [{}, { dryRun: true }]) {
      const answer = await root.csv(items, file, query);
      expect(answer.status).toBe(400);
      expect("next" in details(answer)).toBe(!("dryRun" in query));
      expect(details(answer).rejected).toEqual([
        {
          line: 2,
          messages: [
            extra,
            'count: must be a whole number, not "x"',
            "friends: must be the list of all ids to link, not a number",
          ],
        },
        { line: 3, messages: [friends] },
        { line: 4, messages: [extra, "name: is required"] },
      ]);
    }
    expect(await names()).toEqual([]);
  });

  it("is one that others of the file can lead to, once it is right", async () => {
    const people = `folk${tables}`;
    const relations = [{ name: "boss", type: "many-to-one", table: people, inverse: "staff" }];
    await makeTable(admin, {
      name: people,
      idType: "int",
      columns: [{ name: "data", type: "json" }],
      relations,
    });
    const { body } = await root.csv(people, "id,boss,data\n1,,{x\n2,1,\n");
    expect(body.message).toEqual(['line 2: data: must be JSON, such as {"a":1} or ["a"]']);
  });

  it("is not told that it lacks what stands in that cell", async () => {
    const table = `needing${tables}`;
    const tags = { name: "tags", type: "enumList", required: true, options: { values: ["red", "blue"] } };
    const json = { name: "data", type: "json", required: true };
    await makeTable(admin, { name: table, columns: [{ name: "count", type: "int" }, json, tags] });
    const { body } = await root.csv(table, "count,data,tags\nx,y,red\n");
    expect(body.message).toEqual([
      'line 2: data: must be JSON, such as {"a":1} or ["a"]',
      'line 2: tags: must be a list of values, such as ["red"]',
      'line 2: count: must be a whole number, not "x"',
    ]);
  });
});

describe("an import of NDJSON", () => {
  it("makes records of lines, as a POST takes them", async () => {
    const answer = await root.ndjson(items, '{"name":"a","owner":{"id":1}}\r\n\n{"name":"b","friends":[2]}');
    expect(answer.body.data).toEqual([{ imported: 2, checked: 2, dryRun: false }]);
    const { body } = await admin.get(`/${items}`, { fields: "name,owner,friends" });
    expect(body.data).toEqual([
      { name: "a", owner: { id: 1 }, friends: [] },
      { name: "b", owner: null, friends: [{ id: 2 }] },
    ]);
  });

  it("takes an empty file for no records", async () => {
    expect((await root.ndjson(items, "")).body.data[0]).toMatchObject({ imported: 0 });
  });

  it.each([
    ['{"name":"a"}\n{"name":\n', 2, "is not valid JSON; a record is one object on one line"],
    ['{"name":"a"}\n[1]\n', 2, "must be a JSON object, not a list"],
    ['{"name":"a","nam":1}\n', 1, 'nam: unknown field; did you mean "name"?'],
    ['{"name":"a","count":"1"}\n', 1, 'count: must be a whole number, not "1"'],
    ['{"name":"a","__proto__":{}}\n', 1, "__proto__: unknown field"],
    [Buffer.from('{"name":"a"}\n{"name":"\xe4"}\n', "latin1"), 2, "is not UTF-8"],
    [`{"name":"a"}\n{"name":"${"x".repeat(1_000_000)}"}`, 2, `is longer than ${BODY_MAX} bytes`],
    [`${"[".repeat(60_000)}\n`, 1, "is not valid JSON; a record is one object on one line"],
  ])("names the bad line (%#)", async (file, line, message) => {
    const answer = await root.ndjson(items, file);
    expect(answer.status).toBe(400);
    expect(details(answer)).toMatchObject({ imported: 0, rejected: [{ line, messages: [message] }] });
    expect(await names()).toEqual([]);
  });
});

it("takes no records inside records, and says where they go", async () => {
  const why = 'must be the id of a "owners" record or {"id":…} and nothing more';
  const remedy = 'an import takes links only, import records of "owners" by themselves';
  const owner = { name: "Eve" };
  const ndjson = await root.ndjson(items, JSON.stringify({ name: "a", owner, friends: [1, owner] }));
  expect([ndjson.status, ndjson.body.message]).toEqual([
    400,
    [`line 1: owner: ${why}; ${remedy}`, `line 1: friends[1]: ${why}; ${remedy}`],
  ]);
  const csv = await root.csv(items, 'name,friends\na,"[{""id"":1,""name"":""Ann""}]"\n');
  expect([csv.status, csv.body.message]).toEqual([400, [`line 2: friends[0]: ${why}; ${remedy}`]]);
});

describe("batches", () => {
  it("stop at the first one with a bad line, keep those before it, and go on from the line they name", async () => {
    const bad = `name,count\n${many(1_200, (at) => `n${at},${at === 1_100 ? "x" : at}\n`)}`;
    const answer = await root.csv(items, bad);
    expect(answer.status).toBe(400);
    expect(details(answer)).toEqual({
      imported: 2 * BATCH,
      dryRun: false,
      next: 2 * BATCH + 2,
      rejected: [{ line: 1_102, messages: ['count: must be a whole number, not "x"'] }],
    });
    expect((await names()).length).toBe(2 * BATCH);
    const rest = await root.csv(items, bad.replace(",x\n", ",0\n"), { from: details(answer).next });
    expect(rest.body.data).toEqual([{ imported: 200, checked: 200, dryRun: false }]);
    expect((await names()).length).toBe(1_200);
  });

  it("are not counted back by a file that can't be read from its first line on", async () => {
    const file = `name;count\n${many(1_200, (at) => `n${at};${at}\n`)}`;
    const answer = await root.csv(items, file, { from: 1_002 });
    expect([answer.status, details(answer)]).toMatchObject([400, { imported: 0, next: 1_002 }]);
    expect(details(answer).rejected[0].line).toBe(1);
  });

  it("are smaller where short values take far more memory than their text", async () => {
    const dense = `[${"[],".repeat(3_300)}1]`;
    const json = `${many(400, (at) => `{"name":"n${at}","extra":${dense}}\n`)}{"extra":1}`;
    const csv = `name,extra\n${many(400, (at) => `c${at},"${dense}"\n`)},1\n`;
    for (const answer of [await root.ndjson(items, json), await root.csv(items, csv)]) {
      expect(details(answer).rejected).toMatchObject([{ messages: ["name: is required"] }]);
      expect(details(answer).imported).toBeGreaterThan(0);
    }
  });

  it("may run at once, on one table", async () => {
    const file = (which: string) => `name\n${many(1_500, (at) => `${which}${at}\n`)}`;
    const answers = await Promise.all(["a", "b", "c"].map((which) => root.csv(items, file(which))));
    expect(tally(answers)).toEqual({ 200: 3 });
    expect((await names()).length).toBe(4_500);
  });

  it("that want the same unique values: every value is kept once, and who came second is told", async () => {
    const file = `name\n${many(BATCH, (at) => `n${at}\n`)}`;
    const answers = await Promise.all([root.csv(items, file), root.csv(items, file)]);
    expect(tally(answers)).toEqual({ 200: 1, 400: 1 });
    expect((await names()).length).toBe(BATCH);
  });
});

describe("links between records of one file", () => {
  let people: string;

  beforeEach(async () => {
    people = `people${tables}`;
    await makeTable(admin, {
      name: people,
      idType: "int",
      columns: [{ name: "name", type: "string" }],
      relations: [
        { name: "boss", type: "many-to-one", table: people, inverse: "staff" },
        { name: "friends", type: "many-to-many", table: people },
      ],
    });
  });

  const person = (id: number, boss?: number) => `${JSON.stringify({ id, boss })}\n`;

  it("come back with root, whichever of a batch comes first", async () => {
    const [ann, bob, eve] = [
      await make(admin, people, {}),
      await make(admin, people, {}),
      await make(admin, people, {}),
    ];
    await admin.patch(`/${people}/${ann.id}`, { boss: bob.id, friends: [eve.id, ann.id] });
    await admin.patch(`/${people}/${bob.id}`, { boss: bob.id });
    const all = async () => (await root.fetch(`/${people}`, { format: "ndjson", fields: "*,friends" })).text;
    const file = await all();
    for (const { id } of [ann, bob, eve]) await admin.delete(`/${people}/${id}`);
    const tried = await root.ndjson(people, file, { dryRun: true });
    expect(tried.body.data).toEqual([{ imported: 0, checked: 3, dryRun: true }]);
    const { status, body } = await root.ndjson(people, file);
    expect([status, body.data]).toEqual([200, [{ imported: 3, checked: 3, dryRun: false }]]);
    expect(await all()).toBe(file);
  });

  it("lead back to a bad line of a former batch, which will be right by then", async () => {
    const file = many(BATCH + 100, (at) => person(at + 1, at === 0 ? undefined : 1));
    const tried = await root.ndjson(people, file.replace('"id":1', '"id":1,"nonsense":1'), { dryRun: true });
    expect(details(tried).rejected.map(({ line }: Row) => line)).toEqual([1]);
  });

  it("lead back into former batches, in a dry run too", async () => {
    const file = many(BATCH + 100, (at) => person(at + 1, at === 0 ? undefined : at));
    const tried = await root.ndjson(people, file, { dryRun: true });
    expect(tried.body.data).toEqual([{ imported: 0, checked: BATCH + 100, dryRun: true }]);
    expect((await root.ndjson(people, file)).status).toBe(200);
    const { body } = await admin.get(`/${people}/${BATCH + 1}`, { fields: "boss" });
    expect(body.data[0].boss).toEqual({ id: BATCH });
  });

  it("to none of them are refused, and nothing of the batch stays", async () => {
    const file = person(1) + person(2, 99) + person(3, 1);
    for (const query of [{}, { dryRun: true }]) {
      const answer = await root.ndjson(people, file, query);
      const messages = [`boss: there is no "${people}" record with the id 99`];
      expect([answer.status, details(answer).rejected]).toEqual([400, [{ line: 2, messages }]]);
    }
    expect(await valuesOf(admin, people, "id")).toEqual([]);
  });

  it("can't be made by ids that the caller may not bring", async () => {
    const role: string = (await admin.get("/svc_role", { filter: { name: "clerk" } })).body.data[0].id;
    for (const action of ["read", "create"])
      await make(admin, "svc_permission", { role, table: people, action });
    const answer = await ann.ndjson(people, person(1) + person(2, 1));
    const messages = [`boss: there is no "${people}" record with the id 1`];
    expect([answer.status, details(answer).rejected]).toEqual([400, [{ line: 2, messages }]]);
  });
});

describe("a dry run", () => {
  it("writes nothing and tells every bad line, in whatever batch", async () => {
    await make(admin, items, { name: "there" });
    const bad: Record<number, string> = { 3: "n3,x\n", 700: "there,1\n", 1000: "n4,1\n" };
    const file = `name,count\n${many(1_200, (at) => bad[at] ?? `n${at},1\n`)}`;
    const answer = await root.csv(items, file, { dryRun: true });
    expect(details(answer)).toEqual({
      imported: 0,
      dryRun: true,
      rejected: [
        { line: 5, messages: ['count: must be a whole number, not "x"'] },
        { line: 702, messages: [`name: a record of "${items}" with this value exists already`] },
        { line: 1_002, messages: ["name: line 6 has this value already"] },
      ],
    });
    expect(await names()).toEqual(["there"]);
  });

  it("of a file for a singleton knows that this holds a single record, as the import does", async () => {
    const table = `${items}single`;
    const columns = [{ name: "name", type: "string" }];
    await makeTable(admin, { name: table, singleton: true, softDelete: true, columns });
    const two = "name\na\nb\n";
    const second = [{ line: 3, messages: ["line 2 is already the only record that the table can hold"] }];
    expect(details(await root.csv(table, two, { dryRun: true })).rejected).toEqual(second);
    expect(details(await root.csv(table, two)).rejected).toEqual(second);
    expect((await root.csv(table, "name\na\n", { dryRun: true })).status).toBe(200);
    const oneDeleted = "name,deletedAt\na,2020-01-01T00:00:00.000Z\nb,\n";
    expect((await root.csv(table, oneDeleted, { dryRun: true })).status).toBe(200);
    await make(admin, table, { name: "there" });
    const taken = [{ line: 2, messages: [`"${table}" holds a single record, and it exists already.`] }];
    expect(details(await root.csv(table, "name\na\n", { dryRun: true })).rejected).toEqual(taken);
  });

  it("of a good file says how many records it has", async () => {
    const { body } = await root.csv(items, "name\na\nb\n", { dryRun: true });
    expect(body.data).toEqual([{ imported: 0, checked: 2, dryRun: true }]);
    expect(await names()).toEqual([]);
  });

  it("takes large numbers for what they are, and decimals for the same whatever zeros end them", async () => {
    const table = `${items}numbers`;
    await makeTable(admin, {
      name: table,
      columns: [
        { name: "large", type: "bigint", unique: true },
        { name: "price", type: "decimal", unique: true },
      ],
    });
    await make(admin, table, { large: "1234567890123456787", price: "3.50" });
    const good = many(2, (at) => `{"large":"${1234567890123456788n + BigInt(at)}","price":"${at}"}\n`);
    const equal = '{"price":"4.0"}\n{"price":"4.00"}\n{"price":"3.5"}\n{"price":"-0"}\n';
    const dry = await root.ndjson(table, good + equal, { dryRun: true });
    expect(details(dry).rejected).toEqual([
      { line: 4, messages: ["price: line 3 has this value already"] },
      { line: 5, messages: [`price: a record of "${table}" with this value exists already`] },
      { line: 6, messages: ["price: line 1 has this value already"] },
    ]);
    expect((await root.ndjson(table, good)).body.data[0].imported).toBe(2);
    expect(details(await root.ndjson(table, equal)).rejected).toEqual([
      { line: 2, messages: ["price: line 1 has this value already"] },
      { line: 3, messages: [`price: a record of "${table}" with this value exists already`] },
      { line: 4, messages: [`price: a record of "${table}" with this value exists already`] },
    ]);
  });

  it("ends after a hundred bad lines", async () => {
    const answer = await root.csv(items, `name,count\n${many(3_000, (at) => `n${at},x\n`)}`, {
      dryRun: true,
    });
    expect(details(answer).rejected.map(({ line }: Row) => line)).toEqual(
      Array.from({ length: 100 }, (_, at) => at + 2),
    );
  });
});

describe("root", () => {
  it("brings ids and times along, and new records get later ids", async () => {
    const at = "2020-01-02T03:04:05.678Z";
    const file = `id,createdAt,updatedAt,name\n40,${at},${at},a\n,,,b\n12,${at},,c\n`;
    const answer = await root.csv(items, file);
    expect(answer.status).toBe(200);
    const { body } = await admin.get(`/${items}`, { fields: "id,createdAt,updatedAt,name" });
    expect(body.data).toEqual([
      { id: 12, createdAt: at, updatedAt: expect.not.stringMatching(at), name: "c" },
      { id: 40, createdAt: at, updatedAt: at, name: "a" },
      { id: 41, createdAt: expect.not.stringMatching(at), updatedAt: expect.any(String), name: "b" },
    ]);
    expect((await make(admin, items, { name: "d" })).id).toBe(42);
  });

  it("may bring null for them, as an export has it of records that lack them", async () => {
    const answer = await root.ndjson(items, '{"id":null,"createdAt":null,"updatedAt":null,"name":"e"}\n');
    expect(answer.status).toBe(200);
    const { body } = await admin.get(`/${items}`, { fields: "id,createdAt,updatedAt" });
    const own = { id: expect.any(Number), createdAt: expect.any(String), updatedAt: expect.any(String) };
    expect(body.data).toEqual([own]);
  });

  it.each(["string", "mixed"])("brings no record with a %s id that has no address", async (idType) => {
    const table = `of_${idType}_ids`;
    await makeTable(admin, { name: table, idType });
    const problems = {
      changes: 'must not be "changes", the name of a call; choose another id',
      import: 'must not be "import", the name of a call; choose another id',
      "": "must not be empty, for such a record has no address; choose another id",
      ".": 'must not be ".", for such a record has no address; choose another id',
      "..": 'must not be "..", for such a record has no address; choose another id',
    };
    for (const [id, problem] of Object.entries(problems))
      for (const dryRun of ["true", "false"]) {
        const { status, body } = await root.ndjson(table, JSON.stringify({ id }), { dryRun });
        expect([status, body.message]).toEqual([400, [`line 1: id: ${problem}`]]);
      }
    expect((await root.ndjson(table, '{"id":"..."}\n{"id":"change"}')).status).toBe(200);
    expect((await admin.get(`/${table}`)).body.data.map(({ id }: Row) => id)).toEqual(["...", "change"]);
    for (const id of ["...", "change"]) expect((await admin.get(`/${table}/${id}`)).status).toBe(200);
  });

  it("is told of ids that are taken, and the records that have them stay as they are", async () => {
    await root.csv(items, "id,name\n1,a\n2,b\n");
    const again = await root.csv(items, "id,name\n3,c\n2,x\n4,d\n");
    expect(details(again).rejected).toEqual([
      { line: 3, messages: [`id: a record of "${items}" with this value exists already`] },
    ]);
    expect(await names()).toEqual(["a", "b"]);
  });

  it("is told of an id that is none", async () => {
    const answer = await root.ndjson(items, '{"id":"x","name":"a"}\n');
    expect(details(answer).rejected).toEqual([
      { line: 1, messages: ['id: must be a whole number, not "x"'] },
    ]);
  });
});

describe("a role", () => {
  async function allow(rule: object): Promise<void> {
    const { body } = await admin.get("/svc_role", { filter: { name: "clerk" } });
    const role = body.data[0].id;
    for (const action of ["create", "read"])
      await make(admin, "svc_permission", {
        role,
        table: items,
        action,
        ...(action === "create" ? rule : {}),
      });
    await delay(0);
  }

  it("without a rule is refused, and so is nobody", async () => {
    expect((await ann.csv(items, "name\na\n")).status).toBe(403);
    const anonymous = await fetch(`${stack.appUrl}/api/${items}/import`, {
      method: "POST",
      headers: { "Content-Type": "text/csv" },
      body: "name\na\n",
    });
    expect(anonymous.status).toBe(401);
  });

  it("does not know the columns it may neither read nor write, in the words for those that do not exist", async () => {
    await allow({ fields: "name" });
    const messages = async (header: string) => (await ann.csv(items, `${header}\na,1\n`)).body.message;
    expect(await messages("name,count")).toEqual(["line 1: count: you may not write it"]);
    expect(await messages("name,owner")).toEqual(["line 1: owner: you may not write it"]);
    expect(await messages("name,owner.id")).toEqual(["line 1: owner.id: you may not write it"]);
    expect(await messages("name,cost")).toEqual(["line 1: cost: unknown field"]);
    expect(await messages("name,owner.name")).toEqual(["line 1: owner.name: unknown field"]);
    expect(await messages("name,nonsense")).toEqual(["line 1: nonsense: unknown field"]);
  });

  it("gets presets, and checks line by line", async () => {
    await allow({ presets: { kind: "b" }, check: { count: { _lt: 5 } } });
    const answer = await ann.csv(items, "name,count\na,1\nb,9\n");
    expect(details(answer).rejected).toEqual([
      { line: 3, messages: [`No rule lets you create a "${items}" record with these values.`] },
    ]);
    await ann.csv(items, "name,count\na,1\n");
    expect(await valuesOf(admin, items, "kind")).toEqual(["b"]);
  });

  it("can't bring values of read-only columns, which root can", async () => {
    const table = `${items}_numbered`;
    const serial = { name: "serial", type: "string", readOnly: true };
    await makeTable(admin, { name: table, columns: [{ name: "name", type: "string" }, serial] });
    const { id: role } = (await admin.get("/svc_role", { filter: { name: "clerk" } })).body.data[0];
    await make(admin, "svc_permission", { role, table, action: "create" });
    const file = "name,serial\na,S1\n";
    expect((await ann.csv(table, file)).body.message).toEqual(["line 2: serial: is read-only"]);
    expect((await root.csv(table, "serial\n5\n")).status).toBe(200);
    expect((await root.ndjson(table, '{"serial":5}')).body.message).toEqual([
      "line 1: serial: must be text, not 5",
    ]);
    expect(await valuesOf(admin, table, "serial")).toEqual(["5"]);
  });

  it("can't bring ids: they are ignored, as in a POST", async () => {
    await allow({});
    expect((await ann.csv(items, "id,createdAt,name\n77,2020-01-01T00:00:00Z,a\n")).status).toBe(200);
    const { body } = await admin.get(`/${items}`);
    expect(body.data[0].id).toBe(1);
    expect(body.data[0].createdAt).not.toMatch(/^2020/);
  });
});

describe("an id that no address can hold", () => {
  it.each(["a/b", "a\\b"])(
    "is kept where root imports it, and found and changed by filter: %s",
    async (id) => {
      const table = `odd${tables}`;
      await makeTable(admin, { name: table, idType: "string", columns: [{ name: "name", type: "string" }] });
      const line = JSON.stringify({ id, name: "one" });
      expect((await root.ndjson(table, line)).status).toBe(200);
      const { status, body } = await admin.get(`/${table}/${encodeURIComponent(id)}`);
      expect([status, body.message]).toEqual([
        400,
        expect.stringMatching(/^No part of the path may .* found by filter=\{"id":"…"\}\.$/),
      ]);
      const direct = await signIn(stack.dataUrl, stack.admin);
      const found = await direct.get(`/${table}/${encodeURIComponent(id)}`);
      expect([found.status, found.body.data?.[0].id]).toEqual([200, id]);
      expect((await admin.patch(`/${table}`, { name: "two" }, { filter: { id } })).body.meta.changed).toBe(1);
      expect((await admin.get(`/${table}`, { filter: { id }, fields: "id,name" })).body.data).toEqual([
        { id, name: "two" },
      ]);
    },
  );
});

describe("an address with a slash too many", () => {
  it.each(["GET", "PATCH", "DELETE"])(
    "is refused with a word about ids that hold one: %s",
    async (method) => {
      for (const rest of ["a/b", "a/b/c"]) {
        const { status, body } = await admin.send(method, `/${items}/${rest}`);
        const what = `There is nothing at /api/${items}/${rest}`;
        const remedy = 'a record whose id holds a slash is found by filter={"id":"…"}';
        expect([status, body.message]).toEqual([404, `${what}; ${remedy}.`]);
      }
      for (const path of ["/svc_role/a/b", "/me/a/b"]) {
        const { status, body } = await admin.send(method, path);
        expect([status, body.message]).toEqual([404, `There is nothing at /api${path}.`]);
      }
    },
  );
});

describe("the request", () => {
  it.each(['text/csv; charset="utf-8"', "Text/CSV; header=present; charset=UTF-8"])(
    "may say %s",
    async (type) => {
      expect((await root.send(items, "name\na\n", { "Content-Type": type })).status).toBe(200);
    },
  );

  it.each([
    [{ "Content-Type": "application/json" }],
    [{ "Content-Type": "text/plain" }],
    [{ "Content-Type": "text/csv; charset=latin1" }],
    [{ "Content-Type": "text/csv", "Content-Encoding": "gzip" }],
  ])("with %j is refused with 415", async (headers: Record<string, string>) => {
    const body = "Content-Encoding" in headers ? gzipSync("name\na\n") : "name\na\n";
    expect((await root.send(items, body, headers)).status).toBe(415);
  });

  it("that is compressed without saying so is not UTF-8", async () => {
    const answer = await root.csv(items, gzipSync("name\na\n"));
    expect(answer.body.message).toEqual(["line 1: is not UTF-8"]);
  });

  it.each([
    [{ from: "0" }, "from: must be the number of a line, from 1"],
    [{ from: "x" }, "from: must be the number of a line, from 1"],
    [{ dryRun: "yes" }, "dryRun: must be true or false"],
    [{ fields: "name" }, "fields: does not apply to this call"],
  ])("with %j is refused", async (query, message) => {
    const { status, body } = await root.csv(items, "name\na\n", query);
    expect([status, body.message]).toEqual([400, message]);
  });

  it("is a POST: there is no record `import`", async () => {
    const { status, headers } = await admin.get(`/${items}/import`);
    expect([status, headers.get("Allow")]).toEqual([405, "POST, OPTIONS"]);
  });

  it("is refused for tables of Portico itself and for those that are not there", async () => {
    expect((await root.csv("svc_user", "email\na@example.com\n")).status).toBe(400);
    expect((await root.csv("nothing", "name\na\n")).status).toBe(404);
  });

  it("that is too large is refused at once when it says so, and where the limit is when it does not", async () => {
    const lines = (from: number) => many(100, (at) => `n${from + at},"""${"x".repeat(10_000)}"""\n`);
    const header = "name,extra\n";
    const announced = await root.csv(items, header + lines(0).repeat(FILE_MAX / 1_000_000 + 1));
    expect(announced.status).toBe(413);
    expect(await names()).toEqual([]);
    let at = 0;
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(new TextEncoder().encode(at === 0 ? header : lines(at * 100)));
        at += 1;
        if (at > 40) controller.close();
      },
    });
    const counted = await root.csv(items, stream);
    expect(counted.status).toBe(413);
    expect(details(counted).imported).toBe((await names()).length);
    expect(details(counted).imported).toBeGreaterThan(0);
    expect(details(counted).next).toBe(details(counted).imported + 2);
  });
});

it("an import that was refused does not go on for ever", async () => {
  const { hostname, port } = new URL(stack.dataUrl);
  const socket = connect(Number(port), hostname).on("error", () => {});
  const head = [
    "POST /nothing/import HTTP/1.1",
    `Host: ${hostname}`,
    `Authorization: Bearer ${root.token}`,
    "Content-Type: text/csv",
    "Content-Length: 1000",
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\nname\n`);
  const [answer] = await once(socket, "data");
  expect(String(answer)).toMatch(/^HTTP\/1\.1 404 /);
  await new Promise((resolve) => socket.once("close", resolve));
});

describe("an import whose caller may no more", () => {
  const EVE = { email: "eve@example.com", password: "eve's password" };
  /** Five seconds, and something for a machine that does other things as well. */
  const WITHIN_MS = 7_500;

  it.each([
    ["has been deactivated", 401, (user: string) => admin.patch(`/svc_user/${user}`, { isActive: false })],
    ["has lost the role", 403, (user: string) => admin.patch(`/svc_user/${user}`, { role: null })],
  ])("%s ends soon with %d, and says how much is there", async (what, status, takeAway) => {
    const role: string = (await make(admin, "svc_role", { name: what })).id;
    await make(admin, "svc_permission", { role, table: items, action: "create" });
    const { id } = await make(admin, "svc_user", { ...EVE, email: `${status}@example.com`, role });
    const eve = await filesOf(stack, { ...EVE, email: `${status}@example.com` });
    const text = new TextEncoder();
    let sent = 0;
    let isOver = false;
    let takenAt = 0;
    const stream = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (isOver || sent === 50) return controller.close();
        if (sent === 2) {
          // It has begun: what is refused before that has nothing to say of records.
          await until(names, ({ length }) => length > 0);
          takenAt = performance.now();
          await takeAway(id);
        }
        if (sent > 0) await delay(200);
        const lines = many(BATCH, (at) => `n${sent * BATCH + at}\n`);
        controller.enqueue(text.encode(sent === 0 ? `name\n${lines}` : lines));
        sent += 1;
      },
    });
    const answer = await eve.csv(items, stream);
    isOver = true;
    expect(performance.now() - takenAt).toBeLessThan(WITHIN_MS);
    expect(answer.status).toBe(status);
    expect(details(answer)).toMatchObject({ imported: (await names()).length, dryRun: false });
    expect(sent).toBeLessThan(50);
  });
});

it("numbers go on from 1 after ids below it", async () => {
  await makeTable(admin, { name: "below", idType: "int", columns: [{ name: "name", type: "string" }] });
  expect((await root.ndjson("below", '{"id":-10}\n')).status).toBe(200);
  expect((await make(admin, "below", {})).id).toBe(1);
});

describe("a line with more mistakes than one answer shows", () => {
  it("is a bad line like any other, as it is a bad body of a POST", async () => {
    const names = Array.from({ length: 130_000 }, (_, at) => [`x${at}`, 1]);
    // Reading such a body takes long, which is no overload here.
    const large = await startStack({ env: { BODY_MAX_BYTES: "4000000", MAX_EVENT_LOOP_DELAY_MS: "0" } });
    try {
      const files = await filesOf(large, large.admin);
      const api = await asAdmin(large);
      await makeTable(api, { name: "plain", columns: [{ name: "name", type: "string" }] });
      const record = Object.fromEntries(names);
      const answer = await files.ndjson("plain", `${JSON.stringify(record)}\n`);
      expect([answer.status, answer.body.message.length]).toEqual([400, 20]);
      expect((await api.post("/plain", [record])).status).toBe(400);
      expect((await api.patch("/me", record)).status).toBe(400);
    } finally {
      await large.stop();
    }
  });
});

describe("a client that goes away", () => {
  it("leaves whole batches, and the log says how many records", async () => {
    const gone = new AbortController();
    const text = new TextEncoder();
    let isSent = false;
    const stream = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (!isSent) controller.enqueue(text.encode(`name,count\n${many(1_250, (at) => `n${at},1\n`)}`));
        else await until(names, ({ length }) => length >= 2 * BATCH);
        if (isSent) gone.abort();
        isSent = true;
      },
    });
    const init: RequestInit & { duplex: "half" } = {
      method: "POST",
      headers: { Authorization: `Bearer ${root.token}`, "Content-Type": "text/csv" },
      body: stream,
      signal: gone.signal,
      duplex: "half",
    };
    const request = fetch(`${stack.appUrl}/api/${items}/import`, init);
    await expect(request).rejects.toThrow();
    const line = `"table":"${items}","imported":1000,"dryRun":false,"next":1002`;
    await untilLogged(stack.dataService, new RegExp(line));
    expect((await names()).length).toBe(2 * BATCH);
  });
});

describe("a browser with cookies", () => {
  async function cookieOf(): Promise<string> {
    const answer = await fetch(`${stack.appUrl}/api/login`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Origin: stack.appUrl },
      body: JSON.stringify(stack.admin),
    });
    return answer.headers
      .getSetCookie()
      .map((line) => line.split(";")[0])
      .join("; ");
  }

  it.each([
    ["import", "text/csv", "own", 200],
    ["import", "application/x-ndjson", "own", 200],
    ["import", "text/csv", "https://evil.example", 403],
    ["import", "text/plain", "own", 415],
    ["import", "multipart/form-data; boundary=x", "own", 415],
    ["list", "text/csv", "own", 415],
    ["list", "application/x-ndjson", "own", 415],
  ])("sends to the %s a body of the type %s from %s: %p", async (route, type, page, expected) => {
    const path = route === "import" ? `/${items}/import` : `/${items}`;
    const { status } = await fetch(`${stack.appUrl}/api${path}`, {
      method: "POST",
      headers: {
        "Content-Type": type,
        Cookie: await cookieOf(),
        Origin: page === "own" ? stack.appUrl : page,
      },
      body: type.includes("ndjson") ? '{"name":"a"}\n' : "name\na\n",
    });
    expect(status).toBe(expected);
    expect(await names()).toEqual(expected === 200 ? ["a"] : []);
  });
});
