// Starts an HTTP server with safe time limits and stops it without dropping a request.
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import type { Express } from "express";
import { beside } from "./beside.js";
import { breakOff } from "./break-off.js";
import { ConfigError } from "./env.js";
import { expressMessages } from "./express-messages.js";
import { hasBody } from "./has-body.js";
import { isJsonType } from "./json-type.js";
import { closeBehind, latestAnswer } from "./last-answer.js";
import { LinkedSet } from "./linked-set.js";
import { limitQueuedAnswers } from "./queued-answers.js";
import { onlyPaths, refuseMalformed } from "./refuse-malformed.js";

/** Slow request heads are cut after this. */
const HEADERS_TIMEOUT_MS = 10_000;
/** For address and headers of a request, in bytes: room for two filters of full length, percent-encoded, and cookies. */
export const MOST_HEAD_BYTES = 32 * 1024;
/** Added to what a client may send, because the gateway also says who is asking and from where. */
export const MOST_FORWARDED_HEAD_BYTES = MOST_HEAD_BYTES + 2 * 1024;
/** A request whose body has not arrived by then is cut, unless its handler keeps the time itself. */
export const BODY_TIMEOUTS: BodyTimeouts = { jsonMs: 30_000, otherMs: 300_000 };
/** Longer than any client's pool keeps a socket, so that we never close one that is being reused. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** In-flight requests get this long to finish. */
export const STOP_TIMEOUT_MS = 30_000;
/** How often a stopping server closes the connections whose answer has just ended. */
const STOP_SWEEP_MS = 50;
/** A turn of the event loop takes one connection, and reads in the next; with none in so many, nothing waits any more. */
const QUIET_TURNS = 3;
/** Under load connections keep coming: what waits by then was not sent before the stop. */
const TAKING_MOST_MS = 1_000;

/** How long bodies may take: JSON is small, a file is not. */
export interface BodyTimeouts {
  readonly jsonMs: number;
  readonly otherMs: number;
}

export interface RunningServer {
  /** `http://host:port` with the port that was actually taken. */
  url: string;
  server: Server;
  /** Takes what was sent before, then no new connections; waits for requests in flight (30 s at most, then they are cut), then resolves. */
  stop(): Promise<void>;
}

export interface Where {
  readonly host: string;
  readonly port: number;
  /** The setting that names the port. */
  readonly portVariable: string;
  /** The ports of what runs beside it, by their settings: where it is one of these, no other program has to be stopped. */
  readonly beside?: Readonly<Record<string, number | undefined>>;
}

/**
 * Listens and resolves once connections are taken.
 * @param options what differs from the defaults
 * @throws ConfigError when the port is taken or may not be used
 */
export async function listen(
  app: Express,
  where: Where,
  {
    bodyTimeouts = BODY_TIMEOUTS,
    stopTimeoutMs = STOP_TIMEOUT_MS,
    ...options
  }: Pick<ServerOptions, "maxHeaderSize"> & {
    readonly bodyTimeouts?: BodyTimeouts;
    readonly stopTimeoutMs?: number;
  } = {},
): Promise<RunningServer> {
  const server = createServer(
    {
      maxHeaderSize: MOST_HEAD_BYTES,
      ...options,
      ...expressMessages(app),
      // We refuse these ourselves, with an error body; Node would answer without one.
      requireHostHeader: false,
      headersTimeout: HEADERS_TIMEOUT_MS,
      // Node has one limit for all requests; ours can be lifted for a single one (see withoutBodyDeadline).
      requestTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      connectionsCheckingInterval: 2_000,
    },
    onlyPaths(app),
  );
  // Node reads a thousand lines or so and drops the rest in silence, conditions and a proxy's own lines too. Bytes bound them.
  server.maxHeadersCount = 0;
  refuseMalformed(server);
  const inFlight = new LinkedSet<ServerResponse>();
  let isStopping = false;
  spareUnsent(server, inFlight);
  server.prependListener("request", (request: IncomingMessage, response: ServerResponse) => {
    if (hasBody(request.headers)) setBodyDeadline(request, bodyTimeouts);
    inFlight.add(response);
    response.once("close", () => inFlight.delete(response));
    // Without `shouldKeepAlive` Node closes the connection itself, for a client that asks for it or speaks HTTP/1.0.
    if (isStopping || !response.shouldKeepAlive) closeBehind(response);
  });
  limitQueuedAnswers(server);
  const connections = new LinkedSet<Socket>();
  server.on("connection", (socket: Socket) => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(listenProblem(error, where)));
    server.listen(where.port, where.host, resolve);
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : where.port;
  const host = where.host.includes(":") ? `[${where.host}]` : where.host;
  const url = `http://${host}:${port}`;
  const begin = (): Promise<void> => {
    isStopping = true;
    return stop(server, inFlight, connections, stopTimeoutMs);
  };
  return { url, server, stop: begin };
}

