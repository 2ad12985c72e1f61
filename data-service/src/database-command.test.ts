// What the commands make of the environment, and of a database that does not open.
import { expect, it } from "@jest/globals";
import { ConfigError } from "@portico/shared/env";
import { asConfigError, commandSettings } from "./database-command.js";
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
