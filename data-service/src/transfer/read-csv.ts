// CSV (RFC 4180) -> rows. The first line names the columns; line breaks may be any of the three kinds, even inside quotes.
import { setImmediate as othersTurn } from "node:timers/promises";
import type { Json } from "@portico/shared/json";
import { type JsonRead, placeIn } from "@portico/shared/read-json";
import { CsvError, type Parser, parse } from "csv-parse";
import type { Cell } from "./cells.js";
import type { ImportColumn } from "./csv-columns.js";
import { type Row, unreadable, weightOf } from "./rows.js";
import { textPieces, UnreadableFile } from "./text-pieces.js";

/** What a header names. @returns the columns in its order, or every problem it has */
export type BindHeader = (names: readonly string[]) => Promise<Header>;
export type Header = { readonly columns: readonly ImportColumn[] } | { readonly problems: readonly string[] };

interface Line {
  readonly number: number;
  readonly cells: readonly Cell[];
}

export async function* csvRows(
  source: AsyncIterable<Uint8Array>,
  maxRowBytes: number,
  bindHeader: BindHeader,
): AsyncGenerator<Row> {
  let columns: readonly ImportColumn[] | undefined;
  for await (const each of csvLines(source, maxRowBytes)) {
    if ("problems" in each) return yield each;
    if (columns !== undefined) {
      if (!isBlank(each, columns)) yield rowOf(each, columns);
      continue;
    }
    const header = await bindHeader(each.cells.map((cell) => cell?.trim() ?? ""));
    if ("problems" in header) return yield { ...unreadable(each.number, ""), problems: header.problems };
    columns = header.columns;
  }
  if (columns === undefined) yield unreadable(1, "is missing: the first line names the columns");
}

/** An empty line means nothing, except in a file with one column, where it is an empty cell. */
function isBlank({ cells }: Line, columns: readonly ImportColumn[]): boolean {
  return columns.length > 1 && cells.length === 1 && cells[0] === null;
}

function rowOf({ number: line, cells }: Line, columns: readonly ImportColumn[]): Row {
  const size = cells.reduce((sum, cell) => sum + weightOf(cell ?? ""), 0);
  const row = { line, size };
  if (cells.length !== columns.length) {
    const problem = `has ${cells.length} cells, and the first line names ${columns.length} columns`;
    return { ...row, body: undefined, problems: [problem] };
  }
  const unread: { readonly name: string; readonly problem: string }[] = [];
  const members = columns.flatMap((column, at): [string, Json][] => {
    const cell = cells[at] ?? null;
    if (cell === null && column.isRequired) return [];
    const read = column.value(cell);
    if (read.kind === "json") return [[column.name, read.json]];
    unread.push({ name: column.name, problem: cellProblem(column, read) });
    return [];
  });
  return {
    ...row,
    body: Object.fromEntries(members),
    problems: unread.map(({ problem }) => problem),
    unread: unread.map(({ name }) => name),
  };
}

function cellProblem({ name, json }: ImportColumn, read: Exclude<JsonRead, { kind: "json" }>): string {
  if (read.kind === "malformed") return `${name}: must be ${json}`;
  return `${placeIn(name, read.problem)}: ${read.problem.what}`;
}

/** The parser takes microseconds for a cell, and a few bytes may be thousands of cells: others want to be answered meanwhile. */
const BYTES_AT_ONCE = 4096;

/**
 * Feeds the parser by hand, a piece at a time: as a stream it would drop good rows that wait before a bad one, and where an
 * import stops would depend on how the network splits the file.
 */
async function* csvLines(source: AsyncIterable<Uint8Array>, maxRowBytes: number): AsyncGenerator<Line | Row> {
  let number = 1;
  const parsed: Line[] = [];
  const parser = makeParser(maxRowBytes, (cells) => {
    parsed.push({ number, cells });
    number += 1 + cells.reduce((sum, cell) => sum + breaksIn(cell), 0);
  });
  try {
    for await (const piece of textPieces(source, maxRowBytes)) {
      // It reads bytes: they may be cut anywhere.
      for (const some of inParts(Buffer.from(piece))) {
        parser.write(some);
        yield* parsed.splice(0);
        if (parser.errored !== null) throw parser.errored;
        await othersTurn();
      }
    }
    await ended(parser);
    yield* parsed.splice(0);
  } catch (error) {
    // The parser holds back the last rows until it knows what follows.
    if (error instanceof UnreadableFile) await ended(parser).catch(() => undefined);
    yield* parsed.splice(0);
    yield unreadable(number, problemOf(error, maxRowBytes));
  }
}

function* inParts(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += BYTES_AT_ONCE) yield bytes.subarray(at, at + BYTES_AT_ONCE);
}

function makeParser(maxRowBytes: number, take: (cells: readonly Cell[]) => void): Parser {
  const parser: Parser = parse({
    columns: false,
    record_delimiter: ["\r\n", "\n", "\r"],
    // Counted here, so that a row with too few cells is reported and the next one is read.
    relax_column_count: true,
    max_record_size: maxRowBytes,
    cast: (text, { quoting }): Cell => (text === "" && !quoting ? null : text),
    on_record: (cells: Cell[]) => {
      take(cells);
      // By its first record it knows how many cells to expect, and makes an error of each other number, with all that belongs
      // to one, before it looks at relax_column_count. So each is the first.
      Object.assign(parser.info, { records: 0 });
      return undefined;
    },
  });
  // Its error is asked for; but without a listener an error event would end the process.
  return parser.on("error", () => {}).resume();
}

function ended(parser: Parser): Promise<void> {
  return new Promise((resolve, reject) => {
    parser.once("error", reject).once("end", resolve).end();
  });
}

/** Line breaks inside a quoted cell. */
function breaksIn(cell: Cell): number {
  return cell === null ? 0 : (cell.match(/\r\n|\r|\n/g)?.length ?? 0);
}

const CSV_PROBLEMS: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: "begins a quoted cell that never ends",
  INVALID_OPENING_QUOTE: 'has a quote inside a cell that is not quoted; write "say ""hello"""',
  CSV_INVALID_CLOSING_QUOTE:
    'has text after a closing quote; cells are separated by commas, and quotes inside a quoted cell are doubled, ""',
};

/** @throws what is not about the file */
function problemOf(error: unknown, maxRowBytes: number): string {
  if (error instanceof UnreadableFile && !error.isTooLong) return error.message;
  const isTooLong =
    error instanceof UnreadableFile || (error instanceof CsvError && error.code === "CSV_MAX_RECORD_SIZE");
  if (isTooLong)
    return `is longer than ${maxRowBytes} bytes; perhaps it begins a quoted cell that never ends`;
  if (!(error instanceof CsvError)) throw error;
  return CSV_PROBLEMS[error.code] ?? "is not CSV";
}
