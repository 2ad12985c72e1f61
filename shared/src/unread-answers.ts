// Cuts answers that nobody reads: each holds a place of MAX_IN_FLIGHT, and perhaps a cursor, for as long as it lasts.
import type { RequestHandler } from "express";
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

/** Mount it before whatever answers. The time starts again with every byte that the client reads. */
export function cutUnread({ answerStallMs }: AnswerLimits): RequestHandler {
  return (_request, response, next) => {
    if (answerStallMs > 0) {
      // Node's own timer of the connection, which also notices a large piece that is sent bit by bit. It fires as well when
      // there is nothing to send yet: a query may take its time.
      response.setTimeout(answerStallMs, () => {
        if ((response.socket?.writableLength ?? 0) > 0) response.destroy();
      });
    }
    next();
  };
}
