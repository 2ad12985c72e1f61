// One forwarded request and its answer: counts the body, keeps the time limits, ends it exactly once.
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage, OutgoingMessage } from "node:http";
import type { Writable } from "node:stream";
import { AppError, isClientError, uncertain } from "@portico/shared/app-error";
import { discardBody } from "@portico/shared/discard-body";
import { hasBody } from "@portico/shared/has-body";
import { isQueryByPost } from "@portico/shared/method-override";
import { isSafe } from "@portico/shared/methods";
import type { NextFunction, Request, Response } from "express";
import { isLostAnswer, NO_VALID_ANSWER, notInTime } from "../upstream/upstream-error.js";
import type { CallOutcome } from "../upstream/watch-call.js";
import type { BodyLimit } from "./body-limit.js";
import type { FileRequest } from "./recent-files.js";
import { clientResponseHeaders } from "./response-headers.js";

export interface ExchangeLimits {
  readonly connectTimeoutMs: number;
  readonly answerTimeoutMs: number;
  readonly lingerMs: number;
  readonly bodyLimit: BodyLimit;
  /** How long the body may stand still, where it has no deadline. */
  readonly bodyStallMs: number | undefined;
}

export interface ExchangeTerms {
  readonly limits: ExchangeLimits;
  /** The moment (`performance.now`) by which the head of the answer must have come, if there is one. */
  readonly answerBy: number | undefined;
  /** Called once with how the exchange ended: when the head of the answer is there, or when there will be none. */
  readonly onEnd: (outcome: CallOutcome) => void;
  /** Replaces the token in the headers of the request; called once at most. @returns `answerBy` from then on */
  readonly renew: (() => Promise<number | undefined>) | undefined;
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
  #answerBy: ExchangeTerms["answerBy"];
  #renew: ExchangeTerms["renew"];
  #isRetried = false;
  #upstream: ClientRequest | undefined;
  #isConnected = false;
  /** Stops passing on the request's body. */
  #stopSending: (() => void) | undefined;
  #bodyBytes = 0;
  #settled = false;
  /** What the headers of the answer took the place of. */
  readonly #former: (readonly [name: string, value: ReturnType<Response["getHeader"]>])[] = [];
  #stopWaiting: (() => void) | undefined;

