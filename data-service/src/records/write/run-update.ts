// Changes a record as its write plan says, in an order that leaves nothing dangling if the process dies in between.
import { isClientError } from "@portico/shared/app-error";
import type { Table } from "../../catalog/catalog.js";
import type { Stored } from "../../catalog/stored.js";
import { allOf, type Document, type StoredRecord } from "../../query/lower/document.js";
import { underNote } from "../acting-for.js";
import { withUnseen } from "../body/former-links.js";
import { requireLinked } from "../body/require-linked.js";
import { type JudgedPlan, liesInRecord, writesNothing } from "../body/write-plan.js";
import { hasGoneAlong } from "../delete/gone-along.js";
import type { FieldChange, Guard } from "../derived/counted-writes.js";
import { recordNotFound } from "../find-table.js";
import type { ActingDeps } from "../record-deps.js";
import { atVersion } from "../version.js";
import { named, noteFields } from "../whole/note-fields.js";
import type { ChangedStep, StepLog } from "../whole/steps.js";
import { linkForeign } from "./link-foreign.js";
import { areStillThere, unlessTakenAlong } from "./still-there.js";
import { storedFields } from "./stored-fields.js";

/** A change of one record. */
export interface RecordChange {
  readonly table: Table;
  readonly id: Stored;
  readonly plan: JudgedPlan;
  /** It happens only while this holds. */
  readonly guard: Guard;
  /** Fields written with it. */
  readonly extra?: Document;
  /** What to return of the record, as a projection. */
  readonly fields?: Document | undefined;
}

/** A record that was changed. */
export interface Changed {
  /** As it was written; undefined where more was written than this, or nothing. */
  readonly document: StoredRecord | undefined;
  /** False where there was nothing to write. */
  readonly isWritten: boolean;
}

/** What became of the record itself. */
type OwnWrite =
  | { readonly kind: "written"; readonly document: StoredRecord | undefined }
  /** There was nothing to write. */
  | { readonly kind: "nothing" }
  | { readonly kind: "guardFailed" };

/**
 * Changes one record. What its plan links to is known to exist, as far as could be seen before.
 * @param log of a request that does more than this change
 * @returns false, as `untilStill` wants it, when the record is there and the guard does not hold
 * @throws AppError 404
 */
export async function runUpdate(
  deps: ActingDeps,
  change: RecordChange,
  log?: StepLog,
): Promise<Changed | false> {
  const { table, id } = change;
  const hooks = deps.hooksOf(table);
  const plan = await hooks.withoutKnown(table, id, change.plan);
  const run = (by: ActingDeps, each: StepLog): Promise<Changed | false> =>
    hooks.changing(table, id, plan.own, (condition) => {
      const guard = { ...change.guard, condition: allOf([change.guard.condition, condition]) };
      return changeRecord(by, { ...change, plan, guard }, each);
    });
  // Around the hooks: taking back is a change of its own, with hooks of its own, such as for the last root admin.
  const done = await (log === undefined ? asWhole(deps, plan, run) : run(deps, log));
  if (done !== false) await hooks.afterWrite([id]);
  return done;
}

/** Links that lie in other records are writes of their own: a crash in between must not leave some of them. */
function asWhole<Result>(
  deps: ActingDeps,
  { foreign }: JudgedPlan,
  writes: (by: ActingDeps, log: StepLog) => Promise<Result>,
): Promise<Result> {
  const { unfinished } = deps;
  if (foreign.length === 0) return unfinished.orTakeBack((log) => writes(deps, log));
  return unfinished.wholly((log) => writes(underNote(deps), log));
}

