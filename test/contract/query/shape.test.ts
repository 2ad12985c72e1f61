// Contract 4.2 and 4.5: which members a record shows, and what is loaded below it.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { created, type Library, startLibrary } from "./library.js";

let library: Library;
let ann: string;
let bob: string;

beforeAll(async () => {
  library = await startLibrary();
  ({ Ann: ann, Bob: bob } = library.authors);
  const { api } = library;
  await created(api, "svc_table", {
    name: "lots",
    idType: "int",
    columns: [{ name: "name", type: "string" }],
  });
  await created(api, "svc_table", {
    name: "numbers",
    idType: "int",
    columns: [{ name: "value", type: "int" }],
    relations: [{ name: "lot", type: "many-to-one", table: "lots", inverse: "numbers" }],
  });
  await created(api, "lots", [{ name: "small" }, { name: "large" }, { name: "empty" }]);
  const numbers = (lot: number, count: number) =>
    Array.from({ length: count }, (_, at) => ({ lot, value: at }));
  await created(api, "numbers", [...numbers(1, 12), ...numbers(2, 15)]);
});

afterAll(() => library.stack.stop());

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const TIMES = { createdAt: TIME, updatedAt: TIME };

const waves = () => ({
  id: 1,
  title: "Waves",
  subtitle: "Of the sea",
  pages: 100,
  price: "10.50",
  sold: "9007199254740993",
  weight: 0.5,
  inPrint: true,
  publishedOn: "2020-01-01",
  status: "printed",
  formats: ["paper"],
  extra: { shelf: 1 },
  royalty: "7 %",
  author: { id: ann },
  publisher: { id: 1 },
  ...TIMES,
});

async function book(id: number, fields?: string): Promise<unknown> {
  const [record] = await library.rows("books", {
    filter: { id },
    ...(fields === undefined ? {} : { fields }),
  });
  return record;
}

function without(record: object, ...names: string[]): unknown {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
}

