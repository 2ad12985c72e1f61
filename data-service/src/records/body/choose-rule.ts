// May this write happen? Chooses the rule that allows it, and gives the condition under which that stays true.
import { AppError } from "@portico/shared/app-error";
import type { Table } from "../../catalog/catalog.js";
import type { Stored } from "../../catalog/stored.js";
import { getOrMake } from "../../get-or-make.js";
import type { WriteGrant } from "../../permission/compile-rules.js";
import { stillHas } from "../../query/as-read.js";
import { ALWAYS, type AuthorizedPredicate } from "../../query/ast.js";
import { fieldsInTable, fieldsOf } from "../../query/leaves.js";
import { disjunction } from "../../query/logic.js";
import { matchStages } from "../../query/lower/condition.js";
import { type Document, Names, type StoredRecord } from "../../query/lower/document.js";
import { newIds } from "../ids.js";
import type { RecordDeps } from "../record-deps.js";
import { planWithUnseen } from "./former-links.js";
import type { AuthorizedLinks } from "./link-set.js";
import { type LinkedDeps, type LinkedOptions, requireLinked } from "./require-linked.js";
import { alone, asWhole, MOST_NAMED, type PathOf } from "./violations.js";
import { chosenLinks, presetLinks, type WritePlan, writesNothing } from "./write-plan.js";

/** One way in which the rules allow a body: with these values, for these rows, if the result satisfies the check. */
export interface Alternative {
  readonly rows: AuthorizedPredicate;
  readonly check: AuthorizedPredicate;
  readonly plan: WritePlan;
}

/**
 * For each new record, the first of its alternatives whose check it satisfies. One query per rule, however many records
 * there are. What they link to is known to exist then.
 * @param now what `$now` stands for: a record is judged as one that is written at this moment
 * @throws AppError VALIDATION_ERROR naming each link to an unknown record, 403 when one satisfies none
 */
export async function chooseCreates(
  deps: LinkedDeps,
  table: Table,
  bodies: readonly (readonly Alternative[])[],
  now: Date,
  options: LinkedOptions,
): Promise<WritePlan[]> {
  const records = await withNewIds(deps, table, bodies);
  const times = { [table.createdAt.field]: now, [table.updatedAt.field]: now };
  const chosen = new Map<number, WritePlan>();
  const most = Math.max(...records.map((alternatives) => alternatives.length));
  for (let turn = 0; turn < most && chosen.size < records.length; turn += 1) {
    const open = records.flatMap((alternatives, at) => {
      const alternative = alternatives[turn];
      return alternative === undefined || chosen.has(at) ? [] : [{ at, ...alternative }];
    });
    // Before the checks, which would reveal what hidden records hold.
    const links = records.map((each, at) => (chosen.has(at) ? [] : newLinks(each, turn)));
    await requireLinked(deps, links, options);
    for (const { at, plan } of await passing(deps, table, open, times)) chosen.set(at, plan);
  }
  const refused = [...records.keys()].filter((at) => !chosen.has(at));
  if (refused.length > 0) throw createsFailed(table, refused, options.pathOf ?? alone);
  const plans = records.flatMap((_, at) => chosen.get(at) ?? []);
  await requireLinked(deps, plans.map(presetLinks), options);
  return plans;
}

/** Links that the body chose in the alternative whose turn it is; those of earlier ones are known to exist. */
function newLinks(alternatives: readonly Alternative[], turn: number): readonly AuthorizedLinks[] {
  const known = alternatives.slice(0, turn).flatMap(({ plan }) => chosenLinks(plan));
  const links = alternatives.slice(turn, turn + 1).flatMap(({ plan }) => chosenLinks(plan));
  return links.filter(({ relation }) => !known.some((each) => each.relation === relation));
}

