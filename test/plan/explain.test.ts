// explain=true shows that queries read in proportion to what they answer, not to the table.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Api, asAdmin, signIn } from "../support/api.js";
import { type Stack, startStack } from "../support/stack.js";

interface Explained {
  readonly ranked: boolean;
  readonly questions: readonly (Pick<Explained, "indexes" | "documentsExamined" | "fullScans"> & {
    readonly table: string;
    readonly answers: number;
  })[];
  readonly indexes: readonly string[];
  readonly documentsExamined: number;
  readonly fullScans: number;
}

describe("explain", () => {
  let stack: Stack;
  let root: Api;

  beforeAll(async () => {
    stack = await startStack({ demo: true });
    root = await asAdmin(stack);
  });

  afterAll(() => stack?.stop());

  const explain = async (query: Record<string, unknown>, table = "posts"): Promise<Explained> => {
    const { status, body } = await root.get(`/${table}`, { ...query, explain: "true" });
    expect(status).toBe(200);
    return body.data[0];
  };

  test("newest first with the latest children walks two indexes and reads the page", async () => {
    const deep = { comments: { sort: "-createdAt", limit: 3 } };
    const plan = await explain({ sort: "-publishedAt", limit: "5", deep });
    const { indexes, documentsExamined, fullScans } = plan;
    expect({ indexes, documentsExamined, fullScans }).toEqual({
      indexes: ["publishedAt_-1__id_1"],
      documentsExamined: 5,
      fullScans: 0,
    });
    expect(plan.questions).toHaveLength(1);
    expect(plan.questions[0]).toMatchObject({ indexes: [expect.stringMatching(/^postId_1_/)], fullScans: 0 });
    // Room for twice what five posts show.
    expect(plan.questions[0]?.documentsExamined).toBeLessThanOrEqual(5 * 3 * 2);
  });

  test("a selective relation filter reads matches, not the table", async () => {
    const plan = await explain({ filter: { author: { email: { _starts_with: "amara" } } } });
    expect(plan.questions).toHaveLength(1);
    expect(plan.indexes).toContain("authorId_1__id_1");
    expect(plan.documentsExamined).toBeLessThanOrEqual(10);
  });

  test("sorting by the number of children of a counted relation walks an index and reads the page", async () => {
    const plan = await explain({ sort: "-_count(comments)" });
    expect([plan.ranked, plan.fullScans, plan.documentsExamined]).toEqual([false, 0, 10]);
  });

  test("numbers of related records are one query for each relation, out of an index, however many the page has", async () => {
    for (const limit of ["3", "50"]) {
      const plan = await explain({ fields: "name,_count(posts)", limit }, "authors");
      expect(plan.documentsExamined).toBe(Number(limit));
      expect(plan.questions).toHaveLength(1);
      expect(plan.questions[0]).toMatchObject({
        table: "posts",
        answers: expect.any(Number),
        indexes: ["authorId_1__id_1"],
        documentsExamined: 0,
        fullScans: 0,
      });
    }
    const plan = await explain({ fields: "title,_count(tags),author._count(posts)", limit: "20" });
    // Tags that are there, authors that are shown, and posts of these; what needs not wait for others is asked beside them.
    const asked: string[] = plan.questions.map(({ table }: { table: string }) => table);
    expect(asked.toSorted()).toEqual(["authors", "posts", "tags"]);
    expect(asked.indexOf("posts")).toBeGreaterThan(asked.indexOf("authors"));
  });

  test("the number that a counted relation keeps is shown without counting", async () => {
    const { questions, documentsExamined } = await explain({ fields: "title,_count(comments)", limit: "20" });
    expect([questions, documentsExamined]).toEqual([[], 20]);
  });

  test("sorting many parents by their children groups the children once", async () => {
    const plan = await explain({ sort: "_max(comments.likes)" });
    expect(plan.ranked).toBe(true);
    const counts = await Promise.all(
      ["/posts", "/comments"].map(
        async (path) => (await root.get(path, { limit: "1", meta: "totalCount" })).body.meta,
      ),
    );
    const [posts, comments] = counts.map(({ totalCount }) => totalCount);
    expect(plan.documentsExamined).toBeLessThanOrEqual(posts + comments + 10);
  });

  test("shows what the aggregate reads, where there is one", async () => {
    const aggregate = { views: { sum: true }, comments: { count: true } };
    const query = { filter: { status: "published" }, explain: "true" };
    const [plan] = (await root.get("/posts", { ...query, aggregate })).body.data;
    const { body } = await root.get("/posts", { filter: query.filter, meta: "filterCount" });
    expect(plan.aggregate.documentsExamined).toBeGreaterThanOrEqual(body.meta.filterCount);
    expect(plan.aggregate.pipeline).toEqual(
      expect.arrayContaining([expect.objectContaining({ $group: expect.anything() })]),
    );
    const [without] = (await root.get("/posts", query)).body.data;
    expect(without).not.toHaveProperty("aggregate");
  });

  test("shows what the counts read beside the page", async () => {
    const query = { filter: { status: "published" }, limit: "1", meta: "*", explain: "true" };
    const { body } = await root.get("/posts", query);
    const counts: { meta: string; documentsExamined: number }[] = body.data[0].counts;
    expect(counts.map(({ meta }) => meta)).toEqual(["totalCount", "filterCount"]);
    expect(counts[1]?.documentsExamined).toBeGreaterThan(1);
  });

  test("shows that the number of all records, once it is known, reads nothing", async () => {
    await root.get("/posts", { meta: "totalCount" });
    const { body } = await root.get("/posts", { limit: "1", meta: "totalCount", explain: "true" });
    expect(body.data[0].counts[0].documentsExamined).toBe(0);
  });

  test("is refused to everyone but root, and says what it takes", async () => {
    await root.post("/svc_user", { email: "plain@example.com", password: "just a password" });
    const user = await signIn(`${stack.appUrl}/api`, {
      email: "plain@example.com",
      password: "just a password",
    });
    expect((await user.get("/posts", { explain: "true" })).status).toBe(403);
    const { status, body } = await root.get("/posts", { explain: "maybe" });
    expect([status, body.message]).toEqual([400, "explain: must be true or false"]);
  });
});

describe("explain, where nothing is looked up beforehand", () => {
  let stack: Stack;
  let root: Api;

  beforeAll(async () => {
    stack = await startStack({ demo: true, env: { QUERY_PLAN_MAX_KEYS: "0" } });
    root = await asAdmin(stack);
  });

  afterAll(() => stack?.stop());

  test("shows the count that is run: many rows are grouped, few are joined", async () => {
    const stagesFor = async (filter: object): Promise<string[]> => {
      const { body } = await root.get("/posts", { filter, limit: "1", meta: "filterCount", explain: "true" });
      return body.data[0].counts[0].pipeline.flatMap(Object.keys);
    };
    const author = { email: { _contains: "a" } };
    expect(await stagesFor({ author })).toContain("$unionWith");
    const { body } = await root.get("/posts", { fields: "id", limit: "3" });
    const few = body.data.map(({ id }: { id: string }) => id);
    expect(await stagesFor({ author, id: { _in: few } })).toEqual([
      "$match",
      "$set",
      "$lookup",
      "$match",
      "$count",
    ]);
  });
});
