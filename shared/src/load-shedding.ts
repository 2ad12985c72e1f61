// Refuses requests at once while the process has more than it can do, so that those it has taken still get done.
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { RequestHandler } from "express";
import { AppError } from "./app-error.js";
import type { EnvReader } from "./env.js";

export interface OverloadLimits {
  /** MAX_IN_FLIGHT: requests under way at once; 0 = no limit. */
  readonly maxInFlight: number;
  /** MAX_EVENT_LOOP_DELAY_MS: how late the event loop may run on average; 0 = no limit. */
  readonly maxEventLoopDelayMs: number;
}

export type Overload = "in_flight" | "event_loop";

/** How often the delay of the event loop is read; a single long pause disappears in the mean. */
const SAMPLE_MS = 500;
const RETRY_AFTER_SECONDS = 2;

export function readOverloadLimits(reader: EnvReader): OverloadLimits {
  return {
    maxInFlight: reader.integer("MAX_IN_FLIGHT", 1_000, { min: 0, max: 1_000_000 }),
    maxEventLoopDelayMs: reader.integer("MAX_EVENT_LOOP_DELAY_MS", 1_000, { min: 0, max: 60_000 }),
  };
}

/**
 * Mount it behind the health routes, which an overloaded process must still answer.
 * @param onShed told of each request that was refused
 * @throws AppError SERVICE_UNAVAILABLE with `Retry-After`
 */
export function shedLoad(limits: OverloadLimits, onShed: (why: Overload) => void = () => {}): RequestHandler {
  const delayMs = limits.maxEventLoopDelayMs > 0 ? watchEventLoop() : () => 0;
  let inFlight = 0;
  return (_request, response, next) => {
    const why = decideOverload(limits, { inFlight, delayMs: delayMs() });
    if (why !== undefined) {
      onShed(why);
      throw new AppError("SERVICE_UNAVAILABLE", {
        message: "The service is overloaded; try again in a moment.",
        headers: { "Retry-After": String(RETRY_AFTER_SECONDS) },
      });
    }
    inFlight += 1;
    response.once("close", () => {
      inFlight -= 1;
    });
    next();
  };
}

/** @param now what is under way, without the request that asks */
export function decideOverload(
  { maxInFlight, maxEventLoopDelayMs }: OverloadLimits,
  now: { readonly inFlight: number; readonly delayMs: number },
): Overload | undefined {
  if (maxInFlight > 0 && now.inFlight >= maxInFlight) return "in_flight";
  return maxEventLoopDelayMs > 0 && now.delayMs > maxEventLoopDelayMs ? "event_loop" : undefined;
}

/** @returns the mean delay of the last half second, in milliseconds */
function watchEventLoop(): () => number {
  const delays = monitorEventLoopDelay();
  delays.enable();
  let mean = 0;
  setInterval(() => {
    mean = delays.count === 0 ? 0 : delays.mean / 1e6;
    delays.reset();
  }, SAMPLE_MS).unref();
  return () => mean;
}
