// Refuses writes while the disk under the embedded database is nearly full: the engine ends the process when it is.
import { beside } from "@portico/shared/beside";
import type { Request, RequestHandler, Response } from "express";
import { type Disk, nearlyFull, type RequireSpace } from "../space-check.js";
import { isMultipart, searchOf } from "./request-parts.js";

export interface FreeSpaceDeps extends Disk {
  /** Larger bodies are refused by their routes as soon as they are announced, so they need no space. */
  readonly largestBodyBytes: number;
  /** Files go to a bucket, so that bodies with one need no space: the little text beside it is in the reserve. */
  readonly keepsNoFiles: boolean;
}

/** How long one look at the disk counts. */
const FRESH_MS = 1_000;
/** Reads still pass, and so does everything that frees space. */
const REFUSED = ["POST", "PUT", "PATCH"];

/**
 * How often the bytes of a record are written until the next checkpoint: into the engine's journal and into its table, and the
 * same for its history and for the changes of the table. Measured: twice for a table with neither, six times with both.
 */
const WRITTEN_TIMES = 6;

/** How a request is let through once its body is here. */
const arriving = beside<Request, (bytes: number) => Promise<void>>();

/** Mount it behind the sign-in routes and the method override. @throws AppError SERVICE_UNAVAILABLE */
export function requireFreeSpace(deps: FreeSpaceDeps): RequestHandler {
  let lookedAt = Number.NEGATIVE_INFINITY;
  let seen = Promise.resolve(Number.POSITIVE_INFINITY);
  // What was let through and the last look can't have seen: of these requests, some have been answered since.
  let [unseen, answered] = [0, 0];
  const look = async (): Promise<number> => {
    const [began, visible] = [performance.now(), answered];
    // Nobody looks beside it: two would take off the same bytes, and the disk would seem to have more room for ever.
    lookedAt = Number.POSITIVE_INFINITY;
    try {
      const free = await deps.free();
      unseen -= visible;
      answered -= visible;
      // Not the time of day, which may be set back: the last look would count until it has caught up.
      lookedAt = began;
      return free;
    } catch (error) {
      lookedAt = Number.NEGATIVE_INFINITY;
      throw error;
    }
  };
  const freeNow = (): Promise<number> => {
    if (performance.now() - lookedAt >= FRESH_MS) seen = look();
    return seen;
  };
  const requireRoom = (free: number, bytes: number): void => {
    if (free - unseen - bytes < deps.reserveBytes) throw nearlyFull();
  };
  return async (request, response, next) => {
    if (!REFUSED.includes(request.method) || isDryRun(request)) return next();
    requireRoom(await freeNow(), neededFor(request, deps));
    // Only then: who sends slowly must not keep others from writing.
    arriving.set(request, async (bytes) => {
      const written = bytes * WRITTEN_TIMES;
      requireRoom(await freeNow(), written);
      unseen += written;
      onceHandled(response, () => {
        answered += written;
      });
    });
    next();
  };
}

/** A client that goes away ends nothing that has begun: its request is over when it is answered, even if nobody gets that. */
function onceHandled(response: Response, act: () => void): void {
  const look = (): void => {
    if (response.writableEnded || response.headersSent) act();
    else setTimeout(look, FRESH_MS).unref();
  };
  if (response.destroyed) look();
  else response.once("close", look);
}

/** For a body that is here: it counts until it is answered. @throws AppError SERVICE_UNAVAILABLE */
export async function requireSpaceFor(request: Request, bytes: number): Promise<void> {
  await arriving.get(request)?.(bytes);
}

/** What a request says about its body beforehand. Imports and uploads look at the disk again while they are written. */
function neededFor(request: Request, { largestBodyBytes, keepsNoFiles }: FreeSpaceDeps): number {
  if (keepsNoFiles && isMultipart(request)) return 0;
  const announced = Number(request.headers["content-length"] ?? 0);
  return announced > largestBodyBytes ? 0 : announced;
}

/** Deletes need less room, and not what ends sessions and tokens: mount it behind those. @throws AppError SERVICE_UNAVAILABLE */
export function requireSpaceToDelete(requireSpace: RequireSpace): RequestHandler {
  return async (request, _response, next) => {
    if (request.method === "DELETE" && !isDryRun(request)) await requireSpace("deleting");
    next();
  };
}

/** It writes nothing: a call that knows no dry run refuses the parameter, before anything else. */
function isDryRun(request: Request): boolean {
  return new URLSearchParams(searchOf(request)).get("dryRun") === "true";
}
