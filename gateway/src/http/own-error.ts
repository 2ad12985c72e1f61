// Whether an error that came from the data service's address is its own. Pure.
import type { IncomingHttpHeaders } from "node:http";
import { CORRELATION_HEADER } from "@portico/shared/correlation-id";

/**
 * Balancers speak JSON as well, but put no correlation id on it. Which id it is does not matter: something in between may give
 * requests others than we do.
 */
export function isOwnError(headers: IncomingHttpHeaders): boolean {
  const isJson = headers["content-type"]?.startsWith("application/json") === true;
  return isJson && headers[CORRELATION_HEADER] !== undefined;
}
