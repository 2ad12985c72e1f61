// Answers what never becomes a request: bytes the parser refuses, and CONNECT.
import { randomUUID } from "node:crypto";
import { type Server, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { AppError } from "./app-error.js";
import { errorBody } from "./envelope.js";

/** Gives the server's own refusals the error body of contract section 2. */
export function refuseMalformed(server: Server): void {
  server.on("connect", (_request, socket) => {
    answer(socket, new AppError("METHOD_NOT_ALLOWED", "CONNECT is not served."), "CONNECT");
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    answer(socket, new AppError("BAD_REQUEST", problemOf(error)), "");
  });
}

function problemOf(error: NodeJS.ErrnoException): string {
  if (error.code === "HPE_HEADER_OVERFLOW") return "The request's headers are too large.";
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return "The request took too long to arrive.";
  return "This is not a valid HTTP/1.1 request.";
}

function answer(socket: Duplex, error: AppError, method: string): void {
  // The peer may be gone, or this may be the middle of an answer that is on its way already.
  if (!socket.writable || hasAnswerUnderway(socket)) {
    socket.destroy();
    return;
  }
  const correlationId = randomUUID();
  const body = JSON.stringify(errorBody(error, { path: "", method, correlationId }, new Date()));
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    "Content-Type: application/json; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Cache-Control: no-store",
    "X-Content-Type-Options: nosniff",
    `X-Correlation-ID: ${correlationId}`,
    ...(error.code === "METHOD_NOT_ALLOWED"
      ? ["Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, QUERY"]
      : []),
    "Connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}

/** Node keeps the answer under way on its socket, and its own handler asks the same. */
function hasAnswerUnderway(socket: Duplex): boolean {
  const message: unknown = "_httpMessage" in socket ? socket._httpMessage : undefined;
  return (
    typeof message === "object" &&
    message !== null &&
    "headersSent" in message &&
    message.headersSent === true
  );
}
