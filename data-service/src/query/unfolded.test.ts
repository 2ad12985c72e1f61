// How large the records of an answer come out.
import { describe, expect, it } from "@jest/globals";
import { Binary, Decimal128, Long, ObjectId, UUID } from "bson";
import { authorizeRead } from "./authorize-read.js";
import { bindQuery } from "./bind-query.js";
import { rootView, table } from "./library-fixture.js";
import type { StoredRecord } from "./lower/document.js";
import { heldSizes, unfoldedSizes } from "./unfolded.js";

function nodeOf(of: string, fields: string) {
  const parameters = { fields, filterFromText: false };
  const limits = { maxDepth: 12, maxLimit: undefined };
  return authorizeRead(bindQuery(parameters, table(of), rootView, limits), rootView).root;
}

function sizeOf(of: string, fields: string, document: StoredRecord): number {
  return unfoldedSizes(nodeOf(of, fields), [document])[0] ?? Number.NaN;
}

describe("the size of an answer's records", () => {
  it("grows with what stands in them, and not with what is not shown", () => {
    const small = sizeOf("books", "title", { _id: 1, title: "x" });
    expect(sizeOf("books", "title", { _id: 1, title: "x".repeat(1_001) }) - small).toBe(1_000);
    expect(sizeOf("books", "title", { _id: 1, title: "x", pages: "y".repeat(1_000) })).toBe(small);
    expect(sizeOf("books", "royalty", { _id: 1, royalty: new Binary(Buffer.alloc(500)) })).toBeGreaterThan(
      500,
    );
  });

  it("grows with the names inside a value, and with the ids and numbers of related records", () => {
    const sizeOfRoyalty = (royalty: object): number => sizeOf("books", "royalty", { _id: 1, royalty });
    expect(sizeOfRoyalty({ [`a${"b".repeat(1_000)}`]: 1 }) - sizeOfRoyalty({ a: 1 })).toBe(1_000);
    const book = { _id: 1, title: "x" };
    for (const more of ["author", "_count(reviews)"])
      expect(sizeOf("books", `title,${more}`, book)).toBeGreaterThan(sizeOf("books", "title", book));
  });

  it("counts a related record that is shared as often as it is shown", () => {
    const author = { _id: 7, name: "x".repeat(1_000) };
    const [one, two] = unfoldedSizes(nodeOf("books", "id,author.name"), [
      { _id: 1, __r_author: [author] },
      { _id: 2, __r_author: [author] },
    ]);
    expect([one, two].every((size) => size !== undefined && size > 1_000)).toBe(true);
  });

  it("is known at once, however many records it stands for", () => {
    const levels = 10;
    let shared: StoredRecord[] = [];
    for (let level = 0; level < levels; level += 1)
      shared = Array.from({ length: 10 }, (_, _id) => ({ _id, __r_pupils: shared }));
    const began = performance.now();
    const size = sizeOf("authors", `${"pupils.".repeat(levels)}id`, { _id: 0, __r_pupils: shared });
    expect(size).toBeGreaterThan(10 ** levels * 64);
    expect(performance.now() - began).toBeLessThan(500);
  });
});

describe("what an answer's records take in memory", () => {
  const heldBy = (royalty: unknown): number =>
    (heldSizes(nodeOf("books", "royalty"), [{ _id: 1, royalty }])[0] ?? Number.NaN) -
    (heldSizes(nodeOf("books", "royalty"), [{ _id: 1 }])[0] ?? Number.NaN);

  // Measured of what the driver decodes: bytes for each of many such values in a list.
  it.each<[string, unknown, number]>([
    ["empty lists", [], 36],
    ["lists of one number", [1], 188],
    ["points", [13.25, 52.5], 189],
    ["empty objects", {}, 59],
    ["objects of one number", { a: 1 }, 60],
    ["small objects", { id: 7, name: "abc", ok: true }, 84],
    ["objects of five numbers", { a: 1, b: 2, c: 3, d: 4, e: 5 }, 98],
    ["numbers", 1, 8],
    ["short texts", "abc", 32],
    ["nothing", null, 8],
    ["dates", new Date(0), 120],
    ["ids", new ObjectId(), 64],
    ["long numbers", Long.fromNumber(7), 57],
    ["decimals", Decimal128.fromString("1.5"), 169],
    ["UUIDs", new UUID(), 256],
  ])("is about right for %s", (_, value, measured) => {
    const each = heldBy(Array.from({ length: 1_000 }, () => value)) / 1_000;
    expect(each).toBeGreaterThan(measured * 0.75);
    expect(each).toBeLessThan(measured * 1.3);
  });

  it("is hardly more for one long text than what it comes out as", () => {
    const text = "x".repeat(10_000);
    expect(heldBy(text) - sizeOf("books", "royalty", { _id: 1, royalty: text })).toBeLessThan(100);
  });
});
