// A table whose making fails once its collection and its indexes are there.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { AppError } from "@portico/shared/app-error";
import type { JsonObject } from "@portico/shared/json";
import type { Db } from "mongodb";
import { readSchemaFile } from "../catalog/schema-file.js";
import { openTestDatabase, type TestDatabase } from "../mongo/database-fixture.js";
import { CallerChanged } from "../records/acting-for.js";
import { confirming } from "./apply-file.js";
import { applyFile } from "./apply-tables-fixture.js";
import { changeTable, deleteTable, undoChange } from "./change-table.js";
import { createTable, finishInterrupted, type SchemaDeps } from "./create-table.js";
import { makeInstance } from "./instance-fixture.js";
import { makeTable, removeHalfMade } from "./make-table.js";

let database: TestDatabase;
let db: Db;

beforeAll(async () => {
  database = await openTestDatabase();
  db = database.db;
});
beforeEach(() => db.dropDatabase());
afterEach(() => void jest.restoreAllMocks());
afterAll(() => database.close());

/** As when a change of another table does not end for so long that the new one is given up. */
async function giveUp(definition: JsonObject): Promise<void> {
  const deps = makeInstance(database);
  const publish = () => Promise.reject(new AppError("CONFLICT", "Another table is being changed."));
  const failing = { ...deps, catalogStore: { ...deps.catalogStore, publish } };
  await expect(createTable(failing, definition)).rejects.toMatchObject({ code: "CONFLICT" });
}

const uniquesOf = async (): Promise<(string | undefined)[]> =>
  (await db.collection("members").indexes()).filter(({ unique }) => unique === true).map(({ name }) => name);

describe("a table that others have finished, who took its maker for dead", () => {
  const members = { name: "members", columns: [{ name: "email", type: "string" }] };
  /** Finishes what the maker has begun. */
  const others = (): Promise<void> => finishInterrupted(makeInstance(database));

  it("is the maker's own, which drops no index there any more", async () => {
    const maker = makeInstance(database);
    const seen: boolean[] = [];
    const provisionNew: SchemaDeps["provisionNew"] = async (_table, isOurs) => {
      seen.push(await isOurs());
      await others();
      seen.push(await isOurs());
    };
    const id = await createTable({ ...maker, provisionNew }, members);
    expect(seen).toEqual([true, false]);
    expect((await maker.catalogs.refresh()).tables.get("members")?.id).toBe(id);
  });

  it("is no other table of its name, where they were done before it looked again", async () => {
    const maker = makeInstance(database);
    const reserve: SchemaDeps["catalogStore"]["reserve"] = async (...given) => {
      const isReserved = await maker.catalogStore.reserve(...given);
      await others();
      return isReserved;
    };
    const id = await createTable({ ...maker, catalogStore: { ...maker.catalogStore, reserve } }, members);
    expect((await maker.catalogs.refresh()).tables.get("members")?.id).toBe(id);
  });

  it("is taken over by one of them alone", async () => {
    const [maker, one, other] = [makeInstance(database), makeInstance(database), makeInstance(database)];
    const provisionNew = () => Promise.reject(new Error("killed"));
    const release = async (): Promise<void> => {};
    const dying = { ...maker, provisionNew, catalogStore: { ...maker.catalogStore, release } };
    await expect(createTable(dying, members)).rejects.toThrow("killed");
    const making = await maker.catalogStore.making();
    const taken = making.flatMap((each) =>
      [one, other].map(({ catalogStore, presence }) => catalogStore.takeOver(each, presence.id)),
    );
    expect((await Promise.all(taken)).toSorted()).toEqual([false, true]);
  });
});

describe("tables whose making was interrupted", () => {
  it("are finished, also where the making of one of them fails", async () => {
    const [maker, other] = [makeInstance(database), makeInstance(database)];
    const release = async (): Promise<void> => {};
    const provisionNew = () => Promise.reject(new Error("killed"));
    const dying = { ...maker, provisionNew, catalogStore: { ...maker.catalogStore, release } };
    for (const name of ["broken", "members"])
      await expect(createTable(dying, { name })).rejects.toThrow("killed");
    const refusing: SchemaDeps["provisionNew"] = async (table, isOurs) => {
      if (table.name === "broken") throw new Error("the database can't");
      await other.provisionNew(table, isOurs);
    };
    await finishInterrupted({ ...other, provisionNew: refusing });
    expect([...(await other.catalogs.refresh()).tables.keys()]).toEqual(["members"]);
    expect(await other.catalogStore.making()).toEqual([]);
  });
});

