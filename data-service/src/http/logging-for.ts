// Dependencies of one request: what they log carries its correlation id.
import { contextOf } from "@portico/shared/http-context";
import type { Request } from "express";
import type { RecordDeps } from "../records/record-deps.js";

/** The same dependencies, for what one request does. */
export function loggingFor<Deps extends Pick<RecordDeps, "logger" | "unfinished">>(
  deps: Deps,
  request: Request,
): Deps {
  const logger = deps.logger.child({ correlationId: contextOf(request).correlationId });
  return { ...deps, logger, unfinished: deps.unfinished.loggingTo(logger) };
}
