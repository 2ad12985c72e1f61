// Settings -> a running data service that can be stopped cleanly.
import { tellLauncher } from "@portico/shared/launcher-messages";
import { loggedError } from "@portico/shared/logged-error";
import { type Logger, makeLogger } from "@portico/shared/logger";
import type { Service } from "@portico/shared/run-service";
import {
  listen,
  MOST_FORWARDED_HEAD_BYTES,
  type RunningServer,
  STOP_TIMEOUT_MS,
} from "@portico/shared/server";
import { startTracing } from "@portico/shared/tracing";
import { makeApp } from "./app.js";
import { type Config, isEmbedded } from "./config.js";
import { type Deps, makeDeps } from "./deps.js";
import { repairJournal } from "./journal/repair.js";
import { whenReached } from "./mongo/await-server.js";
import { tellingFullDisk } from "./mongo/driver-errors.js";
import type { OpenAddress } from "./mongo/open-address.js";
import { describeStore } from "./mongo/store-address.js";
import { prepare } from "./prepare.js";
import { repairCounts } from "./records/derived/repair-counts.js";
import { startSearchFiller } from "./records/derived/search-filler.js";
import { lookAfterDeletes } from "./records/whole/look-after-deletes.js";
import { repairUnfinished } from "./records/whole/repair-unfinished.js";
import { finishInterrupted } from "./schema/create-table.js";
import { isDead, type Noted } from "./schema/dead-instances.js";
import { removeHalfMade } from "./schema/make-table.js";
import { within } from "./within.js";

/** How long to wait for a database that can't be reached: services may be started in any order. */
const DATABASE_PATIENCE_MS = 60_000;

/**
 * A database that goes away while the service starts is waited for as one that was not there: the start is begun anew, as it
 * would be after one that was killed.
 * @param opening the database of the settings; closed with the service
 * @throws ConfigError when the database can't be had, or a port is taken
 */
export async function startDataService(config: Config, opening: Promise<OpenAddress>): Promise<Service> {
  const { otlpEndpoint } = config;
  const logger = makeLogger("data-service", config.logLevel);
  // Once for all attempts: the SDK can't be started a second time in a process.
  const tracing =
    otlpEndpoint === undefined ? undefined : await startTracing("data-service", otlpEndpoint, logger);
  try {
    const service = await startPatiently(config, opening, logger);
    const { url } = service;
    return { url, stop: () => service.stop().then(() => tracing?.stop()) };
  } catch (error) {
    await tracing?.stop();
    throw error;
  }
}

function startPatiently(config: Config, opening: Promise<OpenAddress>, logger: Logger): Promise<Service> {
  let failedAt: number | undefined;
  const attempt = async (): Promise<Service> => {
    const waited = failedAt === undefined ? 0 : performance.now() - failedAt;
    return start(config, opening, Math.max(0, DATABASE_PATIENCE_MS - waited)).catch((error: unknown) => {
      failedAt ??= performance.now();
      throw error;
    });
  };
  const tell = (problem: string): void => logger.warn(`the database has gone away: ${problem}`);
  // The embedded engine does not come back.
  const patience = isEmbedded(config) ? undefined : { ms: DATABASE_PATIENCE_MS, tell };
  return whenReached(attempt, patience, (error) => loggedError(error).message);
}

async function start(config: Config, opening: Promise<OpenAddress>, patienceMs: number): Promise<Service> {
  const deps = await makeDeps(config, opening, patienceMs);
  const health = { stopping: false };
  const { server, stopSweeping } = await begin(deps, health).catch(async (error: unknown) => {
    await letGo(deps, () => STOP_TIMEOUT_MS);
    throw error;
  });
  const filler = startSearchFiller({ ...deps.records, logger: deps.logger });
  deps.logger.info({ url: server.url }, "data service is ready");
  const repairs = repairAfterOthers(deps);
  return {
    url: server.url,
    async stop() {
      health.stopping = true;
      const began = performance.now();
      for (const each of repairs) clearInterval(each);
      deps.records.streams.stop();
      stopSweeping();
      await Promise.all([server.stop(), filler.stop()]);
      // Requests whose client has left get no more time than the others.
      const left = (): number => STOP_TIMEOUT_MS - (performance.now() - began);
      await deps.records.gate.close(left());
      await letGo(deps, left);
    },
  };
}

interface Begun {
  readonly server: RunningServer;
  readonly stopSweeping: () => void;
}

async function begin(deps: Deps, health: { stopping: boolean }): Promise<Begun> {
  const where = describeStore(deps.config);
  const stopSweeping = await tellingFullDisk(where, () => prepare(deps, announce));
  tellLauncher({ type: "store", description: where });
  try {
    return { server: await serve(deps, health), stopSweeping };
  } catch (error) {
    stopSweeping();
    throw error;
  }
}

/** Ends what is done beside requests before the database goes that it works on. @param left how long it may still take */
async function letGo({ auth, files, records, store }: Deps, left: () => number): Promise<void> {
  await within(left(), auth.outcomes.stop());
  await files.contents.stop(left());
  await records.presence.stop(left());
  await store.close();
}

async function serve(deps: Deps, health: { stopping: boolean }): Promise<RunningServer> {
  const { host, port } = deps.config;
  const where = { host, port, portVariable: "DATA_SERVICE_PORT" };
  return listen(makeApp(deps, health), where, { maxHeaderSize: MOST_FORWARDED_HEAD_BYTES });
}

/** Among several instances, each completes what one that died has left. */
function repairAfterOthers({ config, records, logger }: Deps): readonly NodeJS.Timeout[] {
  // Repairing a number that others keep changing takes a while, and two repairs at once would only get in each other's way.
  const repeat = (problem: string, repair: () => Promise<void>): NodeJS.Timeout => {
    const alone = oneAtATime(repair);
    const turn = (): void => void alone().catch((err: unknown) => logger.warn({ err }, problem));
    return setInterval(turn, config.repairEveryMs).unref();
  };
  const { clock, instances, presence } = records;
  const onlooker = { clock, instances, own: presence.id, alone: false };
  // Its own makings take as long as they take. Those of an earlier version, which did not note whose they were, wait for a
  // start.
  const isLeft = async (maker: Noted): Promise<boolean> =>
    !["", presence.id].includes(maker.instance) && (await isDead(onlooker, maker));
  return [
    repeat("tables whose making was interrupted were not finished", async () => {
      await finishInterrupted(records, isLeft);
      await removeHalfMade(records, isLeft);
    }),
    repeat("counts were not repaired", () => repairCounts(records, { alone: false })),
    repeat("the journal was not repaired", () => repairJournal(records, { alone: false })),
    repeat("interrupted writes were not taken back", () =>
      repairUnfinished(records, { alone: isEmbedded(config) }),
    ),
    repeat("links to what was deleted were not looked for", () =>
      lookAfterDeletes(records, { alone: isEmbedded(config) }),
    ),
  ];
}

/** Does nothing while the last run is still going. */
function oneAtATime(act: () => Promise<void>): () => Promise<void> {
  let isActing = false;
  return async () => {
    if (isActing) return;
    isActing = true;
    await act().finally(() => {
      isActing = false;
    });
  };
}

function announce({ email, password }: { readonly email: string; readonly password: string }): void {
  tellLauncher(
    { type: "first-admin", email, password },
    `Root admin: ${email}, password, shown this once: ${password}`,
  );
}
