// PATCH of records: check everything, write, answer with the record as it is now.
import { isObject, type Json, type JsonObject } from "@portico/shared/json";
import { requireField, type Table } from "../../catalog/catalog.js";
import { COLUMN_TYPES } from "../../catalog/column-types.js";
import { idText } from "../../catalog/record-ids.js";
import type { Stored } from "../../catalog/stored.js";
import type { Rights } from "../../permission/rights.js";
import { stillHas } from "../../query/as-read.js";
import { allOf, type Document, type StoredRecord } from "../../query/lower/document.js";
import { unlessOvertaken } from "../../until-still.js";
import { underNote } from "../acting-for.js";
import { alternativesFor, type BodyContext, type BroughtLinks, openWrite, PLAIN } from "../body/bind-body.js";
import { anyRow, chooseUpdate } from "../body/choose-rule.js";
import { judgeForeign } from "../body/judge-foreign.js";
import type { AuthorizedLinks, LinkSet } from "../body/link-set.js";
import { requireOnlyLinks } from "../body/nested.js";
import { requireLinked } from "../body/require-linked.js";
import type { OwnFields, Stamp, WritePlan } from "../body/write-plan.js";
import { decideAs } from "../decide-as.js";
import { heldBy } from "../delete/leaving.js";
import { findTable, idFrom, parseId } from "../find-table.js";
import { shownFields } from "../read/read-one.js";
import type { ActingDeps, RecordDeps } from "../record-deps.js";
import type { RecordRequest, TableCall } from "../request.js";
import { atVersion, type Expected, type Versioned } from "../version.js";
import type { StepLog } from "../whole/steps.js";
import { answerOf } from "./answer.js";
import { requireLettable } from "./link-foreign.js";
import { nestedChecker, nestedWriteOf } from "./nested-maker.js";
import { type Changed, runUpdate } from "./run-update.js";
import { onceChanged, type StillMatching } from "./still-matching.js";
import {
  asKnown,
  refuseOutside,
  requireChangeable,
  requireVersion,
  untilUncontended,
  unwritableIn,
  type Wanted,
} from "./write-guard.js";
import { bringsRecords, checkWithNested, makeForChange } from "./write-nested.js";
import { writing } from "./writing.js";

export interface UpdateRequest extends RecordRequest {
  readonly body: Json;
  /** What the service itself writes with it. */
  readonly stamp?: Stamp;
  /** It happens only while the record satisfies this. */
  readonly stillMatching?: StillMatching;
  /** If-Match. */
  readonly expected?: Expected;
  readonly compared?: Compared;
}

/** For whoever must know what a change does to some members. */
export interface Compared {
  /** The change happens only while they are as they were read. */
  readonly members: readonly string[];
  /** Told right before each attempt to write; the last one counts, also where its end stays uncertain. */
  readonly beforeWrite: (change: PlannedChange) => void;
}

/** A change of a record, as it is about to be written. It holds passwords, and values of encrypted columns, as they were sent. */
export interface PlannedChange {
  readonly table: Table;
  /** The members that were compared, by storage field. */
  readonly before: StoredRecord;
  /** What is written, presets included. */
  readonly written: OwnFields;
}

/** The record in the asked shape. */
export interface Updated extends Versioned, Pick<Changed, "isWritten"> {}

/** How often a change of links is made anew that was taken back, because others had changed what the rules ask of the linked. */
const TIMES_OVERTAKEN = 3;

/** Changes the named members of one record. */
export async function update(given: RecordDeps, request: UpdateRequest): Promise<Updated> {
  return writing(given, request, (deps, rights) => updateWhole(deps, rights, request));
}

