// Pages of records by their latest child, found from the newest children: the same as by looking at all of them.
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { MongoClient } from "mongodb";
import { type Api, asAdmin } from "../support/api.js";
import { type Stack, startStack } from "../support/stack.js";

jest.setTimeout(120_000);

const POSTS = 150;
const COMMENTS = 700;
/** More than one has the same number, and some posts have many of the greatest. */
const numberOf = (at: number): number => (at * 7919) % 400;
const postOf = (at: number): number => (at % 5 === 0 ? at % 7 : (at * 31) % POSTS);

describe("pages of records by their latest child", () => {
  let stack: Stack;
  let root: Api;
  let ids: readonly string[];

  beforeAll(async () => {
    stack = await startStack();
    root = await asAdmin(stack);
    await root.post("/svc_table", { name: "posts", columns: [{ name: "title", type: "string" }] });
    await root.post("/svc_table", {
      name: "comments",
      columns: [{ name: "number", type: "int" }],
      relations: [{ name: "post", type: "many-to-one", table: "posts", inverse: "comments" }],
      indexes: [["-number"]],
    });
    const posts = Array.from({ length: POSTS }, (_, at) => ({ title: `Post ${at}` }));
    ids = (await root.post("/posts", posts)).body.data.map(({ id }: { id: string }) => id);
    const comments = Array.from({ length: COMMENTS }, (_, at) => ({
      number: numberOf(at),
      post: ids[postOf(at)],
    }));
    await root.post("/comments", comments);
  });
  afterAll(() => stack?.stop());

  /** The ids in the order of their posts' greatest or least number. */
  function expected(kind: "max" | "min", gone: ReadonlySet<number> = new Set()): string[] {
    const extremes = new Map<number, number>();
    for (let at = 0; at < COMMENTS; at += 1) {
      const [post, number] = [postOf(at), numberOf(at)];
      const known = extremes.get(post) ?? number;
      extremes.set(post, kind === "max" ? Math.max(known, number) : Math.min(known, number));
    }
    const rank = (post: number): number => (kind === "max" ? -1 : 1) * (extremes.get(post) ?? Number.NaN);
    return [...extremes.keys()]
      .filter((post) => !gone.has(post))
      .toSorted((a, b) => rank(a) - rank(b) || ((ids[a] ?? "") < (ids[b] ?? "") ? -1 : 1))
      .map((post) => ids[post] ?? "");
  }

  async function pages(sort: string, limit: number): Promise<string[]> {
    const seen: string[] = [];
    for (let page = 1; page * limit <= 60; page += 1) {
      const query = { sort, fields: "id", limit: String(limit), page: String(page) };
      seen.push(...(await root.get("/posts", query)).body.data.map(({ id }: { id: string }) => id));
    }
    return seen;
  }

  test.each([
    ["-_max(comments.number)", "max", 10],
    ["-_max(comments.number)", "max", 3],
    ["_min(comments.number)", "min", 12],
  ] as const)("%s is the order of the %s, in pages of %i", async (sort, kind, limit) => {
    expect(await pages(sort, limit)).toEqual(expected(kind).slice(0, Math.floor(60 / limit) * limit));
  });

  test.each([
    ["-_max(comments.id)", "max", "letters"],
    ["_min(comments.id)", "min", "letters"],
    ["-_max(comments.id)", "max", "notes"],
    ["_min(comments.id)", "min", "notes"],
  ] as const)("%s is the order of the %s ids of %s", async (sort, kind, children) => {
    const parents = `${children}_owners`;
    const owner = { name: "owner", type: "many-to-one", table: parents, inverse: "comments" };
    if ((await root.get(`/${children}`)).status === 404) {
      await root.post("/svc_table", { name: parents, idType: "int" });
      const idType = children === "notes" ? "int" : "objectId";
      await root.post("/svc_table", { name: children, idType, relations: [owner] });
      await root.post(`/${parents}`, Array(500).fill({}));
      // Each has one, and the first thirty another one that comes last.
      const owners = [...Array(500).keys(), ...Array(30).keys()].map((at) => ({ owner: at + 1 }));
      await root.post(`/${children}`, owners);
    }
    const { body } = await root.get(`/${parents}`, { sort, fields: "id", limit: "10" });
    const newest = Array.from({ length: 10 }, (_, at) => 30 - at);
    const oldest = Array.from({ length: 10 }, (_, at) => at + 1);
    expect(body.data.map(({ id }: { id: number }) => id)).toEqual(kind === "max" ? newest : oldest);
  });

  test.each([
    ["the page can be named beforehand", "-_max(comments.number)"],
    ["something else than the id orders those alike", "-_max(comments.number),title"],
  ])("shows all children of each, a few records at a time, where %s", async (_why, sort) => {
    const query = { sort, limit: "35", page: "1", fields: "id" };
    const deep = { comments: { fields: "number", limit: 0 } };
    const [bare, whole] = [await root.get("/posts", query), await root.get("/posts", { ...query, deep })];
    const shown: { id: string; comments: unknown[] }[] = whole.body.data;
    expect(shown.map(({ id }) => id)).toEqual(bare.body.data.map(({ id }: { id: string }) => id));
    const posts = Array.from({ length: COMMENTS }, (_, at) => ids[postOf(at)]);
    const counts = shown.map(({ id }) => posts.filter((post) => post === id).length);
    expect(shown.map(({ comments }) => comments.length)).toEqual(counts);
    expect(shown).toHaveLength(35);
  });

  test("is read from a few children and the page, not from all of them", async () => {
    const query = { sort: "-_max(comments.number)", fields: "id", limit: "5", explain: "true" };
    const [plan] = (await root.get("/posts", query)).body.data;
    expect(plan.questions).toHaveLength(1);
    expect(plan.documentsExamined).toBeLessThanOrEqual(2 * 15 + 5);
  });

  test("leaves out records that another program has removed", async () => {
    const client = await MongoClient.connect(stack.mongodbUrl);
    const gone = new Set([0, 1, 2, 31, 62]);
    const titles = [...gone].map((post) => `Post ${post}`);
    const { deletedCount } = await client
      .db()
      .collection("posts")
      .deleteMany({ title: { $in: titles } });
    await client.close();
    expect(deletedCount).toBe(gone.size);
    expect(await pages("-_max(comments.number)", 10)).toEqual(expected("max", gone).slice(0, 60));
    const deep = { comments: { fields: "id", limit: 0 } };
    const query = { sort: "-_max(comments.number)", limit: "40", fields: "id", deep };
    const { body } = await root.get("/posts", query);
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual(expected("max", gone).slice(0, 40));
  });
});
