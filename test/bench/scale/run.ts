// `npm run bench:scale`: does the time of a query grow with the table? Ends with 1 when a median is beyond the bar.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { startEngine, stopEngine } from "../../support/engine-of-run.js";
import { CASES } from "./cases.js";
import { openSize, type SizedService } from "./databases.js";
import { measure } from "./measure.js";
import { BAR, linesOf, markdownOf, type Result } from "./report.js";

const USAGE = "usage: bench:scale [--sizes 10000,100000,1000000] [--only TEXT] [--data FOLDER] [--json FILE]";
const { values } = parseArgs({
  options: {
    sizes: { type: "string", default: "10000,100000,1000000" },
    /** Only cases whose name holds the text. */
    only: { type: "string", default: "" },
    /** Keep the databases here and use them again. */
    data: { type: "string" },
    json: { type: "string", default: join(tmpdir(), "portico-scale.json") },
  },
});
const sizes = values.sizes.split(",").map(Number);
if (sizes.length === 0 || !sizes.every((size) => Number.isSafeInteger(size) && size > 0)) {
  console.error(USAGE);
  process.exit(2);
}
process.exitCode = await run();

async function run(): Promise<number> {
  const folder =
    values.data === undefined ? await mkdtemp(join(tmpdir(), "portico-scale-")) : resolve(values.data);
  await mkdir(folder, { recursive: true });
  const engine =
    process.env.MONGODB_URL === undefined ? await startEngine(join(folder, "mongodb")) : undefined;
  const services: SizedService[] = [];
  try {
    const url = engine?.uri ?? process.env.MONGODB_URL ?? "";
    for (const posts of sizes.toSorted((a, b) => a - b))
      services.push(await openSize(url, posts, join(folder, "services"), console.log));
    const results: Result[] = [];
    for (const each of CASES.filter(({ name }) => name.includes(values.only))) {
      results.push({ case: each, sizes: await measure(each, services) });
      console.log(`measured: ${each.name}`);
    }
    return await report(results);
  } finally {
    await Promise.all(services.map(({ service }) => service.stop()));
    if (engine !== undefined) await stopEngine(engine);
    if (values.data === undefined) await rm(folder, { recursive: true, force: true });
  }
}

async function report(results: readonly Result[]): Promise<number> {
  const lines = linesOf(results);
  console.log(`\n${markdownOf(lines)}\n`);
  await mkdir(dirname(resolve(values.json)), { recursive: true });
  await writeFile(values.json, `${JSON.stringify({ node: process.version, bar: BAR, lines }, null, 2)}\n`);
  console.log(`JSON: ${values.json}`);
  const over = lines.filter((line) => line.withinBar === false).map((line) => line.case);
  if (over.length > 0) console.log(`over ${BAR} times the smallest: ${over.join("; ")}`);
  return over.length === 0 ? 0 : 1;
}
