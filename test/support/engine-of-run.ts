// The embedded engine as a process of its own, shared by the services of a run.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileOf } from "./run-state.js";

export interface EngineProcess {
  readonly uri: string;
  readonly process: ChildProcess;
}

/** Opens the folder, which is made when missing. */
export async function startEngine(directory: string): Promise<EngineProcess> {
  const program = fileOf("@portico/data-service/mongo/embedded/engine-main");
  const engine = spawn(process.execPath, [program, directory], { stdio: ["pipe", "pipe", "inherit"] });
  const [line] = await once(createInterface(engine.stdout), "line");
  const { uri } = JSON.parse(String(line)) as { uri: string };
  return { uri, process: engine };
}

export async function stopEngine({ process: engine }: EngineProcess): Promise<void> {
  const ended = once(engine, "exit");
  engine.kill("SIGTERM");
  await ended;
}
