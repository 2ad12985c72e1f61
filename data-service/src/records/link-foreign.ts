// Links that lie in the records of other tables: sets those of one record, and says what can't be let go.
import { AppError } from "@portico/shared/app-error";
import { ObjectId } from "bson";
import { owningRelation, type Relation, type Table } from "../catalog/catalog.js";
import type { Stored } from "../catalog/column-types.js";
import { piecesOf } from "../pieces.js";
import { asStored } from "../query/as-read.js";
import type { Document } from "../query/lower/document.js";
import { keepChanging } from "../until-still.js";
import { linkable, stillLeaving } from "./await-leaving.js";
import type { Judged, LinkSet } from "./check-body.js";
import { movedField } from "./counted-writes.js";
import { isWaiting } from "./delete-effects.js";
import type { RecordDeps } from "./deps.js";
import { formerLinks } from "./former-links.js";
import { stateCondition } from "./kept.js";
import { FREE, LEAVING_FIELD } from "./leaving.js";
import type { Moved, UndoLog } from "./undo.js";
import { all } from "./write-guard.js";

/**
 * Sets them: first the new ones are set, then the former ones let go. A second writer of the
 * same set may let go of ours in between, so they are set once more: two at once may leave both sets, never neither.
 * Links that are required are never let go: whoever links since that was looked at stays.
 */
export async function linkForeign(
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
    const former = isRequired ? NOBODY : await leavingLinks({ store }, id, linkSet);
    const chosen = { _id: { $in: [...ids] } };
    const { judged } = linkSet;
    const coming = judged === undefined ? [chosen] : asJudged(judged.coming);
    const leaving = judged === undefined || isRequired ? [former] : asJudged(judged.leaving, { [field]: id });
    const done = async (undone: Document): Promise<void> => {
      if (judged !== undefined) await requireNone(store, target, undone, keepChanging(target.name));
    };
    const gaining = { $and: [chosen, { [field]: { $ne: id } }] };
    const by = new ObjectId();
    const { gained, lost } = await movingLinks(store, target, relation, { gaining, former });
    await log.note({
      kind: "linked",
      table: target.id,
      field,
      list,
      to: { table: table.id, id },
      by,
      gained,
      lost,
    });
    if (list) {
      for (const each of coming) await writes.addToList(target, field, each, id);
      for (const each of leaving) await writes.takeFromList(target, field, each, [id]);
      await done(former);
      for (const each of coming) await writes.addToList(target, field, each, id);
    } else {
      // What is about to go with what it links to goes as it was when it was marked.
      const move = async (which: readonly Document[], to: Stored | null): Promise<void> => {
        for (const each of which) await writes.moveLink(target, field, all([each, FREE]), to, by);
      };
      if (!relation.exclusive) await move(coming, id);
      await move(leaving, null);
      if (lost.length > 0) await requireMoved(store, target, former);
      await done(former);
      await move(coming, id);
      if (gained.length > 0) await requireMoved(store, target, gaining);
    }
    await done(gaining);
  }
}

/** Those that are let go; where the rules had a say they have named them, and whoever links since then stays. */
async function leavingLinks(deps: Pick<RecordDeps, "store">, id: Stored, set: LinkSet): Promise<Document> {
  if (set.judged === undefined) return formerLinks(deps, id, set);
  const ids = set.judged.leaving.flatMap((each) => each.ids);
  return { [set.relation.link.field]: id, _id: { $in: ids } };
}

/** What one condition names at most: in a table that tells of its changes it goes to the database with each record. */
const KINDS_AT_ONCE = 100;
const IDS_AT_ONCE = 500;

/** The conditions for such records while they are as they were judged. @param besides what each must satisfy as well */
function asJudged(kinds: readonly Judged[], besides: Document = {}): Document[] {
  const packs: Judged[][] = [];
  for (const { ids, guard } of kinds)
    for (const some of piecesOf(ids, IDS_AT_ONCE)) {
      const [piece, last] = [{ ids: some, guard }, packs.at(-1)];
      if (last !== undefined && hasRoom(last, piece)) last.push(piece);
      else packs.push([piece]);
    }
  const asItWas = ({ ids, guard }: Judged): Document => all([{ _id: { $in: [...ids] } }, guard]);
  return packs.map((pack) => all([besides, { $or: pack.map(asItWas) }]));
}