  constructor(
    request: Request,
    response: Response,
    next: NextFunction,
    { limits, answerBy, onEnd, renew, file }: ExchangeTerms,
  ) {
    this.#request = request;
    this.#response = response;
    this.#next = next;
    this.#limits = limits;
    this.#answerBy = answerBy;
    this.#onEnd = onEnd;
    this.#renew = renew;
    this.#file = file;
    response.once("close", () => this.#settle("cut off"));
  }

  /** Whether to send the request again. Safe once, when a reused socket closed before anything was answered. */
  takeRetry(): boolean {
    const { method } = this.#request;
    const isRead = method === "GET" || method === "HEAD";
    const isLeft = !this.#isRetried && isRead && this.canSendAgain && this.#upstream?.reusedSocket === true;
    this.#isRetried ||= isLeft;
    return isLeft;
  }

  /** Whether another token may be accepted where the one that was sent is not. */
  get canRenew(): boolean {
    return this.#renew !== undefined;
  }

  async renew(): Promise<void> {
    // What was sent has been refused, whatever comes of the new token.
    this.#isConnected = false;
    const renew = this.#renew;
    this.#renew = undefined;
    // An answer now would leave without the cookies of a refresh that may be done already; that has a limit of its own.
    this.#stopWaiting?.();
    this.#answerBy = await renew?.();
  }

  /** Whether the client still waits, and no part of a body has been sent yet. */
  get canSendAgain(): boolean {
    return !hasBody(this.#request.headers) && !this.#settled && !this.#response.destroyed;
  }

  /** A request without a body has no end to wait for. */
  get #isBodyLeft(): boolean {
    return hasBody(this.#request.headers) && !this.#request.readableEnded;
  }

  /** The upstream request has its socket: the body can be sent. */
  sending(upstream: ClientRequest): void {
    this.#upstream = upstream;
    this.#isConnected = false;
    // Over TLS nothing is handed over before both know each other.
    const ready = upstream.protocol === "https:" ? "secureConnect" : "connect";
    if (upstream.socket?.connecting === true) {
      this.#failAfter(this.#limits.connectTimeoutMs, (cause) => new AppError("BAD_GATEWAY", { cause }));
      upstream.socket.once(ready, () => this.#connected());
    } else this.#connected();
    if (this.#request.headers["transfer-encoding"] !== undefined) this.#countBody();
    if (this.#limits.bodyStallMs !== undefined) this.#watchBody(this.#limits.bodyStallMs);
    if (!hasBody(this.#request.headers)) upstream.end();
    else {
      this.#stopSending = passOn(this.#request, upstream, () => this.#watchTaking());
      setImmediate(sendHeadSoon, upstream);
    }
  }

  #connected(): void {
    this.#isConnected = true;
    this.#awaitAnswer();
  }

  /** The head of the answer is here. */
  answered(answer: IncomingMessage): void {
    const status = answer.statusCode ?? 0;
    if (this.#settled || !isForwardable(status)) {
      answer.destroy();
      const cause = new Error(`The data service answered with the status ${status}.`);
      this.fail(new AppError("BAD_GATEWAY", { message: NO_VALID_ANSWER, cause }));
      return;
    }
    // The client set no condition, so a 304 answers ours: the file is the one that we know.
    const known = status === 304 ? this.#file?.known : undefined;
    try {
      this.#writeHead(known === undefined ? status : 200, { ...answer.headers, ...known?.headers });
    } catch (cause) {
      // Nobody would catch it: this runs in an event of the upstream's socket.
      this.fail(cause);
      return;
    }
    this.#settle(status);
    // An upstream that answers early may stop reading, and one that refuses does. What the client still sends is thrown
    // away.
    if (status >= 400) this.#dropRest();
    else answer.once("end", () => this.#dropRest());
    answer.once("error", (cause) => this.#lose(cause, status));
    this.#file?.keep(answer);
    if (known === undefined) {
      passOn(answer, this.#response);
      setImmediate(sendHeadSoon, this.#response);
    } else {
      answer.resume();
      this.#response.end(known.body);
    }
  }

  /** Ends the exchange with a refusal, unless it has ended already. The cause goes to the log only. */
  fail(cause: unknown): void {
    if (this.#settled) return;
    // A refusal that is the client's fault says nothing about the data service.
    this.#settle(isClientError(cause) ? "cut off" : "failed");
    this.#refuse(cause, isLostAnswer(cause) && this.#mayBeDone);
  }

  /**
   * The answer broke off: as long as nothing of it has left, it is one that did not come. The library ends the connection then,
   * after the refusal has been written to it. Its status has come, and tells whether a write was refused, however much of the
   * request's body was sent.
   */
  #lose(cause: Error, status: number): void {
    if (this.#response.headersSent) return;
    for (const [name, value] of this.#former) {
      if (value === undefined) this.#response.removeHeader(name);
      else this.#response.setHeader(name, value);
    }
    this.#response.setHeader("Connection", "close");
    const isRefusal = status >= 400 && status < 500;
    this.#refuse(cause, this.#isWrite && !isRefusal);
  }

  #refuse(cause: unknown, isUncertain: boolean): void {
    this.#upstream?.destroy();
    if (this.#response.destroyed) return;
    this.#dropBody();
    const error = cause instanceof AppError ? cause : new AppError("BAD_GATEWAY", { cause });
    const why = cause instanceof AppError ? cause.message : "The connection to the data service broke.";
    this.#next(isUncertain ? uncertain(error.code, why, error) : error);
  }

  /** Whether the data service may have done what was asked for: a write that it has got, or the beginning of a lasting one. */
  get #mayBeDone(): boolean {
    const isSent = this.#isConnected && this.#upstream?.headersSent === true;
    const isWhole = !this.#isBodyLeft || this.#limits.bodyStallMs !== undefined;
    return isSent && isWhole && this.#isWrite;
  }

  get #isWrite(): boolean {
    return !isSafe(this.#request.method) && !isQueryByPost(this.#request);
  }

  #settle(outcome: CallOutcome): void {
    if (!this.#settled) this.#onEnd(outcome);
    this.#settled = true;
    this.#stopWaiting?.();
  }

  get #answerTimeoutMs(): number {
    const { answerTimeoutMs } = this.#limits;
    if (this.#answerBy === undefined) return answerTimeoutMs;
    return Math.min(answerTimeoutMs, Math.max(0, Math.ceil(this.#answerBy - performance.now())));
  }

  /** No limit on a download in progress: the time runs from the end of the request to the first byte. */
  #awaitAnswer(): void {
    this.#stopWaiting?.();
    const start = (): void => this.#failAfter(this.#answerTimeoutMs, notInTime);
    if (!this.#isBodyLeft) start();
    else this.#request.once("end", () => this.#settled || start());
  }

  /** @param isStuck asked whenever nothing has moved for `stallMs`: whether that is too long */
  #watchBody(stallMs: number, isStuck = (): boolean => true): void {
    const stalled = whenLate(stallMs, () => {
      if (!isStuck()) return stalled.restart();
      // Else it is the client who is slow, and the log has nothing to say of the data service.
      const cause = this.#isUntaken ? nothingFor(stallMs) : undefined;
      this.fail(new AppError("QUERY_TIMEOUT", { message: "The body stood still for too long.", cause }));
    });
    this.#request.on("data", stalled.restart).once("end", stalled.stop);
    this.#response.once("close", stalled.stop);
  }

  /** What is here of the body waits for the data service: all of it, or as much as can come before that takes some. */
  get #isUntaken(): boolean {
    return this.#request.complete || this.#upstream?.writableNeedDrain === true;
  }

  /**
   * For a data service that takes no more of a body: its end, from which the wait for the answer is measured, never comes, and
   * the body's deadline would cut the client, who is not to blame.
   */
  #watchTaking(): void {
    this.#watchBody(this.#answerTimeoutMs, () => this.#isUntaken);
  }

  /** @param error gets a cause, without which the log would not say why there was no answer */
  #failAfter(milliseconds: number, error: (cause: Error) => AppError): void {
    if (this.#settled) return;
    this.#stopWaiting?.();
    this.#stopWaiting = whenLate(milliseconds, () => this.fail(error(nothingFor(milliseconds)))).stop;
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
    // Cookies were set on the way here: no cache may keep this answer, whatever the data service says about it.
    const isStorable = !/\bno-store\b/.test(headers["cache-control"] ?? "");
    if (isStorable && response.hasHeader("Set-Cookie")) delete headers["cache-control"];
    response.statusCode = status;
    // Not Express's `set`, which would add a charset: the data service's headers are passed on as they are.
    for (const [name, value] of Object.entries(headers)) {
      this.#former.push([name, response.getHeader(name)]);
      response.setHeader(name, value);
    }
    if (vary !== undefined) response.vary(vary);
  }
}

/** The cause, for the log, of a refusal that the data service is to blame for. */
function nothingFor(milliseconds: number): Error {
  return new Error(`The data service did nothing for ${milliseconds} ms.`);
}

/**
 * Acts when a time is over and nothing has come. Node runs its timers before it reads its sockets: if the process was held up,
 * the data may already be there, so this looks once more.
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
 * Passes a body on. One that came together with its head, as most do, is sent in one piece: a pipe would take longer than
 * everything else.
 * @param onParts called when it comes in parts
 * @returns stops it; what comes after that is left to others
 */
function passOn(source: IncomingMessage, destination: Writable, onParts?: () => void): () => void {
  const length = Number(source.headers["content-length"]);
  let whole: Buffer | undefined;
  const end = (): void => {
    if (!destination.destroyed) destination.end(whole);
  };
  const begin = (piece: Buffer): void => {
    // An earlier listener may have ended it because of this very piece.
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

/** Some clients send the body right after the head; refusing them before it has come would cost a connection each. */
const BODY_SOON_MS = 50;

/**
 * The head goes ahead of a body that is not here soon: a client that is refused by its head need not send a body first, and
 * one whose answer is long in the making knows that it comes.
 */
function sendHeadSoon(message: OutgoingMessage): void {
  const isDue = (): boolean => !message.headersSent && !message.destroyed;
  if (isDue()) setTimeout(() => isDue() && message.flushHeaders(), BODY_SOON_MS);
}

/** 304 is an answer; any other 3xx would send us, or the client, to an unchecked address. */
function isForwardable(status: number): boolean {
  const isRedirect = status >= 300 && status < 400 && status !== 304;
  return status >= 200 && status < 600 && !isRedirect;
}
