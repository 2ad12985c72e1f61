// No case-insensitive pattern of the database matches a letter that the grams tell apart from it.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { foldLetter } from "@portico/data-service/catalog/case-fold";
import { BSONRegExp, MongoClient } from "mongodb";
import { freshDatabase } from "../support/stack.js";

let client: MongoClient;

beforeAll(() => {
  client = new MongoClient(freshDatabase());
});

afterAll(async () => {
  await client.db().dropDatabase();
  await client.close();
});

const SURROGATES = { first: 0xd800, last: 0xdfff };
/** Ranges of code points with letters; beyond are ideographs and what is private. */
const LAST = 0x1ffff;

test("letters that the database takes for the same fold to the same, for every letter there is", async () => {
  const letters = await lettersWithCase();
  expect(letters.length).toBeGreaterThan(2_800);
  const patterns = client.db().collection<{ _id: string; pattern: string }>("patterns");
  await patterns.insertMany(letters.map((letter) => ({ _id: letter, pattern: `\\x{${hex(letter)}}` })));
  const found = { $regexFindAll: { input: letters.join(""), regex: "$pattern", options: "i" } };
  const matched = { $map: { input: found, in: "$$this.match" } };
  const rows = await patterns
    .aggregate<{ _id: string; matched: string[] }>([{ $project: { matched } }])
    .toArray();
  const lost = rows.flatMap(({ _id, matched }) =>
    matched
      .filter((other) => foldLetter(other) !== foldLetter(_id))
      .map((other) => `${hex(_id)} ${hex(other)}`),
  );
  expect(lost).toEqual([]);
  expect(rows.filter(({ matched }) => matched.length > 1).length).toBeGreaterThan(2_800);
});

/** Those of the database's Unicode and those of this process's. */
async function lettersWithCase(): Promise<string[]> {
  const points = client.db().collection<{ _id: number; letter: string }>("points");
  const all = Array.from({ length: LAST + 1 }, (_, point) => point)
    .filter((point) => point < SURROGATES.first || point > SURROGATES.last)
    .map((point) => ({ _id: point, letter: String.fromCodePoint(point) }));
  await points.insertMany(all);
  const pattern = new BSONRegExp("^[\\p{Lu}\\p{Ll}\\p{Lt}\\p{Nl}\\p{Mn}\\x{24b6}-\\x{24e9}]$");
  const known = await points.find({ letter: pattern }).toArray();
  const own = all.filter(({ letter }) => letter !== letter.toLowerCase() || letter !== letter.toUpperCase());
  return [...new Set([...known, ...own].map(({ letter }) => letter))];
}

function hex(letter: string): string {
  return letter.codePointAt(0)?.toString(16) ?? "";
}
