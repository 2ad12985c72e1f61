// Links that lie in the records of other tables: sets those to one record, and refuses to let go of required ones.
import { AppError } from "@portico/shared/app-error";
import { ObjectId } from "bson";
import { owningRelation, type Relation, type Table } from "../../catalog/catalog.js";
import { idsOf, idText } from "../../catalog/record-ids.js";
import type { Stored } from "../../catalog/stored.js";
import { getOrMake } from "../../get-or-make.js";
import { piecesOf } from "../../pieces.js";
import { asStored, valueIn } from "../../query/as-read.js";
import { allOf, anyOf, type Document } from "../../query/lower/document.js";
import { linksElsewhere, linksTo, stillLinks } from "../../query/lower/links.js";
import { Taken } from "../../store-refusals.js";
import { Overtaken } from "../../until-still.js";
import { formerLinks } from "../body/former-links.js";
import type { AuthorizedLinks, Judged, JudgedLinks, JudgedRecords, LinkSet } from "../body/link-set.js";
import { linkable, stillLeaving } from "../delete/await-leaving.js";
import { isHolding, takesAlong } from "../delete/delete-effects.js";
import { stateCondition } from "../delete/kept.js";
import { FREE, LEAVING_FIELD } from "../delete/leaving.js";
import { spaceForMoving } from "../delete/space-for-going.js";
import { movedField } from "../derived/counted-writes.js";
import type { ActingDeps, RecordDeps } from "../record-deps.js";
import { changesOf, formerProjection } from "../whole/former-fields.js";
import { groupedByBefore } from "../whole/moved.js";
import type { LinkedStep, Moved, StepLog } from "../whole/steps.js";

type Deps = Pick<ActingDeps, "store" | "writes" | "bulkSpace">;

/** Links of one set, to one record. */
interface Linking {
  readonly to: LinkedStep["to"];
  readonly set: JudgedLinks;
  readonly log: StepLog;
}

/**
 * Sets links: first the new ones are set, then the former ones let go. A second writer of the same set may let go of ours
 * in between, so they are set once more: two at once may leave both sets, never neither. Required links are never let go:
 * a record that has come to link here since that was checked stays.
 * @returns the records that go along with this one from now on, or block its delete
 * @throws AppError 503 also where the disk has no space for all that it writes
 */
export async function linkForeign(
  deps: Deps,
  table: Table,
  id: Stored | undefined,
  sets: readonly JudgedLinks[],
  log: StepLog,
): Promise<readonly MovedRecords[]> {
  if (id === undefined || sets.length === 0) return [];
  const linkings = sets.map((set) => ({ to: { table: table.id, id }, set, log }));
  const chosenIn = async (linking: Linking) => {
    const which = anyOf([gainingIn(linking), await formerIn(deps, linking)]);
    return { table: linking.set.target, which };
  };
  const chosen = () => Promise.all(linkings.map(chosenIn));
  return spaceForMoving(deps, chosen, () => linkAll(deps, linkings));
}

async function linkAll(deps: Deps, linkings: readonly Linking[]): Promise<readonly MovedRecords[]> {
  const moved: MovedRecords[] = [];
  for (const linking of linkings) {
    const { set } = linking;
    const owning = owningRelation(set);
    const former = await formerIn(deps, linking);
    if (set.relation.link.list) await linkInLists(deps, linking, former);
    else {
      const ids = await linkSingly(deps, linking, former);
      if ((takesAlong(owning) || isHolding(owning)) && ids.length > 0) moved.push({ table: set.target, ids });
    }
  }
  return moved;
}

/** Records whose links were moved here: they go along with the record that they link to now, or block its delete. */
export interface MovedRecords {
  readonly table: Table;
  readonly ids: readonly Stored[];
}

/** The condition for those that link here and no longer are to. */
async function formerIn(deps: Deps, { to, set }: Linking): Promise<Document> {
  const leaving = owningRelation(set)?.required === true ? NOBODY : await leavingLinks(deps, to.id, set);
  return allOf([leaving, livingIn(set)]);
}

/** The condition for those of the chosen records that don't link here yet. */
function gainingIn({ to: { id }, set }: Linking): Document {
  return allOf([{ _id: { $in: [...set.ids] } }, linksElsewhere(set.relation.link, id), livingIn(set)]);
}

/** Records that are deleted and kept come back with the links that they went with, so these are not moved. */
function livingIn({ target }: LinkSet): Document {
  return stateCondition(target, "living");
}

