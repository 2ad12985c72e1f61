// What becomes of the database when the service does not come to serve, and what is said of it.
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer as createCollector } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, jest } from "@jest/globals";
import { Collection, MongoNetworkError, MongoServerError } from "mongodb";
import { type Config, readConfig } from "./config.js";
import { openTestDatabase, type TestDatabase } from "./mongo/database-fixture.js";
import type { OpenAddress } from "./mongo/open-address.js";
import { startDataService } from "./start-data-service.js";

let folder: string;
let database: TestDatabase;
let config: Config;
let address: OpenAddress;
/** What has happened, in its order. */
let events: string[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "portico-start-"));
});
afterAll(() => rm(folder, { recursive: true }));

beforeEach(async () => {
  database = await openTestDatabase();
  events = [];
  const url = String(process.env.MONGODB_URL);
  config = readConfig({
    DATA_DIR: folder,
    MONGODB_URL: url,
    DATA_SERVICE_PORT: "0",
    ADMIN_PASSWORD: "of the tests",
    LOG_LEVEL: "silent",
  });
  const close = async () => void events.push("closed");
  address = { url, database: database.db.databaseName, close };
});
afterEach(async () => {
  jest.restoreAllMocks();
  await database.close();
});

it("a service whose app can't be made closes what it has opened", async () => {
  const starting = startDataService({ ...config, trustProxy: ["nobody"] }, Promise.resolve(address));
  await expect(starting).rejects.toThrow("invalid IP address");
  expect(events).toEqual(["closed"]);
});

it("a service whose port is taken ends its own work before it closes the database", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const bound = other.address();
  const port = typeof bound === "object" && bound !== null ? bound.port : 0;
  const sweep = Collection.prototype.findOneAndUpdate;
  jest.spyOn(Collection.prototype, "findOneAndUpdate").mockImplementation(async function (
    this: Collection,
    ...parts: Parameters<typeof sweep>
  ) {
    if (this.collectionName !== "_content_pending") return sweep.apply(this, parts);
    await setTimeout(200);
    events.push("swept");
    return null;
  });
  const starting = startDataService({ ...config, port }, Promise.resolve(address));
  await expect(starting).rejects.toThrow(`Port ${port} on 127.0.0.1 is in use`);
  expect(events).toEqual(["swept", "closed"]);
  await once(other.close(), "close");
});

it("a service whose indexes find no room on the disk says how much they need", async () => {
  const message = "available disk space of 408944640 bytes is less than required minimum of 524288000";
  jest
    .spyOn(Collection.prototype, "createIndexes")
    .mockRejectedValue(new MongoServerError({ message, code: 14_031 }));
  await expect(startDataService(config, Promise.resolve(address))).rejects.toMatchObject({
    problems: [
      "The disk of the MongoDB at MONGODB_URL is nearly full: 390 MiB are free, and making an index needs 500 MiB; make room there.",
    ],
  });
  expect(events).toEqual(["closed"]);
});

it("a start that was begun anew is traced as any other", async () => {
  let exports = 0;
  const collector = createCollector((request, response) => {
    exports += 1;
    request.resume().once("end", () => response.end("{}"));
  }).listen(0, "127.0.0.1");
  await once(collector, "listening");
  const bound = collector.address();
  const port = typeof bound === "object" && bound !== null ? bound.port : 0;
  jest
    .spyOn(Collection.prototype, "createIndexes")
    .mockRejectedValueOnce(new MongoNetworkError("connection closed"));
  const traced = { ...config, otlpEndpoint: `http://127.0.0.1:${port}` };
  const service = await startDataService(traced, Promise.resolve(address));
  await (await fetch(`${service.url}/me`)).text();
  await service.stop();
  expect(events).toEqual(["closed", "closed"]);
  expect(exports).toBeGreaterThan(0);
  await once(collector.close(), "close");
});
