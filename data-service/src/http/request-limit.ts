// RATE_LIMIT_PER_MINUTE: how many requests one address may make, on all routes together.
import type { RequestHandler } from "express";
import type { Throttle } from "../auth/throttle.js";

/** Counted here and not in the gateway, which has no database: this way the limit holds for all instances together. */
export function requestLimit(throttle: Pick<Throttle, "admitRequest">, perMinute: number): RequestHandler {
  return async (request, _response, next) => {
    await throttle.admitRequest(request.ip ?? null, perMinute);
    next();
  };
}
