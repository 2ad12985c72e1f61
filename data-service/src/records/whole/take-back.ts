// Takes back what a request has written, step by step. What others have changed since stays as they left it, and what they have
// taken meanwhile (a unique value, a link that only one record may have) stays theirs.
import { AppError, isConflict } from "@portico/shared/app-error";
import type { ObjectId } from "bson";
import {
  type Catalog,
  isJournaled,
  type Relation,
  relationIn,
  type Table,
  tableById,
  targetOf,
} from "../../catalog/catalog.js";
import { idText } from "../../catalog/record-ids.js";
import { DELETION_FIELD } from "../../catalog/soft-delete.js";
import type { Stored } from "../../catalog/stored.js";
import type { ChangeStore } from "../../mongo/change-store.js";
import { linksIn } from "../../query/as-read.js";
import { allOf, type Document } from "../../query/lower/document.js";
import { linksTo } from "../../query/lower/links.js";
import { refuseContended } from "../../until-still.js";
import { type Acting, actingForNobody } from "../acting-for.js";
import { tablesDeletedFrom, tablesWritten } from "../body/write-plan.js";
import { isBound, OWN_REACH, takesAlong } from "../delete/delete-effects.js";
import { actOf } from "../delete/kept.js";
import { endMissing, isLinkable } from "../delete/missing-links.js";
import { Deleter } from "../delete/run-delete.js";
import { movedField } from "../derived/counted-writes.js";
import type { RecordDeps } from "../record-deps.js";
import { keptSteps } from "./are-kept.js";
import { changeBack, neededBy } from "./change-back.js";
import { atChanges } from "./former-fields.js";
import { type Alike, groupedByBefore } from "./moved.js";
import type { StayingRecords } from "./refused-in-part.js";
import type { LinkedStep, MadeStep, Moved, Step } from "./steps.js";
import type { TakenBack } from "./unfinished.js";

type Given = RecordDeps & {
  readonly changes: Pick<ChangeStore, "keepsTable">;
};
type Deps = Acting<Given>;

/** Takes steps back, the last first. Doing it again changes nothing. */
export async function takeBack(given: Given, steps: readonly Step[]): Promise<TakenBack> {
  if (steps.length === 0) return { waiting: [], staying: [] };
  const deps = actingForNobody(given);
  // What links to the records must be known in full.
  const catalog = await deps.catalogs.refresh();
  const kept = await keptSteps(deps, catalog, steps);
  /** Records this request made that must stay, because something that can neither be moved back nor unlinked points to them. */
  const needed: LinkedStep["to"][] = [];
  for (const step of steps.toReversed()) {
    const table = tableById(catalog, step.table);
    // All of it went with its table.
    if (table === undefined || kept.includes(step)) continue;
    if (step.kind === "made") needed.push(...(await changedSince(deps, table, step)));
    const back = async (): Promise<void> => {
      if (step.kind === "made")
        await unmake(deps, catalog, table, unneeded(await withNeeds(deps, catalog, needed), table, step));
      else if (step.kind === "changed") needed.push(...(await changeBack(deps, catalog, table, step)));
      else await linkBack(deps, catalog, table, step, isMadeIn(steps, step.to));
    };
    await back().catch(async (error: unknown) => {
      unlessTaken(deps, table, step, error);
      if (step.kind === "linked") needed.push(step.to);
      if (step.kind === "changed") needed.push(...(await neededBy(deps, catalog, table, step)));
    });
  }
  return { waiting: kept, staying: await stayingOf(deps, catalog, without(steps, kept)) };
}

