// What a running process holds and says: memory, open files and sockets (from /proc, so on Linux alone), and its log.
import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { until } from "./wait.js";

/** @throws when it could not be started */
export function pidOf({ pid }: ChildProcess): number {
  if (pid === undefined) throw new Error("a process has no id");
  return pid;
}

/** Resident memory in bytes. */
export async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN) * 1024;
}

/** Open files and sockets. */
export async function openHandles(pid: number): Promise<number> {
  return (await readdir(`/proc/${pid}/fd`)).length;
}

/** What each thread does: `R` runs, `S` sleeps, `T` is stopped (proc(5)). */
export async function threadStates(pid: number): Promise<string[]> {
  const threads = await readdir(`/proc/${pid}/task`);
  const stats = await Promise.all(
    // One that has just ended has no state.
    threads.map((id) => readFile(`/proc/${pid}/task/${id}/stat`, "utf8").catch(() => "")),
  );
  return stats.flatMap((stat) => /\) (\w)/.exec(stat)?.[1] ?? []);
}

const LOGGED_WITHIN_MS = 10_000;

/** Waits for words in a service's log: they come by a pipe, some moments after what they tell of. */
export async function untilLogged(service: { log(): string }, words: RegExp): Promise<string> {
  return until(
    async () => service.log(),
    (log) => words.test(log),
    LOGGED_WITHIN_MS,
  );
}

/**
 * What both services of a system have logged, the lines of everything included that they have answered by now: those are here
 * once the line of a later request is.
 */
export async function loggedByNow({
  gateway,
  dataService,
}: {
  readonly gateway: { readonly url: string; log(): string };
  readonly dataService: { log(): string };
}): Promise<string> {
  const id = `later-${randomUUID()}`;
  const later = await fetch(`${gateway.url}/api/.well-known/jwks.json`, {
    headers: { "X-Correlation-ID": id },
  });
  await later.arrayBuffer();
  const logs = [gateway, dataService].map((service) => untilLogged(service, new RegExp(id)));
  return (await Promise.all(logs)).join("");
}

/** How many bytes the two ends of a connection may hold, sent and not read yet: as many as the system lets their buffers grow to. */
export function mostInSocket(): number {
  const read = (name: string, otherwise: number): number => {
    try {
      return Number(readFileSync(`/proc/sys/net/ipv4/${name}`, "utf8").trim().split(/\s+/).at(-1));
    } catch {
      return otherwise;
    }
  };
  return read("tcp_rmem", 6 * 1024 * 1024) + read("tcp_wmem", 4 * 1024 * 1024);
}

/** How many bytes the two ends of this host's connections with a port hold, sent and not read yet (proc_net_tcp(5)). */
export async function bytesInSockets(port: number): Promise<number> {
  const end = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const lines = (await readFile("/proc/net/tcp", "utf8")).split("\n").map((line) => line.trim().split(/\s+/));
  const queues = lines.flatMap(([, local, remote, , queued = ""]) =>
    local?.endsWith(end) || remote?.endsWith(end) ? queued.split(":") : [],
  );
  return queues.reduce((sum, bytes) => sum + Number.parseInt(bytes, 16), 0);
}
