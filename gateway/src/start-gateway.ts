// Settings -> a running gateway that can be stopped cleanly.
import type { Service } from "@portico/shared/run-service";
import { listen, type RunningServer } from "@portico/shared/server";
import { startTracing } from "@portico/shared/tracing";
import { makeApp, makeMetricsApp } from "./app.js";
import type { Config } from "./config.js";
import { type Deps, makeDeps } from "./deps.js";
import { isLoopback } from "./secure-address.js";

/** @throws ConfigError when a port is taken */
export async function startGateway(config: Config): Promise<Service> {
  let stopping = false;
  const { otlpEndpoint } = config;
  const deps = await makeDeps(config);
  const tracing =
    otlpEndpoint === undefined ? undefined : await startTracing("gateway", otlpEndpoint, deps.logger);
  const app = makeApp(config, deps, () => stopping);
  const metrics = await listenForMetrics(config, deps);
  const { url, stop } = await listen(
    app,
    {
      host: config.host,
      port: config.port,
      portVariable: "PORT",
      beside: { METRICS_PORT: config.metricsPort, DATA_SERVICE_PORT: dataServicePort(config) },
    },
    { bodyTimeouts: config.limits.bodyTimeouts },
  ).catch(async (error: unknown) => {
    await metrics?.stop();
    throw error;
  });
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
      await Promise.all([metrics?.stop(), tracing?.stop()]);
    },
  };
}

/** A separate port: the public one must never show metrics, whatever is in front of it. */
async function listenForMetrics(config: Config, deps: Deps): Promise<RunningServer | undefined> {
  if (config.metricsPort === undefined || deps.metrics === undefined) return undefined;
  const server = await listen(makeMetricsApp(deps.metrics, deps.logger), {
    host: config.metricsHost,
    port: config.metricsPort,
    portVariable: "METRICS_PORT",
    beside: { DATA_SERVICE_PORT: dataServicePort(config) },
  });
  deps.logger.info({ metricsUrl: `${server.url}/metrics` }, "metrics are shown");
  return server;
}

/** Undefined for a data service on another machine. */
function dataServicePort({ dataServiceUrl }: Config): number | undefined {
  return isLoopback(dataServiceUrl) ? Number(new URL(dataServiceUrl).port) : undefined;
}
