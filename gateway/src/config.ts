// Environment -> frozen Config, or every problem at once. Nothing else in this service reads the environment.
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { type BodyLimits, readBodyLimits } from "@portico/shared/body-limits";
import { EnvReader } from "@portico/shared/env";
import { SERVICE_SECRET_MIN } from "@portico/shared/kept-secret";
import { LINGER_MS } from "@portico/shared/linger";
import { type OverloadLimits, readOverloadLimits } from "@portico/shared/load-shedding";
import { readLogLevel } from "@portico/shared/log-level";
import { BODY_TIMEOUTS, type BodyTimeouts } from "@portico/shared/server";
import { writePageOrigins } from "@portico/shared/session-page";
import { readSystemTablePrefix } from "@portico/shared/system-table-prefix";
import { readOtlpEndpoint } from "@portico/shared/tracing";
import { readTrustProxy, type TrustProxy } from "@portico/shared/trust-proxy";
import { type AnswerLimits, readAnswerLimits } from "@portico/shared/unread-answers";
import { readDevelopmentProvider } from "./oauth/development/provider.js";
import { type Providers, readProviders } from "./oauth/provider-settings.js";
import { isPrefix } from "./oauth/return-target.js";
import { isLoopback, requireSecure, requireSecureOrigin } from "./secure-address.js";

/** The settings of the gateway. Each field names its variable. */
export interface Config extends OverloadLimits, AnswerLimits, BodyLimits {
  /** NODE_ENV is `production`: public addresses must be https. */
  readonly production: boolean;
  /** APP_URL, as an origin: cookie, CSRF and redirect rules follow it. */
  readonly appUrl: string;
  /** PORT; 0 takes any free one. */
  readonly port: number;
  /** HOST */
  readonly host: string;
  /** DATA_SERVICE_URL, as an origin. */
  readonly dataServiceUrl: string;
  /** ALLOWED_ORIGINS, beside the app's own. */
  readonly allowedOrigins: readonly string[];
  /** By origin, where ALLOWED_ORIGINS names one: the only prefix under which the app there proxies the API. */
  readonly bridgePrefixes: ReadonlyMap<string, string>;
  /** STATIC_DIR, absolute; the built-in start page when undefined. */
  readonly staticDir: string | undefined;
  /** DATA_DIR, absolute: only a generated SERVICE_SECRET is kept there. */
  readonly dataDir: string;
  /** SERVICE_SECRET; made and kept in DATA_DIR when undefined. */
  readonly serviceSecret: string | undefined;
  /** GOOGLE_…, FACEBOOK_…, GITHUB_…: those with a client id. */
  readonly providers: Providers;
  /** OAUTH_DEV_PROVIDER: the development provider stands in for all three. */
  readonly developmentProvider: boolean;
  /** OAUTH_REQUIRE_FLOW_COOKIE */
  readonly requireFlowCookie: boolean;
  /** TRUST_PROXY */
  readonly trustProxy: TrustProxy;
  /** SYSTEM_TABLE_PREFIX: the upload routes are named with it. */
  readonly systemTablePrefix: string;
  /** LOG_LEVEL */
  readonly logLevel: string;
  /** METRICS_PORT: where metrics are shown. */
  readonly metricsPort: number | undefined;
  /** Without METRICS_PORT, outside production and for an app on this machine: the public port shows metrics, to it alone. */
  readonly showsMetrics: boolean;
  /** METRICS_HOST */
  readonly metricsHost: string;
  /** OTEL_EXPORTER_OTLP_ENDPOINT: where traces go; nowhere when undefined. */
  readonly otlpEndpoint: string | undefined;
  readonly limits: Limits;
}

/** Whose pages may sign in, write and be returned to, and whose sessions count: the app's own and ALLOWED_ORIGINS. */
export function pageOriginsOf({ appUrl, allowedOrigins }: Config): readonly string[] {
  return [appUrl, ...allowedOrigins];
}

/** Time limits that are no settings; tests shorten them. */
export interface Limits {
  /** A data service on the same network that does not take a connection in this time is down. */
  readonly connectTimeoutMs: number;
  /** From the end of the request to the head of the answer; above QUERY_TIMEOUT_MS, so that its 504 wins. */
  readonly answerTimeoutMs: number;
  /**
   * From the moment that a refresh is asked for to the head of the answer that brings its cookies. Later than 30 s after it, the
   * former refresh token, which the browser sends until then, is taken for a stolen one.
   */
  readonly refreshedAnswerMs: number;
  /** What is left at least, where the former token had been replaced long before: most answers take no longer. */
  readonly leastRefreshedAnswerMs: number;
  /**
   * The same as `answerTimeoutMs` for an upload: a bucket may take a minute over the last part of a file, and another to put the
   * parts together.
   */
  readonly uploadTimeoutMs: number;
  /**
   * The same for an import, whose last records are then still being written; and how long its body may stand still, as it
   * does while the database works through what came before.
   */
  readonly importTimeoutMs: number;
  /** All other bodies must have arrived by then. */
  readonly bodyTimeouts: BodyTimeouts;
  /** A client that still sends its body after it was refused gets this long to read why. */
  readonly lingerMs: number;
  /**
   * For the gateway's own calls. Above the 15 s for which the data service waits until a write is on most members of the replica
   * set, so that its 503 wins.
   */
  readonly authTimeoutMs: number;
  /** For a provider's token and profile together; then the person is sent back with an error. */
  readonly providerTimeoutMs: number;
  /** A readiness probe must not wait long itself. */
  readonly readyTimeoutMs: number;
}

