// PATCH and DELETE of /{table}: the same change for all records that a filter matches.
//
// Each record is handled like a single request, with its rules, checks and links, as long as the filter matches it; the first
// refusal ends everything, and says how many were changed by then. A request that is sent again continues: what was changed
// before is changed to the same, or is gone; but new records in the body are made once more for what still matches.
import { AppError } from "@portico/shared/app-error";
import { isArray, isObject, type Json } from "@portico/shared/json";
import type { Catalog, Table } from "../../catalog/catalog.js";
import { idText } from "../../catalog/record-ids.js";
import type { Stored } from "../../catalog/stored.js";
import type { LastingCaller } from "../../lasting-caller.js";
import { asRefusal } from "../../mongo/driver-errors.js";
import { piecesOf } from "../../pieces.js";
import type { Principal } from "../../principal.js";
import type { AuthorizedPredicate, AuthorizedQuery } from "../../query/ast.js";
import { leavesIn } from "../../query/leaves.js";
import type { Parameters } from "../../query/parameters.js";
import { refuse } from "../../query/refuse.js";
import type { SpaceUse } from "../../space-check.js";
import type { WriteMode } from "../body/check-body.js";
import { isNested, nestedIn } from "../body/nested.js";
import { checkRemove, type remove } from "../delete/remove.js";
import { findTable, idFrom, parseId, requireSameNames, requireSameTable } from "../find-table.js";
import { list } from "../read/list.js";
import { bindListIn, loadListQuery, readableTable } from "../read/list-query.js";
import { type RecordDeps, withoutMaxLimit } from "../record-deps.js";
import type { Standing, TableCall, TableRequest } from "../request.js";
import { saysUncertain } from "../whole/uncertain.js";
import {
  type AskedAgain,
  matchingAmong,
  NoLongerMatching,
  type StillMatching,
  whileMatching,
} from "./still-matching.js";
import { sayingKept } from "./tell-taken.js";
import { checkUpdate, update } from "./update.js";

/** Records that are changed at the same time. */
const AT_ONCE = 8;
/** How many records are looked up beforehand, and held in memory: some MB. */
const MOST_WITH_NEW = 100_000;
const ONLY_ID = { fields: "id", filterFromText: false } as const;

/** How many records the filter matched, and how many of them were changed; a dry run changes none. */
export interface Many {
  readonly matched: number;
  readonly changed: number;
}

export interface ManyRequest extends Omit<TableRequest, "principal"> {
  /** Sessions may end and roles change meanwhile: so it is asked again with each batch. */
  readonly caller: Pick<LastingCaller, "principal" | "now" | "dueAt">;
  /** Count, and change nothing. */
  readonly dryRun: boolean;
}

/** What happens to the records: what the request does with them and what was done to them, for refusals, and which room it needs. */
interface Words {
  readonly does: string;
  readonly done: string;
  readonly use: SpaceUse;
}
const CHANGES: Words = { does: "changes", done: "changed", use: "writing" };
const DELETES: Words = { does: "deletes", done: "deleted", use: "deleting" };

/** How the records are gone through. */
interface Course {
  readonly atOnce: number;
  /** Refuses what only the records that match can tell to be wrong. */
  readonly first?: (query: AuthorizedQuery) => Promise<void>;
  /** Where changing them makes others that match: so many at most, looked up before the first is changed. */
  readonly mostMatched?: number;
  /** The body, and the tables by whose names it was read at first: see `tablesNamed`. */
  readonly meant?: Meant;
}

interface Meant {
  readonly body: Json;
  readonly began: readonly Table[];
}

/** Changes one of the records. @returns whether there was anything to change */
type Act = (principal: Principal, id: string, stillMatching: StillMatching) => Promise<boolean>;

/**
 * @throws AppError 401, 403 before anything else is judged; 400 for a missing filter or a bad body, before anything is
 * changed; the first record's refusal
 */
export async function updateMany(deps: RecordDeps, request: ManyRequest, body: Json): Promise<Many> {
  const { table, caller } = request;
  // Nothing is written yet, but as in each of the changes it may have to wait for its table.
  const check = (isChanged: (id: Stored) => boolean) =>
    deps.gate.run(() =>
      checkUpdate(deps, callOf(request), body, () => requireFilter(request, CHANGES), isChanged),
    );
  const held: Stored[] = [];
  const note = (id: Stored): false => {
    held.push(id);
    return false;
  };
  await check(note);
  const first = async (query: AuthorizedQuery): Promise<void> => {
    if (held.length === 0) return;
    const matched = await matchingAmong(deps.store, query, held);
    if (matched.size > 0) await check((id) => matched.has(idText(query.root.table, id)));
  };
  const course = { ...(await courseFor(deps, request, body)), first };
  const change: Act = async (principal, id, stillMatching) => {
    const wanted = { principal, caller, table, id, body, parameters: ONLY_ID, stillMatching };
    return (await update(deps, wanted)).isWritten;
  };
  return forEach(deps, request, CHANGES, change, course);
}

