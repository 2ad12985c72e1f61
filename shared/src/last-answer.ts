// Which answer is the last of its connection (pipelining): each whole request up to it gets its own, and what comes behind it
// gets none, so nothing of that is done.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { beside } from "./beside.js";
import { lingerBeforeClosing } from "./linger.js";

/** The answer to the latest request of a connection, and the one before, whose request is whole. */
interface Latest {
  readonly response: ServerResponse;
  readonly before: ServerResponse | undefined;
}

const latest = beside<Duplex, Latest>();

/** `none` where bytes were refused that are no request. */
const lastAnswers = beside<Duplex, ServerResponse | "none">();

/** Notes a request that has come. @returns false for one behind the last: it must not be done */
export function admit({ socket }: IncomingMessage, response: ServerResponse): boolean {
  const last = lastAnswers.get(socket);
  if (last !== undefined && last !== response) return false;
  latest.set(socket, { response, before: latest.get(socket)?.response });
  // A connection that waits for its next request must not hold the last one in memory.
  response.once("finish", () => {
    if (latest.get(socket)?.response === response) latest.delete(socket);
  });
  return true;
}

/** Whether all that counts has come: bytes behind it are neither a request nor part of one. */
export function isLastWhole(socket: Duplex): boolean {
  const last = lastAnswers.get(socket);
  return last === "none" || last?.req.complete === true;
}

/** For bytes that are answered without a request. */
export function noteNoneFollows(socket: Duplex): void {
  lastAnswers.set(socket, "none");
}

/** The answer to the latest request that has come, unless it is gone. */
export function latestAnswer(socket: Duplex): ServerResponse | undefined {
  return latest.get(socket)?.response;
}

/** The answer to the latest request that has come as a whole, unless it is gone. */
export function latestWhole(socket: Duplex): ServerResponse | undefined {
  const { response, before } = latest.get(socket) ?? {};
  const whole = response?.req.complete === true ? response : before;
  return whole?.writableFinished === false ? whole : undefined;
}

/** Says in this answer, if its head is not written yet, that it is the last, and closes the connection behind it. */
export function closeBehind(response: ServerResponse): void {
  const { req: request } = response;
  if (isLastWhole(request.socket)) return;
  lastAnswers.set(request.socket, response);
  lingerBeforeClosing(request);
  if (response.headersSent) response.once("finish", () => request.socket.destroySoon());
  else response.shouldKeepAlive = false;
}
