// Cuts answers that nobody reads: each holds a place of MAX_IN_FLIGHT, and perhaps a cursor, for as long as it lasts.
import type { RequestHandler } from "express";
import type { EnvReader } from "./env.js";

/**
 * Long, because only what leaves the system's buffers shows: Linux reports none of it before a third of a buffer is
 * free, which may be 1.4 MB. Whoever takes 2.5 KB a second is seen to read in this time; in one minute it takes 25.
 */
const DEFAULT_MS = 600_000;

export interface AnswerLimits {
  /** ANSWER_STALL_MS: how long a client may read nothing of an answer that is waiting for it; 0 = as long as it likes. */
  readonly answerStallMs: number;
}

export function readAnswerLimits(reader: EnvReader): AnswerLimits {
  return { answerStallMs: reader.integer("ANSWER_STALL_MS", DEFAULT_MS, { min: 0, max: 86_400_000 }) };
}

/** Mount it before whatever answers. The time starts again with every byte that the client reads. */
export function cutUnread({ answerStallMs }: AnswerLimits): RequestHandler {
  return (_request, response, next) => {
    if (answerStallMs > 0) {
      // Node's own timer of the connection, which also knows of a large piece that goes bit by bit. It says as well that
      // nothing has come to be sent: a query may take its time.
      response.setTimeout(answerStallMs, () => {
        if ((response.socket?.writableLength ?? 0) > 0) response.destroy();
      });
    }
    next();
  };
}
