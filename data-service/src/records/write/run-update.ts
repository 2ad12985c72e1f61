// Changes a record as its write plan says, in an order that leaves nothing dangling if the process dies in between.
import { isClientError } from "@portico/shared/app-error";
import type { Table } from "../../catalog/catalog.js";
import type { Stored } from "../../catalog/column-types.js";
import type { Updated } from "../../mongo/record-store.js";
import { allOf, type Document } from "../../query/lower/document.js";
import type { StoredRecord } from "../../query/shape.js";
import type { LinkSet } from "../body/check-body.js";
import { withUnseen } from "../body/former-links.js";
import { requireLinked } from "../body/require-linked.js";
import type { WritePlan } from "../body/write-plan.js";
import { hasGoneAlong } from "../delete/gone-along.js";
import type { FieldChange, Guard } from "../derived/counted-writes.js";
import { recordNotFound } from "../find-table.js";
import type { RecordDeps } from "../record-deps.js";
import { atVersion } from "../version.js";
import { named, noteFields } from "../whole/note-fields.js";
import type { ChangedStep, UndoLog } from "../whole/undo.js";
import { areStillThere, linkForeign, requireLettable, unlessTakenAlong } from "./link-foreign.js";
import { storedFields } from "./stored-fields.js";

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
 * Changes one record. What its plan links to is there, as far as it was to be seen before.
 * @param log of a request that does more than this change
 * @returns false when the record is there and the guard does not hold
 * @throws AppError 404
 */
export async function runUpdate(
  deps: RecordDeps,
  change: RecordChange,
  log?: UndoLog,
): Promise<Changed | false> {
  const { table, id } = change;
  const plan = await deps.userHooks.withoutKnown(table, id, change.plan);
  const run = (each: UndoLog): Promise<Changed | false> =>
    deps.userHooks.changing(table, id, plan.own.set, (besides) => {
      const guard = { ...change.guard, condition: allOf([change.guard.condition, besides]) };
      return changeRecord(deps, { ...change, plan, guard }, each);
    });
  // Around it: what is taken back is a change of its own, of the last root admin as well.
  const done = await (log === undefined ? deps.unfinished.orUndo(run) : run(log));
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
  const itself = { table, ids: [id] };
  const moved = await linkForeign(deps, table, id, foreign, log);
  const look = async (): Promise<void> => {
    // As in run-create.
    await requireLinked(deps, [plan], { isWritten: true });
    if (foreign.length > 0 && !(await areStillThere(deps, table, [id], foreign))) throw recordNotFound(table);
  };
  await unlessTakenAlong(deps, itself, moved, look, () => hasGoneAlong(deps, table, id, ownLinks(plan)));
  return { document: foreign.length === 0 ? done?.document : undefined };
}

/** Links that lie in the record itself. */
function ownLinks({ mustExist }: WritePlan): LinkSet[] {
  return mustExist.filter(({ relation }) => relation.link.on === "self");
}

/** A change of the record itself, and the condition under which it lets go of no link that its caller does not see. */
interface OwnChange {
  readonly change: FieldChange;
  readonly unmoved: Document;
}

/** What changes in the record itself; undefined where nothing is to be written at all. */
async function ownChange(
  deps: RecordDeps,
  { table, id, plan: seen, extra }: RecordChange,
): Promise<OwnChange | undefined> {
  const { plan, guard: unmoved } = await withUnseen(deps, table, id, seen);
  const fields = {
    ...(await storedFields(deps, table, plan.own)),
    ...deps.userHooks.alongside(table, plan.own),
    ...extra,
  };
  const { unset } = plan.own;
  if (Object.keys(fields).length === 0 && unset.length === 0 && plan.foreign.length === 0) return undefined;
  const set = { ...fields, [table.updatedAt.field]: deps.clock.now() };
  return { change: { set, unset }, unmoved };
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
  change: OwnChange | undefined,
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
  { change, unmoved }: OwnChange,
  log: UndoLog,
): Promise<Updated | undefined> {
  const write = (what: FieldChange, asNoted: Document): Promise<Updated | undefined> => {
    const condition = allOf([guard.condition, unmoved, asNoted]);
    return deps.writes.update(table, id, what, { ...guard, condition }, fields);
  };
  if (plan.foreign.length === 0 && ownLinks(plan).length === 0) return write(change, {});
  const own = named(table, change);
  const noted = await noteFields(deps, table, id, own, log);
  // What is taken back is what was noted, so the change is of that version.
  return whileNoted(log, noted?.step, () => write(own.change, noted ? atVersion([noted.version]) : {}));
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
