// Writes answers: one record, or a list that may be far larger than memory.
import { once } from "node:events";
import { success } from "@portico/shared/envelope";
import type { Response } from "express";
import type { Json, JsonObject } from "../json.js";

/** Text is sent in pieces of about this many characters. */
const PIECE = 64 * 1024;

/** Answers with records that are all there. */
export function respond(response: Response, status: number, records?: readonly Json[]): void {
  response.status(status).json(success(status, records));
}

/**
 * Answers with records as they arrive, no faster than the client reads. Nothing is sent before the first record is
 * there, so that a query that fails at once still gets its error body.
 */
export async function respondWithList(
  response: Response,
  records: AsyncIterable<Json>,
  meta: JsonObject | undefined,
): Promise<void> {
  response.status(200).type("application/json");
  let pending = '{"statusCode":200,"message":"Success","data":[';
  let separator = "";
  for await (const record of records) {
    pending += separator + JSON.stringify(record);
    separator = ",";
    if (pending.length < PIECE) continue;
    if (!(await write(response, pending))) return;
    pending = "";
  }
  const end = meta === undefined ? "]}" : `],"meta":${JSON.stringify(meta)}}`;
  // A short answer goes out in one piece, with its length.
  response.headersSent ? response.end(pending + end) : response.send(pending + end);
}

/** False when the client has gone: then the loop ends, and with it the cursor. */
async function write(response: Response, text: string): Promise<boolean> {
  if (response.destroyed) return false;
  if (response.write(text)) return true;
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  response.once("close", leave);
  try {
    await once(response, "drain", { signal: gone.signal });
    return true;
  } catch {
    return false;
  } finally {
    response.off("close", leave);
  }
}
