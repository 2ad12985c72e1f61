// The client behind a request, as the gateway states it to the data service.
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

/** A dual-stack socket shows IPv4 clients as `::ffff:1.2.3.4`; one client must have one spelling. */
export function clientAddress(request: Request): string | undefined {
  return request.ip?.replace(/^::ffff:(?=\d+\.)/, "");
}
