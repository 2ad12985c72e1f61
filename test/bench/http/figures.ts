// Rounds of measuring -> the figures of each target, workload and number of connections. Pure.
import { quantile } from "../scale/report.js";
import type { TargetName } from "./dialects/index.js";
import type { Cell } from "./measure.js";
import type { ServerProcess } from "./system.js";
import type { WorkloadName } from "./workloads.js";

export interface Figure {
  readonly target: TargetName;
  readonly workload: WorkloadName;
  readonly connections: number;
  /** Good answers a second: the median of the rounds. */
  readonly rate: number;
  /** Of each round, in their order. */
  readonly rates: readonly number[];
  /** Milliseconds, over the answers of all rounds. */
  readonly p50: number;
  readonly p99: number;
  readonly answers: number;
  /** Other answers of all rounds, by status or reason. */
  readonly errors: Readonly<Record<string, number>>;
  /** Milliseconds of CPU for an answer, by role of the process. */
  readonly cpu: Readonly<Partial<Record<ServerProcess["role"], number>>>;
  /** Most MiB of resident memory, by role of the process. */
  readonly memory: Readonly<Partial<Record<ServerProcess["role"], number>>>;
  /** Milliseconds of CPU that the load process took for an answer. */
  readonly loadCpu: number;
}

const MEBIBYTE = 1024 * 1024;

export function figuresOf(cells: readonly Cell[]): Figure[] {
  const groups = new Map<string, Cell[]>();
  for (const cell of cells) {
    const key = JSON.stringify([cell.target, cell.workload, cell.connections]);
    groups.set(key, [...(groups.get(key) ?? []), cell]);
  }
  return [...groups.values()].flatMap((rounds) => {
    const [first] = rounds;
    return first === undefined ? [] : [figureOf(first, rounds)];
  });
}

function figureOf({ target, workload, connections }: Cell, rounds: readonly Cell[]): Figure {
  const times = rounds.flatMap((round) => round.times);
  const rates = rounds.map((round) => round.times.length / round.seconds);
  return {
    target,
    workload,
    connections,
    rates,
    rate: quantile(rates, 0.5),
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    answers: times.length,
    errors: sumOf(rounds.map(({ errors }) => errors)),
    ...usesOf(rounds, times.length),
    loadCpu: (1000 * total(rounds.map(({ ownCpu }) => ownCpu))) / times.length,
  };
}

function sumOf(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const [name, count] of counts.flatMap((each) => Object.entries(each)))
    sum[name] = (sum[name] ?? 0) + count;
  return sum;
}

function usesOf(rounds: readonly Cell[], answers: number): Pick<Figure, "cpu" | "memory"> {
  const cpu: Partial<Record<ServerProcess["role"], number>> = {};
  const memory: Partial<Record<ServerProcess["role"], number>> = {};
  for (const use of rounds.flatMap(({ processes }) => processes)) {
    cpu[use.role] = (cpu[use.role] ?? 0) + (1000 * use.cpu) / answers;
    memory[use.role] = Math.max(memory[use.role] ?? 0, use.memory / MEBIBYTE);
  }
  return { cpu, memory };
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
