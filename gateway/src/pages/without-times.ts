// Files of which no time is told are not asked about times.
import type { RequestHandler } from "express";

/**
 * A file without a time has no answer to this condition, which is ignored then (RFC 9110, section 13.1.4); the library would
 * refuse the request.
 */
export const withoutTimes: RequestHandler = (request, _response, next) => {
  delete request.headers["if-unmodified-since"];
  next();
};