/** Changes a record with all that its body brings along. */
async function updateWhole(deps: ActingDeps, rights: Rights, request: UpdateRequest): Promise<Updated> {
  const { body, parameters, stamp, expected, stillMatching } = request;
  const nested = await nestedWriteOf(deps, rights, request);
  if (nested === undefined || !isObject(body)) return updateOne(deps, rights, request);
  const { maker, table } = nested;
  const { catalog } = maker;
  const tolerated = await toleratedOf(deps, request);
  // Before the body.
  const match = stillMatching?.({ rights, catalog });
  const wanted = { rights, catalog, table, mode: "update" as const, parameters };
  const context = openWrite(deps, { ...wanted, stamp, tolerated });
  requireOnlyLinks(body, table, catalog);
  const itself = idFrom(table, request.id);
  const plans: WritePlan[] = [];
  const taken: LinkSet[] = [];
  checkWithNested(
    maker,
    table,
    body,
    (flat, broughtLinks) => {
      // The links that a body chooses are the same by every rule.
      const [way] = alternativesFor(context, flat, broughtLinks);
      if (way !== undefined) plans.push(onlyKeeping(way.plan, broughtLinks));
    },
    {
      changed: { table, has: (id) => itself !== undefined && idText(table, id) === idText(table, itself) },
      taken,
    },
  );
  const stored = parseId(table, request.id);
  const matched = await asKnown(deps, context.shape, stored, { match, expected }, async () => {
    await requireChangeable(deps, context, stored, expected);
    for (const plan of plans) await requireLettableBefore(deps, context, stored, plan, taken);
    return match?.(stored);
  });
  const id = COLUMN_TYPES[table.idColumn.type].toJson(stored);
  return deps.unfinished.wholly(async (log) => {
    const { change, broughtLinks } = await makeForChange(maker, table, body, id, log);
    return updateOne(
      underNote(deps),
      rights,
      { ...request, body: change },
      { log, links: broughtLinks, matched },
    );
  });
}

/** What a request has that has made other records for a change. */
interface Brought {
  readonly log: StepLog;
  /** To those. */
  readonly links: BroughtLinks;
  /** The condition under which the record is the one that matched before they were made. */
  readonly matched: Document | undefined;
}

async function updateOne(
  deps: ActingDeps,
  rights: Rights,
  request: UpdateRequest,
  brought?: Brought,
): Promise<Updated> {
  const { body, parameters, stamp, stillMatching, expected, compared } = request;
  const tolerated = await toleratedOf(deps, request);
  const { context, id, alternatives, matchNow } = await deps.catalogs.decide((now) => {
    const found = findTable(now, request.table, rights);
    const matchNow = stillMatching?.({ rights, catalog: now });
    const wanted = { rights, catalog: now, table: found, mode: "update" as const, parameters };
    const context = openWrite(deps, { ...wanted, stamp, tolerated });
    const ways = alternativesFor(context, body, brought?.links);
    return { context, id: parseId(found, request.id), alternatives: ways, matchNow };
  });
  const { table, shape, catalog, hooks } = context;
  await hooks.beforeUpdate(id, body);
  const fields = shownFields(shape);
  const linked = { broughtLinksOf: () => brought?.links };
  const refusedMembers = () => unwritableIn(deps, context, id, body);
  const wanted: Wanted = { rows: anyRow(alternatives), action: "update", refusedMembers };
  // An attempt that was taken back has moved the version, and would leave the new records that it was to link.
  const again = unlessOvertaken(expected === undefined && brought === undefined ? TIMES_OVERTAKEN : 0);
  const judge = async () => {
    const judged = await chooseUpdate(deps, table, id, alternatives, rights.now, linked);
    if (judged === undefined) return refuseOutside(deps, shape, id, wanted);
    const plan = await judgeForeign(deps, { rights, catalog }, table, judged.plan, { id });
    await requireVersion(deps, shape, id, expected);
    // Before the folders above a folder are looked at, which would reveal one that the caller can't see.
    await requireLinked(deps, [judged.unasked], linked);
    if (brought === undefined) for (const set of plan.foreign) await requireLettable(deps, id, set);
    return { plan, byRules: judged.condition };
  };
  const matched = brought?.matched;
  const match = matchNow && matched ? onceChanged(deps, table, matchNow, matched) : matchNow;
  const { document, isWritten } = await untilUncontended(deps, table, id, async () => {
    const judged = await asKnown(deps, shape, id, { match, expected }, judge);
    if (judged === false) return false;
    const { plan, byRules } = judged;
    const matching = (await match?.(id)) ?? {};
    const { before, condition: asCompared } = await lookAt(deps, table, id, compared?.members);
    const condition = allOf([byRules, atVersion(expected), matching, asCompared]);
    const guard = { condition, freeOf: heldBy(catalog, table) };
    compared?.beforeWrite({ table, before, written: plan.own });
    return runUpdate(deps, { table, id, plan, guard, fields }, brought?.log).catch(again);
  });
  const [record] = await answerOf(deps, shape, [id], { written: document && (() => [document]) });
  if (record === undefined) throw new Error("an answer without its record");
  return { ...record, isWritten };
}

