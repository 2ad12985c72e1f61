// Creates records as their write plans say, in an order that leaves nothing dangling if the process dies in between.
import { AppError, isClientError } from "@portico/shared/app-error";
import type { Table } from "../../catalog/catalog.js";
import { emptyGrams } from "../../catalog/grams.js";
import { SINGLETON_FIELD } from "../../catalog/indexes.js";
import { VERSION_FIELD } from "../../catalog/own-fields.js";
import { DELETED_FIELD } from "../../catalog/soft-delete.js";
import type { Stored } from "../../catalog/stored.js";
import { insertedBefore } from "../../mongo/driver-errors.js";
import type { Document, StoredRecord } from "../../query/lower/document.js";
import { requireLinked } from "../body/require-linked.js";
import type { PathOf } from "../body/violations.js";
import { broughtId, type JudgedPlan } from "../body/write-plan.js";
import { actOfMoved } from "../delete/kept.js";
import { newIds } from "../ids.js";
import type { ActingDeps } from "../record-deps.js";
import type { MadeStep, StepLog } from "../whole/steps.js";
import { linkForeign, type MovedRecords } from "./link-foreign.js";
import { refusedInsert, refusedLinks } from "./refused-at.js";
import { areStillThere, unlessTakenAlong } from "./still-there.js";
import { storedFields } from "./stored-fields.js";

/** Records that were made. */
export interface Made {
  readonly ids: readonly Stored[];
  /** As they were written; undefined where more was written than these. */
  readonly documents: readonly StoredRecord[] | undefined;
}

/** Creates records. @param log where it is noted how they are taken back */
export type Create = (log: StepLog) => Promise<Made>;

/**
 * Prepares records to be created.
 * @param plans what they link to is known to exist, as far as could be seen before
 * @param pathOf where in the request each plan stands
 * @returns a function that creates them, to be called once; nothing is written before
 */
export async function prepareCreate(
  deps: ActingDeps,
  table: Table,
  plans: readonly JudgedPlan[],
  pathOf: PathOf,
): Promise<Create> {
  const documents = await documentsOf(deps, table, plans);
  return (log) => runCreate(deps, table, { plans, documents, pathOf }, log);
}

interface Prepared {
  readonly plans: readonly JudgedPlan[];
  readonly documents: readonly NewDocument[];
  readonly pathOf: PathOf;
}

async function runCreate(
  deps: ActingDeps,
  table: Table,
  { plans, documents, pathOf }: Prepared,
  log: StepLog,
): Promise<Made> {
  const ids = documents.map(({ _id }) => _id);
  await deps.requireCaller();
  await insertNoted(deps, table, plans, documents, log).catch((error: unknown) => {
    throw refusedInsert(error, table, documents, pathOf);
  });
  const moved: MovedRecords[] = [];
  for (const [at, { foreign }] of plans.entries()) {
    const linked = await linkForeign(deps, table, ids[at], foreign, log).catch((error: unknown) => {
      throw refusedLinks(error, pathOf(at));
    });
    moved.push(...linked);
  }
  const foreign = plans.flatMap((plan) => plan.foreign);
  const isLinkedTo = ({ [DELETED_FIELD]: deletedAt }: NewDocument, at: number): boolean =>
    plans[at]?.foreign.length !== 0 && deletedAt === undefined;
  const linkedTo = documents.filter(isLinkedTo).map(({ _id }) => _id);
  await unlessTakenAlong(deps, { table, ids }, moved, async () => {
    // The delete of a linked record looks for new links once the record has gone (see run-delete). If ours came too late for
    // that, we find here that the record has gone.
    const mustExist = plans.map((plan) => plan.mustExist);
    await requireLinked(deps, mustExist, { pathOf, isWritten: true });
    if (foreign.length > 0 && !(await areStillThere(deps, table, linkedTo, foreign)))
      throw new AppError(
        "CONFLICT",
        "Another request has deleted a record that this one was making and linking.",
      );
  });
  return { ids, documents: foreign.length === 0 ? documents : undefined };
}

type NewDocument = Document & { readonly _id: Stored };

