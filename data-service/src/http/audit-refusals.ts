// A 403 goes into the audit log: somebody signed in has asked for what is not theirs (security row L5).
import { AppError } from "@portico/shared/app-error";
import { contextOf } from "@portico/shared/http-context";
import type { ErrorRequestHandler, Request } from "express";
import { agingCache } from "../aging-cache.js";
import type { Audit } from "../auth/audit.js";
import { auditFacts } from "../auth/client-facts.js";
import { signedInAt } from "./authenticate.js";

/** A client that asks in a loop must not fill the log: the same refusal is written once in this time, by each instance. */
const ONCE_MS = 60_000;
const MAX_REMEMBERED = 10_000;
const MAX_PATH_CHARACTERS = 256;

/** Mount it before the handler that answers. */
export function auditRefusals(audit: Audit): ErrorRequestHandler {
  const written = agingCache<true>({ max: MAX_REMEMBERED, ttlMs: ONCE_MS });
  const isNew = (key: string): boolean => {
    const known = written.has(key);
    if (!known) written.set(key, true);
    return !known;
  };
  return async (error, request, _response, next) => {
    const userId = signedInAt(request)?.userId;
    if (isForbidden(error) && userId !== undefined && isNew(`${userId} ${placeOf(request)}`)) {
      const details = { method: request.method, path: pathOf(request) };
      await audit.record({ event: "access.refused", userId, details }, auditFacts(request));
    }
    next(error);
  };
}

const isForbidden = (error: unknown): boolean => error instanceof AppError && error.status === 403;
const pathOf = (request: Request): string => contextOf(request).publicPath.slice(0, MAX_PATH_CHARACTERS);

/** Method and table: whoever tries one id after the other is written once. */
const placeOf = (request: Request): string => `${request.method} ${request.path.split("/", 2)[1]}`;
