// Changes that are judged by related records which a delete has taken along or let go of, so that nobody knows any more whether
// the record satisfied such a rule or filter before; or which a restoration is still to bring back after the record. It is judged
// by the rest, and where that decides nothing the caller has to load anew.
import type { Table } from "../catalog/catalog.js";
import { idText } from "../catalog/record-ids.js";
import { DELETION_FIELD } from "../catalog/soft-delete.js";
import type { Stored } from "../catalog/stored.js";
import { getOrMake } from "../get-or-make.js";
import { linksIn } from "../query/as-read.js";
import type { AuthorizedNode } from "../query/ast.js";
import { possibly, surely } from "../query/bounds.js";
import { type Leaf, leavesIn, negatedLeavesIn } from "../query/leaves.js";
import { isOnRelated, matchStages, type Relational, speaksOnlyOf } from "../query/lower/condition.js";
import { type Document, Names } from "../query/lower/document.js";
import { stateCondition } from "../records/delete/kept.js";
import type { RecordDeps } from "../records/record-deps.js";
import { matchedImages } from "./matched-images.js";

/** Whether a record satisfied what a caller's rules and filter ask. */
export type Satisfied = "yes" | "no" | "unknown";

/** A caller's rules and filter. */
export interface Asked {
  readonly table: Table;
  readonly node: Pick<AuthorizedNode, "rule" | "filter">;
}

/** A record before a change, or one that was brought back. */
export interface Former {
  readonly record: Document;
  /** As it is after the change; undefined when that deleted it, or brought it back. */
  readonly later: Document | undefined;
  /** Whether the change brought it back. */
  readonly isBack?: boolean;
}

/** Related records of which nothing is known, by the record that they are asked for. */
type Lost = ReadonlyMap<Document, readonly Relational[]>;

/** @returns what is known of those records of which related ones would have to say something that is not known any more */
export async function judgeDoubtful(
  deps: Pick<RecordDeps, "store">,
  asked: Asked,
  formers: readonly Former[],
): Promise<ReadonlyMap<Document, Satisfied>> {
  const { rule, filter } = asked.node;
  const leaves = [rule, filter].flatMap(leavesIn).filter(isOnRelated);
  if (formers.length === 0 || leaves.length === 0) return new Map();
  const negated = [rule, filter].flatMap(negatedLeavesIn);
  let lost = await lostLeaves(deps, leaves, negated, formers);
  const doubted = formers.filter(({ record }) => lost.get(record)?.length !== 0);
  if (doubted.length === 0) return new Map();
  for (;;) {
    const judged = await judgeLost(deps, asked, alike(lost, leaves));
    // Nothing was taken for known.
    if (sizeOf(lost) === doubted.length * leaves.length) return judged;
    // A delete goes on meanwhile, and what was still there when it was asked for may have gone before the rest was judged.
    const all = both(lost, await lostLeaves(deps, leaves, negated, doubted));
    if (sizeOf(all) === sizeOf(lost)) return judged;
    lost = all;
  }
}

/** What is back by now stays among them: something else may have gone instead. */
function both(lost: Lost, now: Lost): Lost {
  return new Map(
    [...now].map(([record, more]) => [record, [...new Set([...(lost.get(record) ?? []), ...more])]]),
  );
}

function sizeOf(lost: Lost): number {
  return [...lost.values()].flat().length;
}

async function judgeLost(
  deps: Pick<RecordDeps, "store">,
  { table, node: { rule, filter } }: Asked,
  groups: Iterable<Alike>,
): Promise<ReadonlyMap<Document, Satisfied>> {
  const judged = new Map<Document, Satisfied>();
  for (const { images, unknown } of groups) {
    const isUnknown = (each: Leaf): boolean => isOnRelated(each) && unknown.includes(each);
    const matching = (bound: typeof surely) =>
      matchedImages(deps, table, images, [bound(rule, isUnknown), bound(filter, isUnknown)]);
    const [sure, possible] = [await matching(surely), await matching(possibly)];
    for (const image of images)
      judged.set(image, sure.has(image) ? "yes" : possible.has(image) ? "unknown" : "no");
  }
  return judged;
}

/** Records of which the same is not known. */
interface Alike {
  readonly images: readonly Document[];
  readonly unknown: readonly Relational[];
}