const LIMITS: Limits = Object.freeze({
  connectTimeoutMs: 2_000,
  answerTimeoutMs: 30_000,
  refreshedAnswerMs: 28_000,
  leastRefreshedAnswerMs: 2_000,
  uploadTimeoutMs: 130_000,
  importTimeoutMs: 600_000,
  bodyTimeouts: BODY_TIMEOUTS,
  lingerMs: LINGER_MS,
  authTimeoutMs: 20_000,
  providerTimeoutMs: 10_000,
  readyTimeoutMs: 2_000,
});

/** They go with each sign-in and refresh in one header, beside the client's own: a head has 34 KiB for both. */
const MOST_ORIGINS_BYTES = 24 * 1024;

/**
 * Reads and checks every setting.
 * @throws ConfigError with one line per problem
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const reader = new EnvReader(env);
  const production =
    reader.choice("NODE_ENV", "development", ["development", "test", "production"]) === "production";
  const appUrl = readAppUrl(reader, production);
  const providers = readProviders(reader, production);
  const metricsPort = readMetricsPort(reader);
  const config: Config = {
    production,
    appUrl,
    port: reader.integer("PORT", 3000, { min: 0, max: 65_535 }),
    host: reader.text("HOST", "127.0.0.1"),
    dataServiceUrl: reader.origin("DATA_SERVICE_URL", "http://127.0.0.1:3001"),
    ...readAllowedOrigins(reader, { appUrl, production }),
    staticDir: readStaticDir(reader),
    dataDir: resolve(reader.text("DATA_DIR", "./.data")),
    serviceSecret: readServiceSecret(reader, production),
    providers,
    developmentProvider: readDevelopmentProvider(reader, { production, appUrl, providers }),
    requireFlowCookie: reader.boolean("OAUTH_REQUIRE_FLOW_COOKIE", true),
    trustProxy: readTrustProxy(reader),
    ...readBodyLimits(reader),
    systemTablePrefix: readSystemTablePrefix(reader),
    logLevel: readLogLevel(reader),
    metricsPort,
    showsMetrics: metricsPort === undefined && !production && isLoopback(appUrl),
    metricsHost: reader.text("METRICS_HOST", "127.0.0.1"),
    otlpEndpoint: readOtlpEndpoint(reader),
    ...readOverloadLimits(reader),
    ...readAnswerLimits(reader),
    limits: LIMITS,
  };
  reader.done();
  return Object.freeze(config);
}

function readAppUrl(reader: EnvReader, production: boolean): string {
  const origin = reader.origin("APP_URL", "http://localhost:3000");
  requireSecure(reader, "APP_URL", origin, production);
  return origin;
}

function readServiceSecret(reader: EnvReader, production: boolean): string | undefined {
  const remedy = `at least ${SERVICE_SECRET_MIN} random characters, the same as the data service's`;
  const secret = reader.optional("SERVICE_SECRET");
  if (secret === undefined && production) {
    reader.problem(`SERVICE_SECRET is required when NODE_ENV is production: ${remedy}.`);
  }
  if (secret !== undefined && secret.length < SERVICE_SECRET_MIN) {
    reader.problem(`SERVICE_SECRET must be ${remedy}.`);
  }
  return secret;
}

function readAllowedOrigins(
  reader: EnvReader,
  app: Pick<Config, "appUrl" | "production">,
): Pick<Config, "allowedOrigins" | "bridgePrefixes"> {
  const name = "ALLOWED_ORIGINS";
  const prefixes = new Map<string, string>();
  const entries = reader.origins(name);
  const origins = entries.map(({ origin, path }, at) => {
    if (entries.slice(0, at).some((other) => other.origin === origin && other.path !== path))
      reader.problem(`${name}: ${origin} is named with different prefixes; it can have one.`);
    if (path === undefined) return origin;
    if (isPrefix(path)) prefixes.set(origin, path);
    else reader.problem(`${name}: "${path}" must be one to eight plain path segments, such as /portal.`);
    return origin;
  });
  const allowedOrigins = Object.freeze([...new Set(origins)]);
  for (const origin of allowedOrigins) requireSecureOrigin(reader, name, origin, app);
  const bytes = writePageOrigins(allowedOrigins).length;
  if (bytes > MOST_ORIGINS_BYTES)
    reader.problem(`${name} must be ${MOST_ORIGINS_BYTES} bytes of origins at most, not ${bytes}.`);
  return { allowedOrigins, bridgePrefixes: prefixes };
}

function readStaticDir(reader: EnvReader): string | undefined {
  const given = reader.optional("STATIC_DIR");
  if (given === undefined) return undefined;
  const directory = resolve(given);
  if (!isFile(resolve(directory, "index.html"))) {
    reader.problem(`STATIC_DIR must be a folder with an index.html; there is none in "${directory}".`);
  }
  return directory;
}

/** A path that can't be looked at, below a file for instance, is no file. */
function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function readMetricsPort(reader: EnvReader): number | undefined {
  if (reader.optional("METRICS_PORT") === undefined) return undefined;
  return reader.integer("METRICS_PORT", 0, { min: 0, max: 65_535 });
}
