// Records -> the text of a file: CSV (RFC 4180) or NDJSON, in pieces as the records arrive.
import type { Json } from "@portico/shared/json";
import { stringify } from "csv-stringify/sync";
import type { AuthorizedNode } from "../query/ast.js";
import type { ExportFormat } from "../query/syntax/format.js";
import { startingWith } from "../starting-with.js";
import type { Cell } from "./cells.js";
import { type ExportColumn, exportColumns } from "./csv-columns.js";

/** The content type of each format. */
export const FILE_TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: "text/csv; charset=utf-8; header=present",
  ndjson: "application/x-ndjson; charset=utf-8",
};

/** The text of an export. @param node the shape of the records */
export function exportText(
  format: ExportFormat,
  node: AuthorizedNode,
  records: AsyncIterable<readonly Json[]>,
): AsyncIterable<string> {
  return format === "csv" ? csvText(node, records) : ndjsonText(records);
}

async function* ndjsonText(records: AsyncIterable<readonly Json[]>): AsyncGenerator<string> {
  for await (const some of records) for (const record of some) yield `${JSON.stringify(record)}\n`;
}

function csvText(node: AuthorizedNode, records: AsyncIterable<readonly Json[]>): AsyncGenerator<string> {
  const columns = exportColumns(node);
  return startingWith(csvLines([columns.map(({ header }) => header)]), csvRows(columns, records));
}

async function* csvRows(
  columns: readonly ExportColumn[],
  records: AsyncIterable<readonly Json[]>,
): AsyncGenerator<string> {
  // Several at a time: starting the library costs more than a row.
  for await (const some of records)
    yield csvLines(some.map((record) => columns.map(({ cell }) => cell(record))));
}

/**
 * Empty text is quoted, null is not: that tells them apart when the file comes back. Spaces at either end and line breaks of
 * any kind are quoted, too; by itself the library knows only the line break that it writes.
 */
function csvLines(rows: readonly Cell[][]): string {
  return stringify([...rows], { record_delimiter: "windows", quoted_match: [/^$|^\s|\s$|[\r\n]/] });
}