async function changeRecord(deps: ActingDeps, wanted: RecordChange, log: StepLog): Promise<Changed | false> {
  const { table, id, plan } = wanted;
  const { foreign } = plan;
  const change = await ownChange(deps, wanted);
  // Right before the write: a password that is hashed may have waited as well.
  await deps.requireCaller();
  const done = await writeOwn(deps, wanted, change, log);
  if (done.kind === "guardFailed") return false;
  const itself = { table, ids: [id] };
  const moved = await linkForeign(deps, table, id, foreign, log);
  const look = async (): Promise<void> => {
    // A delete may have taken one of them between the check and the write (see runCreate).
    await requireLinked(deps, [plan.mustExist], { isWritten: true });
    if (foreign.length > 0 && !(await areStillThere(deps, table, [id], foreign))) throw recordNotFound(table);
  };
  const inRecord = plan.mustExist.filter(liesInRecord);
  await unlessTakenAlong(deps, itself, moved, look, () => hasGoneAlong(deps, table, id, inRecord));
  if (done.kind === "nothing") return { document: undefined, isWritten: false };
  return { document: foreign.length === 0 ? done.document : undefined, isWritten: true };
}

/** A change of the record itself. */
interface OwnChange {
  readonly change: FieldChange;
  /** While this holds, it lets go of no link that its caller does not see. */
  readonly condition: Document;
}

/** What changes in the record itself; undefined where nothing is to be written at all. */
async function ownChange(
  deps: ActingDeps,
  { table, id, plan: seen, extra }: RecordChange,
): Promise<OwnChange | undefined> {
  const { plan, condition } = await withUnseen(deps, table, id, seen);
  const fields = {
    ...(await storedFields(deps, table, plan.own)),
    ...deps.hooksOf(table).alongside(table, plan.own),
    ...extra,
  };
  if (Object.keys(fields).length === 0 && writesNothing(plan)) return undefined;
  const set = { ...fields, [table.updatedAt.field]: deps.clock.now() };
  return { change: { set, unset: plan.own.unset }, condition };
}

/**
 * Writes the record itself.
 * @param change undefined = nothing, but the guard must hold all the same: If-Match asks whether the record is as it was
 * @throws AppError 404 when the record is not there
 */
async function writeOwn(
  deps: ActingDeps,
  wanted: RecordChange,
  change: OwnChange | undefined,
  log: StepLog,
): Promise<OwnWrite> {
  const { table, id } = wanted;
  const done: OwnWrite =
    change === undefined ? await writeNothing(deps, wanted) : await writeNoted(deps, wanted, change, log);
  if (done.kind === "guardFailed" && (await deps.store.existing(table, [id])).size === 0)
    throw recordNotFound(table);
  return done;
}

async function writeNothing({ store }: ActingDeps, { table, id, guard }: RecordChange): Promise<OwnWrite> {
  const holds = await store.hasAny(table, allOf([{ _id: id }, guard.condition]));
  return { kind: holds ? "nothing" : "guardFailed" };
}

/** Writes the record. Notes before what it held, if this may have to be taken back with other writes. */
async function writeNoted(
  deps: ActingDeps,
  { table, id, plan, guard, fields }: RecordChange,
  own: OwnChange,
  log: StepLog,
): Promise<OwnWrite> {
  const write = async (change: FieldChange, atNoted: Document): Promise<OwnWrite> => {
    const condition = allOf([guard.condition, own.condition, atNoted]);
    const updated = await deps.writes.update(table, id, change, { ...guard, condition }, fields);
    return updated === undefined ? { kind: "guardFailed" } : { kind: "written", ...updated };
  };
  if (plan.foreign.length === 0 && !plan.mustExist.some(liesInRecord)) return write(own.change, {});
  const naming = named(table, own.change);
  const noted = await noteFields(deps, table, id, naming, log);
  // What was noted is what it gets back, so the change must be made to that version.
  return whileNoted(log, noted?.step, () =>
    write(naming.change, noted === undefined ? {} : atVersion([noted.version])),
  );
}

/** A change that is refused was not made, so that there is nothing to take back. */
async function whileNoted(
  log: StepLog,
  step: ChangedStep | undefined,
  write: () => Promise<OwnWrite>,
): Promise<OwnWrite> {
  const drop = (): void => step && log.drop(step);
  try {
    const done = await write();
    if (done.kind !== "written") drop();
    return done;
  } catch (error) {
    if (isClientError(error)) drop();
    throw error;
  }
}
