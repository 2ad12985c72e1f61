// Refuses writes while the disk under the embedded database is nearly full: the engine ends the process when it is.
import { beside } from "@portico/shared/beside";
import type { Request, RequestHandler, Response } from "express";
import { type AnnouncedSpace, type RequireSpace, WRITTEN_TIMES } from "../space-check.js";
import { isMultipart, searchOf } from "./request-parts.js";

export interface FreeSpaceDeps {
  readonly announced: Pick<AnnouncedSpace, "require" | "announce">;
  /** Larger bodies are refused by their routes as soon as they are announced, so they need no space. */
  readonly largestBodyBytes: number;
  /** Files go to a bucket, so that bodies with one need no space: the little text beside it is in the reserve. */
  readonly keepsNoFiles: boolean;
}

/** How often it is looked whether a request is over whose client has gone. */
const OVER_MS = 1_000;
/** Reads still pass, and so does everything that frees space. */
const REFUSED = ["POST", "PUT", "PATCH"];

/** How a request is let through once its body is here. */
const arriving = beside<Request, (bytes: number) => Promise<void>>();

/** Mount it behind the sign-in routes and the method override. @throws AppError SERVICE_UNAVAILABLE */
export function requireFreeSpace(deps: FreeSpaceDeps): RequestHandler {
  const { announced } = deps;
  return async (request, response, next) => {
    if (!REFUSED.includes(request.method) || isDryRun(request)) return next();
    await announced.require(neededFor(request, deps));
    // Only then: who sends slowly must not keep others from writing.
    arriving.set(request, async (bytes) => {
      onceHandled(response, await announced.announce(bytes * WRITTEN_TIMES));
    });
    next();
  };
}

/** A client that goes away ends nothing that has begun: its request is over when it is answered, even if nobody gets that. */
function onceHandled(response: Response, act: () => void): void {
  const look = (): void => {
    if (response.writableEnded || response.headersSent) act();
    else setTimeout(look, OVER_MS).unref();
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
