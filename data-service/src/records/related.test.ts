// The related records of a page are read in parts, within the time of one query.
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { authorizeRead } from "../query/authorize-read.js";
import { bindQuery } from "../query/bind-query.js";
import { rootView, table } from "../query/library-fixture.js";
import { withRelated } from "./related.js";

const limits = { maxDepth: 7, maxLimit: undefined };
const query = authorizeRead(
  bindQuery({ filterFromText: false, fields: "author.name", limit: 1_000 }, table("books"), rootView, limits),
  rootView,
);
const books = Array.from({ length: 300 }, (_, at) => ({ _id: at, authorId: at % 7 }));

/** A database that takes its time, and what it was asked for. */
function slowStore(milliseconds: number, timeoutMs: number) {
  const asked: (readonly unknown[])[] = [];
  const byIds = async (_table: unknown, ids: readonly unknown[]) => {
    asked.push(ids);
    await delay(milliseconds);
    return ids.map((_id) => ({ _id, name: `author ${_id}` }));
  };
  return { asked, store: { timeoutMs, byIds, read: async () => [] } };
}

describe("the related records of a page", () => {
  it("are asked for in parts, each of them once", async () => {
    const { asked, store } = slowStore(0, 1_000);
    const whole = await withRelated({ store }, query.root, books, { rules: query.rules });
    const authors = [0, 1, 2, 3, 4, 5, 6];
    expect(asked.map((ids) => [...ids].sort())).toEqual([authors, authors, authors]);
    expect(whole[10]).toEqual({ ...books[10], __r_author: [{ _id: 3, name: "author 3" }] });
  });

  it("are refused when all parts together take longer than a query may", async () => {
    const { asked, store } = slowStore(300, 500);
    const page = withRelated({ store }, query.root, books, { rules: query.rules });
    await expect(page).rejects.toMatchObject({ code: "QUERY_TIMEOUT" });
    expect(asked.length).toBe(2);
  });

  it("are refused when they are more than can be held", async () => {
    const { store } = slowStore(0, 1_000);
    const read = store.byIds;
    const byIds = async (of: unknown, ids: readonly unknown[]) =>
      (await read(of, ids)).map((author) => ({ ...author, name: "x".repeat(6 * 1024 * 1024) }));
    const page = withRelated({ store: { ...store, byIds } }, query.root, books, { rules: query.rules });
    await expect(page).rejects.toMatchObject({ code: "BAD_REQUEST" });
  });
});
