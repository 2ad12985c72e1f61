// The related records of a page are read in parts, within the time of one query.
import { describe, expect, it } from "@jest/globals";
import { authorizeRead } from "../../query/authorize-read.js";
import { bindQuery } from "../../query/bind-query.js";
import { rootView, table } from "../../query/library-fixture.js";
import { withRelated } from "./related.js";

const limits = { maxDepth: 7, maxLimit: undefined };
const query = authorizeRead(
  bindQuery({ filterFromText: false, fields: "author.name", limit: 1_000 }, table("books"), rootView, limits),
  rootView,
);
const books = Array.from({ length: 300 }, (_, at) => ({ _id: at, authorId: at % 7 }));

/** A database, and what it was asked for. @param answers before it answers no more */
function storeAnswering(answers: number, timeoutMs = 1_000) {
  const asked: (readonly unknown[])[] = [];
  const smallByIds = async (_table: unknown, ids: readonly unknown[]) => {
    asked.push(ids);
    if (asked.length > answers) await new Promise(() => {});
    return ids.map((_id) => ({ _id, name: `author ${_id}` }));
  };
  const none = async () => [];
  return {
    asked,
    store: { timeoutMs, smallByIds, read: none, readRaw: none, stream: async function* () {} },
  };
}

describe("the related records of a page", () => {
  it("are asked for in parts, each of them once", async () => {
    const { asked, store } = storeAnswering(3);
    const whole = await withRelated({ store }, query.root, books, { rules: query.rules });
    const authors = [0, 1, 2, 3, 4, 5, 6];
    expect(asked.map((ids) => [...ids].sort())).toEqual([authors, authors, authors]);
    expect(whole[10]).toEqual({ ...books[10], __r_author: [{ _id: 3, name: "author 3" }] });
  });

  it("are refused when all parts together take longer than a query may", async () => {
    const { asked, store } = storeAnswering(1);
    const page = withRelated({ store }, query.root, books, { rules: query.rules });
    await expect(page).rejects.toMatchObject({ code: "QUERY_TIMEOUT" });
    expect(asked.length).toBe(2);
  });

  describe("that are large", () => {
    const MEBIBYTE = 1024 * 1024;
    /** Reads some of the parts of a large answer, and no more. */
    function largeStore(parts: number) {
      let given = 0;
      let isClosed = false;
      const store = {
        ...storeAnswering(0).store,
        smallByIds: async () => undefined,
        readRaw: async () => undefined,
        stream: async function* (_table: unknown, pipeline: readonly object[]) {
          const isAlone = pipeline.some((stage) => "$lookup" in stage);
          try {
            for (let _id = 0; _id < parts; _id += 1) {
              given += 1;
              const author = { _id, name: "x".repeat(6 * MEBIBYTE) };
              yield isAlone ? [{ _id, __r_author: [author] }] : [author];
            }
          } finally {
            isClosed = true;
          }
        },
      };
      return { store, given: () => given, isClosed: () => isClosed };
    }

    it("are read in parts, as long as there is room for all", async () => {
      const { store, given } = largeStore(5);
      const whole = await withRelated({ store }, query.root, books.slice(0, 5), { rules: query.rules });
      expect([whole.length, given()]).toEqual([5, 5]);
    });

    it("are refused as soon as they are more than can be held, however many there are", async () => {
      const { store, given, isClosed } = largeStore(100);
      const page = withRelated({ store }, query.root, books, { rules: query.rules });
      await expect(page).rejects.toMatchObject({ code: "BAD_REQUEST" });
      // Once for all parents, and once for each of them.
      expect([given(), isClosed()]).toEqual([12, true]);
    });
  });
});
