// The records that hold links -> a document for each record that they lead to, to be grouped by it.
import type { LinkField } from "../../catalog/catalog.js";
import type { Stored } from "../../catalog/stored.js";
import { type Document, SINGLE_TYPES, type Stage } from "./document.js";
import { linksTo, onlyLinks } from "./links.js";

/** Anything that can be an id, in the field itself or in a list there; `$ne: null` would miss a list with a null in it. */
const ANY_ID: Document = { $type: [...SINGLE_TYPES] };

/**
 * The stages, on the collection that holds the links. A list is split into its members, in the same field.
 * In an adopted collection other programs may have left null among the links of a list, or named one twice. Our own lists
 * have neither, and are read in half the time.
 * @param to records to at least one of which a link leads; without it, any
 */
export function eachLink(link: LinkField, to?: readonly Stored[]): Stage[] {
  const { field, list, isAdopted = false } = link;
  const isForeign = list && isAdopted;
  const any: Document = isForeign ? ANY_ID : { $ne: null, ...onlyLinks(link) };
  return [
    { $match: to === undefined ? { [field]: any } : linksTo(link, to) },
    ...(isForeign ? apart(field) : list ? [{ $unwind: `$${field}` }] : []),
  ];
}

/** Splits lists into their members, each of them once and without nulls. A single link stays as it is. */
function apart(field: string): Stage[] {
  const different: Document = { $setDifference: [`$${field}`, [null]] };
  return [
    { $set: { [field]: { $cond: [{ $isArray: `$${field}` }, different, `$${field}`] } } },
    { $unwind: `$${field}` },
  ];
}
