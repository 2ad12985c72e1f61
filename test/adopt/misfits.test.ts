// What another program may leave in an adopted collection where a single value belongs. MongoDB compares with each member
// of a list, and knows ids of every kind; none of that may make Portico find, change or delete what it should not.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import {
  Binary,
  type Collection,
  Decimal128,
  type Document,
  Long,
  MongoClient,
  ObjectId,
  Timestamp,
  UUID,
} from "mongodb";
import type { Row } from "../contract/records/make.js";
import { type Answer, type Api, apiOf, asAdmin, type Query, search } from "../support/api.js";
import { CHANGES, openEvents } from "../support/event-source.js";
import { type Stack, startStack } from "../support/stack.js";
import { until } from "../support/wait.js";

let stack: Stack;
let client: MongoClient;
let admin: Api;

beforeAll(async () => {
  stack = await startStack();
  client = await MongoClient.connect(stack.mongodbUrl);
  admin = await asAdmin(stack);
});
afterAll(async () => {
  await client.close();
  await stack.stop();
});

const collection = (name: string): Collection<Document> => client.db().collection<Document>(name);

/** Leaves documents there, in the place of all others. */
async function leave(name: string, documents: readonly Document[]): Promise<void> {
  await collection(name).deleteMany({});
  await collection(name).insertMany([...documents]);
}

/** Makes a table of a collection that holds documents already. */
async function adopt(definition: object): Promise<void> {
  const { status, body } = await admin.post("/svc_table", definition);
  expect([status, body.message]).toEqual([201, "Success"]);
}

async function data(path: string, query: Query = {}): Promise<Row[]> {
  const { status, body } = await admin.get(path, query);
  expect([status, body.message]).toEqual([200, "Success"]);
  return body.data;
}

const idsOf = async (path: string, query: Query = {}): Promise<unknown[]> =>
  (await data(path, { limit: "0", sort: "id", ...query })).map(({ id }) => id);

const stored = (name: string, field: string): Promise<unknown[]> =>
  collection(name)
    .find({}, { sort: { _id: 1 } })
    .map((document) => document[field])
    .toArray();

