// Definitions of tables: what they leave out, and every problem of one that makes no sense (contract 6).
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "@jest/globals";
import type { JsonObject } from "@portico/shared/json";
import { catalog } from "../query/library-fixture.js";
import { buildCatalog } from "./build-catalog.js";
import { checkDefinition } from "./check-definition.js";
import { bareColumn, bareRelation, bareTable } from "./definition-fixture.js";
import { mergeDefinition } from "./merge-definition.js";
import { systemTables } from "./system-tables.js";

function check(body: JsonObject) {
  let ids = 0;
  const newId = (): string => {
    ids += 1;
    return `m${ids}`;
  };
  return checkDefinition(body, { catalog, systemPrefix: "svc_", newId });
}

function problems(body: JsonObject): readonly string[] {
  const checked = check(body);
  if (checked.ok) throw new Error("was accepted");
  return checked.problems;
}

const column = (extras: JsonObject): JsonObject => ({
  name: "t",
  columns: [{ name: "c", type: "string", ...extras }],
});
const relation = (extras: JsonObject): JsonObject => ({
  name: "t",
  relations: [{ name: "r", type: "many-to-one", table: "authors", ...extras }],
});

describe("a definition", () => {
  it("is completed with what it leaves out", () => {
    expect(check({ name: "notes" })).toEqual({
      ok: true,
      definition: {
        id: "m1",
        name: "notes",
        description: null,
        singleton: false,
        idType: "objectId",
        changes: false,
        history: false,
        softDelete: false,
        shardKey: null,
        columns: [],
        relations: [],
        uniques: [],
        indexes: [],
        storage: { collection: "notes", fields: {} },
      },
    });
  });

  it("can't keep deleted records in a collection that other programs use", () => {
    const body = { name: "notes", softDelete: true, storage: { collection: "theirs" } };
    const checked = checkDefinition(body, { catalog, systemPrefix: "svc_", newId: () => "m1", ownIds: true });
    expect(checked).toEqual({
      ok: false,
      problems: ["softDelete: other programs would go on seeing what is deleted in this collection"],
    });
  });

  it("gives every member an id and a field of its own", () => {
    const checked = check({
      name: "notes",
      columns: [
        { name: "authorId", type: "string", required: true, default: "x", rules: { maxLength: 5 } },
        { name: "color", type: "enum", options: { values: ["red", "green"] } },
      ],
      relations: [
        { name: "author", type: "many-to-one", table: "authors", inverse: "notes", required: true },
        { name: "friends", type: "many-to-many", table: "notes" },
      ],
      uniques: [["authorId", "author"]],
      indexes: [["-createdAt", "color"]],
    });
    expect(checked).toMatchObject({
      ok: true,
      definition: {
        columns: [
          {
            id: "m1",
            name: "authorId",
            required: true,
            default: "x",
            rules: { maxLength: 5 },
            hidden: false,
          },
          { id: "m2", name: "color", options: { values: ["red", "green"] }, description: null },
        ],
        relations: [
          {
            id: "m3",
            name: "author",
            inverse: "notes",
            required: true,
            onDelete: "RESTRICT",
            counted: false,
          },
          { id: "m4", name: "friends", inverse: null, onDelete: "SET NULL" },
        ],
        storage: { fields: { m1: "authorId", m2: "color", m3: "authorId_2", m4: "friendsIds" } },
      },
    });
  });

  it("takes null for what is left out", () => {
    const nulls = { description: null, singleton: null, idType: null, columns: null, relations: null };
    expect(check({ name: "notes", ...nulls, uniques: null, indexes: null }).ok).toBe(true);
    expect(check(column({ required: null, default: null, rules: null, options: null })).ok).toBe(true);
  });

  it("takes values as a bare list of options", () => {
    expect(check(column({ type: "enum", options: ["a", "b"] }))).toMatchObject({
      definition: { columns: [{ options: { values: ["a", "b"] } }] },
    });
  });
});

describe("a member's id", () => {
  const A = "a".repeat(24);
  const B = "b".repeat(24);
  const existing = bareTable("t", {
    columns: [bareColumn("a", { id: A })],
    relations: [bareRelation("b", "authors", { id: B })],
    storage: { collection: "t", fields: { [A]: "a", [B]: "bId" } },
  });

  it.each([false, true])("stays with its kind (from a schema file: %s)", (ownIds) => {
    const ids = ["new", "newer"].values();
    const newId = (): string => ids.next().value ?? "none";
    const context = { catalog, systemPrefix: "svc_", newId, existing, ownIds };
    const swapped = {
      name: "t",
      columns: [{ id: B, name: "a", type: "string" }],
      relations: [{ id: A, name: "b", type: "many-to-one", table: "authors" }],
    };
    expect(checkDefinition(swapped, context)).toEqual({
      ok: false,
      problems: [
        "columns[0].id: there is no such member; leave the id out for a new one",
        "relations[0].id: there is no such member; leave the id out for a new one",
      ],
    });
  });
});