describe("fields", () => {
  it("absent: every readable column and to-one relations as id objects", async () => {
    expect(await book(1)).toEqual(waves());
  });

  it("absent: nulls are shown, columns and relations alike", async () => {
    expect(await book(6)).toEqual({
      id: 6,
      title: "Zero 😀",
      subtitle: null,
      pages: null,
      price: null,
      sold: null,
      weight: null,
      inPrint: null,
      publishedOn: null,
      status: null,
      formats: null,
      extra: null,
      royalty: null,
      author: null,
      publisher: { id: 2 },
      ...TIMES,
    });
  });

  it("*: the same as absent", async () => {
    expect(await book(1, "*")).toEqual(waves());
  });

  it.each<[fields: string, id: number, record: () => unknown]>([
    ["title", 1, () => ({ title: "Waves" })],
    ["id,title", 1, () => ({ id: 1, title: "Waves" })],
    ["title, title", 1, () => ({ title: "Waves" })],
    ["author", 1, () => ({ author: { id: ann } })],
    ["author", 5, () => ({ author: null })],
    ["author.name", 1, () => ({ author: { id: ann, name: "Ann" } })],
    ["author.name", 5, () => ({ author: null })],
    ["author.id", 1, () => ({ author: { id: ann } })],
    ["author.name,author.birthYear", 1, () => ({ author: { id: ann, name: "Ann", birthYear: 1970 } })],
    [
      "title,author.name,author.mentor.name",
      3,
      () => ({ title: "Ashes", author: { id: bob, name: "Bob", mentor: { id: ann, name: "Ann" } } }),
    ],
    ["author.mentor.name", 1, () => ({ author: { id: ann, mentor: null } })],
    ["author.mentor", 3, () => ({ author: { id: bob, mentor: { id: ann } } })],
    [
      "author.*",
      3,
      () => ({
        author: {
          id: bob,
          name: "Bob",
          email: null,
          birthYear: 1980,
          ...TIMES,
          mentor: { id: ann },
          profile: { id: 2 },
        },
      }),
    ],
    [
      "author.profile.bio",
      1,
      () => ({ author: { id: ann, profile: { id: 1, bio: "Writes about the sea" } } }),
    ],
    ["reviews", 1, () => ({ reviews: [{ id: 1 }, { id: 2 }] })],
    ["reviews", 4, () => ({ reviews: [] })],
    ["reviews.stars,reviews.critic.name", 3, () => ({ reviews: [{ id: 4, stars: 3, critic: null }] })],
    ["tags.label", 2, () => ({ tags: [{ id: library.tags.sea, label: "sea" }] })],
    ["tags", 6, () => ({ tags: [] })],
    [
      "*,reviews.stars",
      1,
      () => ({
        ...waves(),
        reviews: [
          { id: 1, stars: 5 },
          { id: 2, stars: 1 },
        ],
      }),
    ],
    ["*,author.name", 1, () => ({ ...waves(), author: { id: ann, name: "Ann" } })],
    ["-title", 1, () => without(waves(), "title")],
    ["-title,-author,-createdAt", 1, () => without(waves(), "title", "author", "createdAt")],
    ["-id", 1, () => without(waves(), "id")],
    ["-title,pages,reviews", 1, () => without(waves(), "title")],
    ["pages,-title,*", 1, () => without(waves(), "title")],
    [
      "-title,author.name",
      1,
      () => ({ ...(without(waves(), "title") as object), author: { id: ann, name: "Ann" } }),
    ],
    [
      "-author.email",
      1,
      () => ({
        ...waves(),
        author: { id: ann, name: "Ann", birthYear: 1970, mentor: null, profile: { id: 1 }, ...TIMES },
      }),
    ],
    [
      "-author.email,-author.mentor,author.name",
      1,
      () => ({ author: { id: ann, name: "Ann", birthYear: 1970, profile: { id: 1 }, ...TIMES } }),
    ],
    [
      "-reviews.text",
      2,
      () =>
        expect.objectContaining({
          id: 2,
          title: "Storms",
          reviews: [
            {
              id: 3,
              stars: 3,
              writtenOn: "2022-01-02",
              book: { id: 2 },
              critic: { id: library.authors.Cid },
              ...TIMES,
            },
          ],
        }),
    ],
    [
      "-author.id,-author.mentor",
      1,
      () => ({
        ...waves(),
        author: {
          id: ann,
          name: "Ann",
          email: "ann@example.com",
          birthYear: 1970,
          profile: { id: 1 },
          ...TIMES,
        },
      }),
    ],
    ["title,draftNote", 1, () => ({ title: "Waves", draftNote: "check the tides" })],
    ["*,draftNote", 1, () => ({ ...waves(), draftNote: "check the tides" })],
  ])("%s of book %i", async (fields, id, record) => {
    expect(await book(id, fields)).toEqual(record());
  });

  it("hides a hidden column from signed-in users, as if it did not exist", async () => {
    const { stack, api } = library;
    const TABLES = ["books", "authors", "reviews", "tags", "publishers", "profiles"];
    const { roleFor } = await import("../../support/rules.js");
    const role = await roleFor(api, "reader", TABLES);
    await created(api, "svc_user", {
      email: "user@example.com",
      password: "correct horse battery",
      name: "U",
      role,
    });
    const { signIn } = await import("../../support/api.js");
    const user = await signIn(`${stack.appUrl}/api`, {
      email: "user@example.com",
      password: "correct horse battery",
    });
    const star = await user.get("/books/1");
    expect(star.body.data[0]).toEqual(waves());
    const named = await user.get("/books", { fields: "id,draftNote" });
    expect([named.status, named.body.message]).toEqual([400, 'fields: unknown field "draftNote" on "books"']);
  });

  it.each([
    ["nope", 'fields: unknown field "nope" on "books"'],
    ["id,titel", 'fields: unknown field "titel" on "books"; did you mean "title"?'],
    ["-nope", 'fields: unknown field "nope" on "books"'],
    ["author.nme", 'fields: unknown field "nme" on "authors"; did you mean "name"?'],
    ["-author.nme", 'fields: unknown field "nme" on "authors"; did you mean "name"?'],
    ["-author,author.nope", 'fields: unknown field "nope" on "authors"'],
    ["reviews.critic.nope", 'fields: unknown field "nope" on "authors"'],
    ["autor.name", 'fields: unknown field "autor" on "books"; did you mean "author"?'],
    ["title.length", 'fields: "title" of "books" is a column, not a relation'],
    ["title.*", 'fields: "title" of "books" is a column, not a relation'],
    ["authorId", 'fields: unknown field "authorId" on "books"; did you mean "author"?'],
    ["_id", 'fields: unknown field "_id" on "books"; did you mean "id"?'],
    ["ID", 'fields: unknown field "ID" on "books"; did you mean "id"?'],
    ["-*", "fields: -* would leave nothing"],
    ["-author.*", 'fields: "-author.*" would leave nothing; name the relation itself'],
    ["", "fields: has an empty name"],
    ["id,", "fields: has an empty name"],
    ["id,,title", "fields: has an empty name"],
    ["author.", 'fields: "author." is not a field name'],
    ["author..name", 'fields: "author..name" is not a field name'],
    ["--id", 'fields: "--id" is not a field name'],
    ["$where", 'fields: "$where" is not a field name'],
    [
      "count(reviews)",
      'fields: "count(reviews)" is not a field name; of functions only _count(relation) is taken here',
    ],
    ["constructor", 'fields: unknown field "constructor" on "books"'],
    [`author${".mentor".repeat(7)}.name`, 'fields: "mentor" lies deeper than 7 relations'],
  ])("%s is refused", async (fields, message) => {
    expect(await library.refusal("books", { fields })).toBe(message);
  });

  it("goes through seven relations", async () => {
    expect(await book(3, `author${".mentor".repeat(6)}.name`)).toMatchObject({
      author: { mentor: { mentor: null } },
    });
  });

  it("takes 200 names and not 201", async () => {
    expect(await book(1, Array(200).fill("title").join(","))).toEqual({ title: "Waves" });
    expect(await library.refusal("books", { fields: Array(201).fill("title").join(",") })).toBe(
      "fields: names more than 200 fields",
    );
  });
});

