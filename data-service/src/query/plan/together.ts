// The related records of a whole page in one query, instead of a join for each record of the page. A join costs the database
// a third of a millisecond, whatever it finds; and an author whom twenty posts share is read once. Pure.
import type { Stored } from "../../catalog/stored.js";
import { getOrMake } from "../../get-or-make.js";
import { asStored } from "../as-read.js";
import type { AuthorizedChild, Step } from "../ast.js";
import type { StoredRecord } from "../lower/document.js";
import { GROUP_SIZE, type Together } from "../lower/read.js";
import { keyText, linkedKeys } from "./key-text.js";

/**
 * How many records of one relation are asked for at once, and by how many keys; beyond that, each parent has its own join.
 */
const MOST = 1_000;
/** How many times as many children are asked for as the page shows, in case some parents have more than others. */
const ROOM = 2;

/** @returns undefined if the question would be too large */
export function togetherQuestion(
  child: AuthorizedChild,
  parents: readonly StoredRecord[],
): Together | undefined {
  const { on } = child.relation.link;
  const keys = askedKeys(child, parents);
  if (keys === undefined) return undefined;
  const most = on === "self" ? undefined : Math.min(MOST, parents.length * wanted(child) * ROOM);
  return { keys, most };
}

/** The keys by which a relation's records are asked for. @returns undefined when there are too many */
export function askedKeys(step: Linked, parents: readonly StoredRecord[]): readonly Stored[] | undefined {
  const keys = new Map<string, Stored>();
  for (const parent of parents) {
    for (const value of keysOf(step, parent, "parent") ?? []) {
      const text = keyText(value);
      if (text !== undefined) keys.set(text, asStored(value));
    }
  }
  return keys.size > MOST ? undefined : [...keys.values()];
}

/** How many of a parent's records, from the first one on, tell everything that the answer shows of them. */
function wanted({ node: { skip, limit } }: AuthorizedChild): number {
  return skip + limit;
}

/** The known records, by the position of the parent; undefined: this parent needs a join of its own. */
export type HandedOut = readonly (readonly StoredRecord[] | undefined)[];

/**
 * Gives each parent its records out of those that were found for all, in their order. Even if not all of them were asked
 * for, those of a parent are its first ones: a parent that has enough needs no more.
 * @param most how many were asked for
 */
export function handOut(
  child: AuthorizedChild,
  parents: readonly StoredRecord[],
  found: readonly StoredRecord[],
  most: number | undefined,
): HandedOut {
  const { skip, limit } = child.node;
  const own = parents.map((parent) => textsOf(keysOf(child, parent, "parent")));
  const whose = found.map((record) => textsOf(keysOf(child, record, "related")));
  // A record that can't be assigned here may belong to any parent.
  if (whose.includes(undefined)) return parents.map(() => undefined);
  const holders = new Map<string, number[]>();
  for (const [at, texts] of own.entries()) {
    for (const text of texts ?? []) getOrMake<string, number[]>(holders, text, () => []).push(at);
  }
  const lists: StoredRecord[][] = parents.map(() => []);
  for (const [nth, record] of found.entries()) {
    const at = new Set([...(whose[nth] ?? [])].flatMap((text) => holders.get(text) ?? []));
    for (const each of at) lists[each]?.push(record);
  }
  const isAll = most === undefined || found.length < most;
  return lists.map((list, at) => {
    const isKnown = own[at] !== undefined && (isAll || list.length >= wanted(child));
    return isKnown ? list.slice(skip, skip + limit) : undefined;
  });
}

/**
 * Gives each parent its number out of the groups that were counted by the keys of all (see lower/read).
 * @returns undefined for a parent that has to be counted on its own
 */
export function handOutCounts(
  step: Linked,
  parents: readonly StoredRecord[],
  groups: readonly StoredRecord[],
): readonly (number | undefined)[] {
  const sizes = new Map(groups.map((group) => [keyText(group._id), Number(group[GROUP_SIZE])]));
  // A group that can't be assigned here may belong to any parent.
  if (sizes.has(undefined)) return parents.map(() => undefined);
  return parents.map((parent) => {
    const texts = textsOf(keysOf(step, parent, "parent"));
    return texts && [...texts].reduce((sum, text) => sum + (sizes.get(text) ?? 0), 0);
  });
}

type Linked = Pick<Step, "relation">;

/** What a parent and its related records have in common: the link on one side, the id on the other. */
function keysOf(
  { relation: { link } }: Linked,
  record: StoredRecord,
  which: "parent" | "related",
): readonly unknown[] | undefined {
  const isLinking = (link.on === "self") === (which === "parent");
  return isLinking ? linkedKeys(record[link.field], link.list) : [record._id];
}

/** @returns undefined when only the database can tell what one of them is equal to */
function textsOf(keys: readonly unknown[] | undefined): ReadonlySet<string> | undefined {
  const texts = keys?.map(keyText);
  if (texts === undefined || texts.includes(undefined)) return undefined;
  return new Set(texts.filter((text) => text !== undefined));
}
