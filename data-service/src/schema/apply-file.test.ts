// Schema files against a database, where the moment matters: what they do at a start is in test/flow/schema-file.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { type Db, ObjectId } from "mongodb";
import { type FileTable, readSchemaFile } from "../catalog/schema-file.js";
import { openTestDatabase, type TestDatabase } from "../mongo/database-fixture.js";
import type { Rule } from "../permission/rule.js";
import { makeTables } from "./apply-file.js";
import { applyFile, compareFile } from "./apply-tables-fixture.js";
import { changeTable, undoChange } from "./change-table.js";
import { compareTables } from "./compare-tables.js";
import { makeInstance } from "./instance-fixture.js";

let database: TestDatabase;
let db: Db;

beforeAll(async () => {
  database = await openTestDatabase();
  db = database.db;
});
beforeEach(() => db.dropDatabase());
afterEach(() => void jest.restoreAllMocks());
afterAll(() => database.close());

function fileOf(...tables: readonly object[]): readonly FileTable[] {
  const { tables: read, problems } = readSchemaFile(JSON.stringify({ tables }));
  expect(problems).toEqual([]);
  return read;
}

describe("a schema file that two instances apply at the same moment", () => {
  it("is applied by one of them, and the other finds it applied", async () => {
    const [one, other] = [makeInstance(database), makeInstance(database)];
    const title = { name: "title", type: "string" };
    const status = { name: "status", type: "string", default: "new" };
    await applyFile(one, fileOf({ name: "posts", columns: [title] }));
    await db.collection("posts").insertMany([{ title: "a" }, { title: "b" }, { title: "c" }]);
    const file = fileOf({ name: "posts", columns: [title, status, { name: "note", type: "text" }] });
    /** The first one is done in the moment in which the other, who has compared the file, takes the lock. */
    let first: object | undefined;
    const take: typeof other.changeLock.take = async (holder) => {
      first ??= await applyFile(one, file);
      return other.changeLock.take(holder);
    };
    const late = { ...other, changeLock: { ...other.changeLock, take } };
    expect(await applyFile(late, file)).toEqual([]);
    expect(first).toMatchObject([
      { name: "posts", changes: ["column.add columns.status", "column.add columns.note"] },
    ]);
    const [definition] = await one.catalogStore.load();
    // Made twice, the columns would lie in other fields than at first.
    expect(Object.values(definition?.storage.fields ?? {})).toEqual(["title", "status", "note"]);
    expect(await db.collection("posts").countDocuments({ status: "new" })).toBe(3);
    expect(await db.collection("_changes").countDocuments()).toBe(2);
  });
});

describe("two schema files that two instances apply at the same moment", () => {
  const title = { name: "title", type: "string" };
  const size = { name: "size", type: "int" };

  it.each([
    ["nothing else", {}],
    ["something else", { description: "changed" }],
  ])(
    "the later one, which changes %s, removes nothing that the other has just added",
    async (_what, more) => {
      const [one, other] = [makeInstance(database), makeInstance(database)];
      await applyFile(one, fileOf({ name: "posts", columns: [title] }));
      const file = fileOf({ name: "posts", columns: [title], ...more });
      const compared = await compareTables(one, file);
      await applyFile(other, fileOf({ name: "posts", columns: [title, size] }));
      await expect(makeTables(one, file, compared, true)).rejects.toMatchObject({
        code: "CONFLICT",
        message: expect.stringContaining("column.remove columns.size"),
      });
      const [posts] = await one.catalogStore.load();
      expect(posts?.columns.map(({ name }) => name)).toEqual(["title", "size"]);
      expect(await compareFile(one, file)).toMatchObject([
        { changes: expect.arrayContaining(["column.remove columns.size"]) },
      ]);
    },
  );
});

describe("a schema file with a new table, while another table is being changed", () => {
  /** An instance whose look at the lock takes a minute, and finds it held so often. */
  function whileLocked(times: number) {
    const deps = makeInstance(database);
    const now = performance.now.bind(performance);
    let [looks, late] = [0, 0];
    jest.spyOn(performance, "now").mockImplementation(() => now() + late);
    const holder: typeof deps.changeLock.holder = async () => {
      late += 60_000;
      looks += 1;
      if (looks > times) return deps.changeLock.holder();
      expect(await deps.catalogStore.making()).toEqual([]);
      return { change: "c", instance: "other", published: false };
    };
    return { ...deps, changeLock: { ...deps.changeLock, holder } };
  }
  const file = fileOf({ name: "notes" });
  const names = async () => (await makeInstance(database).catalogStore.load()).map(({ name }) => name);

  it("waits for it as a change would, and has not taken the name meanwhile", async () => {
    await applyFile(whileLocked(4), file);
    expect(await names()).toEqual(["notes"]);
  });

  it("gives up after five minutes", async () => {
    await expect(applyFile(whileLocked(9), file)).rejects.toMatchObject({ code: "CONFLICT" });
    expect(await names()).toEqual([]);
  });
});

