// Counted relations: the number kept with the parent is always the number of its children, whatever changes them.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Api, asAdmin, signIn } from "../../support/api.js";
import { type Stack, startAnother, startStack } from "../../support/stack.js";
import { countedTables, differences, randomWrites } from "./counted-world.js";
import { atOnce, make, type Row } from "./make.js";

describe("counted relations", () => {
  let stack: Stack;
  let api: Api;

  beforeAll(async () => {
    stack = await startStack();
    api = await asAdmin(stack);
    await countedTables(api);
  });

  afterAll(() => stack?.stop());

  const houses = async (count: number): Promise<number[]> => {
    const { body } = await api.post(
      "/houses",
      Array.from({ length: count }, () => ({})),
      { fields: "id" },
    );
    return body.data.map(({ id }: Row) => id);
  };

  const counts = (ids: readonly number[], relation: string): Promise<number[]> =>
    Promise.all(
      ids.map(async (id) => {
        const { body } = await api.get("/houses", {
          filter: { id },
          aggregate: { [relation]: { count: true } },
        });
        return body.meta.aggregate[relation].count;
      }),
    );

  it("count a created, a moved, an unlinked and a deleted child", async () => {
    const ids = await houses(2);
    const [first, second] = ids;
    const cat = await make(api, "cats", { home: first });
    expect(await counts(ids, "cats")).toEqual([1, 0]);
    await api.patch(`/cats/${cat.id}`, { home: second });
    expect(await counts(ids, "cats")).toEqual([0, 1]);
    await api.patch(`/cats/${cat.id}`, { name: "the same home" });
    await api.patch(`/cats/${cat.id}`, { home: second });
    expect(await counts(ids, "cats")).toEqual([0, 1]);
    await api.patch(`/cats/${cat.id}`, { home: null });
    expect(await counts(ids, "cats")).toEqual([0, 0]);
    await api.patch(`/cats/${cat.id}`, { home: first });
    await api.delete(`/cats/${cat.id}`);
    expect(await counts(ids, "cats")).toEqual([0, 0]);
  });

  it("count a list of creates, and take back a list that is refused half-way", async () => {
    const ids = await houses(2);
    const [first, second] = ids;
    await api.post("/cats", [{ home: first }, { home: first }, { home: second }]);
    const refused = await api.post("/cats", [
      { home: first, name: "twin" },
      { home: second, name: "twin" },
    ]);
    expect(refused.status).toBe(409);
    expect(await counts(ids, "cats")).toEqual([2, 1]);
  });

  it("count what is linked from the parent's side", async () => {
    const ids = await houses(2);
    const [first, second] = ids;
    const cats = await atOnce(3, () => make(api, "cats", { home: first, visits: [first] }));
    const three = cats.map(({ id }) => id);
    await api.patch(`/houses/${second}`, { cats: three.slice(1), visitors: three });
    expect(await counts(ids, "cats")).toEqual([1, 2]);
    expect(await counts(ids, "visitors")).toEqual([3, 3]);
    await api.patch(`/houses/${second}`, { cats: [], visitors: three.slice(2) });
    expect(await counts(ids, "cats")).toEqual([1, 0]);
    expect(await counts(ids, "visitors")).toEqual([3, 1]);
  });

  it("count what a cascade takes along", async () => {
    const ids = await houses(3);
    const [first, second, third] = ids;
    await atOnce(4, () => make(api, "cats", { home: first, birthplace: second, visits: [second, third] }));
    expect(await counts(ids, "born")).toEqual([0, 4, 0]);
    await api.delete(`/houses/${first}`);
    expect(await counts([second ?? 0, third ?? 0], "born")).toEqual([0, 0]);
    expect(await counts([second ?? 0, third ?? 0], "visitors")).toEqual([0, 0]);
  });

  it("count relations of a table to itself", async () => {
    const mother = await make(api, "cats", {});
    const kittens = await atOnce(3, () => make(api, "cats", { mother: mother.id }));
    const aggregate = { kittens: { count: true } };
    const { body } = await api.get("/cats", { filter: { id: mother.id }, aggregate });
    expect(body.meta.aggregate).toEqual({ kittens: { count: 3 } });
    await api.delete(`/cats/${mother.id}`);
    const orphan = await api.get(`/cats/${kittens[0].id}`, { fields: "mother" });
    expect(orphan.body.data[0].mother).toBeNull();
  });

  it("are up to date in the answer to a record that links to itself, or does no longer", async () => {
    const { id } = await make(api, "cats", {});
    const answered = async (mother: number | null) => {
      const { body } = await api.patch(`/cats/${id}`, { mother }, { fields: "_count(kittens)" });
      return body.data;
    };
    expect(await answered(id)).toEqual([{ _count: { kittens: 1 } }]);
    expect(await answered(null)).toEqual([{ _count: { kittens: 0 } }]);
  });

  it("answer whether there are any children, and put the childless last or first", async () => {
    const ids = await houses(3);
    await api.post("/cats", [{ home: ids[1] }, { home: ids[1] }, { home: ids[2] }]);
    const list = async (query: Row): Promise<number[]> => {
      const filter = { _and: [{ id: { _in: ids } }, query.filter ?? {}] };
      const { body } = await api.get("/houses", { fields: "id", ...query, filter });
      return body.data.map(({ id }: Row) => ids.indexOf(id));
    };
    expect(await list({ sort: "-_count(cats)" })).toEqual([1, 2, 0]);
    expect(await list({ sort: "_count(cats)" })).toEqual([0, 2, 1]);
    expect(await list({ filter: { cats: { _is_null: true } } })).toEqual([0]);
    expect(await list({ filter: { _not: { cats: { _is_null: true } } } })).toEqual([1, 2]);
  });

  it("are sorted along an index, reading no more than the page", async () => {
    const many = await houses(200);
    await api.post(
      "/cats",
      many.flatMap((home, at) => Array.from({ length: at % 4 }, () => ({ home }))),
      { fields: "id" },
    );
    const { body } = await api.get("/houses", { sort: "-_count(cats)", limit: "7", explain: "true" });
    const [plan] = body.data;
    expect([plan.documentsExamined, plan.fullScans, plan.ranked]).toEqual([7, 0, false]);
  });

  it("are shown without counting, by lists, read-one and writes alike", async () => {
    const [house] = await houses(1);
    const fields = "_count(cats),_count(born)";
    const shown = async (): Promise<unknown[]> => {
      const one = await api.get(`/houses/${house}`, { fields });
      const listed = await api.get("/houses", { filter: { id: house }, fields });
      const changed = await api.patch(`/houses/${house}`, { street: "a" }, { fields });
      return [one, listed, changed].flatMap(({ body }) => body.data.map(({ _count }: Row) => _count));
    };
    const times = (count: Row) => [count, count, count];
    expect(await shown()).toEqual(times({ cats: 0, born: 0 }));
    const cat = await make(api, "cats", { home: house, birthplace: house });
    expect(await shown()).toEqual(times({ cats: 1, born: 1 }));
    const moved = await api.patch(`/cats/${cat.id}`, { birthplace: null }, { fields: "home._count(born)" });
    expect(moved.body.data).toEqual([{ home: { id: house, _count: { born: 0 } } }]);
    const { body } = await api.get("/houses", { fields: "id,_count(cats)", limit: "7", explain: "true" });
    const [{ questions, documentsExamined }] = body.data;
    expect([questions, documentsExamined]).toEqual([[], 7]);
  });

  it("never show their numbers as fields", async () => {
    const [house] = await houses(1);
    await make(api, "cats", { home: house });
    const { body } = await api.get(`/houses/${house}`, { fields: "*,cats.*" });
    const names = [...Object.keys(body.data[0]), ...Object.keys(body.data[0].cats[0])];
    expect(names.filter((name) => name.startsWith("_"))).toEqual([]);
  });

  it.each([
    [
      { type: "one-to-one", inverse: "x" },
      "relations[0].counted: a one-to-one relation has nothing to count",
    ],
    [
      { type: "many-to-one" },
      "relations[0].counted: needs an inverse: the name by which the other table counts these records",
    ],
  ])("are refused where nothing can be counted: %j", async (relation, message) => {
    const definition = {
      name: "wrong",
      relations: [{ name: "home", table: "houses", counted: true, ...relation }],
    };
    const { status, body } = await api.post("/svc_table", definition);
    expect([status, body.message]).toEqual([422, [message]]);
  });

  it("stay exact when two data services write at once", async () => {
    const second = await startAnother(stack);
    try {
      const inside = await Promise.all([stack.dataUrl, second.url].map((url) => signIn(url, stack.admin)));
      const shared = await houses(5);
      await Promise.all(atOnceEach(inside, 6, (each, at) => randomWrites(each, shared, 40, at)));
      expect(await differences(api)).toEqual([]);
    } finally {
      await second.stop();
    }
  }, 180_000);
});

function atOnceEach<Each, Result>(
  list: readonly Each[],
  times: number,
  call: (each: Each, at: number) => Promise<Result>,
): Promise<Result>[] {
  return list.flatMap((each, of) => Array.from({ length: times }, (_, at) => call(each, of * times + at)));
}
