// RATE_LIMIT_PER_MINUTE: how many requests one address may make, on all routes but the log-out together.
import type { RequestHandler } from "express";
import type { Throttle } from "../auth/throttle.js";

/** Whoever is refused would stay signed in, and the gateway ends former sessions by this call. */
const LOG_OUT = /^\/auth\/logout\/?$/;

/** Counted here and not in the gateway, which has no database: this way the limit holds for all instances together. */
export function requestLimit(throttle: Pick<Throttle, "admitRequest">, perMinute: number): RequestHandler {
  return async (request, _response, next) => {
    if (request.method === "POST" && LOG_OUT.test(request.path)) return next();
    await throttle.admitRequest(request.ip ?? null, perMinute);
    next();
  };
}