/** Those of the new records that satisfy their checks. @param times when they are written */
async function passing<Each extends Alternative>(
  deps: Pick<RecordDeps, "store">,
  table: Table,
  open: readonly Each[],
  times: Document,
): Promise<Each[]> {
  const found: Each[] = [];
  // Rules are the same for all records of a request, so a turn has few different checks.
  for (const [check, group] of byCheck(open)) {
    const documents = group.map(({ plan }) => ({
      ...idOf(plan),
      ...Object.fromEntries(plan.own.set),
      ...times,
    }));
    const asked = new Set(["_id", ...fieldsOf(check)]);
    const positions = await satisfying(deps, table, documents, { check, asked, names: new Names() });
    found.push(...group.filter((_, at) => positions.has(at)));
  }
  return found;
}

/** Where a check reads the id, a new record gets its id before it is judged. */
async function withNewIds(
  { store }: Pick<RecordDeps, "store">,
  table: Table,
  bodies: readonly (readonly Alternative[])[],
): Promise<readonly (readonly Alternative[])[]> {
  const asksId = bodies.flat().some(({ check }) => fieldsOf(check).includes("_id"));
  if (!asksId) return bodies;
  const ids = await newIds(table, bodies.length, store);
  const withId = (plan: WritePlan, made: Stored | undefined): WritePlan =>
    made === undefined ? plan : { id: { value: made, isBrought: false }, ...plan };
  return bodies.map((body, at) => body.map((each) => ({ ...each, plan: withId(each.plan, ids[at]) })));
}

function idOf({ id }: WritePlan): Document {
  return id === undefined ? {} : { _id: id.value };
}

function byCheck<Each extends Alternative>(open: readonly Each[]): Map<AuthorizedPredicate, Each[]> {
  const groups = new Map<AuthorizedPredicate, Each[]>();
  for (const each of open) getOrMake(groups, each.check, () => [] as Each[]).push(each);
  return groups;
}

export interface JudgedUpdate {
  readonly plan: WritePlan;
  /** The update is allowed as long as the record still satisfies this. */
  readonly condition: Document;
  /** Links that are not yet known to lead to a record. */
  readonly unasked: readonly AuthorizedLinks[];
}

/**
 * The first alternative that this record and what becomes of it satisfy.
 * @param now what `$now` stands for: the change is judged as one that is made at this moment
 * @returns undefined when no rule matches the record
 * @throws AppError VALIDATION_ERROR naming a link to an unknown record; 403 when a rule does, and the result would not
 * satisfy its check
 */
export async function chooseUpdate(
  deps: LinkedDeps,
  table: Table,
  id: Stored,
  alternatives: readonly Alternative[],
  now: Date,
  options: LinkedOptions,
): Promise<JudgedUpdate | undefined> {
  let matched = false;
  for (const { plan, rows, check: ofRule } of alternatives) {
    // Where nothing is written, its refusal would only tell what the record holds, or what it links to.
    const check = writesNothing(plan) ? ALWAYS : ofRule;
    if (rows.kind === "always" && check.kind === "always")
      return { plan, condition: {}, unasked: plan.mustExist };
    const record = await readMatching(deps, table, id, rows);
    if (record === undefined) continue;
    matched = true;
    // Before the check, as for new records. Where there is no check, it can reveal nothing.
    const isChecked = check.kind !== "always";
    if (isChecked) await requireLinked(deps, [chosenLinks(plan)], options);
    const whole = await planWithUnseen(deps, record, plan);
    const result = changed(record, whole.plan, { [table.updatedAt.field]: now });
    if (await willSatisfy(deps, table, result, check)) {
      const judged = unchanged(record, [...fieldsOf(rows), ...fieldsInTable(check, table)]);
      const unasked = isChecked ? presetLinks(plan) : plan.mustExist;
      return { plan: whole.plan, condition: { ...judged, ...whole.condition }, unasked };
    }
  }
  if (matched) throw checkFailed(table, "update");
  return undefined;
}

/** A record as its plan and these times will leave it. */
function changed(record: StoredRecord, { own }: WritePlan, times: Document): Document {
  const unset = new Set(own.unset);
  const kept = Object.entries(record).filter(([field]) => !unset.has(field));
  return { ...Object.fromEntries(kept), ...Object.fromEntries(own.set), ...times } as Document;
}

