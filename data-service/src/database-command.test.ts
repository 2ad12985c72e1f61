// What the commands make of the environment, and of a database that does not open.
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { ConfigError } from "@portico/shared/env";
import { MongoServerError, ObjectId } from "mongodb";
import { type Config, readConfig } from "./config.js";
import { asConfigError, commandSettings, withDatabase, withReadDatabase } from "./database-command.js";
import { makeDeps } from "./deps.js";
import { openTestDatabase, type TestDatabase } from "./mongo/database-fixture.js";
import { EngineError } from "./mongo/embedded/engine-error.js";
import { prepareTables } from "./prepare.js";

it.each([
  ["without a level", {}, "warn"],
  ["with an empty one, which docker-compose.yml hands on", { LOG_LEVEL: "" }, "warn"],
  ["with one that is asked for", { LOG_LEVEL: "debug" }, "debug"],
])("a command logs what goes wrong, or as much as it is told to: %s", (_what, env, level) => {
  expect(commandSettings(env).LOG_LEVEL).toBe(level);
});

it.each([
  ["another process has it open", new EngineError("It is in use", { isInUse: true }), 2],
  ["its folder can't be written", new EngineError("The folder can't be written"), 1],
  ["a setting is wrong", new ConfigError(["ENCRYPTION_KEY is another one."]), 1],
])("stopping the service is suggested only where that helps: %s", (_what, failure, lines) => {
  expect(asConfigError(failure, "Stop the service first.")).toMatchObject({
    problems: [...failure.problems, "Stop the service first."].slice(0, lines),
  });
});

describe("on a server", () => {
  let database: TestDatabase;
  let folder: string;
  beforeEach(async () => {
    database = await openTestDatabase();
    folder = await mkdtemp(join(tmpdir(), "portico-command-"));
  });
  afterEach(async () => {
    await database.close();
    await rm(folder, { recursive: true });
  });

  const HINT = "Stop the service first.";
  const INTERRUPTED = "no service is running that would end it";
  const ENCRYPTION_KEY = "e".repeat(64);
  const AUTH_PRIVATE_KEY = JSON.stringify(
    generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" }),
  );
  const [reading, acting] = [withReadDatabase<unknown>, withDatabase<unknown>];
  const BOTH = [
    ["that only reads", reading],
    ["that acts", acting],
  ] as const;

  function configOf(settings: Readonly<Record<string, string>>): Config {
    const url = new URL(String(process.env.MONGODB_URL));
    url.pathname = database.db.databaseName;
    return readConfig({ ...commandSettings({}), DATA_DIR: folder, MONGODB_URL: url.href, ...settings });
  }

  /** As a service with all of its secrets leaves it. */
  async function started(): Promise<void> {
    const config = configOf({ ENCRYPTION_KEY, AUTH_PRIVATE_KEY, SERVICE_SECRET: "s".repeat(32) });
    const deps = await makeDeps(config);
    await prepareTables(deps);
    await deps.records.presence.stop(1_000);
    await deps.store.close();
  }

  /** Everything that it holds, and what it is found by. */
  async function content(): Promise<unknown> {
    const { db } = database;
    const names = (await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name);
    return Promise.all(
      names.toSorted().map(async (name) => {
        const [documents, indexes] = [db.collection(name).find().toArray(), db.collection(name).indexes()];
        return { name, documents: await documents, indexes: await indexes };
      }),
    );
  }

  const signingKeys = () => database.db.collection("_signing_keys").find().toArray();

  it.each(BOTH)("a command %s makes no secret, and no key to sign with", async (_what, run) => {
    await started();
    const before = await signingKeys();
    const action = async () => "done";
    expect(await run(configOf({ ENCRYPTION_KEY }), HINT, action)).toBe("done");
    const other = JSON.stringify(generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" }));
    await run(configOf({ ENCRYPTION_KEY, AUTH_PRIVATE_KEY: other }), HINT, action);
    expect(await signingKeys()).toEqual(before);
    await expect(run(configOf({}), HINT, action)).rejects.toThrow("no ENCRYPTION_KEY is set");
    expect(await readdir(folder)).toEqual([]);
  });

  it.each(BOTH)(
    "a command %s is told where no service has ever started, and makes nothing there",
    async (_what, run) => {
      const action = run(configOf({ ENCRYPTION_KEY }), HINT, async () => "done");
      await expect(action).rejects.toMatchObject({
        problems: [
          expect.stringMatching(
            /^There is no Portico in the database "test_\w+" of the MongoDB at MONGODB_URL; /,
          ),
        ],
      });
      expect(await content()).toEqual([]);
      expect(await readdir(folder)).toEqual([]);
    },
  );

  it("a command that only reads changes nothing, whatever a start would put right", async () => {
    await started();
    const { db } = database;
    await db.collection("_markers").deleteMany({});
    await db.collection("svc_user").dropIndexes();
    await db.collection("_instances").insertOne({ version: 0, at: new Date(0) });
    const before = await content();
    const read = withReadDatabase(configOf({ ENCRYPTION_KEY }), HINT, ({ records }) =>
      records.catalogStore.load(),
    );
    expect(await read).toEqual([]);
    expect(await content()).toEqual(before);
  });

  it("a command that only reads waits for no change of a table that no service is there to end", async () => {
    await started();
    const change = { id: new ObjectId(), isFollowed: false };
    const catalog = database.db.collection<{ _id: string }>("_versions");
    await catalog.updateOne({ _id: "catalog" }, { $set: { version: 1, change } }, { upsert: true });
    const read = () => withReadDatabase(configOf({ ENCRYPTION_KEY }), HINT, async () => "read");
    await expect(read()).rejects.toThrow(INTERRUPTED);
    // It may have died a moment ago.
    const instances = database.db.collection<{ _id: string; at: Date }>("_instances");
    await instances.insertOne({ _id: "dead", at: new Date() });
    await expect(read()).rejects.toThrow(INTERRUPTED);
    // One that lives ends the change.
    await instances.insertOne({ _id: "alive", at: new Date() });
    const reading = read();
    await catalog.updateOne({ _id: "catalog" }, { $set: { "change.isFollowed": true } });
    expect(await reading).toBe("read");
  });

  it("a command that only reads does not copy the definitions of a change that was interrupted", async () => {
    await started();
    const catalog = database.db.collection<{ _id: string }>("_versions");
    const latest = { id: new ObjectId(), name: "posts" };
    await catalog.updateOne({ _id: "catalog" }, { $set: { version: 1, latest } }, { upsert: true });
    const before = await content();
    const read = withReadDatabase(configOf({ ENCRYPTION_KEY }), HINT, ({ records }) =>
      records.catalogStore.load(),
    );
    await expect(read).rejects.toThrow(INTERRUPTED);
    expect(await content()).toEqual(before);
  });

  it("a command whose index finds no room on the disk says so in words", async () => {
    await started();
    const message = "available disk space of 408944640 bytes is less than required minimum of 524288000";
    const action = withDatabase(configOf({ ENCRYPTION_KEY }), HINT, async () => {
      throw new MongoServerError({ message, code: 14_031 });
    });
    await expect(action).rejects.toMatchObject({
      problems: [expect.stringMatching(/is nearly full: 390 MiB are free/)],
    });
  });
});
