// Records -> the text of a file: CSV (RFC 4180) or NDJSON, in pieces as the records arrive.
import { stringify } from "csv-stringify/sync";
import type { Json } from "../json.js";
import type { AuthorizedNode } from "../query/ast.js";
import type { ExportFormat } from "../query/syntax/format.js";
import type { Cell } from "./cells.js";
import { exportColumns } from "./csv-columns.js";

/** What an answer says of a file of each format. */
export const FILE_TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: "text/csv; charset=utf-8; header=present",
  ndjson: "application/x-ndjson; charset=utf-8",
};

/** Rows that are written by one call of the library, whose start costs more than a row. */
const ROWS_AT_ONCE = 100;

/** The text of an export. @param node the shape that the records have */
export function exportText(
  format: ExportFormat,
  node: AuthorizedNode,
  records: AsyncIterable<Json>,
): AsyncIterable<string> {
  return format === "csv" ? csvText(node, records) : ndjsonText(records);
}

async function* ndjsonText(records: AsyncIterable<Json>): AsyncGenerator<string> {
  for await (const record of records) yield `${JSON.stringify(record)}\n`;
}

async function* csvText(node: AuthorizedNode, records: AsyncIterable<Json>): AsyncGenerator<string> {
  const columns = exportColumns(node);
  let rows: Cell[][] = [columns.map(({ header }) => header)];
  for await (const record of records) {
    rows.push(columns.map(({ cell }) => cell(record)));
    if (rows.length < ROWS_AT_ONCE) continue;
    yield csvLines(rows);
    rows = [];
  }
  yield csvLines(rows);
}

/**
 * Empty text is quoted, null is not: that tells them apart when the file comes back. Quoted are, too, space at either end
 * and a line break of any kind; by itself the library knows only the one it writes.
 */
function csvLines(rows: readonly Cell[][]): string {
  return stringify([...rows], { record_delimiter: "windows", quoted_match: [/^$|^\s|\s$|[\r\n]/] });
}
