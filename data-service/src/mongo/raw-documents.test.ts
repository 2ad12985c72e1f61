// Documents as they come: how many are decoded together, and who is answered meanwhile.
import { afterEach, expect, it, jest } from "@jest/globals";
import { BSON } from "mongodb";
import { allOf, answered, areLarge, RawDocuments } from "./raw-documents.js";

afterEach(() => void jest.restoreAllMocks());

const rawOf = (documents: readonly object[]): RawDocuments =>
  new RawDocuments(documents.map((document) => BSON.serialize(document)));

async function lengthsOf(raw: RawDocuments, ...how: Parameters<RawDocuments["some"]>): Promise<number[]> {
  const lengths: number[] = [];
  for await (const some of raw.some(...how)) lengths.push(some.length);
  return lengths;
}

it("all of them are what was stored, in their order", async () => {
  const documents = [{ _id: 1, value: [{ a: 1 }, [], "x"] }, { _id: 2 }];
  expect(await rawOf(documents).all()).toEqual(documents);
  expect(await rawOf([]).all()).toEqual([]);
});

it.each([
  ["few bytes holds them decoded", "x", false],
  ["many bytes holds them as they came", "x".repeat(300_000), true],
])("an answer of %s, and the id of its cursor", async (_, text, areRaw) => {
  const firstBatch = [{ _id: 1, text }, { _id: 2 }];
  const { id, documents } = answered(BSON.serialize({ firstBatch, id: 7, ns: "a.b" }));
  expect([id, documents.length, documents instanceof RawDocuments]).toEqual([7, 2, areRaw]);
  expect(await allOf(documents)).toEqual(firstBatch);
});

it.each([1, 300_000])(
  "a text of other programs that is no UTF-8 is read as far as it is one, after %i letters",
  async (length) => {
    const letters = "x".repeat(length);
    const cursor = BSON.serialize({ id: 0, firstBatch: [{ _id: 1, text: `${letters}!` }] });
    cursor[cursor.lastIndexOf("!".charCodeAt(0))] = 0xff;
    const { documents } = answered(cursor);
    expect(await allOf(documents)).toEqual([{ _id: 1, text: `${letters}\ufffd` }]);
  },
);

it("small ones are handed over fifty at a time, large ones two megabytes at a time, and each at last", async () => {
  const small = Array.from({ length: 120 }, (_, _id) => ({ _id }));
  expect(await lengthsOf(rawOf(small))).toEqual([50, 50, 20]);
  const large = Array.from({ length: 5 }, () => ({ text: "x".repeat(900_000) }));
  expect(await lengthsOf(rawOf(large))).toEqual([2, 2, 1]);
  const huge = Array.from({ length: 2 }, () => ({ text: "x".repeat(3_000_000) }));
  expect(await lengthsOf(rawOf([...huge, { text: "x" }]))).toEqual([1, 1, 1]);
  expect([small, large].map((each) => areLarge(rawOf(each)))).toEqual([false, true]);
});

/** How many turns others have while something is done. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let [turns, isDone] = [0, false];
  const count = (): void => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await work();
  isDone = true;
  return turns;
}

it.each<[string, (raw: RawDocuments) => Promise<unknown>]>([
  ["documents", (raw) => raw.all()],
  ["pieces", (raw) => lengthsOf(raw, undefined, 1)],
])("others have a turn where several %s together take long", async (_, decode) => {
  let now = 0;
  jest.spyOn(performance, "now").mockImplementation(() => {
    now += 6;
    return now;
  });
  const raw = rawOf([1, 2, 3, 4].map((_id) => ({ _id })));
  expect(await turnsDuring(() => decode(raw))).toBeGreaterThan(0);
});
