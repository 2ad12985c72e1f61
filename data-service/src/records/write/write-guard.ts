// What stands around the write of one record: whether the caller may make it, which version the record must have, and trying
// again until others leave it alone.
import { AppError } from "@portico/shared/app-error";
import type { ErrorCode } from "@portico/shared/error-codes";
import type { Json } from "@portico/shared/json";
import type { Table } from "../../catalog/catalog.js";
import type { Stored } from "../../catalog/stored.js";
import type { AuthorizedPredicate } from "../../query/ast.js";
import { matchStages } from "../../query/lower/condition.js";
import { type Document, Names } from "../../query/lower/document.js";
import { refuseContended, untilStill } from "../../until-still.js";
import { alternativesFor, type BodyContext, openWrite, PLAIN, unwritable } from "../body/bind-body.js";
import { anyRow, judgeRows, notAllowed } from "../body/choose-rule.js";
import { decided } from "../delete/await-leaving.js";
import { findTable, parseId, recordNotFound } from "../find-table.js";
import type { RecordShape } from "../read/read-one.js";
import type { RecordDeps } from "../record-deps.js";
import type { RecordCall } from "../request.js";
import {
  atVersion,
  type Expected,
  mayKnowVersion,
  namesVersion,
  notAtVersion,
  versionsUnknown,
} from "../version.js";
import { type Matching, NoLongerMatching } from "./still-matching.js";

/** How often to try with a record that others keep changing. */
const ATTEMPTS = 50;

/**
 * Refuses early, and with the right words, what the condition of the write itself would not let pass either.
 * @throws AppError 412, 404
 */
export async function requireVersion(
  deps: RecordDeps,
  { node: { table }, view }: RecordShape,
  id: Stored,
  expected: Expected,
): Promise<void> {
  if (expected === undefined) return;
  if (!mayKnowVersion(view, table)) throw versionsUnknown(table);
  const which = { $and: [{ _id: id }, atVersion(expected)] };
  const found = await deps.store.read(table, [{ $match: which }, { $project: { _id: 1 } }]);
  if (found.length > 0) return;
  throw (await deps.store.existing(table, [id])).size === 0
    ? recordNotFound(table)
    : notAtVersion(table, expected);
}

/**
 * Judges and acts, again and again until others left the record alone in between.
 * @param act returns false when they did not, or a delete wants the record
 * @throws AppError 503 when it takes long until the delete is decided, or others never leave the record alone
 */
export async function untilUncontended<Result>(
  deps: Pick<RecordDeps, "store">,
  table: Table,
  id: Stored,
  act: () => Promise<Result | false>,
): Promise<Result> {
  const judgeAndAct = async (): Promise<Result | false> => {
    const result = await act();
    if (result === false) await decided(deps, table, id);
    return result;
  };
  return untilStill(judgeAndAct, { attempts: ATTEMPTS, gaveUp: refuseContended(table.name) });
}

/** As what a request has known the record that it writes. */
export interface Known {
  readonly match?: Matching | undefined;
  /** If-Match. */
  readonly expected?: Expected;
  /** Whether it has written by now: what it is refused then is told, as its own writes may have changed the record. */
  readonly hasWritten?: () => boolean;
}

/** Refusals by what a record holds, before anything is written: others may just have changed that. */
const BY_STATE: ReadonlySet<ErrorCode> = new Set([
  "BAD_REQUEST",
  "VALIDATION_ERROR",
  "FORBIDDEN",
  "NOT_FOUND",
  "CONFLICT",
]);

function isByState(refusal: unknown): refusal is AppError {
  return refusal instanceof AppError && !(refusal instanceof NoLongerMatching) && BY_STATE.has(refusal.code);
}

/**
 * Judges a record; where it is refused and is not the one any more that the request has known, that is told instead.
 * @throws NoLongerMatching, AppError 412
 */
export async function asKnown<Judged>(
  deps: RecordDeps,
  shape: RecordShape,
  id: Stored,
  { match, expected, hasWritten = () => false }: Known,
  judge: () => Promise<Judged>,
): Promise<Judged> {
  return judge().catch(async (refusal: unknown) => {
    if (!isByState(refusal) || hasWritten()) throw refusal;
    await match?.(id, true);
    // One that the caller can't see has no version for them. Where none is named, none tells that others have changed it.
    const isAsked = refusal.code !== "NOT_FOUND" && namesVersion(expected);
    if (isAsked && mayKnowVersion(shape.view, shape.node.table))
      await requireVersion(deps, shape, id, expected);
    throw refusal;
  });
}

