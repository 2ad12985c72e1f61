// How the access token of a request is replaced, when it is about to expire: looks whether the body has come.
import type { IncomingMessage } from "node:http";
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import type { RouteKind } from "../http/media-type.js";
import { decideRenewal, type Renewal } from "./decide-renewal.js";

/** A small body comes with the head or right behind it; one that does not may stall, and be cut with its answer. */
const SOON_MS = 100;
const LOOK_EVERY_MS = 10;

/** @param pageOrigins whose pages are served */
export async function chooseRenewal(
  body: RouteKind,
  request: IncomingMessage,
  pageOrigins: readonly string[],
): Promise<Renewal> {
  if (decideRenewal(body, request.headers, pageOrigins) === "borrow") return "borrow";
  return (await comesSoon(request)) ? "refresh" : "borrow";
}

/** Nothing is read from it: that is for the handler behind. */
async function comesSoon(request: IncomingMessage): Promise<boolean> {
  // Node reads no further than its buffer holds until somebody takes it.
  const isHere = (): boolean => request.complete || request.readableLength >= request.readableHighWaterMark;
  const until = performance.now() + SOON_MS;
  // What has come with the head counts as here once Node is through with this turn.
  await nextTurn();
  while (!isHere() && performance.now() < until) await delay(LOOK_EVERY_MS);
  // Node runs its timers before it reads its sockets: what has come meanwhile is seen only now.
  if (!isHere()) await nextTurn();
  return isHere();
}
