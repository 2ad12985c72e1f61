// Before all tests: one embedded MongoDB for the whole run, unless MONGODB_URL names a real one.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { engineOfRun, fileOf } from "./run-state.js";

export default async function setUp(): Promise<void> {
  if (process.env.MONGODB_URL !== undefined) return;
  const directory = await mkdtemp(join(tmpdir(), "portico-test-"));
  const program = fileOf("@portico/data-service/mongo/embedded/engine-main");
  const engine = spawn(process.execPath, [program, join(directory, "mongodb")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const [line] = await once(createInterface(engine.stdout), "line");
  const { uri } = JSON.parse(String(line)) as { uri: string };
  process.env.MONGODB_URL = uri;
  engineOfRun.engine = { process: engine, directory };
}
