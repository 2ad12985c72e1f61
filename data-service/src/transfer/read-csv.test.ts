// What reading a CSV file costs others. What its rows are is in test/contract/transfer/import.
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it, jest } from "@jest/globals";
import type { JsonRead } from "@portico/shared/read-json";
import type { Cell } from "./cells.js";
import type { ImportColumn } from "./csv-columns.js";
import { csvRows } from "./read-csv.js";
import type { Row } from "./rows.js";

const MOST = 1024 * 1024;

async function* inOnePiece(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function rowsOf(text: string): Promise<Row[]> {
  const value = (cell: Cell): JsonRead => ({ kind: "json", json: cell });
  const column: ImportColumn = { name: "a", isRequired: false, json: "text", value };
  const columns = [column, { ...column, name: "b" }];
  const rows: Row[] = [];
  for await (const row of csvRows(inOnePiece(text), MOST, async () => ({ columns }))) rows.push(row);
  return rows;
}

describe("a file that is small and has very many cells or lines", () => {
  it.each([
    ["cells", `a,b\n${",".repeat(200_000)}\n`, 1],
    ["lines that are empty", `a,b\n${"\n".repeat(200_000)}`, 0],
  ])("is read in small steps, so that others are answered meanwhile: %s", async (_what, text, rows) => {
    let turns = 0;
    let isOver = false;
    const others = (async () => {
      for (; !isOver; turns += 1) await turn();
    })();
    expect(await rowsOf(text)).toHaveLength(rows);
    isOver = true;
    await others;
    expect(turns).toBeGreaterThan(text.length / 8192);
  });

  it("makes no errors that nobody sees of lines with another number of cells", async () => {
    const made = jest.spyOn(Error, "captureStackTrace");
    try {
      await rowsOf(`a,b\n${"\n".repeat(1000)}1,2\n`);
      expect(made).not.toHaveBeenCalled();
    } finally {
      made.mockRestore();
    }
  });
});
