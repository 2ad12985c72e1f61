// POST /{table}: what the request says -> create.
import type { Request } from "express";
import { callerOf } from "../http/authenticate.js";
import { bodyOrNull, searchOf } from "../http/request-parts.js";
import { readParameters, SHAPE_PARAMETERS } from "../query/parameters.js";
import type { RecordDeps } from "./record-deps.js";
import { type Created, create } from "./write/create.js";
import { onceKey } from "./write/once.js";

/** Makes what a POST of records asks for. */
export async function createAsked(deps: RecordDeps, request: Request): Promise<Created> {
  const table = String(request.params.table);
  const [caller, search] = [callerOf(request), searchOf(request)];
  const { principal } = caller;
  const parameters = readParameters(search, SHAPE_PARAMETERS);
  const asked = [table, search, bodyOrNull(request)];
  const key = onceKey(request.get("Idempotency-Key"), principal, asked, deps.once.digest);
  return create(deps, { principal, caller, table, parameters, body: bodyOrNull(request), key });
}