/** Records whose links may be moved in this moment. */
function movable(set: LinkSet): Document {
  return { ...FREE, ...livingIn(set) };
}

async function linkInLists(deps: Deps, linking: Linking, former: Document): Promise<void> {
  const { to, set } = linking;
  const { target, relation } = set;
  const { field } = relation.link;
  const gaining = gainingIn(linking);
  const { gained, lost } = await addNoted(deps, linking, { gaining, former });
  await letGo(deps, linking, { lost, former }, async () => {
    for (const each of asJudged(inLists(set, lost, "leaving"), { ...movable(set), [field]: to.id }))
      await deps.writes.takeFromList(target, field, each, [to.id]);
  });
  await requireJudged(deps, set, former);
  const late = await addNoted(deps, linking, { gaining, former: NOBODY });
  if (gained.length + late.gained.length > 0) await requireMoved(deps.store, target, gaining);
  await requireJudged(deps, set, gaining);
}

/**
 * Adds to the lists of those that were noted, and no others: a link that was there already may have been let go of meanwhile,
 * because what it led to has been deleted, and nothing would take it back.
 * @returns what was noted: what has come since must not be let go of, because it would not come back either
 */
async function addNoted({ store, writes }: Deps, linking: Linking, what: Moving): Promise<MovingLinks> {
  const { to, set } = linking;
  const { target, relation } = set;
  const links = await movingLinks(store, set, what);
  const { gained, lost } = links;
  if (gained.length > 0 || lost.length > 0) await noteLinks(linking, links);
  for (const each of asJudged(inLists(set, gained, "coming"), movable(set)))
    await writes.addToList(target, relation.link.field, each, to.id);
  return links;
}

/** @returns the records that were moved here */
async function linkSingly(deps: Deps, linking: Linking, former: Document): Promise<readonly Stored[]> {
  const { set } = linking;
  const gaining = gainingIn(linking);
  const moved = await moveNoted(deps, linking, { gaining, former });
  await requireJudged(deps, set, former);
  const again = await moveNoted(deps, linking, { gaining, former: NOBODY });
  await requireMoved(deps.store, set.target, gaining);
  await requireJudged(deps, set, gaining);
  return [...moved, ...again];
}

/** The conditions for records that are to link to a record, and for those that no longer are. */
interface Moving {
  readonly gaining: Document;
  readonly former: Document;
}

/** Moves links that still are as noted: what somebody else has moved since is theirs, even when this is taken back. */
async function moveNoted(
  { store, writes }: Deps,
  linking: Linking,
  what: Moving,
): Promise<readonly Stored[]> {
  const { to, set } = linking;
  const { relation, target } = set;
  const { field } = relation.link;
  const links = await movingLinks(store, set, what);
  const { gained, lost } = links;
  if (gained.length === 0 && lost.length === 0) return [];
  const by = await noteLinks(linking, links);
  const move = async (moved: readonly Moved[], how: keyof JudgedRecords, end: Stored | null) => {
    for (const each of asJudged(asNoted(set, moved, how), movable(set)))
      await writes.moveLink(target, field, each, end, by).catch(asSeenFromHere(set));
  };
  const gain = () => move(gained, "coming", to.id);
  if (!relation.exclusive) await gain();
  await letGo({ store }, linking, { lost, former: what.former }, () => move(lost, "leaving", null));
  if (relation.exclusive) await gain();
  return gained.map(({ id }) => id);
}

/**
 * Lets go of the links that were noted; of those in records that a delete wants by then, when that is decided.
 * @throws AppError 503 when that takes long
 */
async function letGo(
  { store }: Pick<Deps, "store">,
  { set: { target } }: Linking,
  { lost, former }: { readonly lost: readonly Moved[]; readonly former: Document },
  write: () => Promise<void>,
): Promise<void> {
  if (lost.length === 0) return;
  await write();
  if (!(await isAnyWanted(store, target, former))) return;
  const ids = lost.map(({ id }) => id);
  await linkable({ store }, target, ids, { waits: true });
  await write();
  await requireMoved(store, target, former);
}

/**
 * The place is taken by a record that the caller does not see, or that has just come: the body names the link by its other end.
 * (What a rule sets they may not know at all: that is for `tell-taken` to say.)
 */
function asSeenFromHere(set: JudgedLinks): (error: unknown) => never {
  const owning = owningRelation(set);
  return (error) => {
    if (!(error instanceof Taken) || set.presetBy !== undefined) throw error;
    const [member, ...others] = error.members;
    if (member === undefined || member !== owning || others.length > 0) throw error;
    const { name } = set.relation;
    const message = `${name}: another record of "${set.target.name}" has this place already`;
    throw new AppError("DUPLICATE_RESOURCE", { message, details: { fields: [name] }, cause: error.cause });
  };
}