/** The records as they will be stored. */
async function documentsOf(
  deps: ActingDeps,
  table: Table,
  plans: readonly JudgedPlan[],
): Promise<NewDocument[]> {
  const fields: Document[] = [];
  // One after another: many new users at once would ask for more password hashes than can be made at a time.
  for (const { own } of plans) fields.push(await storedFields(deps, table, own));
  const ids = await idsFor(deps, table, plans);
  const now = deps.clock.now();
  const mark = table.singleton ? { [SINGLETON_FIELD]: 1 } : {};
  const times = { [table.createdAt.field]: now, [table.updatedAt.field]: now };
  const before = { ...emptyGrams(table.columns.values()), ...times };
  // An import by root brings times of its own, among the fields.
  return ids.map((_id, at) => {
    const own = { ...fields[at], ...actOfMoved(fields[at] ?? {}), ...firstVersion(plans[at], now) };
    return { ...before, ...own, ...mark, _id };
  });
}

/**
 * Another record may have had an id that was brought along: versions that begin at the time are none of that one, so that its
 * ETags don't match.
 */
function firstVersion(plan: JudgedPlan | undefined, now: Date): Document {
  return plan !== undefined && broughtId(plan) !== undefined ? { [VERSION_FIELD]: now.getTime() } : {};
}

/** Inserts documents. How to take them back is noted before, if nobody else can have made records with their ids. */
async function insertNoted(
  deps: ActingDeps,
  table: Table,
  plans: readonly JudgedPlan[],
  documents: readonly NewDocument[],
  log: StepLog,
): Promise<void> {
  const ids = documents.map(({ _id }) => _id);
  const made: MadeStep = { kind: "made", table: table.id, ids, ...madeAt(table, documents) };
  if (plans.some((plan) => broughtId(plan) !== undefined)) {
    const brought: MadeStep = { ...made, isBrought: true };
    // Their ids were not made for them, so another record may have one: only what is known to be ours may be taken back.
    await deps.writes.insert(table, documents, true).catch(async (error: unknown) => {
      await noteInserted(log, brought, error);
      throw error;
    });
    return log.note(brought);
  }
  await log.note(made);
  await deps.writes.insert(table, documents).catch(async (error: unknown) => {
    await noteOurs(log, made, error);
    throw error;
  });
}

/** The createdAt that they share; nothing where an import brings times of its own. */
function madeAt({ createdAt }: Table, documents: readonly NewDocument[]): Pick<MadeStep, "at"> {
  const at = documents[0]?.[createdAt.field];
  const isSame = documents.every((each) => each[createdAt.field] === at);
  return at instanceof Date && isSame ? { at } : {};
}

/**
 * Other programs may give out numbers as well: an id that was refused as a duplicate may belong to another record, which
 * must not be taken back. After anything but a refusal, nobody knows how far the insert came, and the note stays.
 */
async function noteOurs(log: StepLog, made: MadeStep, error: unknown): Promise<void> {
  if (!isClientError(error)) return;
  log.drop(made);
  await noteInserted(log, made, error);
}

/** Notes only those that were inserted before one was refused. */
async function noteInserted(log: StepLog, made: MadeStep, error: unknown): Promise<void> {
  const ids = made.ids.slice(0, insertedBefore(error));
  if (ids.length > 0) await log.note({ ...made, ids });
}

/** The id of each new record: its own, if it brings one, or the one that it was judged with, else a new one. */
async function idsFor(deps: ActingDeps, table: Table, plans: readonly JudgedPlan[]): Promise<Stored[]> {
  const brought = plans.map(broughtId);
  const numbers = brought.filter((id) => typeof id === "number");
  // A number that is used already must not come out of the sequence later.
  if (numbers.length > 0) await deps.store.raiseSequence(table, Math.max(0, ...numbers));
  const known = plans.map(({ id }) => id?.value);
  const lacking = known.filter((id) => id === undefined).length;
  const made = lacking === 0 ? [] : await newIds(table, lacking, deps.store);
  return known.map((id) => id ?? made.shift()).filter((id) => id !== undefined);
}
