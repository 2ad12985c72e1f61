// Cuts answers that nobody reads: each holds a place among slow readers, and perhaps a cursor, for as long as it lasts.
import type { Socket } from "node:net";
import type { RequestHandler, Response } from "express";
import { breakOff } from "./break-off.js";
import type { EnvReader } from "./env.js";

/**
 * Long, because we only see what leaves the system's buffers, and Linux reports nothing before a third of a buffer is free,
 * which may be 1.4 MB. Within this time we notice a client that reads 2.5 KB a second; within a minute it would have to read
 * 25 KB a second.
 */
const DEFAULT_MS = 600_000;

export interface AnswerLimits {
  /** ANSWER_STALL_MS: how long a client may read nothing of an answer that is waiting for it; 0 = as long as it likes. */
  readonly answerStallMs: number;
}

export function readAnswerLimits(reader: EnvReader): AnswerLimits {
  return { answerStallMs: reader.integer("ANSWER_STALL_MS", DEFAULT_MS, { min: 0, max: 86_400_000 }) };
}

/** So many looks at the connection in that time; it is cut when as many in a row find that nothing has been read. */
const LOOKS = 4;

/** Mount it before whatever answers. The time starts again with every byte that the client reads, and with none that it sends. */
export function cutUnread({ answerStallMs }: AnswerLimits): RequestHandler {
  return (_request, response, next) => {
    if (answerStallMs > 0) {
      const look = lookAt(response);
      const timer = setInterval(look, Math.ceil(answerStallMs / LOOKS)).unref();
      response.once("close", () => clearInterval(timer));
    }
    next();
  };
}

/** Looks are counted, not time: a process that was held up has not seen what its clients have read meanwhile. */
function lookAt(response: Response): () => void {
  let taken: number | undefined;
  let looksInVain = 0;
  return () => {
    const { socket } = response;
    const takenBefore = taken;
    // There may be nothing to send yet: a query may take its time.
    taken = socket !== null && socket.writableLength > 0 ? bytesTaken(socket) : undefined;
    looksInVain = taken !== undefined && taken === takenBefore ? looksInVain + 1 : 0;
    if (looksInVain >= LOOKS) breakOff(response);
  };
}

/**
 * How much the system has taken of what was written to a connection. Node's public count has a large piece in it as soon as its
 * first byte is sent, and its timeout starts again with what the client sends. Where Node no longer tells, nobody is cut off.
 */
function bytesTaken(socket: Socket): number {
  const handle: unknown = "_handle" in socket ? socket._handle : undefined;
  const isKnown =
    typeof handle === "object" && handle !== null && "bytesWritten" in handle && "writeQueueSize" in handle;
  return isKnown ? Number(handle.bytesWritten) - Number(handle.writeQueueSize) : Number.NaN;
}
