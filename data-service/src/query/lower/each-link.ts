// The records that hold links -> a document for each record that they lead to, to be grouped by it.
import type { Relation, Table } from "../../catalog/catalog.js";
import type { Stored } from "../../catalog/column-types.js";
import { type Document, SINGLE_TYPES, type Stage } from "./document.js";

/** Whatever can be an id, in the field itself or in a list there. */
const ANY_ID: Document = { $type: [...SINGLE_TYPES] };

/**
 * The stages, on the collection that holds the links. What a list holds is apart then, and in the same field.
 * @param holder the table of the collection: in an adopted one other programs may leave null among the links of a list, or
 * name one twice. Our own lists have neither, and are read in half the time.
 * @param to records to which one link at least leads; without it to any
 */
export function eachLink(
  holder: Pick<Table, "isAdopted">,
  { field, list }: Relation["link"],
  to?: readonly Stored[],
): Stage[] {
  const isForeign = list && holder.isAdopted === true;
  const any: Document = isForeign ? ANY_ID : { $ne: null };
  return [
    { $match: { [field]: to === undefined ? any : { $in: [...to] } } },
    ...(isForeign ? apart(field) : list ? [{ $unwind: `$${field}` }] : []),
  ];
}

/** The same of a field that may hold anything: `$ne: null` would pass over a list that has a null in it. */
export function eachForeignLink(field: string): Stage[] {
  return [{ $match: { [field]: ANY_ID } }, ...apart(field)];
}

/** Takes lists apart, each of their members once, and no null. A single link is as it was. */
function apart(field: string): Stage[] {
  const different: Document = { $setDifference: [`$${field}`, [null]] };
  return [
    { $set: { [field]: { $cond: [{ $isArray: `$${field}` }, different, `$${field}`] } } },
    { $unwind: `$${field}` },
  ];
}
