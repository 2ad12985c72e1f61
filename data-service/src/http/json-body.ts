// A request's JSON, from a sender who is still allowed to send it, while there is room for it: a slow body may outlast both.
import { jsonBody as reader } from "@portico/shared/json-body";
import type { RequestHandler } from "express";
import { recheckCaller } from "./authenticate.js";
import { requireSpaceFor } from "./free-space.js";

export { bodyOf } from "@portico/shared/json-body";

/** @param maxBytes a larger body is refused with 413 */
export function jsonBody(maxBytes: number): RequestHandler[] {
  return reader(maxBytes, async (request, bytes) => {
    await recheckCaller(request);
    await requireSpaceFor(request, bytes);
  });
}
