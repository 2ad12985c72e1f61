// Settings -> a running gateway that can be stopped cleanly.
import { refuseMalformed } from "@portico/shared/refuse-malformed";
import type { Service } from "@portico/shared/run-service";
import { listen } from "@portico/shared/server";
import { makeApp } from "./app.js";
import type { Config } from "./config.js";
import { makeDeps } from "./deps.js";

/** @throws ConfigError when the port is taken */
export async function startGateway(config: Config): Promise<Service> {
  let stopping = false;
  const deps = await makeDeps(config);
  const app = makeApp(config, deps, () => stopping);
  const { url, server, stop } = await listen(
    app,
    { host: config.host, port: config.port, portVariable: "PORT" },
    // Ours to refuse, with the error body: Node would answer without one.
    { requireHostHeader: false },
  );
  refuseMalformed(server);
  if (config.developmentProvider) {
    deps.logger.warn("development sign-in provider is on: any identity, no password, on this machine only");
  }
  deps.logger.info({ url, appUrl: config.appUrl }, "gateway is listening");
  return {
    url,
    async stop() {
      stopping = true;
      deps.forward.endStreams();
      await stop();
      deps.forward.close();
    },
  };
}
