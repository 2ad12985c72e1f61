// Forwards a request to the data service and streams its answer back, through http-proxy-middleware.
//
// The library moves the bytes; every decision is ours. It gets a finished path and header set, follows no
// redirect (its default), answers nothing by itself (`selfHandleResponse`, `ejectPlugins`), and its two
// ways of reporting an error (an event, and `next`) both end in `Exchange.fail`, which acts once.
import { Agent, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { Agent as TlsAgent } from "node:https";
import { finished } from "node:stream/promises";
import type { NextFunction, Request, Response } from "express";
import { createProxyMiddleware } from "http-proxy-middleware";
import type { WatchCall } from "../upstream/watch-call.js";
import { Exchange, type ExchangeLimits } from "./exchange.js";

/** What to ask of the data service, ready made. */
export interface UpstreamRequest {
  readonly pathAndQuery: string;
  readonly headers: IncomingHttpHeaders;
  readonly bodyMaxBytes: number;
  /** Where the answer may take longer than that of other calls. */
  readonly answerTimeoutMs?: number;
  /** Where the body has no deadline. */
  readonly bodyStallMs?: number;
  /** Asked once if the data service believes the token no more: the headers to ask with instead. */
  readonly renew?: () => Promise<IncomingHttpHeaders>;
}

export interface Forward {
  (upstream: UpstreamRequest, request: Request, response: Response, next: NextFunction): void;
  /** Ends answers that have no end of their own: streams of events, which their clients ask for again elsewhere. */
  endStreams(): void;
  /** Lets go of the pooled connections. */
  close(): void;
}

export interface ForwardDeps {
  readonly dataServiceUrl: string;
  readonly limits: Omit<ExchangeLimits, "bodyMaxBytes" | "bodyStallMs">;
  readonly watch: WatchCall;
}

/** Shorter than the data service keeps an idle connection (65 s): we must be the one to close it. */
const IDLE_TIMEOUT_MS = 30_000;
const MAX_IDLE_CONNECTIONS = 64;

export function makeForward({ dataServiceUrl, limits, watch }: ForwardDeps): Forward {
  const exchanges = new WeakMap<IncomingMessage, Exchange>();
  const repeated = new WeakSet<Exchange>();
  const renewals = new WeakMap<Exchange, () => Promise<void>>();
  const streams = new Set<Response>();
  let isEnding = false;
  const agent = makeAgent(dataServiceUrl);

  const proxy = createProxyMiddleware<Request, Response>({
    target: dataServiceUrl,
    agent,
    selfHandleResponse: true,
    followRedirects: false,
    ejectPlugins: true,
    plugins: [
      (server) => {
        server.on("proxyReq", (upstream, request) => exchanges.get(request)?.sending(upstream));
        server.on("proxyRes", (answer, request) => {
          const exchange = exchanges.get(request);
          exchange && receive(exchange, request, answer).catch((error: unknown) => exchange.fail(error));
        });
        // Without a listener the library would throw on an error; a client that left needs no answer.
        server.on("econnreset", () => {});
        server.on("error", (error, request) => {
          const exchange = request && exchanges.get(request);
          if (request !== undefined && exchange !== undefined) repeatOrFail(exchange, request, error);
        });
      },
    ],
  });

  const send = (exchange: Exchange, request: Request): void => {
    const fail = (error: unknown): void => exchange.fail(error);
    if (request.res !== undefined) proxy(request, request.res, fail).catch(fail);
  };

  const sendAgain = (exchange: Exchange, request: Request): void => {
    // The library listens to both once more, and what it listened with before is still there.
    for (const emitter of [request, request.res]) emitter?.setMaxListeners(2 * emitter.getMaxListeners());
    send(exchange, request);
  };

  /** The data service closed an idle connection in the moment we took it again: ask once more on another. */
  const repeatOrFail = (exchange: Exchange, request: Request, error: Error): void => {
    if (exchange.isRepeatable && !repeated.has(exchange)) {
      repeated.add(exchange);
      sendAgain(exchange, request);
    } else exchange.fail(error);
  };

  /** A token that is believed no more is replaced, once. Whose body has gone already hears of it with the answer. */
  const receive = async (exchange: Exchange, request: Request, answer: IncomingMessage): Promise<void> => {
    const renew = refusesToken(answer) ? renewals.get(exchange) : undefined;
    renewals.delete(exchange);
    if (renew !== undefined) {
      // What becomes of this connection by now concerns nobody.
      exchanges.delete(request);
      if (exchange.canSendAgain) await finished(answer.resume());
      await renew();
      exchanges.set(request, exchange);
      if (exchange.canSendAgain) return sendAgain(exchange, request);
    }
    if (isEventStream(answer) && request.res !== undefined) {
      // One that begins while the process stops would be there when all others have ended.
      if (isEnding) {
        answer.destroy();
        request.res.destroy();
        return;
      }
      keepWhileOpen(streams, request.res);
    }
    exchange.answered(answer);
  };

  const forward = (
    upstream: UpstreamRequest,
    request: Request,
    response: Response,
    next: NextFunction,
  ): void => {
    // The library copies `url` and `headers` of the request it is given; adding and removing headers later,
    // in its `proxyReq` event, would come too late for some of them.
    request.url = upstream.pathAndQuery;
    const call = watch("forward", request.method);
    const clientHeaders = request.headers;
    request.headers = { ...upstream.headers, ...call.headers };
    const limitsOfCall = {
      ...limits,
      bodyMaxBytes: upstream.bodyMaxBytes,
      answerTimeoutMs: upstream.answerTimeoutMs ?? limits.answerTimeoutMs,
      bodyStallMs: upstream.bodyStallMs,
    };
    const exchange = new Exchange(request, response, next, limitsOfCall, call.end);
    exchanges.set(request, exchange);
    const { renew } = upstream;
    if (renew !== undefined)
      renewals.set(exchange, async () => {
        request.headers = clientHeaders;
        request.headers = { ...(await renew()), ...call.headers };
      });
    send(exchange, request);
  };
  return Object.assign(forward, {
    endStreams: () => {
      isEnding = true;
      // Half an event may have been sent: a client that finds no end of it throws it away.
      for (const response of streams) response.destroy();
    },
    close: () => agent.destroy(),
  });
}

/** So that nothing was done: this is said of a token alone, before anything else is looked at (RFC 6750, section 3.1). */
function refusesToken({ statusCode, headers }: IncomingMessage): boolean {
  return statusCode === 401 && headers["www-authenticate"]?.includes('error="invalid_token"') === true;
}

function isEventStream(answer: IncomingMessage): boolean {
  return answer.headers["content-type"]?.startsWith("text/event-stream") === true;
}

function keepWhileOpen(streams: Set<Response>, response: Response): void {
  streams.add(response);
  response.once("close", () => streams.delete(response));
}

function makeAgent(dataServiceUrl: string): Agent {
  const options = { keepAlive: true, timeout: IDLE_TIMEOUT_MS, maxFreeSockets: MAX_IDLE_CONNECTIONS };
  return dataServiceUrl.startsWith("https:") ? new TlsAgent(options) : new Agent(options);
}