describe("a new table of the name of one that was given up", () => {
  const columns = [
    { name: "email", type: "string" },
    { name: "code", type: "int" },
  ];
  const [email, code] = columns.map((each) => ({ ...each, unique: true }));

  it.each<[string, JsonObject, string]>([
    ["a unique column", { columns: [{ ...email }] }, "email_1"],
    ["a unique of two", { columns, uniques: [["email", "code"]] }, "email_1_code_1"],
    ["one that keeps deleted records", { columns: [{ ...email }], softDelete: true }, "email_1"],
    ["a singleton", { singleton: true }, "_only_1"],
  ])("is not bound by what that had unique: %s", async (_what, definition, index) => {
    await giveUp({ name: "members", ...definition });
    expect(await uniquesOf()).toEqual([index]);
    await createTable(makeInstance(database), { name: "members", columns });
    expect(await uniquesOf()).toEqual([]);
  });

  it("keeps what it wants to be unique itself, and indexes of other programs", async () => {
    await giveUp({ name: "members", columns: [{ ...email }, { ...code }] });
    await db.collection("members").createIndex({ theirs: 1 }, { unique: true });
    const present = { email: { $exists: true }, theirs: { $exists: true } };
    const theirs = { unique: true, name: "by_them", partialFilterExpression: present };
    await db.collection("members").createIndex({ email: 1, theirs: 1 }, theirs);
    await createTable(makeInstance(database), { name: "members", columns: [{ ...email }] });
    expect((await uniquesOf()).toSorted()).toEqual(["by_them", "email_1", "theirs_1"]);
  });
});

describe("a new table over documents that a deleted one has shown", () => {
  const columns = [{ name: "email", type: "string" }];
  const unique = columns.map((each) => ({ ...each, unique: true }));
  const deps = () => makeInstance(database);
  const deleted = async (id: string) => confirming(true, (hash) => deleteTable(deps(), id, hash));
  let id: string;
  beforeEach(async () => {
    await db.collection("members").insertOne({ email: "a" });
    id = await makeTable(deps(), { name: "members", columns: unique });
  });

  it("is not bound by what that had unique, and leaves what others have made so", async () => {
    await db.collection("members").createIndex({ theirs: 1 }, { unique: true });
    await deleted(id);
    expect(await uniquesOf()).toEqual([expect.stringMatching(/^portico_email_1_/), "theirs_1"]);
    const latter = await makeTable(deps(), { name: "members", columns });
    expect(await uniquesOf()).toEqual(["theirs_1"]);
    await deleted(latter);
    await (await undoChange(deps(), id)).done;
    expect((await uniquesOf()).toSorted()).toEqual([expect.stringMatching(/^portico_email_1_/), "theirs_1"]);
  });

  it("is taken back, and fills in nothing, where its maker may no longer make it", async () => {
    await deleted(id);
    const instance = deps();
    const isThere = async () => (await instance.catalogStore.load()).length > 0;
    const requireCaller = async (): Promise<void> => {
      if (await isThere()) throw new CallerChanged();
    };
    const definition = { name: "members", columns: [{ name: "points", type: "int", default: 1 }] };
    const making = makeTable({ ...instance, requireCaller }, definition);
    await expect(making).rejects.toThrow(CallerChanged);
    expect([await isThere(), await instance.catalogStore.halfMade()]).toEqual([false, []]);
    expect(await db.collection("members").distinct("points")).toEqual([]);
  });

  it("takes nothing from a table that got them in the meantime", async () => {
    const maker = deps();
    await deleted(id);
    const provisionNew: SchemaDeps["provisionNew"] = async (_table, isOurs) => {
      expect(await isOurs()).toBe(true);
      await (await undoChange(deps(), id)).done;
      await expect(isOurs()).rejects.toMatchObject({ code: "CONFLICT" });
    };
    const storage = { collection: "members" };
    const making = createTable({ ...maker, provisionNew }, { name: "others", storage }, { ownIds: true });
    await expect(making).rejects.toMatchObject({ code: "CONFLICT" });
  });

  it("takes nothing from a change that may be bringing it back, for which it waits", async () => {
    const maker = deps();
    let looks = 0;
    const holder: typeof maker.changeLock.holder = async () => {
      looks += 1;
      return looks < 3 ? { change: "c", instance: "other", published: false } : maker.changeLock.holder();
    };
    const provisionNew: SchemaDeps["provisionNew"] = async (_table, isOurs) => {
      // It has waited once already, before anything was made.
      looks = 0;
      expect([await isOurs(), looks]).toEqual([true, 3]);
    };
    const waiting = { ...maker, provisionNew, changeLock: { ...maker.changeLock, holder } };
    await createTable(waiting, { name: "others" });
  });
});