describe("a list where a single link belongs", () => {
  const BOTH = [1, 2];
  const links = [
    { name: "author", onDelete: "SET NULL", counted: true, inverse: "books" },
    { name: "owner", onDelete: "CASCADE", inverse: "owned" },
    { name: "keeper", onDelete: "RESTRICT", inverse: "kept" },
  ];
  const FIELDS = links.map(({ name }) => `${name}Id`);
  const linked = (to: unknown): Document => Object.fromEntries(FIELDS.map((field) => [field, to]));

  beforeAll(async () => {
    await leave("writers", [{ _id: 1 }]);
    await adopt({ name: "writers", idType: "int", columns: [{ name: "name", type: "string" }] });
    await leave("books", [{ _id: 10 }]);
    const relations = links.map((each) => ({ type: "many-to-one", table: "writers", ...each }));
    await adopt({ name: "books", idType: "int", columns: [{ name: "title", type: "string" }], relations });
  });
  beforeEach(async () => {
    await leave("writers", [
      { _id: 1, name: "Ann" },
      { _id: 2, name: "Bob" },
    ]);
    await leave("books", [
      { _id: 10, authorId: 2 },
      { _id: 11, ...linked(BOTH) },
      { _id: 12, ...linked([null]) },
    ]);
  });

  it("is shown as it is, and leads nowhere", async () => {
    expect(await data("/books/11", { fields: "author" })).toEqual([{ author: { id: BOTH } }]);
    const none = { author: null };
    expect(await data("/books/11", { fields: "author.name" })).toEqual([none]);
    const bob = { author: { id: 2, name: "Bob" } };
    expect(await data("/books", { fields: "author.name", sort: "id" })).toEqual([bob, none, none]);
    expect(await data("/writers/1", { fields: "books.id" })).toEqual([{ books: [] }]);
    const books = [{ books: [] }, { books: [{ id: 10 }] }];
    expect(await data("/writers", { fields: "books.id", sort: "id", limit: "2" })).toEqual(books);
    expect(await data("/writers", { fields: "books.id", sort: "id", limit: "3" })).toEqual(books);
  });

  it("satisfies no filter, in neither direction, and is no link for one either", async () => {
    for (const author of [{ name: "Ann" }, { id: 1 }, { id: { _in: [1, 2] } }, { id: { _lt: 3 } }]) {
      const found = await idsOf("/books", { filter: { _or: [{ author }, { _not: { author } }] } });
      expect({ author, found }).toEqual({ author, found: [10] });
    }
    expect(await idsOf("/books", { filter: { author: { _is_not_null: true } } })).toEqual([10]);
    // Not even where there is none: a rule for records of nobody must not let it pass.
    expect(await idsOf("/books", { filter: { author: null } })).toEqual([]);
    expect(await idsOf("/books", { filter: { author: { id: { _neq: 9 } } } })).toEqual([10]);
    expect(await idsOf("/writers", { filter: { books: { title: null } } })).toEqual([2]);
    expect(await idsOf("/writers", { filter: { owned: { _is_not_null: true } } })).toEqual([]);
    expect(await idsOf("/writers", { filter: { owned: { id: { _in: [11, 12] } } } })).toEqual([]);
    expect(await idsOf("/books", { sort: "-author.name,id" })).toEqual([10, 11, 12]);
    expect(await idsOf("/writers", { sort: "-_max(owned.id),id" })).toEqual([1, 2]);
    expect(await idsOf("/writers", { sort: "-_count(kept),id" })).toEqual([1, 2]);
  });

  it("is not counted", async () => {
    const counts = await data("/writers", { fields: "_count(books),_count(owned)", sort: "id" });
    expect(counts.map(({ _count }) => _count)).toEqual([
      { books: 0, owned: 0 },
      { books: 0, owned: 0 },
    ]);
    expect((await admin.delete("/books/11")).status).toBe(200);
    const [ann] = await data("/writers/1", { fields: "_count(books)" });
    expect(ann).toEqual({ _count: { books: 0 } });
  });

  it("blocks no delete of what it names, is not let go of by it, and does not go along", async () => {
    expect((await admin.delete("/writers/1")).status).toBe(200);
    for (const field of FIELDS)
      expect(await stored("books", field)).toEqual([field === "authorId" ? 2 : undefined, BOTH, [null]]);
    expect((await admin.delete("/writers/2")).status).toBe(200);
    expect(await stored("books", "authorId")).toEqual([undefined, BOTH, [null]]);
  });

  it("is left alone by links that are set from the other side, unless they name its record", async () => {
    for (const name of ["books", "owned"])
      expect((await admin.patch("/writers/1", { [name]: [] })).status).toBe(200);
    expect((await admin.patch("/writers/1", { books: [10] })).status).toBe(200);
    expect(await stored("books", "authorId")).toEqual([1, BOTH, [null]]);
    expect(await stored("books", "ownerId")).toEqual([undefined, BOTH, [null]]);
    expect((await admin.patch("/writers/1", { books: [11] })).status).toBe(200);
    expect(await stored("books", "authorId")).toEqual([undefined, 1, [null]]);
    expect((await admin.patch("/writers/2", { owned: [11, 12] })).status).toBe(200);
    expect(await stored("books", "ownerId")).toEqual([undefined, 2, 2]);
  });
});