/**
 * @param permanent see remove
 * @param removeOne `remove`, or the way of the table, where it has one of its own
 * @throws AppError 401, 403 before anything else is judged; 400 before anything is deleted; the first record's refusal
 */
export async function removeMany(
  deps: RecordDeps,
  request: ManyRequest,
  permanent: boolean,
  removeOne: typeof remove,
): Promise<Many> {
  const { table, parameters, caller } = request;
  await checkRemove(deps, callOf(request), permanent);
  requireFilter(request, DELETES);
  if (parameters.deleted !== undefined && !permanent)
    throw refuse("deleted", "these are deleted already; permanent=true removes them for good");
  return forEach(deps, request, DELETES, async (principal, id, stillMatching) => {
    await removeOne(deps, { principal, caller, table, id, permanent, stillMatching });
    return true;
  });
}

function callOf({ caller: { principal }, table }: ManyRequest): TableCall {
  return { principal, table };
}

async function courseFor(
  deps: RecordDeps,
  { caller, table: tableName }: ManyRequest,
  body: Json,
): Promise<Course> {
  const rights = await deps.rights(caller.principal);
  const catalog = await deps.catalogs.get();
  const table = findTable(catalog, tableName);
  const began = tablesNamed(body, table, catalog);
  // Does it create records of the same table, which the filter may match as well?
  const makesAlike = began.slice(1).some(({ id }) => id === table.id);
  return {
    atOnce: setsForeign(body, table, { rights, catalog }, "update") ? 1 : AT_ONCE,
    ...(makesAlike && { mostMatched: MOST_WITH_NEW }),
    meant: { body, began },
  };
}

/**
 * Does the body, or a rule with it, set links that lie in other records? All that are changed may move the same ones, so that
 * they would stand in each other's way as if they were different callers.
 */
function setsForeign(body: Json, table: Table, standing: Standing, mode: WriteMode): boolean {
  const { rights, catalog } = standing;
  const presets = rights.write(catalog, table, mode).map((grant) => grant.presets);
  const members = [body, ...presets].filter(isObject).flatMap((each) => Object.entries(each));
  const isForeign = ([name, value]: [string, Json]): boolean => {
    const link = table.relations.get(name)?.link;
    return link?.on === "target" && (link.list || namesThere(value));
  };
  return (
    members.some(isForeign) ||
    nestedIn(body, table, catalog).some((each) => setsForeign(each.body, each.target, standing, "create"))
  );
}

/** Records that are there, and not only new ones, which belong to one record each. */
function namesThere(links: Json): boolean {
  return (isArray(links) ? links : [links]).some((link) => link !== null && !isNested(link));
}

/** A table and, in the order of the body for its record, the tables of the new records inside. */
function tablesNamed(body: Json, table: Table, catalog: Catalog): readonly Table[] {
  const inside = nestedIn(body, table, catalog);
  return [table, ...inside.flatMap((each) => tablesNamed(each.body, each.target, catalog))];
}

const AS_JSON =
  'is JSON here, as in filter={"title":{"_eq":"a"}}; libraries leave null and [] out of the bracket form, so that more records would match';

/** @throws AppError 400 */
function requireFilter({ parameters: { filter, filterFromText } }: ManyRequest, words: Words): void {
  if (filter === undefined) throw needsFilter("is required", words);
  if (filterFromText) throw refuse("filter", AS_JSON);
}

/**
 * A filter that is true whatever a record holds is more often a mistake than a wish: an `_or` or a `_not_in` made of a
 * selection that is empty.
 * @throws AppError 400
 */
function requireSaying({ root: { filter } }: AuthorizedQuery, words: Words): void {
  if (filter.kind === "always")
    throw needsFilter("must compare something (an empty list does not, and in an _or each part must)", words);
}

function needsFilter(needs: string, { does }: Words): AppError {
  const all = '{"id":{"_is_not_null":true}}';
  return new AppError(
    "BAD_REQUEST",
    `filter: ${needs}, because this ${does} every record that it matches; ${all} matches all of them`,
  );
}

