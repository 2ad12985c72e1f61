// Contract 6: what a table definition may say, and how every problem of it is named.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Answer, type Api, apiOf, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";

let stack: Stack;
let admin: Api;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  await define({ name: "authors", columns: [{ name: "name", type: "string" }] });
});

afterAll(() => stack.stop());

const define = (definition: unknown): Promise<Answer> => admin.post("/svc_table", definition);

/** A table with this one column. */
const withColumn = (column: object) => define({ name: "never_made", columns: [{ name: "a", ...column }] });
const withRelation = (relation: object) =>
  define({
    name: "never_made",
    columns: [{ name: "title", type: "string" }],
    relations: [{ name: "author", type: "many-to-one", table: "authors", ...relation }],
  });

/** Refused with problems at this path and at no other. */
function expectProblems({ status, body }: Answer, path: string): void {
  expect([status, body.error?.code]).toEqual([422, "SCHEMA_ERROR"]);
  const paths = body.message.map((text: string) => text.slice(0, text.indexOf(":")));
  expect([...new Set(paths)]).toEqual([path]);
}

describe("a definition", () => {
  it("that makes no sense is 422 with every problem at once, and nothing is made", async () => {
    const answer = await define({
      name: "never_made",
      colour: "red",
      singleton: "yes",
      idType: "serial",
      columns: [
        { name: "a", type: "strng" },
        { name: "1b", type: "int", rules: { minLength: 1 } },
        { name: "c", type: "enum" },
        { name: "d", type: "int", default: "5" },
        5,
      ],
      relations: [
        { name: "author", type: "many-to-one", table: "autors" },
        { name: "d", type: "one-to-many", table: "authors" },
      ],
      uniques: [["nope"], "d"],
      indexes: [["-gone"]],
    });
    expect([answer.status, answer.body.error.code]).toEqual([422, "SCHEMA_ERROR"]);
    const text = answer.body.message.join("\n");
    for (const path of [
      ...[
        "colour",
        "singleton",
        "idType",
        "columns[0].type",
        "columns[1].name",
        "columns[1].rules.minLength",
      ],
      ...[
        "columns[2].options",
        "columns[3].default",
        "columns[4]",
        "relations[0].table",
        "relations[1].type",
      ],
      ...["uniques[0]", "uniques[1]", "indexes[0]"],
    ]) {
      expect(text).toContain(`${path}: `);
    }
    expect(text).toMatch(/relations\[0\]\.table: .*did you mean "authors"/);
    expect((await admin.get("/never_made")).status).toBe(404);
    expect((await admin.get("/svc_table", { filter: { name: "never_made" } })).body.data).toEqual([]);
  });

  it("names the place of a repeated name, also behind a column that could not be read", async () => {
    const columns = [
      { name: "a", type: "strng" },
      { name: "b", type: "int" },
      { name: "b", type: "int" },
    ];
    const { body } = await define({ name: "never_made", columns });
    expect(body.message).toContainEqual(expect.stringMatching(/^columns\[2\]\.name: /));
  });

  it.each([
    ["a list", []],
    ["text", "posts"],
    ["null", null],
    ["a number", 5],
  ])("must be an object, not %s", async (_name, body) => expectProblems(await define(body), "body"));

  it("is not looked at when the body is no JSON", async () => {
    const headers = { "Content-Type": "application/json" };
    expect((await admin.send("POST", "/svc_table", { body: "{", headers })).status).toBe(400);
  });

  it("with a wrong shape for the answer is refused before the table is made", async () => {
    const { status } = await admin.post("/svc_table", { name: "shapeless" }, { fields: "nope" });
    expect(status).toBe(400);
    expect((await admin.get("/shapeless")).status).toBe(404);
  });
});

describe("a table's name", () => {
  it.each([
    ...["", "1posts", "Posts", "posts-1", "posts.x", "my posts", "_posts", "pösts", `p${"x".repeat(63)}`],
    ...["svc_mine", "__proto__", "constructor", "system.users", "$posts", "posts\u0000", "../posts"],
  ])("can't be %j", async (name) => expectProblems(await define({ name }), "name"));

  it.each([
    ...[
      "api",
      "assets",
      "auth",
      "docs",
      "healthz",
      "internal",
      "login",
      "logout",
      "me",
      "metadata",
      "metrics",
      "openapi",
      "readyz",
      "types",
    ],
  ])("can't be the path %s", async (name) => expectProblems(await define({ name }), "name"));

  it.each([5, null, ["posts"], { a: 1 }])("must be text, not %j", async (name) => {
    const { status, body } = await define({ name });
    expect([status, body.message[0]]).toEqual([422, expect.stringMatching(/^name: /)]);
  });

  it("may have 63 characters", async () => {
    const name = `p${"x".repeat(62)}`;
    expect((await define({ name })).status).toBe(201);
    expect((await admin.post(`/${name}`, {})).status).toBe(201);
  });

  it("that is taken is 409 with the field's name", async () => {
    const { status, body } = await define({ name: "authors" });
    expect([status, body.error.code, body.error.details]).toEqual([
      ...[409, "DUPLICATE_RESOURCE", { fields: ["name"] }],
    ]);
  });

  it("that belongs to a system table is refused", async () => {
    expectProblems(await define({ name: "svc_user" }), "name");
  });
});

