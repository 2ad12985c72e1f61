// Refuses writes while the disk under the embedded database is nearly full: the engine ends the process when it is.
import type { Request, RequestHandler } from "express";
import { type Disk, nearlyFull, type RequireSpace } from "../space-check.js";
import { isMultipart } from "./request-parts.js";

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

/** Mount it behind the sign-in routes and the method override. @throws AppError SERVICE_UNAVAILABLE */
export function requireFreeSpace(deps: FreeSpaceDeps): RequestHandler {
  let lookedAt = Number.NEGATIVE_INFINITY;
  let bytes = Number.POSITIVE_INFINITY;
  return async (request, _response, next) => {
    if (!REFUSED.includes(request.method)) return next();
    // Not the time of day, which may be set back: the last look would count until it has caught up.
    const now = performance.now();
    if (now - lookedAt >= FRESH_MS) {
      lookedAt = now;
      bytes = await deps.free();
    }
    if (bytes - neededFor(request, deps) >= deps.reserveBytes) return next();
    throw nearlyFull();
  };
}

/** Deletes need less room, and not what ends sessions and tokens: mount it behind those. @throws AppError SERVICE_UNAVAILABLE */
export function requireSpaceToDelete(requireSpace: RequireSpace): RequestHandler {
  return async ({ method }, _response, next) => {
    if (method === "DELETE") await requireSpace("deleting");
    next();
  };
}

function neededFor(request: Request, { largestBodyBytes, keepsNoFiles }: FreeSpaceDeps): number {
  if (keepsNoFiles && isMultipart(request)) return 0;
  const announced = Number(request.headers["content-length"] ?? 0);
  return announced > largestBodyBytes ? 0 : announced;
}