/**
 * Node takes a connection for idle once its answer has been handed over (`finished`), and would cut off whatever a slow client
 * has yet to read. Node's own `close` does the same.
 */
function spareUnsent(server: Server, inFlight: Iterable<ServerResponse>): void {
  const closeIdle = server.closeIdleConnections.bind(server);
  server.closeIdleConnections = () => {
    const unsent = [...inFlight].filter(({ finished }) => finished);
    for (const response of unsent) response.finished = false;
    closeIdle();
    for (const response of unsent) response.finished = true;
  };
}

const deadlines = beside<IncomingMessage, NodeJS.Timeout>();

function setBodyDeadline(request: IncomingMessage, { jsonMs, otherMs }: BodyTimeouts): void {
  const isJson = isJsonType(request.headers["content-type"]);
  const cut = (): void => void (request.complete || request.socket.destroy());
  const deadline = setTimeout(cut, isJson ? jsonMs : otherMs).unref();
  deadlines.set(request, deadline);
  request.once("close", () => clearTimeout(deadline));
}

/** For a body that may take long to arrive, such as a large file; the handler then keeps the time itself. */
export function withoutBodyDeadline(request: IncomingMessage): void {
  clearTimeout(deadlines.get(request));
}

function listenProblem(error: NodeJS.ErrnoException, where: Where): Error {
  const { host, port, portVariable, beside = {} } = where;
  if (error.code === "EADDRINUSE") {
    const other = Object.keys(beside).find((name) => beside[name] === port);
    const remedy =
      other === undefined
        ? `; stop the other program or set ${portVariable}`
        : `: ${portVariable} and ${other} name the same one; give each its own`;
    return new ConfigError([`Port ${port} on ${host} is in use${remedy}.`]);
  }
  if (error.code === "EACCES" || error.code === "EADDRNOTAVAIL" || error.code === "ENOTFOUND") {
    return new ConfigError([
      `Can't listen on ${host}:${port} (${error.code}); set ${portVariable} or its host.`,
    ]);
  }
  return error;
}

/** What clients sent before the stop may still lie in the kernel, and would be reset with its connection. */
async function takeWhatWaits(server: Server): Promise<void> {
  const began = performance.now();
  let quietTurns = 0;
  const note = (): void => {
    quietTurns = 0;
  };
  server.on("connection", note);
  while (quietTurns < QUIET_TURNS && performance.now() - began < TAKING_MOST_MS) {
    quietTurns += 1;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  server.off("connection", note);
}

/** Where the head of that answer is written, the client does not know yet: what comes behind it is taken, and made the last. */
function closeBehindLatest(socket: Socket): void {
  const response = latestAnswer(socket);
  if (response?.headersSent === false) closeBehind(response);
}

async function stop(
  server: Server,
  inFlight: Iterable<ServerResponse>,
  connections: Iterable<Socket>,
  timeoutMs: number,
): Promise<void> {
  // A client must not put its next request on a connection that is about to go.
  for (const { req } of inFlight) closeBehindLatest(req.socket);
  await takeWhatWaits(server);
  // Browsers open connections in advance; Node calls one idle only after its first request.
  for (const socket of connections) if (socket.bytesRead === 0) socket.destroy();
  const cutAll = (): void => {
    for (const response of inFlight) breakOff(response);
    // Each by itself: Node's own list lacks the connections that it has handed over.
    for (const socket of connections) socket.destroy();
  };
  const deadline = setTimeout(cutAll, timeoutMs);
  // Answers whose head has already been sent end on a kept-alive connection, which would stay open for a minute.
  const sweep = setInterval(() => server.closeIdleConnections(), STOP_SWEEP_MS);
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
  });
  clearTimeout(deadline);
  clearInterval(sweep);
}
