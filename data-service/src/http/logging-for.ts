// What one request logs carries its correlation id.
import { contextOf } from "@portico/shared/http-context";
import { LaterChild, type Logger } from "@portico/shared/logger";
import type { Request } from "express";
import type { RecordDeps } from "../records/record-deps.js";

/** The logger of one request. */
export function logOf(request: Request, { logger }: { readonly logger: Logger }): Logger {
  return new LaterChild(logger, { correlationId: contextOf(request).correlationId });
}

/** The same dependencies, for what one request does. */
export function loggingFor<Deps extends Pick<RecordDeps, "logger" | "unfinished">>(
  deps: Deps,
  request: Request,
): Deps {
  const logger = logOf(request, deps);
  return { ...deps, logger, unfinished: deps.unfinished.loggingTo(logger) };
}