describe("deep", () => {
  const authors = (deep: unknown, fields = "name") => library.rows("authors", { fields, deep, sort: "name" });

  it("loads a relation that fields did not name, sorted and cut for each parent", async () => {
    expect(await authors({ books: { fields: "title", sort: "-title", limit: 1 } })).toEqual([
      { name: "Ann", books: [{ id: 1, title: "Waves" }] },
      { name: "Bob", books: [{ id: 4, title: "Émile" }] },
      { name: "Cid", books: [] },
      { name: "Dora", books: [] },
    ]);
  });

  it("filters children, never parents", async () => {
    expect(await authors({ books: { fields: "id", filter: { pages: { _gt: 150 } } } })).toEqual([
      { name: "Ann", books: [{ id: 2 }] },
      { name: "Bob", books: [{ id: 3 }] },
      { name: "Cid", books: [] },
      { name: "Dora", books: [] },
    ]);
  });

  it("takes the page of each parent", async () => {
    expect(await authors({ books: { fields: "id", limit: 1, page: 2 } })).toMatchObject([
      { books: [{ id: 2 }] },
      { books: [{ id: 4 }] },
      { books: [] },
      { books: [] },
    ]);
  });

  it("shows every column when it names no fields", async () => {
    const [row] = await library.rows("reviews", { fields: "id", deep: { book: {} } });
    expect(row).toEqual({ id: 1, book: waves() });
  });

  it("leaves parents in their order", async () => {
    const rows = await library.rows("authors", {
      fields: "name",
      sort: "-name",
      deep: { books: { sort: "title" } },
    });
    expect(rows.map(({ name }) => name)).toEqual(["Dora", "Cid", "Bob", "Ann"]);
  });

  it("makes a to-one that does not match null", async () => {
    const rows = await library.rows("books", {
      fields: "id",
      deep: { author: { fields: "name", filter: { name: "Ann" } } },
    });
    expect(rows.map(({ author }) => author)).toEqual([
      { id: ann, name: "Ann" },
      { id: ann, name: "Ann" },
      ...[null, null, null, null],
    ]);
  });

  it("narrows bare id objects too", async () => {
    const rows = await library.rows("books", {
      fields: "author",
      deep: { author: { fields: "id", filter: { name: "Bob" } } },
    });
    expect(rows.map(({ author }) => author)).toEqual([null, null, { id: bob }, { id: bob }, null, null]);
  });

  it("nests through every kind of relation", async () => {
    const deep = {
      books: {
        fields: "title",
        filter: { reviews: { _is_not_null: true } },
        deep: {
          reviews: { fields: "stars", sort: "stars", deep: { critic: { fields: "name" } } },
          tags: { fields: "label", sort: "label" },
        },
      },
      profile: { fields: "bio" },
      pupils: { fields: "name", sort: "-name" },
    };
    const [record] = await library.rows("authors", { filter: { name: "Ann" }, fields: "name", deep });
    const { Bob, Cid, Dora } = library.authors;
    const { sea, love } = library.tags;
    expect(record).toEqual({
      name: "Ann",
      books: [
        {
          id: 1,
          title: "Waves",
          reviews: [
            { id: 2, stars: 1, critic: { id: Cid, name: "Cid" } },
            { id: 1, stars: 5, critic: { id: Bob, name: "Bob" } },
          ],
          tags: [
            { id: love, label: "love" },
            { id: sea, label: "sea" },
          ],
        },
        {
          id: 2,
          title: "Storms",
          reviews: [{ id: 3, stars: 3, critic: { id: Cid, name: "Cid" } }],
          tags: [{ id: sea, label: "sea" }],
        },
      ],
      profile: { id: 1, bio: "Writes about the sea" },
      pupils: [
        { id: Dora, name: "Dora" },
        { id: Bob, name: "Bob" },
      ],
    });
  });

  it("sorts children by aggregates of their own children", async () => {
    expect(await authors({ books: { fields: "id", sort: "_count(reviews),-id" } })).toMatchObject([
      { books: [{ id: 2 }, { id: 1 }] },
      { books: [{ id: 4 }, { id: 3 }] },
      {},
      {},
    ]);
  });

  it.each<[name: string, setting: unknown, values: number[][]]>([
    ["ten by default", {}, [[0, 9], [0, 9], []]],
    ["all with limit 0", { limit: 0 }, [[0, 11], [0, 14], []]],
    ["a page", { limit: 5, page: 3 }, [[10, 11], [10, 14], []]],
    ["nothing past the end", { limit: 0, page: 2 }, [[], [], []]],
  ])("loads %s for each parent", async (_name, setting, values) => {
    const rows = await library.rows("lots", { deep: { numbers: setting } });
    const ends = (list: { value: number }[]) =>
      list.length === 0 ? [] : [list[0]?.value, list.at(-1)?.value];
    expect(rows.map(({ numbers }) => ends(numbers))).toEqual(values);
  });

  it("a relation named in fields alone is cut at ten as well", async () => {
    const [row] = await library.rows("lots", { fields: "numbers.value" });
    expect(row.numbers).toHaveLength(10);
  });

  it.each<[deep: unknown, message: string]>([
    [[], "deep: must be an object keyed by relation, not a list"],
    ["x", 'deep: is not valid JSON; strings and names need double quotes, as in {"name":{"_eq":"Ann"}}'],
    [{ title: {} }, 'deep.title: "title" of "books" is a column, not a relation'],
    [{ reviewz: {} }, 'deep.reviewz: unknown field "reviewz" on "books"; did you mean "reviews"?'],
    [{ reviews: "id" }, 'deep.reviews: must be an object such as {"limit":3}, not text'],
    [
      { reviews: { pipeline: [] } },
      "deep.reviews.pipeline: is not known; use fields, filter, sort, limit, page, deep",
    ],
    [{ author: { limit: 1 } }, 'deep.author.limit: does not apply: "author" has at most one record'],
    [{ author: { page: 1 } }, 'deep.author.page: does not apply: "author" has at most one record'],
    [{ author: { sort: "name" } }, 'deep.author.sort: does not apply: "author" has at most one record'],
    [{ reviews: { limit: 1.5 } }, "deep.reviews.limit: must be a whole number from 0"],
    [{ reviews: { limit: -1 } }, "deep.reviews.limit: must be a whole number from 0"],
    [{ reviews: { limit: null } }, "deep.reviews.limit: must be a whole number from 0"],
    [{ reviews: { page: 0 } }, "deep.reviews.page: must be a whole number from 1"],
    [{ reviews: { fields: "nope" } }, 'deep.reviews.fields: unknown field "nope" on "reviews"'],
    [{ reviews: { fields: 1 } }, "deep.reviews.fields: must be names separated by commas, not a number"],
    [
      { reviews: { fields: "critic.nme" } },
      'deep.reviews.fields: unknown field "nme" on "authors"; did you mean "name"?',
    ],
    [
      { reviews: { sort: "starz" } },
      'deep.reviews.sort: unknown field "starz" on "reviews"; did you mean "stars"?',
    ],
    [
      { reviews: { filter: { starz: 1 } } },
      'deep.reviews.filter.starz: unknown field "starz" on "reviews"; did you mean "stars"?',
    ],
    [
      { reviews: { filter: [] } },
      'deep.reviews.filter: must be an object such as {"name":{"_eq":"Ann"}}, not a list',
    ],
    [
      { reviews: { deep: { critic: { deep: { books: { limit: "x" } } } } } },
      "deep.reviews.deep.critic.deep.books.limit: must be a whole number from 0",
    ],
    [{ __proto__: null, constructor: {} }, 'deep.constructor: unknown field "constructor" on "books"'],
  ])("%j is refused", async (deep, message) => {
    expect(await library.refusal("books", { deep })).toBe(message);
  });

  it("does not hide a wrong name that it replaces", async () => {
    const query = { fields: "author.nope", deep: { author: { fields: "name" } } };
    expect(await library.refusal("books", query)).toBe('fields: unknown field "nope" on "authors"');
  });

  it("shows at its greatest depth what it shows elsewhere", async () => {
    const nest = (levels: number): unknown => (levels === 0 ? {} : { mentor: { deep: nest(levels - 1) } });
    const deepest = `${"mentor.".repeat(7)}*`;
    expect(await library.rows("authors", { fields: "name", deep: nest(7) })).toHaveLength(4);
    expect(await library.rows("authors", { fields: deepest })).toHaveLength(4);
    expect(await library.refusal("authors", { fields: `${deepest},${"mentor.".repeat(7)}mentor` })).toBe(
      'fields: "mentor" lies deeper than 7 relations',
    );
  });

  it("goes down seven relations and not eight", async () => {
    const nest = (levels: number): unknown =>
      levels === 0 ? {} : { mentor: { fields: "id", deep: nest(levels - 1) } };
    expect(await library.rows("authors", { deep: nest(7) })).toHaveLength(4);
    const path = `deep${".mentor.deep".repeat(7)}.mentor`;
    expect(await library.refusal("authors", { deep: nest(8) })).toBe(
      `${path}: "mentor" lies deeper than 7 relations`,
    );
  });

  it("counts its filter's hops from the root", async () => {
    const hops = (count: number): unknown => (count === 0 ? { name: "x" } : { mentor: hops(count - 1) });
    expect(await library.rows("authors", { deep: { pupils: { filter: hops(6) } } })).toHaveLength(4);
    expect(await library.refusal("authors", { deep: { pupils: { filter: hops(7) } } })).toMatch(
      /^deep\.pupils\.filter(\.mentor){7}: goes through more than 6 relations$/,
    );
  });
});

