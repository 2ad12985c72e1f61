// The benchmark measures what users get: its data lies as the service lays it, and its requests find something.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Db, MongoClient } from "mongodb";
import { CASES } from "./cases.js";
import { openSize, type SizedService } from "./databases.js";
import { idOf } from "./load.js";
import { measure } from "./measure.js";
import { linesOf, markdownOf, quantile } from "./report.js";
import { COMMENTS_PER_POST, rowOf } from "./tables.js";

const POSTS = 400;

describe("the scaling benchmark", () => {
  let folder: string;
  let sized: SizedService;
  let client: MongoClient;
  let db: Db;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "portico-scale-"));
    sized = await openSize(process.env.MONGODB_URL ?? "", POSTS, folder, () => {});
    client = await MongoClient.connect(sized.mongodbUrl);
    db = client.db();
  });

  afterAll(async () => {
    await sized?.service.stop();
    await db?.dropDatabase();
    await client?.close();
    await rm(folder, { recursive: true, force: true });
  });

  test.each(["authors", "posts", "comments"])("stores %s as the service does", async (table) => {
    const { values, links } = rowOf(table, 5, POSTS);
    const ids = Object.entries(links).map(([name, [other, at]]) => [name, `${idOf(other, at, POSTS)}`]);
    const { status, body } = await sized.api.post(`/${table}`, { ...values, ...Object.fromEntries(ids) });
    expect(status).toBe(201);
    const loaded = await db.collection(table).findOne({ _id: idOf(table, 5, POSTS) });
    const written = await db.collection(table).findOne({}, { sort: { updatedAt: -1 } });
    expect(written?._id.toHexString()).toBe(body.data[0].id);
    const moment = { _id: null, createdAt: null, updatedAt: null };
    // The new record has no children yet, so nothing is counted.
    const counted = /^_[nv]_/;
    const own = Object.fromEntries(Object.entries(loaded ?? {}).filter(([field]) => !counted.test(field)));
    expect({ ...own, ...moment }).toEqual({ ...written, ...moment });
    expect((await sized.api.delete(`/${table}/${body.data[0].id}`)).status).toBe(200);
  });

  test("makes the indexes of the tables", async () => {
    const names = (await db.collection("posts").indexes()).map(({ name }) => name);
    expect(names).toContain("status_1_createdAt_-1__id_1");
    expect(names).toContain("authorId_1_createdAt_-1__id_1");
  });

  test.each(CASES.map((each) => [each.name, each] as const))("%s finds records", async (_, each) => {
    const [measured] = await measure(each, [sized], {
      turns: 3,
      warmUp: 1,
      milliseconds: 60_000,
      fewest: 1,
    });
    expect(measured).toMatchObject({
      posts: POSTS,
      times: [expect.any(Number), expect.any(Number), expect.any(Number)],
    });
    expect(measured?.returned).toBeGreaterThan(0);
  });

  test("gives every post its comments", async () => {
    const { body } = await sized.api.get("/comments", { meta: "totalCount", limit: "1" });
    expect(body.meta).toEqual({ totalCount: POSTS * COMMENTS_PER_POST });
  });
});

describe("the report", () => {
  const facts = { documentsExamined: 1, keysExamined: 1, returned: 1 };
  const result = (name: string, bar: boolean, ...medians: number[]) => ({
    case: { name, bar },
    sizes: medians.map((median, at) => ({ posts: 10 ** (at + 4), times: [median, median], ...facts })),
  });

  test("holds the largest size against the smallest", () => {
    const lines = linesOf([
      result("good", true, 5, 30, 10),
      result("bad", true, 5, 5, 11),
      result("any", false, 1, 9),
    ]);
    expect(lines.map(({ withinBar }) => withinBar)).toEqual([
      ...[undefined, undefined, true],
      ...[undefined, undefined, false],
      ...[undefined, undefined],
    ]);
    expect(markdownOf(lines)).toMatch(/\| bad +\| 1,000,000 \| +11\.0 \| +11\.0 \| 2\.20 \(over\) \|/);
  });

  test("takes the value below which a part of the values lies", () => {
    expect([0.5, 0.95].map((part) => quantile([5, 1, 3, 4, 2], part))).toEqual([3, 5]);
  });
});
