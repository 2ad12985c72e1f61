// NDJSON -> rows: one JSON object per line; empty lines are skipped.
import { readJson } from "@portico/shared/read-json";
import { type Row, unreadable, weightOf } from "./rows.js";
import { textPieces, tooLong, UnreadableFile } from "./text-pieces.js";

export async function* ndjsonRows(
  source: AsyncIterable<Uint8Array>,
  maxRowBytes: number,
): AsyncGenerator<Row> {
  let line = 1;
  let open = "";
  try {
    for await (const piece of textPieces(source, maxRowBytes)) {
      const lines = (open + piece).split("\n");
      // A piece may end between the two characters of one line break.
      open = lines.pop() ?? "";
      for (const text of lines) {
        yield* rowOf(line, text, maxRowBytes);
        line += 1;
      }
      if (Buffer.byteLength(open) > maxRowBytes) throw tooLong(maxRowBytes);
    }
    yield* rowOf(line, open, maxRowBytes);
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    yield unreadable(line, error.message);
  }
}

function* rowOf(line: number, text: string, maxRowBytes: number): Generator<Row> {
  if (text.trim() === "") return;
  const row = { line, size: weightOf(text) };
  if (Buffer.byteLength(text) > maxRowBytes) throw tooLong(maxRowBytes);
  const read = readJson(text);
  switch (read.kind) {
    case "json":
      return yield { ...row, body: read.json, problems: [] };
    case "malformed":
      return yield {
        ...row,
        body: undefined,
        problems: ["is not valid JSON; a record is one object on one line"],
      };
    case "refused": {
      const { place, what } = read.problem;
      return yield { ...row, body: read.json, problems: [place === "" ? what : `${place}: ${what}`] };
    }
  }
}
