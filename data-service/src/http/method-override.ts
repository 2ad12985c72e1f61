// Makes a POST that stands for a QUERY look like one to everything that follows.
import { isQueryByPost, refuseOtherOverride } from "@portico/shared/method-override";
import type { RequestHandler } from "express";

/** Mount it before authentication: a request that may pass as safe must then be treated as such. @throws AppError 400 */
export const methodOverride: RequestHandler = (request, _response, next) => {
  refuseOtherOverride(request);
  if (isQueryByPost(request)) request.method = "QUERY";
  next();
};
