// Several gateways and several data services on one database, behind one public address.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.js";
import { ADMIN, dropDatabase, freshDatabase, inTurn, type RunningService, startService } from "./stack.js";

export interface ClusterOptions {
  readonly gateways?: number;
  readonly dataServices?: number;
  /** Settings of all services, over the defaults of the tests. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface Cluster {
  /** The public address, which is that of the first gateway. */
  readonly appUrl: string;
  readonly gateways: readonly RunningService[];
  readonly dataServices: readonly RunningService[];
  readonly mongodbUrl: string;
  readonly admin: typeof ADMIN;
  stop(): Promise<void>;
}

/** Each gateway has a data service of its own, as far as there are enough. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { gateways = 2, dataServices = 2 } = options;
  const dataDir = await mkdtemp(join(tmpdir(), "portico-cluster-"));
  const mongodbUrl = freshDatabase();
  const appPort = await freePort();
  const env = {
    APP_URL: `http://localhost:${appPort}`,
    DATA_DIR: dataDir,
    MONGODB_URL: mongodbUrl,
    ADMIN_EMAIL: ADMIN.email,
    ADMIN_PASSWORD: ADMIN.password,
    DEMO: "off",
    NODE_ENV: "test",
    LOG_LEVEL: "info",
    MAX_WAIT_MS: "0",
    ...options.env,
  };
  const running: RunningService[] = [];
  const start = async (module: string, more: Readonly<Record<string, string>>): Promise<RunningService> => {
    const service = await startService(module, { ...env, ...more });
    running.push(service);
    return service;
  };
  const data: RunningService[] = [];
  for (let at = 0; at < dataServices; at += 1) {
    data.push(await start("@portico/data-service/main", { DATA_SERVICE_PORT: "0" }));
  }
  const doors: RunningService[] = [];
  for (let at = 0; at < gateways; at += 1) {
    const PORT = at === 0 ? String(appPort) : "0";
    doors.push(
      await start("@portico/gateway/main", { PORT, DATA_SERVICE_URL: data[at % data.length]?.url ?? "" }),
    );
  }
  return {
    appUrl: env.APP_URL,
    gateways: doors,
    dataServices: data,
    mongodbUrl,
    admin: ADMIN,
    stop: () =>
      inTurn(
        ...running.toReversed().map((service) => () => service.stop()),
        () => dropDatabase(mongodbUrl),
        () => rm(dataDir, { recursive: true, force: true }),
      ),
  };
}
