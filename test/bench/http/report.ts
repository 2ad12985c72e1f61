// A run -> Markdown and charts. Pure.
import { JUDGED_CONNECTIONS, type Verdict, verdictsOf } from "./bars.js";
import { chartOf, type Group, rateText } from "./chart.js";
import { DIALECTS, type TargetName } from "./dialects/index.js";
import type { Figure } from "./figures.js";
import type { LeftOut } from "./measure.js";
import type { StartUp } from "./start-up.js";
import { WORKLOADS, type WorkloadName } from "./workloads.js";

export interface Run {
  /** ISO 8601 */
  readonly date: string;
  readonly machine: string;
  /** Products and their versions. */
  readonly versions: Readonly<Record<string, string>>;
  readonly posts: number;
  readonly rounds: number;
  /** Of measuring for each figure and round. */
  readonly seconds: number;
  /** Of the machine at the begin and the end: processes that want to run, averaged over a minute. */
  readonly loads: readonly [number, number];
  readonly figures: readonly Figure[];
  readonly leftOut: readonly LeftOut[];
  readonly startUp: StartUp | undefined;
}

interface Look {
  readonly label: string;
  readonly color: string;
}

const LOOKS: Readonly<Record<TargetName, Look>> = {
  floor: { label: "floor", color: "#9aa0a6" },
  proxied: { label: "floor, proxied", color: "#c5c9ce" },
  data: { label: "data service", color: "#1f6feb" },
  gateway: { label: "gateway", color: "#0b3d91" },
  feathers: { label: "FeathersJS", color: "#b7791f" },
  parse: { label: "Parse Server", color: "#8250df" },
  directus: { label: "Directus", color: "#2da44e" },
};

const TARGETS = Object.keys(LOOKS).filter((name): name is TargetName => name in DIALECTS);

const [BEGIN, END] = ["<!-- npm run bench: begin -->", "<!-- npm run bench: end -->"];

/** The page with this report instead of the former one. @throws when the page has no place for it */
export function withReport(page: string, report: string): string {
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new Error(`the page must have ${BEGIN} and ${END}`);
  return `${before}${BEGIN}\n\n${report}\n\n${END}${after}`;
}

/** All of a run, as a part of a page. @param chart where its chart lies, seen from the page */
export function markdownOf(run: Run, chart: string): string {
  const verdicts = verdictsOf(run.figures);
  const parts = [
    head(run),
    ...connectionsOf(run).flatMap((connections) => [
      `### ${connections === 1 ? "1 connection" : `${connections} connections`}`,
      ...(connections === JUDGED_CONNECTIONS ? [`![Answers a second](${chart})`] : []),
      ratesTable(run, connections),
    ]),
    ...(verdicts.length === 0 ? [] : [`### Bars`, barsIntroduction(verdicts), barsTable(verdicts)]),
    "### CPU and memory",
    usesTable(run),
    ...otherwisePart(run),
    ...errorsPart(run),
    ...startUpPart(run.startUp),
  ];
  return parts.join("\n\n");
}

function head({ date, machine, versions, posts, rounds, seconds, loads }: Run): string {
  const products = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [
    `Measured ${date.slice(0, 10)} on ${machine}; load ${loads[0].toFixed(1)} before and ${loads[1].toFixed(1)} after.`,
    `${posts.toLocaleString("en")} posts, ${rounds} rounds of ${seconds} s. ${products.join(", ")}.`,
  ].join("\n");
}

function connectionsOf({ figures }: Run): number[] {
  return [...new Set(figures.map(({ connections }) => connections))].toSorted((a, b) => a - b);
}

function targetsOf({ figures }: Run): TargetName[] {
  return TARGETS.filter((name) => figures.some(({ target }) => target === name));
}

function workloadsOf({ figures }: Run): (typeof WORKLOADS)[number][] {
  return WORKLOADS.filter(({ name }) => figures.some(({ workload }) => workload === name));
}

function find(run: Run, target: TargetName, workload: WorkloadName, connections: number): Figure | undefined {
  return run.figures.find(
    (figure) =>
      figure.target === target && figure.workload === workload && figure.connections === connections,
  );
}

function isLeftOut(run: Run, target: TargetName, workload: WorkloadName, connections: number): boolean {
  return run.leftOut.some(
    (row) => row.target === target && row.workload === workload && row.connections === connections,
  );
}

/** Answers a second, median and 99th percentile of their milliseconds. */
function ratesTable(run: Run, connections: number): string {
  const targets = targetsOf(run);
  const rows = workloadsOf(run).map(({ name, title }) => [
    title,
    ...targets.map((target) => {
      const figure = find(run, target, name, connections);
      if (figure === undefined) return isLeftOut(run, target, name, connections) ? "too slow" : "–";
      if (figure.answers === 0) return "no answer";
      const failed = Object.keys(figure.errors).length > 0 ? " (errors)" : "";
      return `${rateText(figure.rate)}/s; ${timeText(figure.p50)}, ${timeText(figure.p99)}${failed}`;
    }),
  ]);
  return tableOf(["answers a second; p50, p99 in ms", ...targets.map((name) => LOOKS[name].label)], rows);
}

function timeText(milliseconds: number): string {
  return milliseconds >= 100 ? Math.round(milliseconds).toLocaleString("en") : milliseconds.toPrecision(2);
}

