// An engine of a test's own, behind a proxy: it can be slow, frozen, killed and started again at the same address.
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EngineProcess, startEngine, stopEngine } from "../../support/engine-of-run.js";
import { startToxicProxy, type ToxicProxy } from "./toxic-proxy.js";

export interface OwnEngine {
  /** An address of a database on it, through the proxy. */
  readonly mongodbUrl: string;
  readonly proxy: ToxicProxy;
  signal(signal: NodeJS.Signals): void;
  /** `kill -9`, then the same folder again. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

export async function startOwnEngine(): Promise<OwnEngine> {
  const directory = await mkdtemp(join(tmpdir(), "portico-engine-"));
  const data = join(directory, "mongodb");
  let engine = await startEngine(data);
  const proxy = await startToxicProxy(() => ({ path: socketOf(engine) }));
  return {
    mongodbUrl: `mongodb://127.0.0.1:${proxy.port}/portico?directConnection=true`,
    proxy,
    signal: (signal) => void engine.process.kill(signal),
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
