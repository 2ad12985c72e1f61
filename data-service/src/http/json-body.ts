// A request's JSON, from a sender who is still allowed to send it: a slow body may outlast sessions and rights.
import { jsonBody as reader } from "@portico/shared/json-body";
import type { RequestHandler } from "express";
import { recheckCaller } from "./authenticate.js";

export { bodyOf } from "@portico/shared/json-body";

/** @param maxBytes a larger body is refused with 413 */
export function jsonBody(maxBytes: number): RequestHandler[] {
  return reader(maxBytes, recheckCaller);
}