/** What must stay, and what that is bound to in turn: it would go along with that. */
async function withNeeds(
  { store }: Deps,
  catalog: Catalog,
  needed: readonly LinkedStep["to"][],
): Promise<readonly LinkedStep["to"][]> {
  const all = [...needed];
  // The list grows while it is walked.
  for (const { table: tableId, id } of all) {
    const table = tableById(catalog, tableId);
    const links = [...(table?.relations.values() ?? [])].filter(isBound);
    if (table === undefined || links.length === 0) continue;
    const fields = Object.fromEntries(links.map(({ link: { field } }) => [field, 1]));
    const [record] = await store.byIds(table, [id], { _id: 1, ...fields });
    for (const relation of links) {
      const { id: target } = targetOf(catalog, relation);
      const to = linksIn(record?.[relation.link.field]).map((each) => ({ table: target, id: each }));
      all.push(...to.filter((each) => !all.some((known) => isSame(known, each))));
    }
  }
  return all;
}

function isSame(one: LinkedStep["to"], other: LinkedStep["to"]): boolean {
  return one.table === other.table && String(one.id) === String(other.id);
}

function isMadeIn(steps: readonly Step[], { table, id }: LinkedStep["to"]): boolean {
  const isIt = (each: Stored): boolean => String(each) === String(id);
  return steps.some((step) => step.kind === "made" && step.table === table && step.ids.some(isIt));
}

function without(steps: readonly Step[], some: readonly Step[]): readonly Step[] {
  return steps.filter((step) => !some.includes(step));
}

function unneeded(needed: readonly LinkedStep["to"][], table: Table, step: MadeStep): MadeStep {
  const staying = needed.filter((to) => to.table === table.id).map(({ id }) => idText(table, id));
  return { ...step, ids: step.ids.filter((id) => !staying.includes(idText(table, id))) };
}

/** The tables whose documents that may change. */
export function tablesTakenBackIn(catalog: Catalog, steps: readonly Step[]): ReadonlySet<Table> {
  const tables = steps.flatMap(({ kind, table: id }) => {
    const table = tableById(catalog, id);
    if (table === undefined) return [];
    const written = kind === "made" ? [] : tablesWritten(catalog, table);
    // What is given back to what is there no more goes with it.
    const mayGo = kind === "made" || [...table.relations.values()].some(takesAlong);
    return mayGo ? [...written, ...tablesDeletedFrom(catalog, table)] : written;
  });
  return new Set(tables);
}

/** The earlier steps are taken back even if this one can't be. @throws every error that is not a conflict with others */
function unlessTaken({ logger }: Deps, { name }: Table, { kind }: Step, error: unknown): void {
  if (!isConflict(error)) throw error;
  logger.warn({ table: name, step: kind, err: error }, "others have taken what a request would give back");
}

/** What a request has made and others have changed since, of the tables where that stays. */
async function changedSince(
  { store, hooksOf }: Deps,
  table: Table,
  { ids }: MadeStep,
): Promise<readonly LinkedStep["to"][]> {
  if (!hooksOf(table).staysOnceChanged) return [];
  const asMade = await store.existing(table, ids, [{ $match: atChanges(0) }]);
  return ids.filter((id) => !asMade.has(idText(table, id))).map((id) => ({ table: table.id, id }));
}

/** Those of the records that are there. */
async function leftOf({ store }: Deps, table: Table, { ids, at }: MadeStep): Promise<readonly Stored[]> {
  const ours = at === undefined ? [] : [{ $match: { [table.createdAt.field]: at } }];
  const there = await store.existing(table, ids, ours);
  return ids.filter((id) => there.has(idText(table, id)));
}

async function stayingOf(
  deps: Deps,
  catalog: Catalog,
  steps: readonly Step[],
): Promise<readonly StayingRecords[]> {
  const staying: StayingRecords[] = [];
  for (const step of steps) {
    const table = tableById(catalog, step.table);
    if (step.kind !== "made" || table === undefined) continue;
    const ids = await leftOf(deps, table, step);
    if (ids.length > 0) staying.push({ table: table.id, ids });
  }
  return staying;
}

/**
 * Deletes what was made. What others have linked to it must not go along: it stays where that would, as where the link forbids
 * the delete.
 */
