// Starts the data service process.
import { tellLauncher } from "@portico/shared/launcher-messages";
import { refuseMalformed } from "@portico/shared/refuse-malformed";
import { runService, type Service } from "@portico/shared/run-service";
import { listen } from "@portico/shared/server";
import { makeApp } from "./app.js";
import { type Config, readConfig } from "./config.js";
import { makeDeps, prepare } from "./deps.js";

await runService(async (): Promise<Service> => {
  const config = readConfig(process.env);
  const deps = await makeDeps(config);
  const health = { stopping: false };
  const { admin } = await prepare(deps);
  announce(config, admin);
  const where = { host: config.host, port: config.port, portVariable: "DATA_SERVICE_PORT" };
  const server = await listen(makeApp(deps, health), where).catch(async (error: unknown) => {
    await deps.records.presence.stop();
    await deps.store.close();
    throw error;
  });
  refuseMalformed(server.server);
  deps.logger.info({ url: server.url }, "data service is ready");
  return {
    url: server.url,
    async stop() {
      health.stopping = true;
      await server.stop();
      await deps.records.presence.stop();
      await deps.store.close();
    },
  };
});

function announce(config: Config, admin: { email: string; password: string } | undefined): void {
  const embedded = config.mongodbUrl.startsWith("mongodb_embedded:");
  const description = embedded ? `${config.dataDir} (embedded MongoDB)` : "the MongoDB at MONGODB_URL";
  tellLauncher({ type: "store", description });
  if (admin === undefined) return;
  const { email, password } = admin;
  tellLauncher(
    { type: "first-admin", email, password },
    `Root admin: ${email}, one-time password: ${password}`,
  );
}
