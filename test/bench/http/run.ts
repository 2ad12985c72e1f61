// `npm run bench`: the same data and the same requests for Portico and for others, in one run.
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { cpus, loadavg, release, tmpdir, totalmem, type } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { verdictsOf } from "./bars.js";
import { factsOf } from "./check.js";
import { ASSET_BYTES, makeBlog } from "./data.js";
import { CHECKS } from "./dialect.js";
import { DIALECTS, type TargetName } from "./dialects/index.js";
import { figuresOf } from "./figures.js";
import { LoadGenerator } from "./load.js";
import { check, measure, type Plan, warmUp } from "./measure.js";
import { publish } from "./publish.js";
import type { Run } from "./report.js";
import { measureStartUp } from "./start-up.js";
import type { System, SystemOptions } from "./system.js";
import { startDirectus } from "./systems/directus.js";
import { startFeathers } from "./systems/feathers.js";
import { startFloor } from "./systems/floor.js";
import { startParse } from "./systems/parse.js";
import { startPortico } from "./systems/portico.js";
import { WORKLOADS } from "./workloads.js";

const USAGE = `usage: npm run bench -- [--targets a,b] [--workloads a,b] [--connections 1,16,64] [--rounds 3] [--seconds 1.5]
       [--posts 100000] [--data FOLDER] [--json FILE] [--start-up] [--publish]
targets: ${Object.keys(DIALECTS).join(" ")}
workloads: ${WORKLOADS.map(({ name }) => name).join(" ")}`;

/** Which targets a system serves. */
const SYSTEMS: readonly {
  readonly name: string;
  readonly targets: readonly TargetName[];
  readonly start: (options: SystemOptions) => Promise<System>;
}[] = [
  { name: "floor", targets: ["floor", "proxied"], start: startFloor },
  { name: "portico", targets: ["data", "gateway"], start: startPortico },
  { name: "feathers", targets: ["feathers"], start: startFeathers },
  { name: "parse", targets: ["parse"], start: startParse },
  { name: "directus", targets: ["directus"], start: startDirectus },
];

/** Of each workload at the start: the code of most servers is not compiled before they have worked for seconds. */
const WARM_UP_MS = 3_000;

const { values } = parseArgs({
  options: {
    targets: { type: "string", default: Object.keys(DIALECTS).join(",") },
    workloads: { type: "string", default: WORKLOADS.map(({ name }) => name).join(",") },
    connections: { type: "string", default: "1,16,64" },
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "1.5" },
    posts: { type: "string", default: "100000" },
    /** Keep what is loaded here and use it again. */
    data: { type: "string" },
    json: { type: "string", default: join(tmpdir(), "portico-bench.json") },
    /** Measure `npm start` as well. */
    "start-up": { type: "boolean", default: false },
    /** Write the report into docs/performance.md, and its charts beside it. */
    publish: { type: "boolean", default: false },
  },
});
const chosen = <Name extends string>(text: string, names: readonly Name[]): Name[] => {
  const wanted = text.split(",");
  if (!wanted.every((name) => names.some((known) => known === name))) usage();
  return names.filter((name) => wanted.includes(name));
};
const numbers = (text: string): number[] => {
  const found = text.split(",").map(Number);
  if (!found.every((number) => number > 0)) usage();
  return found;
};
const number = (text: string): number => numbers(text)[0] ?? usage();
function usage(): never {
  console.error(USAGE);
  process.exit(2);
}

const targetNames = chosen(values.targets, Object.keys(DIALECTS) as TargetName[]);
const plan: Plan = {
  workloads: chosen(
    values.workloads,
    WORKLOADS.map(({ name }) => name),
  ),
  connections: numbers(values.connections),
  rounds: number(values.rounds),
  milliseconds: number(values.seconds) * 1000,
  warmUpMs: 1_000,
};
const measured = await measureAll();
const startUp = values["start-up"] ? await measureStartUp() : undefined;
const run: Run = {
  date: new Date().toISOString(),
  machine: machine(),
  posts: number(values.posts),
  rounds: plan.rounds,
  seconds: plan.milliseconds / 1000,
  loads: [measured.begin, loadavg()[0] ?? 0],
  versions: { "Node.js": process.versions.node, ...measured.versions },
  figures: measured.figures,
  leftOut: measured.leftOut,
  startUp,
};
await publish(run, values.json, values.publish);
const missed = verdictsOf(run.figures).filter(({ holds }) => !holds);
console.log(`JSON: ${values.json}; ${missed.length} bars missed`);

function machine(): string {
  const gibibytes = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${gibibytes} GiB, ${type()} ${release()}`;
}

async function measureAll(): Promise<
  Pick<Run, "figures" | "leftOut" | "versions"> & { readonly begin: number }
> {
  const folder =
    values.data === undefined ? await mkdtemp(join(tmpdir(), "portico-bench-")) : resolve(values.data);
  const blog = makeBlog(number(values.posts));
  const asset = pngLike(ASSET_BYTES);
  const sessions = sessionsFor(plan);
  const systems: System[] = [];
  const load = new LoadGenerator();
  try {
    for (const { name, targets, start } of SYSTEMS) {
      if (!targets.some((target) => targetNames.includes(target))) continue;
      const own = join(folder, name);
      await mkdir(own, { recursive: true });
      systems.push(
        await start({ folder: own, blog, asset, sessions, tell: (text) => console.log(`${name}: ${text}`) }),
      );
    }
    const targets = systems
      .flatMap((system) => system.targets)
      .filter(({ name }) => targetNames.includes(name));
    await check(targets, plan.workloads, factsOf(blog));
    console.log("every answer is right");
    await warmUp(load, targets, plan, Math.min(WARM_UP_MS, 2 * plan.milliseconds));
    const begin = loadavg()[0] ?? 0;
    const { cells, leftOut } = await measure(load, targets, plan, console.log);
    const versions = Object.assign({}, ...systems.map((system) => system.versions));
    return { begin, figures: figuresOf(cells), leftOut, versions };
  } finally {
    load.stop();
    for (const system of systems) await system.stop();
    if (values.data === undefined) await rm(folder, { recursive: true, force: true });
  }
}

/** Enough for 2,500 refreshes a second in one round, at 30 for each session. */
function sessionsFor({ workloads, connections, milliseconds }: Plan): number {
  if (!workloads.includes("refresh")) return 0;
  const seconds = (milliseconds / 1000) * connections.length;
  return CHECKS + Math.max(...connections) + Math.ceil((2_500 / 30) * seconds);
}

/** Bytes that begin as a picture does and can't be compressed. */
function pngLike(size: number): Buffer {
  const head = Buffer.from("89504e470d0a1a0a0000000d49484452000000640000006408060000007000ff00", "hex");
  return Buffer.concat([head, randomBytes(size - head.length)]);
}
