// The related records of a whole page are asked for at once, and given to whom they belong.
import { describe, expect, it } from "@jest/globals";
import { Decimal128, Long, ObjectId, UUID } from "bson";
import type { Relation } from "../../catalog/catalog.js";
import { ALWAYS, type AuthorizedChild } from "../ast.js";
import { authorizeNode } from "../authorize-read.js";
import { rootView, table } from "../library-fixture.js";
import type { StoredRecord } from "../lower/document.js";
import { keyText } from "./key-text.js";
import { askedKeys, handOut, handOutCounts, togetherQuestion } from "./together.js";

/** A relation of the library as it is shown. */
function shown(of: string, name: string, paging: { limit?: number; skip?: number } = {}): AuthorizedChild {
  const found = rootView.relation(table(of), name, "show");
  if (found === undefined) throw new Error(`${of}.${name}`);
  const { relation, target } = found;
  const { limit = 10, skip = 0 } = paging;
  const nothing = { columns: [], children: [], counts: [], sort: [] };
  const node = { table: target, filter: ALWAYS, ...nothing, limit, skip };
  return { relation, node: authorizeNode(node, rootView) };
}

const books = (paging?: { limit?: number; skip?: number }) => shown("authors", "books", paging);
const author = () => shown("books", "author");
const linkOf = ({ relation }: { relation: Relation }): string => relation.link.field;

/** Books 0, 1, 2 … each of the author with that number. */
const booksOf = (child: AuthorizedChild, ...authors: readonly unknown[]): StoredRecord[] =>
  authors.map((id, at) => ({ _id: `book ${at}`, [linkOf(child)]: id }));
const authors = (...ids: readonly unknown[]): StoredRecord[] => ids.map((_id) => ({ _id }));
const titles = (lists: readonly (readonly StoredRecord[] | undefined)[]) =>
  lists.map((list) => list?.map(({ _id }) => _id));

describe("a question for the related records of many", () => {
  it("names each record that a page links to once", () => {
    const child = author();
    const parents = booksOf(child, "a", "b", "a", null, undefined);
    expect(togetherQuestion(child, parents)).toEqual({ keys: ["a", "b"], most: undefined });
  });

  it("names the parents of the children it wants, and room for twice as many as are shown", () => {
    expect(togetherQuestion(books({ limit: 3, skip: 3 }), authors("a", "b"))).toEqual({
      keys: ["a", "b"],
      most: 2 * 6 * 2,
    });
  });

  it("asks for a thousand at most", () => {
    expect(togetherQuestion(books({ limit: 1_000 }), authors("a", "b"))?.most).toBe(1_000);
  });

  it("is not asked with more than a thousand keys", () => {
    const parents = authors(...Array.from({ length: 1_001 }, (_, at) => `author ${at}`));
    expect(togetherQuestion(books(), parents)).toBeUndefined();
    expect(togetherQuestion(books(), parents.slice(1))).toBeDefined();
  });
});

