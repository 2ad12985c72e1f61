// `npm run bench:stream`: the memory that a list of everything takes, through data service and gateway.
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { MongoClient } from "mongodb";
import { signIn } from "../../support/api.js";
import { startEngine, stopEngine } from "../../support/engine-of-run.js";
import { freePort } from "../../support/free-port.js";
import { openCursors, readSlowly } from "../../support/slow-reader.js";
import { ADMIN, type RunningService, startService } from "../../support/stack.js";
import { openSize, type SizedService } from "../scale/databases.js";

const MEBIBYTE = 1024 * 1024;
/** Each process may take this much more than when it is idle. */
const MOST_GROWTH = 250;

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "1000000" },
    /** Where bench:scale has left its databases. */
    data: { type: "string" },
  },
});
const rows = Number(values.rows);
if (!Number.isSafeInteger(rows) || rows < 1) {
  console.error("usage: bench:stream [--rows 1000000] [--data FOLDER]");
  process.exit(2);
}
process.exitCode = await run();

async function run(): Promise<number> {
  const folder =
    values.data === undefined ? await mkdtemp(join(tmpdir(), "portico-stream-")) : resolve(values.data);
  await mkdir(folder, { recursive: true });
  const engine =
    process.env.MONGODB_URL === undefined ? await startEngine(join(folder, "mongodb")) : undefined;
  const url = engine?.uri ?? process.env.MONGODB_URL ?? "";
  const running: { data?: SizedService; gateway?: RunningService } = {};
  try {
    const data = await openSize(url, rows, join(folder, "services"), console.log);
    running.data = data;
    running.gateway = await startService("@portico/gateway/main", {
      APP_URL: "http://localhost:3000",
      PORT: String(await freePort()),
      NODE_ENV: "test",
      DATA_SERVICE_URL: data.service.url,
      DATA_DIR: join(folder, "services"),
      LOG_LEVEL: "error",
    });
    return await measure(data, running.gateway, engine?.process.pid);
  } finally {
    await running.gateway?.stop();
    await running.data?.service.stop();
    if (engine !== undefined) await stopEngine(engine);
    if (values.data === undefined) await rm(folder, { recursive: true, force: true });
  }
}

async function measure(data: SizedService, gateway: RunningService, engine?: number): Promise<number> {
  const base = `${gateway.url}/api`;
  const login = await (await signIn(base, ADMIN)).post("/auth/login", ADMIN);
  const headers = { Authorization: `Bearer ${login.body.accessToken}` };
  const processes = { "data service": data.service.process.pid, gateway: gateway.process.pid, engine };
  const memory = await watch(processes);

  const started = performance.now();
  const bytes = await (await readSlowly(`${base}/posts?limit=0`, headers)).readAll();
  const seconds = (performance.now() - started) / 1000;
  const size = (bytes / MEBIBYTE).toFixed(0);
  console.log(`limit=0 of ${rows} posts: ${size} MiB in ${seconds.toFixed(1)} s through the gateway`);
  const growths = memory.stop();
  for (const { name, idle, peak } of growths)
    console.log(`  ${name}: ${idle} MiB idle, ${peak} MiB at most, ${peak - idle} MiB more`);

  await stopReading(data, `${base}/posts?limit=0`, headers);
  const over = growths.filter(({ name, idle, peak }) => name !== "engine" && peak - idle > MOST_GROWTH);
  return over.length === 0 ? 0 : 1;
}

/** What leaves the cursor for a client that reads 1 MiB and stops, and how soon it is closed when that client goes. */
async function stopReading(data: SizedService, url: string, headers: Record<string, string>): Promise<void> {
  const client = await MongoClient.connect(data.mongodbUrl);
  try {
    const slow = await readSlowly(url, headers);
    await slow.readTo(MEBIBYTE);
    await delay(3_000);
    console.log(
      `a client that stops after 1 MiB: ${await openCursors(client)} documents have left the cursor`,
    );
    const left = performance.now();
    slow.leave();
    while ((await openCursors(client)).length > 0) await delay(5);
    console.log(`  closed ${(performance.now() - left).toFixed(0)} ms after it went away`);
  } finally {
    await client.close();
  }
}

interface Growth {
  readonly name: string;
  /** MiB of resident memory. */
  readonly idle: number;
  readonly peak: number;
}

/** Watches the resident memory of processes (Linux). */
async function watch(
  processes: Readonly<Record<string, number | undefined>>,
): Promise<{ stop: () => Growth[] }> {
  const pids = Object.entries(processes).flatMap(([name, pid]) => (pid === undefined ? [] : [{ name, pid }]));
  const read = () => Promise.all(pids.map(({ pid }) => residentMemory(pid)));
  const idle = await read();
  const peak = [...idle];
  const timer = setInterval(async () => {
    for (const [at, now] of (await read()).entries()) peak[at] = Math.max(peak[at] ?? 0, now);
  }, 50);
  return {
    stop() {
      clearInterval(timer);
      return pids.map(({ name }, at) => ({ name, idle: idle[at] ?? 0, peak: peak[at] ?? 0 }));
    },
  };
}

async function residentMemory(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
}
