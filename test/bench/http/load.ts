// Lets the load process work off one job after the other, and tells what it and the target's processes took.
import { type ChildProcess, fork } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { residentBytes } from "../../support/process-facts.js";
import type { Job, Load, LoadMessage } from "./load-process.js";
import type { ServerProcess } from "./system.js";

export interface Measured extends Load {
  /** What each process of the target took meanwhile. */
  readonly processes: readonly ProcessUse[];
}

export interface ProcessUse {
  readonly role: ServerProcess["role"];
  /** Seconds of CPU. */
  readonly cpu: number;
  /** Resident memory at the end, in bytes. */
  readonly memory: number;
}

/** Clock ticks a second in /proc, the same on every Linux that Node runs on. */
const TICKS = 100;

/** For its own small collections, which free the bytes of answers at once only where no thread beside them does it. */
const COLLECTION = ["--expose-gc", "--no-concurrent-array-buffer-sweeping"];

export class LoadGenerator {
  readonly #process: ChildProcess = fork(fileURLToPath(new URL("load-process.js", import.meta.url)), {
    execArgv: [...process.execArgv, ...COLLECTION],
  });

  async measure(job: Job, processes: readonly ServerProcess[]): Promise<Measured> {
    this.#process.send(job);
    await this.#next("measuring");
    const before = await Promise.all(processes.map(({ pid }) => cpuSeconds(pid)));
    const { load } = await this.#next("measured");
    const uses = await Promise.all(
      processes.map(async ({ role, pid }, at) => ({
        role,
        cpu: (await cpuSeconds(pid)) - (before[at] ?? 0),
        memory: await residentBytes(pid),
      })),
    );
    await this.#next("idle");
    return { ...load, processes: uses };
  }

  stop(): void {
    this.#process.kill();
  }

  #next<Type extends LoadMessage["type"]>(type: Type): Promise<Extract<LoadMessage, { type: Type }>> {
    return new Promise((resolve, reject) => {
      const onExit = (code: number | null): void => reject(new Error(`the load process ended with ${code}`));
      const onMessage = (message: LoadMessage): void => {
        if (!isOf(message, type)) return;
        this.#process.off("message", onMessage).off("exit", onExit);
        resolve(message);
      };
      this.#process.on("message", onMessage).once("exit", onExit);
    });
  }
}

function isOf<Type extends LoadMessage["type"]>(
  message: LoadMessage,
  type: Type,
): message is Extract<LoadMessage, { type: Type }> {
  return message.type === type;
}

/** CPU of all threads of a process so far (Linux). */
async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  // The name of the program, in brackets, may hold blanks.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}
