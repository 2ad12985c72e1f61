// `X-HTTP-Method-Override`, for those who can't send a method by its name (contract, section 4). It makes a POST a QUERY and
// nothing else: any other override would let a request pass as what it is not.
import type { IncomingMessage } from "node:http";
import { AppError } from "./app-error.js";
import { isSafe } from "./safe-methods.js";

type Line = Pick<IncomingMessage, "method" | "headers">;

/** Whether a POST stands for a QUERY. */
export function isQueryByPost({ method, headers }: Line): boolean {
  return method === "POST" && headers["x-http-method-override"] === "QUERY";
}

/**
 * Refuses every other override of an unsafe method: what would be done is not what was asked for. With a safe method nothing
 * is done, so the header says nothing.
 * @throws AppError 400
 */
export function refuseOtherOverride(request: Line): void {
  const { method = "", headers } = request;
  if (headers["x-http-method-override"] === undefined || isSafe(method) || isQueryByPost(request)) return;
  throw new AppError(
    "BAD_REQUEST",
    "X-HTTP-Method-Override: can only make a POST a QUERY, in capitals; send any other method by its name.",
  );
}
