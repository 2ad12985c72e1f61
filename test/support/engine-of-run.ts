// The embedded engine as a process of its own, shared by the services of a run.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileOf } from "./run-state.js";

export interface EngineProcess {
  readonly uri: string;
  readonly process: ChildProcess;
}

/** Opens the folder, which is made when missing. @throws Error when the engine ends before it has begun */
export async function startEngine(directory: string): Promise<EngineProcess> {
  const program = fileOf("@portico/data-service/mongo/embedded/engine-main");
  const engine = spawn(process.execPath, [program, directory], { stdio: ["pipe", "pipe", "inherit"] });
  const { uri } = JSON.parse(await firstLine(engine.stdout)) as { uri: string };
  return { uri, process: engine };
}

async function firstLine(output: Readable): Promise<string> {
  for await (const line of createInterface(output)) {
    // The reader has paused it; whatever else comes must not stay in the pipe.
    output.resume();
    return line;
  }
  throw new Error("the engine ended before it said where it is");
}

export async function stopEngine({ process: engine }: EngineProcess): Promise<void> {
  const ended = once(engine, "exit");
  engine.kill("SIGTERM");
  await ended;
}
