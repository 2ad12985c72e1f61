// The field of a link -> the conditions for what it leads to.
//
// MongoDB compares with each member of a list. Where one link belongs, a list that another program has left there is no
// link: it leads nowhere, so that nothing is found, counted, changed or deleted by it.
import type { LinkField } from "../../catalog/catalog.js";
import { isPlain } from "../../catalog/mixed-id.js";
import type { Stored } from "../../catalog/stored.js";
import { stillIs } from "../as-read.js";
import { anyOf, type Document, LIST, NO_LIST } from "./document.js";

/** To be found by its own id is like being linked to. */
export const OWN_ID: LinkField = { field: "_id", list: false };

/** May there be a list that is none of links? Our own collections have none, and need no condition that says so. */
export function mayBeMisfit({ list, isAdopted }: LinkField): boolean {
  return !list && isAdopted === true;
}

/** What the value of the field must satisfy beside a comparison. */
export function onlyLinks(link: LinkField): Document {
  return mayBeMisfit(link) ? NO_LIST : {};
}

/** Documents that link to one of these; null stands for nothing. */
export function linksTo(link: LinkField, ids: readonly (Stored | null)[]): Document {
  return { [link.field]: { $in: [...ids], ...onlyLinks(link) } };
}

/** All others. */
export function linksElsewhere(link: LinkField, id: Stored | null): Document {
  const others = { [link.field]: { $ne: id } };
  return mayBeMisfit(link) ? anyOf([others, { [link.field]: LIST }]) : others;
}

/** Documents that still hold what was read from the field. */
export function stillLinks(link: LinkField, value: Stored | null): Document {
  return Array.isArray(value) || !isPlain(value) ? { [link.field]: stillIs(value) } : linksTo(link, [value]);
}
