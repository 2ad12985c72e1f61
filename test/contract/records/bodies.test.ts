// Contract 5: what a body may say, and how each violation is named.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Api, asAdmin, signIn } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable, type Row, read, valuesOf } from "./make.js";

const NO_ID = "0123456789abcdef01234567";
const UUID = "0190163d-8694-739b-aea5-966c26f8ad91";

/** One value of each type, and how it reads. */
const VALUES = {
  string: "Ann",
  text: "long\ntext",
  int: 9_007_199_254_740_991,
  bigint: "9223372036854775807",
  float: 1.5,
  decimal: "19.90",
  boolean: false,
  date: "2024-02-29",
  datetime: "2024-05-31T12:00:00.123Z",
  enum: "red",
  enumList: ["red", "blue"],
  json: { a: [1, null, { "b.c": "$d" }], $set: { x: true }, "": "" },
  uuid: UUID,
  objectId: NO_ID,
};
const TYPES = Object.keys(VALUES) as (keyof typeof VALUES)[];

let stack: Stack;
let admin: Api;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  await makeTable(admin, {
    name: "things",
    columns: TYPES.map((type) => ({
      name: type,
      type,
      ...(type.startsWith("enum") ? { options: { values: ["red", "green", "blue"] } } : {}),
    })),
  });
  await makeTable(admin, {
    name: "people",
    columns: [
      { name: "name", type: "string", required: true, rules: { minLength: 2, maxLength: 5 } },
      { name: "age", type: "int", rules: { min: 0, max: 150 } },
      { name: "mood", type: "enum", options: { values: ["good", "bad"] }, required: true, default: "good" },
      { name: "code", type: "string", rules: { pattern: "^[A-Z]{2}\\d+$" } },
      { name: "mail", type: "string", rules: { format: "email" } },
      { name: "site", type: "string", rules: { format: "url" } },
      {
        name: "tags",
        type: "enumList",
        options: { values: ["a", "b", "c"] },
        rules: { minItems: 1, maxItems: 2 },
      },
      { name: "price", type: "decimal", rules: { min: "0.10", max: "10" } },
      { name: "born", type: "date", rules: { min: "1900-01-01" } },
      { name: "stamp", type: "string", readOnly: true, default: "made here" },
    ],
    relations: [{ name: "boss", type: "many-to-one", table: "people", inverse: "staff" }],
  });
});

afterAll(() => stack.stop());

/** What is wrong with this body for a new person. */
async function problemsOf(body: unknown): Promise<Row> {
  const answer = await admin.post("/people", body);
  return [answer.status, answer.body.error?.code, answer.body.message];
}

function invalid(...messages: unknown[]): unknown[] {
  return [400, "VALIDATION_ERROR", messages];
}

function about(field: string): unknown {
  return expect.stringMatching(`^${field.replace(/[[\]]/g, "\\$&")}: .`);
}

