// Before all tests: one embedded MongoDB for the whole run, unless MONGODB_URL names a real one.
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEngine } from "./engine-of-run.js";
import { engineOfRun } from "./run-state.js";

export default async function setUp(): Promise<void> {
  process.env.PORTICO_UNDOCUMENTED = join(await mkdtemp(join(tmpdir(), "portico-answers-")), "undocumented");
  if (process.env.MONGODB_URL !== undefined) return;
  const directory = await mkdtemp(join(tmpdir(), "portico-test-"));
  const engine = await startEngine(join(directory, "mongodb"));
  process.env.MONGODB_URL = engine.uri;
  engineOfRun.engine = { process: engine.process, directory };
}
