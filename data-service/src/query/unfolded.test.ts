// How large the records of an answer come out.
import { describe, expect, it } from "@jest/globals";
import { Binary } from "bson";
import { authorizeRead } from "./authorize-read.js";
import { bindQuery } from "./bind-query.js";
import { rootView, table } from "./library-fixture.js";
import type { StoredRecord } from "./lower/document.js";
import { unfoldedSizes } from "./unfolded.js";

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
