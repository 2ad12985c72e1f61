// The handlers that measure and trace requests, if the operator wants that.
import type { Request, RequestHandler } from "express";
import { OVERLOADS, type Overload } from "./load-shedding.js";
import { countBy, measureRequests, type Registry } from "./metrics.js";
import { traceRequests } from "./tracing.js";

export interface WatchRequests {
  /** Mount them before all other handlers but the probes. */
  readonly handlers: readonly RequestHandler[];
  /** For `shedLoad`. */
  readonly onShed: (why: Overload) => void;
}

/**
 * @param registry none where metrics are off
 * @param routeOf a request's pattern, asked when its answer has ended
 */
export function watchRequests(
  registry: Registry | undefined,
  isTraced: boolean,
  routeOf: (request: Request) => string,
): WatchRequests {
  const measured = registry === undefined ? [] : [measureRequests(registry, routeOf)];
  const traced = isTraced ? [traceRequests(routeOf)] : [];
  return { handlers: [...measured, ...traced], onShed: registry ? countShed(registry) : () => {} };
}

function countShed(registry: Registry): (why: Overload) => void {
  return countBy(registry, {
    name: "portico_shed_requests_total",
    help: "Requests refused because the process was overloaded.",
    label: "reason",
    values: OVERLOADS,
  });
}
