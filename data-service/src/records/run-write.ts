// Does what a write plan says, in an order that leaves nothing dangling if the process dies in between.
import { AppError, isClientError } from "@portico/shared/app-error";
import { owningRelation, type Relation, type Table } from "../catalog/catalog.js";
import { COLUMN_TYPES, type Stored } from "../catalog/column-types.js";
import { emptyGrams } from "../catalog/grams.js";
import { SINGLETON_FIELD } from "../catalog/indexes.js";
import { insertedBefore } from "../mongo/driver-errors.js";
import { idText, type Updated, VERSION_FIELD } from "../mongo/record-store.js";
import { matchStages } from "../query/lower/condition.js";
import { type Document, Names } from "../query/lower/document.js";
import type { StoredRecord } from "../query/shape.js";
import type { LinkSet } from "./check-body.js";
import type { FieldChange, Guard } from "./counted-writes.js";
import type { RecordDeps } from "./deps.js";
import { recordNotFound } from "./find-table.js";
import { formerLinks, withUnseen } from "./former-links.js";
import { newIds } from "./ids.js";
import { stateCondition } from "./kept.js";
import { linkable } from "./leaving.js";
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

/** The id of each new record: its own, if it brings one, else a new one. */
async function idsFor(deps: RecordDeps, table: Table, plans: readonly WritePlan[]): Promise<Stored[]> {
  const brought = plans.map(broughtId);
  const numbers = brought.filter((id) => typeof id === "number");
  // A number that is used already must not come out of the sequence later.
  if (numbers.length > 0) await deps.store.raiseSequence(table, Math.max(...numbers));
  const lacking = brought.filter((id) => id === undefined).length;
  const made = lacking === 0 ? [] : await newIds(table, lacking, deps.store);
  return brought.map((id) => id ?? made.shift()).filter((id) => id !== undefined);
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

/** What comes with a change besides its plan. */
export interface RunBesides {
  /** Fields written with it. */
  readonly extra?: Document;
  /** Of a request that does more than this change. */
  readonly log?: UndoLog | undefined;
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
 * @returns false when the record is there and the guard does not hold
 * @throws AppError 404
 */
export async function runUpdate(
  deps: RecordDeps,
  table: Table,
  id: Stored,
  plan: WritePlan,
  guard: Guard,
  { extra = {}, log, fields }: RunBesides = {},
): Promise<Changed | false> {
  await requireLinked(deps, [plan]);
  const change = (each: UndoLog): Promise<Changed | false> =>
    changeRecord(deps, table, id, plan, guard, { extra, log: each, fields });
  const done = await deps.userHooks.changing(table, id, plan.own.set, () =>
    log === undefined ? deps.unfinished.orUndo(change) : change(log),
  );
  if (done !== false) await deps.userHooks.afterChange(table, id);
  return done;
}

async function changeRecord(
  deps: RecordDeps,
  table: Table,
  id: Stored,
  plan: WritePlan,
  guard: Guard,
  { extra, log, fields: shown }: { extra: Document; log: UndoLog; fields: Document | undefined },
): Promise<Changed | false> {
  const fields = {
    ...(await storedFields(deps, table, plan.own)),
    ...deps.userHooks.alongside(table, plan.own),
    ...extra,
  };
  const { unset } = plan.own;
  const nothing = Object.keys(fields).length === 0 && unset.length === 0 && plan.foreign.length === 0;
  const set = { ...fields, [table.updatedAt.field]: deps.clock.now() };
  const whole = await withUnseen(deps, table, id, plan.ownLists, { set, unset });
  for (const linkSet of plan.foreign) await requireLettable(deps, id, linkSet);
  const ownLinks = plan.mustExist.filter(({ relation }) => relation.link.on === "self");
  const isNoted = plan.foreign.length > 0 || ownLinks.length > 0;
  const noted = isNoted ? await noteFields(deps, table, id, whole.change, log) : undefined;
  // Taken back is the version that comes next, so the change is of the one that was noted.
  const asNoted = noted === undefined ? {} : atVersion([noted.version]);
  const condition = all([guard.condition, whole.guard ?? {}, asNoted]);
  const write = () => deps.writes.update(table, id, whole.change, { ...guard, condition }, shown);
  const done = nothing ? undefined : await whileNoted(log, noted, write);
  if (done === undefined && (await deps.store.existing(table, [id])).size === 0) throw recordNotFound(table);
  if (done === undefined && !nothing) return false;
  await linkForeign(deps, table, id, plan.foreign, log);
  // As in runCreate; and the record itself may have been deleted while others were made to link to it.
  await requireLinked(deps, [{ mustExist: ownLinks }]);
  const holds = plan.foreign.some((linkSet) => isHolding(owningRelation(linkSet)));
  const living = [{ $match: stateCondition(table, "living") }];
  if (plan.foreign.length > 0 && (await linkable(deps, table, [id], holds, living)).size === 0)
    throw recordNotFound(table);
  return { document: plan.foreign.length === 0 ? done?.document : undefined };
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
    ...{ kind: "changed", table: table.id, id, version: versionOf(before), at },
    // What was just read goes back as it was.
    set: Object.fromEntries(had.map((field) => [field, before[field] as Stored])),
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

interface LinkedBesides {
  readonly pathOf?: PathOf;
  /** Records that need not be there yet. */
  readonly isComing?: (target: Table, id: Stored) => boolean;
}

/**
 * Every linked record must exist and be visible.
 * @throws AppError VALIDATION_ERROR naming each field with an unknown one
 */
export async function requireLinked(
  deps: Pick<RecordDeps, "store">,
  plans: readonly Pick<WritePlan, "mustExist">[],
  { pathOf = alone, isComing = () => false }: LinkedBesides = {},
): Promise<void> {
  const unknown: { readonly at: number; readonly problem: string }[] = [];
  for (const [relation, { target, visible, links }] of linksByRelation(plans)) {
    const wanted = links.filter(({ id }) => !isComing(target, id));
    const ids = [...new Map(wanted.map(({ id, text }) => [text, id])).values()];
    const seen = matchStages([visible], new Names());
    const known = await linkable(deps, target, ids, isHolding(relation), seen);
    const missing = wanted.filter(({ text }) => !known.has(text));
    for (const { at, text } of missing) {
      unknown.push({
        at,
        problem: `${relation.name}: there is no "${target.name}" record with the id ${text}`,
      });
    }
  }
  const inOrder = unknown.toSorted((a, b) => a.at - b.at);
  const violations = new Set(inOrder.map(({ at, problem }) => pathOf(at) + problem));
  if (violations.size > 0) throw new AppError("VALIDATION_ERROR", { message: [...violations].slice(0, 100) });
}

/** What the plans link to through one relation. */
type Links = Pick<LinkSet, "target" | "visible"> & {
  /** `at` says which plan does. */
  readonly links: { readonly at: number; readonly id: Stored; readonly text: string }[];
};

/** One question a relation, however many plans. */
function linksByRelation(plans: readonly Pick<WritePlan, "mustExist">[]): ReadonlyMap<Relation, Links> {
  const byRelation = new Map<Relation, Links>();
  for (const [at, { mustExist }] of plans.entries()) {
    for (const { relation, target, ids, visible } of mustExist) {
      const { links }: Links = byRelation.get(relation) ?? { target, visible, links: [] };
      for (const id of ids) links.push({ at, id, text: idText(target, id) });
      byRelation.set(relation, { target, visible, links });
    }
  }
  return byRelation;
}

/** Does such a link stand against the delete of what it leads to? */
function isHolding(relation: Relation | undefined): boolean {
  return relation?.link.on === "self" && !relation.link.list && relation.onDelete === "RESTRICT";
}

/**
 * Links that lie in other documents: first the new ones are set, then the former ones let go. A second writer of the
 * same set may let go of ours in between, so they are set once more: two at once may leave both sets, never neither.
 * Links that are required are never let go: whoever links since that was looked at stays.
 */
async function linkForeign(
  { store, writes }: Pick<RecordDeps, "store" | "writes">,
  table: Table,
  id: Stored | undefined,
  sets: readonly LinkSet[],
  log: UndoLog,
): Promise<void> {
  if (id === undefined) return;
  for (const linkSet of sets) {
    const { relation, target, ids } = linkSet;
    const { field, list } = relation.link;
    const isRequired = owningRelation(linkSet)?.required === true;
    const former = isRequired ? NOBODY : await formerLinks({ store }, id, linkSet);
    const chosen = { _id: { $in: [...ids] } };
    const gaining = { $and: [chosen, { [field]: { $ne: id } }] };
    const [gained, lost] = [
      await linksOf(store, target, field, gaining),
      await linksOf(store, target, field, former),
    ];
    await log.note({
      ...{ kind: "linked", table: target.id, field, list, to: { table: table.id, id } },
      gained: list ? gained.map((each) => ({ ...each, before: null })) : gained,
      lost: lost.map((each) => each.id),
    });
    if (list) {
      await writes.addToList(target, field, chosen, id);
      await writes.takeFromList(target, field, former, [id]);
      await writes.addToList(target, field, chosen, id);
    } else {
      if (!relation.exclusive) await writes.moveLink(target, field, chosen, id);
      await writes.moveLink(target, field, former, null);
      await writes.moveLink(target, field, chosen, id);
    }
  }
}

const NOBODY: Document = { _id: { $in: [] } };

/** Records that satisfy a condition, with their links. */
async function linksOf(
  store: Pick<RecordDeps["store"], "read">,
  table: Table,
  field: string,
  which: Document,
): Promise<{ readonly id: Stored; readonly before: Stored | null }[]> {
  const found = await store.read(table, [{ $match: which }, { $project: { _id: 1, [field]: 1 } }]);
  // Ids come from the same database and go back into it.
  return found.map((each) => ({ id: each._id as Stored, before: (each[field] ?? null) as Stored | null }));
}

/** A record whose link is required can't be let go, only moved or deleted. */
async function requireLettable(deps: RecordDeps, id: Stored, set: LinkSet): Promise<void> {
  const { relation, target } = set;
  const owning = owningRelation(set);
  if (owning?.required !== true) return;
  const former = await formerLinks(deps, id, set);
  const left = await deps.store.read(target, [{ $match: former }, { $limit: 1 }, { $project: { _id: 1 } }]);
  if (left.length === 0) return;
  const reason = `would leave records of "${target.name}" without their required "${owning.name}"; move or delete them instead`;
  throw new AppError("VALIDATION_ERROR", { message: [`${relation.name}: ${reason}`] });
}