/** What a caller wants to do with a record. */
export interface Wanted {
  /** The records with which they may. */
  readonly rows: AuthorizedPredicate;
  readonly action: string;
  /** The members that stand in the way, where it may be done without them. */
  readonly refusedMembers?: () => Promise<readonly string[]>;
}

/**
 * Lets the caller write a record, or refuses.
 * @returns the condition under which they may; false, as `untilUncontended` wants it, when others have just changed that
 * @throws AppError 403, 404
 */
export async function judgeRecord(
  deps: Pick<RecordDeps, "store">,
  shape: RecordShape,
  id: Stored,
  wanted: Wanted,
): Promise<Document | false> {
  const condition = await judgeRows(deps, shape.node.table, id, wanted.rows);
  return condition ?? refuseOutside(deps, shape, id, wanted);
}

/**
 * Refuses to write a record that was not among the rows: unless it is by now, as one is that has been restored. Whether the
 * caller sees it and whether it is among them is asked of the same reading, so that only what is both is forbidden.
 * @returns false when it is to be judged again
 * @throws AppError 403, 404
 */
export async function refuseOutside(
  deps: Pick<RecordDeps, "store">,
  { node: { table }, view }: RecordShape,
  id: Stored,
  { rows, action, refusedMembers }: Wanted,
): Promise<false> {
  const names = new Names();
  // Whatever else the shape asks for can't be refused here in place of the write.
  const visible = matchStages([view.rows(table)], names);
  const onlyId = { $project: { _id: 1 } };
  const both = { seen: [onlyId], among: [...matchStages([rows], names), onlyId] };
  const found = await deps.store.read(table, [{ $match: { _id: id } }, ...visible, { $facet: both }]);
  const isIn = (part: keyof typeof both): boolean => found.some(({ [part]: some }) => isSome(some));
  if (!isIn("seen")) throw recordNotFound(table);
  if (isIn("among")) return false;
  throw notAllowed(table, action, await refusedMembers?.());
}

function isSome(list: unknown): boolean {
  return Array.isArray(list) && list.length > 0;
}

/**
 * Refuses a change that could not be made, before other records are made for it.
 * @throws AppError 403, 404, 412
 */
export async function requireChangeable(
  deps: RecordDeps,
  { table, shape, grants }: BodyContext,
  id: Stored,
  expected: Expected,
): Promise<void> {
  const wanted: Wanted = { rows: anyRow(grants), action: "update" };
  await untilUncontended(deps, table, id, () => judgeRecord(deps, shape, id, wanted));
  if ((await deps.store.existing(table, [id])).size === 0) throw recordNotFound(table);
  await requireVersion(deps, shape, id, expected);
}

/** What of a body that is for other records stands in the way, if this one may be changed at all. */
export function unwritableIn(
  deps: Pick<RecordDeps, "store">,
  context: BodyContext,
  id: Stored,
  body: Json,
): Promise<string[]> {
  const isFor = async (rows: AuthorizedPredicate): Promise<boolean> =>
    (await judgeRows(deps, context.table, id, rows)) !== undefined;
  return unwritable(context, body, isFor);
}

/**
 * Lets a request pass if the caller may change this record so: before its own body is read.
 * @param body stands for something that no rule presets
 * @throws AppError 400, 401, 403, 404
 */
export async function requireChange(
  deps: RecordDeps,
  { principal, table: tableName, id: givenId }: RecordCall,
  body: Json,
): Promise<Stored> {
  const rights = await deps.rights(principal);
  const catalog = await deps.catalogs.get();
  const table = findTable(catalog, tableName, rights);
  const wanted = { rights, catalog, table, mode: "update" as const, parameters: PLAIN };
  const context = openWrite(deps, { ...wanted, asGranted: true });
  const rows = anyRow(alternativesFor(context, body));
  const id = parseId(table, givenId);
  const refusedMembers = () => unwritableIn(deps, context, id, body);
  const judged: Wanted = { rows, action: "update", refusedMembers };
  await untilUncontended(deps, table, id, () => judgeRecord(deps, context.shape, id, judged));
  return id;
}
