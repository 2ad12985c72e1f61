// Which API paths the gateway treats in a special way. Pure; one row a rule.
import { isSafe } from "@portico/shared/methods";
import type { RouteKind } from "../http/media-type.js";

/** Method and checked path of an API call, without `/api`. */
export interface ApiCall {
  readonly method: string;
  /** `/auth/login`; canonical spelling, no trailing slash. */
  readonly path: string;
}

/** Served by both services for their operators, never to clients (contract, section 8). */
const CLOSED = new Set(["/healthz", "/readyz", "/metrics"]);

const LOG_IN = "/auth/login";
const REFRESH = "/auth/refresh-token";

/** Calls that ignore the Authorization header, and cookies with it (contract, section 3.2). */
const WITHOUT_SESSION = new Set([LOG_IN, REFRESH]);

/** Its body names the session to end. The session of the cookies, which would stay, must not end with it. */
const WITHOUT_COOKIES = new Set(["/auth/logout"]);

/** The gateway's own calls; no client's call may turn into one. */
const INTERNAL = /^\/internal(\/|$)/;

export function isClosed({ path }: ApiCall): boolean {
  return CLOSED.has(path) || INTERNAL.test(path);
}

export function ignoresSession({ path }: ApiCall): boolean {
  return WITHOUT_SESSION.has(path);
}

export function ignoresCookies({ path }: ApiCall): boolean {
  return WITHOUT_COOKIES.has(path);
}

/** It makes a session, so the data service must be told for which page. */
export function isLogIn({ path }: ApiCall): boolean {
  return path === LOG_IN;
}

/** Its body names the session, so the data service must be told which origins' sessions count here. */
export function isRefresh({ path }: ApiCall): boolean {
  return path === REFRESH;
}

export function isUnsafe({ method }: ApiCall): boolean {
  return !isSafe(method);
}

/** `POST /{table}/import` takes files of records (contract, section 5). */
function isImport({ method, path }: ApiCall): boolean {
  return method === "POST" && /^\/[^/]+\/import$/.test(path);
}

/** `POST /svc_file` and `PATCH /svc_file/{id}` take files as multipart (contract, section 9). */
export function isUpload({ method, path }: ApiCall, systemTablePrefix: string): boolean {
  const [, table, id, ...rest] = path.split("/");
  if (table !== `${systemTablePrefix}file` || rest.length > 0) return false;
  return id === undefined ? method === "POST" : method === "PATCH";
}

/** What the call's route takes beside JSON. */
export function routeKind(call: ApiCall, systemTablePrefix: string): RouteKind {
  if (isUpload(call, systemTablePrefix)) return "upload";
  return isImport(call) ? "import" : "json";
}
