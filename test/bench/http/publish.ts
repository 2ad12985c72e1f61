// Puts a run where people read it: a JSON file, the terminal, and the page about performance with its charts.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { projectRoot } from "../../support/run-state.js";
import { JUDGED_CONNECTIONS } from "./bars.js";
import { markdownOf, type Run, rateChart, withReport } from "./report.js";

const PAGE = join(projectRoot, "docs/performance.md");
const CHART = `performance/answers-${JUDGED_CONNECTIONS}.svg`;

/** @param page whether the page is written anew as well */
export async function publish(run: Run, jsonFile: string, page: boolean): Promise<void> {
  const markdown = markdownOf(run, CHART);
  console.log(`\n${markdown}\n`);
  await mkdir(dirname(resolve(jsonFile)), { recursive: true });
  await writeFile(jsonFile, `${JSON.stringify(run, null, 2)}\n`);
  if (!page) return;
  await writeFile(PAGE, withReport(await readFile(PAGE, "utf8"), markdown));
  await mkdir(dirname(join(projectRoot, "docs", CHART)), { recursive: true });
  await writeFile(join(projectRoot, "docs", CHART), rateChart(run, JUDGED_CONNECTIONS));
}
