// Records every 403 in the audit log: a signed-in user has asked for something that they may not have (security row L5).
import { AppError } from "@portico/shared/app-error";
import { contextOf } from "@portico/shared/http-context";
import { withoutTokens } from "@portico/shared/without-tokens";
import type { ErrorRequestHandler, Request } from "express";
import type { Audit } from "../auth/audit.js";
import { auditOnceAMinute } from "../auth/audit-once-a-minute.js";
import { auditFacts } from "../auth/client-facts.js";
import { signedInAt } from "./authenticate.js";

const MAX_PATH_CHARACTERS = 256;

/** Mount it before the handler that answers. */
export function auditRefusals(audit: Audit): ErrorRequestHandler {
  const record = auditOnceAMinute(audit);
  return async (error, request, _response, next) => {
    const userId = signedInAt(request)?.userId;
    if (isForbidden(error) && userId !== undefined) {
      const details = { method: request.method, path: pathOf(request) };
      const event = { event: "access.refused", userId, details } as const;
      await record(`${userId} ${placeOf(request)}`, event, auditFacts(request));
    }
    next(error);
  };
}

const isForbidden = (error: unknown): boolean => error instanceof AppError && error.status === 403;
const pathOf = (request: Request): string =>
  withoutTokens(contextOf(request).publicPath).slice(0, MAX_PATH_CHARACTERS);

/** Method and table: trying one id after the other is written only once. */
const placeOf = (request: Request): string => `${request.method} ${request.path.split("/", 2)[1]}`;