describe("an id of another kind than those of its table", () => {
  const oid = (at: number): ObjectId => new ObjectId(at.toString(16).padStart(24, "0"));
  const uuid = (at: number): UUID => new UUID(`0190163d-8694-739b-aea5-${String(at).padStart(12, "0")}`);
  const all = { filter: { id: { _is_not_null: true } } };
  const columns = [{ name: "title", type: "string" }];
  const titles = (name: string): Promise<unknown[]> => stored(name, "title");
  const told = ({ status, body }: Answer) => [status, body.meta?.matched, body.meta?.changed];

  /** Ids in their order in the database; every record has its number for a title. */
  const KINDS: [idType: string, ids: unknown[], changed: unknown[]][] = [
    ["int", [1.5, 5, "5", oid(5)], [0, "new", 2, 3]],
    ["objectId", [5, String(oid(1)), "import-17", oid(1), oid(2)], [0, 1, 2, "new", "new"]],
    ["uuid", [String(uuid(1)), new Binary(uuid(1).buffer, 0), uuid(1)], [0, 1, "new"]],
    ["string", [5, "", "5", "a/b", oid(5)], [0, "new", "new", "new", 4]],
    ["mixed", [5, "5", { a: 1 }, oid(5), true], ["new", "new", "new", "new", 4]],
  ];

  it.each(KINDS)("is left alone by changes and deletes of many: %s", async (idType, ids, changed) => {
    const name = `ids_${idType.toLowerCase()}`;
    await leave(
      name,
      ids.map((_id, title) => ({ _id, title: String(title) })),
    );
    await adopt({ name, idType, columns });
    expect((await idsOf(`/${name}`)).length).toBe(ids.length);
    const count = changed.filter((each) => each === "new").length;
    const dry = await admin.patch(`/${name}`, { title: "new" }, { ...all, dryRun: "true" });
    expect(told(dry)).toEqual([200, count, 0]);
    const answer = await admin.patch(`/${name}`, { title: "new" }, all);
    expect(told(answer)).toEqual([200, count, count]);
    expect(await titles(name)).toEqual(changed.map(String));
    expect(told(await admin.delete(`/${name}${search(all)}`))).toEqual([200, count, count]);
    expect(await titles(name)).toEqual(changed.filter((each) => each !== "new").map(String));
  });
});

describe("a record with an id of another kind that links to others", () => {
  const [named, other] = [new ObjectId("a".repeat(24)), new ObjectId("b".repeat(24))];
  const toOne = (name: string, table: string, onDelete: string): Row => {
    return { name, type: "many-to-one", table, onDelete, inverse: null };
  };

  beforeAll(async () => {
    await leave("keepers", [{ _id: 1 }]);
    await adopt({ name: "keepers", idType: "int" });
    await leave("tomes", [{ _id: named }]);
    const relations = [toOne("keeper", "keepers", "RESTRICT"), toOne("owner", "keepers", "CASCADE")];
    await adopt({ name: "tomes", idType: "objectId", relations });
    await leave("leaves", [{ _id: 1 }]);
    await adopt({ name: "leaves", idType: "int", relations: [toOne("tome", "tomes", "CASCADE")] });
    await leave("keepers", [{ _id: 1 }, { _id: 2 }, { _id: 3 }]);
  });

  it("blocks a delete, alone and before others", async () => {
    await leave("tomes", [
      { _id: "import-17", keeperId: 1 },
      { _id: other, keeperId: 1 },
      { _id: "import-18", keeperId: 2 },
    ]);
    for (const id of [1, 2]) {
      const { status, body } = await admin.delete(`/keepers/${id}`);
      expect([status, body.message]).toEqual([409, expect.stringMatching(/^Records of "tomes" still link/)]);
    }
  });

  it("takes nothing along that belongs to the record of which it has the text", async () => {
    await leave("tomes", [
      { _id: String(named), ownerId: 3 },
      { _id: named, ownerId: 1 },
    ]);
    await leave("leaves", [{ _id: 1, tomeId: named }]);
    expect((await admin.delete("/keepers/3")).status).toBe(200);
    expect(await stored("tomes", "_id")).toEqual([String(named), named]);
    expect(await stored("leaves", "tomeId")).toEqual([named]);
  });
});

describe("a record whose id is false", () => {
  it("is led to by links of false, and not by missing ones, nulls, lists and patterns", async () => {
    await leave("poets", [{ _id: "ann", name: "Ann" }]);
    await adopt({ name: "poets", idType: "mixed", columns: [{ name: "name", type: "string" }] });
    await leave("poems", [{ _id: 1 }]);
    const relations = [{ name: "poet", type: "many-to-one", table: "poets", inverse: "poems" }];
    await adopt({ name: "poems", idType: "int", relations });
    await leave("poets", [
      { _id: "ann", name: "Ann" },
      { _id: false, name: "Nay" },
    ]);
    const others = [null, [], [false], /x/, {}].map((poetId, at) => ({ _id: at + 2, poetId }));
    await leave("poems", [{ _id: 1 }, ...others, { _id: 8, poetId: "ann" }, { _id: 9, poetId: false }]);
    for (const id of [1, 2, 3, 4, 5, 6])
      expect(await data(`/poems/${id}`, { fields: "poet.name" })).toEqual([{ poet: null }]);
    expect(await data("/poems/9", { fields: "poet.name" })).toEqual([{ poet: { id: "false", name: "Nay" } }]);
    for (const [filter, found] of [
      [{ name: { _contains: "nay" } }, [9]],
      [{ name: { _neq: "Ann" } }, [9]],
      [{ name: { _neq: "Nay" } }, [8]],
    ])
      expect(await idsOf("/poems", { filter: { poet: filter } })).toEqual(found);
    expect(await idsOf("/poems", { sort: "-poet.name,id" })).toEqual([9, 8, 1, 2, 3, 4, 5, 6]);
  });
});

