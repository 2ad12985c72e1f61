// For tests of what whole instances do on one database: ready to serve, without a server.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MongoClientOptions } from "mongodb";
import { readConfig } from "./config.js";
import { type Deps, makeDeps } from "./deps.js";
import { openTestDatabase, type TestDatabase } from "./mongo/database-fixture.js";
import { prepareTables } from "./prepare.js";
import { changeTable } from "./schema/change-table.js";

export interface StartedInstances {
  readonly database: TestDatabase;
  /** One more of them. */
  start(): Promise<Deps>;
  /** Ends all of them, and drops the database. */
  close(): Promise<void>;
}

/** @param options of the tests' own look at the database */
export async function openInstances(options: MongoClientOptions = {}): Promise<StartedInstances> {
  const folder = await mkdtemp(join(tmpdir(), "portico-instances-"));
  const database = await openTestDatabase(options);
  const opened: Deps[] = [];
  const url = String(process.env.MONGODB_URL);
  const config = readConfig({ DATA_DIR: folder, MONGODB_URL: url, LOG_LEVEL: "silent" });
  const address = { url, database: database.db.databaseName, close: async () => {} };
  return {
    database,
    async start() {
      const deps = await makeDeps(config, Promise.resolve(address));
      opened.push(deps);
      await prepareTables(deps);
      return deps;
    },
    async close() {
      for (const { records, store } of opened) {
        await records.presence.stop(1_000);
        await store.close();
      }
      await database.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** Gives the first column of the only table another name, and waits until that is done. */
export async function renameFirstColumn({ records }: Deps, table: string, name: string): Promise<void> {
  const [{ id } = { id: "" }] = (await records.catalogStore.load())[0]?.columns ?? [];
  const { done } = await changeTable(records, table, { columns: [{ id, name }] }, undefined);
  await done;
}

/** Does something before one of the turns that an instance takes in its gate. @param at 1 = before the first */
export function beforeTurn(
  { gate }: Pick<Deps["records"], "gate">,
  at: number,
  act: () => Promise<void>,
): void {
  const run = gate.run.bind(gate);
  let turns = 0;
  gate.run = async (write) => {
    turns += 1;
    if (turns === at) await act();
    return run(write);
  };
}
