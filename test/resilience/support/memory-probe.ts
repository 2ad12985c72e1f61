// Loaded into a service with `NODE_OPTIONS=--import=…`: on SIGUSR2 it collects garbage and tells the parent what is left.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

export interface MemoryReport {
  readonly type: "memory";
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
  readonly arrayBuffers: number;
  /** Timers, sockets and the like that are open, by kind. */
  readonly active: Readonly<Record<string, number>>;
}

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

process.on("SIGUSR2", () => {
  collect();
  const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage();
  const active: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) active[kind] = (active[kind] ?? 0) + 1;
  const report: MemoryReport = { type: "memory", rss, heapUsed, external, arrayBuffers, active };
  process.send?.(report);
});
