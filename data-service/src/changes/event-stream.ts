// Server-sent events over one answer (WHATWG HTML, section 9.2), no faster than the client reads.
import type { Response } from "express";
import { drained } from "../drained.js";
import type { SlowAnswers } from "../http/slow-answers.js";
import type { EndReason } from "./streams.js";

/** How soon a browser reconnects after the connection is cut. */
const RETRY_MS = 1_000;
/**
 * An event is sent in pieces of about so many characters: a client that takes one after the other reads, however long the whole
 * takes. Many may be sent the same text, of which only a piece is encoded for each.
 */
const PIECE = 64 * 1024;

export interface ServerSentEvent {
  readonly event: string;
  readonly id: string;
  /** As JSON, in parts: several events may have one in common. */
  readonly data: readonly string[];
}

export class EventStream {
  readonly #response: Response;
  readonly #patienceMs: number;
  readonly #over: AbortSignal;
  readonly #slow: SlowAnswers;

  /**
   * @param patienceMs how long a client may leave everything unread
   * @param over aborted when nothing more is to be told
   * @param slow counts what is held for clients that are slow
   */
  constructor(response: Response, patienceMs: number, over: AbortSignal, slow: SlowAnswers) {
    this.#response = response;
    this.#patienceMs = patienceMs;
    this.#over = over;
    this.#slow = slow;
  }

  /** Sends the head at once: the client must know that the stream is open. */
  open(): void {
    this.#response
      .status(200)
      .set({
        "Content-Type": "text/event-stream",
        "Cache-Control": "no-store, no-transform",
        // Otherwise proxies like nginx would hold back events until a buffer is full.
        "X-Accel-Buffering": "no",
      })
      .flushHeaders();
    this.#response.write(`retry: ${RETRY_MS}\n\n`);
  }

  /** @returns false when the client has gone or was cut off, or has not read for too long, or the stream is over */
  async send(event: ServerSentEvent): Promise<boolean> {
    const response = this.#response;
    const pieces = piecesOf(event);
    let endWatch: (() => void) | undefined;
    for (const piece of pieces) {
      if (response.destroyed) return false;
      if (response.write(piece)) continue;
      // The whole text is held for as long as some of it is left: to the end of the answer, where the stream ends with it.
      endWatch ??= this.#slow.watch(response, () => lengthOf(event));
      if ((await drained(response, this.#patienceMs)) && !this.#over.aborted) continue;
      // Whatever comes next must come behind the whole event.
      for (const rest of pieces) if (!response.destroyed) response.write(rest);
      return false;
    }
    endWatch?.();
    return true;
  }

  /**
   * Keeps the connection open and the client's position recent, without an event for the client's code. Left out where the
   * client has enough to read, as in the middle of an event.
   */
  beat(id: string): void {
    if (this.#response.destroyed || this.#response.writableNeedDrain) return;
    this.#response.write(`: still here\nid: ${id}\n\n`);
  }

  /** The last event, and the end. A client that does not read it is cut off. */
  end(reason: EndReason): void {
    const response = this.#response;
    if (response.destroyed) return;
    response.end(`event: end\ndata: ${JSON.stringify({ reason })}\n\n`);
    const cut = setTimeout(() => response.destroy(), this.#patienceMs).unref();
    response.once("close", () => clearTimeout(cut));
  }
}

function lengthOf({ data }: ServerSentEvent): number {
  return data.reduce((sum, { length }) => sum + length, 0);
}

function* piecesOf({ event, id, data }: ServerSentEvent): Generator<string> {
  let piece = `event: ${event}\nid: ${id}\ndata: `;
  // Outside of its strings JSON needs no line breaks, and inside it escapes them.
  for (const part of [...data, "\n\n"])
    for (let at = 0; at < part.length; ) {
      const end = pieceEnd(part, at);
      piece += part.slice(at, end);
      at = end;
      if (piece.length < PIECE) continue;
      yield piece;
      piece = "";
    }
  if (piece !== "") yield piece;
}

/** Not between the halves of a character, which could not be encoded alone. */
function pieceEnd(text: string, from: number): number {
  const end = Math.min(from + PIECE, text.length);
  const isBetween = (text.charCodeAt(end - 1) & 0xfc00) === 0xd800;
  return isBetween ? end - 1 : end;
}
