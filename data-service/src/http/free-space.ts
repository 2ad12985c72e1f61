// Refuses writes while the disk under the embedded database is nearly full: the engine ends the process when it is.
import { isJsonType } from "@portico/shared/json-type";
import type { Request, RequestHandler } from "express";
import { type Disk, nearlyFull, type RequireSpace } from "../space-check.js";
import { isMultipart } from "./request-parts.js";

export interface FreeSpaceDeps extends Disk {
  /** BODY_MAX_BYTES */
  readonly bodyMaxBytes: number;
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

/** Mount it behind the sign-in routes and the method override. @throws AppError SERVICE_UNAVAILABLE */
export function requireFreeSpace(deps: FreeSpaceDeps): RequestHandler {
  let lookedAt = Number.NEGATIVE_INFINITY;
  let seen = Promise.resolve(Number.POSITIVE_INFINITY);
  // What was let through and the last look can't have seen: of these requests, some have been answered since.
  let [unseen, answered] = [0, 0];
  const look = async (): Promise<number> => {
    const visible = answered;
    const free = await deps.free();
    unseen -= visible;
    answered -= visible;
    return free;
  };
  return async (request, response, next) => {
    if (!REFUSED.includes(request.method)) return next();
    // Not the time of day, which may be set back: the last look would count until it has caught up.
    const now = performance.now();
    if (now - lookedAt >= FRESH_MS) {
      lookedAt = now;
      seen = look();
    }
    const free = await seen;
    const ofRecords = recordBytes(request, deps) * WRITTEN_TIMES;
    if (free - unseen - ofRecords - otherBytes(request, deps) < deps.reserveBytes) throw nearlyFull();
    unseen += ofRecords;
    response.once("close", () => {
      answered += ofRecords;
    });
    next();
  };
}

/** A body of records, which is written when all of it has come. Larger ones are refused by their routes. */
function recordBytes({ headers }: Request, { bodyMaxBytes }: FreeSpaceDeps): number {
  if (!isJsonType(headers["content-type"])) return 0;
  const { "transfer-encoding": chunked, "content-length": length = 0 } = headers;
  const bytes = chunked === undefined ? Number(length) : bodyMaxBytes;
  return bytes > bodyMaxBytes ? 0 : bytes;
}

/** Imports and uploads are written as they come, and look at the disk meanwhile: so that they count for nobody else. */
function otherBytes(request: Request, { largestBodyBytes, keepsNoFiles }: FreeSpaceDeps): number {
  if (isJsonType(request.headers["content-type"]) || (keepsNoFiles && isMultipart(request))) return 0;
  const announced = Number(request.headers["content-length"] ?? 0);
  return announced > largestBodyBytes ? 0 : announced;
}

/** Deletes need less room, and not what ends sessions and tokens: mount it behind those. @throws AppError SERVICE_UNAVAILABLE */
export function requireSpaceToDelete(requireSpace: RequireSpace): RequestHandler {
  return async ({ method }, _response, next) => {
    if (method === "DELETE") await requireSpace("deleting");
    next();
  };
}
