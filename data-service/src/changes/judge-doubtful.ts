// Deletes that are judged by related records. They take some of these along and let go of the links of others, so nobody knows
// any more whether the record satisfied such a rule or filter. It is judged by the rest, and where that decides nothing the
// caller has to load anew.

import type { Table } from "../catalog/catalog.js";
import { idText } from "../catalog/record-ids.js";
import type { AuthorizedNode } from "../query/ast.js";
import { type Condition, conditionsOnRelated, isOnRelated, possibly, surely } from "../query/bounds.js";
import type { Relational } from "../query/lower/condition.js";
import type { Document } from "../query/lower/document.js";
import { stateCondition } from "../records/delete/kept.js";
import { linksIn } from "../records/derived/counted-writes.js";
import type { RecordDeps } from "../records/record-deps.js";
import { matchedImages } from "./matched-images.js";

/** What the caller is told: that it was deleted, nothing, or that it can't be known. */
export type Doubtful = "deleted" | "nothing" | "reset";

/** A caller's rules and filter. */
export interface Asked {
  readonly table: Table;
  readonly node: Pick<AuthorizedNode, "rule" | "filter">;
}

/**
 * @param deleted records as they were before they were deleted
 * @returns what those come to of which related records would have to say something that is not known any more
 */
export async function judgeDoubtful(
  deps: Pick<RecordDeps, "store">,
  { table, node: { rule, filter } }: Asked,
  deleted: readonly Document[],
): Promise<ReadonlyMap<Document, Doubtful>> {
  const conditions = [rule, filter].flatMap(conditionsOnRelated);
  if (deleted.length === 0 || conditions.length === 0) return new Map();
  const gone = await withGoneTargets(deps, conditions, deleted);
  const judged = new Map<Document, Doubtful>();
  const judgeAll = async (images: readonly Document[], isUnknown: (each: Relational) => boolean) => {
    if (!conditions.some(isUnknown)) return;
    const isOpen = (each: Condition): boolean => isOnRelated(each) && isUnknown(each);
    const matching = (bound: typeof surely) =>
      matchedImages(deps, table, images, [bound(rule, isOpen), bound(filter, isOpen)]);
    const [sure, possible] = [await matching(surely), await matching(possibly)];
    for (const image of images)
      judged.set(image, sure.has(image) ? "deleted" : possible.has(image) ? "reset" : "nothing");
  };
  await judgeAll([...gone], () => true);
  await judgeAll(
    deleted.filter((image) => !gone.has(image)),
    linksHere,
  );
  return judged;
}

/** Others link to the record: a delete lets go of these links, or takes them along. */
function linksHere({ relation }: Relational): boolean {
  return relation.link.on === "target";
}

/** Records that linked to others which are gone as well: what these were like is not known any more. */
async function withGoneTargets(
  { store }: Pick<RecordDeps, "store">,
  conditions: readonly Relational[],
  images: readonly Document[],
): Promise<ReadonlySet<Document>> {
  const gone = new Set<Document>();
  for (const { relation, target } of conditions.filter((each) => !linksHere(each))) {
    const linksOf = (image: Document) => linksIn(image[relation.link.field], relation.link);
    const living = await store.existing(target, images.flatMap(linksOf), [
      { $match: stateCondition(target, "living") },
    ]);
    for (const image of images)
      if (linksOf(image).some((id) => !living.has(idText(target, id)))) gone.add(image);
  }
  return gone;
}
