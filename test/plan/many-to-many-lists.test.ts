// Whatever is asked of a many-to-many relation from the side that holds the lists reads the records that these lead to, and
// never the other table from end to end: not where lists of one link and of several stand side by side either.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Api } from "../support/api.js";
import { type Labelled, startLabelled } from "./labelled.js";

const TAGS = 300;
const POSTS = 120;
const linksOf = (at: number): number => (at + 1) % 4;
const LINKS = Array.from({ length: POSTS }, (_, at) => linksOf(at)).reduce((sum, links) => sum + links, 0);

interface Read {
  readonly documentsExamined: number;
}

describe("lists of links", () => {
  let labelled: Labelled;
  let root: Api;

  beforeAll(async () => {
    labelled = await startLabelled();
    root = labelled.root;
    const { make, put } = labelled;
    await make("tags");
    await make("posts", { name: "tags", type: "many-to-many", table: "tags", inverse: "posts" });
    await make("notes", { name: "post", type: "many-to-one", table: "posts", inverse: "notes" });
    await put("tags", TAGS, () => ({}));
    await put("posts", POSTS, (at) => ({
      tagsIds: Array.from({ length: linksOf(at) }, (_, nth) => (at * 7 + nth * 13) % TAGS),
    }));
    await put("notes", POSTS, (at) => ({ postId: at }));
  });

  afterAll(() => labelled?.stop());

  test("are as long as the number of records that they lead to, which needs none of these", async () => {
    const aggregate = { tags: { count: true } };
    const { body } = await root.get("/posts", { aggregate, sort: "-_count(tags)", explain: "true" });
    expect([body.data[0].aggregate.documentsExamined, body.data[0].documentsExamined]).toEqual([
      POSTS,
      POSTS,
    ]);
    const answer = await root.get("/posts", {
      aggregate,
      fields: "_count(tags)",
      sort: "-_count(tags),id",
      limit: "1",
    });
    expect(answer.body).toMatchObject({
      data: [{ _count: { tags: 3 } }],
      meta: { aggregate: { tags: { count: LINKS } } },
    });
  });

  test.each<[asked: string, query: Record<string, unknown>, table?: string]>([
    ["sorts by the greatest", { sort: "-_max(tags.label)" }],
    ["sorts by the least", { sort: "_min(tags.label)" }],
    ["filters by one", { filter: { tags: { label: { _contains: "tags 1" } } }, limit: "0" }],
    ["filters by none", { filter: { _not: { tags: { label: { _contains: "tags 1" } } } }, limit: "0" }],
    ["filters by what one leads back to", { filter: { tags: { posts: { id: { _lt: 3 } } } }, limit: "0" }],
    ["emptiness", { filter: { tags: { _is_null: true } } }],
    ["shown records", { deep: { tags: { sort: "label", limit: 0 } }, limit: "0" }],
    ["shown numbers", { fields: "id,_count(tags)", limit: "0" }],
    [
      "filters behind a link",
      { filter: { post: { tags: { label: { _contains: "1" } } } }, limit: "0" },
      "notes",
    ],
    [
      "shown records behind a link",
      { deep: { post: { deep: { tags: { limit: 0 } } } }, limit: "0" },
      "notes",
    ],
  ])("%s", async (_, query, table = "posts") => {
    const { status, body } = await root.get(`/${table}`, { fields: "id", ...query, explain: "true" });
    expect(status).toBe(200);
    const { questions, ...page }: Read & { readonly questions: readonly Read[] } = body.data[0];
    for (const { documentsExamined } of [page, ...questions])
      expect(documentsExamined).toBeLessThanOrEqual(2 * (POSTS + LINKS));
  });
});
