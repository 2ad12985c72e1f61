// `npm run test:soak`: hours of everyday load, and a line through what the services hold of it.
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { scrape, total } from "../../operations/prometheus.js";
import { asAdmin } from "../../support/api.js";
import { startEngine, stopEngine } from "../../support/engine-of-run.js";
import { openHandles, pidOf, residentBytes } from "../../support/process-facts.js";
import { roleFor } from "../../support/rules.js";
import { fileOf } from "../../support/run-state.js";
import { type RunningService, type Stack, startStack } from "../../support/stack.js";
import type { Outcome } from "../support/client.js";
import { percentile, startLoad, tally } from "../support/load.js";
import type { MemoryReport } from "../support/memory-probe.js";
import { fitLine } from "./fit.js";
import { Mix, type Person } from "./mix.js";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "40" },
    warmup: { type: "string", default: "10" },
    rate: { type: "string", default: "100" },
    // What warms up by requests, not by time, is warm sooner.
    "warmup-rate": { type: "string" },
    every: { type: "string", default: "10" },
    json: { type: "string" },
  },
});
const [minutes, warmUp, rate, every] = [values.minutes, values.warmup, values.rate, values.every].map(Number);
const warmUpRate = Number(values["warmup-rate"] ?? values.rate);
if (!minutes || !warmUp || !rate || !every || !warmUpRate || minutes <= warmUp)
  throw new Error("--minutes 40 --warmup 10 --rate 100 --warmup-rate 300");

const MEBIBYTE = 1024 * 1024;
const MOST_MEBIBYTES_AN_HOUR = 1;
const PEOPLE = 20;

type Sample = Readonly<Record<string, number>>;

const directory = await mkdtemp(join(tmpdir(), "portico-soak-"));
const engine = await startEngine(join(directory, "mongodb"));
process.env.MONGODB_URL = engine.uri;
const probe = pathToFileURL(fileOf("@portico/test/resilience/support/memory-probe")).href;
const stack = await startStack({
  shipped: true,
  env: { NODE_OPTIONS: `--import=${probe}`, LOG_LEVEL: "warn" },
});
const samples: Sample[] = [];
/** While it warms up, faster than it is measured, a machine may have to refuse some. */
let warming: readonly Outcome[] = [];
let measured: readonly Outcome[] = [];
try {
  const mix = await prepare(stack);
  await mix.fill();
  const began = performance.now();
  warming = await loadUntil(began + warmUp * 60_000, warmUpRate, mix, began);
  measured = await loadUntil(began + minutes * 60_000, rate, mix, began);
  mix.close();
} finally {
  await stack.stop();
  await stopEngine(engine);
  await rm(directory, { recursive: true, force: true });
}
process.exitCode = report() ? 0 : 1;

/** Looks at the services every few seconds meanwhile. @param end and `began`: by `performance.now()` */
async function loadUntil(
  end: number,
  perSecond: number,
  mix: Mix,
  began: number,
): Promise<readonly Outcome[]> {
  const load = startLoad(perSecond, () => mix.step());
  while (performance.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, (every ?? 1) * 1_000));
    const sample = { minute: (performance.now() - began) / 60_000, ...(await look()) };
    samples.push(sample);
    if (samples.length % 6 === 0) console.log(lineOf(sample, load.outcomes.length));
    if (values.json !== undefined) await writeFile(values.json, JSON.stringify(samples));
  }
  return load.stop();
}

async function prepare(system: Stack): Promise<Mix> {
  const admin = await asAdmin(system);
  const create = async (path: string, body: unknown): Promise<string[]> => {
    const answer = await admin.post(path, body);
    if (answer.status !== 201) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    return answer.body.data.map(({ id }: { id: string }) => id);
  };
  await create("/svc_table", { name: "authors", columns: [{ name: "name", type: "string" }] });
  await create("/svc_table", {
    name: "notes",
    columns: [
      { name: "title", type: "string", required: true },
      { name: "body", type: "text" },
      { name: "views", type: "int" },
    ],
    relations: [{ name: "author", type: "many-to-one", table: "authors", inverse: "notes" }],
  });
  const authors = await create(
    "/authors",
    Array.from({ length: 20 }, (_, at) => ({ name: `author ${at}` })),
  );
  const role = await roleFor(admin, "member", ["authors", "notes", "svc_file"]);
  const people: Person[] = Array.from({ length: PEOPLE }, (_, at) => ({
    email: `person${at}@example.com`,
    password: `the password ${at}`,
  }));
  for (const person of people) await create("/svc_user", { ...person, role });
  return new Mix(`${system.appUrl}/api`, people, authors);
}