describe("a list where a single value belongs", () => {
  const columns = [
    { name: "text", type: "string" },
    { name: "number", type: "int" },
    { name: "kind", type: "enum", options: { values: ["a", "b"] } },
    { name: "at", type: "datetime" },
  ];
  const time = (day: number): Date => new Date(Date.UTC(2024, 0, day));
  const lists = { text: ["5", "abc"], number: [4, 9], kind: ["a", "b"], at: [time(1), time(9)] };
  const nulls = { text: [null], number: [null, 5], kind: [null], at: [null] };

  beforeAll(async () => {
    await leave("values", [{ _id: 1, text: "5", number: 5, kind: "a", at: time(5) }, { _id: 2 }]);
    await adopt({ name: "values", idType: "int", changes: true, columns });
  });
  beforeEach(async () => {
    await leave("values", [
      { _id: 1, text: "5", number: 5, kind: "a", at: time(5) },
      { _id: 2 },
      { _id: 3, ...lists },
      { _id: 4, ...nulls },
    ]);
  });

  it.each<[string, object, found: number[], others: number[]]>([
    ["is equal", { text: "5" }, [1], []],
    ["is different", { text: { _neq: "x" } }, [1], []],
    ["is one of some", { number: { _in: [4, 5] } }, [1], []],
    ["is none of some", { number: { _not_in: [1, 2] } }, [1], []],
    ["lies between two", { number: { _between: [5, 6] } }, [1], []],
    ["is greater", { number: { _gt: 4 } }, [1], []],
    ["is not less", { at: { _gte: "2024-01-05T00:00:00Z" } }, [1], []],
    ["is an option", { kind: { _eq: "a" } }, [1], []],
    ["begins with a text", { text: { _starts_with: "5" } }, [1], []],
    ["contains a text that others do not", { text: { _contains: "bc" } }, [], [1]],
    ["is null", { text: null, number: null, kind: null, at: { _is_null: true } }, [2], [1, 3, 4]],
    ["is there", { text: { _neq: null }, at: { _is_not_null: true } }, [1, 3, 4], [2]],
  ])(
    "is found neither by what %s nor by the opposite, unless it asks for null",
    async (_what, filter, found, others) => {
      expect(await idsOf("/values", { filter })).toEqual(found);
      expect(await idsOf("/values", { filter: { _not: filter } })).toEqual(others);
      expect((await admin.get("/values", { filter, meta: "filterCount" })).body.meta).toEqual({
        filterCount: found.length,
      });
    },
  );

  it.each(["_contains", "_starts_with", "_ends_with", "_lt"])(
    "is found as little as a value of another type by %s, and by the opposite",
    async (operator) => {
      await leave("values", [
        { _id: 1, text: "x" },
        { _id: 2, text: "b" },
        { _id: 3, text: 7 },
        { _id: 4, text: time(1) },
        { _id: 5, text: { x: "b" } },
        { _id: 6, text: ["x"] },
        { _id: 7 },
      ]);
      const filter = { text: { [operator]: operator === "_lt" ? "c" : "b" } };
      expect(await idsOf("/values", { filter })).toEqual([2]);
      expect(await idsOf("/values", { filter: { _not: filter } })).toEqual([1]);
    },
  );

  it("is not changed or deleted by what asks for one of its members", async () => {
    const filter = { number: { _in: [4, 5, 9] } };
    expect((await admin.patch("/values", { text: "new" }, { filter })).body.meta.changed).toBe(1);
    expect(await stored("values", "text")).toEqual(["new", undefined, lists.text, [null]]);
    expect((await admin.delete(`/values${search({ filter })}`)).body.meta.changed).toBe(1);
    expect(await stored("values", "number")).toEqual([undefined, lists.number, [null, 5]]);
  });

  it("keeps its record out of rules and of live changes that ask for one of its members", async () => {
    const rule = { role: null, table: "values", action: "read", filter: { kind: "a" } };
    expect((await admin.post("/svc_permission", rule)).status).toBe(201);
    const anyone = apiOf(`${stack.appUrl}/api`);
    expect((await anyone.get("/values", { sort: "id", fields: "id" })).body.data).toEqual([{ id: 1 }]);
    const url = `${stack.appUrl}/api/values/changes${search({ fields: "id" })}`;
    const source = await openEvents(url, {});
    for (const id of [3, 1])
      expect((await admin.patch(`/values/${id}`, { text: "changed" })).status).toBe(200);
    const changes = () => source.told.filter(({ event }) => CHANGES.includes(event));
    await until(changes, (told) => told.length > 0);
    source.close();
    expect(changes().map(({ data: { id } }) => id)).toEqual([1]);
  });
});