describe("the id of a member of another table", () => {
  const [customer, number] = ["0190163d8694739baea50001", "0190163d8694739baea50002"];
  const people = { name: "people" };
  const orders = {
    name: "orders",
    columns: [{ id: number, name: "number", type: "int" }],
    relations: [
      {
        id: customer,
        name: "customer",
        type: "many-to-one",
        table: "people",
        inverse: "orders",
        counted: true,
      },
    ],
  };

  it.each([
    ["is there", [people, orders]],
    ["comes with the file", []],
  ])("is refused by a file where that table %s, and nothing is changed", async (_case, before) => {
    const deps = makeInstance(database);
    await applyFile(deps, fileOf(...before));
    const refunds = {
      ...orders,
      name: "refunds",
      relations: [{ ...orders.relations[0], inverse: "refunds" }],
    };
    const differences = await applyFile(deps, fileOf(people, orders, refunds));
    const { problems, confirmable } = differences.find(({ name }) => name === "refunds") ?? {};
    expect({ problems, confirmable }).toEqual({
      problems: [
        'columns[0].id: is that of "orders.number"; leave the id out for a new one',
        'relations[0].id: is that of "orders.customer"; leave the id out for a new one',
      ],
      confirmable: false,
    });
    const names = (await deps.catalogStore.load()).map(({ name }) => name);
    expect(names).toEqual(before.map(({ name }) => name));
  });

  it("that another table was given since does not come back with an undo", async () => {
    const deps = makeInstance(database);
    await applyFile(deps, fileOf(people, orders));
    await db.collection("orders").insertOne({ number: 1 });
    const id = (await deps.catalogStore.load()).find(({ name }) => name === "orders")?.id ?? "";
    const hash = await changeTable(deps, id, { columns: [] }, undefined).then(
      () => "",
      ({ details }) => details.confirmHash,
    );
    await (await changeTable(deps, id, { columns: [] }, hash)).done;
    const refunds = fileOf({ name: "refunds", columns: orders.columns });
    await applyFile(deps, refunds);
    expect(await compareFile(deps, refunds)).toEqual([]);
    await expect(undoChange(deps, id)).rejects.toMatchObject({
      code: "CONFLICT",
      messages: ['the id of "number" is now used by "refunds.number"'],
    });
  });
});

describe("a schema file with a member that was removed and is kept for an undo", () => {
  const cost = { id: "0190163d8694739baea50003", name: "cost", type: "int" };
  const tags = { id: "0190163d8694739baea50004", name: "tags", type: "many-to-many", table: "products" };
  const former = fileOf({ name: "products", columns: [cost], relations: [tags] });
  const definition = async () => (await makeInstance(database).catalogStore.load())[0];

  /** The former file is applied, there is such a record, and the members are removed by the next file. */
  async function removedFrom(record: object) {
    const deps = makeInstance(database);
    await applyFile(deps, former);
    await db.collection("products").insertOne(record);
    await applyFile(deps, fileOf({ name: "products" }), true);
    return deps;
  }

  it.each([
    ["columns.cost", "value", { cost: 7, tagsIds: [] }],
    ["relations.tags", "link", { tagsIds: [new ObjectId()] }],
  ])("stops where %s has a %s that no undo could bring back after it", async (where, what, record) => {
    const deps = await removedFrom(record);
    const { id = "" } = (await definition()) ?? {};
    const removal = await deps.changes.lastUndoable(id, new Date(0));
    const day = removal?.at.toISOString().slice(0, 10);
    const problem =
      `${where}: 1 of the records have a ${what} from before it was removed on ${day}, which no undo could bring back any ` +
      `more: it would be made anew, without it; undo the removal and what was changed after it instead to keep it (POST /svc_table/${id}/undo, once for each change)`;
    expect(await applyFile(deps, former)).toMatchObject([{ problems: [problem], confirmable: true }]);
    expect((await definition())?.columns).toEqual([]);
  });

  it("has nothing left to do once the removal is undone, and the values are there", async () => {
    const deps = await removedFrom({ cost: 7 });
    const { id = "" } = (await definition()) ?? {};
    await (await undoChange(deps, id)).done;
    expect(await applyFile(deps, former)).toEqual([]);
    expect((await definition())?.storage.fields[cost.id]).toBe("cost");
  });

  it("makes it anew under its id when that is confirmed, and is not stopped by it again", async () => {
    const deps = await removedFrom({ cost: 7 });
    const changes = ["column.add columns.cost", "relation.add relations.tags"];
    expect(await applyFile(deps, former, true)).toMatchObject([{ changes }]);
    expect((await definition())?.storage.fields[cost.id]).toBe("cost_2");
    // What an undo would bring back now is the later one, which nobody has written.
    await applyFile(deps, fileOf({ name: "products" }), true);
    expect(await compareFile(deps, former)).toMatchObject([{ changes, problems: [] }]);
  });

  it("makes it anew without asking where it had no values, or they can't come back any more", async () => {
    const deps = await removedFrom({ cost: null, tagsIds: [] });
    expect(await compareFile(deps, former)).toMatchObject([{ problems: [] }]);
    await db.collection("products").insertOne({ cost: 7 });
    expect(await compareFile(deps, former)).toMatchObject([{ problems: [expect.any(String)] }]);
    const now = () => new Date(Date.now() + 31 * 24 * 60 * 60 * 1000);
    expect(await compareFile({ ...deps, clock: { ...deps.clock, now } }, former)).toMatchObject([
      { problems: [] },
    ]);
  });

  it("shows the values in documents of others again, without asking", async () => {
    const deps = makeInstance(database);
    const shown = { name: "products", storage: { collection: "products" } };
    await db.collection("products").insertOne({ cost: 7 });
    await applyFile(deps, fileOf({ ...shown, columns: [cost] }));
    await applyFile(deps, fileOf(shown), true);
    expect(await applyFile(deps, fileOf({ ...shown, columns: [cost] }))).toMatchObject([{ problems: [] }]);
    expect((await definition())?.storage.fields[cost.id]).toBe("cost");
  });
});