/** @returns the name of the note, for the links that are moved */
async function noteLinks(
  { to, set: { relation, target }, log }: Linking,
  { gained, lost }: MovingLinks,
): Promise<ObjectId> {
  const { field, list } = relation.link;
  const by = new ObjectId();
  await log.note({ kind: "linked", table: target.id, field, list, to, by, gained, lost });
  return by;
}

/** Only records that the rules have judged are moved. @throws Overtaken when others are left */
async function requireJudged(
  { store }: Deps,
  { judged, target }: JudgedLinks,
  undone: Document,
): Promise<void> {
  if (judged !== "all" && (await store.hasAny(target, undone))) throw new Overtaken(target.name);
}

/** Records that were alike when they were noted, and in all that rules ask of them. */
function asNoted(set: JudgedLinks, moved: readonly Moved[], how: keyof JudgedRecords): Judged[] {
  const { link } = set.relation;
  return alikeInRules(set, moved, how).flatMap(([condition, some]) =>
    groupedByBefore(some).map(({ ids, before, by }) => ({
      ids,
      condition: allOf([condition, { ...stillLinks(link, before), [movedField(link.field)]: by }]),
    })),
  );
}

/** The same for links in lists, which don't say what was there before. */
function inLists(set: JudgedLinks, moved: readonly Moved[], how: keyof JudgedRecords): Judged[] {
  return alikeInRules(set, moved, how).map(([condition, some]) => ({
    ids: some.map(({ id }) => id),
    condition,
  }));
}

/** The records of a note that the rules have judged, by the condition under which they still are as they were then. */
function alikeInRules(
  { target, judged }: JudgedLinks,
  moved: readonly Moved[],
  how: keyof JudgedRecords,
): [Document, Moved[]][] {
  const conditions = judged === "all" ? undefined : conditionsById(target, judged[how]);
  const alike = new Map<Document, Moved[]>();
  for (const each of moved) {
    const condition = conditions === undefined ? ANY : conditions.get(idText(target, each.id));
    // A record that has come since was not judged.
    if (condition !== undefined) getOrMake(alike, condition, () => [] as Moved[]).push(each);
  }
  return [...alike];
}

const ANY: Document = {};

function conditionsById(table: Table, judged: readonly Judged[]): ReadonlyMap<string, Document> {
  return new Map(
    judged.flatMap(({ ids, condition }) => ids.map((id) => [idText(table, id), condition] as const)),
  );
}

/** The condition for those that are let go of: where the rules had a say, the records that they judged, and no later ones. */
async function leavingLinks(
  deps: Pick<RecordDeps, "store">,
  id: Stored,
  set: JudgedLinks,
): Promise<Document> {
  if (set.judged === "all") return formerLinks(deps, id, set);
  const ids = set.judged.leaving.flatMap((each) => each.ids);
  return { ...linksTo(set.relation.link, [id]), _id: { $in: ids } };
}

/** The most that one condition names: in a journaled table it is sent to the database with each record. */
const KINDS_AT_ONCE = 100;
const IDS_AT_ONCE = 500;

/**
 * The conditions for judged records while they are as they were judged.
 * @param also what each must satisfy as well: `movable`, for a record that a delete wants must go as it was when it was marked
 */
function asJudged(kinds: readonly Judged[], also: Document): Document[] {
  const packs: Judged[][] = [];
  for (const { ids, condition } of kinds)
    for (const some of piecesOf(ids, IDS_AT_ONCE)) {
      const [piece, last] = [{ ids: some, condition }, packs.at(-1)];
      if (last !== undefined && hasRoom(last, piece)) last.push(piece);
      else packs.push([piece]);
    }
  const asItWas = ({ ids, condition }: Judged): Document => allOf([{ _id: { $in: [...ids] } }, condition]);
  return packs.map((pack) => allOf([also, { $or: pack.map(asItWas) }]));
}

function hasRoom(pack: readonly Judged[], piece: Judged): boolean {
  const ids = [...pack, piece].reduce((sum, each) => sum + each.ids.length, 0);
  return pack.length < KINDS_AT_ONCE && ids <= IDS_AT_ONCE;
}

