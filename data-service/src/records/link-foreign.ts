// Links that lie in the records of other tables: sets those of one record, and says what can't be let go.
import { AppError } from "@portico/shared/app-error";
import { ObjectId } from "bson";
import { owningRelation, type Relation, type Table } from "../catalog/catalog.js";
import type { Stored } from "../catalog/column-types.js";
import { asStored } from "../query/as-read.js";
import type { Document } from "../query/lower/document.js";
import { keepChanging } from "../until-still.js";
import { linkable, stillLeaving } from "./await-leaving.js";
import type { Judged, LinkSet } from "./check-body.js";
import { movedField } from "./counted-writes.js";
import { isHolding } from "./delete-effects.js";
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
    const [coming, leaving] = asJudged(linkSet, chosen, former);
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
      for (const each of coming) await writes.addToList(target, field, each, id);
    } else {
      // What is about to go with what it links to goes as it was when it was marked.
      const move = async (which: readonly Document[], to: Stored | null): Promise<void> => {
        for (const each of which) await writes.moveLink(target, field, all([each, FREE]), to, by);
      };
      if (!relation.exclusive) await move(coming, id);
      await move(leaving, null);
      if (lost.length > 0) await requireMoved(store, target, former);
      await move(coming, id);
      if (gained.length > 0) await requireMoved(store, target, gaining);
    }
    if (linkSet.judged !== undefined) await requireSet(store, target, { $or: [gaining, former] });
  }
}

/** Those that are let go; where the rules had a say they have named them, and whoever links since then stays. */
async function leavingLinks(deps: Pick<RecordDeps, "store">, id: Stored, set: LinkSet): Promise<Document> {
  if (set.judged === undefined) return formerLinks(deps, id, set);
  const ids = set.judged.leaving.flatMap((each) => each.ids);
  return { [set.relation.link.field]: id, _id: { $in: ids } };
}

/** Kinds of records that one condition tells apart. */
const KINDS_AT_ONCE = 200;

/** The conditions for what comes and what leaves: where the rules had a say, while it is as they saw it. */
function asJudged({ judged }: LinkSet, chosen: Document, former: Document): [Document[], Document[]] {
  if (judged === undefined) return [[chosen], [former]];
  return [within(chosen, judged.coming), within(former, judged.leaving)];
}

function within(which: Document, kinds: readonly Judged[]): Document[] {
  const asTheyWere = kinds.map(({ ids, guard }) => all([{ _id: { $in: [...ids] } }, guard]));
  const conditions: Document[] = [];
  for (let at = 0; at < asTheyWere.length; at += KINDS_AT_ONCE)
    conditions.push(all([which, { $or: asTheyWere.slice(at, at + KINDS_AT_ONCE) }]));
  return conditions;
}

/** @param unset what would not have been set, or let go @throws AppError 503 when others have changed it meanwhile */
async function requireSet(
  store: Pick<RecordDeps["store"], "read">,
  table: Table,
  unset: Document,
): Promise<void> {
  const found = await store.read(table, [{ $match: unset }, { $limit: 1 }, { $project: { _id: 1 } }]);
  if (found.length > 0) keepChanging(table.name)();
}

/** @param unmoved what would not have been moved @throws AppError 503 when a delete has come first */
async function requireMoved(
  store: Pick<RecordDeps["store"], "read">,
  table: Table,
  unmoved: Document,
): Promise<void> {
  const wanted = { $and: [unmoved, { [LEAVING_FIELD]: { $exists: true } }] };
  const found = await store.read(table, [{ $match: wanted }, { $limit: 1 }, { $project: { _id: 1 } }]);
  if (found.length > 0) throw stillLeaving(table);
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
  const holds = sets.some((linkSet) => isHolding(owningRelation(linkSet)));
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