describe("fields and deep of a single record", () => {
  const shape = { fields: "title", deep: { reviews: { fields: "stars", limit: 1 } } };

  it("shape what is read", async () => {
    const { status, body } = await library.api.get("/books/1", shape);
    expect([status, body]).toEqual([
      200,
      { statusCode: 200, message: "Success", data: [{ title: "Waves", reviews: [{ id: 1, stars: 5 }] }] },
    ]);
  });

  it("shape what is created and updated", async () => {
    const { api } = library;
    const made = await api.post(
      "/books",
      { title: "New", publisher: 1 },
      { ...shape, fields: "title,publisher.name" },
    );
    expect([made.status, made.body.data]).toEqual([
      201,
      [{ title: "New", publisher: { id: 1, name: "North" }, reviews: [] }],
    ]);
    const path = String(made.headers.get("location")).replace(/^\/api/, "");
    const changed = await api.patch(path, { title: "Newer" }, shape);
    expect(changed.body.data).toEqual([{ title: "Newer", reviews: [] }]);
    expect((await api.delete(path)).status).toBe(200);
  });

  it("shape /me", async () => {
    const { body } = await library.api.get("/me", { fields: "email,role.name" });
    expect(body.data).toEqual([{ email: library.stack.admin.email, role: null }]);
  });

  it.each(["filter", "sort", "limit", "page", "meta", "aggregate"])("%s does not apply", async (name) => {
    const message = `${name}: does not apply to this call`;
    expect((await library.api.get("/books/1", { [name]: "{}" })).body.message).toBe(message);
    const made = await library.api.post("/books", { title: "x", publisher: 1 }, { [name]: "{}" });
    expect([made.status, made.body.message]).toEqual([400, message]);
  });

  it("is refused before anything is written", async () => {
    const { status, body } = await library.api.post(
      "/books",
      { title: "Ghost", publisher: 1 },
      { fields: "nope" },
    );
    expect([status, body.message]).toEqual([400, 'fields: unknown field "nope" on "books"']);
    expect(await library.books({ title: "Ghost" })).toEqual([]);
  });
});