describe("a time of day where a day belongs", () => {
  it("is shown as it is, and is not found as that day", async () => {
    const [midnight, noon] = ["2024-05-31T00:00:00.000Z", "2024-05-31T12:00:00.000Z"] as const;
    await leave("births", [
      { _id: 1, day: new Date(midnight) },
      { _id: 2, day: new Date(noon) },
    ]);
    await adopt({ name: "births", idType: "int", columns: [{ name: "day", type: "date" }] });
    expect(await data("/births", { fields: "id,day", sort: "id" })).toEqual([
      { id: 1, day: "2024-05-31" },
      { id: 2, day: noon },
    ]);
    expect(await idsOf("/births", { filter: { day: "2024-05-31" } })).toEqual([1]);
    // The range of a day goes by the time, as the order does.
    expect(await idsOf("/births", { filter: { day: { _gt: "2024-05-31" } } })).toEqual([2]);
    expect(await idsOf("/births", { filter: { day: { _lt: "2024-06-01" } } })).toEqual([1, 2]);
  });

  it("is told of, and becomes the day, where the column is encrypted; what is no time becomes null", async () => {
    const noon = new Date("2024-05-31T12:00:00.000Z");
    await leave("deaths", [
      { _id: 1, day: new Date("2024-05-31") },
      { _id: 2, day: noon },
      { _id: 3, day: "x" },
    ]);
    await adopt({ name: "deaths", idType: "int", columns: [{ name: "day", type: "date" }] });
    const [{ id, columns }] = await data("/svc_table", { filter: { name: "deaths" } });
    const change = (different: object, query: Query = {}) =>
      admin.patch(`/svc_table/${id}`, { columns: [{ ...columns[0], ...different }] }, query);
    const early = await change({ rules: { max: "2024-05-30" } });
    expect([early.status, early.body.message]).toEqual([
      409,
      ["columns.day: 2 of the records have a value that breaks the new rules"],
    ]);
    const asked = await change({ encrypted: true });
    expect([asked.status, asked.body.message]).toEqual([
      409,
      [
        expect.stringMatching(/^columns\.day: 3 of the records are documents in which other programs keep/),
        "columns.day: 2 of the records have a value that does not fit (1 becomes null, 1 changes)",
      ],
    ]);
    const confirm = String(asked.body.error.details.confirmHash);
    expect((await change({ encrypted: true }, { confirm })).status).toBe(200);
    const days = async () => (await data("/deaths", { fields: "day", sort: "id" })).map(({ day }) => day);
    expect(await days()).toEqual(["2024-05-31", "2024-05-31", null]);
    expect((await admin.post(`/svc_table/${id}/undo`)).status).toBe(200);
    expect(await days()).toEqual(["2024-05-31", noon.toISOString(), "x"]);
    expect(await stored("deaths", "day")).toEqual([new Date("2024-05-31"), noon, "x"]);
  });
});

