// What the commands make of the environment, and of a database that does not open.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { ConfigError } from "@portico/shared/env";
import { MongoServerError } from "mongodb";
import { readConfig } from "./config.js";
import { asConfigError, commandSettings, withDatabase } from "./database-command.js";
import { openTestDatabase } from "./mongo/database-fixture.js";
import { EngineError } from "./mongo/embedded/engine-error.js";

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

it("a command whose index finds no room on the disk says so in words", async () => {
  const folder = await mkdtemp(join(tmpdir(), "portico-command-"));
  const database = await openTestDatabase();
  const url = new URL(String(process.env.MONGODB_URL));
  url.pathname = database.db.databaseName;
  const config = readConfig({ ...commandSettings({}), DATA_DIR: folder, MONGODB_URL: url.href });
  const message = "available disk space of 408944640 bytes is less than required minimum of 524288000";
  try {
    const acting = withDatabase(config, "Stop the service first.", async () => {
      throw new MongoServerError({ message, code: 14_031 });
    });
    await expect(acting).rejects.toMatchObject({
      problems: [expect.stringMatching(/is nearly full: 390 MiB are free/)],
    });
  } finally {
    await database.close();
    await rm(folder, { recursive: true });
  }
});
