// Refuses writes while the disk under the embedded database is nearly full: the engine ends the process when it is.
import type { RequestHandler } from "express";
import { type Disk, nearlyFull } from "../space-check.js";

export interface FreeSpaceDeps extends Disk {
  /** Larger bodies are refused by their routes as soon as they are announced, so they need no space. */
  readonly largestBodyBytes: number;
}

/** How long one look at the disk counts. */
const FRESH_MS = 1_000;
/** Reads still pass, and so does everything that frees space. */
const REFUSED = ["POST", "PUT", "PATCH"];

/** Mount it behind the sign-in routes and the method override. @throws AppError SERVICE_UNAVAILABLE */
export function requireFreeSpace({ free, reserveBytes, largestBodyBytes }: FreeSpaceDeps): RequestHandler {
  let lookedAt = Number.NEGATIVE_INFINITY;
  let bytes = Number.POSITIVE_INFINITY;
  return async (request, _response, next) => {
    if (!REFUSED.includes(request.method)) return next();
    // Not the time of day, which may be set back: the last look would count until it has caught up.
    const now = performance.now();
    if (now - lookedAt >= FRESH_MS) {
      lookedAt = now;
      bytes = await free();
    }
    const announced = Number(request.headers["content-length"] ?? 0);
    const needed = announced > largestBodyBytes ? 0 : announced;
    if (bytes - needed >= reserveBytes) return next();
    throw nearlyFull();
  };
}