describe("a column", () => {
  it.each([
    ...["", "1a", "a-b", "a.b", "$a", "_id", "_a", "a b", "__proto__", "constructor", "toString", "ä"],
    ...["id", "createdAt", "updatedAt", `a${"x".repeat(63)}`],
  ])("can't be named %j", async (name) =>
    expectProblems(await withColumn({ name, type: "string" }), "columns[0].name"),
  );

  it.each([
    ["without a type", {}, "type"],
    ["of an unknown type", { type: "varchar" }, "type"],
    ["with an unknown key", { type: "int", primary: true }, "primary"],
    ["with a flag that is no boolean", { type: "int", required: "yes" }, "required"],
    ["with options it does not take", { type: "int", options: { values: ["a"] } }, "options"],
    ["of type enum without values", { type: "enum", options: { values: [] } }, "options"],
    ["of type enum with the same value twice", { type: "enum", options: { values: ["a", "a"] } }, "options"],
    ["of type enum with a value that is no text", { type: "enum", options: { values: [1] } }, "options"],
    ["with a default of another type", { type: "int", default: 1.5 }, "default"],
    [
      "with a default outside its values",
      { type: "enum", options: { values: ["a"] }, default: "b" },
      "default",
    ],
    ["with a default that breaks its rules", { type: "int", rules: { max: 5 }, default: 6 }, "default"],
    ["with a rule of another type", { type: "boolean", rules: { min: 1 } }, "rules.min"],
    ["with a bound of another type", { type: "int", rules: { min: "1" } }, "rules.min"],
    ["with a broken pattern", { type: "string", rules: { pattern: "(" } }, "rules.pattern"],
    [
      "with a pattern that can't run in linear time",
      { type: "string", rules: { pattern: "(a)\\1" } },
      "rules.pattern",
    ],
    ["with an unknown format", { type: "string", rules: { format: "phone" } }, "rules.format"],
    ["with a negative length", { type: "string", rules: { minLength: -1 } }, "rules.minLength"],
    ["that is unique json", { type: "json", unique: true }, "unique"],
    ["that is unique and encrypted", { type: "string", unique: true, encrypted: true }, "unique"],
    ["that is searchable without being text", { type: "int", searchable: true }, "searchable"],
  ])("%s is refused at its path", async (_name, column, key) =>
    expectProblems(await withColumn(column), `columns[0].${key}`),
  );

  it("can't have the name of another column or relation", async () => {
    expectProblems(
      await define({
        name: "never_made",
        columns: [{ name: "author", type: "string" }],
        relations: [{ name: "author", type: "many-to-one", table: "authors" }],
      }),
      "relations[0].name",
    );
  });
});

describe("uniques and indexes", () => {
  it.each([
    ["a unique id", { uniques: [["id"]] }, "uniques[0]"],
    ["an index on the id alone, backwards too", { indexes: [["-id"]] }, "indexes[0]"],
    ["an object", { uniques: [[{ toString: 1 }]] }, "uniques[0]"],
    ["a list in the place of a name", { indexes: [[["a"]]] }, "indexes[0]"],
  ])("of %s are refused in a new table and in a change, and nothing is made", async (_name, keys, path) => {
    const columns = [{ name: "a", type: "string" }];
    expectProblems(await define({ name: "never_made", columns, ...keys }), path);
    expect((await admin.get("/never_made")).status).toBe(404);
    const [{ id }] = (await admin.get("/svc_table", { filter: { name: "authors" } })).body.data;
    expectProblems(await admin.patch(`/svc_table/${id}`, keys), path);
  });

  it("with keys that read alike are two: a pair, and a column whose name is the pair's", async () => {
    const columns = [
      ...["a", "b"].map((name) => ({ name, type: "string" })),
      { name: "a_1_b", type: "string", unique: true },
    ];
    const { status, body } = await define({ name: "alike", columns, uniques: [["a", "b"]] });
    expect([status, body.message]).toEqual([201, "Success"]);
    const first = { a: "x", b: "y", a_1_b: "z" };
    expect((await admin.post("/alike", first)).status).toBe(201);
    const refused = [
      { ...first, a_1_b: "other" },
      [{ ...first, a: "other" }],
      [{ ...first, a_1_b: "other" }],
    ];
    const fields = await Promise.all(
      refused.map(async (each) => (await admin.post("/alike", each)).body.error?.details?.fields),
    );
    expect(fields).toEqual([["a", "b"], ["a_1_b"], ["a", "b"]]);
  });
});