describe("records that were found for many", () => {
  it("are given to those that they name, in their order", () => {
    const child = books();
    const found = booksOf(child, "b", "a", "b", "nobody");
    expect(titles(handOut(child, authors("a", "b", "c"), found, 60))).toEqual([
      ["book 1"],
      ["book 0", "book 2"],
      [],
    ]);
  });

  it("are cut to the page of each", () => {
    const child = books({ limit: 2, skip: 1 });
    const found = booksOf(child, "a", "a", "b", "a", "a");
    expect(titles(handOut(child, authors("a", "b"), found, 60))).toEqual([["book 1", "book 3"], []]);
  });

  it("say nothing of those who have too few, when there may be more", () => {
    const child = books({ limit: 2 });
    const found = booksOf(child, "a", "a", "b", "a");
    expect(titles(handOut(child, authors("a", "b"), found, 4))).toEqual([["book 0", "book 1"], undefined]);
  });

  it("are shared by all that link to them", () => {
    const child = author();
    const found = authors("a", "b");
    expect(titles(handOut(child, booksOf(child, "b", null, "b", "gone", "a"), found, undefined))).toEqual([
      ["b"],
      [],
      ["b"],
      [],
      ["a"],
    ]);
  });

  it("count once in a list that names them twice", () => {
    const child = shown("books", "tags");
    const parents = [{ _id: 1, [linkOf(child)]: ["a", "a", "b"] }];
    expect(togetherQuestion(child, parents)?.keys).toEqual(["a", "b"]);
    expect(titles(handOut(child, parents, authors("a", "b"), undefined))).toEqual([["a", "b"]]);
  });

  it("are left to a join for a parent whose link only the database can compare", () => {
    const child = author();
    const odd = Decimal128.fromString("1");
    const parents = booksOf(child, odd, 1, new Date(0), true, 2 ** 60);
    expect(togetherQuestion(child, parents)?.keys).toEqual([1]);
    const none = undefined;
    expect(titles(handOut(child, parents, authors(1), none))).toEqual([none, [1], none, none, none]);
  });

  it("are none for a parent with a list where one link belongs", () => {
    const parents = booksOf(author(), 1, [1]);
    expect(togetherQuestion(author(), parents)?.keys).toEqual([1]);
    expect(titles(handOut(author(), parents, authors(1), undefined))).toEqual([[1], []]);
  });

  it("are left to a join for a parent with a long list of links", () => {
    const child = shown("books", "tags");
    const links = Array.from({ length: 101 }, (_, at) => `tag ${at}`);
    const parents = [
      { _id: 1, [linkOf(child)]: links },
      { _id: 2, [linkOf(child)]: links.slice(0, 2) },
    ];
    expect(togetherQuestion(child, parents)?.keys).toEqual(["tag 0", "tag 1"]);
    expect(titles(handOut(child, parents, authors("tag 0"), undefined))).toEqual([undefined, ["tag 0"]]);
  });

  it("are left to a join for all, when one of them may be anybody's", () => {
    const child = books();
    const found = booksOf(child, 1, Decimal128.fromString("1"));
    expect(titles(handOut(child, authors(1, 2), found, 60))).toEqual([undefined, undefined]);
  });
});

describe("numbers that were counted for many", () => {
  const groups = (sizes: readonly (readonly [id: unknown, n: number])[]): StoredRecord[] =>
    sizes.map(([_id, n]) => ({ _id, n }));

  it("are given to those whose key they were counted by, and 0 to the others", () => {
    const parents = authors("a", "b", "c");
    expect(askedKeys(books(), parents)).toEqual(["a", "b", "c"]);
    expect(
      handOutCounts(
        books(),
        parents,
        groups([
          ["b", 2],
          ["a", 7],
          ["nobody", 1],
        ]),
      ),
    ).toEqual([7, 2, 0]);
  });

  it("are those of the related records that are there, where the record holds the links", () => {
    const child = shown("books", "tags");
    const field = linkOf(child);
    const parents = [{ _id: 1, [field]: ["a", "a", "b", "gone"] }, { _id: 2 }, { _id: 3, [field]: ["b"] }];
    expect(askedKeys(child, parents)).toEqual(["a", "b", "gone"]);
    const found = groups([
      ["a", 1],
      ["b", 1],
    ]);
    expect(handOutCounts(child, parents, found)).toEqual([2, 0, 1]);
  });

  it("are unknown for a record whose key only the database can compare, and for all where a group is anybody's", () => {
    const odd = Decimal128.fromString("1");
    expect(handOutCounts(books(), authors(odd, 1), groups([[1, 2]]))).toEqual([undefined, 2]);
    const lists = groups([
      [1, 2],
      [[1, 2], 1],
    ]);
    expect(handOutCounts(books(), authors(1, 2), lists)).toEqual([undefined, undefined]);
  });
});

describe("a key as text", () => {
  it("is the same for what the database takes for equal, and for nothing else", () => {
    const id = "507f1f77bcf86cd799439011";
    const uuid = "0190163d-8694-739b-aea5-966c26f8ad91";
    const kinds = [
      new ObjectId(id),
      id,
      new UUID(uuid),
      uuid,
      1,
      "1",
      Long.fromString("9007199254740993"),
      0.5,
    ];
    expect(new Set(kinds.map(keyText)).size).toBe(kinds.length);
    expect(keyText(-0)).toBe(keyText(0));
    expect(keyText(new ObjectId(id))).toBe(id);
  });

  it("is not made of what may be equal to another kind", () => {
    const odd = [null, undefined, true, Number.NaN, new Date(0), Decimal128.fromString("1"), {}, [], /a/];
    expect(odd.map(keyText)).toEqual(odd.map(() => undefined));
  });
});
