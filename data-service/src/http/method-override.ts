// A POST that stands for a QUERY is one for everything that follows.
import { isQueryByPost, refuseOtherOverride } from "@portico/shared/method-override";
import type { RequestHandler } from "express";

/** Mount it before authentication: what may pass as a safe method must then also act as one. @throws AppError 400 */
export const methodOverride: RequestHandler = (request, _response, next) => {
  refuseOtherOverride(request);
  if (isQueryByPost(request)) request.method = "QUERY";
  next();
};
