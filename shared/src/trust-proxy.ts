// TRUST_PROXY: whose word on the client's address is trusted (contract, section 8).
import { isIP } from "node:net";
import type { Express, Request } from "express";
import type { EnvReader } from "./env.js";
import { plainAddress } from "./plain-address.js";

/** Whom `trustProxies` lets name the client: nobody, this many hops, or these addresses. */
export type TrustProxy = false | number | readonly string[];

const PROXY_NAMES = ["loopback", "linklocal", "uniquelocal"];

/** `false`, a number of hops, or a comma-separated list. `true` would believe any client's header: refused. */
export function readTrustProxy(reader: EnvReader): TrustProxy {
  const value = reader.text("TRUST_PROXY", "false");
  if (value === "false") return false;
  if (/^[1-9]$/.test(value)) return Number(value);
  const proxies = value.split(",").map((entry) => entry.trim());
  if (proxies.every((entry) => PROXY_NAMES.includes(entry) || isAddress(entry))) return proxies;
  reader.problem(
    `TRUST_PROXY must be false, a number of proxies from 1 to 9, or addresses such as 10.0.0.0/8,loopback, not "${value}".`,
  );
  return false;
}

/** Makes `request.ip` the client that trusted proxies name, also where they write a proxy before them with its port. */
export function trustProxies(app: Express, given: TrustProxy): void {
  app.set("trust proxy", given);
  if (given === false || typeof given === "number") return;
  // By itself, express trusts no address that has a port.
  const trusts: (address: string, hop: number) => boolean = app.get("trust proxy fn");
  app.set("trust proxy", (address: string | undefined, hop: number) => {
    // The address of a connection that has ended is undefined.
    const plain = address === undefined ? undefined : plainAddress(address);
    return plain !== undefined && trusts(plain, hop);
  });
}

/**
 * The address of a request's client: the peer's, or what a trusted proxy says; never a client's own claim. Undefined where the
 * connection has ended, or the proxy names none.
 */
export function clientAddress({ ip }: Pick<Request, "ip">): string | undefined {
  return ip === undefined ? undefined : plainAddress(ip);
}

/** Express takes no prefix length of 0, which would be everybody, no zone and no dotted end. */
function isAddress(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  if (version === 6 && /[%.]/.test(address)) return false;
  if (bits === undefined) return true;
  return /^\d{1,3}$/.test(bits) && Number(bits) > 0 && Number(bits) <= (version === 4 ? 32 : 128);
}
