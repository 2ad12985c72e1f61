// Contract 4.2: `_count(relation)` in `fields`, the number of related records beside a record.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { search } from "../../support/api.js";
import { created, type Library, startLibrary } from "./library.js";

let library: Library;

beforeAll(async () => {
  library = await startLibrary({ env: { QUERY_MAX_DEPTH: "3" } });
});

afterAll(() => library?.stack.stop());

const count = (numbers: Record<string, number>) => ({ _count: numbers });

describe("_count in fields", () => {
  it("numbers the related records of each record, none being 0", async () => {
    expect(await library.rows("books", { fields: "id,_count(reviews)" })).toEqual([
      { id: 1, ...count({ reviews: 2 }) },
      { id: 2, ...count({ reviews: 1 }) },
      { id: 3, ...count({ reviews: 1 }) },
      { id: 4, ...count({ reviews: 0 }) },
      { id: 5, ...count({ reviews: 1 }) },
      { id: 6, ...count({ reviews: 0 }) },
    ]);
  });

  it("counts many-to-many relations from both of their ends", async () => {
    const tagged = await library.rows("books", { fields: "_count(tags)" });
    expect(tagged.map(({ _count }) => _count.tags)).toEqual([2, 1, 1, 0, 1, 0]);
    const tags = await library.rows("tags", { fields: "label,_count(books)", sort: "label" });
    expect(tags).toEqual([
      { label: "love", ...count({ books: 2 }) },
      { label: "sea", ...count({ books: 2 }) },
      { label: "unused", ...count({ books: 0 }) },
      { label: "war", ...count({ books: 1 }) },
    ]);
  });

  it("counts relations of a table to itself, and by ids of every kind", async () => {
    const rows = await library.rows("authors", {
      fields: "name,_count(pupils),_count(books),_count(reviews)",
      sort: "name",
    });
    expect(rows).toEqual([
      { name: "Ann", ...count({ pupils: 2, books: 2, reviews: 0 }) },
      { name: "Bob", ...count({ pupils: 1, books: 2, reviews: 2 }) },
      { name: "Cid", ...count({ pupils: 0, books: 0, reviews: 2 }) },
      { name: "Dora", ...count({ pupils: 0, books: 0, reviews: 0 }) },
    ]);
  });

  it.each<[fields: string, record: object]>([
    ["_count(reviews)", count({ reviews: 2 })],
    ["_count(reviews) , _count(tags)", count({ reviews: 2, tags: 2 })],
    ["_count(reviews),_count(reviews)", count({ reviews: 2 })],
    ["author.name,author._count(books)", { author: { name: "Ann", ...count({ books: 2 }) } }],
    ["author._count(books)", { author: count({ books: 2 }) }],
    ["author,author._count(books)", { author: count({ books: 2 }) }],
    [
      "reviews.stars,reviews.critic._count(reviews),_count(reviews)",
      {
        reviews: [
          { id: 1, stars: 5, critic: count({ reviews: 2 }) },
          { id: 2, stars: 1, critic: count({ reviews: 2 }) },
        ],
        ...count({ reviews: 2 }),
      },
    ],
    ["tags._count(books)", { tags: [count({ books: 2 }), count({ books: 2 })] }],
    [
      "author.books._count(reviews)",
      {
        author: {
          books: [
            { id: 1, ...count({ reviews: 2 }) },
            { id: 2, ...count({ reviews: 1 }) },
          ],
        },
      },
    ],
  ])("%s", async (fields, record) => {
    for (const limit of [1, 10]) {
      const [first] = await library.rows("books", { fields, limit });
      expect(first).toMatchObject(record);
      const named = fields.replaceAll(" ", "").split(",");
      const own = new Set(named.map((name) => (name.startsWith("_count") ? "_count" : name.split(".")[0])));
      expect(new Set(Object.keys(first))).toEqual(own);
    }
    const { body } = await library.api.get("/books/1", { fields });
    expect(body.data[0]).toMatchObject(record);
  });

  it("is there beside everything, and does not make a scope show less than other names would", async () => {
    const [all] = await library.rows("books", { filter: { id: 1 } });
    const of = async (fields: string): Promise<unknown> =>
      (await library.rows("books", { filter: { id: 1 }, fields }))[0];
    expect(await of("*,_count(reviews)")).toEqual({ ...all, ...count({ reviews: 2 }) });
    const { title: _, ...others } = all;
    expect(await of("-title,_count(reviews)")).toEqual({ ...others, ...count({ reviews: 2 }) });
    expect(await of("_count(reviews),-title,pages")).toEqual({ ...others, ...count({ reviews: 2 }) });
    expect(await of("-reviews,_count(reviews)")).toEqual({ ...all, ...count({ reviews: 2 }) });
    const [ann] = await library.rows("authors", { filter: { name: "Ann" }, fields: "-email" });
    expect(await of("-author.email,author._count(books)")).toEqual({
      author: { ...ann, ...count({ books: 2 }) },
    });
  });

  it("counts whatever the relation itself is asked to show", async () => {
    const deep = { reviews: { fields: "stars", filter: { stars: 5 }, limit: 1, page: 1 } };
    const [first] = await library.rows("books", { fields: "_count(reviews)", deep });
    expect(first).toEqual({ reviews: [{ id: 1, stars: 5 }], ...count({ reviews: 2 }) });
    const [second] = await library.rows("books", {
      fields: "_count(reviews)",
      deep: { reviews: { fields: "stars", page: 2 } },
    });
    expect(second).toEqual({ reviews: [], ...count({ reviews: 2 }) });
  });

  it("is taken in the fields of deep", async () => {
    const deep = { author: { fields: "_count(books)", deep: { books: { fields: "id,_count(reviews)" } } } };
    const [book] = await library.rows("books", { fields: "id", deep });
    expect(book.author._count).toEqual({ books: 2 });
    expect(book.author.books).toEqual([
      { id: 1, ...count({ reviews: 2 }) },
      { id: 2, ...count({ reviews: 1 }) },
    ]);
  });

  it("is taken in a body of QUERY, as a list of names too", async () => {
    const send = (fields: unknown) =>
      library.api.send("QUERY", "/books", {
        body: JSON.stringify({ fields, limit: 1 }),
        headers: { "Content-Type": "application/json" },
      });
    const expected = [{ title: "Waves", ...count({ reviews: 2 }) }];
    expect((await send("title,_count(reviews)")).body.data).toEqual(expected);
    expect((await send(["title", "_count(reviews)"])).body.data).toEqual(expected);
  });

  it("shapes the answers of writes, which see what they have made", async () => {
    const { api } = library;
    const made = await api.post(
      "/books",
      { title: "New", publisher: 1, reviews: [{ stars: 1 }, { stars: 2 }] },
      { fields: "id,_count(reviews),_count(tags),publisher._count(books)" },
    );
    const [{ id, ...shown }] = made.body.data;
    const before = await library.rows("publishers", { filter: { id: 1 }, fields: "_count(books)" });
    expect(shown).toEqual({
      publisher: { id: 1, ...before[0] },
      ...count({ reviews: 2, tags: 0 }),
    });
    const changed = await api.patch(`/books/${id}`, { tags: [library.tags.sea] }, { fields: "_count(tags)" });
    expect(changed.body.data).toEqual([count({ tags: 1 })]);
    const plain = await api.post("/books", { title: "Bare", publisher: 1 }, { fields: "_count(reviews)" });
    expect(plain.body.data).toEqual([count({ reviews: 0 })]);
    const several = [0, 1, 2].map((reviews) => ({
      title: "Of several",
      publisher: 1,
      reviews: Array.from({ length: reviews }, () => ({ stars: 5 })),
      tags: reviews === 2 ? [library.tags.sea, library.tags.war] : [],
    }));
    const all = await api.post("/books", several, { fields: "_count(reviews),_count(tags)" });
    expect(all.body.data).toEqual([
      count({ reviews: 0, tags: 0 }),
      count({ reviews: 1, tags: 0 }),
      count({ reviews: 2, tags: 2 }),
    ]);
    for (const { id } of await library.rows("books", { filter: { id: { _gt: 6 } }, fields: "id" }))
      await api.delete(`/books/${id}`);
  });

  it("shapes /me", async () => {
    const { api } = library;
    await created(api, "svc_table", {
      name: "memos",
      relations: [{ name: "writer", type: "many-to-one", table: "svc_user", inverse: "memos" }],
    });
    const me = async () => (await api.get("/me", { fields: "email,_count(memos)" })).body.data;
    const { email } = library.stack.admin;
    expect(await me()).toEqual([{ email, ...count({ memos: 0 }) }]);
    const [{ id: writer }] = (await api.get("/me", { fields: "id" })).body.data;
    await created(api, "memos", [{ writer }, {}]);
    expect(await me()).toEqual([{ email, ...count({ memos: 1 }) }]);
  });

  it("makes another ETag when the number has changed", async () => {
    const { api } = library;
    const get = (headers: Record<string, string> = {}) =>
      api.send("GET", `/books/4${search({ fields: "id,_count(reviews)" })}`, { headers });
    const etag = String((await get()).headers.get("etag"));
    expect((await get({ "If-None-Match": etag })).status).toBe(304);
    const [review] = await created(api, "reviews", { book: 4, stars: 2 });
    const changed = await get({ "If-None-Match": etag });
    expect([changed.status, changed.body.data]).toEqual([200, [{ id: 4, ...count({ reviews: 1 }) }]]);
    await api.delete(`/reviews/${review?.id}`);
  });

  it.each([
    ["_count(author)", '_count(author): "author" is to-one, so there is nothing to count'],
    ["author._count(mentor)", '_count(mentor): "mentor" is to-one, so there is nothing to count'],
    ["_count(title)", '"title" of "books" is a column, not a relation'],
    ["_count(reviewz)", 'unknown field "reviewz" on "books"; did you mean "reviews"?'],
    ["-author,author._count(bookz)", 'unknown field "bookz" on "authors"; did you mean "books"?'],
    [
      "_count(reviews.stars)",
      '"_count(reviews.stars)" is not a count; write _count(relation) or relation._count(relation)',
    ],
    ["_count()", '"_count()" is not a count; write _count(relation) or relation._count(relation)'],
    ["-_count(reviews)", `"-_count(reviews)" can't be left out: a count is shown only where it is named`],
    [
      "-author._count(books)",
      `"-author._count(books)" can't be left out: a count is shown only where it is named`,
    ],
    [
      "_max(reviews.stars)",
      '"_max(reviews.stars)" is not a field name; of functions only _count(relation) is taken here',
    ],
    ["_count", 'unknown field "_count" on "books"'],
    ["author.mentor.mentor._count(books)", '"books" lies deeper than 3 relations'],
  ])("refuses %s", async (fields, problem) => {
    expect(await library.refusal("books", { fields })).toBe(`fields: ${problem}`);
  });

  it("refuses it in deep with the path", async () => {
    const deep = { author: { fields: "_count(mentor)" } };
    expect(await library.refusal("books", { deep })).toBe(
      'deep.author.fields: _count(mentor): "mentor" is to-one, so there is nothing to count',
    );
  });

  it("is no field of a body", async () => {
    const { status, body } = await library.api.patch("/books/1", { _count: { reviews: 5 } });
    expect([status, body.message]).toEqual([400, [expect.stringMatching(/^_count: unknown field/)]]);
  });
});