describe("a definition that makes no sense is refused with the place and the reason", () => {
  it.each<[body: JsonObject, problem: string]>([
    [{ name: "t", colums: [] }, 'colums: is not known here; did you mean "columns"?'],
    [
      {},
      "name: must begin with a lower-case letter and go on with lower-case letters, digits or _, 63 characters at most",
    ],
    [{ name: "svc_x" }, 'name: must not begin with "svc_", which marks system tables'],
    [{ name: "api" }, 'name: "api" is reserved; choose another name'],
    [{ name: "t", singleton: "yes" }, "singleton: must be true or false, not text"],
    [{ name: "t", description: 5 }, "description: must be text, not a number"],
    [
      { name: "t", idType: "serial" },
      'idType: "serial" is not known; use one of objectId, uuid, int, string, mixed',
    ],
    [{ name: "t", columns: {} }, "columns: must be a list, not an object"],
    [{ name: "t", columns: ["a"] }, "columns[0]: must be an object, not text"],
    [column({ nme: 1 }), 'columns[0].nme: is not known here; did you mean "name"?'],
    [
      column({ name: "_c" }),
      "columns[0].name: must begin with a letter and go on with letters, digits or _, 63 characters at most",
    ],
    [column({ name: "id" }), 'columns[0].name: "id" exists in every table by itself'],
    [
      column({ type: "varchar" }),
      `columns[0].type: "varchar" is not known; use one of string, text, int, bigint, float, decimal, boolean, date, datetime, enum, enumList, json, uuid, objectId`,
    ],
    [
      { name: "t", columns: [{ name: "c" }] },
      "columns[0].type: is missing; use one of string, text, int, bigint, float, decimal, boolean, date, datetime, enum, enumList, json, uuid, objectId",
    ],
    [column({ required: 1 }), "columns[0].required: must be true or false, not a number"],
    [
      column({ required: true, readOnly: true }),
      "columns[0].default: is needed: nobody may write a read-only column, and this one must have a value",
    ],
    [column({ type: "json", unique: true }), "columns[0].unique: json columns can't be unique"],
    [
      column({ type: "enumList", options: ["a"], unique: true }),
      "columns[0].unique: enumList columns can't be unique",
    ],
    [column({ encrypted: true, unique: true }), "columns[0].unique: an encrypted column can't be unique"],
    [
      column({ type: "int", searchable: true }),
      "columns[0].searchable: only string and text columns can be searchable",
    ],
    [
      column({ encrypted: true, searchable: true }),
      "columns[0].searchable: an encrypted column can't be searchable",
    ],
    [column({ type: "int", options: ["a"] }), "columns[0].options: an int column takes no options"],
    [
      column({ type: "enum", options: { values: ["a"], labels: { a: "A" } } }),
      "columns[0].options.labels: is not known here",
    ],
    [
      column({ type: "enum" }),
      'columns[0].options: must be {"values": […]} with 1 to 1000 different texts, none of them empty',
    ],
    [
      column({ type: "enum", options: [] }),
      'columns[0].options: must be {"values": […]} with 1 to 1000 different texts, none of them empty',
    ],
    [
      column({ type: "enum", options: ["a", "a"] }),
      'columns[0].options: must be {"values": […]} with 1 to 1000 different texts, none of them empty',
    ],
    [
      column({ type: "enum", options: ["a", 5] }),
      'columns[0].options: must be {"values": […]} with 1 to 1000 different texts, none of them empty',
    ],
    [
      column({ type: "enum", options: ["a", ""] }),
      'columns[0].options: must be {"values": […]} with 1 to 1000 different texts, none of them empty',
    ],
    [column({ rules: [] }), "columns[0].rules: must be an object, not a list"],
    [
      column({ rules: { min: 1 } }),
      "columns[0].rules.min: is no rule of string columns; they have minLength, maxLength, pattern, format",
    ],
    [column({ type: "boolean", rules: { min: 1 } }), "columns[0].rules.min: is no rule of boolean columns"],
    [column({ type: "int", rules: { min: "1" } }), "columns[0].rules.min: must be a whole number"],
    [column({ type: "int", rules: { min: 5, max: 1 } }), "columns[0].rules.min: is above max"],
    [column({ type: "decimal", rules: { min: "10.0", max: "9.9" } }), "columns[0].rules.min: is above max"],
    [column({ rules: { minLength: -1 } }), "columns[0].rules.minLength: must be a whole number from 0"],
    [column({ rules: { minLength: 5, maxLength: 1 } }), "columns[0].rules.minLength: is above maxLength"],
    [
      column({ type: "enumList", options: ["a"], rules: { minItems: 2, maxItems: 1 } }),
      "columns[0].rules.minItems: is above maxItems",
    ],
    [column({ rules: { format: "phone" } }), "columns[0].rules.format: must be email, url or uuid"],
    [
      column({ rules: { pattern: 5 } }),
      "columns[0].rules.pattern: must be a regular expression of at most 500 characters",
    ],
    [column({ default: 5 }), "columns[0].default: must be text"],
    [
      column({ default: "abc", rules: { maxLength: 2 } }),
      "columns[0].default: must have at most 2 characters",
    ],
    [
      column({ type: "enum", options: ["a"], default: "b" }),
      "columns[0].default: must be one of the column's values",
    ],
    [{ name: "t", relations: [5] }, "relations[0]: must be an object, not a number"],
    [relation({ target: "x" }), "relations[0].target: is not known here"],
    [
      relation({ type: "one-to-many" }),
      'relations[0].type: "one-to-many" is not known; use one of many-to-one, one-to-one, many-to-many',
    ],
    [
      relation({ table: "autors" }),
      'relations[0].table: there is no table "autors"; did you mean "authors"?',
    ],
    [
      { ...relation({ table: null }), name: "notes" },
      "relations[0].table: is required: the name of the table that it leads to",
    ],
    [
      relation({ inverse: "a.b" }),
      "relations[0].inverse: must begin with a letter and go on with letters, digits or _, 63 characters at most",
    ],
    [relation({ inverse: "name" }), 'relations[0].inverse: "authors" has a "name" already'],
    [relation({ inverse: "books" }), 'relations[0].inverse: "authors" has a "books" already'],
    [
      relation({ type: "many-to-many", required: true }),
      "relations[0].required: a many-to-many relation can't be required",
    ],
    [
      relation({ type: "many-to-many", onDelete: "CASCADE" }),
      "relations[0].onDelete: does not apply to many-to-many: the link goes, both records stay",
    ],
    [
      relation({ required: true, onDelete: "SET NULL" }),
      "relations[0].onDelete: a required relation can't become null; use CASCADE or RESTRICT",
    ],
    [
      relation({ onDelete: "cascade" }),
      'relations[0].onDelete: "cascade" is not known; use one of SET NULL, CASCADE, RESTRICT',
    ],
    [relation({ counted: "yes" }), "relations[0].counted: must be true or false, not text"],
    [
      {
        name: "t",
        columns: [
          { name: "a", type: "int" },
          { name: "a", type: "int" },
        ],
      },
      'columns[1].name: "t" has a "a" already',
    ],
    [
      { ...relation({ name: "a" }), columns: [{ name: "a", type: "int" }] },
      'relations[0].name: "t" has a "a" already',
    ],
    [relation({ table: "t", inverse: "r" }), 'relations[0].inverse: "t" has a "r" already'],
    [{ ...column({}), uniques: ["c"] }, "uniques[0]: must be a list of 1 to 16 names"],
    [{ ...column({}), uniques: [[]] }, "uniques[0]: must be a list of 1 to 16 names"],
    [{ ...column({}), uniques: [[["c"]]] }, "uniques[0]: must be a list of 1 to 16 names"],
    [{ ...column({}), indexes: [["c", { toString: 1 }]] }, "indexes[0]: must be a list of 1 to 16 names"],
    [{ name: "t", uniques: [["id"]] }, 'uniques[0]: "id" alone is unique and indexed in every table'],
    [{ name: "t", indexes: [["-id"]] }, 'indexes[0]: "id" alone is unique and indexed in every table'],
    [
      { ...column({}), uniques: [["cc"]] },
      'uniques[0]: "cc" can\'t be used here: it is none of the table\'s own columns and relations; did you mean "c"?',
    ],
    [
      { ...column({}), uniques: [["-c"]] },
      'uniques[0]: "-c" can\'t be used here: it is none of the table\'s own columns and relations; did you mean "c"?',
    ],
    [
      { ...column({ name: "kind" }), indexes: [["state"]] },
      "indexes[0]: \"state\" can't be used here: it is none of the table's own columns and relations",
    ],
    [{ ...column({}), uniques: [["c", "c"]] }, "uniques[0]: names a member more than once"],
    [{ ...column({}), indexes: [["c", "-c"]] }, "indexes[0]: names a member more than once"],
    [
      { ...column({ encrypted: true, name: "secret" }), indexes: [["secret"]] },
      "indexes[0]: \"secret\" can't be used here: an encrypted column can't be compared",
    ],
    [
      { ...column({ type: "json", name: "extra" }), indexes: [["extra"]] },
      'indexes[0]: "extra" can\'t be used here: json columns have no order',
    ],
    [
      { ...column({ type: "enumList", name: "colors", options: ["a"] }), uniques: [["colors"]] },
      "uniques[0]: \"colors\" can't be used here: enumList columns can't be unique",
    ],
    [
      { ...relation({ type: "many-to-many", name: "links" }), indexes: [["links"]] },
      'indexes[0]: "links" can\'t be used here: a many-to-many relation is a list of links',
    ],
    [
      {
        name: "t",
        indexes: [["a", "b"]],
        columns: ["a", "b"].map((name) => ({ name, type: "enumList", options: ["x"] })),
      },
      "indexes[0]: can hold one enumList column at most",
    ],
  ])("%j", (body, problem) => {
    expect(problems(body)).toEqual([problem]);
  });

  it.each(["(", "(?=a)", "\\1", "a{1001}"])("%s is no pattern that runs in linear time", (pattern) => {
    expect(problems(column({ rules: { pattern } }))[0]).toMatch(
      /^columns\[0\]\.rules\.pattern: is not a regular expression in RE2 syntax \(/,
    );
  });

  it("with patterns that become too large, each or together", () => {
    const pattern = (at: number, text: string): JsonObject => ({
      name: `c${at}`,
      type: "string",
      rules: { pattern: text },
    });
    const path = (at: number) => `columns[${at}].rules.pattern`;
    const tooMuch = "is too much: new patterns may have 10000 characters and 100000 steps together";
    const many = (text: string) => Array.from({ length: 60 }, (_, at) => pattern(at, `${text}${at}`));
    const large = "(abcde){1000}".repeat(30);
    expect(problems({ name: "t", columns: [pattern(0, large), pattern(1, "a")] })).toEqual([
      `${path(0)}: has 210002 steps, where x{100} has 100; the most is 5000`,
      `${path(1)}: ${tooMuch}`,
    ]);
    expect(problems({ name: "t", columns: many("x{1000}y{1000}") })[0]).toBe(`${path(50)}: ${tooMuch}`);
    expect(problems({ name: "t", columns: many("a".repeat(300)) })[0]).toBe(`${path(33)}: ${tooMuch}`);
    const alike = Array.from({ length: 300 }, (_, at) => pattern(at, "^.{1,1000}.{1,1000}$"));
    expect(check({ name: "t", columns: alike }).ok).toBe(true);
  });

  it("but not with patterns that the table has already, however large", () => {
    const rules = { pattern: "x{1000}".repeat(6) };
    const existing = { ...bareTable("t"), columns: [{ ...bareColumn("c"), rules }] };
    const again = (name: string) =>
      checkDefinition(
        { name: "t", columns: [{ name, type: "string", rules }] },
        { catalog, systemPrefix: "svc_", newId: () => "m1", existing },
      ).ok;
    expect(again("other")).toBe(true);
  });

  it("and lets go of what became of its patterns", async () => {
    setFlagsFromString("--expose-gc");
    const collect: () => void = runInNewContext("gc");
    const settled = async (): Promise<number> => {
      await new Promise((resolve) => setTimeout(resolve, 10));
      collect();
      return process.memoryUsage().heapUsed / 1024 / 1024;
    };
    const before = await settled();
    for (let each = 0; each < 10; each += 1) {
      const columns = Array.from({ length: 20 }, (_, at) => ({
        name: `c${at}`,
        type: "string",
        default: "x",
        rules: { pattern: `(abc){990}r${each}x${at}|x` },
      }));
      expect(problems({ name: "t", nonsense: 1, columns })).toHaveLength(1);
    }
    expect((await settled()) - before).toBeLessThan(30);
  });

  it("with the first hundred of very many problems, soon", () => {
    const unknown = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`requird${at}`, 1]));
    const began = performance.now();
    const found = problems(column(unknown));
    expect(performance.now() - began).toBeLessThan(2_000);
    expect(found).toHaveLength(101);
    expect(found.at(-1)).toBe("definition: has 49900 more problems");
  });

  it.each<[string, JsonObject, string]>([
    [
      "columns",
      { columns: Array(20_000).fill({ name: "a", type: "string" }) },
      "a table has at most 300 columns and relations",
    ],
    ["uniques", { uniques: Array(40_000).fill(["a", "b"]) }, "a table has at most 56"],
    ["indexes", { indexes: Array(57).fill(["x"]) }, "a table has at most 56"],
  ])("with no more than its length where %s are too many", (key, body, problem) => {
    const began = performance.now();
    expect(problems({ name: "t", ...body })).toEqual([`${key}: ${problem}`]);
    expect(performance.now() - began).toBeLessThan(1_000);
  });

  it("but not with repeated entries that the table has already, however many", () => {
    const many = Array.from({ length: 57 }, () => ["c"]);
    const existing = { ...bareTable("t"), columns: [bareColumn("c")], uniques: many, indexes: many };
    const again = (entries: string[][]) =>
      checkDefinition(
        { name: "t", columns: [{ name: "c", type: "string" }], uniques: many, indexes: entries },
        { catalog, systemPrefix: "svc_", newId: () => "m1", existing },
      );
    expect(again(many).ok).toBe(true);
    expect(again([...many, ["c"]])).toEqual({ ok: false, problems: ["indexes: a table has at most 56"] });
  });

  it("but not with an index of the ids or a link to a closed table that it has already, and no others", () => {
    const relations = [bareRelation("r", "svc_table", { id: "m" }), bareRelation("other", "authors")];
    const indexes = [["id"], ["-id"]];
    const existing = bareTable("t", {
      relations,
      indexes,
      storage: { collection: "t", fields: { m: "rId" } },
    });
    const closed = buildCatalog(0, [bareTable("authors")], systemTables("svc_"));
    const changed = (body: JsonObject) =>
      checkDefinition(mergeDefinition(existing, body), {
        catalog: closed,
        systemPrefix: "svc_",
        newId: () => "m1",
        existing,
      });
    expect(changed({ description: "new", relations: [{ id: "m", name: "renamed" }] })).toMatchObject({
      ok: true,
      definition: { indexes, relations: [{ id: "m", name: "renamed", table: "svc_table" }] },
    });
    const nothing = 'nothing can link to "svc_table"';
    const more = [
      { id: "m" },
      { id: "other", table: "svc_table" },
      { ...relations[0], id: null, name: "new" },
    ];
    expect(changed({ relations: more, uniques: [["id"]] })).toEqual({
      ok: false,
      problems: [
        `relations[1].table: ${nothing}`,
        `relations[2].table: ${nothing}`,
        'uniques[0]: "id" alone is unique and indexed in every table',
      ],
    });
  });

  it("with every problem it has, not only the first", () => {
    const body = {
      name: "Bad Name",
      color: 1,
      columns: [
        { name: "id", type: "int", options: ["a"] },
        { name: "b", type: "nope" },
      ],
      relations: [{ name: "r", type: "many-to-one" }],
      indexes: [["nope"]],
    };
    expect(problems(body).map((problem) => problem.split(":")[0])).toEqual([
      ...["color", "name", "columns[0].name", "columns[0].options", "columns[1].type"],
      ...["relations[0].table", "indexes[0]"],
    ]);
    expect(problems({ name: 5 })[0]).toBe("name: must be text, not a number");
    expect(problems({ relations: [{ name: "r", type: "many-to-one" }] })).toHaveLength(2);
  });

  it("beyond 300 members", () => {
    const columns = Array.from({ length: 301 }, (_, at) => ({ name: `c${at}`, type: "int" }));
    expect(check({ name: "t", columns: columns.slice(1) }).ok).toBe(true);
    expect(problems({ name: "t", columns })).toEqual([
      "columns: a table has at most 300 columns and relations",
    ]);
  });
});

describe("a field named as what every object has", () => {
  const column = { id: "m", name: "maker", type: "string", field: "constructor" };
  const file = { name: "shapes", storage: { collection: "shapes" } };
  const context = { catalog, systemPrefix: "svc_", newId: () => "m1", ownIds: true };

  it("is refused where no member has it", () => {
    const { id: _id, ...unknown } = column;
    expect(checkDefinition({ ...file, columns: [unknown] }, context)).toEqual({
      ok: false,
      problems: ['storage: the field "constructor" has a name that every JavaScript object has'],
    });
  });

  it("stays that of a member to which an earlier version has given it", () => {
    const storage = { collection: "shapes", adopted: true, fields: { m: "constructor" } };
    const existing = bareTable("shapes", { columns: [bareColumn("maker", { id: "m" })], storage });
    const checked = checkDefinition({ ...file, columns: [column] }, { ...context, existing });
    expect(checked).toMatchObject({ ok: true, definition: { storage } });
  });
});