async function unmake(deps: Deps, catalog: Catalog, table: Table, step: MadeStep): Promise<void> {
  const left = await leftOf(deps, table, step);
  // It goes for good even if its table keeps deleted records, as if it had never been.
  const reach = { ...OWN_REACH, permanent: true, permanentIn: table.id, sparesOthers: true };
  const deleter = new Deleter(deps, catalog, reach);
  const hasGone = isJournaled(table) && left.length < step.ids.length;
  if (hasGone && step.isBrought !== true) await lookAfterGone(deps, deleter, table, step);
  if (left.length === 0) return;
  const take = (ids: readonly Stored[], condition: Document = {}): Promise<boolean> =>
    deleter.takeAway({ table, ids }, { condition });
  const hooks = deps.hooksOf(table);
  const asMade = hooks.staysOnceChanged ? atChanges(0) : {};
  const takeOne = async (id: Stored): Promise<void> => {
    const isDone = await hooks.changing(table, id, null, (also) => take([id], allOf([asMade, also])));
    if (!isDone) refuseContended(table.name)();
  };
  /** One that has to stay must not keep the others: halves, until it is alone. @returns those that have to */
  const takeMost = async (ids: readonly Stored[]): Promise<Held[]> => {
    const [id] = ids;
    if (id === undefined) return [];
    if (ids.length > 1 && hooks.deletesEach) return inHalves(ids);
    try {
      // A user who was made root admin, and is the last one by now, has to stay.
      await (hooks.deletesEach ? takeOne(id) : take(ids));
      return [];
    } catch (why) {
      if (!isConflict(why)) throw why;
      return ids.length === 1 ? [{ id, why }] : inHalves(ids);
    }
  };
  // What was made later may be bound to what was made before.
  const inHalves = async (ids: readonly Stored[]): Promise<Held[]> => {
    const [before, later] = [ids.slice(0, ids.length / 2), ids.slice(ids.length / 2)];
    const held = await takeMost(later);
    return [...(await takeMost(before)), ...held];
  };
  let [open, held] = [left, await takeMost(left)];
  // Where ids are brought along, what was made before may be bound to what was made later.
  while (held.length > 0 && held.length < open.length) {
    open = held.map(({ id }) => id).toReversed();
    held = await takeMost(open);
  }
  for (const { why } of held) unlessTaken(deps, table, step, why);
}

/** A record that has to stay, and why. */
interface Held {
  readonly id: Stored;
  readonly why: unknown;
}

/** The first of a list that was refused are gone already where a journal is kept: others may have linked to them meanwhile. */
async function lookAfterGone(deps: Deps, deleter: Deleter, table: Table, { ids }: MadeStep): Promise<void> {
  const there = await deps.store.existing(table, ids);
  await deleter.lookAgain({ table, ids: ids.filter((id) => !there.has(idText(table, id))) });
}

/** @param isMade whether the request has made what it linked to, which goes for good then */
async function linkBack(
  deps: Deps,
  catalog: Catalog,
  table: Table,
  step: LinkedStep,
  isMade: boolean,
): Promise<void> {
  const { writes } = deps;
  const owner = tableById(catalog, step.to.table);
  const relation = relationIn(table, step.field);
  // All of it went with its relation, or with the table that this leads to.
  if (relation === undefined || owner === undefined) return;
  const { field, list, to, gained, lost } = step;
  // A link that is given back may lead to a record that was deleted meanwhile.
  const links = [to.id, ...gained.flatMap(({ before }) => (before === null ? [] : [before]))];
  const stays = takesAlong(relation) && !isMade;
  const movable = stays ? await notGoneWith(deps, owner, to.id) : {};
  const place = { table, relation, owner };
  const refused: unknown[] = [];
  if (list) {
    await writes.takeFromList(table, field, { _id: { $in: idsOf(gained) } }, [to.id]);
    await writes.addToList(table, field, { _id: { $in: idsOf(lost) } }, to.id);
  } else {
    refused.push(...(await giveBack(deps, { ...place, movable }, step, gained, to.id)));
    refused.push(...(await giveBack(deps, { ...place, movable: {} }, step, lost, null)));
  }
  // Other links to it are seen to by the delete itself, which waits for ours to go.
  const ours = { _id: { $in: idsOf([...gained, ...lost]) } };
  await endMissing(deps, catalog, { table, relation, which: ours }, owner, links);
  if (refused.length > 0) throw refused[0];
}

