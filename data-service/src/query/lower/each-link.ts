// The records that hold links -> a document for each record that they lead to, to be grouped by it.
import type { Relation, Table } from "../../catalog/catalog.js";
import type { Stored } from "../../catalog/column-types.js";
import { type Document, SINGLE_TYPES, type Stage } from "./document.js";

/** Anything that can be an id, in the field itself or in a list there. */
const ANY_ID: Document = { $type: [...SINGLE_TYPES] };

/**
 * The stages, on the collection that holds the links. A list is split into its members, in the same field.
 * @param holder the table of the collection: if it is adopted, other programs may have left null among the links of a list,
 * or named one twice. Our own lists have neither, and are read in half the time.
 * @param to records to at least one of which a link leads; without it, any
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

/** The same for a field that may hold anything: `$ne: null` would miss a list that contains a null. */
export function eachForeignLink(field: string): Stage[] {
  return [{ $match: { [field]: ANY_ID } }, ...apart(field)];
}

/** Splits lists into their members, each of them once and without nulls. A single link stays as it is. */
function apart(field: string): Stage[] {
  const different: Document = { $setDifference: [`$${field}`, [null]] };
  return [
    { $set: { [field]: { $cond: [{ $isArray: `$${field}` }, different, `$${field}`] } } },
    { $unwind: `$${field}` },
  ];
}
