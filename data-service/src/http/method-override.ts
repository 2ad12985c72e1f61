// POST with `X-HTTP-Method-Override: QUERY` is QUERY for everything that follows (contract, section 4). No other
// override exists: it would let a POST pass as what it is not.
import type { RequestHandler } from "express";

/** Mount it before authentication: what may pass as a safe method must then also act as one. */
export const methodOverride: RequestHandler = (request, _response, next) => {
  if (request.method === "POST" && request.get("X-HTTP-Method-Override") === "QUERY")
    request.method = "QUERY";
  next();
};
