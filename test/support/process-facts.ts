// What a running process holds: memory, open files and sockets. Read from /proc, so on Linux alone.
import { readdir, readFile } from "node:fs/promises";

/** Resident memory in bytes. */
export async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN) * 1024;
}

/** Open files and sockets. */
export async function openHandles(pid: number): Promise<number> {
  return (await readdir(`/proc/${pid}/fd`)).length;
}

/** Waits until something holds. @throws what was seen last, when it does not hold in time */
export async function until<Seen>(
  look: () => Promise<Seen>,
  holds: (seen: Seen) => boolean,
  withinMs: number,
): Promise<Seen> {
  const began = performance.now();
  for (;;) {
    const seen = await look();
    if (holds(seen)) return seen;
    if (performance.now() - began > withinMs)
      throw new Error(`after ${withinMs} ms: ${JSON.stringify(seen)}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
