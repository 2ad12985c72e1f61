// A relation -> the $lookup that fetches its records.
import type { Relation, Table } from "../../catalog/catalog.js";
import { NO_LIST, type Stage } from "./document.js";
import { mayBeMisfit } from "./links.js";

/**
 * True of every record. Without a condition beside the link, MongoDB finds a single id without a plan, and from then on reads
 * the whole collection for every list of several in the same query.
 */
const ANY_ID: Stage = { $match: { _id: { $ne: null } } };

/**
 * The stage that joins a relation's records as the list `as`.
 * @param pipeline what is done with the joined records; begins with the target's row rule
 */
export function joinStage(relation: Relation, target: Table, pipeline: Stage[], as: string): Stage {
  const { link } = relation;
  const { on, field, list } = link;
  const [localField, foreignField] = on === "self" ? [field, "_id"] : ["_id", field];
  const join = { from: target.collection, localField, foreignField, pipeline, as };
  if (on === "self" && list) return { $lookup: { ...join, pipeline: [ANY_ID, ...pipeline] } };
  if (!mayBeMisfit(link)) return { $lookup: join };
  if (on === "target")
    return { $lookup: { ...join, pipeline: [{ $match: { [field]: NO_LIST } }, ...pipeline] } };
  const isLink = { $match: { $expr: { $not: [{ $isArray: "$$link" }] } } };
  return { $lookup: { ...join, let: { link: `$${field}` }, pipeline: [isLink, ...pipeline] } };
}
