// Does what a write plan says, in an order that leaves nothing dangling if the process dies in between.
import { isClientError } from "@portico/shared/app-error";
import { owningRelation, type Table } from "../catalog/catalog.js";
import { COLUMN_TYPES, type Stored } from "../catalog/column-types.js";
import { emptyGrams } from "../catalog/grams.js";
import { SINGLETON_FIELD } from "../catalog/indexes.js";
import { insertedBefore } from "../mongo/driver-errors.js";
import { idText, type Updated, VERSION_FIELD } from "../mongo/record-store.js";
import { asStored } from "../query/as-read.js";
import type { Document } from "../query/lower/document.js";
import type { StoredRecord } from "../query/shape.js";
import { linkable } from "./await-leaving.js";
import type { LinkSet } from "./check-body.js";
import type { FieldChange, Guard } from "./counted-writes.js";
import type { RecordDeps } from "./deps.js";
import { recordNotFound } from "./find-table.js";
import { type WholeChange, withUnseen } from "./former-links.js";
import { newIds } from "./ids.js";
import { stateCondition } from "./kept.js";
import { linkForeign, requireLettable } from "./link-foreign.js";
import { isHolding, requireLinked } from "./require-linked.js";
import type { Changed as ChangedStep, Made as MadeStep, UndoLog } from "./undo.js";
import { atVersion, versionOf } from "./version.js";
import { alone, type PathOf } from "./violations.js";
import { all } from "./write-guard.js";
import type { OwnFields, WritePlan } from "./write-plan.js";

/** Records that were made. */
export interface Made {
  readonly ids: readonly Stored[];
  /** As they were written; undefined where more was written than these. */
  readonly documents: readonly StoredRecord[] | undefined;
}

/**
 * Creates records.
 * @param log what takes them back where it is all or none
 * @param pathOf where in the request each plan stands
 */
export async function runCreate(
  deps: RecordDeps,
  table: Table,
  plans: readonly WritePlan[],
  log: UndoLog,
  pathOf: PathOf = alone,
): Promise<Made> {
  const brought = new Set(
    plans
      .map(broughtId)
      .filter((id) => id !== undefined)
      .map((id) => idText(table, id)),
  );
  // They may link to each other; whether they may be linked to is seen once they are written.
  const isComing = (target: Table, id: Stored) => target.id === table.id && brought.has(idText(table, id));
  await requireLinked(deps, plans, { pathOf, isComing });
  const fields: Document[] = [];
  // One after another: many new users would ask for more password hashes at once than are made.
  for (const { own } of plans) fields.push(await storedFields(deps, table, own));
  const ids = await idsFor(deps, table, plans);
  const now = deps.clock.now();
  const mark = table.singleton ? { [SINGLETON_FIELD]: 1 } : {};
  // An import by root brings ids and times of its own, among the fields.
  const times = { [table.createdAt.field]: now, [table.updatedAt.field]: now };
  const before = { ...emptyGrams(table.columns.values()), ...times };
  const documents = fields.map((own, at): Document => ({ _id: ids[at] ?? null, ...before, ...own, ...mark }));
  const made: MadeStep = { kind: "made", table: table.id, ids };
  if (plans.some(broughtId)) {
    await insertBrought(deps, table, documents, ids);
    await log.note(made);
  } else {
    await log.note(made);
    await deps.writes.insert(table, documents).catch(async (error: unknown) => {
      await noteOurs(log, made, error);
      throw error;
    });
  }
  for (const [at, plan] of plans.entries()) await linkForeign(deps, table, ids[at], plan.foreign, log);
  // A linked record that is deleted at this moment sweeps up what it finds after it has gone (see run-delete); what it
  // can't have found yet, because we came later, we find here.
  await requireLinked(deps, plans, { pathOf });
  const isAll = plans.every(({ foreign }) => foreign.length === 0);
  return { ids, documents: isAll ? documents : undefined };
}

/**
 * Other programs may give numbers to records as well: an id that a duplicate was refused for may be that of another
 * record, which must not be taken back. Of anything but a refusal nobody knows how far it came.
 */
async function noteOurs(log: UndoLog, made: MadeStep, error: unknown): Promise<void> {
  if (!isClientError(error)) return;
  log.drop(made);
  const ids = made.ids.slice(0, insertedBefore(error));
  if (ids.length > 0) await log.note({ ...made, ids });
}