describe("a relation", () => {
  it.each([
    ["to a table that does not exist", { table: "nowhere" }, "table"],
    ["without a table", { table: null }, "table"],
    ["to the table of tables", { table: "svc_table" }, "table"],
    ["to the audit log", { table: "svc_audit" }, "table"],
    ["of an unknown type", { type: "one-to-many" }, "type"],
    ["with an unknown onDelete", { onDelete: "EXPLODE" }, "onDelete"],
    ["that is required and set null", { required: true, onDelete: "SET NULL" }, "onDelete"],
    ["that is many-to-many and required", { type: "many-to-many", required: true }, "required"],
    ["that is many-to-many with onDelete", { type: "many-to-many", onDelete: "CASCADE" }, "onDelete"],
    ["with an inverse that is a column there", { inverse: "name" }, "inverse"],
    ["with an inverse that every table has", { inverse: "id" }, "inverse"],
    ["with an inverse that is no name", { inverse: "a.b" }, "inverse"],
    ["with an unknown key", { through: "x" }, "through"],
  ])("%s is refused at its path", async (_name, relation, key) =>
    expectProblems(await withRelation(relation), `relations[0].${key}`),
  );

  it("can't give its inverse a name that the other table got from another relation", async () => {
    await define({
      name: "essays",
      relations: [{ name: "author", type: "many-to-one", table: "authors", inverse: "texts" }],
    });
    expectProblems(await withRelation({ inverse: "texts" }), "relations[0].inverse");
  });

  it("to its own table can't have an inverse of its own name", async () => {
    expectProblems(
      await define({
        name: "never_made",
        relations: [{ name: "parent", type: "many-to-one", table: "never_made", inverse: "parent" }],
      }),
      "relations[0].inverse",
    );
  });
});

describe("svc_table", () => {
  it("answers the new table with its columns and relations inside, each with an id", async () => {
    const { status, headers, body } = await define({
      name: "poems",
      description: "short texts",
      columns: [{ name: "title", type: "string", required: true }],
      relations: [{ name: "poet", type: "many-to-one", table: "authors", inverse: "poems" }],
      uniques: [["title", "poet"]],
      indexes: [["title", "-createdAt"]],
    });
    const [table] = body.data;
    expect(status).toBe(201);
    expect(headers.get("location")).toBe(`/api/svc_table/${table.id}`);
    expect(table).toMatchObject({
      name: "poems",
      description: "short texts",
      singleton: false,
      idType: "objectId",
      columns: [{ id: expect.any(String), name: "title", type: "string", required: true }],
      relations: [
        {
          id: expect.any(String),
          name: "poet",
          type: "many-to-one",
          table: "authors",
          inverse: "poems",
          required: false,
          onDelete: "SET NULL",
        },
      ],
      uniques: [["title", "poet"]],
      indexes: [["title", "-createdAt"]],
      createdAt: expect.any(String),
    });
    expect((await admin.get(`/svc_table/${table.id}`)).body.data).toEqual([table]);
  });

  it("is made once more as it was read, under other names where the first one has its own", async () => {
    await define({
      name: "plays",
      columns: [{ name: "title", type: "string", required: true }],
      relations: [{ name: "poet", type: "many-to-one", table: "authors", inverse: "plays" }],
      indexes: [["title"]],
    });
    const [table] = (await admin.get("/svc_table", { filter: { name: "plays" } })).body.data;
    const { id, createdAt, updatedAt, change, ...parts } = table;
    const withoutId = ({ id: _, ...member }: { id: string }) => member;
    const columns = parts.columns.map(withoutId);
    const [poet] = parts.relations.map(withoutId);
    const again = (inverse: string | null) =>
      define({ ...parts, name: "plays_again", columns, relations: [{ ...poet, inverse }] });
    expectProblems(await again("plays"), "relations[0].inverse");
    expect((await again(null)).status).toBe(201);
  });

  it("shows nothing of where the data lies", async () => {
    const { body } = await admin.get("/svc_table", { limit: "0" });
    expect(JSON.stringify(body)).not.toMatch(/storage|collection|"state"|making/);
    expect((await admin.get("/svc_table", { fields: "storage" })).status).toBe(400);
    expect((await admin.get("/svc_table", { filter: { state: "ready" } })).status).toBe(400);
  });

  it("is listed, filtered, sorted and counted by the query language", async () => {
    const { body } = await admin.get("/svc_table", {
      fields: "name",
      filter: { name: { _in: ["poems", "authors", "nope"] } },
      sort: "-name",
      meta: "filterCount",
    });
    expect(body).toMatchObject({ data: [{ name: "poems" }, { name: "authors" }], meta: { filterCount: 2 } });
  });

  it("honours fields in the answer of a create", async () => {
    const { body } = await admin.post("/svc_table", { name: "shaped" }, { fields: "name" });
    expect(body.data).toEqual([{ name: "shaped" }]);
  });

  it("of an unknown id is 404", async () => {
    expect((await admin.get("/svc_table/0123456789abcdef01234567")).status).toBe(404);
  });

  it("is closed to anonymous callers", async () => {
    const anyone = apiOf(`${stack.appUrl}/api`);
    expect((await anyone.post("/svc_table", { name: "anonymous" })).status).toBe(401);
    expect((await anyone.get("/svc_table")).status).toBe(401);
    expect((await admin.get("/anonymous")).status).toBe(404);
  });
});
