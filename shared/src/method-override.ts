// `X-HTTP-Method-Override`, for clients that can't send every method (contract, section 4). It turns a POST into a QUERY and
// does nothing else: any other override would let a request pass as something that it is not.
import type { IncomingMessage } from "node:http";
import { AppError } from "./app-error.js";
import { isSafe } from "./methods.js";

type Line = Pick<IncomingMessage, "method" | "headers">;

/** Whether a POST stands for a QUERY. */
export function isQueryByPost({ method, headers }: Line): boolean {
  return method === "POST" && headers["x-http-method-override"] === "QUERY";
}

/**
 * The refusal of every other override of an unsafe method: something other than what was asked for would be done. A safe
 * method changes nothing, so there the header is ignored.
 */
export function otherOverride(request: Line): AppError | undefined {
  const { method = "", headers } = request;
  if (headers["x-http-method-override"] === undefined || isSafe(method) || isQueryByPost(request))
    return undefined;
  return new AppError(
    "BAD_REQUEST",
    "X-HTTP-Method-Override: can only make a POST a QUERY, in capitals; send any other method by its name.",
  );
}

/** @throws AppError 400 for every other override of an unsafe method */
export function refuseOtherOverride(request: Line): void {
  const refusal = otherOverride(request);
  if (refusal !== undefined) throw refusal;
}
