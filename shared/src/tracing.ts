// OpenTelemetry traces (W3C Trace Context, OTLP over HTTP), off unless OTEL_EXPORTER_OTLP_ENDPOINT is set.
//
// Spans are made through @opentelemetry/api, which does nothing until the SDK is started here; the SDK itself is loaded
// only then. No span holds an address, a header, a body or the value of a filter.
import {
  context,
  DiagLogLevel,
  diag,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import type { SpanExporter } from "@opentelemetry/sdk-trace-node";
import type { Request, RequestHandler, Response } from "express";
import type { EnvReader } from "./env.js";
import { isEventStream } from "./event-stream.js";
import type { Logger } from "./logger.js";

export interface Tracing {
  /** Sends what is waiting, as far as the collector takes it quickly. */
  stop(): Promise<void>;
}

/** An unreachable collector must not delay a stop. */
const FLUSH_MS = 3_000;

const tracer = trace.getTracer("portico");

/** OTEL_EXPORTER_OTLP_ENDPOINT: the collector's base address. */
export function readOtlpEndpoint(reader: EnvReader): string | undefined {
  const text = reader.optional("OTEL_EXPORTER_OTLP_ENDPOINT");
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "http:" || url?.protocol === "https:") return text.replace(/\/+$/, "");
  reader.problem("OTEL_EXPORTER_OTLP_ENDPOINT must be an http(s) address such as http://collector:4318.");
  return undefined;
}

/**
 * Starts the SDK. Its other settings (`OTEL_TRACES_SAMPLER`, `OTEL_EXPORTER_OTLP_HEADERS` …) it reads itself.
 * @param logger told what the SDK finds wrong
 */
export async function startTracing(service: string, endpoint: string, logger: Logger): Promise<Tracing> {
  const [sdk, { OTLPTraceExporter }, resources, { W3CTraceContextPropagator }] = await Promise.all([
    import("@opentelemetry/sdk-trace-node"),
    import("@opentelemetry/exporter-trace-otlp-http"),
    import("@opentelemetry/resources"),
    import("@opentelemetry/core"),
  ]);
  listenToSdk(logger);
  const { defaultResource, detectResources, envDetector, serviceInstanceIdDetector } = resources;
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces` });
  const provider = new sdk.NodeTracerProvider({
    resource: defaultResource()
      .merge(detectResources({ detectors: [serviceInstanceIdDetector, envDetector] }))
      // Both services may read the same environment.
      .merge(resources.resourceFromAttributes({ "service.name": `portico-${service}` })),
    spanProcessors: [new sdk.BatchSpanProcessor(tellingOfFailures(exporter, logger))],
  });
  // Not the default, which would also carry `baggage` from any client to the data service.
  provider.register({ propagator: new W3CTraceContextPropagator() });
  return {
    async stop() {
      const late = new Promise((resolve) => setTimeout(resolve, FLUSH_MS).unref());
      await Promise.race([provider.shutdown().catch(() => {}), late]);
    },
  };
}

/** What the SDK says of its settings, and of spans that it drops. It begins with a name, or ends with what came back. */
function listenToSdk(logger: Logger): void {
  const warn = (...said: readonly unknown[]): void =>
    logger.warn(`OpenTelemetry: ${said.filter((each) => typeof each === "string").join(" ")}`);
  const ignore = (): void => {};
  const listener = { error: warn, warn, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(listener, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}

/** Says once that the collector takes nothing, and once that it does again; the processor would say it of each batch. */
function tellingOfFailures(exporter: SpanExporter, logger: Logger): SpanExporter {
  let isFailing = false;
  const note = (err: Error | undefined): void => {
    if (err !== undefined && !isFailing) logger.warn({ err }, "the collector takes no traces");
    if (err === undefined && isFailing) logger.info("the collector takes traces again");
    isFailing = err !== undefined;
  };
  return {
    export: (spans, done) =>
      exporter.export(spans, ({ code, error }) => {
        note(code === TAKEN ? undefined : (error ?? new Error("It does not say why.")));
        done({ code: TAKEN });
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}

/** ExportResultCode.SUCCESS, which is loaded only with the SDK. */
const TAKEN = 0;

/**
 * One span a request, the child of the caller's; everything behind it runs in that span's context.
 * @param routeOf asked when the answer has ended; see shared/metrics
 */
export function traceRequests(routeOf: (request: Request) => string): RequestHandler {
  return (request, response, next) => {
    const { method } = request;
    const parent = propagation.extract(context.active(), request.headers);
    const attributes = { "http.request.method": method };
    const span = tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent);
    response.once("close", () => {
      const route = routeOf(request);
      span.updateName(`${method} ${route}`);
      span.setAttribute("http.route", route);
      // Until a head is sent, the status is the one that nobody has set yet.
      endSpan(span, response.headersSent ? response.statusCode : undefined, hasFailed(response));
    });
    context.with(trace.setSpan(parent, span), next);
  };
}

/** Leaving is how whoever listens to a stream of events ends it. */
function hasFailed(response: Response): boolean {
  const isCut = !response.writableFinished && !isEventStream(response);
  return isCut || response.statusCode >= 500;
}

/**
 * A statement on its way to the database, as a child of the request that asks; none outside of requests.
 * @param attributes never the statement itself
 * @returns ends the span
 */
export function traceStatement(
  name: string,
  attributes: Readonly<Record<string, string>>,
): ((failed: boolean) => void) | undefined {
  if (trace.getActiveSpan() === undefined) return undefined;
  const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes: { ...attributes } });
  return (failed) => endSpan(span, undefined, failed);
}

/** A call to another service. */
export interface TracedCall {
  /** To send along, so that the trace continues; none without the SDK. */
  readonly headers: Readonly<Record<string, string>>;
  /** @param status undefined when there was no answer */
  end(status: number | undefined, failed: boolean): void;
}

const UNTRACED: TracedCall = { headers: {}, end: () => {} };

/** A call on behalf of a request; what a service does by itself is not traced. */
export function traceCall(name: string, method: string): TracedCall {
  if (trace.getActiveSpan() === undefined) return UNTRACED;
  const attributes = { "http.request.method": method };
  const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes });
  const headers: Record<string, string> = {};
  propagation.inject(trace.setSpan(context.active(), span), headers);
  return { headers, end: (status, failed) => endSpan(span, status, failed) };
}

function endSpan(span: Span, status: number | undefined, failed: boolean): void {
  if (status !== undefined) span.setAttribute("http.response.status_code", status);
  if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}
