// The client behind a request, as the gateway states it to the data service.
import type { IncomingHttpHeaders } from "node:http";
import { contextOf } from "@portico/shared/http-context";
import { clientAddress } from "@portico/shared/trust-proxy";
import type { Request } from "express";
import type { Caller } from "../upstream/call.js";

/** What a client has sent, to be taken before the request is passed on: its headers become those of the next one. */
export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly caller: Caller;
}

export function receivedFrom(request: Request): Received {
  return { headers: request.headers, caller: callerOf(request) };
}

export function callerOf(request: Request): Caller {
  return {
    correlationId: contextOf(request).correlationId,
    address: clientAddress(request),
    userAgent: request.headers["user-agent"],
  };
}