async function look(): Promise<Sample> {
  const [gateway, data] = await Promise.all([memoryOf(stack.gateway), memoryOf(stack.dataService)]);
  const metrics = await scrape(`${stack.dataUrl}/metrics`).catch(() => []);
  return {
    ...facts("gateway", gateway),
    ...facts("data", data),
    "gateway.handles": await openHandles(pidOf(stack.gateway.process)),
    "data.handles": await openHandles(pidOf(stack.dataService.process)),
    "engine.rss": await residentBytes(pidOf(engine.process)),
    "data.mongoConnections": total(metrics, "portico_mongodb_connections_open"),
  };
}

/** After a garbage collection. */
async function memoryOf({ process: service }: RunningService): Promise<MemoryReport> {
  const told = once(service, "message");
  // Not its own `kill`, after which nobody could tell whether it has ended by itself.
  process.kill(pidOf(service), "SIGUSR2");
  const [report] = await told;
  return report as MemoryReport;
}

function facts(name: string, { rss, heapUsed, external, arrayBuffers, active }: MemoryReport): Sample {
  return {
    [`${name}.rss`]: rss,
    [`${name}.heap`]: heapUsed,
    [`${name}.external`]: external,
    [`${name}.arrayBuffers`]: arrayBuffers,
    [`${name}.timers`]: active.Timeout ?? 0,
    [`${name}.sockets`]: active.TCPSocketWrap ?? 0,
  };
}

function lineOf(sample: Sample, requests: number): string {
  const parts = Object.entries(sample).map(([name, value]) => `${name} ${shown(name, value)}`);
  return `${parts.join("  ")}  requests ${requests}`;
}

function isBytes(name: string): boolean {
  return /\.(rss|heap|external|arrayBuffers)$/.test(name);
}

function shown(name: string, value: number): string {
  return (isBytes(name) ? value / MEBIBYTE : value).toFixed(1);
}

function tell(when: string, outcomes: readonly Outcome[]): void {
  const [p50, p99] = [0.5, 0.99].map((part) => percentile(outcomes, part).toFixed(1));
  console.log(`\n${when}: ${outcomes.length} requests, p50 ${p50} ms, p99 ${p99} ms`);
  console.log(JSON.stringify(tally(outcomes)));
}

/** @returns whether the bar holds */
function report(): boolean {
  const after = samples.filter(({ minute = 0 }) => minute >= (warmUp ?? 0));
  tell("while it warmed up", warming);
  tell("measured", measured);
  console.log(`after ${warmUp} minutes, ${after.length} samples: mean, slope an hour ± its standard error`);
  const slopes = new Map<string, number>();
  for (const name of Object.keys(after[0] ?? {}).filter((each) => each !== "minute")) {
    const unit = isBytes(name) ? MEBIBYTE : 1;
    const points = after.map((sample) => [(sample.minute ?? 0) / 60, (sample[name] ?? 0) / unit] as const);
    const { slope, error } = fitLine(points);
    const mean = points.reduce((sum, [, y]) => sum + y, 0) / points.length;
    slopes.set(name, slope);
    console.log(`${name.padEnd(24)} ${mean.toFixed(2)}  ${slope.toFixed(2)} ± ${error.toFixed(2)}`);
  }
  const grown = ["gateway.rss", "data.rss"].filter(
    (name) => (slopes.get(name) ?? 0) > MOST_MEBIBYTES_AN_HOUR,
  );
  const odd = measured.filter(({ ended, isJson }) => typeof ended !== "number" || ended >= 400 || !isJson);
  for (const name of grown) console.error(`${name} grows by more than ${MOST_MEBIBYTES_AN_HOUR} MiB an hour`);
  if (odd.length > 0) console.error(`${odd.length} answers were refusals, broken, or not as promised`);
  return grown.length === 0 && odd.length === 0;
}
