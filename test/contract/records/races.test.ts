// Writers that meet at one record: nothing acknowledged vanishes, and nothing is left that links to nowhere.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Api, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";

const ROUNDS = 8;

describe("writers that meet", () => {
  let stack: Stack;
  let api: Api;

  beforeAll(async () => {
    stack = await startStack();
    api = await asAdmin(stack);
    await api.post("/svc_table", {
      name: "houses",
      idType: "int",
      columns: [{ name: "street", type: "string" }],
    });
    await api.post("/svc_table", {
      name: "cats",
      idType: "int",
      columns: [{ name: "name", type: "string" }],
      relations: [
        { name: "home", type: "many-to-one", table: "houses", inverse: "cats", onDelete: "CASCADE" },
        { name: "throne", type: "one-to-one", table: "houses", inverse: "king" },
        { name: "visits", type: "many-to-many", table: "houses", inverse: "visitors" },
      ],
    });
  });

  afterAll(() => stack?.stop());

  const create = async (table: string, bodies: object[]): Promise<number[]> => {
    const { body } = await api.post(`/${table}`, bodies, { fields: "id" });
    return body.data.map(({ id }: { id: number }) => id);
  };

  const related = async (house: number, relation: string): Promise<number[]> => {
    const { body } = await api.get(`/houses/${house}`, { fields: "id", deep: { [relation]: { limit: 0 } } });
    return body.data[0][relation].map(({ id }: { id: number }) => id);
  };

  it.each(["visitors", "cats"])("of one set of %s leave at least one acknowledged set", async (relation) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const [house = 0] = await create("houses", [{}]);
      const sets = await Promise.all([1, 2, 3].map(() => create("cats", [{}, {}, {}])));
      const answers = await Promise.all(
        sets.map((ids) => api.patch(`/houses/${house}`, { [relation]: ids })),
      );
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
      const left = await related(house, relation);
      expect(sets.some((ids) => ids.every((id) => left.includes(id)))).toBe(true);
    }
  });

  it("of one throne leave a king who was acknowledged", async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const [house = 0] = await create("houses", [{}]);
      const cats = await create("cats", [{}, {}, {}, {}]);
      const answers = await Promise.all(cats.map((king) => api.patch(`/houses/${house}`, { king })));
      const crowned = cats.filter((_, at) => answers[at]?.status === 200);
      const { body } = await api.get(`/houses/${house}`, { fields: "king" });
      expect(crowned).toContain(body.data[0].king?.id);
    }
  });

  it("with a cascading delete leave no record that links to nowhere", async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const [home = 0] = await create("houses", [{}]);
      const move = () => api.post("/cats", { home, name: `round ${round}` });
      const [, ...moved] = await Promise.all([
        new Promise((resolve) => setTimeout(resolve, round)).then(() => api.delete(`/houses/${home}`)),
        ...Array.from({ length: 8 }, move),
      ]);
      for (const { status, body } of moved) {
        expect([201, 400, 409]).toContain(status);
        if (status === 201) expect(body.data).toHaveLength(1);
      }
      const { body } = await api.get("/cats", { filter: { name: `round ${round}` } });
      expect(body.data).toEqual([]);
    }
  });
});
