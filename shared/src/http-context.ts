// The outermost layer of both services: correlation id, access log line, the answer where no route is, the one error handler.
import type { ErrorRequestHandler, Request, RequestHandler } from "express";
import { AppError } from "./app-error.js";
import { beside } from "./beside.js";
import { breakOff } from "./break-off.js";
import { CORRELATION_HEADER, correlationId } from "./correlation-id.js";
import { errorBody } from "./envelope.js";
import type { ErrorCode } from "./error-codes.js";
import { isEventStream } from "./event-stream.js";
import { type Logger, withoutSecrets } from "./logger.js";
import { withoutTokens } from "./without-tokens.js";

/** What a request carries from its first moment. */
export interface RequestContext {
  correlationId: string;
  /** The path as the client called it, `/api/...`, without its query. */
  publicPath: string;
  /** When it came, by `performance.now()`. */
  began: number;
}

const contexts = beside<Request, RequestContext>();

/** The context of a request that has passed `requestContext`. */
export function contextOf(request: Request): RequestContext {
  const context = contexts.get(request);
  if (context === undefined) throw new Error("requestContext must run before this handler");
  return context;
}

/**
 * Gives every request its correlation id, and every answer the headers that all have.
 * @param publicPath how this service's path reads for the client (the data service adds `/api`)
 */
export function requestContext(publicPath: (path: string) => string): RequestHandler {
  return (request, response, next) => {
    const id = correlationId(request.headers[CORRELATION_HEADER]);
    contexts.set(request, {
      correlationId: id,
      publicPath: publicPath(request.path),
      began: performance.now(),
    });
    response.setHeader("X-Correlation-ID", id);
    response.setHeader("X-Content-Type-Options", "nosniff");
    // Answers are personal unless a route says otherwise.
    response.setHeader("Cache-Control", "no-store");
    next();
  };
}

/**
 * Writes one log line when the answer is complete or cut off.
 * @param isQuiet asked then: whether there is nothing to tell of it
 */
export function logRequests(
  logger: Logger,
  isQuiet: (request: Request) => boolean = () => false,
): RequestHandler {
  const lines = withoutSecrets(logger);
  return (request, response, next) => {
    const { correlationId: id, began } = contextOf(request);
    const { method, path } = request;
    response.once("close", () => {
      if (isQuiet(request)) return;
      const line = {
        correlationId: id,
        method,
        path: withoutTokens(path),
        // Node says 200 until a head is sent.
        status: response.headersSent ? response.statusCode : undefined,
        ms: Math.round((performance.now() - began) * 10) / 10,
      };
      if (response.writableFinished) lines.info(line, "request");
      // It has no end but this one, or a restart of ours.
      else if (isEventStream(response)) lines.info(line, "stream ended");
      else lines.warn(line, "request cut off");
    });
    next();
  };
}

/** Answers every path that no route took. */
export const notFound: RequestHandler = (request) => {
  throw new AppError("NOT_FOUND", `There is nothing at ${contextOf(request).publicPath}.`);
};

const OF_A_FILE = ["Content-Type", "ETag", "Last-Modified", "Accept-Ranges"];

/** The last handler: every failure becomes the error body, and only an AppError's message is shown. */
export function errorHandler(logger: Logger): ErrorRequestHandler {
  return (thrown, request, response, _next) => {
    const error = asAppError(thrown);
    const { correlationId: id, publicPath } = contextOf(request);
    if (isFailure(error)) logger.error({ correlationId: id, err: error.cause ?? thrown }, error.message);
    if (response.headersSent) {
      // The client must see a broken transfer, never a short answer that looks complete.
      breakOff(response);
      return;
    }
    // They were set for a file that is not sent after all.
    for (const name of OF_A_FILE) response.removeHeader(name);
    response.status(error.status).set({ "Cache-Control": "no-store", ...error.headers });
    response.json(
      errorBody(error, { path: publicPath, method: request.method, correlationId: id }, new Date()),
    );
  };
}

/**
 * Whether something has gone wrong here. For a mere refusal, such as one because of overload, the request's own log line says
 * everything.
 */
export function isFailure({ status, code, cause }: AppError): boolean {
  return status >= 500 && (cause !== undefined || code === "INTERNAL_ERROR");
}

const EXPRESS_CODES: Readonly<Record<number, ErrorCode>> = {
  400: "BAD_REQUEST",
  404: "NOT_FOUND",
  412: "PRECONDITION_FAILED",
  413: "PAYLOAD_TOO_LARGE",
  415: "UNSUPPORTED_MEDIA_TYPE",
  416: "RANGE_NOT_SATISFIABLE",
};

/** Express and its parsers throw errors with a `status`; only their status is trusted. */
function asAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  const status = thrown instanceof Error && "status" in thrown ? thrown.status : undefined;
  const code = typeof status === "number" ? EXPRESS_CODES[status] : undefined;
  if (code === undefined) return new AppError("INTERNAL_ERROR", { cause: thrown });
  return new AppError(code, { cause: thrown });
}
