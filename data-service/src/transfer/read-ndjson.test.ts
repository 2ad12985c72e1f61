// NDJSON with endless or ambiguous lines is refused.
import { expect, it } from "@jest/globals";
import { ndjsonRows } from "./read-ndjson.js";

const MAX_BYTES = 1_000;

it("holds no more of a line that does not end than a record may have, whatever other line ends it has", async () => {
  let given = 0;
  async function* source(): AsyncGenerator<Uint8Array> {
    for (; given < 1_000; given += 1) yield new TextEncoder().encode('{"title":"x"}\r');
  }
  const rows = [];
  for await (const row of ndjsonRows(source(), MAX_BYTES)) rows.push(row);
  expect(rows).toMatchObject([{ line: 1, isLast: true, problems: [`is longer than ${MAX_BYTES} bytes`] }]);
  expect(given).toBeLessThan(100);
});

it("refuses a line with a name that comes twice in one object, and no other line", async () => {
  async function* source(): AsyncGenerator<Uint8Array> {
    yield new TextEncoder().encode('{"title":"a"}\n{"title":"a","extra":{"x":1,"x":2}}\n{"title":"b"}');
  }
  const problems = [];
  for await (const row of ndjsonRows(source(), MAX_BYTES)) problems.push(row.problems);
  expect(problems).toEqual([[], ["extra.x: is given twice in one object; only one would count"], []]);
});