/** Those of which the same is not known are judged by one question. */
function alike(lost: Lost, leaves: readonly Relational[]): Iterable<Alike> {
  const groups = new Map<string, { images: Document[]; unknown: readonly Relational[] }>();
  for (const [image, unknown] of lost) {
    const key = unknown.map((each) => leaves.indexOf(each)).join(" ");
    if (key !== "") getOrMake(groups, key, () => ({ images: [], unknown })).images.push(image);
  }
  return groups.values();
}

async function lostLeaves(
  deps: Pick<RecordDeps, "store">,
  leaves: readonly Relational[],
  negated: readonly Leaf[],
  formers: readonly Former[],
): Promise<Lost> {
  const lost = new Map(formers.map(({ record }): [Document, Relational[]] => [record, []]));
  for (const leaf of leaves) {
    const isLost = await losing(deps, leaf, negated.includes(leaf), formers);
    for (const former of formers) if (isLost(former)) lost.get(former.record)?.push(leaf);
  }
  return lost;
}

/**
 * A delete lets go of the links of others to the record, or takes these along; and a record that linked to what is deleted goes
 * as well, or loses its link. A link that stays, to what is deleted and kept, is judged as ever. What a delete has taken along
 * comes back in the same way: what links to the record after it, and perhaps what it links to, or what links to that.
 */
async function losing(
  { store }: Pick<RecordDeps, "store">,
  leaf: Relational,
  isNegated: boolean,
  formers: readonly Former[],
): Promise<(former: Former) => boolean> {
  const { relation, target } = leaf;
  if (relation.link.on === "target") return ({ later }) => later === undefined;
  const linksOf = (record: Document) => linksIn(record[relation.link.field], relation.link);
  const lostLinks = ({ record, later }: Former): Stored[] => {
    const left = new Set(later && linksOf(later).map((id) => idText(target, id)));
    return linksOf(record).filter((id) => !left.has(idText(target, id)));
  };
  const asked = formers.flatMap(lostLinks);
  // So it is with most changes.
  if (asked.length === 0) return () => false;
  const isLiving = { $match: stateCondition(target, "living") };
  const living = await store.existing(target, asked, [isLiving]);
  const gone = (former: Former) => lostLinks(former).filter((id) => !living.has(idText(target, id)));
  const back = asksBehind(leaf) ? formers.filter(({ isBack }) => isBack).flatMap(lostLinks) : [];
  const isNaming = { $match: { [DELETION_FIELD]: { $ne: null } } };
  const incomplete = back.length === 0 ? undefined : await store.existing(target, back, [isNaming]);
  const isIncomplete = (former: Former): boolean =>
    former.isBack === true && lostLinks(former).some((id) => incomplete?.has(idText(target, id)));
  // What is gone can't make a negated leaf true either: without a related record it is unknown, not false.
  const wanted = isNegated ? undefined : await wantedAmong(store, leaf, formers.flatMap(gone));
  return (former) =>
    isIncomplete(former) || gone(former).some((id) => wanted?.has(idText(target, id)) ?? true);
}

/** Does it ask for records that link to the related one, or to one behind it? Until all are back, that one names its deletion. */
function asksBehind(leaf: Relational): boolean {
  const behind = leaf.kind === "related" ? [leaf.visible, leaf.where] : [leaf.visible];
  return behind
    .flatMap(leavesIn)
    .some((each) => isOnRelated(each) && (each.relation.link.on === "target" || asksBehind(each)));
}

/**
 * Of records that are gone, those that the leaf may be about, by their ids' texts; undefined where it asks for more than
 * ids.
 */
async function wantedAmong(
  store: Pick<RecordDeps["store"], "wouldMatch">,
  leaf: Relational,
  ids: readonly Stored[],
): Promise<ReadonlySet<string> | undefined> {
  const { kind, target } = leaf;
  if (ids.length === 0 || kind === "exists" || !speaksOnlyOf(leaf.where, target.idColumn)) return undefined;
  const wanted = matchStages([leaf.where], new Names());
  const found = await store.wouldMatch(
    target,
    ids.map((_id) => ({ _id })),
    wanted,
  );
  return new Set(ids.filter((_, at) => found.has(at)).map((id) => idText(target, id)));
}
