// Settings -> everything the routes work with. The only file that knows every adapter.
import { type Clock, systemClock } from "@portico/shared/clock";
import { type Logger, makeLogger } from "@portico/shared/logger";
import type { Config } from "./config.js";
import { type Forward, makeForward } from "./proxy/forward.js";
import { type Refresh, refreshOnce } from "./session/refresh-once.js";
import { type AuthClient, makeAuthClient } from "./upstream/auth-client.js";

export interface Deps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly authClient: AuthClient;
  readonly refresh: Refresh;
  readonly forward: Forward;
}

export function makeDeps({ dataServiceUrl, limits, logLevel }: Config): Deps {
  const authClient = makeAuthClient({
    dataServiceUrl,
    timeoutMs: limits.authTimeoutMs,
    readyTimeoutMs: limits.readyTimeoutMs,
  });
  return {
    clock: systemClock,
    logger: makeLogger("gateway", logLevel),
    authClient,
    refresh: refreshOnce(authClient.refresh),
    forward: makeForward({ dataServiceUrl, limits }),
  };
}
