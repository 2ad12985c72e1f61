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
  if (!production || new URL(address).protocol !== "http:" || isLoopback(address)) return;
  reader.problem(`${name} must be https when NODE_ENV is production, not "${address}".`);
}
