// Figures -> what was promised of them and whether it holds. Ratios within one run, so that the machine cancels out. Pure.
import type { TargetName } from "./dialects/index.js";
import type { Figure } from "./figures.js";
import { WORKLOADS, type Workload, type WorkloadName } from "./workloads.js";

export interface Verdict {
  readonly bar: string;
  readonly workload: WorkloadName;
  readonly connections: number;
  readonly ratio: number;
  /** `ratio` may be no less than this, or no more. */
  readonly limit: number;
  readonly holds: boolean;
}

/** The rates of one target held against those of another. */
interface Race {
  readonly bar: string;
  readonly target: TargetName;
  readonly against: TargetName;
  /** The least ratio for a workload; undefined where nothing was promised. */
  readonly least: (workload: Workload) => number | undefined;
}

/** Bars hold at this number of connections. */
export const JUDGED_CONNECTIONS = 16;
/** The slowest answer of a hundred may take this many times as long as the middle one. */
const P99_LIMIT = 3;

const RACES: readonly Race[] = [
  {
    bar: "data service / floor",
    target: "data",
    against: "floor",
    least: ({ kind }) => (kind === "read" ? 0.6 : kind === "write" ? 0.7 : undefined),
  },
  { bar: "gateway / data service", target: "gateway", against: "data", least: () => 0.75 },
  { bar: "gateway / FeathersJS", target: "gateway", against: "feathers", least: () => 1.5 },
  { bar: "gateway / Parse Server", target: "gateway", against: "parse", least: () => 3 },
  { bar: "gateway / Directus", target: "gateway", against: "directus", least: () => 2 },
];

/** Every promise that the figures can decide, in the order of the promises. */
export function verdictsOf(figures: readonly Figure[], connections = JUDGED_CONNECTIONS): Verdict[] {
  const find = (target: TargetName, workload: WorkloadName): Figure | undefined =>
    figures.find(
      (figure) =>
        figure.target === target && figure.workload === workload && figure.connections === connections,
    );
  const races = RACES.flatMap(({ bar, target, against, least }) =>
    WORKLOADS.flatMap((workload): Verdict[] => {
      const [own, other, limit] = [
        find(target, workload.name),
        find(against, workload.name),
        least(workload),
      ];
      if (own === undefined || other === undefined || limit === undefined) return [];
      const ratio = own.rate / other.rate;
      return [{ bar, workload: workload.name, connections, ratio, limit, holds: ratio >= limit }];
    }),
  );
  return [
    ...races,
    ...(["data", "gateway"] as const).flatMap((target) => tailsOf(target, find, connections)),
  ];
}

function tailsOf(
  target: "data" | "gateway",
  find: (target: TargetName, workload: WorkloadName) => Figure | undefined,
  connections: number,
): Verdict[] {
  const bar = `${target === "data" ? "data service" : "gateway"}: p99 / p50`;
  return WORKLOADS.flatMap(({ name: workload }): Verdict[] => {
    const figure = find(target, workload);
    if (figure === undefined) return [];
    const ratio = figure.p99 / figure.p50;
    return [{ bar, workload, connections, ratio, limit: P99_LIMIT, holds: ratio <= P99_LIMIT }];
  });
}
