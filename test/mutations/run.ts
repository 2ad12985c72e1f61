// `npm run test:mutations`: puts one fault after the other into a copy of the compiler; each must make a suite fail.
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import setUp from "../support/global-setup.js";
import tearDown from "../support/global-teardown.js";
import { projectRoot } from "../support/run-state.js";
import { FAULTS, type Fault } from "./faults.js";
import { runSuite, SUITES } from "./suites.js";

const CAUGHT = "caught";

const { values } = parseArgs({
  options: {
    /** Only faults whose name holds the text. */
    only: { type: "string", default: "" },
  },
});
await setUp();
process.exitCode = await run(FAULTS.filter(({ name }) => name.includes(values.only))).finally(tearDown);

async function run(faults: readonly Fault[]): Promise<number> {
  const copy = await mkdtemp(join(tmpdir(), "portico-mutations-"));
  try {
    await copyProject(copy);
    // Before a minute is spent on any: every text must stand where it is looked for.
    const changes = await Promise.all(faults.map((fault) => changeOf(copy, fault)));
    await requirePassing(copy);
    let missed = 0;
    for (const change of changes) missed += (await isCaught(copy, change)) ? 0 : 1;
    console.log(missed === 0 ? `\nall ${faults.length} faults are caught` : `\n${missed} not caught`);
    return missed === 0 ? 0 : 1;
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** Built files are copied, because they change; what is installed is linked. */
async function copyProject(copy: string): Promise<void> {
  for (const part of ["shared", "data-service", "gateway", "test"]) {
    await mkdir(join(copy, part));
    for (const name of ["dist", "package.json"])
      await cp(join(projectRoot, part, name), join(copy, part, name), { recursive: true });
    await symlink(join(projectRoot, part, "node_modules"), join(copy, part, "node_modules"));
  }
  for (const name of ["jest.config.mjs", "count-reporter.mjs", "corpora"])
    await cp(join(projectRoot, "test", name), join(copy, "test", name), { recursive: true });
}

interface Change {
  readonly fault: Fault;
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

async function changeOf(copy: string, fault: Fault): Promise<Change> {
  const path = join(copy, "data-service/dist", fault.file);
  const before = await readFile(path, "utf8");
  const [head, tail, ...more] = before.split(fault.find);
  if (head === undefined || tail === undefined || more.length > 0) {
    const times = tail === undefined ? "nowhere" : `${more.length + 1} times`;
    throw new Error(`"${fault.name}": the text stands ${times} in ${fault.file}: ${fault.find}`);
  }
  return { fault, path, before, after: head + fault.replace + tail };
}

async function requirePassing(copy: string): Promise<void> {
  for (const suite of SUITES) {
    const { passed, seconds, output } = await runSuite(copy, suite);
    if (!passed) throw new Error(`${suite.name} fails without any fault:\n${output}`);
    console.log(`${suite.name} pass without a fault, in ${seconds.toFixed(0)} s`);
  }
  console.log(`\n| ${"fault".padEnd(70)} | ${SUITES.map(({ name }) => name).join(" | ")} |`);
  console.log(`|${"-".repeat(72)}|${SUITES.map(({ name }) => "-".repeat(name.length + 2)).join("|")}|`);
}

/** Tries every suite but the last resort, so that the table shows which of them would be enough. */
async function isCaught(copy: string, { fault, path, before, after }: Change): Promise<boolean> {
  await writeFile(path, after);
  const cells: string[] = [];
  for (const suite of SUITES) {
    const isNeeded: boolean = suite.lastResort === undefined || !cells.includes(CAUGHT);
    cells.push(isNeeded ? ((await runSuite(copy, suite)).passed ? "-" : CAUGHT) : "");
  }
  await writeFile(path, before);
  const row = cells.map((cell, at) => cell.padEnd(SUITES[at]?.name.length ?? 0));
  console.log(`| ${fault.name.padEnd(70)} | ${row.join(" | ")} |`);
  return cells.includes(CAUGHT);
}
