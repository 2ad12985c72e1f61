// Which addresses may be reached over plain http: those of this machine and, outside production, all.
import type { EnvReader } from "@portico/shared/env";

const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Whether the address is one of this machine. */
export function isLoopback(address: string): boolean {
  return LOOPBACK.test(new URL(address).hostname);
}

/**
 * Notes a problem with an address where others could read what is sent, including session cookies and providers' secrets.
 * @param name of the setting
 */
export function requireSecure(reader: EnvReader, name: string, address: string, production: boolean): void {
  if (!production || !isHttp(address) || isLoopback(address)) return;
  reader.problem(`${name} must be https when NODE_ENV is production, not "${address}".`);
}

/**
 * Like `requireSecure`, for an origin whose pages may have sessions. Beside an app on https not even one of this machine may
 * be on http: its sessions are in cookies without `__Host-`, and those a sibling domain can plant in the app's pages
 * (security row C10).
 */
export function requireSecureOrigin(
  reader: EnvReader,
  name: string,
  origin: string,
  { appUrl, production }: { readonly appUrl: string; readonly production: boolean },
): void {
  const isLess = production && isHttp(origin) && !isHttp(appUrl);
  if (isLess)
    reader.problem(
      `${name} must be https when NODE_ENV is production and APP_URL is https, not "${origin}".`,
    );
  else requireSecure(reader, name, origin, production);
}

function isHttp(address: string): boolean {
  return new URL(address).protocol === "http:";
}
