// A data service of its own for a unit test, with a table `items` that has one column, and a root admin to call it as.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "./config.js";
import { type Deps, makeDeps } from "./deps.js";
import { openTestDatabase, type TestDatabase } from "./mongo/database-fixture.js";
import { prepareTables } from "./prepare.js";
import type { SignedIn } from "./principal.js";
import { createTable } from "./schema/create-table.js";

export const ROOT: SignedIn = {
  kind: "user",
  userId: "64b000000000000000000001",
  roleId: null,
  isRootAdmin: true,
  by: { kind: "session", id: "s", origin: null },
};

export interface Items {
  readonly deps: Deps;
  /** Where records are stored, by the names of their tables. */
  readonly db: TestDatabase["db"];
  close(): Promise<void>;
}

export async function openItems(): Promise<Items> {
  const folder = await mkdtemp(join(tmpdir(), "portico-items-"));
  const database = await openTestDatabase();
  const url = String(process.env.MONGODB_URL);
  const config = readConfig({ DATA_DIR: folder, MONGODB_URL: url, LOG_LEVEL: "silent" });
  const address = { url, database: database.db.databaseName, close: async () => {} };
  const deps = await makeDeps(config, Promise.resolve(address));
  await prepareTables(deps);
  await createTable(deps.records, { name: "items", columns: [{ name: "name", type: "string" }] });
  const close = async (): Promise<void> => {
    await deps.records.presence.stop(1_000);
    await deps.store.close();
    await database.close();
    await rm(folder, { recursive: true });
  };
  return { deps, db: database.db, close };
}