describe("a schema file that says where data lies", () => {
  const column = { name: "mail", type: "string" };
  const people = (storage: object, ...columns: readonly object[]) =>
    fileOf({ name: "people", storage: { collection: "people", ...storage }, columns });
  const problemsOf = async (file: readonly FileTable[]) => {
    const differences = await applyFile(makeInstance(database), file);
    return differences.flatMap(({ problems }) => problems);
  };
  const fields = async () => (await makeInstance(database).catalogStore.load())[0]?.storage.fields;

  it.each([
    ["that of others", { createdAt: "created_at" }, "created_at"],
    ["their usual one", {}, "createdAt"],
  ])(
    "does not move times that have a field, be it %s, and says where they lie",
    async (_case, storage, field) => {
      expect(await problemsOf(people(storage, column))).toEqual([]);
      const before = await fields();
      expect(
        await problemsOf(people({ createdAt: "made_at" }, column, { name: "more", type: "int" })),
      ).toEqual([
        `storage: the data of "createdAt" lies in the field "${field}", not "made_at", and stays there`,
      ]);
      expect(await fields()).toEqual(before);
      // It may say what is so, and leave it unsaid.
      for (const so of [{ createdAt: field }, {}]) expect(await problemsOf(people(so, column))).toEqual([]);
      expect(await fields()).toEqual(before);
    },
  );

  it("gives new members of a table that has adopted nothing no field, at no start", async () => {
    expect(await problemsOf(fileOf({ name: "people", columns: [column] }))).toEqual([]);
    const address = { name: "address", type: "string", field: "adr" };
    for (const _start of [1, 2])
      expect(await problemsOf(people({}, column, address))).toEqual([
        'storage: "people" is no adopted table; leave out the "field" of "address"',
      ]);
    expect(await problemsOf(people({}, { ...column, field: "mail" }))).toEqual([]);
  });
});

it("a difference says which type a column has, and which it gets", async () => {
  const deps = makeInstance(database);
  const a = { name: "a", type: "string" };
  await applyFile(deps, fileOf({ name: "things", columns: [a, { name: "b", type: "int" }] }));
  const [stored] = await deps.catalogStore.load();
  const [, b] = stored?.columns ?? [];
  const columns = [
    { ...a, type: "text" },
    { id: b?.id, name: "c", type: "bigint" },
  ];
  expect(await compareFile(deps, fileOf({ name: "things", columns }))).toMatchObject([
    {
      changes: [
        "column.change columns.a string -> text",
        'column.change columns.b int -> bigint (renamed to "c")',
      ],
    },
  ]);
});

