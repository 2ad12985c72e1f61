// How long `npm start` takes to its first answer, and what both services hold when nobody asks.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "../../support/free-port.js";
import { pidOf, residentBytes } from "../../support/process-facts.js";
import { projectRoot } from "../../support/run-state.js";

export interface StartUp {
  /** On an empty folder: milliseconds from the command to the first answer of the data service through the gateway. */
  readonly firstMs: number;
  /** On the same folder again. */
  readonly againMs: number;
  /** MiB of resident memory, some seconds after the last answer. */
  readonly memory: { readonly dataService: number; readonly gateway: number; readonly others: number };
  readonly limits: { readonly seconds: number; readonly mebibytes: number };
}

const LIMITS = { seconds: 3, mebibytes: 250 };
const IDLE_MS = 10_000;
const LONGEST_MS = 300_000;
const MEBIBYTE = 1024 * 1024;

/** As often as each workload is measured: a single start may meet whatever the machine does just then. */
const ROUNDS = 3;

/** The median of some starts, each on a folder of its own. */
export async function measureStartUp(): Promise<StartUp> {
  const folder = await mkdtemp(join(tmpdir(), "portico-start-"));
  try {
    // What is not installed or built yet is so now.
    const setUp = await start(join(folder, "set-up"));
    await stop(setUp.child);
    const rounds: StartUp[] = [];
    for (let round = 0; round < ROUNDS; round += 1) rounds.push(await measureOnce(join(folder, `${round}`)));
    const medianOf = (value: (round: StartUp) => number): number =>
      rounds.map(value).toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? Number.NaN;
    return {
      firstMs: medianOf(({ firstMs }) => firstMs),
      againMs: medianOf(({ againMs }) => againMs),
      memory: {
        dataService: medianOf(({ memory }) => memory.dataService),
        gateway: medianOf(({ memory }) => memory.gateway),
        others: medianOf(({ memory }) => memory.others),
      },
      limits: LIMITS,
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measureOnce(folder: string): Promise<StartUp> {
  const first = await start(folder);
  await stop(first.child);
  const again = await start(folder);
  await delay(IDLE_MS);
  const memory = await memoryOf(pidOf(again.child));
  await stop(again.child);
  return { firstMs: first.ms, againMs: again.ms, memory, limits: LIMITS };
}

async function start(folder: string): Promise<{ child: ChildProcess; ms: number }> {
  const [port, dataPort] = [await freePort(), await freePort()];
  const began = performance.now();
  const child = spawn("npm", ["start", "--silent"], {
    cwd: projectRoot,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      DATA_DIR: folder,
      PORT: String(port),
      DATA_SERVICE_PORT: String(dataPort),
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
  while (!(await answers(`http://127.0.0.1:${port}/api/metadata`))) {
    if (child.exitCode !== null || performance.now() - began > LONGEST_MS)
      throw new Error("npm start gives no answer");
    await delay(10);
  }
  return { child, ms: performance.now() - began };
}

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    async (response) => {
      await response.arrayBuffer();
      return response.ok;
    },
    () => false,
  );
}

/** `npm` ends before what it has started, whose folder is still in use then. */
async function stop(child: ChildProcess): Promise<void> {
  const family = await familyOf(pidOf(child));
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
  while (family.some(isAlive)) await delay(10);
}

function isAlive(pid: number): boolean {
  return existsSync(`/proc/${pid}`);
}

async function memoryOf(pid: number): Promise<StartUp["memory"]> {
  const memory = { dataService: 0, gateway: 0, others: 0 };
  for (const each of await familyOf(pid)) {
    const command = await readFile(`/proc/${each}/cmdline`, "utf8");
    const role = command.includes("data-service/dist/main")
      ? "dataService"
      : command.includes("gateway/dist/main")
        ? "gateway"
        : "others";
    memory[role] += (await residentBytes(each)) / MEBIBYTE;
  }
  return memory;
}

/** A process and all that it started (Linux). */
async function familyOf(pid: number): Promise<number[]> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8"))
    .split(" ")
    .filter((id) => id !== "");
  const families = await Promise.all(children.map((child) => familyOf(Number(child))));
  return [pid, ...families.flat()];
}