describe("a value of every type", () => {
  it.each(TYPES)("%s is stored and comes back as it was sent", async (type) => {
    const { id } = await make(admin, "things", { [type]: VALUES[type] });
    expect((await read(admin, "things", id))[type]).toEqual(VALUES[type]);
  });

  it.each(TYPES)("%s can be null, and is null when it is left out", async (type) => {
    const given = await make(admin, "things", { [type]: null });
    const missing = await make(admin, "things", {});
    expect([given[type], missing[type]]).toEqual([null, null]);
  });

  it.each(TYPES)("%s can be changed to null", async (type) => {
    const { id } = await make(admin, "things", { [type]: VALUES[type] });
    await admin.patch(`/things/${id}`, { [type]: null });
    expect((await read(admin, "things", id))[type]).toBeNull();
  });

  it("a time with an offset comes back in UTC", async () => {
    const row = await make(admin, "things", { datetime: "2024-05-31T14:00:00+02:00" });
    expect(row.datetime).toBe("2024-05-31T12:00:00.000Z");
  });

  it("an empty text is a value and not null", async () => {
    expect((await make(admin, "things", { string: "" })).string).toBe("");
  });

  it.each([
    ["a method name of objects", { toBSON: 1, toJSON: 2, constructor: 3, hasOwnProperty: 4 }],
    ["keys of queries", { $where: "1", $oid: NO_ID, $numberLong: "5" }],
    ["a schema", { $id: "person", properties: { home: { $ref: "address.json" } } }],
    ["what is no reference", { $ref: 1, $id: "a", deep: { $ref: "a", $id: null } }],
    ["numbers as keys", { 0: "a", 1: "b", length: 2 }],
  ])("json may hold %s", async (_name, value) => {
    const { status, body } = await admin.post("/things", { json: value });
    expect([status, body.data?.[0].json]).toEqual([201, value]);
  });

  it("json with the type mark of the database driver is refused by name, not taken for one of its types", async () => {
    const reference = { title: "T", $id: "person", $ref: "address.json" };
    for (const json of [
      { _bsontype: "ObjectId", id: NO_ID },
      [{ a: { _bsontype: "Code", code: "1" } }],
      { schema: reference },
    ]) {
      const { status, body } = await admin.post("/things", { json });
      expect([status, body.message]).toEqual([400, [about("json")]]);
    }
  });

  it.each([0, 1, "", "text", true, false, [], {}, [[]], -1.5e300])("json may be %j", async (value) => {
    const { id } = await make(admin, "things", { json: value });
    expect((await read(admin, "things", id)).json).toEqual(value);
  });
});

describe("no value is coerced", () => {
  it.each([
    ["string", [5, true, {}, ["a"]]],
    ["text", [5]],
    ["int", ["5", 1.5, true, 9_007_199_254_740_992, "", [1]]],
    ["bigint", [5, "1.5", "x", "9223372036854775808", ""]],
    ["float", ["1.5", true, "NaN"]],
    ["decimal", [1.5, "1e3", "abc", `0.${"1".repeat(35)}`]],
    ["boolean", ["true", 1, 0, "no"]],
    ["date", ["2024-02-30", "2024-2-1", "31.12.2024", 20240101, "2024-02-01T00:00:00Z"]],
    ["datetime", ["2024-05-31T12:00:00", "yesterday", 1717156800000, "2024-13-01T00:00:00Z"]],
    ["enum", ["Red", "", 1, ["red"]]],
    ["enumList", ["red", ["red", "x"], [null], { 0: "red" }]],
    ["uuid", ["0190163d8694739baea5966c26f8ad91", "x", 5]],
    ["objectId", ["0123", 5, { $oid: NO_ID }]],
  ])("for %s", async (type, wrong) => {
    for (const value of wrong) {
      const { status, body } = await admin.post("/things", { [type]: value });
      expect([value, status, body.message]).toEqual([value, 400, [about(type)]]);
    }
  });

  it("tells which of a list is none of the values", async () => {
    const { body } = await admin.post("/things", { enumList: ["red", "reed"] });
    expect(body.message).toEqual([expect.stringMatching(/ \(red, .*\), not one with "reed"$/)]);
  });

  it("and the refused record is not there", async () => {
    const before = (await admin.get("/things", { limit: "0" })).body.data.length;
    await admin.post("/things", { string: "kept?", int: "5" });
    expect((await admin.get("/things", { limit: "0" })).body.data.length).toBe(before);
  });
});