describe("a name under which there is something that can't be a table", () => {
  beforeEach(async () => {
    await db.collection("members").insertOne({ email: "a" });
    await db.createCollection("active", { viewOn: "members", pipeline: [] });
    await db.createCollection("nobody", { viewOn: "members", pipeline: [{ $match: { email: "b" } }] });
    await db.createCollection("measured", { timeseries: { timeField: "at" } });
    await db.createCollection("folded", { collation: { locale: "en", strength: 2 } });
  });

  it.each([
    ["active", "a view"],
    ["nobody", "a view"],
    ["measured", "a time series"],
    ["folded", 'a collection with a default collation ("en")'],
  ])("is no table's: %s", async (name, kind) => {
    const making = makeTable(makeInstance(database), { name, columns: [{ name: "email", type: "string" }] });
    const message = `name: "${name}" is ${kind}, which can't be a table`;
    await expect(making).rejects.toMatchObject({ code: "CONFLICT", message });
  });

  it("stops a schema file before anything is made, also as the place of documents", async () => {
    const tables = [
      { name: "notes" },
      { name: "active" },
      { name: "old", storage: { collection: "nobody" } },
    ];
    const file = readSchemaFile(JSON.stringify({ tables })).tables;
    expect(await applyFile(makeInstance(database), file)).toMatchObject([
      { name: "notes", problems: [] },
      { name: "active", problems: ['name: "active" is a view, which can\'t be a table'] },
      { name: "old", problems: ['storage.collection: "nobody" is a view, which can\'t be a table'] },
    ]);
    expect(await makeInstance(database).catalogStore.load()).toEqual([]);
  });
});

it("a new table over documents waits ten seconds, too, for a change that begins meanwhile", async () => {
  await db.collection("books").insertOne({ title: "a" });
  const deps = makeInstance(database);
  const now = performance.now.bind(performance);
  let waited = 0;
  jest.spyOn(performance, "now").mockImplementation(() => now() + waited);
  /** Each look takes six seconds. */
  const take = async (): Promise<boolean> => {
    waited += 6_000;
    return false;
  };
  const busy = { ...deps, changeLock: { ...deps.changeLock, take } };
  const columns = [{ name: "title", type: "string" }];
  await expect(makeTable(busy, { name: "books", columns })).rejects.toMatchObject({ code: "CONFLICT" });
  // The change, and the one that would take the bare table away.
  expect(waited).toBeLessThan(60_000);
  const idle = makeInstance(database);
  await removeHalfMade(idle, async ({ at }) => at.getTime() === 0);
  expect((await idle.catalogs.refresh()).tables.get("books")).toBeUndefined();
});

describe("a new table over documents, while its maker stands still before it gives it members", () => {
  const columns = [{ name: "title", type: "string" }];
  beforeEach(async () => void (await db.collection("books").insertOne({ title: "a" })));

  /** The maker does something else before it takes the lock for the first time. */
  function standingStill(meanwhile: () => Promise<unknown>) {
    const deps = makeInstance(database);
    let isFirst = true;
    const take: typeof deps.changeLock.take = async (holder) => {
      if (isFirst) {
        isFirst = false;
        await meanwhile();
      }
      return deps.changeLock.take(holder);
    };
    return { ...deps, changeLock: { ...deps.changeLock, take } };
  }

  const tableNow = async () => (await makeInstance(database).catalogs.refresh()).tables.get("books");
  const others = makeInstance;

  it("is taken back where the maker is dead, and can be made anew", async () => {
    const killed = makeTable(
      standingStill(() => new Promise(() => undefined)),
      { name: "books", columns },
    );
    void killed.catch(() => undefined);
    while ((await tableNow()) === undefined);
    await removeHalfMade(others(database), async () => false);
    expect(await tableNow()).toBeDefined();
    await removeHalfMade(others(database), async () => true);
    expect(await tableNow()).toBeUndefined();
    await makeTable(others(database), { name: "books", columns });
    await removeHalfMade(others(database), async () => true);
    expect((await tableNow())?.columns.get("title")).toBeDefined();
  });

  it("stays where somebody else has changed it meanwhile, as they have changed it", async () => {
    const theirs = { columns: [...columns, { name: "pages", type: "int" }] };
    const change = async (): Promise<void> => {
      const deps = others(database);
      const id = (await tableNow())?.id ?? "";
      await (await changeTable(deps, id, theirs, undefined)).done;
    };
    const making = makeTable(standingStill(change), { name: "books", columns });
    await expect(making).rejects.toMatchObject({ code: "CONFLICT" });
    expect([...((await tableNow())?.columns.keys() ?? [])]).toEqual(
      expect.arrayContaining(["title", "pages"]),
    );
  });
});
