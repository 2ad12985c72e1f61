// Measurements -> the Markdown table and the JSON of the report. Pure.
import type { Case } from "./cases.js";
import type { Measured } from "./measure.js";

/** Times at the largest size may be this many times those at the smallest. */
export const BAR = 2;

export interface Result {
  readonly case: Pick<Case, "name" | "bar">;
  /** Smallest size first. */
  readonly sizes: readonly Measured[];
}

export interface Line extends Omit<Measured, "times"> {
  readonly case: string;
  readonly repetitions: number;
  readonly medianMs: number;
  readonly p95Ms: number;
  /** Of the median to that of the smallest size. */
  readonly ratio: number;
  /** Undefined where no bar holds. */
  readonly withinBar: boolean | undefined;
}

/** The value below which that part of the values lies; of an even number of values, the lower of the middle two. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] ?? Number.NaN;
}

export function linesOf(results: readonly Result[]): Line[] {
  return results.flatMap(({ case: { name, bar }, sizes }) => {
    const base = quantile(sizes[0]?.times ?? [], 0.5);
    return sizes.map(({ times, ...facts }, at): Line => {
      const medianMs = quantile(times, 0.5);
      const ratio = medianMs / base;
      const judged = bar && at === sizes.length - 1 && at > 0;
      return {
        case: name,
        ...facts,
        repetitions: times.length,
        medianMs,
        p95Ms: quantile(times, 0.95),
        ratio,
        withinBar: judged ? ratio <= BAR : undefined,
      };
    });
  });
}

const HEAD = ["case", "posts", "median ms", "p95 ms", "ratio", "documents", "keys", "returned", "times"];

/** A table for people. */
export function markdownOf(lines: readonly Line[]): string {
  const rows = lines.map((line) => [
    ...[line.case, line.posts.toLocaleString("en"), line.medianMs.toFixed(1), line.p95Ms.toFixed(1)],
    `${line.ratio.toFixed(2)}${line.withinBar === false ? " (over)" : ""}`,
    ...[line.documentsExamined, line.keysExamined, line.returned, line.repetitions].map(String),
  ]);
  const widths = HEAD.map((head, at) => Math.max(head.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const text = (row: readonly string[]): string =>
    `| ${row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join(" | ")} |`;
  const rule = `|${widths.map((width, at) => (at === 0 ? "-".repeat(width + 2) : `${"-".repeat(width + 1)}:`)).join("|")}|`;
  return [text(HEAD), rule, ...rows.map(text)].join("\n");
}
