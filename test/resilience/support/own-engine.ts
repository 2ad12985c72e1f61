// An engine of a test's own, behind a proxy: it can be slow, frozen, killed and started again at the same address.
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EngineProcess, startEngine, stopEngine } from "../../support/engine-of-run.js";
import { threadStates } from "../../support/process-facts.js";
import { until } from "../../support/wait.js";
import { startToxicProxy, type ToxicProxy } from "./toxic-proxy.js";

const STOPPED_WITHIN_MS = 10_000;

export interface OwnEngine {
  /** An address of a database on it, through the proxy. */
  readonly mongodbUrl: string;
  readonly proxy: ToxicProxy;
  /** `SIGSTOP`. Resolves when it stands still: on a busy machine its threads go on for a moment. */
  freeze(): Promise<void>;
  /** `SIGCONT`. */
  thaw(): void;
  /** `kill -9`, then the same folder again. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

/** @param port of its proxy; else any that is free */
export async function startOwnEngine(port?: number): Promise<OwnEngine> {
  const directory = await mkdtemp(join(tmpdir(), "portico-engine-"));
  const data = join(directory, "mongodb");
  let engine = await startEngine(data);
  const proxy = await startToxicProxy(() => ({ path: socketOf(engine) }), port);
  return {
    mongodbUrl: `mongodb://127.0.0.1:${proxy.port}/portico?directConnection=true`,
    proxy,
    async freeze() {
      engine.process.kill("SIGSTOP");
      const { pid = 0 } = engine.process;
      await until(
        () => threadStates(pid),
        (states) => states.every((state) => state === "T"),
        STOPPED_WITHIN_MS,
      );
    },
    thaw: () => void engine.process.kill("SIGCONT"),
    async crash() {
      const ended = once(engine.process, "exit");
      engine.process.kill("SIGKILL");
      await ended;
      engine = await startEngine(data);
    },
    async stop() {
      await proxy.close();
      await stopEngine(engine);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function socketOf({ uri }: EngineProcess): string {
  const [, socket = ""] = /^mongodb:\/\/([^/]+)\//.exec(uri) ?? [];
  return decodeURIComponent(socket);
}
