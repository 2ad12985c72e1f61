// What becomes of the database when the service does not come to serve.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { readConfig } from "./config.js";
import { openTestDatabase } from "./mongo/database-fixture.js";
import type { OpenAddress } from "./mongo/open-address.js";
import { startDataService } from "./start-data-service.js";

it("a service whose app can't be made closes what it has opened", async () => {
  const folder = await mkdtemp(join(tmpdir(), "portico-start-"));
  const database = await openTestDatabase();
  const url = String(process.env.MONGODB_URL);
  const config = readConfig({
    DATA_DIR: folder,
    MONGODB_URL: url,
    DATA_SERVICE_PORT: "0",
    ADMIN_PASSWORD: "of the tests",
    LOG_LEVEL: "silent",
  });
  let isClosed = false;
  const address: OpenAddress = {
    url,
    database: database.db.databaseName,
    async close() {
      isClosed = true;
    },
  };
  try {
    const starting = startDataService({ ...config, trustProxy: ["nobody"] }, Promise.resolve(address));
    await expect(starting).rejects.toThrow("invalid IP address");
    expect(isClosed).toBe(true);
  } finally {
    await database.close();
    await rm(folder, { recursive: true });
  }
});
