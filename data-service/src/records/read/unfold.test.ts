// The records of an answer are made a few at a time.
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, it, jest } from "@jest/globals";
import type { Json } from "@portico/shared/json";
import { authorizeRead } from "../../query/authorize-read.js";
import { bindQuery } from "../../query/bind-query.js";
import { rootView, table } from "../../query/library-fixture.js";
import type { StoredRecord } from "../../query/lower/document.js";
import { Stint } from "../../stint.js";
import { RecordTooLarge } from "../../store-refusals.js";
import { NoRoom } from "./room.js";
import { requireRoom, unfold } from "./unfold.js";

const RECORDS = 6;

function nodeOf(fields: string, limit = 10) {
  const limits = { maxDepth: 12, maxLimit: undefined };
  const query = bindQuery({ fields, limit, filterFromText: false }, table("books"), rootView, limits);
  return authorizeRead(query, rootView).root;
}

const root = nodeOf("title");
const documentsOf = (count: number, values: StoredRecord = {}): StoredRecord[] =>
  Array.from({ length: count }, (_, _id) => ({ _id, title: "x", ...values }));
const documents = documentsOf(RECORDS);

/** The same author of all of them, whose name has so many letters. */
const byOne = (count: number, letters: number): StoredRecord[] =>
  documentsOf(count, { __r_author: [{ _id: 7, name: "x".repeat(letters) }] });
const AUTHOR = "title,author.name";
const MEBIBYTE = 1024 * 1024;

/** How many records come together, and how often others have had their turn by the time they come. */
async function pieces(shape: (document: StoredRecord) => Json, of = documents, node = root, stint?: Stint) {
  let [turns, isDone] = [0, false];
  const count = (): void => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const seen: { length: number; turns: number }[] = [];
  try {
    for await (const some of unfold(node, of, shape, stint)) seen.push({ length: some.length, turns });
  } finally {
    isDone = true;
  }
  return seen;
}

afterEach(() => void jest.restoreAllMocks());

describe("records that hold all that is shown of them", () => {
  it("come together where they are made at once", async () => {
    jest.spyOn(performance, "now").mockReturnValue(0);
    expect(await pieces(() => null)).toEqual([{ length: RECORDS, turns: 0 }]);
  });

  it("come fifty at a time, and keep going where that takes no time", async () => {
    jest.spyOn(performance, "now").mockReturnValue(0);
    const seen = await pieces(() => null, documentsOf(120));
    expect(seen).toEqual([50, 50, 20].map((length) => ({ length, turns: 0 })));
  });

  it("come after others have had their turn where what was done for the answer before has taken long", async () => {
    const now = jest.spyOn(performance, "now").mockReturnValue(0);
    const stint = new Stint();
    now.mockReturnValue(20);
    const seen = await pieces(() => null, documents, root, stint);
    expect(seen.map(({ length }) => length)).toEqual([1, RECORDS - 1]);
  });

  it("come together when others were waited for before the first of them was made", async () => {
    const records = unfold(root, documents, () => null);
    await delay(30);
    const { value } = await records.next();
    expect(value).toHaveLength(RECORDS);
  });

  it("come one by one where each takes long, and others have their turns in between", async () => {
    const slowly = (): null => {
      const began = performance.now();
      while (performance.now() - began < 15);
      return null;
    };
    const seen = await pieces(slowly);
    expect(seen.map(({ length }) => length)).toEqual(Array.from({ length: RECORDS }, () => 1));
    expect(seen.every(({ turns }, at) => turns >= at)).toBe(true);
  });
});

describe("records that share what is shown with them", () => {
  it("come as many at a time as come out small, and others have their turns in between", async () => {
    jest.spyOn(performance, "now").mockReturnValue(0);
    const seen = await pieces(() => null, byOne(6, 100_000), nodeOf(AUTHOR));
    expect(seen.map(({ length }) => length)).toEqual([3, 3]);
    expect(seen[1]?.turns).toBeGreaterThan(0);
  });

  it("are refused before the first of them where one comes out larger than 16 MB", async () => {
    const shape = jest.fn(() => null);
    await expect(pieces(shape, byOne(3, 17 * MEBIBYTE), nodeOf(AUTHOR))).rejects.toThrow(RecordTooLarge);
    expect(shape).not.toHaveBeenCalled();
    await expect(pieces(shape, byOne(3, 15 * MEBIBYTE), nodeOf(AUTHOR))).resolves.toBeDefined();
  });

  it.each([
    ["the database has joined it", byOne(1, 17 * MEBIBYTE), nodeOf(AUTHOR, 1)],
    ["it is their own", documentsOf(3, { title: "x".repeat(17 * MEBIBYTE) }), root],
  ])("are not weighed where %s: then it has fitted into its document", async (_, of, node) => {
    await expect(pieces(() => null, of, node)).resolves.toBeDefined();
  });

  it("have no room as a whole where they come out larger than is held", () => {
    expect(() => requireRoom(nodeOf(AUTHOR), byOne(3, 12 * MEBIBYTE))).toThrow(NoRoom);
    expect(() => requireRoom(nodeOf(AUTHOR), byOne(3, 10 * MEBIBYTE))).not.toThrow();
  });
});
