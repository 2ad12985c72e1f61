// What a full set of links lets go. A caller's set has only what the caller may see, so the others stay as they are.

import type { Stored } from "../catalog/column-types.js";
import { idsOf } from "../mongo/record-store.js";
import { matchStages } from "../query/lower/condition.js";
import { type Document, Names } from "../query/lower/document.js";
import type { LinkSet } from "./check-body.js";
import type { RecordDeps } from "./deps.js";

/** The condition for documents that link to a record and are not in its new set, as far as the caller sees them. */
export async function formerLinks(
  { store }: Pick<RecordDeps, "store">,
  id: Stored,
  { relation, target, ids, visible }: LinkSet,
): Promise<Document> {
  const former = { [relation.link.field]: id, _id: { $nin: [...ids] } };
  if (visible.kind === "always") return former;
  const seen = await store.read(target, [
    { $match: former },
    ...matchStages([visible], new Names()),
    { $project: { _id: 1 } },
  ]);
  return { [relation.link.field]: id, _id: { $in: idsOf(target, seen) } };
}