describe("texts among numbers, and numbers among truth values", () => {
  beforeAll(async () => {
    await leave("tallies", [
      { _id: 1, number: 5, is: true },
      { _id: 2, number: "many", is: 1 },
      { _id: 3, number: "", is: 0 },
      { _id: 4, number: { a: 1 }, is: "yes" },
    ]);
    const columns = [
      { name: "number", type: "float" },
      { name: "is", type: "boolean" },
    ];
    await adopt({ name: "tallies", idType: "int", columns });
  });

  const change = async (
    name: string,
    different: object,
  ): Promise<{ ask: Answer; confirm: () => Promise<Answer> }> => {
    const [{ id, columns }] = await data("/svc_table", { filter: { name: "tallies" } });
    const body = {
      columns: columns.map((each: Row) => (each.name === name ? { ...each, ...different } : each)),
    };
    const ask = await admin.patch(`/svc_table/${id}`, body);
    const confirm = () =>
      admin.patch(`/svc_table/${id}`, body, { confirm: ask.body.error.details.confirmHash });
    return { ask, confirm };
  };
  const valuesOf = async (name: string): Promise<unknown[]> =>
    (await data("/tallies", { fields: name, sort: "id" })).map((row) => row[name]);

  it("break no rule of numbers, and become null in a column of whole ones", async () => {
    const { ask: ruled } = await change("number", { rules: { max: 4 } });
    expect([ruled.status, ruled.body.message]).toEqual([
      409,
      ["columns.number: 1 of the records have a value that breaks the new rules"],
    ]);
    const { ask, confirm } = await change("number", { type: "int" });
    expect(ask.body.message).toContain(
      "columns.number: 3 of the records have a value that does not fit (3 become null)",
    );
    expect((await confirm()).status).toBe(200);
    expect(await valuesOf("number")).toEqual([5, null, null, null]);
  });

  it("are the numbers that they are once the column is one of numbers", async () => {
    const { ask, confirm } = await change("is", { type: "int" });
    expect(ask.body.message).toContain(
      "columns.is: 1 of the records have a value that does not fit (1 becomes null)",
    );
    expect((await confirm()).status).toBe(200);
    expect(await valuesOf("is")).toEqual([1, 1, 0, null]);
  });
});

describe("an aggregate over a column whose type can't hold all that is there", () => {
  const NUMBERS = ["int", "float", "decimal", "bigint"] as const;
  const OTHERS = ["day", "at", "text", "key", "on"] as const;
  const [first, last] = [new UUID(`${"0".repeat(31)}1`), new UUID("f".repeat(32))];
  const [begin, end] = [new Date("2024-01-01"), new Date("2024-05-31")];
  const numbers = [5, 3, Number.NaN, Number.POSITIVE_INFINITY, "9", [9], true, { n: 9 }];
  const times = [end, begin, 5, "2025", [end], true, { n: end }, new Timestamp({ t: 1, i: 1 })];
  const texts = ["a", "b", 5, ["c"], true, end, { n: "c" }, first];
  const keys = [first, last, new Binary(Buffer.alloc(17)), "z", 5, [first], true, end];
  const flags = [false, false, 5, "true", [true], end, { n: true }, first];
  const document = (at: number): Document => ({
    _id: at,
    day: times[at],
    at: times[at],
    text: texts[at],
    key: keys[at],
    on: flags[at],
    ...Object.fromEntries(NUMBERS.map((name) => [name, numbers[at]])),
  });

  it("takes the values that it can hold, and counts all", async () => {
    await leave("measures", [...numbers.map((_each, at) => document(at)), { _id: 8 }]);
    // JavaScript has no such time.
    const beyond = { $toDate: Long.fromString("8640000000000001") };
    await collection("measures").updateOne({ at: 5 }, [{ $set: { at: beyond } }]);
    const columns = [
      ...NUMBERS.map((type) => ({ name: type, type })),
      { name: "day", type: "date" },
      { name: "at", type: "datetime" },
      { name: "text", type: "string" },
      { name: "key", type: "uuid" },
      { name: "on", type: "boolean" },
    ];
    await adopt({ name: "measures", idType: "int", columns });
    const extremes = { count: true, min: true, max: true };
    const aggregate = Object.fromEntries([
      ...NUMBERS.map((name) => [name, { ...extremes, sum: true, avg: true }]),
      ...OTHERS.map((name) => [name, extremes]),
    ]);
    const { body } = await admin.get("/measures", { aggregate, limit: "1" });
    const [asNumbers, asTexts] = [
      { count: 8, min: 3, max: 5, sum: 8, avg: 4 },
      { count: 8, min: "3", max: "5", sum: "8", avg: "4" },
    ];
    expect([body.message, body.meta?.aggregate]).toEqual([
      "Success",
      {
        int: asNumbers,
        float: asNumbers,
        decimal: asTexts,
        bigint: asTexts,
        day: { count: 8, min: "2024-01-01", max: "2024-05-31" },
        at: { count: 8, min: begin.toISOString(), max: end.toISOString() },
        text: { count: 8, min: "a", max: "b" },
        key: { count: 8, min: String(first), max: String(last) },
        on: { count: 8, min: false, max: false },
      },
    ]);
  });
});