describe("documents that share a one-to-one link", () => {
  const houses = { name: "houses" };
  const cats = { name: "cats", storage: { collection: "cats" } };
  const home = { name: "home", type: "one-to-one", table: "houses", field: "home" };
  const problems = [
    "relations.home: 2 of the records share their value with another record; make the values different first",
  ];
  beforeEach(async () => {
    const [shared, other] = [new ObjectId(), new ObjectId()];
    await db.collection("cats").insertMany([{ home: shared }, { home: shared }, { home: other }, {}, {}]);
  });

  it("stop a file with it before anything is made", async () => {
    const deps = makeInstance(database);
    const file = fileOf(houses, { ...cats, relations: [home] });
    expect(await applyFile(deps, file)).toMatchObject([
      { name: "houses", problems: [] },
      { name: "cats", problems, confirmable: false },
    ]);
    expect(await deps.catalogStore.load()).toEqual([]);
  });

  it("stop a file with it before anything is changed, where a table shows them already", async () => {
    const deps = makeInstance(database);
    await applyFile(deps, fileOf(houses, cats));
    const described = { ...houses, description: "where they live" };
    const file = fileOf(described, { ...cats, relations: [home] });
    expect(await applyFile(deps, file)).toMatchObject([{ problems: [] }, { name: "cats", problems }]);
    expect((await deps.catalogStore.load()).map(({ description }) => description)).toEqual([null, null]);
  });
});

describe("a schema file that renames tables by their ids", () => {
  const leading = (table: string, inverse = "orders") => [
    { name: "customer", type: "many-to-one", table, inverse },
  ];
  const idsOf = async (deps: ReturnType<typeof makeInstance>) =>
    new Map((await deps.catalogStore.load()).map(({ id, name }) => [name, id]));

  it("renames one that an earlier table of the file leads to", async () => {
    const deps = makeInstance(database);
    const people = { name: "people", columns: [{ name: "name", type: "string" }] };
    await applyFile(deps, fileOf({ name: "orders", relations: leading("people") }, people));
    const before = await idsOf(deps);
    const orders = { id: before.get("orders"), name: "orders", relations: leading("persons") };
    const persons = { ...people, id: before.get("people"), name: "persons", description: "those who order" };
    const file = fileOf(orders, persons);
    const changes = ['table.set name "people" -> "persons"', "table.set description"];
    const expected = [{ name: "persons", changes, problems: [], confirmable: false, looksRenamed: false }];
    expect(await compareFile(deps, file)).toEqual(expected);
    expect(await applyFile(deps, file)).toEqual(expected);
    expect(await compareFile(deps, file)).toEqual([]);
    expect((await idsOf(deps)).get("persons")).toBe(before.get("people"));
  });

  it("renames those first that give their name to others, in whatever order they stand, a new one too", async () => {
    const deps = makeInstance(database);
    await applyFile(deps, fileOf({ name: "a" }, { name: "b" }));
    const before = await idsOf(deps);
    const [a, b] = ["a", "b"].map((name) => before.get(name));
    const file = fileOf({ id: a, name: "b" }, { name: "a", relations: leading("c") }, { id: b, name: "c" });
    const differences = await applyFile(deps, file);
    expect(differences.flatMap(({ problems }) => problems)).toEqual([]);
    const after = await idsOf(deps);
    expect([after.get("b"), after.get("c"), after.size]).toEqual([a, b, 3]);
    expect(await compareFile(deps, file)).toEqual([]);
  });

  it("asks the rules of a table that it renames, too, before anything is changed", async () => {
    const columns = [
      { name: "title", type: "string" },
      { name: "draft", type: "boolean" },
    ];
    const deps = makeInstance(database);
    await applyFile(deps, fileOf({ name: "posts", columns }));
    const before = await idsOf(deps);
    const rule: Rule = {
      id: "r",
      roleId: null,
      table: "posts",
      action: "read",
      filter: { draft: false },
      fields: null,
      presets: null,
      check: null,
    };
    const enabled = async (): Promise<readonly Rule[]> => [rule];
    const ruled = { ...deps, rules: { ...deps.rules, enabled } };
    const file = fileOf({ id: before.get("posts"), name: "articles", columns: columns.slice(0, 1) });
    expect(await applyFile(ruled, file)).toMatchObject([
      {
        name: "articles",
        confirmable: true,
        problems: [expect.stringMatching(/^svc_permission\/r: .*"draft"/)],
      },
    ]);
    expect(await idsOf(deps)).toEqual(before);
  });

  it("says of names that do not become free who has them, and changes nothing", async () => {
    const deps = makeInstance(database);
    await applyFile(deps, fileOf({ name: "a" }, { name: "b" }, { name: "c" }));
    const before = await idsOf(deps);
    const [a, b] = ["a", "b"].map((name) => before.get(name));
    const differences = await applyFile(deps, fileOf({ id: a, name: "b" }, { id: b, name: "c" }));
    expect(differences.map(({ name, problems }) => [name, problems])).toEqual([
      ["b", ['name: there is a table "b" already']],
      ["c", ['name: there is a table "c" already']],
    ]);
    expect(await idsOf(deps)).toEqual(before);
  });
});

