// Server-sent events over one answer (WHATWG HTML, section 9.2), no faster than the client reads.
import type { Json } from "@portico/shared/json";
import type { Response } from "express";
import { drained } from "../drained.js";
import type { EndReason } from "./streams.js";

/** How soon a browser reconnects after the connection is cut. */
const RETRY_MS = 1_000;
/** An event is sent in pieces of so many bytes: a client that takes one after the other reads, however long the whole takes. */
const PIECE = 64 * 1024;

export interface ServerSentEvent {
  readonly event: string;
  readonly id?: string;
  readonly data: Json;
}

export class EventStream {
  readonly #response: Response;
  readonly #patienceMs: number;
  readonly #over: AbortSignal;

  /**
   * @param patienceMs how long a client may leave everything unread
   * @param over aborted when nothing more is to be told
   */
  constructor(response: Response, patienceMs: number, over: AbortSignal) {
    this.#response = response;
    this.#patienceMs = patienceMs;
    this.#over = over;
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

  /** @returns false when the client has gone, or has not read for too long, or the stream is over */
  send({ event, id, data }: ServerSentEvent): Promise<boolean> {
    const name = id === undefined ? "" : `id: ${id}\n`;
    // Outside of its strings JSON needs no line breaks, and inside it escapes them.
    return this.#write(Buffer.from(`event: ${event}\n${name}data: ${JSON.stringify(data)}\n\n`));
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

  async #write(bytes: Buffer): Promise<boolean> {
    const response = this.#response;
    for (let at = 0; at < bytes.length; at += PIECE) {
      if (response.destroyed) return false;
      if (response.write(bytes.subarray(at, at + PIECE))) continue;
      if ((await drained(response, this.#patienceMs)) && !this.#over.aborted) continue;
      // Whatever comes next must come behind the whole event.
      if (!response.destroyed) response.write(bytes.subarray(at + PIECE));
      return false;
    }
    return true;
  }
}
