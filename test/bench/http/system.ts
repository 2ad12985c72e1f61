// What a running server offers to the benchmark: one or several targets over one set of processes.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Blog } from "./data.js";
import type { Context } from "./dialect.js";
import type { TargetName } from "./dialects/index.js";

export interface ServerProcess {
  readonly role: "server" | "proxy" | "engine";
  readonly pid: number;
}

export interface Target {
  readonly name: TargetName;
  /** An origin. */
  readonly url: string;
  readonly context: Context;
  readonly processes: readonly ServerProcess[];
}

export interface System {
  /** Products and their versions, for the report. */
  readonly versions: Readonly<Record<string, string>>;
  readonly targets: readonly Target[];
  stop(): Promise<void>;
}

export interface SystemOptions {
  /** Where everything of this system lies. What an earlier run has loaded there is used again. */
  readonly folder: string;
  readonly blog: Blog;
  readonly asset: Buffer;
  /** How many sessions a target needs, of which each may be refreshed 30 times a minute. */
  readonly sessions: number;
  readonly tell: (text: string) => void;
}

/** Ends processes in turn, the last started first. */
export class Running {
  readonly #stops: (() => Promise<void>)[] = [];

  add<Kind>(started: Kind, stop: (started: Kind) => Promise<void>): Kind {
    this.#stops.push(() => stop(started));
    return started;
  }

  async stop(): Promise<void> {
    for (const stop of this.#stops.toReversed()) await stop();
  }
}

export interface ProgramOptions {
  readonly node?: string;
  readonly args?: readonly string[];
  /** Where it runs, and may leave files. */
  readonly cwd?: string;
  /** For a program that does not tell when it listens. */
  readonly ready?: () => Promise<void>;
}

/** Starts a program that listens on the port it is told, and sends a message when it does. */
export async function startProgram(
  file: string,
  env: Readonly<Record<string, string>>,
  { node = process.execPath, args = [], cwd, ready }: ProgramOptions = {},
): Promise<ChildProcess> {
  const child = spawn(node, [file, ...args], {
    cwd,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, NODE_ENV: "production", ...env },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  await new Promise<void>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`${file} ended with ${code}`)));
    if (ready === undefined) child.once("message", () => resolve());
    else ready().then(resolve, reject);
  });
  return child;
}

export async function stopProgram(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}