describe("a schema file in which a table wants a name that another gives up", () => {
  const x = { name: "x", type: "string" };
  const leading = { name: "b", type: "many-to-one", table: "b", inverse: "x" };

  it("is applied in the order in which that is possible", async () => {
    const deps = makeInstance(database);
    await applyFile(deps, fileOf({ name: "a" }, { name: "b", columns: [x] }));
    const file = fileOf({ name: "a", relations: [leading] }, { name: "b" });
    const possible = { problems: [], confirmable: false };
    const expected = [
      { name: "a", changes: ["relation.add relations.b"], ...possible },
      { name: "b", changes: ["column.remove columns.x"], ...possible },
    ];
    expect(await compareFile(deps, file)).toMatchObject(expected);
    expect(await applyFile(deps, file)).toMatchObject(expected);
    expect(await compareFile(deps, file)).toEqual([]);
  });

  it("is refused where the other keeps it, with what is wrong beside that, and nothing is changed", async () => {
    const deps = makeInstance(database);
    await applyFile(deps, fileOf({ name: "a" }, { name: "b", columns: [x] }));
    const c = { name: "c", description: "changed" };
    const file = fileOf({ name: "a", relations: [leading] }, { name: "b", columns: [x] }, c);
    expect(await applyFile(deps, file)).toMatchObject([
      { name: "a", problems: ['relations[0].inverse: "b" has a "x" already'] },
      { name: "c", problems: [] },
    ]);
    expect((await deps.catalogStore.load()).map(({ name }) => name)).toEqual(["a", "b"]);
  });
});

describe("a schema file with a new table over documents that are there", () => {
  const notes = { name: "notes", columns: [{ name: "text", type: "string" }] };
  const column = (extras: object) => ({ columns: [{ name: "title", type: "string", ...extras }] });
  const names = async (deps: ReturnType<typeof makeInstance>) =>
    (await deps.catalogStore.load()).map(({ name }) => name);

  beforeEach(async () => {
    await db.collection("books").insertMany([{ title: "same" }, { title: "same" }, {}]);
  });

  it.each<[string, object, string, boolean]>([
    ["are not unique", column({ unique: true }), "columns.title: 2 of the records share their value", false],
    ["are too many", { singleton: true }, "singleton: 3 of the records are in the table", false],
    ["others read", { softDelete: true }, "softDelete: other programs would go on seeing", false],
    ["miss a value", column({ required: true }), "columns.title: 1 of the records have no value", true],
  ])("changes nothing where these %s, and says so", async (_what, definition, problem, confirmable) => {
    const deps = makeInstance(database);
    await applyFile(deps, fileOf(notes));
    for (const book of [
      { ...definition, name: "books" },
      { ...definition, name: "shop", storage: { collection: "books" } },
    ]) {
      const file = fileOf({ name: "others" }, { ...notes, description: "changed" }, book);
      const found = (await applyFile(deps, file)).find(({ name }) => name === book.name);
      expect(found).toMatchObject({ changes: ["create"], confirmable });
      expect(found?.problems).toEqual([expect.stringContaining(problem)]);
      expect([await names(deps), await db.collection("_changes").countDocuments()]).toEqual([["notes"], 1]);
    }
  });

  it("makes it where they are not against it, whatever their ids, or when that is confirmed", async () => {
    const deps = makeInstance(database);
    await db.collection<{ _id: number }>("shelves").insertOne({ _id: 7 });
    const shelves = { name: "shelves", idType: "int" };
    const file = fileOf(notes, shelves, { name: "books", ...column({ required: true }) });
    await applyFile(deps, file, true);
    expect(await names(deps)).toEqual(["notes", "shelves", "books"]);
    expect(await compareFile(deps, file)).toEqual([]);
  });

  it("changes nothing where two tables want the same documents", async () => {
    const deps = makeInstance(database);
    const storage = { collection: "books" };
    const differences = await applyFile(
      deps,
      fileOf(notes, { name: "one", storage }, { name: "two", storage }),
    );
    const problem = 'storage.collection: "books" is the collection of the table';
    expect(differences.flatMap(({ problems }) => problems)).toContainEqual(expect.stringContaining(problem));
    expect(await names(deps)).toEqual([]);
  });
});
