// The rule of calls that take no parameter in their address, for both services.
import type { RequestHandler } from "express";
import { ownParameters, refuseParameter } from "./own-parameters.js";

/** Refuses all our parameters with 400: if `?dryRun=true` were ignored, a session that was only to be looked at would end. */
export const takesNoParameters: RequestHandler = (request, _response, next) => {
  const [, search = ""] = /\?(.*)$/s.exec(request.originalUrl) ?? [];
  const [first] = ownParameters(search);
  if (first !== undefined) throw refuseParameter(first.name, "does not apply to this call");
  next();
};
