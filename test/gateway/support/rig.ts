// A gateway in front of a stand-in data service, and a small client for it.
import { type Config, readConfig } from "@portico/gateway/config";
import { startGateway } from "@portico/gateway/start-gateway";
import { startUpstream, type Upstream } from "./upstream.js";

export const APP_URL = "http://localhost:3000";
export const OTHER_ORIGIN = "https://chat.example.com";

export interface Rig {
  readonly url: string;
  readonly upstream: Upstream;
  /** Calls the gateway; redirects are not followed. */
  call(path: string, init?: RequestInit & { duplex?: "half" }): Promise<Response>;
  stop(): Promise<void>;
}

type Settings = Readonly<Record<string, string>>;

/** Starts both on free ports. */
export async function startRig(
  settings: Settings = {},
  limits: Partial<Config["limits"]> = {},
): Promise<Rig> {
  const upstream = await startUpstream();
  const config = readConfig({
    APP_URL,
    PORT: "0",
    DATA_SERVICE_URL: upstream.url,
    ALLOWED_ORIGINS: OTHER_ORIGIN,
    LOG_LEVEL: "silent",
    BODY_MAX_BYTES: "65536",
    OAUTH_DEV_PROVIDER: "off",
    SERVICE_SECRET: "the service secret of the gateway tests",
    ...settings,
  });
  const gateway = await startGateway({ ...config, limits: { ...config.limits, ...limits } });
  return {
    url: gateway.url,
    upstream,
    call: (path, init = {}) => fetch(gateway.url + path, { redirect: "manual", ...init }),
    async stop() {
      await gateway.stop();
      await upstream.close();
    },
  };
}

/** The error body, as far as tests look at it. */
export interface ErrorAnswer {
  readonly success: boolean;
  readonly statusCode: number;
  readonly message: string | readonly string[];
  readonly error: Readonly<Record<string, string>> & { readonly details?: unknown };
}

/** Reads an error body and checks that it is one. */
export async function readError(response: Response): Promise<ErrorAnswer> {
  const body = (await response.json()) as ErrorAnswer;
  if (body.success !== false || body.statusCode !== response.status) {
    throw new Error(`not an error body: ${JSON.stringify(body)}`);
  }
  return body;
}

/** What the stand-in data service echoed. */
export interface Echo {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export async function readEcho(response: Response): Promise<Echo> {
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  return (await response.json()) as Echo;
}

/** A Cookie header from names and values. */
export function cookies(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join("; ");
}
