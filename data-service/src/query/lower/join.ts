// A relation -> the $lookup that fetches its records.
import type { Relation, Table } from "../../catalog/catalog.js";
import type { Stage } from "./document.js";

/**
 * The stage that joins a relation's records as the list `as`.
 * @param pipeline what is done with the joined records; begins with the target's row rule
 */
export function joinStage(relation: Relation, target: Table, pipeline: Stage[], as: string): Stage {
  const { on, field } = relation.link;
  const [localField, foreignField] = on === "self" ? [field, "_id"] : ["_id", field];
  return { $lookup: { from: target.collection, localField, foreignField, pipeline, as } };
}
