// What the commands make of the environment.
import { expect, it } from "@jest/globals";
import { commandSettings } from "./database-command.js";

it.each([
  ["without a level", {}, "warn"],
  ["with an empty one, which docker-compose.yml hands on", { LOG_LEVEL: "" }, "warn"],
  ["with one that is asked for", { LOG_LEVEL: "debug" }, "debug"],
])("a command logs what goes wrong, or as much as it is told to: %s", (_what, env, level) => {
  expect(commandSettings(env).LOG_LEVEL).toBe(level);
});
