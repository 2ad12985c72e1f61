// The rule of calls that take no parameter in their address, for both services.
import type { RequestHandler } from "express";
import { ownParameters, refuseParameter } from "./own-parameters.js";

/** Refuses every parameter of ours with 400: ignored, `?dryRun=true` would end a session that was only looked at. */
export const takesNoParameters: RequestHandler = (request, _response, next) => {
  const [, search = ""] = /\?(.*)$/s.exec(request.originalUrl) ?? [];
  const [first] = ownParameters(search);
  if (first !== undefined) throw refuseParameter(first.name, "does not apply to this call");
  next();
};
