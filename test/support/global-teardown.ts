// After all tests: the engine of the run stops, and its data goes.
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { engineOfRun } from "./run-state.js";

export default async function tearDown(): Promise<void> {
  const { engine } = engineOfRun;
  if (engine === undefined) return;
  const ended = once(engine.process, "exit");
  engine.process.kill("SIGTERM");
  await ended;
  await rm(engine.directory, { recursive: true, force: true });
}
