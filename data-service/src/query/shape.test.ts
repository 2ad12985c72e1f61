// Documents -> JSON, as asked for and as far as rules show it.
import { describe, expect, it } from "@jest/globals";
import { Binary, Decimal128, Long, ObjectId } from "bson";
import { ReadView } from "../permission/read-view.js";
import { ALWAYS, NEVER } from "./ast.js";
import { authorizeRead } from "./authorize-read.js";
import { bindQuery } from "./bind-query.js";
import { catalog, rootView, table } from "./library-fixture.js";
import type { StoredRecord } from "./lower/document.js";
import { shaper } from "./shape.js";

function shaped(of: string, fields: string, document: StoredRecord, view = rootView): unknown {
  const query = bindQuery({ fields, filterFromText: false }, table(of), view, {
    maxDepth: 7,
    maxLimit: undefined,
  });
  const unseal = (sealed: Binary): string => `opened ${sealed.length()} bytes`;
  return shaper(authorizeRead(query, view).root, unseal)(document);
}

describe("a document becomes a record", () => {
  it("of what was selected and nothing else", () => {
    const document = { _id: 1, title: "Waves", pages: 5, secret: "x", __1: [] };
    expect(shaped("books", "id,title", document)).toEqual({ id: 1, title: "Waves" });
  });

  it("with null for what is missing", () => {
    expect(shaped("books", "title,pages,author,author.name,reviews.stars", { _id: 1, title: null })).toEqual({
      title: null,
      pages: null,
      author: null,
      reviews: [],
    });
  });

  it("with the link itself as a bare id object", () => {
    expect(shaped("books", "author", { _id: 1, authorId: 7 })).toEqual({ author: { id: 7 } });
    expect(shaped("books", "author", { _id: 1 })).toEqual({ author: null });
  });

  it("with children: the record of a to-one, the list of a to-many", () => {
    const document = {
      _id: 1,
      __r_author: [{ _id: 7, name: "Ann", __r_mentor: [] }],
      __r_reviews: [{ _id: 1, stars: 5 }, { _id: 2 }],
    };
    expect(shaped("books", "author.name,author.mentor.name,reviews.stars", document)).toEqual({
      author: { id: 7, name: "Ann", mentor: null },
      reviews: [
        { id: 1, stars: 5 },
        { id: 2, stars: null },
      ],
    });
  });

  it("with the numbers of what was counted, which are 0 where nothing is", () => {
    const document = { _id: 1, __c_reviews: 2, __r_author: [{ _id: 7, __c_books: 3 }] };
    expect(shaped("books", "title,_count(reviews),_count(tags),author._count(books)", document)).toEqual({
      title: null,
      author: { id: 7, _count: { books: 3 } },
      _count: { reviews: 2, tags: 0 },
    });
  });

  it("with the numbers of those relations alone that the record shows", () => {
    const grants = [
      { rows: ALWAYS, members: ({ name }: { readonly name: string }) => name !== "reviews" },
      { rows: NEVER, members: () => true },
    ];
    const view = new ReadView(catalog, () => ({ rows: ALWAYS, grants }));
    const shape = (document: StoredRecord) => shaped("books", "_count(reviews),_count(tags)", document, view);
    const document = { _id: 1, __c_reviews: 2, __c_tags: 1 };
    expect(shape(document)).toEqual({ _count: { tags: 1 } });
    expect(shape({ ...document, __m0: [{ _id: 1 }] })).toEqual({ _count: { reviews: 2, tags: 1 } });
  });

  it("with values of BSON in their JSON spelling", () => {
    const document = {
      _id: 1,
      the_bigint: Long.fromString("9007199254740993"),
      the_decimal: Decimal128.fromString("1.50"),
      the_date: new Date("2024-02-29"),
      the_datetime: new Date("2024-02-29T12:00:00Z"),
      the_objectId: new ObjectId("65a000000000000000000000"),
    };
    expect(shaped("samples", "the_bigint,the_decimal,the_date,the_datetime,the_objectId", document)).toEqual({
      the_bigint: "9007199254740993",
      the_decimal: "1.50",
      the_date: "2024-02-29",
      the_datetime: "2024-02-29T12:00:00.000Z",
      the_objectId: "65a000000000000000000000",
    });
  });

  it("opens sealed values, those of another copy of the BSON library too", () => {
    const sealed = new Binary(Buffer.from("abc"));
    expect(shaped("books", "royalty", { _id: 1, royalty: sealed })).toEqual({ royalty: "opened 3 bytes" });
    const mark = { [Symbol.for("@@mdb.bson.version")]: 7 };
    const foreign = Object.create({ _bsontype: "Binary", ...mark, length: () => 3 });
    expect(shaped("books", "royalty", { _id: 1, royalty: foreign })).toEqual({ royalty: "opened 3 bytes" });
  });

  it("never shows what stands unsealed in a sealed column", () => {
    expect(shaped("books", "royalty", { _id: 1, royalty: "7 %" })).toEqual({ royalty: null });
  });
});
