// PATCH and DELETE of /{table}: the same change for all records that a filter matches.
//
// Each record is handled like a single request, with its rules, checks and links, as long as the filter matches it; the
// first refusal ends it, and says how many were changed by then. Sent again it continues: what was changed already is
// changed to the same, or is gone.
import { AppError } from "@portico/shared/app-error";
import { isObject, type Json } from "@portico/shared/json";
import { asRefusal } from "../mongo/driver-errors.js";
import type { Principal } from "../principal.js";
import type { Parameters } from "../query/parameters.js";
import { refuse } from "../query/refuse.js";
import { type RecordDeps, withoutMaxLimit } from "./deps.js";
import { parseId } from "./find-table.js";
import { list, listQuery } from "./list.js";
import { checkRemove, remove } from "./remove.js";
import type { TableRequest } from "./request.js";
import { NoLongerMatching, type StillMatching, stillMatching } from "./still-matching.js";
import { checkUpdate, update } from "./update.js";

/** Records that are changed at the same time. */
const AT_ONCE = 8;
const ONLY_ID = { fields: "id", filterFromText: false } as const;

/** How many records the filter matched, and how many of them were changed; a dry run changes none. */
export interface Many {
  readonly matched: number;
  readonly changed: number;
}

export interface ManyRequest extends TableRequest {
  /** Count, and change nothing. */
  readonly dryRun: boolean;
}

/**
 * @throws AppError 401, 403 before anything else is judged; 400 for a missing filter or a bad body, before anything is
 * changed; the first record's refusal
 */
export async function updateMany(deps: RecordDeps, request: ManyRequest, body: Json): Promise<Many> {
  const { principal, table } = request;
  await checkUpdate(deps, request, body, () => requireFilter(request, "changes"));
  return forEach(deps, request, "changed", async (id, guard) => {
    await update(deps, { principal, table, id, body, parameters: ONLY_ID, guard });
  });
}

/**
 * @param permanent see remove
 * @param removeOne the way of the table, where it has one of its own
 * @throws AppError 401, 403 before anything else is judged; 400 before anything is deleted; the first record's refusal
 */
export async function removeMany(
  deps: RecordDeps,
  request: ManyRequest,
  permanent: boolean,
  removeOne = remove,
): Promise<Many> {
  const { principal, table, parameters } = request;
  await checkRemove(deps, request, permanent);
  requireFilter(request, "deletes");
  if (parameters.deleted !== undefined && !permanent)
    throw refuse("deleted", "these are deleted already; permanent=true removes them for good");
  return forEach(deps, request, "deleted", (id, guard) =>
    removeOne(deps, { principal, table, id, permanent, guard }),
  );
}

/** An empty filter is more often a mistake than a wish. */
function requireFilter({ parameters: { filter } }: ManyRequest, does: string): void {
  const isGiven = filter !== undefined && !(isObject(filter) && Object.keys(filter).length === 0);
  if (isGiven) return;
  const all = '{"id":{"_is_not_null":true}}';
  throw new AppError(
    "BAD_REQUEST",
    `filter: is required, because this ${does} every record that it matches; ${all} matches all of them`,
  );
}

async function forEach(
  deps: RecordDeps,
  { principal, table, parameters, dryRun }: ManyRequest,
  done: string,
  act: (id: string, guard: StillMatching) => Promise<void>,
): Promise<Many> {
  const matching = { ...parameters, fields: "id" };
  if (dryRun) return { matched: await count(deps, principal, table, matching), changed: 0 };
  const query = await listQuery(deps, principal, table, matching);
  const stored = (id: string) => parseId(query.root.table, id);
  // In the order of the ids, which no change moves.
  const { records } = await list(withoutMaxLimit(deps), principal, table, {
    ...matching,
    sort: "id",
    limit: "0",
  });
  let [matched, changed] = [0, 0];
  try {
    for await (const ids of batches(records)) {
      const guard = await stillMatching(deps, query, ids.map(stored));
      const results = await Promise.allSettled(ids.map((id) => act(id, guard)));
      changed += results.filter(({ status }) => status === "fulfilled").length;
      const reasons = results.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
      const failed = reasons.filter((reason) => !(reason instanceof NoLongerMatching));
      matched += ids.length - (reasons.length - failed.length);
      for (const reason of failed) if (!isGone(reason)) throw reason;
    }
  } catch (reason) {
    throw withProgress(asRefusal(reason), changed, done);
  }
  return { matched, changed };
}

async function count(
  deps: RecordDeps,
  principal: Principal,
  table: string,
  matching: Parameters,
): Promise<number> {
  const { meta } = await list(deps, principal, table, { ...matching, limit: "1", meta: "filterCount" });
  return Number(meta?.filterCount);
}

async function* batches(records: AsyncIterable<readonly Json[]>): AsyncGenerator<string[]> {
  for await (const some of records) {
    const ids = some.filter(isObject).map(({ id }) => String(id));
    for (let at = 0; at < ids.length; at += AT_ONCE) yield ids.slice(at, at + AT_ONCE);
  }
}

/** Somebody else has deleted it meanwhile, or a cascade of this very request has. */
function isGone(reason: unknown): boolean {
  return reason instanceof AppError && reason.code === "NOT_FOUND";
}

function withProgress(reason: unknown, changed: number, done: string): unknown {
  if (!(reason instanceof AppError)) return reason;
  const told = `; ${changed} ${changed === 1 ? "record was" : "records were"} ${done} before`;
  const tell = (text: string): string => text.replace(/\.$/, "") + told;
  const message =
    typeof reason.messages === "string" ? tell(reason.messages) : reason.messages.map((each) => tell(each));
  const { code, details, headers } = reason;
  return new AppError(code, { message, headers, details: { ...details, changed }, cause: reason });
}