/** @param unmoved the records that are not moved yet @throws AppError 503 when that is because a delete wants one */
async function requireMoved(
  store: Pick<RecordDeps["store"], "hasAny">,
  table: Table,
  unmoved: Document,
): Promise<void> {
  if (await isAnyWanted(store, table, unmoved)) throw stillLeaving();
}

/** Does a delete want one of them? */
function isAnyWanted(
  store: Pick<RecordDeps["store"], "hasAny">,
  table: Table,
  which: Document,
): Promise<boolean> {
  return store.hasAny(table, allOf([which, { [LEAVING_FIELD]: { $exists: true } }]));
}

interface MovingLinks {
  readonly gained: readonly Moved[];
  readonly lost: readonly Moved[];
}

/** The records that come to link here, and those that no longer do. Where a delete wants one of them, that is decided first. */
async function movingLinks(
  store: RecordDeps["store"],
  set: LinkSet,
  { gaining, former }: Moving,
): Promise<MovingLinks> {
  const look = async () => [await linksOf(store, set, gaining), await linksOf(store, set, former)];
  let found = await look();
  if (found.flat().some(({ isWanted }) => isWanted)) {
    const ids = found.flat().map(({ moved }) => moved.id);
    await linkable({ store }, set.target, ids, { waits: true });
    found = await look();
  }
  const [gained = [], lost = []] = found.map((each) => each.map(({ moved }) => moved));
  return { gained, lost };
}

const NOBODY: Document = { _id: { $in: [] } };

/** Records that satisfy a condition, with their links, and whether a delete wants them. */
async function linksOf(
  store: Pick<RecordDeps["store"], "read">,
  set: LinkSet,
  which: Document,
): Promise<{ readonly moved: Moved; readonly isWanted: boolean }[]> {
  const { field, list } = set.relation.link;
  const isOwned = takesAlong(owningRelation(set));
  const moved = movedField(field);
  const found = await store.read(set.target, [
    { $match: which },
    { $project: { ...formerProjection([field, moved]), [LEAVING_FIELD]: 1 } },
  ]);
  return found.map((each) => {
    const [before, by] = [valueIn(each, field) ?? null, each[moved] ?? null];
    return {
      moved: {
        id: asStored(each._id),
        before: before === null || list ? null : asStored(before),
        // The driver reads with a class of its own.
        by: by === null ? null : new ObjectId(String(by)),
        ...(before === null && isOwned && { changes: changesOf(each) }),
      },
      isWanted: each[LEAVING_FIELD] !== undefined,
    };
  });
}

/**
 * A record whose link is required can't be let go of, only moved or deleted. One that another request is still making is in
 * nobody's way: it stays (see linkForeign), and its caller could not know of it.
 * @param taken sets of the new records that the same body makes, which take links of others with them
 * @throws AppError VALIDATION_ERROR
 */
export async function requireLettable(
  deps: ActingDeps,
  id: Stored,
  set: AuthorizedLinks,
  taken: readonly LinkSet[] = [],
): Promise<void> {
  const { relation, target } = set;
  const owning = owningRelation(set);
  if (owning?.required !== true) return;
  const moved = taken.filter((each) => each.target.id === target.id && isSameLink(each.relation, relation));
  const former = allOf([
    await formerLinks(deps, id, set),
    { _id: { $nin: moved.flatMap(({ ids }) => ids) } },
  ]);
  if (!(await isAnyWhole(deps, target, former))) return;
  const reason = `would leave records of "${target.name}" without their required "${owning.name}"; move or delete them instead`;
  throw new AppError("VALIDATION_ERROR", { message: [`${relation.name}: ${reason}`] });
}

function isSameLink({ link: one }: Relation, { link: other }: Relation): boolean {
  return one.on === other.on && one.field === other.field;
}

/** Is any of them none that a request is still making? Some at a time are asked about: there may be any number. */
async function isAnyWhole(
  { store, unfinished }: ActingDeps,
  table: Table,
  which: Document,
): Promise<boolean> {
  const made: Stored[] = [];
  const asked = { $limit: IDS_AT_ONCE };
  for (;;) {
    const others = allOf([which, { _id: { $nin: made } }]);
    const some = idsOf(table, await store.read(table, [{ $match: others }, asked, { $project: { _id: 1 } }]));
    if (some.length === 0) return false;
    const coming = await unfinished.stillMade(table, some);
    // Those that are taken back by now are not there.
    const whole = { $and: [which, { _id: { $in: some } }, { _id: { $nin: [...coming] } }] };
    if (await store.hasAny(table, whole)) return true;
    made.push(...some);
  }
}