describe("a clone of an id, as JavaScript makes it, and a pattern where a link belongs", () => {
  const CLONE = "a clone";
  const PATTERN = /n|b/;
  /** The driver writes no such object, but programs with other versions of it have. */
  const clone = {
    $arrayToObject: {
      $literal: [
        ["_bsontype", "ObjectId"],
        ["id", "x"],
      ],
    },
  };

  async function misfit(): Promise<void> {
    await leave("pets", [
      { _id: CLONE, t: "a" },
      { _id: "a pattern", t: "a", parentId: PATTERN, friendsIds: [PATTERN] },
      { _id: "fits", t: "b", parentId: "bob", friendsIds: ["bob"] },
    ]);
    const cloned = { parentId: clone, friendsIds: [clone], note: clone };
    await collection("pets").updateOne({ t: "a", parentId: null }, [{ $set: cloned }]);
  }

  beforeAll(async () => {
    await leave("owners", [{ _id: "ann" }]);
    await adopt({ name: "owners", idType: "string", columns: [{ name: "name", type: "string" }] });
    await leave("pets", [{ _id: "a" }]);
    await adopt({
      name: "pets",
      idType: "string",
      history: true,
      columns: [
        { name: "t", type: "string" },
        { name: "note", type: "json" },
      ],
      relations: [
        { name: "parent", type: "many-to-one", table: "owners", inverse: "children", counted: true },
        { name: "friends", type: "many-to-many", table: "owners", inverse: "friendly" },
      ],
    });
    await leave(
      "owners",
      ["ann", "bob", "cy"].map((name) => ({ _id: name, name })),
    );
    await misfit();
  });

  it("is shown as it is", async () => {
    const shown = { _bsontype: "ObjectId", id: "x" };
    const [first] = await data("/pets", { fields: "note,parent,friends", sort: "id" });
    expect(first).toEqual({ note: shown, parent: { id: shown }, friends: [] });
    expect(await idsOf("/pets")).toEqual([CLONE, "a pattern", "fits"]);
  });

  it("leads nowhere, in neither direction", async () => {
    const none = { parent: null, friends: [] };
    const bob = { id: "bob", name: "bob" };
    expect(await data("/pets", { fields: "parent.name,friends.name", sort: "id" })).toEqual([
      none,
      none,
      { parent: bob, friends: [bob] },
    ]);
    for (const from of ["children", "friendly"]) {
      const filter = { [from]: { t: "a" } };
      expect([from, await idsOf("/owners", { filter })]).toEqual([from, []]);
      expect([from, await idsOf("/owners", { filter: { _not: filter } })]).toEqual([
        from,
        ["ann", "bob", "cy"],
      ]);
    }
  });

  it("keeps no record from being changed, and its history from being told", async () => {
    const { status } = await admin.patch(`/pets/${encodeURIComponent(CLONE)}`, { t: "c" });
    expect(status).toBe(200);
    const history = await data(`/pets/${encodeURIComponent(CLONE)}/history`);
    expect(history.map(({ changes }) => changes)).toEqual([{ t: { from: "a", to: "c" } }]);
  });

  it("is counted nowhere, and keeps no record from being linked anew and deleted", async () => {
    const counts = async (): Promise<unknown> =>
      data("/owners", { fields: "_count(children)", sort: "id" }).then((all) =>
        all.map(({ _count }) => _count),
      );
    const before = await counts();
    for (const id of [CLONE, "a pattern"].map(encodeURIComponent)) {
      await misfit();
      const body = { parent: "cy", friends: ["ann"], note: 1 };
      expect([id, (await admin.patch(`/pets/${id}`, body)).status]).toEqual([id, 200]);
      expect([id, (await admin.delete(`/pets/${id}`)).status]).toEqual([id, 200]);
      await misfit();
      expect([id, (await admin.delete(`/pets/${id}`)).status]).toEqual([id, 200]);
    }
    expect(await counts()).toEqual(before);
  });
});