describe("many records", () => {
  const BOXES = 230;

  beforeAll(async () => {
    const { api } = library;
    await created(api, "svc_table", {
      name: "boxes",
      idType: "int",
      columns: [{ name: "size", type: "int" }],
    });
    await created(api, "svc_table", {
      name: "things",
      idType: "int",
      relations: [
        { name: "box", type: "many-to-one", table: "boxes", inverse: "things" },
        { name: "others", type: "many-to-many", table: "boxes", inverse: "lent" },
      ],
    });
    await created(
      api,
      "boxes",
      Array.from({ length: BOXES }, (_, at) => ({ size: at })),
    );
    const things = Array.from({ length: BOXES }, (_, at) =>
      Array.from({ length: at % 4 }, () => ({ box: at + 1, others: [at + 1, 1] })),
    ).flat();
    await created(api, "things", things);
  });

  const fields = "size,_count(things),_count(lent)";
  const expected = () => {
    const lentFirst = Array.from({ length: BOXES }, (_, at) => at % 4).reduce((sum, each) => sum + each, 0);
    return Array.from({ length: BOXES }, (_, size) => ({
      size,
      ...count({ things: size % 4, lent: size === 0 ? lentFirst : size % 4 }),
    }));
  };

  it("are counted a part after the other, on a page and in a stream", async () => {
    for (const limit of [BOXES, 0])
      expect(await library.rows("boxes", { fields, limit, sort: "size" })).toEqual(expected());
  });

  it("are counted one by one where they hold too many links to be asked for together", async () => {
    const numbers = (many: number) => Array.from({ length: many }, (_, at) => at + 1);
    const sizes = [101, 3, 230, 0];
    const made = await created(
      library.api,
      "things",
      sizes.map((many) => ({ others: numbers(many) })),
    );
    const filter = { id: { _in: made.map(({ id }) => id) } };
    const rows = await library.rows("things", { filter, fields: "_count(others)" });
    expect(rows).toEqual(sizes.map((others) => count({ others })));
    for (const { id } of made) await library.api.delete(`/things/${id}`);
  });

  it("are counted in a list that is ranked by the same number", async () => {
    const rows = await library.rows("boxes", { fields, sort: "-_count(things),size", limit: 0 });
    const ranked = expected().toSorted(
      (one, other) => Number(other._count.things) - Number(one._count.things) || one.size - other.size,
    );
    expect(rows).toEqual(ranked);
  });
});
