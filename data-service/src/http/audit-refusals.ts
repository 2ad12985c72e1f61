// Records every 403 in the audit log: a signed-in user has asked for something that they may not have (security row L5).
import { AppError } from "@portico/shared/app-error";
import { contextOf } from "@portico/shared/http-context";
import { withoutTokens } from "@portico/shared/without-tokens";
import type { ErrorRequestHandler, Request } from "express";
import type { Audit } from "../auth/audit.js";
import { auditOnceAMinute } from "../auth/audit-once-a-minute.js";
import { auditFacts } from "../auth/client-facts.js";
import { isReservedPath } from "../catalog/names.js";
import type { CurrentCatalog } from "../schema/current-catalog.js";
import { signedInAt } from "./authenticate.js";

const MAX_PATH_CHARACTERS = 256;

export interface AuditRefusalsDeps {
  readonly audit: Audit;
  readonly catalogs: Pick<CurrentCatalog, "get">;
}

/** Mount it before the handler that answers. */
export function auditRefusals({ audit, catalogs }: AuditRefusalsDeps): ErrorRequestHandler {
  const record = auditOnceAMinute(audit);
  return async (error, request, _response, next) => {
    const userId = signedInAt(request)?.userId;
    if (isForbidden(error) && userId !== undefined) {
      const details = { method: request.method, path: pathOf(request) };
      const event = { event: "access.refused", userId, details } as const;
      await record(`${userId} ${await placeOf(request, catalogs)}`, event, auditFacts(request));
    }
    next(error);
  };
}

const isForbidden = (error: unknown): boolean => error instanceof AppError && error.status === 403;
const pathOf = (request: Request): string =>
  withoutTokens(contextOf(request).publicPath).slice(0, MAX_PATH_CHARACTERS);

/**
 * Method and table: trying one id after the other is written only once. Of names that nobody has given to anything there is no
 * end, so they are one place; a path of the service's own is not among them, or what is tried there could be hidden by that.
 */
async function placeOf({ method, path }: Request, catalogs: Pick<CurrentCatalog, "get">): Promise<string> {
  const first = firstSegment(path);
  if (isReservedPath(first)) return `${method} ${first}`;
  // No request fails because of auditing.
  const catalog = await catalogs.get().catch(() => undefined);
  return `${method} ${catalog?.tables.has(first) ? first : ""}`;
}

/** As the routes read it: with its encodings it would be a name that nobody has given. */
function firstSegment(path: string): string {
  const [, first = ""] = path.split("/", 2);
  try {
    return decodeURIComponent(first);
  } catch {
    return "";
  }
}