/** The id of each new record: its own, if it brings one, or the one that it was judged with, else a new one. */
async function idsFor(deps: RecordDeps, table: Table, plans: readonly WritePlan[]): Promise<Stored[]> {
  const brought = plans.map(broughtId);
  const numbers = brought.filter((id) => typeof id === "number");
  // A number that is used already must not come out of the sequence later.
  if (numbers.length > 0) await deps.store.raiseSequence(table, Math.max(...numbers));
  const known = plans.map((plan, at) => brought[at] ?? plan.id);
  const lacking = known.filter((id) => id === undefined).length;
  const made = lacking === 0 ? [] : await newIds(table, lacking, deps.store);
  return known.map((id) => id ?? made.shift()).filter((id) => id !== undefined);
}

function broughtId({ own }: WritePlan): Stored | undefined {
  return own.set.get("_id");
}

/**
 * Several documents that fail half-way (a duplicate) leave nothing behind. Their ids were not made for them, so that a
 * record which has one may be another's: only what is known to be ours goes.
 */
async function insertBrought(
  deps: RecordDeps,
  table: Table,
  documents: readonly Document[],
  ids: readonly Stored[],
): Promise<void> {
  try {
    await deps.writes.insert(table, documents);
  } catch (error) {
    const ours = ids.slice(0, insertedBefore(error));
    if (documents.length > 1 && ours.length > 0) await deps.writes.remove(table, ours);
    throw error;
  }
}

/** A change of one record. */
export interface RecordChange {
  readonly table: Table;
  readonly id: Stored;
  readonly plan: WritePlan;
  /** It happens only while the record satisfies this. */
  readonly guard: Guard;
  /** Fields written with it. */
  readonly extra?: Document;
  /** What to give of the record, as a projection. */
  readonly fields?: Document | undefined;
}

/** A record that was changed. */
export interface Changed {
  /** As it was written; undefined where more was written than this, or nothing. */
  readonly document: StoredRecord | undefined;
}

/**
 * Changes one record.
 * @param log of a request that does more than this change
 * @returns false when the record is there and the guard does not hold
 * @throws AppError 404
 */
export async function runUpdate(
  deps: RecordDeps,
  change: RecordChange,
  log?: UndoLog,
): Promise<Changed | false> {
  const { table, id, plan } = change;
  await requireLinked(deps, [plan]);
  const done = await deps.userHooks.changing(table, id, plan.own.set, (besides) => {
    const guard = { ...change.guard, condition: all([change.guard.condition, besides]) };
    const run = (each: UndoLog): Promise<Changed | false> => changeRecord(deps, { ...change, guard }, each);
    return log === undefined ? deps.unfinished.orUndo(run) : run(log);
  });
  if (done !== false) await deps.userHooks.afterChange(table, id);
  return done;
}

async function changeRecord(deps: RecordDeps, wanted: RecordChange, log: UndoLog): Promise<Changed | false> {
  const { table, id, plan } = wanted;
  const { foreign } = plan;
  const change = await ownChange(deps, wanted);
  for (const linkSet of foreign) await requireLettable(deps, id, linkSet);
  const done = await writeOwn(deps, wanted, change, log);
  if (done === false) return false;
  await linkForeign(deps, table, id, foreign, log);
  // As in runCreate.
  await requireLinked(deps, [{ mustExist: ownLinks(plan) }]);
  if (foreign.length === 0) return { document: done?.document };
  await requireStillThere(deps, wanted);
  return { document: undefined };
}

/** Links that lie in the record itself. */
function ownLinks({ mustExist }: WritePlan): LinkSet[] {
  return mustExist.filter(({ relation }) => relation.link.on === "self");
}

/** What changes in the record itself; undefined where nothing is to be written at all. */
async function ownChange(
  deps: RecordDeps,
  { table, id, plan, extra }: RecordChange,
): Promise<WholeChange | undefined> {
  const fields = {
    ...(await storedFields(deps, table, plan.own)),
    ...deps.userHooks.alongside(table, plan.own),
    ...extra,
  };
  const { unset } = plan.own;
  if (Object.keys(fields).length === 0 && unset.length === 0 && plan.foreign.length === 0) return undefined;
  const set = { ...fields, [table.updatedAt.field]: deps.clock.now() };
  return withUnseen(deps, table, id, plan.ownLists, { set, unset });
}

