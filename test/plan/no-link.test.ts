// A record without a link costs nothing: whatever is asked of a to-one relation reads the records that links lead to, and
// never the other table from end to end.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { MongoClient } from "mongodb";
import { makeTable } from "../contract/records/make.js";
import { type Api, asAdmin } from "../support/api.js";
import { type Stack, startStack } from "../support/stack.js";

const AUTHORS = 300;
const POSTS = 120;
const NOTES = 40;

interface Read {
  readonly documentsExamined: number;
  readonly fullScans: number;
}

describe("records without a link", () => {
  let stack: Stack;
  let client: MongoClient;
  let root: Api;

  beforeAll(async () => {
    stack = await startStack({ env: { QUERY_PLAN_MAX_KEYS: "0" } });
    root = await asAdmin(stack);
    const columns = [{ name: "label", type: "string" }];
    const linked = (name: string, table: string, inverse: string): object[] => [
      { name, type: "many-to-one", table, inverse },
    ];
    await makeTable(root, { name: "authors", idType: "int", columns });
    await makeTable(root, {
      name: "posts",
      idType: "int",
      columns,
      relations: linked("author", "authors", "posts"),
    });
    await makeTable(root, {
      name: "notes",
      idType: "int",
      columns,
      relations: linked("post", "posts", "notes"),
    });
    client = await MongoClient.connect(stack.mongodbUrl);
    const put = (name: string, count: number, of: (at: number) => object): Promise<unknown> => {
      const documents = Array.from({ length: count }, (_, _id) => ({
        _id,
        label: `${name} ${_id}`,
        ...of(_id),
      }));
      return client.db().collection<{ _id: number }>(name).insertMany(documents);
    };
    await put("authors", AUTHORS, () => ({}));
    // Links, nulls and no field at all.
    await put("posts", POSTS, (at) => [{ authorId: at }, { authorId: null }, {}][at % 3] ?? {});
    await put("notes", NOTES, (at) => (at % 2 === 0 ? { postId: at } : {}));
    // What another program leaves where a link belongs.
    const left = [null, [], [1, 2], /x/, {}, "1", undefined];
    await put("pages", POSTS, (at) => ({ authorId: at % 2 === 0 ? at : left[at % left.length] }));
    await makeTable(root, {
      name: "pages",
      idType: "int",
      columns,
      relations: linked("author", "authors", "pages"),
    });
  });

  afterAll(async () => {
    await client?.close();
    await stack?.stop();
  });

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