describe("a body for a new record", () => {
  it.each([
    ["a list member that is a number", [1], "[0]: must be a JSON object, not a number"],
    ["a list member that is null", [{ name: "Ann" }, null], "[1]: must be a JSON object, not null"],
    ["text", "Ann", "body: must be a JSON object, not text"],
    ["null", null, "body: is null or missing; send a JSON object"],
    ["none at all", undefined, "body: is null or missing; send a JSON object"],
    ["true", true, "body: must be a JSON object, not true or false"],
  ])("must be an object, not %s", async (_name, body, problem) => {
    expect(await problemsOf(body)).toEqual(invalid(problem));
  });

  it("names every violation at once, each with its field first", async () => {
    expect(
      await problemsOf({ age: "5", mood: null, code: "x", boss: 5, nmae: "Ann", staff: "x", $set: {} }),
    ).toEqual(
      invalid(
        ...[about("age"), about("mood"), about("code"), about("boss"), about("nmae"), about("staff")],
        ...[expect.stringMatching(/^\$set: /), about("name")],
      ),
    );
  });

  it("must have what is required", async () => {
    expect(await problemsOf({ age: 5 })).toEqual(invalid("name: is required"));
  });

  it("may not set a required column to null", async () => {
    expect(await problemsOf({ name: null })).toEqual(invalid(about("name")));
  });

  it("may leave out a required column that has a default", async () => {
    expect((await make(admin, "people", { name: "Ann" })).mood).toBe("good");
  });

  it("is told what was probably meant", async () => {
    expect(await problemsOf({ name: "Ann", agee: 1 })).toEqual(
      invalid(expect.stringContaining('did you mean "age"?')),
    );
  });

  it("is told it of twenty names at most, so that very many cost little", async () => {
    const letters = [..."abcdeghijklmnoqrstuvwxyz"];
    const names = letters.map((letter) => `staf${letter}`);
    const [status, , messages] = await problemsOf({
      name: "Ann",
      ...Object.fromEntries(names.map((each) => [each, 1])),
    });
    expect(status).toBe(400);
    expect(messages).toEqual(
      names.map((each, at) => `${each}: unknown field${at < 20 ? '; did you mean "staff"?' : ""}`),
    );
  });

  it("is told a hundred problems, by the beginnings of their names, and how many more there are", async () => {
    const names = Array.from({ length: 150 }, (_, at) => `no. ${at} ${"x".repeat(200)}`);
    const [status, , messages] = await problemsOf({
      name: "Ann",
      ...Object.fromEntries(names.map((each) => [each, 1])),
    });
    expect(status).toBe(400);
    expect(messages).toEqual([
      ...names.slice(0, 100).map((each) => `${each.slice(0, 100)}: unknown field`),
      "body: has 50 more problems",
    ]);
  });

  it("is told a hundred problems of a list in all, and that there may be more", async () => {
    const bodies = Array.from({ length: 30 }, () =>
      Object.fromEntries([1, 2, 3, 4].map((n) => [`x${n}`, n])),
    );
    const [status, , messages] = await problemsOf(bodies);
    expect([status, messages.length]).toEqual([400, 101]);
    expect(messages.slice(-2)).toEqual(["[19].name: is required", "body: may have more problems than these"]);
  });

  it("and all bodies of a list are told it of twenty together, and the same of the same name", async () => {
    const letters = [..."abcdeghijklmnoqrstuvwxyz"];
    const names = [...letters, "a"].map((letter) => `staf${letter}`);
    const [, , messages] = await problemsOf(names.map((each) => ({ name: "Ann", [each]: 1 })));
    const isGuessed = (at: number): boolean => at < 20 || at === letters.length;
    expect(messages).toEqual(
      names.map(
        (each, at) => `[${at}].${each}: unknown field${isGuessed(at) ? '; did you mean "staff"?' : ""}`,
      ),
    );
  });

  it.each(["bossId", "boss_id", "_id", "__v", "_version", "constructor", "__proto__", "name.first", "$name"])(
    "may not name %s, which is no field",
    async (name) => {
      const body = JSON.stringify({ name: "Ann" }).replace("}", `,${JSON.stringify(name)}:"x"}`);
      const headers = { "Content-Type": "application/json" };
      const answer = await admin.send("POST", "/people", { body, headers });
      expect([answer.status, answer.body.message]).toEqual([
        400,
        [expect.stringMatching(new RegExp(`^${name.replace(/[$.]/g, "\\$&")}: unknown field`))],
      ]);
    },
  );

  it("may name id, createdAt and updatedAt, which are ignored", async () => {
    const past = "2001-01-01T00:00:00.000Z";
    const row = await make(admin, "people", { name: "Bob", id: NO_ID, createdAt: past, updatedAt: 5 });
    expect(row.id).not.toBe(NO_ID);
    expect(Date.parse(row.createdAt)).toBeGreaterThan(Date.now() - 60_000);
    expect(row.updatedAt).toBe(row.createdAt);
  });

  it("may not write a read-only column, which keeps its default", async () => {
    expect(await problemsOf({ name: "Ann", stamp: "forged" })).toEqual(invalid("stamp: is read-only"));
    expect((await make(admin, "people", { name: "Ann" })).stamp).toBe("made here");
  });
});

