// Options that computed values stand behind, switched on for a table that has records already.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { MongoClient, ObjectId } from "mongodb";
import { type Api, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { atOnce, make, makeTable, type Row } from "../records/make.js";
import { patchConfirmed } from "./change.js";

describe("switched on by a change of the table", () => {
  let stack: Stack;
  let api: Api;
  let cats: Row;

  beforeAll(async () => {
    stack = await startStack();
    api = await asAdmin(stack);
    await makeTable(api, { name: "houses", idType: "int", columns: [{ name: "street", type: "string" }] });
    cats = await makeTable(api, {
      name: "cats",
      idType: "int",
      columns: [{ name: "name", type: "string" }],
      relations: [{ name: "home", type: "many-to-one", table: "houses", inverse: "cats" }],
    });
    await api.post("/houses", [{}, {}, {}, {}]);
    await api.post(
      "/cats",
      Array.from({ length: 60 }, (_, at) => ({ home: 1 + (at % 3), name: `cat number ${at}` })),
      { fields: "id" },
    );
  });

  afterAll(() => stack?.stop());

  const patched = async (id: string, change: object): Promise<void> => {
    const answer = await api.patch(`/svc_table/${id}`, change);
    expect([answer.status, answer.body.message]).toEqual([200, "Success"]);
  };

  const setCounted = async (counted: boolean): Promise<void> => {
    const [table] = (await api.get(`/svc_table/${cats.id}`)).body.data;
    const relations = table.relations.map((relation: Row) => ({ ...relation, counted }));
    const { status, body } = await api.patch(`/svc_table/${cats.id}`, { relations });
    expect([status, body.message]).toEqual([200, "Success"]);
  };

  const numbers = async (): Promise<number[]> =>
    Promise.all(
      [1, 2, 3, 4].map(async (id) => {
        const query = { filter: { id }, aggregate: { cats: { count: true } } };
        return (await api.get("/houses", query)).body.meta.aggregate.cats.count;
      }),
    );

  const real = async (): Promise<number[]> =>
    Promise.all(
      [1, 2, 3, 4].map(async (home) => {
        const { body } = await api.get("/cats", { filter: { home }, meta: "filterCount", limit: "1" });
        return body.meta.filterCount;
      }),
    );

  it("counted counts the children that are there, while others come, and is sorted by an index then", async () => {
    const writes = atOnce(4, async (at) => {
      for (let count = 0; count < 8; count += 1) await make(api, "cats", { home: 1 + ((at + count) % 4) });
    });
    await Promise.all([setCounted(true), writes]);
    expect(await numbers()).toEqual(await real());
    const { body } = await api.get("/houses", { sort: "-_count(cats)", limit: "2", explain: "true" });
    expect([body.data[0].documentsExamined, body.data[0].ranked]).toEqual([2, false]);
  });

  it("counted is refused where the other table has no room for the index that it needs", async () => {
    const columns = Array.from({ length: 54 }, (_, at) => ({ name: `c${at}`, type: "int" }));
    const indexes = columns.map(({ name }) => [name]);
    // With those on createdAt and updatedAt it has as many as a table may have.
    await makeTable(api, { name: "full", columns, indexes });
    const to = (name: string) => ({ name, type: "many-to-one", table: "full", inverse: `${name}s_of` });
    const things = await makeTable(api, { name: "things", relations: [to("owner"), to("maker")] });
    // Named once, however many of the relations find no room there.
    const relations = things.relations.map(({ id }: { id: string }) => ({ id, counted: true }));
    const { status, body } = await api.patch(`/svc_table/${things.id}`, { relations });
    expect([status, body.message]).toEqual([422, ['relations: "full" would have more than 56 indexes']]);
  });

  it("counted is refused in a new table whose relations need more room together than there is", async () => {
    const columns = Array.from({ length: 53 }, (_, at) => ({ name: `c${at}`, type: "int" }));
    await makeTable(api, { name: "nearly", columns, indexes: columns.map(({ name }) => [name]) });
    const to = (name: string) => ({
      name,
      type: "many-to-one",
      table: "nearly",
      inverse: name,
      counted: true,
    });
    const two = { name: "pairs", relations: [to("left"), to("right")] };
    const { status, body } = await api.post("/svc_table", two);
    expect([status, body.message]).toEqual([422, ['relations: "nearly" would have more than 56 indexes']]);
    await makeTable(api, { name: "pairs", relations: [to("left")] });
  });

  it("counted, switched off, written to and switched on again, counts anew", async () => {
    await setCounted(false);
    await api.post("/cats", [{ home: 4 }, { home: 4 }]);
    await api.delete("/cats/1");
    await setCounted(true);
    expect(await numbers()).toEqual(await real());
    await make(api, "cats", { home: 4 });
    expect(await numbers()).toEqual(await real());
  });

  describe("counted", () => {
    let client: MongoClient;
    beforeAll(async () => {
      client = await MongoClient.connect(stack.mongodbUrl);
    });
    afterAll(() => client?.close());
    const indexes = async (name: string): Promise<string[]> => {
      const found = await client.db().collection(name).indexes();
      return found.flatMap(({ key }) => Object.keys(key)).filter((field) => field.startsWith("_n_"));
    };
    const relation = { name: "yard", type: "many-to-one", table: "yards", inverse: "dogs", counted: true };

    it.each<[string, number, (table: Row) => Promise<unknown>]>([
      [
        // Takes nothing away: there is nothing to undo.
        "is switched off",
        409,
        ({ id, relations: [{ id: yard }] }) => patched(id, { relations: [{ id: yard, counted: false }] }),
      ],
      ["goes with its relation", 200, ({ id }) => patched(id, { relations: [] })],
      ["goes with its table", 200, ({ id }) => api.delete(`/svc_table/${id}`)],
    ])(
      "leaves no index in the other table once it %s; an undo is %d, and brings back what was taken away",
      async (_what, status, end) => {
        await api.post("/svc_table", { name: "yards" });
        const before = await indexes("yards");
        const table = await makeTable(api, { name: "dogs", relations: [relation] });
        expect(await indexes("yards")).toHaveLength(before.length + 1);
        await end(table);
        expect(await indexes("yards")).toEqual(before);
        expect((await api.post(`/svc_table/${table.id}/undo`)).status).toBe(status);
        expect(await indexes("yards")).toHaveLength(before.length + (status === 200 ? 1 : 0));
        expect((await api.delete(`/svc_table/${table.id}`)).status).toBe(200);
      },
    );

    it("of a new table builds no other index in the other one, whatever that lacks", async () => {
      const yard = await makeTable(api, {
        name: "lots",
        columns: [{ name: "code", type: "string", unique: true }],
      });
      await client.db().collection("lots").dropIndex("code_1");
      const lot = { ...relation, name: "lot", table: "lots" };
      await makeTable(api, { name: "cars", relations: [lot] });
      const names = (await client.db().collection("lots").indexes()).map(({ name }) => name);
      expect([yard.name, names.includes("code_1"), await indexes("lots")]).toEqual([
        "lots",
        false,
        [expect.any(String)],
      ]);
    });

    it("is refused, and not in use, where the database has no room for its index", async () => {
      await makeTable(api, { name: "crowds" });
      const crowds = client.db().collection("crowds");
      const missing = 64 - (await crowds.indexes()).length;
      await crowds.createIndexes(
        Array.from({ length: missing }, (_, at) => ({ key: { [`other${at}`]: 1 } })),
      );
      const refusal = expect.stringMatching(/has as many indexes as MongoDB allows/);
      const crowd = { ...relation, name: "crowd", table: "crowds" };
      const refused = await api.post("/svc_table", { name: "guests", relations: [crowd] });
      expect([refused.status, refused.body.message]).toEqual([409, refusal]);
      // Nothing is left in others that had room.
      await makeTable(api, { name: "halls" });
      const hall = { ...relation, name: "hall", table: "halls" };
      expect((await api.post("/svc_table", { name: "guests", relations: [hall, crowd] })).status).toBe(409);
      expect(await indexes("halls")).toEqual([]);
      const made = await makeTable(api, { name: "guests", relations: [{ ...crowd, counted: false }] });
      const again = await api.patch(`/svc_table/${made.id}`, {
        relations: [{ id: made.relations[0].id, counted: true }],
      });
      expect([again.status, again.body.message]).toEqual([409, refusal]);
      expect((await api.patch(`/svc_table/${made.id}`, { description: "free" })).status).toBe(200);
    });
  });

  it("searchable finds records that were there before, at once", async () => {
    const [table] = (await api.get(`/svc_table/${cats.id}`)).body.data;
    const columns = table.columns.map((column: Row) => ({ ...column, searchable: true }));
    expect((await api.patch(`/svc_table/${cats.id}`, { columns })).status).toBe(200);
    const { body } = await api.get("/cats", { filter: { name: { _contains: "NUMBER 59" } } });
    expect(body.data).toHaveLength(1);
  });
});

describe("the parts of a text that is no longer searchable", () => {
  let stack: Stack;
  let api: Api;
  let client: MongoClient;
  let made = 0;

  beforeAll(async () => {
    stack = await startStack();
    api = await asAdmin(stack);
    client = await MongoClient.connect(stack.mongodbUrl);
  });
  afterAll(async () => {
    await client?.close();
    await stack?.stop();
  });

  const notes = async (): Promise<Row> => {
    made += 1;
    const column = (name: string) => ({ name, type: "text", searchable: true });
    const table = await makeTable(api, { name: `notes${made}`, columns: [column("a"), column("b")] });
    await api.post(`/${table.name}`, [{ a: "confidential", b: "public" }, { a: "secret" }]);
    return table;
  };
  const documents = (name: string) => client.db().collection(name);
  const partsOf = (name: string, field = "a") =>
    documents(name).countDocuments({ [`_g_${field}`]: { $exists: true } });
  const restart = async (): Promise<void> => {
    await stack.dataService.stop();
    await stack.restartDataService();
  };
  const found = async (name: string, text: string): Promise<number> =>
    (await api.get(`/${name}`, { filter: { a: { _contains: text } } })).body.data.length;

  it.each([
    ["switched off", { searchable: false }],
    ["encrypted", { searchable: false, encrypted: true }],
    ["converted to another type", { type: "json", searchable: false }],
    ["converted to another type of text", { type: "string", searchable: true }],
  ])("are gone once it is %s, those of other columns are not", async (_case, change) => {
    const { id, name, columns } = await notes();
    expect(await partsOf(name)).toBe(2);
    const body = { columns: [{ id: columns[0].id, ...change }, { id: columns[1].id }] };
    const { status, body: answer } = await api.patch(`/svc_table/${id}`, body);
    expect([status, answer.message]).toEqual([200, "Success"]);
    expect([await partsOf(name), await partsOf(name, "b")]).toEqual([0, 2]);
  });

  it("are gone with a removed column, and it is found by them again when it comes back", async () => {
    const { id, name, columns } = await notes();
    await patchConfirmed(api, id, { columns: columns.slice(1) });
    expect([await partsOf(name), await partsOf(name, "b")]).toEqual([0, 2]);
    expect((await api.post(`/svc_table/${id}/undo`, {})).status).toBe(200);
    expect(await found(name, "FIDENT")).toBe(1);
    // At the start all tables are looked at, else every half minute.
    await restart();
    await until(
      () => partsOf(name),
      (count) => count === 2,
    );
    expect(await found(name, "FIDENT")).toBe(1);
  });

  it("that an earlier version left are gone when its change is swept up", async () => {
    const { id, name, columns } = await notes();
    const off = { columns: [{ id: columns[0].id, searchable: false }, { id: columns[1].id }] };
    expect((await api.patch(`/svc_table/${id}`, off)).status).toBe(200);
    await documents(name).updateMany({}, { $set: { _g_a: ["confi"] } });
    const aMonthAgo = new Date(Date.now() - 32 * 24 * 60 * 60 * 1000);
    const changes = client.db().collection("_changes");
    const noted = { table: id };
    expect((await changes.updateMany(noted, { $set: { at: aMonthAgo } })).matchedCount).toBe(1);
    await restart();
    await until(
      () => changes.countDocuments(noted),
      (count) => count === 0,
    );
    expect([await partsOf(name), await partsOf(name, "b")]).toEqual([0, 2]);
    const [first] = await documents(name).find().toArray();
    expect(first).toMatchObject({ _id: expect.any(ObjectId), a: "confidential" });
  });
});
