// `npm run test:files-load`: memory under many large uploads and downloads, and what aborted ones leave.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { MongoClient } from "mongodb";
import { apiOf } from "../support/api.js";
import { startEngine, stopEngine } from "../support/engine-of-run.js";
import { keptIn } from "../support/files.js";
import { openHandles, pidOf } from "../support/process-facts.js";
import { startStack } from "../support/stack.js";
import { until } from "../support/wait.js";
import {
  abortDownload,
  abortUpload,
  downloadBytes,
  growthDuring,
  inParallel,
  type Target,
  uploadBytes,
} from "./load.js";

const MEBIBYTE = 1024 * 1024;
/** What every process of ours may have beyond its idle state. */
const MOST_GROWTH = 150 * MEBIBYTE;
/** Connections that stay for reuse: 64 between the services, 50 to the database. */
const KEPT_CONNECTIONS = 64 + 50;

const { values } = parseArgs({
  options: {
    parallel: { type: "string", default: "50" },
    megabytes: { type: "string", default: "200" },
    aborts: { type: "string", default: "500" },
  },
});
const [parallel, size, aborts] = [
  Number(values.parallel),
  Number(values.megabytes) * 1_000_000,
  Number(values.aborts),
];

const directory = await mkdtemp(join(tmpdir(), "portico-files-load-"));
const engine = await startEngine(join(directory, "mongodb"));
process.env.MONGODB_URL = engine.uri;
const stack = await startStack({ env: { UPLOAD_MAX_BYTES: String(size), LOG_LEVEL: "warn" } });
const database = await MongoClient.connect(stack.mongodbUrl);
const problems: string[] = [];
try {
  const { body } = await apiOf(`${stack.appUrl}/api`).post("/auth/login", stack.admin);
  const target: Target = { appUrl: stack.appUrl, headers: { Authorization: `Bearer ${body.accessToken}` } };
  const ours = {
    gateway: pidOf(stack.gateway.process),
    "data service": pidOf(stack.dataService.process),
  };
  const processes = { ...ours, engine: pidOf(engine.process) };
  // Idle is not the same as never used: what the first requests load stays.
  await downloadBytes(target, await uploadBytes(target, MEBIBYTE));
  const handles = await Promise.all(Object.values(ours).map(openHandles));

  const ids: string[] = [];
  await report(`${parallel} uploads of ${values.megabytes} MB at once`, processes, () =>
    inParallel(parallel, parallel, async () => ids.push(await uploadBytes(target, size))),
  );
  await report(`${parallel} downloads of ${values.megabytes} MB at once`, processes, () =>
    inParallel(parallel, parallel, async (at) => {
      const length = await downloadBytes(target, ids[at] ?? "");
      if (length !== size) problems.push(`a download brought ${length} bytes`);
    }),
  );
  const before = await keptIn(database);
  await report(`${aborts} aborted uploads and ${aborts} aborted downloads`, processes, async () => {
    await inParallel(aborts, 20, (at) => abortUpload(target, ((at % 10) + 1) * 300_000));
    await inParallel(aborts, 20, (at) =>
      abortDownload(target, ids[at % ids.length] ?? "", ((at % 10) + 1) * 100_000),
    );
  });
  const same = (kept: object): boolean => JSON.stringify(kept) === JSON.stringify(before);
  await until(() => keptIn(database), same, 60_000).catch((error: Error) =>
    problems.push(`left: ${error.message}`),
  );
  const after = await Promise.all(Object.values(ours).map(openHandles));
  console.log(`open handles before and after, gateway and data service: ${handles} → ${after}`);
  if (after.some((count, at) => count > (handles[at] ?? 0) + KEPT_CONNECTIONS))
    problems.push("handles are left open");
  console.log(`kept: ${JSON.stringify(await keptIn(database))}`);
} finally {
  await database.close();
  await stack.stop();
  await stopEngine(engine);
  await rm(directory, { recursive: true, force: true });
}
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;

async function report(
  what: string,
  processes: Readonly<Record<string, number>>,
  run: () => Promise<unknown>,
): Promise<void> {
  const began = performance.now();
  const growth = await growthDuring(processes, run);
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  const list = Object.entries(growth).map(([name, bytes]) => `${name} +${Math.round(bytes / MEBIBYTE)} MiB`);
  console.log(`${what}: ${seconds} s; ${list.join(", ")}`);
  for (const [name, bytes] of Object.entries(growth))
    if (name !== "engine" && bytes > MOST_GROWTH) problems.push(`${what}: ${name} grew by ${bytes} bytes`);
}
