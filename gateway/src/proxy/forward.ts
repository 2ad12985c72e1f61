// Forwards a request to the data service and streams its answer back, through http-proxy-middleware.
//
// The library moves the bytes; every decision is ours. It gets a finished path and header set, follows no
// redirect (its default), answers nothing by itself (`selfHandleResponse`, `ejectPlugins`), and its two
// ways of reporting an error (an event, and `next`) both end in `Exchange.fail`, which acts once.
import { Agent, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { Agent as TlsAgent } from "node:https";
import { Stream } from "node:stream";
import { finished } from "node:stream/promises";
import { beside } from "@portico/shared/beside";
import type { ProvedClients } from "@portico/shared/proved-clients";
import type { NextFunction, Request, Response } from "express";
import { createProxyMiddleware, type Plugin } from "http-proxy-middleware";
import { noteProof } from "../session/proved-tokens.js";
import { foreignError } from "../upstream/upstream-error.js";
import type { WatchCall } from "../upstream/watch-call.js";
import type { BodyLimit } from "./body-limit.js";
import { decideAnswer } from "./decide-answer.js";
import { Exchange, type ExchangeLimits } from "./exchange.js";
import type { FileRequest } from "./recent-files.js";

/** What depends on who a request acts for. */
interface SessionTerms {
  readonly headers: IncomingHttpHeaders;
  /** The moment (`performance.now`) by which the head of the answer must have come, if it brings refreshed cookies. */
  readonly answerBy?: number | undefined;
}

/** A finished request to the data service. */
export interface UpstreamRequest extends SessionTerms {
  readonly pathAndQuery: string;
  readonly bodyLimit: BodyLimit;
  /** Set where the answer may take longer than for other calls. */
  readonly answerTimeoutMs?: number;
  /** Set where the body has no deadline. */
  readonly bodyStallMs?: number;
  /**
   * Called once if the data service no longer accepts the token: returns what to ask with instead. By then the
   * request's own headers are no longer the client's.
   */
  readonly renew?: () => Promise<SessionTerms>;
  /** Where a whole file is asked for. */
  readonly file: FileRequest | undefined;
}

export interface Forward {
  (upstream: UpstreamRequest, request: Request, response: Response, next: NextFunction): void;
  /** Ends answers that have no end of their own: event streams, whose clients reconnect elsewhere. */
  endStreams(): void;
  /** Lets go of the pooled connections. */
  close(): void;
}

export interface ForwardDeps {
  readonly dataServiceUrl: string;
  readonly limits: Omit<ExchangeLimits, "bodyLimit" | "bodyStallMs">;
  readonly watch: WatchCall;
  readonly provedClients: ProvedClients;
}

/** Shorter than the data service keeps an idle connection (65 s): we must be the one to close it. */
const IDLE_TIMEOUT_MS = 30_000;
const MAX_IDLE_CONNECTIONS = 64;
const MOST_LISTENERS = 20;

export function makeForward(deps: ForwardDeps): Forward {
  const forwarder = new Forwarder(deps);
  const forward = forwarder.forward.bind(forwarder);
  return Object.assign(forward, {
    endStreams: () => forwarder.streams.end(),
    close: () => forwarder.close(),
  });
}

class Forwarder {
  readonly streams = new OpenStreams();
  readonly #limits: ForwardDeps["limits"];
  readonly #watch: WatchCall;
  readonly #provedClients: ProvedClients;
  readonly #agent: Agent;
  readonly #exchanges = beside<IncomingMessage, Exchange>();
  readonly #proxy: ReturnType<typeof createProxyMiddleware<Request, Response>>;

  constructor({ dataServiceUrl, limits, watch, provedClients }: ForwardDeps) {
    this.#limits = limits;
    this.#watch = watch;
    this.#provedClients = provedClients;
    this.#agent = makeAgent(dataServiceUrl);
    this.#proxy = createProxyMiddleware<Request, Response>({
      target: targetOf(dataServiceUrl),
      agent: this.#agent,
      selfHandleResponse: true,
      followRedirects: false,
      ejectPlugins: true,
      buffer: new SentElsewhere(),
      plugins: [(server) => this.#listen(server)],
    });
  }

  forward(upstream: UpstreamRequest, request: Request, response: Response, next: NextFunction): void {
    // The client has left meanwhile, and nobody would end what is begun for it.
    if (response.destroyed) return;
    // So many parts of this service, the library and Node listen for its end.
    response.setMaxListeners(MOST_LISTENERS);
    const call = this.#watch("forward", request.method);
    const { renew } = upstream;
    // The library copies `url` and `headers` of the request it is given; adding and removing headers later,
    // in its `proxyReq` event, would come too late for some of them. So from here on the request has those of the
    // upstream request; whoever needs the client's has already read them.
    request.url = upstream.pathAndQuery;
    request.headers = { ...upstream.headers, ...call.headers };
    const limits = {
      ...this.#limits,
      bodyLimit: upstream.bodyLimit,
      answerTimeoutMs: upstream.answerTimeoutMs ?? this.#limits.answerTimeoutMs,
      bodyStallMs: upstream.bodyStallMs,
    };
    const exchange = new Exchange(request, response, next, {
      limits,
      answerBy: upstream.answerBy,
      onEnd: call.end,
      file: upstream.file,
      renew:
        renew &&
        (async () => {
          const { headers, answerBy } = await renew();
          request.headers = { ...headers, ...call.headers };
          return answerBy;
        }),
    });
    this.#exchanges.set(request, exchange);
    this.#send(exchange, request);
  }

  close(): void {
    this.#agent.destroy();
  }

  #listen(server: Parameters<Plugin<Request, Response>>[0]): void {
    server.on("proxyReq", (upstream, request) => this.#exchanges.get(request)?.sending(upstream));
    server.on("proxyRes", (answer, request) => {
      const exchange = this.#exchanges.get(request);
      exchange && this.#receive(exchange, request, answer).catch((error: unknown) => exchange.fail(error));
    });
    // Without a listener the library would throw on an error; a client that left needs no answer.
    server.on("econnreset", () => {});
    server.on("error", (error, request) => {
      const exchange = request && this.#exchanges.get(request);
      if (request !== undefined && exchange !== undefined) this.#retryOrFail(exchange, request, error);
    });
  }

  #send(exchange: Exchange, request: Request): void {
    const fail = (error: unknown): void => exchange.fail(error);
    if (request.res !== undefined) this.#proxy(request, request.res, fail).catch(fail);
  }

  #sendAgain(exchange: Exchange, request: Request): void {
    // The library adds its listeners to both again, and the former ones are still there.
    for (const emitter of [request, request.res]) emitter?.setMaxListeners(2 * emitter.getMaxListeners());
    this.#send(exchange, request);
  }

  /** The data service closed an idle connection just as it was reused: ask once more on another. */
  #retryOrFail(exchange: Exchange, request: Request, error: Error): void {
    if (exchange.takeRetry()) this.#sendAgain(exchange, request);
    else exchange.fail(error);
  }

  async #receive(exchange: Exchange, request: Request, answer: IncomingMessage): Promise<void> {
    noteProof(this.#provedClients, request.headers.authorization, answer);
    const decision = decideAnswer(answer, exchange);
    if (decision === "renew" && (await this.#renewed(exchange, request, answer)))
      return this.#sendAgain(exchange, request);
    if (decision === "stream" && !this.streams.keep(request.res)) {
      answer.destroy();
      request.res?.destroy();
      return;
    }
    if (decision === "refuse") {
      answer.destroy();
      return exchange.fail(foreignError(answer.statusCode, answer.headers["retry-after"]));
    }
    exchange.answered(answer);
  }

  /**
   * Replaces a token that is no longer accepted.
   * @returns whether to send the request again with the new one; a client whose body was already sent gets the old answer,
   * with the new cookies
   */
  async #renewed(exchange: Exchange, request: Request, answer: IncomingMessage): Promise<boolean> {
    // Errors of this connection no longer matter to anybody.
    this.#exchanges.delete(request);
    if (exchange.canSendAgain) await finished(answer.resume());
    await exchange.renew();
    this.#exchanges.set(request, exchange);
    return exchange.canSendAgain;
  }
}

