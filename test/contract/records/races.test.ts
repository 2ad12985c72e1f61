// Writers that meet at one record: nothing acknowledged vanishes, and nothing is left that links to nowhere.
// `npm run test:record-races` lets them meet more often.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Document, MongoClient } from "mongodb";
import { type Answer, type Api, asAdmin, signIn } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make } from "./make.js";

const ROUNDS = Number(process.env.PORTICO_RACE_ROUNDS ?? 8);
const LONG = 600_000;

describe("writers that meet", () => {
  let stack: Stack;
  let api: Api;
  let client: MongoClient;

  beforeAll(async () => {
    stack = await startStack();
    api = await asAdmin(stack);
    client = await MongoClient.connect(stack.mongodbUrl);
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
        { name: "lease", type: "many-to-one", table: "houses", inverse: "tenants", onDelete: "RESTRICT" },
        { name: "birthplace", type: "many-to-one", table: "houses", inverse: "born" },
      ],
    });
    await api.post("/svc_table", {
      name: "beds",
      idType: "int",
      relations: [{ name: "house", type: "many-to-one", table: "houses", inverse: "beds", required: true }],
    });
  });

  afterAll(async () => {
    await client?.close();
    await stack?.stop();
  });

  /** Cats whose documents still name a house in one of their links. */
  const linksTo = (house: number): Promise<Document[]> => {
    const fields = ["homeId", "throneId", "visitsIds", "leaseId", "birthplaceId"];
    const which = { $or: fields.map((field) => ({ [field]: house })) };
    return client.db().collection("cats").find(which).toArray();
  };

  /** Deletes a house in the moment in which others do something to it. */
  async function whileDeleted(
    house: number,
    round: number,
    others: readonly (() => Promise<Answer>)[],
  ): Promise<{ deleted: number; statuses: number[] }> {
    // Sometimes the one comes first, sometimes the others do; on a busy machine that takes a longer start.
    const start = (round % 12) * Math.ceil((round + 1) / ROUNDS);
    const [head, tail] = round % 2 === 0 ? [0, start] : [start, 0];
    const delayed = async (ms: number, act: () => Promise<Answer>): Promise<Answer> => {
      await new Promise((resolve) => setTimeout(resolve, ms));
      return act();
    };
    const [gone, ...rest] = await Promise.all([
      delayed(head, () => api.delete(`/houses/${house}`)),
      ...others.map((other, at) => delayed(tail + (round % 2 === 0 ? at : 0), other)),
    ]);
    return { deleted: gone.status, statuses: rest.map(({ status }) => status) };
  }

  const create = async (table: string, bodies: object[]): Promise<number[]> => {
    const { body } = await api.post(`/${table}`, bodies, { fields: "id" });
    return body.data.map(({ id }: { id: number }) => id);
  };

  const related = async (house: number, relation: string): Promise<number[]> => {
    const { body } = await api.get(`/houses/${house}`, { fields: "id", deep: { [relation]: { limit: 0 } } });
    return body.data[0][relation].map(({ id }: { id: number }) => id);
  };

  it.each(["visitors", "cats"])(
    "of one set of %s leave at least one acknowledged set",
    async (relation) => {
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
    },
    LONG,
  );

  it(
    "at a set whose links are required: none is let go that was made meanwhile",
    async () => {
      for (let round = 0; round < ROUNDS * 4; round += 1) {
        const [house = 0] = await create("houses", [{}]);
        const [bed = 0] = await create("beds", [{ house }]);
        const answers = await Promise.all([
          ...[1, 2, 3].map(() => api.post("/beds", { house })),
          api.patch(`/houses/${house}`, { beds: [bed] }),
          ...[1, 2, 3].map(() => api.post("/beds", { house })),
        ]);
        expect([200, 400]).toContain(answers[3]?.status);
        expect(answers.filter(({ status }) => status === 201)).toHaveLength(6);
        expect((await related(house, "beds")).length).toBe(7);
      }
    },
    LONG,
  );

  it(
    "of one throne leave a king who was acknowledged",
    async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const [house = 0] = await create("houses", [{}]);
        const cats = await create("cats", [{}, {}, {}, {}]);
        const answers = await Promise.all(cats.map((king) => api.patch(`/houses/${house}`, { king })));
        const crowned = cats.filter((_, at) => answers[at]?.status === 200);
        const { body } = await api.get(`/houses/${house}`, { fields: "king" });
        expect(crowned).toContain(body.data[0].king?.id);
      }
    },
    LONG,
  );

  it(
    "with a cascading delete leave no record that links to nowhere",
    async () => {
      const seen = new Set<boolean>();
      // On until both have come first at least once.
      for (let round = 0; round < ROUNDS || (seen.size < 2 && round < 20 * ROUNDS); round += 1) {
        const [home = 0] = await create("houses", [{}]);
        const move = () => api.post("/cats", { home, name: `round ${round}` });
        const { deleted, statuses } = await whileDeleted(
          home,
          round,
          Array.from({ length: 8 }, () => move),
        );
        expect(deleted).toBe(200);
        for (const status of statuses) {
          expect([201, 400, 409]).toContain(status);
          seen.add(status === 201);
        }
        const { body } = await api.get("/cats", { filter: { name: `round ${round}` } });
        expect(body.data).toEqual([]);
        expect(await linksTo(home)).toEqual([]);
      }
      expect(seen.size).toBe(2);
    },
    LONG,
  );

  it(
    "at a record whose links forbid its delete: either it stays, or nothing links to it",
    async () => {
      const seen = new Set<number>();
      // On until both have come first at least once.
      for (let round = 0; round < ROUNDS || (seen.size < 2 && round < 20 * ROUNDS); round += 1) {
        const [lease = 0] = await create("houses", [{}]);
        const cats = await create("cats", [{}, {}, {}]);
        const { deleted, statuses } = await whileDeleted(lease, round, [
          ...[1, 2, 3].map(() => () => api.post("/cats", { lease })),
          ...cats.map((cat) => () => api.patch(`/cats/${cat}`, { lease })),
          () => api.post("/cats", [{}, { lease }]),
        ]);
        seen.add(deleted);
        const linked = await linksTo(lease);
        const done = statuses.filter((status) => status < 300).length;
        expect([200, 409]).toContain(deleted);
        // Each of them has linked one cat, or was told that there is no such house.
        expect([round, linked.length]).toEqual([round, done]);
        expect(statuses.filter((status) => status >= 300 && status !== 400)).toEqual([]);
        if (deleted === 200) expect([round, done]).toEqual([round, 0]);
        else expect(done).toBeGreaterThan(0);
      }
      expect([...seen].toSorted()).toEqual([200, 409]);
    },
    LONG,
  );

  it(
    "at a record that is deleted: no link that is set in that moment is left",
    async () => {
      const seen = new Set<boolean>();
      // On until both have come first at least once.
      for (let round = 0; round < ROUNDS || (seen.size < 2 && round < 20 * ROUNDS); round += 1) {
        const [house = 0] = await create("houses", [{}]);
        const cats = await create("cats", [{}, {}, {}, {}, {}]);
        const [a = 0, b = 0, c = 0, ...others] = cats;
        const { deleted, statuses } = await whileDeleted(house, round, [
          () => api.patch(`/cats/${a}`, { birthplace: house }),
          () => api.patch(`/cats/${b}`, { visits: [house] }),
          () => api.patch(`/cats/${c}`, { throne: house }),
          () => api.patch(`/houses/${house}`, { visitors: others, born: others }),
          () => api.post("/cats", { birthplace: house, visits: [house] }),
        ]);
        expect(deleted).toBe(200);
        for (const status of statuses) {
          expect([200, 201, 400, 404, 409]).toContain(status);
          seen.add(status < 300);
        }
        expect([round, await linksTo(house)]).toEqual([round, []]);
      }
      expect(seen.size).toBe(2);
    },
    LONG,
  );

  it(
    "as root admins that remove each other leave one",
    async () => {
      const two = ["one@example.com", "two@example.com"];
      const me = (await api.get("/me")).body.data[0].id;
      for (let round = 0; round < Math.min(ROUNDS, 10); round += 1) {
        const [one, other] = await Promise.all(
          two.map(async (email) => {
            const credentials = { email: `${round}${email}`, password: "the password of both" };
            const { id } = await make(api, "svc_user", { ...credentials, isRootAdmin: true });
            return { id, api: await signIn(`${stack.appUrl}/api`, credentials) };
          }),
        );
        if (one === undefined || other === undefined) throw new Error("two were made");
        await one.api.patch(`/svc_user/${me}`, { isRootAdmin: false });
        const how = (by: Api, id: string): Promise<Answer> =>
          round % 2 === 0 ? by.delete(`/svc_user/${id}`) : by.patch(`/svc_user/${id}`, { isActive: false });
        const answers = await Promise.all([how(one.api, other.id), how(other.api, one.id)]);
        const filter = { isRootAdmin: true, isActive: true };
        const left = await client.db().collection("svc_user").find(filter).toArray();
        const refused = answers.filter(({ status }) => status !== 200);
        expect([round, refused.length, left.length]).toEqual([round, 1, 1]);
        for (const { status } of refused) expect([401, 403, 409]).toContain(status);
        const last = String(left[0]?._id) === one.id ? one : other;
        expect((await last.api.patch(`/svc_user/${me}`, { isRootAdmin: true })).status).toBe(200);
        await api.patch(`/svc_user/${last.id}`, { isRootAdmin: false });
      }
    },
    LONG,
  );
});
