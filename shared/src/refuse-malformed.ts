// Answers what never reaches a handler: bytes the parser refuses, unless they come behind a request that is still being
// answered; CONNECT; targets that are not a path.
import { randomUUID } from "node:crypto";
import {
  type IncomingMessage,
  type RequestListener,
  type Server,
  ServerResponse,
  STATUS_CODES,
} from "node:http";
import type { Duplex } from "node:stream";
import { AppError } from "./app-error.js";
import { CORRELATION_HEADER, correlationId } from "./correlation-id.js";
import { errorBody } from "./envelope.js";
import {
  admit,
  closeBehind,
  isLastWhole,
  latestAnswer,
  latestWhole,
  noteNoneFollows,
} from "./last-answer.js";
import { SERVED_METHODS } from "./methods.js";

/** The headers of every such answer: JSON that nobody may store, frame or take for anything else. */
const HEADERS = {
  "Content-Type": "application/json; charset=utf-8",
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  Connection: "close",
};

/** How long a connection that Node no longer manages, or whose bytes it can't parse, may stay open once it is answered. */
const ANSWERED_OPEN_MS = 2_000;

/** What is said of a head that is larger than the server takes. */
export const TOO_LARGE_HEAD = "The request's address and headers are too large together.";

/** Gives the server's own refusals the error body of contract section 2. */
export function refuseMalformed(server: Server): void {
  server.on("connect", (_request, socket) => {
    letGo(socket);
    answer(socket, new AppError("METHOD_NOT_ALLOWED", "CONNECT is not served."), "CONNECT");
  });
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    refuse(request, response, "Expect: only 100-continue is known.");
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    answer(socket, new AppError("BAD_REQUEST", problemOf(error)), "");
  });
}

/** Express may read this as a host, with a user name before it and no path, because it takes a backslash for a slash. */
const USER_AND_HOST = /^\/[/\\][^@/]+@/;

/**
 * Express finds no path in some targets that the parser accepts and would then answer by itself. Node itself would answer a
 * request without a host.
 */
export function onlyPaths(handler: RequestListener): RequestListener {
  return (request, response) => {
    // The rest of what was refused, or of what came behind the last request: it gets no answer, so nothing of it is done.
    if (!admit(request, response)) return void request.resume();
    const { url = "", headers, httpVersion } = request;
    const isPath = url.startsWith("/") && !USER_AND_HOST.test(url);
    if (!isPath && url !== "*") refuse(request, response, "The request target must be a path.");
    // RFC 9112, section 3.2.
    else if (headers.host === undefined && httpVersion === "1.1")
      refuse(request, response, "The request must have a Host header.");
    else handler(request, response);
  };
}

function refuse(request: IncomingMessage, response: ServerResponse, message: string): void {
  const { method = "", headers } = request;
  closeBehind(response);
  const id = correlationId(headers[CORRELATION_HEADER]);
  const error = new AppError("BAD_REQUEST", message);
  response.writeHead(error.status, { ...HEADERS, "X-Correlation-ID": id });
  response.end(JSON.stringify(errorBody(error, { path: "", method, correlationId: id }, new Date())));
}

/**
 * Node hands over the connection of a CONNECT as it is: without error listeners and time limits, and without telling the answer
 * before it that there is room for more.
 */
function letGo(socket: Duplex): void {
  socket
    .on("error", () => socket.destroy())
    .on("drain", () => answerUnderway(socket)?.emit("drain"))
    .resume();
}

/** The answer that is being written: of several that wait for each other, the first. */
function answerUnderway(socket: Duplex): ServerResponse | undefined {
  const message: unknown = "_httpMessage" in socket ? socket._httpMessage : undefined;
  return message instanceof ServerResponse ? message : undefined;
}

function problemOf(error: NodeJS.ErrnoException): string {
  if (error.code === "HPE_HEADER_OVERFLOW") return TOO_LARGE_HEAD;
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return "The request took too long to arrive.";
  // Browsers write some names of methods in capitals by themselves, and PATCH is none of these.
  if (error.code === "HPE_INVALID_METHOD")
    return "The method is none that is known; names of methods are written in capitals, as in PATCH.";
  return "This is not a valid HTTP/1.1 request.";
}

function answer(socket: Duplex, error: AppError, method: string): void {
  // The client is still sending what the parser refuses; if the connection were closed now, a reset would lose the answer.
  if (isLastWhole(socket)) return;
  // What is wrong came behind requests that are whole, and may be writes that are done by now: each gets its own answer.
  const whole = latestWhole(socket);
  if (whole !== undefined) {
    closeBehind(whole);
    return;
  }
  // The peer may be gone, or be sending the body of a request whose answer is on its way already.
  if (!socket.writable || latestAnswer(socket)?.headersSent === true) {
    socket.destroy();
    return;
  }
  noteNoneFollows(socket);
  const id = randomUUID();
  const body = JSON.stringify(errorBody(error, { path: "", method, correlationId: id }, new Date()));
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    ...Object.entries(HEADERS).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Correlation-ID: ${id}`,
    ...(error.code === "METHOD_NOT_ALLOWED" ? [`Allow: ${SERVED_METHODS.join(", ")}`] : []),
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
  const cut = setTimeout(() => socket.destroy(), ANSWERED_OPEN_MS).unref();
  socket.once("close", () => clearTimeout(cut));
}
