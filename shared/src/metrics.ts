// Metrics in Prometheus' text format: one registry a service, requests by route pattern, the page that shows them.
//
// Labels come from fixed lists and route patterns, never from addresses: a client must not be able to create series.
import type { Request, RequestHandler } from "express";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { isEventStream } from "./event-stream.js";
import { KNOWN_METHODS } from "./methods.js";

export { Counter, Gauge, Histogram, Registry } from "prom-client";

/** In seconds; a hot read takes a few milliseconds, and nothing may take much longer than QUERY_TIMEOUT_MS. */
export const LATENCY_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];

/** A registry with what Node tells about the process: memory, processor, event-loop lag, garbage collection. */
export function makeRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}

/**
 * A counter by one label with fixed values. All series begin at zero: Prometheus sees no growth in a series that begins at
 * one, so `rate` would miss the first event.
 * @returns counts one
 */
export function countBy<Value extends string>(
  registry: Registry,
  { name, help, label, values }: CounterBy<Value>,
): (value: Value) => void {
  const counter = new Counter({ name, help, labelNames: [label], registers: [registry] });
  for (const value of values) counter.inc({ [label]: value }, 0);
  return (value) => counter.inc({ [label]: value });
}

export interface CounterBy<Value extends string> {
  readonly name: string;
  readonly help: string;
  readonly label: string;
  readonly values: readonly Value[];
}

/**
 * Measures every request that passes, from here to the end of its answer.
 * @param routeOf asked when the answer has ended; one of a few patterns
 */
export function measureRequests(registry: Registry, routeOf: (request: Request) => string): RequestHandler {
  const registers = [registry];
  const inFlight = new Gauge({
    name: "portico_http_requests_in_flight",
    help: "Requests whose answer has not ended.",
    registers,
  });
  const duration = new Histogram({
    name: "portico_http_request_duration_seconds",
    help: "Requests but for streams of events, by method, route pattern and status class; aborted = cut off.",
    labelNames: ["method", "route", "status"],
    buckets: LATENCY_BUCKETS,
    registers,
  });
  return (request, response, next) => {
    const started = performance.now();
    const method = KNOWN_METHODS.includes(request.method) ? request.method : "other";
    inFlight.inc();
    response.once("close", () => {
      inFlight.dec();
      // How long somebody listened says nothing about us, and such an answer ends when they leave.
      if (isEventStream(response)) return;
      const status = response.writableFinished ? statusClass(response.statusCode) : "aborted";
      duration.observe({ method, route: routeOf(request), status }, (performance.now() - started) / 1000);
    });
    next();
  };
}

export function statusClass(status: number): string {
  return `${Math.floor(status / 100)}xx`;
}

/** The pattern that Express matched, `/{table}/{id}`; undefined for what was refused or found nothing before any route. */
export function matchedRoute(request: Request): string | undefined {
  const path: unknown = request.route?.path;
  return typeof path === "string" ? path.replaceAll(/:(\w+)/g, "{$1}") : undefined;
}

/** Shows the metrics; for a port or a path that only operators reach. */
export function metricsPage(registry: Registry): RequestHandler {
  return async (_request, response) => {
    const text = await registry.metrics();
    response.setHeader("Content-Type", registry.contentType).end(text);
  };
}
