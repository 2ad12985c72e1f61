// One forwarded request and its answer: counts the body, keeps the time limits, ends it exactly once.
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Writable } from "node:stream";
import { AppError, isClientError } from "@portico/shared/app-error";
import { discardBody } from "@portico/shared/discard-body";
import { hasBody } from "@portico/shared/has-body";
import type { NextFunction, Request, Response } from "express";
import type { CallOutcome } from "../upstream/watch-call.js";
import type { BodyLimit } from "./body-limit.js";
import type { FileRequest } from "./recent-files.js";
import { clientResponseHeaders } from "./response-headers.js";

export interface ExchangeLimits {
  readonly connectTimeoutMs: number;
  readonly answerTimeoutMs: number;
  readonly lingerMs: number;
  readonly bodyLimit: BodyLimit;
  /** How long nothing may move of the body, where it has no deadline. */
  readonly bodyStallMs: number | undefined;
}

export interface ExchangeTerms {
  readonly limits: ExchangeLimits;
  /** Told once how the exchange ended, when the head of the answer is there or there will be none. */
  readonly onEnd: (outcome: CallOutcome) => void;
  /** Replaces the token in the headers of the request; asked once at most. */
  readonly renew: (() => Promise<void>) | undefined;
  /** Where a whole file is asked for. */
  readonly file: FileRequest | undefined;
}

export class Exchange {
  readonly #request: Request;
  readonly #response: Response;
  readonly #next: NextFunction;
  readonly #limits: ExchangeLimits;
  readonly #onEnd: ExchangeTerms["onEnd"];
  readonly #file: ExchangeTerms["file"];
  #renew: ExchangeTerms["renew"];
  #isRepeated = false;
  #upstream: ClientRequest | undefined;
  /** Ends the passing on of the request's body. */
  #stopSending: (() => void) | undefined;
  #bodyBytes = 0;
  #settled = false;
  #stopWaiting: (() => void) | undefined;