describe("a rule", () => {
  it.each([
    ["minLength", { name: "A" }, "name"],
    ["maxLength", { name: "Annika" }, "name"],
    ["min", { age: -1 }, "age"],
    ["max", { age: 151 }, "age"],
    ["pattern", { code: "AB" }, "code"],
    ["format email", { mail: "ann at home" }, "mail"],
    ["format url", { site: "javascript:alert(1)" }, "site"],
    ["minItems", { tags: [] }, "tags"],
    ["maxItems", { tags: ["a", "b", "c"] }, "tags"],
    ["min of a decimal", { price: "0.09" }, "price"],
    ["max of a decimal", { price: "10.01" }, "price"],
    ["min of a date", { born: "1899-12-31" }, "born"],
  ])("%s refuses with the field's name", async (_name, body, field) => {
    expect(await problemsOf({ name: "Ann", ...body })).toEqual(invalid(about(field)));
  });

  it("lets values at its edge pass", async () => {
    const edge = { name: "Al", age: 150, code: "AB1", mail: "a@b.example", site: "https://x.example/y" };
    const row = await make(admin, "people", { ...edge, tags: ["a", "b"], price: "0.10", born: "1900-01-01" });
    expect(row).toMatchObject(edge);
  });

  it("counts characters as people do", async () => {
    expect((await make(admin, "people", { name: "👩👩👩👩👩" })).name).toBe("👩👩👩👩👩");
    expect(await problemsOf({ name: "👩" })).toEqual(invalid(about("name")));
  });

  it("holds for changes as it does for new records", async () => {
    const { id } = await make(admin, "people", { name: "Ann" });
    const { status, body } = await admin.patch(`/people/${id}`, { age: 151, name: null, stamp: "x" });
    expect([status, body.message]).toEqual([400, [about("age"), about("name"), about("stamp")]]);
  });

  it("with a pattern runs in linear time", async () => {
    await makeTable(admin, {
      name: "slow",
      columns: [{ name: "a", type: "string", rules: { pattern: "^(a+)+$" } }],
    });
    const started = performance.now();
    expect((await admin.post("/slow", { a: `${"a".repeat(5_000)}!` })).status).toBe(400);
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});

describe("a list of new records", () => {
  it("creates all of them, in order, and answers them in order", async () => {
    const names = Array.from({ length: 250 }, (_, at) => `n${at}`);
    const { status, body } = await admin.post(
      "/people",
      names.map((name) => ({ name })),
      { fields: "name" },
    );
    expect([status, body.data]).toEqual([201, names.map((name) => ({ name }))]);
  });

  it("creates none when one is invalid, and says which", async () => {
    const answer = await admin.post("/people", [{ name: "okay" }, { age: 5 }, { name: "x", mood: "so" }]);
    expect([answer.status, answer.body.message]).toEqual([
      400,
      [about("[1].name"), about("[2].name"), about("[2].mood")],
    ]);
    expect(await valuesOf(admin, "people", "name", { name: "okay" })).toEqual([]);
  });

  it("creates none when one links to a record that does not exist", async () => {
    const answer = await admin.post("/people", [{ name: "lone" }, { name: "lost", boss: NO_ID }]);
    expect([answer.status, answer.body.message]).toEqual([400, [expect.stringContaining("boss: ")]]);
    expect(await valuesOf(admin, "people", "name", { name: { _in: ["lone", "lost"] } })).toEqual([]);
  });

  it("may have 1,000 records and not 1,001, and not none", async () => {
    const rows = (count: number) => Array.from({ length: count }, () => ({ name: "many" }));
    expect((await admin.post("/people", rows(1_001), { fields: "id" })).status).toBe(400);
    expect((await admin.post("/people", [])).status).toBe(400);
    expect((await admin.post("/people", rows(1_000), { fields: "id" })).status).toBe(201);
    expect((await valuesOf(admin, "people", "name", { name: "many" })).length).toBe(1_000);
  });

  it("of one record is answered with its address", async () => {
    const { headers, body } = await admin.post("/people", [{ name: "solo" }]);
    expect(headers.get("location")).toBe(`/api/people/${body.data[0].id}`);
  });
});

describe("a change", () => {
  it("touches only what it names and moves updatedAt", async () => {
    const before = await make(admin, "people", { name: "Ann", age: 5 });
    const { status, body } = await admin.patch(`/people/${before.id}`, { age: 6 });
    expect([status, body.data]).toEqual([200, [{ ...before, age: 6, updatedAt: expect.any(String) }]]);
    expect(Date.parse(body.data[0].updatedAt)).toBeGreaterThan(Date.parse(before.updatedAt));
  });

  it("of nothing is 200 and changes nothing", async () => {
    const before = await make(admin, "people", { name: "Ann" });
    const { status, body } = await admin.patch(`/people/${before.id}`, {});
    expect([status, body.data]).toEqual([200, [before]]);
  });

  it("of nothing in a record that does not exist is 404", async () => {
    expect((await admin.patch(`/people/${NO_ID}`, {})).status).toBe(404);
  });

  it("of id, createdAt and updatedAt is ignored", async () => {
    const before = await make(admin, "people", { name: "Ann" });
    const { body } = await admin.patch(`/people/${before.id}`, { id: NO_ID, createdAt: "x", updatedAt: 1 });
    expect(body.data).toEqual([before]);
  });

  it("that is refused leaves the record as it was", async () => {
    const before = await make(admin, "people", { name: "Ann" });
    await admin.patch(`/people/${before.id}`, { name: "Bob", age: "x" });
    expect(await read(admin, "people", before.id)).toEqual(before);
  });

  it("of an unknown record is 404", async () => {
    expect((await admin.patch(`/people/${NO_ID}`, { name: "Ann" })).status).toBe(404);
  });

  it("must be an object", async () => {
    const { id } = await make(admin, "people", { name: "Ann" });
    for (const wrong of [[], [{ name: "Bob" }], "x", null]) {
      expect((await admin.patch(`/people/${id}`, wrong)).status).toBe(400);
    }
  });

  it("without a body is 400", async () => {
    const { id } = await make(admin, "people", { name: "Ann" });
    expect((await admin.send("PATCH", `/people/${id}`)).status).toBe(400);
  });
});

describe("a delete", () => {
  it("removes the record, and a second one is 404", async () => {
    const { id } = await make(admin, "people", { name: "Ann" });
    expect((await admin.delete(`/people/${id}`)).status).toBe(200);
    expect((await admin.get(`/people/${id}`)).status).toBe(404);
    expect((await admin.delete(`/people/${id}`)).status).toBe(404);
  });

  it("is not what POST with a method override does", async () => {
    const { id } = await make(admin, "people", { name: "Ann" });
    const headers = { "X-HTTP-Method-Override": "DELETE" };
    expect((await admin.send("POST", `/people/${id}?_method=DELETE`, { headers })).status).toBe(400);
    expect((await admin.get(`/people/${id}`)).status).toBe(200);
  });
});

describe("a number that reading would change", () => {
  const WHOLE = "9007199254740991";
  it.each([
    ["9007199254740993", WHOLE],
    ["-9007199254740993", WHOLE],
    ["123456789012345678901234567890", WHOLE],
    ["1e400", "1.7976931348623157e+308"],
  ])("%s is refused without naming another one", async (number, largest) => {
    const headers = { "Content-Type": "application/json" };
    const sent = await admin.send("POST", "/things", {
      headers,
      body: `{"int":${number},"string":${number}}`,
    });
    const beyond = `not a number beyond ±${largest}`;
    expect(sent.body.message).toEqual([
      `int: must be a whole number, ${beyond}`,
      `string: must be text, ${beyond}`,
    ]);
    const filter = { headers, body: `{"filter":{"bigint":${number}}}` };
    expect((await admin.send("QUERY", "/things", filter)).body.message).toBe(
      `filter.bigint: must be a whole number as text, from "-9223372036854775808" to "9223372036854775807", ${beyond}`,
    );
  });
});

describe("a method override that is not known", () => {
  const message = expect.stringMatching(
    /^X-HTTP-Method-Override: can only make a POST a QUERY, in capitals; /,
  );
  const named = (override: string, name: string): RequestInit => ({
    headers: { "X-HTTP-Method-Override": override, "Content-Type": "application/json" },
    body: JSON.stringify({ name }),
  });

  it.each(["DELETE", "PATCH", "POST", "query", "QUERY, QUERY", ""])(
    "%j makes no record of a POST, at either service",
    async (override) => {
      for (const base of [`${stack.appUrl}/api`, stack.dataUrl]) {
        const api = await signIn(base, stack.admin);
        const { status, body } = await api.send("POST", "/people", named(override, "Odd"));
        expect([status, body.message]).toEqual([400, message]);
      }
      const { body } = await admin.get("/people", { filter: { name: "Odd" } });
      expect(body.data).toEqual([]);
    },
  );

  it.each(["QUERY", "DELETE"])("%s changes nothing by a PATCH", async (override) => {
    const { id } = await make(admin, "people", { name: "Ann" });
    const { status, body } = await admin.send("PATCH", `/people/${id}`, named(override, "Odd"));
    expect([status, body.message]).toEqual([400, message]);
    expect((await read(admin, "people", id)).name).toBe("Ann");
  });
});

describe("the answer of a write", () => {
  it("has the shape that fields and deep ask for", async () => {
    const boss = await make(admin, "people", { name: "Boss" });
    const shape = { fields: "name,boss.name" };
    const created = await admin.post("/people", { name: "Ann", boss: boss.id }, shape);
    expect(created.body.data).toEqual([{ name: "Ann", boss: { id: boss.id, name: "Boss" } }]);
    const deep = { fields: "name", deep: { staff: { fields: "name", limit: 1 } } };
    const changed = await admin.patch(`/people/${boss.id}`, { age: 60 }, deep);
    expect(changed.body.data).toEqual([{ name: "Boss", staff: [{ id: expect.any(String), name: "Ann" }] }]);
  });

  it("is asked for in a known shape, or nothing is written", async () => {
    for (const shape of [{ fields: "nope" }, { deep: { nope: {} } }, { filter: {} }]) {
      expect((await admin.post("/people", { name: "never" }, shape)).status).toBe(400);
    }
    expect(await valuesOf(admin, "people", "name", { name: "never" })).toEqual([]);
  });

  it("is asked for in a known shape, or nothing is changed", async () => {
    const before = await make(admin, "people", { name: "Ann" });
    expect((await admin.patch(`/people/${before.id}`, { name: "Bob" }, { fields: "nope" })).status).toBe(400);
    expect(await read(admin, "people", before.id)).toEqual(before);
  });
});
