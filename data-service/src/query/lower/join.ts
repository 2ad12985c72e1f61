// A relation -> the stages that fetch its records.
import type { LinkField, Relation, Table } from "../../catalog/catalog.js";
import { type Document, NO_LIST, type Stage, type Value } from "./document.js";
import { mayBeMisfit } from "./links.js";

/**
 * True of every record. Without a condition beside the link, MongoDB finds a single id without a plan, and from then on reads
 * the whole collection for every list of several in the same query.
 */
const ANY_ID: Stage = { $match: { _id: { $ne: null } } };

/**
 * What no document has for an id: MongoDB stores none with such a name in it, while one of `false` may be there. No list: one
 * that follows a single id, be it empty, is looked for without an index as well.
 */
const NO_ID: Value = { $literal: { $none: 1 } };
/** Kinds of values that lead nowhere. A pattern that follows an id is looked for without an index, too. */
const NOWHERE: Value = ["array", "regex"];

/** A field of another program of which MongoDB, where a join begins, takes the name for a place in a list. */
const DIGITS = /^\d+$/;

/**
 * The stages that join a relation's records as the list `as`.
 * @param pipeline what is done with the joined records; begins with the target's row rule
 * @param where the expression for records to which anything is joined at all
 */
export function joinStages(
  relation: Relation,
  target: Table,
  pipeline: Stage[],
  as: string,
  where?: Document,
): Stage[] {
  const { link } = relation;
  const { on, field, list } = link;
  const [localField, foreignField] = on === "self" ? [field, "_id"] : ["_id", field];
  const join = {
    from: target.collection,
    localField,
    foreignField,
    pipeline: [...narrowed(link), ...pipeline],
    as,
  };
  const isOne = on === "self" && !list;
  if (!isOne && where === undefined && !DIGITS.test(localField)) return [{ $lookup: join }];
  const linked = isOne ? oneLink(link) : `$${localField}`;
  const value = where === undefined ? linked : { $cond: [where, linked, NO_ID] };
  return [{ $set: { [as]: value } }, { $lookup: { ...join, localField: as } }];
}

function narrowed(link: Relation["link"]): Stage[] {
  if (link.on === "target") return onlyHolding(link);
  return link.list ? [ANY_ID] : [];
}

/** The stage that leaves out records with a list where one link belongs. */
function onlyHolding(link: LinkField): Stage[] {
  return mayBeMisfit(link) ? [{ $match: { [link.field]: NO_LIST } }] : [];
}

/** The link in a record. In the place of none stands what is no id: for null, MongoDB reads the whole collection. */
function oneLink(link: LinkField): Value {
  const value = `$${link.field}`;
  const linked = { $ifNull: [value, NO_ID] };
  return mayBeMisfit(link) ? { $cond: [{ $in: [{ $type: value }, NOWHERE] }, NO_ID, linked] } : linked;
}