/** Where the links of a step lie, and the table that they lead to. */
interface Place {
  readonly table: Table;
  readonly relation: Relation;
  readonly owner: Table;
  /** The condition for those that may be moved back. */
  readonly movable: Document;
}

/** What has gone along with a record that is kept comes back with it, and so still has to link there. */
async function notGoneWith({ store }: Deps, owner: Table, id: Stored): Promise<Document> {
  const [kept] = owner.deletedAt === undefined ? [] : await store.byIds(owner, [id], { [DELETION_FIELD]: 1 });
  const act = kept && actOf(kept);
  return act === undefined ? {} : { [DELETION_FIELD]: { $ne: act } };
}

/**
 * Gives records the links that they had, as far as others have not taken those.
 * @param link what they have linked to since the request
 * @returns why some keep that: they can neither get theirs back nor do without one, or it is shared by now
 */
async function giveBack(
  deps: Deps,
  place: Place,
  step: LinkedStep,
  moved: readonly Moved[],
  link: Stored | null,
): Promise<unknown[]> {
  const refused: unknown[] = [];
  for (const alike of groupedByBefore(moved))
    refused.push(...(await giveAlikeBack(deps, place, step, alike, link)));
  return refused;
}

async function giveAlikeBack(
  deps: Deps,
  { table, relation, owner, movable }: Place,
  step: LinkedStep,
  { ids, before, by: former, changes }: Alike,
  link: Stored | null,
): Promise<unknown[]> {
  const { field, by } = step;
  // The link that they have is better than one that leads nowhere.
  const mustStay = isBound(relation) && link !== null && before !== null;
  if (mustStay && !(await isLinkable(deps, relation, owner, before)))
    return [new AppError("CONFLICT", `What records of "${table.name}" linked to is there no more.`)];
  // What others wrote to a record while it had an owner was not meant for one of nobody (see sharedLinks in change-back).
  const mayBeShared = takesAlong(relation) && link !== null && changes !== undefined;
  // Only links that we set: others may have set the very same.
  const ours = (to: readonly (Stored | null)[]) => ({
    ...linksTo(relation.link, to),
    [movedField(field)]: by,
  });
  // What it led to may be deleted by now, which made it null.
  const left = { ...ours([link, null]), ...movable, ...(mayBeShared && atChanges(changes)) };
  const move = (some: readonly Stored[], to: Stored | null, mover: ObjectId | null) =>
    deps.writes.moveLink(table, field, { _id: { $in: [...some] }, ...left }, to, mover);
  const refused: unknown[] = [];
  const giveOne = async (id: Stored): Promise<void> => {
    try {
      await move([id], before, former);
    } catch (error) {
      unlessTaken(deps, table, step, error);
      // Another record links there by now. Without a link, this one does not go along with what is taken back next.
      if (relation.required) refused.push(error);
      else await move([id], null, null);
    }
  };
  await move(ids, before, former).catch(async (error: unknown) => {
    if (!isConflict(error)) throw error;
    for (const id of ids) await giveOne(id);
  });
  if (mayBeShared && (await deps.store.existing(table, ids, [{ $match: ours([link]) }])).size > 0)
    refused.push(new AppError("CONFLICT", `Records of "${table.name}" were changed while they had a link.`));
  return refused;
}

function idsOf(moved: readonly Moved[]): Stored[] {
  return moved.map(({ id }) => id);
}
