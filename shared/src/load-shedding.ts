// Refuses requests at once while the process has more than it can handle, so that those it has accepted still get answered.
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Request, RequestHandler, Response } from "express";
import { unavailable } from "./app-error.js";
import type { EnvReader } from "./env.js";
import { isEventStream } from "./event-stream.js";
import { hasBody } from "./has-body.js";
import { LinkedSet } from "./linked-set.js";
import { SlowBodies } from "./slow-bodies.js";
import { SlowReaders } from "./slow-readers.js";
import { type Waiting, WaitingRequests } from "./waiting-requests.js";

export interface OverloadLimits {
  /** MAX_IN_FLIGHT: requests in progress at once; 0 = no limit. */
  readonly maxInFlight: number;
  /** MAX_EVENT_LOOP_DELAY_MS: how late the event loop may run on average; 0 = no limit. */
  readonly maxEventLoopDelayMs: number;
  /** MAX_WAIT_MS: how long a request may have to wait for the ones ahead of it; 0 = no limit. */
  readonly maxWaitMs: number;
}

export const OVERLOADS = ["in_flight", "event_loop", "waiting", "slow_bodies", "slow_readers"] as const;

export type Overload = (typeof OVERLOADS)[number];

/** Up to this many are never too many: if they wait long, they are slow in themselves. */
const FEW = 100;
/** Of what is too many, one client's requests are no more than this part to others: beyond it, they wait for each other. */
const PART_OF_ONE = 1 / 4;
/** How often to check which answers have begun. */
const LOOK_MS = 200;

/** A request that waits longer is not just waiting in a queue with limits of its own. */
const QUEUED_MS = 4_000;

/** How often the delay of the event loop is read; a single long pause disappears in the mean. */
const SAMPLE_MS = 500;
const RETRY_AFTER_SECONDS = 2;

export function readOverloadLimits(reader: EnvReader): OverloadLimits {
  return {
    maxInFlight: reader.integer("MAX_IN_FLIGHT", 1_000, { min: 0, max: 1_000_000 }),
    maxEventLoopDelayMs: reader.integer("MAX_EVENT_LOOP_DELAY_MS", 1_000, { min: 0, max: 60_000 }),
    maxWaitMs: reader.integer("MAX_WAIT_MS", 1_000, { min: 0, max: 60_000 }),
  };
}

/** A request whose body is not read yet, and what to do when it has come. */
interface Coming {
  readonly request: Request;
  readonly take: () => void;
}

export interface ShedOptions {
  /** Told of each request that was refused, or cut off as one slow client too many. */
  readonly onShed: (why: Overload) => void;
  /** Paths whose requests wait in a queue with limits of its own, as passwords do: that wait says nothing about the others. */
  readonly queued: ReadonlySet<string>;
  /** Whose a request is: nothing that a client can make up. */
  readonly clientOf: (request: Request) => string;
}

/**
 * Mount it behind the health routes, which an overloaded process must still answer.
 * @throws AppError SERVICE_UNAVAILABLE with `Retry-After`
 */
export function shedLoad(limits: OverloadLimits, { onShed, queued, clientOf }: ShedOptions): RequestHandler {
  const delayMs = limits.maxEventLoopDelayMs > 0 ? watchEventLoop() : () => 0;
  const waiting = new WaitingRequests<Response>();
  const inFlight = new LinkedSet<Response>();
  const mostSlow = limits.maxInFlight > 0 ? limits.maxInFlight : Number.POSITIVE_INFINITY;
  const slowBodies = new SlowBodies(mostSlow);
  const slowReaders = new SlowReaders(mostSlow);
  /** Asked again and again until it is so. */
  const hasBegun = (response: Response): boolean => {
    if (!response.headersSent) return false;
    const giveUpPlace = (): void => void inFlight.delete(response);
    // Whoever listens asks for nothing more; how many may listen is another limit.
    if (isEventStream(response)) giveUpPlace();
    else slowReaders.watch(response, giveUpPlace, () => onShed("slow_readers"));
    return true;
  };
  const coming = new LinkedSet<Coming>();
  setInterval(() => {
    // Not everybody reads a body that has come.
    for (const { request, take } of coming) if (request.complete) take();
    waiting.endWhere(hasBegun, performance.now());
  }, LOOK_MS).unref();
  return (request, response, next) => {
    const client = clientOf(request);
    const why = decideOverload(limits, {
      inFlight: inFlight.size,
      delayMs: delayMs(),
      waiting: waiting.look(performance.now()),
      before: (mostOfAnother) => waiting.before(client, mostOfAnother),
    });
    if (why !== undefined) {
      onShed(why);
      throw unavailable("The service is overloaded; try again in a moment.", RETRY_AFTER_SECONDS);
    }
    response.once("close", () => {
      coming.delete(body);
      inFlight.delete(response);
      waiting.end(response, response.headersSent, performance.now());
    });
    const count = (): void => waiting.begin(response, client, performance.now());
    // A trailing slash makes no difference.
    const isQueued = queued.has(request.path.replace(/\/$/, ""));
    const wait = isQueued ? () => ifStillOpen(response, QUEUED_MS, count) : count;
    const take = (): void => {
      request.off("end", take);
      coming.delete(body);
      if (response.destroyed) return;
      inFlight.add(response);
      wait();
    };
    const body = { request, take };
    // A body takes as long as its sender needs: clients that are still sending must not take the places of those that can be
    // answered.
    if (hasBody(request.headers)) {
      coming.add(body);
      request.once("end", take);
      slowBodies.watch(request, response, () => onShed("slow_bodies"));
    } else take();
    next();
  };
}

function ifStillOpen(response: Response, milliseconds: number, act: () => void): void {
  const timer = setTimeout(act, milliseconds).unref();
  response.once("close", () => clearTimeout(timer));
}

/** What is in progress, without the request that asks. */
interface Load {
  readonly inFlight: number;
  readonly delayMs: number;
  readonly waiting: Waiting;
  /** Of those waiting, how many are before it, if of each other client only so many count. */
  readonly before: (mostOfAnother: number) => number;
}

export function decideOverload(
  { maxInFlight, maxEventLoopDelayMs, maxWaitMs }: OverloadLimits,
  now: Load,
): Overload | undefined {
  if (maxInFlight > 0 && now.inFlight >= maxInFlight) return "in_flight";
  if (maxEventLoopDelayMs > 0 && now.delayMs > maxEventLoopDelayMs) return "event_loop";
  return maxWaitMs > 0 && isTooMuch(now, maxWaitMs) ? "waiting" : undefined;
}

/**
 * A new request waits until those before it are answered: their number, at the rate of the last second (Little's law). A
 * burst is accepted as a whole as long as nobody has waited long. One client with many slow requests must not have everybody
 * refused: most of these wait for each other.
 */
function isTooMuch({ waiting, before }: Load, maxWaitMs: number): boolean {
  const { oldestMs, answeredPerSecond } = waiting;
  const tooMany = Math.max(FEW, (answeredPerSecond * maxWaitMs) / 1_000);
  return oldestMs > maxWaitMs && before(tooMany * PART_OF_ONE) >= tooMany;
}

/** @returns the mean delay of the last half second, in milliseconds */
function watchEventLoop(): () => number {
  const delays = monitorEventLoopDelay();
  delays.enable();
  let mean = 0;
  setInterval(() => {
    mean = delays.count === 0 ? 0 : delays.mean / 1e6;
    delays.reset();
  }, SAMPLE_MS).unref();
  return () => mean;
}