function barsIntroduction(verdicts: readonly Verdict[]): string {
  const missed = verdicts.filter(({ holds }) => !holds);
  const which = missed.length === 0 ? "All hold." : `${missed.length} are missed; they are marked.`;
  return `${verdicts.length} promises at ${JUDGED_CONNECTIONS} connections, as ratios within this run. ${which}`;
}

/** A row a workload, a column a promise. */
function barsTable(verdicts: readonly Verdict[]): string {
  const bars = [...new Set(verdicts.map(({ bar }) => bar))];
  const rows = WORKLOADS.filter(({ name }) => verdicts.some(({ workload }) => workload === name)).map(
    ({ name, title }) => [
      title,
      ...bars.map((bar) => {
        const verdict = verdicts.find((each) => each.bar === bar && each.workload === name);
        return verdict === undefined ? "–" : verdictText(verdict);
      }),
    ],
  );
  return tableOf(["ratio (bar)", ...bars], rows);
}

function verdictText({ ratio, limit, holds }: Verdict): string {
  // A peer that gave no answer within a round has no rate to be compared with.
  const text = `${Number.isFinite(ratio) ? ratio.toFixed(2) : "no answer in time"} (${limit})`;
  return holds ? text : `**${text} missed**`;
}

function usesTable(run: Run): string {
  const targets = targetsOf(run);
  const measured = connectionsOf(run);
  const connections = measured.includes(JUDGED_CONNECTIONS) ? JUDGED_CONNECTIONS : (measured.at(-1) ?? 0);
  const cpu = workloadsOf(run).map(({ name, title }) => [
    title,
    ...targets.map((target) => {
      const figure = find(run, target, name, connections);
      if (figure === undefined || figure.answers === 0) return "–";
      const { proxy, server = 0, engine } = figure.cpu;
      return [proxy, server, engine]
        .flatMap((part) => (part === undefined ? [] : [part.toFixed(2)]))
        .join(" + ");
    }),
  ]);
  const memory = targets.map((target) => {
    const own = run.figures.filter((figure) => figure.target === target);
    const most = (role: "proxy" | "server" | "engine"): number[] => {
      const values = own.flatMap(({ memory: each }) => each[role] ?? []);
      return values.length === 0 ? [] : [Math.max(...values)];
    };
    return [...most("proxy"), ...most("server"), ...most("engine")]
      .map((value) => value.toFixed(0))
      .join(" + ");
  });
  const heads = [
    `ms of CPU for an answer at ${connections}: proxy + server + engine`,
    ...targets.map((name) => LOOKS[name].label),
  ];
  return tableOf(heads, [...cpu, ["most MiB of memory in the run", ...memory]]);
}

function otherwisePart(run: Run): string[] {
  const rows = targetsOf(run).flatMap((target) => {
    const { cannot, notes } = DIALECTS[target];
    return workloadsOf(run).flatMap(({ name, title }): string[][] => {
      const reasons: readonly [string, string | undefined][] = [
        ["can't", Object.entries(cannot).find(([workload]) => workload === name)?.[1]],
        ["otherwise", Object.entries(notes).find(([workload]) => workload === name)?.[1]],
      ];
      return reasons.flatMap(([kind, why]) =>
        why === undefined ? [] : [[LOOKS[target].label, title, `${kind}: ${why}`]],
      );
    });
  });
  if (rows.length === 0) return [];
  return ["### What they can't, and what they do otherwise", tableOf(["", "workload", ""], rows)];
}

function errorsPart({ figures }: Run): string[] {
  const rows = figures.flatMap(({ target, workload, connections, errors, answers }) =>
    Object.entries(errors).map(([what, count]) => [
      ...[LOOKS[target].label, workload, String(connections), what],
      `${count} of ${count + answers}`,
    ]),
  );
  if (rows.length === 0) return ["No request failed."];
  return ["### Failed requests", tableOf(["", "workload", "connections", "status", "requests"], rows)];
}

function startUpPart(startUp: StartUp | undefined): string[] {
  if (startUp === undefined) return [];
  const { firstMs, againMs, memory, limits } = startUp;
  const judged = (value: number, limit: number, unit: string): string =>
    `${value.toFixed(unit === "s" ? 2 : 0)} ${unit} (${limit} ${unit})${value <= limit ? "" : " **missed**"}`;
  const services = memory.dataService + memory.gateway;
  const rows = [
    ["`npm start` on an empty folder to the first answer", judged(firstMs / 1000, limits.seconds, "s")],
    ["`npm start` again to the first answer", judged(againMs / 1000, limits.seconds, "s")],
    ["idle memory of both services, engine included", judged(services, limits.mebibytes, "MiB")],
    ["of which the data service with its engine", `${memory.dataService.toFixed(0)} MiB`],
    ["of which the gateway", `${memory.gateway.toFixed(0)} MiB`],
    ["beside them npm and the launcher", `${memory.others.toFixed(0)} MiB`],
  ];
  return ["### Start and idle memory", tableOf(["", "measured (bar)"], rows)];
}

function tableOf(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(heads), line(heads.map(() => "---")), ...rows.map(line)].join("\n");
}

/** The rates of a number of connections. */
export function rateChart(run: Run, connections: number): string {
  const groups = workloadsOf(run).map(({ name, title }): Group => {
    const bars = targetsOf(run).map((target) => ({
      ...LOOKS[target],
      value: find(run, target, name, connections)?.rate,
    }));
    return { title, bars };
  });
  return chartOf(`Answers a second, ${connections} connections`, groups);
}
