// Does what a write plan says, in an order that leaves nothing dangling if the process dies in between.
import { AppError } from "@portico/shared/app-error";
import type { Relation, Table } from "../catalog/catalog.js";
import { COLUMN_TYPES, type Stored } from "../catalog/column-types.js";
import { emptyGrams } from "../catalog/grams.js";
import { SINGLETON_FIELD } from "../catalog/indexes.js";
import { insertedBefore } from "../mongo/driver-errors.js";
import { idText } from "../mongo/record-store.js";
import { matchStages } from "../query/lower/condition.js";
import { type Document, Names } from "../query/lower/document.js";
import { type LinkSet, owningRelation } from "./check-body.js";
import type { RecordDeps } from "./deps.js";
import { recordNotFound } from "./find-table.js";
import { formerLinks } from "./former-links.js";
import { newIds } from "./ids.js";
import type { Turn } from "./once.js";
import { orUndo, rememberFields, type Undo } from "./undo.js";
import type { OwnFields, WritePlan } from "./write-plan.js";

/**
 * Creates records, all or none.
 * @param turn of a request that may have been sent before
 * @returns their ids
 */
export async function runCreate(
  deps: RecordDeps,
  table: Table,
  plans: readonly WritePlan[],
  turn?: Turn,
): Promise<readonly Stored[]> {
  await requireLinked(deps, plans);
  const fields = await Promise.all(plans.map((plan) => storedFields(deps, table, plan.own)));
  const ids = turn?.ids ?? (await idsFor(deps, table, plans));
  await turn?.choose(ids);
  const now = deps.clock.now();
  const mark = table.singleton ? { [SINGLETON_FIELD]: 1 } : {};
  // An import by root brings ids and times of its own, among the fields.
  const times = { [table.createdAt.field]: now, [table.updatedAt.field]: now };
  const before = { ...emptyGrams(table.columns.values()), ...times };
  const documents = fields.map((own, at): Document => ({ _id: ids[at] ?? null, ...before, ...own, ...mark }));
  const unwritten = turn?.ids === undefined ? documents : await missing(deps, table, documents, ids);
  await insertAll(deps, table, unwritten, ids, plans.some(broughtId));
  await orUndo(async (undo) => {
    undo.push(async () => void (await deps.writes.remove(table, ids)));
    for (const [at, plan] of plans.entries()) await linkForeign(deps, ids[at], plan.foreign, undo);
    // A linked record that is deleted at this moment sweeps up what it finds after it has gone (see runDelete); what it
    // can't have found yet, because we came later, we find here.
    await requireLinked(deps, plans);
  });
  return ids;
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

/** Those that a request whose end nobody saw has not written. */
async function missing(
  { store }: RecordDeps,
  table: Table,
  documents: readonly Document[],
  ids: readonly Stored[],
): Promise<Document[]> {
  const there = await store.existing(table, ids);
  return documents.filter((_, at) => !there.has(idText(table, ids[at])));
}

/**
 * Several documents that fail half-way (a duplicate) leave nothing behind.
 * @param mayExist the ids were not made for these documents, so that a record which has one may be another's: only what
 * is known to be ours goes
 */
async function insertAll(
  deps: RecordDeps,
  table: Table,
  documents: readonly Document[],
  ids: readonly Stored[],
  mayExist: boolean,
): Promise<void> {
  if (documents.length === 0) return;
  try {
    await deps.writes.insert(table, documents);
  } catch (error) {
    const ours = mayExist ? ids.slice(0, insertedBefore(error)) : ids;
    if (documents.length > 1 && ours.length > 0) await deps.writes.remove(table, ours);
    throw error;
  }
}

/**
 * Changes one record.
 * @param guard only while the record satisfies it; `{}` = always
 * @param extra fields written with it
 * @returns false when the record is there and does not satisfy the guard
 * @throws AppError 404
 */
export async function runUpdate(
  deps: RecordDeps,
  table: Table,
  id: Stored,
  plan: WritePlan,
  guard: Document,
  extra: Document = {},
): Promise<boolean> {
  await requireLinked(deps, [plan]);
  await deps.userHooks.beforeChange(table, id, plan.own.set);
  const fields = {
    ...(await storedFields(deps, table, plan.own)),
    ...deps.userHooks.alongside(table, plan.own),
    ...extra,
  };
  const { unset } = plan.own;
  const nothing = Object.keys(fields).length === 0 && unset.length === 0 && plan.foreign.length === 0;
  const change = { set: { ...fields, [table.updatedAt.field]: deps.clock.now() }, unset };
  const done = await orUndo(async (undo) => {
    if (plan.foreign.length > 0) {
      for (const set of plan.foreign) await requireLettable(deps, id, set);
      undo.push(await rememberFields(deps, table, { _id: id }, [...Object.keys(change.set), ...unset]));
    }
    const found = nothing
      ? (await deps.store.existing(table, [id])).size === 1
      : await deps.writes.update(table, id, change, guard);
    if (!found && (await deps.store.existing(table, [id])).size === 0) throw recordNotFound(table);
    if (found) await linkForeign(deps, id, plan.foreign, undo);
    return found;
  });
  if (done) await deps.userHooks.afterChange(table, id);
  return done;
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

/** Every linked record must exist and be visible. @throws AppError VALIDATION_ERROR naming each field with an unknown one */
export async function requireLinked(
  deps: Pick<RecordDeps, "store">,
  plans: readonly Pick<WritePlan, "mustExist">[],
): Promise<void> {
  const byRelation = new Map<Relation, Pick<LinkSet, "target" | "visible"> & { ids: Map<string, Stored> }>();
  for (const { relation, target, ids, visible } of plans.flatMap((plan) => plan.mustExist)) {
    const wanted = byRelation.get(relation) ?? { target, visible, ids: new Map() };
    for (const id of ids) wanted.ids.set(idText(target, id), id);
    byRelation.set(relation, wanted);
  }
  const violations: string[] = [];
  for (const [relation, { target, visible, ids }] of byRelation) {
    const known = await deps.store.existing(target, [...ids.values()], matchStages([visible], new Names()));
    for (const id of [...ids.keys()].filter((each) => !known.has(each))) {
      violations.push(`${relation.name}: there is no "${target.name}" record with the id ${id}`);
    }
  }
  if (violations.length > 0) throw new AppError("VALIDATION_ERROR", { message: violations.slice(0, 100) });
}

/**
 * Links that lie in other documents: first the new ones are set, then the former ones let go. A second writer of the
 * same set may let go of ours in between, so they are set once more: two at once may leave both sets, never neither.
 */
async function linkForeign(
  { store, writes }: Pick<RecordDeps, "store" | "writes">,
  id: Stored | undefined,
  sets: readonly LinkSet[],
  undo: Undo[],
): Promise<void> {
  if (id === undefined) return;
  for (const linkSet of sets) {
    const { relation, target, ids } = linkSet;
    const { field, list } = relation.link;
    const former = await formerLinks({ store }, id, linkSet);
    const chosen = { _id: { $in: [...ids] } };
    undo.push(await rememberFields({ store, writes }, target, { $or: [former, chosen] }, [field]));
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
