// The records of an answer are made a few at a time.
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, it, jest } from "@jest/globals";
import type { Json } from "@portico/shared/json";
import { authorizeRead } from "../../query/authorize-read.js";
import { bindQuery } from "../../query/bind-query.js";
import { rootView, table } from "../../query/library-fixture.js";
import type { StoredRecord } from "../../query/lower/document.js";
import { unfold } from "./unfold.js";

const RECORDS = 6;

const { root } = authorizeRead(
  bindQuery({ fields: "title", filterFromText: false }, table("books"), rootView, {
    maxDepth: 12,
    maxLimit: undefined,
  }),
  rootView,
);
const documents: StoredRecord[] = Array.from({ length: RECORDS }, (_, _id) => ({ _id, title: "x" }));

/** How many records come together, and how often others have had their turn by the time they come. */
async function pieces(shape: (document: StoredRecord) => Json) {
  let [turns, isDone] = [0, false];
  const count = (): void => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const seen: { length: number; turns: number }[] = [];
  for await (const some of unfold(root, documents, shape)) seen.push({ length: some.length, turns });
  isDone = true;
  return seen;
}

afterEach(() => void jest.restoreAllMocks());

describe("records that hold all that is shown of them", () => {
  it("come together where they are made at once", async () => {
    jest.spyOn(performance, "now").mockReturnValue(0);
    expect(await pieces(() => null)).toEqual([{ length: RECORDS, turns: 0 }]);
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