/** Answers that are streams of events, which end when their clients leave or this process stops. */
class OpenStreams {
  readonly #open = new Set<Response>();
  #isEnding = false;

  /** @returns false once they have been ended: one that began later would outlive all others */
  keep(response: Response | undefined): boolean {
    if (response === undefined) return true;
    if (this.#isEnding) return false;
    this.#open.add(response);
    response.once("close", () => this.#open.delete(response));
    return true;
  }

  end(): void {
    this.#isEnding = true;
    // Half an event may have been sent: a client that does not find its end throws it away.
    for (const response of this.#open) response.destroy();
  }
}

/** The library would pipe every body, even of requests that have none; `Exchange` knows shorter ways. */
class SentElsewhere extends Stream {
  override pipe<T extends NodeJS.WritableStream>(upstream: T): T {
    return upstream;
  }
}

/** Parsed once: given a text, the library would parse the address for each request. */
function targetOf(dataServiceUrl: string) {
  const { protocol, hostname, port } = new URL(dataServiceUrl);
  return { protocol, host: hostname.replace(/^\[|\]$/g, ""), port };
}

function makeAgent(dataServiceUrl: string): Agent {
  const options = { keepAlive: true, timeout: IDLE_TIMEOUT_MS, maxFreeSockets: MAX_IDLE_CONNECTIONS };
  return dataServiceUrl.startsWith("https:") ? new TlsAgent(options) : new Agent(options);
}
