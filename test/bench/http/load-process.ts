// A process of its own that puts load on one address: so many connections, each with one request at a time.
import { Client } from "undici";
import { type Answer, type Ask, CHECKS, type Context, type Dialect } from "./dialect.js";
import { DIALECTS, type TargetName } from "./dialects/index.js";
import { questionOf, type WorkloadName } from "./workloads.js";

export interface Job {
  readonly target: TargetName;
  readonly workload: WorkloadName;
  readonly connections: number;
  readonly url: string;
  readonly context: Context;
  readonly warmUpMs: number;
  /** Of measuring; a slow server gets more, until every connection has had an answer. */
  readonly milliseconds: number;
}

export type LoadMessage =
  | { readonly type: "measuring" }
  | { readonly type: "measured"; readonly load: Load }
  /** No request is under way any more. */
  | { readonly type: "idle" };

export interface Load {
  /** Milliseconds of each good answer that ended while it was measured. */
  readonly times: readonly number[];
  /** Other answers, by status or reason. */
  readonly errors: Readonly<Record<string, number>>;
  readonly seconds: number;
  /** Seconds of CPU that this process took. */
  readonly ownCpu: number;
}

/** A server so slow gets no more time than this many times the usual. */
const LONGEST = 5;
/** Less than what lets V8 begin a full collection. */
const COLLECT_BYTES = 8 * 1024 * 1024;
const NO_BODY: Answer = { headers: {}, bytes: Buffer.alloc(0) };

/** Questions go on where the last job on the target ended, so that none is asked twice. */
const turns = new Map<TargetName, number>();
/** Refresh tokens of each target; the one that waits longest comes next. */
const sessions = new Map<TargetName, string[]>();

process.on("message", (job: Job) => {
  run(job).then(
    () => tell({ type: "idle" }),
    (error: unknown) => {
      throw error;
    },
  );
});

function tell(message: LoadMessage): void {
  process.send?.(message);
}

async function run(job: Job): Promise<void> {
  const clients = Array.from({ length: job.connections }, () => new Client(job.url, { pipelining: 1 }));
  const state = { measuring: false, done: false };
  const times: number[] = [];
  const errors: Record<string, number> = {};
  const note = ({ status, ms }: Outcome): void => {
    if (!state.measuring) return;
    if (status === "200" || status === "201") times.push(ms);
    else errors[status] = (errors[status] ?? 0) + 1;
  };
  const loops = clients.map(async (client, connection) => {
    while (!state.done) note(await one(client, job, connection));
  });
  await pause(job.warmUpMs);
  tell({ type: "measuring" });
  state.measuring = true;
  const [began, cpu] = [performance.now(), process.cpuUsage()];
  await pause(job.milliseconds);
  const answered = (): number => times.length + Object.values(errors).reduce((sum, count) => sum + count, 0);
  while (answered() < job.connections && performance.now() - began < job.milliseconds * LONGEST)
    await pause(10);
  state.measuring = false;
  state.done = true;
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  tell({ type: "measured", load: { times: [...times], errors, seconds, ownCpu: (user + system) / 1e6 } });
  await Promise.all(loops);
  await Promise.all(clients.map((client) => client.close()));
}

interface Outcome {
  readonly status: string;
  readonly ms: number;
}

async function one(client: Client, { target, workload, context }: Job, connection: number): Promise<Outcome> {
  const dialect: Dialect = DIALECTS[target];
  const turn = (turns.get(target) ?? firstTurn()) + 1;
  turns.set(target, turn);
  const pool = sessionsOf(target, context);
  const session = workload === "refresh" ? (pool.shift() ?? "") : "";
  const ask = dialect.ask(workload, questionOf(turn, connection, context.posts), context, session);
  const began = performance.now();
  const { status, answer } = await send(client, ask, context, workload === "refresh");
  const ms = performance.now() - began;
  if (workload === "refresh")
    pool.push(status === "200" ? (dialect.nextSession?.(answer) ?? session) : session);
  return { status, ms };
}

/** Somewhere else in each run, so that writes that were kept are not made again. */
function firstTurn(): number {
  return Math.floor(Math.random() * 1e6) * 1000;
}

function sessionsOf(target: TargetName, context: Context): string[] {
  const pool = sessions.get(target) ?? context.sessions.slice(0, -CHECKS);
  sessions.set(target, pool);
  return pool;
}

interface Sent {
  readonly status: string;
  readonly answer: Answer;
}

/** Sends a request and reads the answer to its end. @param keep whether its bytes are wanted */
function send(client: Client, ask: Ask, context: Context, keep: boolean): Promise<Sent> {
  const body = ask.body === undefined ? undefined : JSON.stringify(ask.body);
  const headers = {
    ...context.always,
    ...(ask.signedIn === false ? {} : context.headers),
    ...(body === undefined ? {} : { "content-type": "application/json" }),
  };
  return new Promise((resolve) => {
    let status = 0;
    const chunks: Buffer[] = [];
    client.dispatch(
      { path: ask.path, method: ask.method, headers, body: body ?? null },
      {
        // Its presence tells which kind of handler this is.
        onRequestStart() {},
        onResponseStart(_, code) {
          status = code;
        },
        onResponseData(_, chunk) {
          throwAway(chunk.length);
          if (keep) chunks.push(chunk);
        },
        onResponseEnd() {
          resolve({
            status: String(status),
            answer: keep ? { headers: {}, bytes: Buffer.concat(chunks) } : NO_BODY,
          });
        },
        onResponseError(_, error) {
          resolve({ status: "code" in error ? String(error.code) : error.message, answer: NO_BODY });
        },
      },
    );
  });
}

/** Bytes of answers that were read since the last collection. */
let thrownAway = 0;

/**
 * Without it V8 collects the bytes of large answers in full collections, each of which stops this process for ten
 * milliseconds: they would be measured as the server's.
 */
function throwAway(bytes: number): void {
  thrownAway += bytes;
  if (thrownAway < COLLECT_BYTES) return;
  thrownAway = 0;
  globalThis.gc?.({ execution: "sync", type: "minor" });
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
