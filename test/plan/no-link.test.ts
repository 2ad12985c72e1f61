// A record without a link costs nothing: whatever is asked of a to-one relation reads the records that links lead to, and
// never the other table from end to end.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Api } from "../support/api.js";
import { type Labelled, startLabelled } from "./labelled.js";

const AUTHORS = 300;
const POSTS = 120;
const NOTES = 40;

interface Read {
  readonly documentsExamined: number;
  readonly fullScans: number;
}

describe("records without a link", () => {
  let labelled: Labelled;
  let root: Api;

  beforeAll(async () => {
    labelled = await startLabelled();
    root = labelled.root;
    const { make, put } = labelled;
    const linked = (name: string, table: string, inverse: string): object => ({
      name,
      type: "many-to-one",
      table,
      inverse,
    });
    await make("authors");
    await make("posts", linked("author", "authors", "posts"));
    await make("notes", linked("post", "posts", "notes"));
    await put("authors", AUTHORS, () => ({}));
    // Links, nulls and no field at all.
    await put("posts", POSTS, (at) => [{ authorId: at }, { authorId: null }, {}][at % 3] ?? {});
    await put("notes", NOTES, (at) => (at % 2 === 0 ? { postId: at } : {}));
    // What another program leaves where a link belongs.
    const left = [null, [], [1, 2], /x/, {}, "1", undefined];
    await put("pages", POSTS, (at) => ({ authorId: at % 2 === 0 ? at : left[at % left.length] }));
    await make("pages", linked("author", "authors", "pages"));
  });

  afterAll(() => labelled?.stop());

  test.each<[asked: string, query: Record<string, unknown>, table?: string]>([
    ["sorts by a column", { sort: "author.label" }],
    ["sorts by a column behind two links", { sort: "post.author.label" }, "notes"],
    ["filters by the linked record", { filter: { author: { label: { _contains: "1" } } } }],
    ["filters by none such", { filter: { _not: { author: { label: { _contains: "1" } } } } }],
    ["filters behind two links", { filter: { post: { author: { label: { _neq: "authors 3" } } } } }, "notes"],
    ["shows the linked record", { deep: { author: {} } }],
    ["sorts a collection of another program's", { sort: "author.label" }, "pages"],
    ["filters one", { filter: { _not: { author: { label: { _contains: "1" } } } } }, "pages"],
    ["shows records behind two links", { deep: { post: { deep: { author: {} } } } }, "notes"],
  ])("%s", async (_, query, table = "posts") => {
    const asked = { fields: "id", limit: "0", ...query, explain: "true" };
    const { status, body } = await root.get(`/${table}`, asked);
    expect(status).toBe(200);
    const { questions, ...page }: Read & { readonly questions: readonly Read[] } = body.data[0];
    for (const { documentsExamined } of [page, ...questions])
      expect(documentsExamined).toBeLessThanOrEqual(2 * POSTS);
    // The table itself is read once.
    for (const { fullScans } of [page, ...questions]) expect(fullScans).toBeLessThanOrEqual(1);
  });
});
