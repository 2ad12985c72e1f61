// The background filling of searchable columns, when tables or the disk change meanwhile.
import { describe, expect, it } from "@jest/globals";
import type { Logger } from "@portico/shared/logger";
import { makeLogger } from "@portico/shared/logger";
import { buildCatalog } from "../../catalog/build-catalog.js";
import type { Catalog, Table } from "../../catalog/catalog.js";
import type { TableDefinition } from "../../catalog/definition.js";
import { bareColumn, bareTable } from "../../catalog/definition-fixture.js";
import { startSearchFiller } from "./search-filler.js";

const logger: Logger = makeLogger("test", "silent");
const definition = (name: string, searchable: boolean): TableDefinition =>
  bareTable(name, {
    idType: "int",
    columns: [bareColumn("a", { id: "c", searchable })],
    storage: { collection: name, fields: { c: "a" } },
  });
const catalogOf = (...definitions: TableDefinition[]): Catalog => buildCatalog(1, definitions, []);

/** The tables that a turn of the filler indexes. @param changed what the catalog is once the first is being indexed */
async function indexed(catalog: Catalog, changed: Catalog): Promise<Table[]> {
  let current = catalog;
  const tables: Table[] = [];
  const filler = startSearchFiller({
    logger,
    gate: { run: (write) => write() },
    catalogs: { get: async () => current },
    store: { read: async () => [], updateEach: async () => 0 },
    indexGrams: async (table) => {
      tables.push(table);
      current = changed;
    },
  });
  while (tables.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  await new Promise((resolve) => setTimeout(resolve, 20));
  await filler.stop();
  return tables;
}

describe("the search filler", () => {
  it("sees what a table is when its turn comes", async () => {
    const first = definition("first", true);
    const before = catalogOf(first, definition("second", true), definition("third", true));
    const renamed = { ...definition("third", true), name: "renamed" };
    const after = catalogOf(first, definition("second", false), renamed);
    expect((await indexed(before, after)).map(({ name }) => name)).toEqual(["first", "renamed"]);
  });

  it("writes no more of a column that is no longer searchable since it began", async () => {
    let current = catalogOf(definition("first", true));
    let written = 0;
    const filler = startSearchFiller({
      logger,
      indexGrams: async () => {},
      gate: { run: (write) => write() },
      catalogs: { get: async () => current },
      store: {
        read: async () => [{ _id: 1, a: "text" }],
        updateEach: async () => {
          written += 1;
          current = catalogOf(definition("first", false));
          return 1;
        },
      },
    });
    while (written === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    await new Promise((resolve) => setTimeout(resolve, 20));
    await filler.stop();
    expect(written).toBe(1);
  });

  it("writes nothing while the disk is nearly full, and tells what it wrote", async () => {
    let [asked, told, isFull] = [0, 0, true];
    const written: unknown[] = [];
    const filler = startSearchFiller({
      logger,
      indexGrams: async () => {},
      gate: { run: (write) => write() },
      catalogs: { get: async () => catalogOf(definition("first", true)) },
      store: {
        read: async () => (written.length === 0 ? [{ _id: 1, a: "text" }] : []),
        updateEach: async (_table, changes) => written.push(changes),
      },
      diskSpace: {
        require: async () => {
          asked += 1;
          if (isFull) throw new Error("full");
        },
        written: async (bytes) => {
          told += bytes;
        },
      },
    });
    while (asked === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(written).toEqual([]);
    isFull = false;
    filler.wake();
    while (told === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    await filler.stop();
    expect([written.length, told]).toEqual([1, 80]);
  });
});
