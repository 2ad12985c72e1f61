// An import while the disk fills up: it ends before the first batch that there is no room for.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { unavailable } from "@portico/shared/app-error";
import { readConfig } from "../config.js";
import { type Deps, makeDeps } from "../deps.js";
import { LastingCaller } from "../lasting-caller.js";
import { openTestDatabase, type TestDatabase } from "../mongo/database-fixture.js";
import { prepareTables } from "../prepare.js";
import type { SignedIn } from "../principal.js";
import { createTable } from "../schema/create-table.js";
import { type Imported, importRecords } from "./import-records.js";

const ROOT: SignedIn = {
  kind: "user",
  userId: "64b000000000000000000001",
  roleId: null,
  isRootAdmin: true,
  by: { kind: "session", id: "s", origin: null },
};
/** Records of a batch. */
const BATCH = 500;

let folder: string;
let database: TestDatabase;
let deps: Deps;
let asked: number;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "portico-import-"));
  database = await openTestDatabase();
  const url = String(process.env.MONGODB_URL);
  const config = readConfig({ DATA_DIR: folder, MONGODB_URL: url, LOG_LEVEL: "silent" });
  const address = { url, database: database.db.databaseName, close: async () => {} };
  deps = await makeDeps(config, Promise.resolve(address));
  await prepareTables(deps);
  await createTable(deps.records, { name: "items", columns: [{ name: "name", type: "string" }] });
});

afterAll(async () => {
  await deps?.records.presence.stop(1_000);
  await deps?.store.close();
  await database?.close();
  await rm(folder, { recursive: true });
});

beforeEach(() => {
  asked = 0;
});

async function* linesOf(records: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < records; at += 1) yield Buffer.from(`{"name":"${at}"}\n`);
}

/** Imports two batches and a record where there is room for one. */
function importTooMuch(dryRun: boolean): Promise<Imported> {
  const requireSpace = async (): Promise<void> => {
    asked += 1;
    if (asked > 1) throw unavailable("The disk is nearly full.", 60);
  };
  return importRecords(
    { ...deps.records, requireSpace },
    {
      caller: new LastingCaller(ROOT, async () => ROOT),
      table: "items",
      format: "ndjson",
      source: linesOf(2 * BATCH + 1),
      maxRowBytes: 1_000,
      dryRun,
      from: 1,
    },
  );
}

describe("an import on a disk that fills up", () => {
  it("asks before each batch, and keeps what came before the one that there is no room for", async () => {
    await expect(importTooMuch(false)).rejects.toMatchObject({
      code: "SERVICE_UNAVAILABLE",
      details: { imported: BATCH, next: BATCH + 1, dryRun: false },
    });
    expect([asked, await database.db.collection("items").countDocuments()]).toEqual([2, BATCH]);
  });

  it("needs no room for a dry run, which writes nothing", async () => {
    const checked = 2 * BATCH + 1;
    expect(await importTooMuch(true)).toEqual({ imported: 0, checked, dryRun: true });
    expect(asked).toBe(0);
  });
});