/** With those sets that let go of nothing whose link is required. (Of a new record in a one-to-one the unique value says so.) */
function onlyKeeping(plan: WritePlan, broughtLinks: BroughtLinks): WritePlan {
  const isOne = ({ relation, presetBy }: AuthorizedLinks): boolean =>
    presetBy === undefined && !(relation.exclusive && broughtLinks.has(relation.name));
  return { ...plan, foreign: plan.foreign.filter(isOne) };
}

/**
 * Refuses to let go of records whose link is required before new records are made: of several requests that make some, each
 * would then find those of the others.
 * @throws AppError 400, 403
 */
async function requireLettableBefore(
  deps: ActingDeps,
  { rights, catalog, table }: BodyContext,
  id: Stored,
  plan: WritePlan,
  taken: readonly LinkSet[],
): Promise<void> {
  try {
    for (const set of plan.foreign) await requireLettable(deps, id, set, taken);
  } catch (error) {
    // Whoever may not change such links is not told what there is.
    await judgeForeign(deps, { rights, catalog }, table, plan, { id });
    throw error;
  }
}

/** What the record has of the body although its table's rules refuse it; nothing of tables and ids that are not there. */
async function toleratedOf(
  { catalogs, hooksOf }: RecordDeps,
  { table: name, id, body }: Pick<UpdateRequest, "table" | "id" | "body">,
): Promise<JsonObject> {
  const table = (await catalogs.get()).tables.get(name);
  if (table === undefined) return {};
  const stored = idFrom(table, id);
  const hooks = hooksOf(table);
  return stored === undefined ? {} : hooks.tolerated(stored, hooks.prepare(body, "update"));
}

/** The values of some members of a record, and the condition that it still has them. */
async function lookAt(
  { store }: RecordDeps,
  table: Table,
  id: Stored,
  members: readonly string[] = [],
): Promise<{ readonly before: StoredRecord; readonly condition: Document }> {
  const unknown = { before: {}, condition: {} };
  if (members.length === 0) return unknown;
  const fields = members.map((name) => requireField(table, name));
  const [before] = await store.byIds(table, [id], Object.fromEntries(fields.map((field) => [field, 1])));
  return before === undefined ? unknown : { before, condition: stillHas(before, fields) };
}

/**
 * Refuses a body, and what it brings along, that is wrong whatever record it would change.
 * @param first judges the rest of the request, before the body
 * @param isChanged asked of each record of the table whose own links a new record in the body would set
 * @throws AppError 400, 401, 403
 */
export async function checkUpdate(
  deps: RecordDeps,
  { principal, table: tableName }: TableCall,
  body: Json,
  first: () => void,
  isChanged: (id: Stored) => boolean,
): Promise<void> {
  await decideAs(deps, principal, ({ rights, catalog }) => {
    const table = findTable(catalog, tableName, rights);
    const context = openWrite(deps, { rights, catalog, table, mode: "update", parameters: PLAIN });
    first();
    requireOnlyLinks(body, table, catalog);
    if (!isObject(body) || !bringsRecords([body], table, catalog)) alternativesFor(context, body);
    else {
      const checker = nestedChecker(deps, rights, catalog);
      const checkOwn = (flat: JsonObject, own: BroughtLinks) => void alternativesFor(context, flat, own);
      checkWithNested(checker, table, body, checkOwn, { changed: { table, has: isChanged } });
    }
  });
}
