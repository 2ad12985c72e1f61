// Options that computed values stand behind, switched on for a table that has records already.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Api, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { atOnce, make, makeTable, type Row } from "../records/make.js";

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
    const relation = { name: "owner", type: "many-to-one", table: "full", inverse: "things" };
    const things = await makeTable(api, { name: "things", relations: [relation] });
    const relations = [{ id: things.relations[0].id, counted: true }];
    const { status, body } = await api.patch(`/svc_table/${things.id}`, { relations });
    expect([status, body.message]).toEqual([422, ['relations: "full" has 56 indexes already']]);
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

  it("searchable finds records that were there before, at once", async () => {
    const [table] = (await api.get(`/svc_table/${cats.id}`)).body.data;
    const columns = table.columns.map((column: Row) => ({ ...column, searchable: true }));
    expect((await api.patch(`/svc_table/${cats.id}`, { columns })).status).toBe(200);
    const { body } = await api.get("/cats", { filter: { name: { _contains: "NUMBER 59" } } });
    expect(body.data).toHaveLength(1);
  });
});