/**
 * Writes the record itself.
 * @param change undefined = nothing
 * @returns what was written; undefined for nothing, false when the record is there and the guard does not hold
 * @throws AppError 404
 */
async function writeOwn(
  deps: RecordDeps,
  wanted: RecordChange,
  change: WholeChange | undefined,
  log: UndoLog,
): Promise<Updated | undefined | false> {
  const { table, id } = wanted;
  const done = change === undefined ? undefined : await writeNoted(deps, wanted, change, log);
  if (done !== undefined) return done;
  if ((await deps.store.existing(table, [id])).size === 0) throw recordNotFound(table);
  return change === undefined ? undefined : false;
}

/** Notes what the record was where more than this may have to be taken back, and writes it. */
async function writeNoted(
  deps: RecordDeps,
  { table, id, plan, guard, fields }: RecordChange,
  { change, guard: unmoved = {} }: WholeChange,
  log: UndoLog,
): Promise<Updated | undefined> {
  const isNoted = plan.foreign.length > 0 || ownLinks(plan).length > 0;
  const noted = isNoted ? await noteFields(deps, table, id, change, log) : undefined;
  // Taken back is the version that comes next, so the change is of the one that was noted.
  const asNoted = noted === undefined ? {} : atVersion([noted.version]);
  const condition = all([guard.condition, unmoved, asNoted]);
  return whileNoted(log, noted, () => deps.writes.update(table, id, change, { ...guard, condition }, fields));
}

/** It may have been deleted while others were made to link to it. @throws AppError 404 */
async function requireStillThere(
  deps: RecordDeps,
  { table, id, plan: { foreign } }: RecordChange,
): Promise<void> {
  const holds = foreign.some((linkSet) => isHolding(owningRelation(linkSet)));
  const living = [{ $match: stateCondition(table, "living") }];
  if ((await linkable(deps, table, [id], holds, living)).size === 0) throw recordNotFound(table);
}

/** A change that is refused was not made: nothing of it is to be taken back. */
async function whileNoted(
  log: UndoLog,
  step: ChangedStep | undefined,
  write: () => Promise<Updated | undefined>,
): Promise<Updated | undefined> {
  const drop = (): void => step && log.drop(step);
  try {
    const done = await write();
    if (done === undefined) drop();
    return done;
  } catch (error) {
    if (isClientError(error)) drop();
    throw error;
  }
}

/** Notes what the fields of a record are before they change. @returns the note; none when there is no such record */
export async function noteFields(
  { store }: RecordDeps,
  table: Table,
  id: Stored,
  { set, unset }: FieldChange,
  log: UndoLog,
): Promise<ChangedStep | undefined> {
  const at = set[table.updatedAt.field];
  if (!(at instanceof Date)) throw new Error(`a change of "${table.name}" does not say when it is made`);
  const fields = [...Object.keys(set), ...unset];
  const project = Object.fromEntries([VERSION_FIELD, ...fields].map((field) => [field, 1]));
  const [before] = await store.read(table, [{ $match: { _id: id } }, { $project: project }]);
  if (before === undefined) return undefined;
  const had = fields.filter((field) => before[field] !== undefined);
  const step: ChangedStep = {
    kind: "changed",
    table: table.id,
    id,
    version: versionOf(before),
    at,
    // What was just read goes back as it was.
    set: Object.fromEntries(had.map((field) => [field, asStored(before[field])])),
    unset: fields.filter((field) => before[field] === undefined),
  };
  await log.note(step);
  return step;
}

async function storedFields(deps: RecordDeps, table: Table, { set, columns }: OwnFields): Promise<Document> {
  const entries = [...set].map(async ([field, value]): Promise<[string, Stored]> => {
    const column = columns.get(field);
    if (column === undefined) return [field, value];
    if (column.encrypted) return [field, deps.sealer.seal(COLUMN_TYPES[column.type].toJson(value), column)];
    return [field, await deps.userHooks.transform(table, column, value)];
  });
  return Object.fromEntries(await Promise.all(entries));
}