/** The condition under which a record stays among these rows. @returns undefined when it is not among them */
export async function judgeRows(
  deps: Pick<RecordDeps, "store">,
  table: Table,
  id: Stored,
  rows: AuthorizedPredicate,
): Promise<Document | undefined> {
  if (rows.kind === "always") return {};
  const record = await readMatching(deps, table, id, rows);
  return record === undefined ? undefined : unchanged(record, fieldsOf(rows));
}

/** The rows that some rule matches. */
export function anyRow(ways: readonly Pick<WriteGrant, "rows">[]): AuthorizedPredicate {
  return disjunction(ways.map(({ rows }) => rows));
}

/** Those of the rules that let this member be written. */
export function lettingWrite(grants: readonly WriteGrant[], table: Table, member: string): WriteGrant[] {
  const named = table.columns.get(member) ?? table.relations.get(member);
  return grants.filter((grant) => named !== undefined && grant.members(named));
}

/** The refusal of a record that the caller may see. @param members those for which it is refused, where others may be written */
export function notAllowed(table: Table, action: string, members: readonly string[] = []): AppError {
  const what = members.length === 0 ? "" : `${members.map((name) => `"${name}"`).join(", ")} of `;
  return new AppError("FORBIDDEN", `You may not ${action} ${what}this "${table.name}" record.`);
}

function checkFailed(table: Table, action: string): AppError {
  return new AppError("FORBIDDEN", checkFailedText(table, action));
}

function checkFailedText(table: Table, action: string): string {
  return `No rule lets you ${action} a "${table.name}" record with these values.`;
}

/** The refusal of new records that no check lets pass; of several in a request it says which. */
function createsFailed(table: Table, positions: readonly number[], pathOf: PathOf): AppError {
  const text = checkFailedText(table, "create");
  const places = positions.slice(0, MOST_NAMED).map(pathOf);
  if (places.every((place) => place === "")) return new AppError("FORBIDDEN", text);
  return new AppError("FORBIDDEN", { message: places.map((place) => asWhole(place) + text) });
}

async function readMatching(
  { store }: Pick<RecordDeps, "store">,
  table: Table,
  id: Stored,
  rows: AuthorizedPredicate,
): Promise<StoredRecord | undefined> {
  const [record] = await store.read(table, [{ $match: { _id: id } }, ...matchStages([rows], new Names())]);
  return record;
}

/** Would a stored record, as it will be, satisfy the check? Where it links to itself, directly or not, it is found so there too. */
async function willSatisfy(
  deps: Pick<RecordDeps, "store">,
  table: Table,
  document: Document,
  check: AuthorizedPredicate,
): Promise<boolean> {
  const asked = new Set(["_id", ...fieldsInTable(check, table)]);
  const names = new Names({ table, document: pick(document, asked) });
  return (await satisfying(deps, table, [document], { check, asked, names })).has(0);
}

/** What is asked of records. */
interface Asked {
  readonly check: AuthorizedPredicate;
  /** The fields that it reads. */
  readonly asked: ReadonlySet<string>;
  readonly names: Names;
}

/**
 * Asks MongoDB about records that are not written yet, so that rules mean the same everywhere. It gets only the fields
 * that the check reads: passwords and values to be encrypted are still as they were sent.
 * @returns positions
 */
async function satisfying(
  { store }: Pick<RecordDeps, "store">,
  table: Table,
  documents: readonly Document[],
  { check, asked, names }: Asked,
): Promise<ReadonlySet<number>> {
  if (check.kind === "always") return new Set(documents.keys());
  const parts = documents.map((document) => pick(document, asked));
  return store.wouldMatch(table, parts, matchStages([check], names));
}

function pick(document: Document, fields: ReadonlySet<string>): Document {
  return Object.fromEntries(Object.entries(document).filter(([field]) => fields.has(field)));
}

/** Holds while these fields are what they were when the rules were asked: check and act are one. */
export function unchanged(record: StoredRecord, fields: readonly string[]): Document {
  return stillHas(
    record,
    fields.filter((field) => field !== "_id"),
  );
}
