// The client behind a request, as the gateway states it to the data service.
import { isIP, isIPv4 } from "node:net";
import { contextOf } from "@portico/shared/http-context";
import type { Request } from "express";
import type { Caller } from "../upstream/auth-client.js";

/** The address is the peer's, or what a trusted proxy says (TRUST_PROXY); never a client's own claim. */
export function callerOf(request: Request): Caller {
  return {
    correlationId: contextOf(request).correlationId,
    address: clientAddress(request),
    userAgent: request.headers["user-agent"],
  };
}

/** Undefined where a trusted proxy names none. */
export function clientAddress({ ip }: Request): string | undefined {
  return ip === undefined ? undefined : plainAddress(ip);
}

/**
 * One client must have one spelling: a dual-stack socket shows IPv4 clients as `::ffff:1.2.3.4`, and some proxies add the
 * port, which is another one with every connection.
 */
export function plainAddress(text: string): string | undefined {
  if (isIPv4(text)) return text;
  const [, bracketed = text] = /^\[(.*)\](?::\d+)?$/.exec(text) ?? [];
  const address = bracketed.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, "$1").replace(/^::ffff:(?=\d+\.)/i, "");
  return isIP(address) === 0 ? undefined : address;
}