function hasRoom(pack: readonly Judged[], piece: Judged): boolean {
  const ids = [...pack, piece].reduce((sum, each) => sum + each.ids.length, 0);
  return pack.length < KINDS_AT_ONCE && ids <= IDS_AT_ONCE;
}

/** @param refuse throws what is to be said where there are such records */
async function requireNone(
  store: Pick<RecordDeps["store"], "read">,
  table: Table,
  which: Document,
  refuse: () => never,
): Promise<void> {
  const found = await store.read(table, [{ $match: which }, { $limit: 1 }, { $project: { _id: 1 } }]);
  if (found.length > 0) refuse();
}

/** @param unmoved what would not have been moved @throws AppError 503 when a delete has come first */
async function requireMoved(
  store: Pick<RecordDeps["store"], "read">,
  table: Table,
  unmoved: Document,
): Promise<void> {
  const wanted = { $and: [unmoved, { [LEAVING_FIELD]: { $exists: true } }] };
  await requireNone(store, table, wanted, () => {
    throw stillLeaving(table);
  });
}

/** What comes to link here, and what no longer does. Where a delete wants one of them that is decided first. */
async function movingLinks(
  store: RecordDeps["store"],
  table: Table,
  relation: Relation,
  { gaining, former }: { readonly gaining: Document; readonly former: Document },
): Promise<{ gained: Moved[]; lost: Moved[] }> {
  const look = async () => [
    await linksOf(store, table, relation, gaining),
    await linksOf(store, table, relation, former),
  ];
  let found = await look();
  if (!relation.link.list && found.flat().some(({ isWanted }) => isWanted)) {
    const ids = found.flat().map(({ moved }) => moved.id);
    await linkable({ store }, table, ids, true);
    found = await look();
  }
  const [gained = [], lost = []] = found.map((each) => each.map(({ moved }) => moved));
  return { gained, lost };
}

const NOBODY: Document = { _id: { $in: [] } };

/** Records that satisfy a condition, with their links, and whether a delete wants them. */
async function linksOf(
  store: Pick<RecordDeps["store"], "read">,
  table: Table,
  { link: { field, list } }: Pick<Relation, "link">,
  which: Document,
): Promise<{ readonly moved: Moved; readonly isWanted: boolean }[]> {
  const moved = movedField(field);
  const found = await store.read(table, [
    { $match: which },
    { $project: { _id: 1, [field]: 1, [moved]: 1, [LEAVING_FIELD]: 1 } },
  ]);
  return found.map((each) => {
    const [before, by] = [each[field] ?? null, each[moved]];
    return {
      moved: {
        id: asStored(each._id),
        before: before === null || list ? null : asStored(before),
        by: by instanceof ObjectId ? by : null,
      },
      isWanted: each[LEAVING_FIELD] !== undefined,
    };
  });
}

/**
 * Records may have been deleted while others were made to link to them.
 * @param sets the links that were made
 * @throws AppError 503 when it takes long until a delete that wants one of them is decided
 */
export async function areStillThere(
  deps: Pick<RecordDeps, "store">,
  table: Table,
  ids: readonly Stored[],
  sets: readonly LinkSet[],
): Promise<boolean> {
  const holds = sets.some((linkSet) => isWaiting(owningRelation(linkSet)));
  const living = [{ $match: stateCondition(table, "living") }];
  return (await linkable(deps, table, ids, holds, living)).size === ids.length;
}

/** A record whose link is required can't be let go, only moved or deleted. */
export async function requireLettable(deps: RecordDeps, id: Stored, set: LinkSet): Promise<void> {
  const { relation, target } = set;
  const owning = owningRelation(set);
  if (owning?.required !== true) return;
  const former = await formerLinks(deps, id, set);
  const left = await deps.store.read(target, [{ $match: former }, { $limit: 1 }, { $project: { _id: 1 } }]);
  if (left.length === 0) return;
  const reason = `would leave records of "${target.name}" without their required "${owning.name}"; move or delete them instead`;
  throw new AppError("VALIDATION_ERROR", { message: [`${relation.name}: ${reason}`] });
}