  constructor(
    request: Request,
    response: Response,
    next: NextFunction,
    { limits, onEnd, renew, file }: ExchangeTerms,
  ) {
    this.#request = request;
    this.#response = response;
    this.#next = next;
    this.#limits = limits;
    this.#onEnd = onEnd;
    this.#renew = renew;
    this.#file = file;
    response.once("close", () => this.#settle("cut off"));
  }

  /** Whether to ask once more, which can do no harm: nothing was answered, and the socket was an old one. Once only. */
  takeRepeat(): boolean {
    const { method } = this.#request;
    const isRead = method === "GET" || method === "HEAD";
    const isLeft = !this.#isRepeated && isRead && this.canSendAgain && this.#upstream?.reusedSocket === true;
    this.#isRepeated ||= isLeft;
    return isLeft;
  }

  /** Whether there may be a token that is believed, where the one that was sent is not. */
  get canRenew(): boolean {
    return this.#renew !== undefined;
  }

  async renew(): Promise<void> {
    const renew = this.#renew;
    this.#renew = undefined;
    await renew?.();
  }

  /** Whether somebody still waits, and no part of a body has gone already. */
  get canSendAgain(): boolean {
    return !hasBody(this.#request.headers) && !this.#settled && !this.#response.destroyed;
  }

  /** Of a request without a body nobody awaits the end. */
  get #isBodyLeft(): boolean {
    return hasBody(this.#request.headers) && !this.#request.readableEnded;
  }

  /** The upstream request has its socket: what it is to carry is sent. */
  sending(upstream: ClientRequest): void {
    this.#upstream = upstream;
    if (upstream.socket?.connecting === true) {
      this.#failAfter(this.#limits.connectTimeoutMs, () => new AppError("BAD_GATEWAY"));
      upstream.socket.once("connect", () => this.#awaitAnswer());
    } else this.#awaitAnswer();
    if (this.#request.headers["transfer-encoding"] !== undefined) this.#countBody();
    if (this.#limits.bodyStallMs !== undefined) this.#watchBody(this.#limits.bodyStallMs);
    if (!hasBody(this.#request.headers)) upstream.end();
    else {
      this.#stopSending = passOn(this.#request, upstream, () => this.#watchTaking());
      setImmediate(sendHeadSoon, upstream);
    }
  }

  /** The head of the answer is here. */
  answered(answer: IncomingMessage): void {
    const status = answer.statusCode ?? 0;
    if (this.#settled || !isForwardable(status)) {
      answer.destroy();
      this.fail(new Error(`The data service answered with the status ${status}.`));
      return;
    }
    // The client has set no condition: a 304 answers ours, and the file that is known is meant.
    const known = status === 304 ? this.#file?.known : undefined;
    try {
      this.#writeHead(known === undefined ? status : 200, { ...answer.headers, ...known?.headers });
    } catch (cause) {
      // Thrown further, it would reach nobody: this runs in an event of the upstream's socket.
      this.fail(cause);
      return;
    }
    this.#settle(status);
    // An upstream that answers early may read no further, and one that refuses does not: what the client still sends
    // is thrown away.
    if (status >= 400) this.#dropRest();
    else answer.once("end", () => this.#dropRest());
    this.#file?.keep(answer);
    if (known === undefined) passOn(answer, this.#response);
    else {
      answer.resume();
      this.#response.end(known.body);
    }
  }

  /** Ends the exchange with a refusal, unless it has ended already. The cause goes to the log only. */
  fail(cause: unknown): void {
    if (this.#settled) return;
    // A refusal of ours that is the client's fault says nothing of the data service.
    this.#settle(isClientError(cause) ? "cut off" : "failed");
    this.#upstream?.destroy();
    if (this.#response.destroyed) return;
    this.#dropBody();
    this.#next(cause instanceof AppError ? cause : new AppError("BAD_GATEWAY", { cause }));
  }

  #settle(outcome: CallOutcome): void {
    if (!this.#settled) this.#onEnd(outcome);
    this.#settled = true;
    this.#stopWaiting?.();
  }

  /** No limit on a download in progress: the time runs from the end of the request to the first byte. */
  #awaitAnswer(): void {
    this.#stopWaiting?.();
    const start = (): void =>
      this.#failAfter(
        this.#limits.answerTimeoutMs,
        () => new AppError("QUERY_TIMEOUT", "The data service did not answer in time."),
      );
    if (!this.#isBodyLeft) start();
    else this.#request.once("end", () => this.#settled || start());
  }

  /** @param isStuck whether nothing that moves is too long; asked again after as long */
  #watchBody(stallMs: number, isStuck = (): boolean => true): void {
    const stalled = whenLate(stallMs, () => {
      if (!isStuck()) return stalled.restart();
      this.fail(new AppError("QUERY_TIMEOUT", "Nothing of the body was taken for too long."));
    });
    this.#request.on("data", stalled.restart).once("end", stalled.stop);
    this.#response.once("close", stalled.stop);
  }

  /**
   * The client has sent all, and the data service takes no more of it: then the body's deadline is kept, and its end, from
   * which the answer is waited for, never comes.
   */
  #watchTaking(): void {
    this.#watchBody(this.#limits.answerTimeoutMs, () => this.#request.complete);
  }

  #failAfter(milliseconds: number, error: () => AppError): void {
    if (this.#settled) return;
    this.#stopWaiting?.();
    this.#stopWaiting = whenLate(milliseconds, () => this.fail(error())).stop;
  }

  #countBody(): void {
    const { bytes, refusal } = this.#limits.bodyLimit;
    this.#request.on("data", (chunk: Buffer) => {
      this.#bodyBytes += chunk.length;
      if (this.#bodyBytes > bytes) this.fail(new AppError("PAYLOAD_TOO_LARGE", refusal));
    });
  }

  #dropRest(): void {
    if (this.#isBodyLeft) this.#dropBody();
  }

  #dropBody(): void {
    this.#stopSending?.();
    discardBody(this.#request, this.#response, this.#limits.lingerMs);
  }

  #writeHead(status: number, upstream: IncomingHttpHeaders): void {
    const response = this.#response;
    const { vary, ...headers } = clientResponseHeaders(upstream);
    // Cookies were set on the way here: no cache may keep this answer, whatever the data service thinks of it.
    if (response.hasHeader("Set-Cookie")) delete headers["cache-control"];
    response.statusCode = status;
    // Not Express' `set`, which would add a charset: what the data service says is passed on as it is.
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (vary !== undefined) response.vary(vary);
  }
}

/**
 * Acts when a time is over and nothing has come. Node runs its timers before it looks what has come: where it was held up,
 * by others on the machine for instance, that may be there already, so it looks once more.
 */
function whenLate(milliseconds: number, act: () => void): { restart: () => void; stop: () => void } {
  let lastLook: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => (lastLook = setImmediate(act)), milliseconds);
  return {
    restart() {
      clearImmediate(lastLook);
      timer.refresh();
    },
    stop() {
      clearTimeout(timer);
      clearImmediate(lastLook);
    },
  };
}

/**
 * Hands a body on. One that is here with its head, as most are, is sent as it is: a pipe would take longer than all of
 * the rest.
 * @param onParts told when it comes in parts
 * @returns ends it; what comes after is left to others
 */
function passOn(source: IncomingMessage, destination: Writable, onParts?: () => void): () => void {
  const length = Number(source.headers["content-length"]);
  let whole: Buffer | undefined;
  const end = (): void => {
    if (!destination.destroyed) destination.end(whole);
  };
  const begin = (piece: Buffer): void => {
    // Whoever listened before may have ended it for this very piece.
    if (destination.destroyed) return;
    if (piece.length === length) whole = piece;
    else {
      source.off("end", end);
      destination.write(piece);
      source.pipe(destination);
      onParts?.();
    }
  };
  source.once("end", end).once("data", begin);
  return () => source.off("end", end).off("data", begin).unpipe(destination);
}

/** Some clients send a body right after its head; refused without it, they cost a connection each. */
const BODY_SOON_MS = 50;

/** Who is refused by the head need not send a body first: it goes ahead of one that is not here soon. */
function sendHeadSoon(upstream: ClientRequest): void {
  const isDue = (): boolean => !upstream.headersSent && !upstream.destroyed;
  if (isDue()) setTimeout(() => isDue() && upstream.flushHeaders(), BODY_SOON_MS);
}

/** 304 is an answer; every other 3xx would send us, or the client, somewhere unchecked. */
function isForwardable(status: number): boolean {
  const isRedirect = status >= 300 && status < 400 && status !== 304;
  return status >= 200 && status < 600 && !isRedirect;
}
