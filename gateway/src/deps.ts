// Settings -> everything that the routes work with: all adapters are made here.
import { join } from "node:path";
import { makeAssertions } from "@portico/shared/assertion";
import { type Clock, systemClock } from "@portico/shared/clock";
import { keepSecret, SERVICE_SECRET } from "@portico/shared/kept-secret";
import { type Logger, makeLogger } from "@portico/shared/logger";
import { makeRegistry, type Registry } from "@portico/shared/metrics";
import { ProvedClients } from "@portico/shared/proved-clients";
import { type Config, pageOriginsOf } from "./config.js";
import { developmentFetch } from "./oauth/development/answers.js";
import { type DevelopmentCodes, makeDevelopmentCodes } from "./oauth/development/code.js";
import { developmentProviders } from "./oauth/development/provider.js";
import { makeOAuthSettings, type OAuthSettings } from "./oauth/oauth-settings.js";
import { type Forward, makeForward } from "./proxy/forward.js";
import { type FindFile, keepRecentFiles } from "./proxy/recent-files.js";
import { type Borrow, type Refresh, shareCalls } from "./session/share-calls.js";
import { makeSupersededTokens, type SupersededTokens } from "./session/superseded-tokens.js";
import { type AuthClient, makeAuthClient } from "./upstream/auth-client.js";
import { type IdentityClient, makeIdentityClient } from "./upstream/identity-client.js";
import { makeWatchCall, watchedFetch } from "./upstream/watch-call.js";

export interface Deps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly authClient: AuthClient;
  readonly refresh: Refresh;
  readonly borrow: Borrow;
  readonly supersededTokens: SupersededTokens;
  readonly provedClients: ProvedClients;
  readonly forward: Forward;
  readonly findFile: FindFile;
  readonly identityClient: IdentityClient;
  readonly oauth: OAuthSettings;
  /** Undefined where metrics are off. */
  readonly metrics: Registry | undefined;
  /** Undefined where the development provider is off. */
  readonly developmentCodes: DevelopmentCodes | undefined;
}

/** @throws ConfigError when no SERVICE_SECRET is given and none can be kept */
export async function makeDeps(config: Config): Promise<Deps> {
  const { dataServiceUrl, limits, logLevel } = config;
  const serviceSecret =
    config.serviceSecret ?? (await keepSecret(join(config.dataDir, "secrets"), SERVICE_SECRET));
  const metrics = config.metricsPort === undefined && !config.showsMetrics ? undefined : makeRegistry();
  const watch = makeWatchCall(metrics);
  const calls = {
    dataServiceUrl,
    pageOrigins: pageOriginsOf(config),
    timeoutMs: limits.authTimeoutMs,
    fetch: watchedFetch(watch),
  };
  const authClient = makeAuthClient({ ...calls, readyTimeoutMs: limits.readyTimeoutMs });
  const provedClients = new ProvedClients();
  const assertions = makeAssertions(serviceSecret);
  const identityClient = makeIdentityClient({ ...calls, clock: systemClock, assertions });
  return {
    clock: systemClock,
    logger: makeLogger("gateway", logLevel),
    metrics,
    authClient,
    refresh: shareCalls(authClient.refresh),
    borrow: shareCalls(identityClient.borrowAccessToken),
    supersededTokens: makeSupersededTokens(),
    provedClients,
    forward: makeForward({ dataServiceUrl, limits, watch, provedClients }),
    findFile: keepRecentFiles(),
    identityClient,
    ...makeOAuth(config, serviceSecret),
  };
}

function makeOAuth(
  { appUrl, providers, developmentProvider, limits }: Config,
  serviceSecret: string,
): Pick<Deps, "oauth" | "developmentCodes"> {
  const { providerTimeoutMs } = limits;
  if (!developmentProvider) {
    const oauth = makeOAuthSettings(appUrl, providers, fetch, providerTimeoutMs);
    return { oauth, developmentCodes: undefined };
  }
  const codes = makeDevelopmentCodes(serviceSecret);
  const ask = developmentFetch(codes, systemClock);
  const oauth = makeOAuthSettings(appUrl, developmentProviders(appUrl), ask, providerTimeoutMs);
  return { oauth, developmentCodes: codes };
}