describe("a value of another kind in a field that Portico counts the changes in", () => {
  beforeAll(async () => {
    await leave("counts", [{ _id: 0, title: "old" }]);
    const columns = [{ name: "title", type: "string" }];
    const to = { type: "many-to-many", table: "counts", inverse: "from" };
    await adopt({ name: "counts", idType: "int", columns, relations: [{ name: "to", ...to }] });
  });
  beforeEach(() =>
    leave("counts", [
      { _id: 1, title: "old", _record_version: "x" },
      { _id: 2, title: "old", _record_version: { of: 1 } },
      { _id: 3, title: "old" },
    ]),
  );
  const message =
    '"counts": a field in which Portico counts the changes of a record, such as _record_version, holds no number: another program has written it; remove it there.';

  it.each<[string, () => Promise<Answer>]>([
    ["of the record", () => admin.patch("/counts/1", { title: "new" })],
    ["of a record with an object there", () => admin.patch("/counts/2", { title: "new" })],
    [
      "of all that a filter matches",
      () => admin.patch("/counts", { title: "new" }, { filter: { id: { _lt: 3 } } }),
    ],
    ["of its links", () => admin.patch("/counts/1", { to: [3] })],
    ["of its links from their other side", () => admin.patch("/counts/3", { from: [1] })],
  ])("refuses a change %s with what is in the way", async (_which, change) => {
    const { status, body } = await change();
    expect([status, body.message.replace(/; 0 records were changed before$/, ".")]).toEqual([409, message]);
    expect(await stored("counts", "title")).toEqual(["old", "old", "old"]);
  });

  it("lets the record be deleted, and others be changed at the same moment", async () => {
    const changes = await Promise.all([1, 3].map((id) => admin.patch(`/counts/${id}`, { title: "new" })));
    expect(changes.map(({ status }) => status)).toEqual([409, 200]);
    expect((await admin.delete("/counts/1")).status).toBe(200);
    expect(await stored("counts", "title")).toEqual(["old", "new"]);
  });

  it("lets all that a filter matches be deleted", async () => {
    const { status, body } = await admin.send("DELETE", `/counts${search({ filter: { id: { _lt: 3 } } })}`);
    expect([status, body.meta]).toEqual([200, { matched: 2, changed: 2 }]);
  });

  it.each([[[7]], [[]], [null]])("is one even where it is %j", async (_record_version) => {
    await leave("counts", [{ _id: 1, title: "old", _record_version }, { _id: 3 }]);
    const filter = { title: "old" };
    for (const change of [
      () => admin.patch("/counts", { title: "new" }, { filter }),
      () => admin.patch("/counts/1", { to: [3] }),
    ])
      expect((await change()).status).toBe(409);
    const { body } = await admin.send("DELETE", `/counts${search({ filter })}`);
    expect(body.meta).toEqual({ matched: 1, changed: 1 });
  });

  it.each<[string, unknown]>([
    ["a decimal", Decimal128.fromString("7")],
    ["a long", Long.fromNumber(7)],
  ])("is none where it is a number of another kind: %s", async (_which, _record_version) => {
    await leave("counts", [{ _id: 1, title: "old", _record_version }, { _id: 3 }]);
    const etag = (await admin.get("/counts/1")).headers.get("etag");
    expect(etag).toMatch(/^"7-/);
    const many = await admin.patch("/counts", { title: "new" }, { filter: { title: "old" } });
    expect([many.status, many.body.meta]).toEqual([200, { matched: 1, changed: 1 }]);
    const late = await admin.send("PATCH", "/counts/1", {
      body: JSON.stringify({ title: "late" }),
      headers: { "Content-Type": "application/json", "If-Match": String(etag) },
    });
    expect(late.status).toBe(412);
    expect((await admin.patch("/counts/1", { to: [3] })).status).toBe(200);
  });
});