/** @param words of its refusals */
async function forEach(
  deps: RecordDeps,
  { caller, table, parameters, dryRun }: ManyRequest,
  words: Words,
  act: Act,
  { atOnce, mostMatched, first, meant }: Course = { atOnce: AT_ONCE },
): Promise<Many> {
  const { principal } = caller;
  const { query } = await loadListQuery(deps, principal, table, { ...parameters, fields: "id" });
  requireSaying(query, words);
  await first?.(query);
  // Each record is changed by its id, so that those which none can name are left alone.
  const matching = { ...parameters, fields: "id", named: true } as const;
  if (dryRun) return { matched: await count(deps, principal, table, matching), changed: 0 };
  const stored = (id: string) => parseId(query.root.table, id);
  const again = askedAgain(deps, query, matching, meant ?? { body: null, began: [query.root.table] });
  // In the order of the ids, which no change moves.
  const limit = mostMatched === undefined ? 0 : mostMatched + 1;
  const inOrder = { principal, table, parameters: { ...matching, sort: "id", limit } };
  const { records } = await list(withoutMaxLimit(deps), inOrder);
  const some = batches(records, query.root.table, atOnce);
  const found = mostMatched === undefined ? some : await allOf(some, mostMatched);
  let [matched, changed] = [0, 0];
  try {
    for await (const ids of found) {
      const present = await caller.now();
      await deps.requireSpace?.(words.use);
      const stillMatching = whileMatching(deps, again, ids.map(stored));
      const results = await Promise.allSettled(ids.map((id) => act(present, id, stillMatching)));
      changed += results.filter((each) => each.status === "fulfilled" && each.value).length;
      const reasons = results.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
      const failed = reasons.filter((reason) => !(reason instanceof NoLongerMatching));
      matched += ids.length - (reasons.length - failed.length);
      const refused = failed.filter((reason) => !isGone(reason));
      // A refusal is told by the next attempt as well, and what may have been written is not.
      if (refused.length > 0) throw withKept(refused.find(saysUncertain) ?? refused[0], failed);
      // The same code says that there is no table of this name any more, and then all the rest is as it was.
      if (failed.length > 0) requireSameTable(findTable(await deps.catalogs.get(), table), query.root.table);
    }
  } catch (reason) {
    throw withProgress(asRefusal(reason), changed, words);
  }
  return { matched, changed };
}

/** @param first as the filter was bound at first */
function askedAgain(
  deps: RecordDeps,
  { root: first }: AuthorizedQuery,
  matching: Parameters,
  { body, began }: Meant,
): AskedAgain {
  const through = new Map(tablesIn(first.filter).map((each) => [each.id, each]));
  return {
    tableIn(standing) {
      const now = readableTable(standing, first.table.name);
      for (const [at, each] of tablesNamed(body, now, standing.catalog).entries()) {
        const former = began[at];
        if (former !== undefined) requireSameNames(each, former);
      }
      return now;
    },
    queryIn(standing, now) {
      const query = bindListIn(deps, standing, now, matching);
      for (const each of tablesIn(query.root.filter)) requireSameNames(each, through.get(each.id) ?? each);
      return query;
    },
  };
}

/** The tables through which a filter goes by itself: rules keep to the columns that they mean. */
function tablesIn(filter: AuthorizedPredicate): Table[] {
  return leavesIn(filter).flatMap((leaf) => {
    if (leaf.kind === "related") return [leaf.target, ...tablesIn(leaf.where)];
    return leaf.kind === "exists" ? [leaf.target] : [];
  });
}

async function count(
  deps: RecordDeps,
  principal: Principal,
  table: string,
  matching: Parameters,
): Promise<number> {
  const parameters = { ...matching, limit: 1, meta: "filterCount" };
  const { meta } = await list(deps, { principal, table, parameters });
  return Number(meta?.filterCount);
}

/** The ids, so many at a time. In an adopted collection the text of one may be that of nothing which can be asked for. */
async function* batches(
  records: AsyncIterable<readonly Json[]>,
  table: Table,
  atOnce: number,
): AsyncGenerator<string[]> {
  for await (const some of records) {
    const ids = some
      .filter(isObject)
      .map(({ id }) => String(id))
      .filter((id) => idFrom(table, id) !== undefined);
    yield* piecesOf(ids, atOnce);
  }
}

/** @throws AppError 400 when there are more than `most` */
async function allOf(batches: AsyncIterable<string[]>, most: number): Promise<string[][]> {
  const all: string[][] = [];
  let matched = 0;
  for await (const ids of batches) {
    all.push(ids);
    matched += ids.length;
  }
  if (matched <= most) return all;
  throw new AppError(
    "BAD_REQUEST",
    `filter: matches more than ${most} records, the most that a body with new records of the same table may change`,
  );
}

/**
 * Somebody else has deleted it meanwhile, or a cascade of this very request has. Where that leaves records that were made for it,
 * it is told.
 */
function isGone(reason: unknown): boolean {
  return reason instanceof AppError && reason.code === "NOT_FOUND" && reason.details?.kept === undefined;
}

/** What stays after any of the refusals, beside the one that is told (see tell-taken). */
function withKept(told: unknown, all: readonly unknown[]): unknown {
  const keptOf = (each: unknown): unknown => (each instanceof AppError ? each.details?.kept : undefined);
  return sayingKept(
    told,
    all.flatMap((each) => keptOf(each) ?? []),
  );
}

function withProgress(reason: unknown, changed: number, { done }: Words): unknown {
  if (!(reason instanceof AppError)) return reason;
  const told = `; ${changed} ${changed === 1 ? "record was" : "records were"} ${done} before`;
  const tell = (text: string): string => text.replace(/\.$/, "") + told;
  const message =
    typeof reason.messages === "string" ? tell(reason.messages) : reason.messages.map((each) => tell(each));
  const { code, details, headers } = reason;
  return new AppError(code, { message, headers, details: { ...details, changed }, cause: reason });
}
