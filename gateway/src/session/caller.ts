// The client behind a request, as the gateway states it to the data service.
import { contextOf } from "@portico/shared/http-context";
import { plainAddress } from "@portico/shared/plain-address";
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
