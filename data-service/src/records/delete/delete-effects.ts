// What a delete does to the records that link to its own, and what blocks it. Pure; run-delete does it.
import { AppError } from "@portico/shared/app-error";
import { type Catalog, incomingLinks, type Relation, type Table } from "../../catalog/catalog.js";
import type { Stored } from "../../catalog/stored.js";
import type { Followed } from "../../mongo/unfinished-store.js";
import type { ReadView } from "../../permission/read-view.js";
import { piecesOf } from "../../pieces.js";
import type { State } from "../../query/living.js";
import type { Document } from "../../query/lower/document.js";

/** Records of one table that go together: few enough for one command. */
export interface DeleteStep {
  readonly table: Table;
  readonly ids: readonly Stored[];
  /** Where others take them along: they go as long as they link to those. */
  readonly linked?: Document;
}

/** So many ids of 1,500 bytes fit four times into a command of 16 MB, as in the one that takes them out of lists. */
const MOST_IDS = 2_000;

/** @returns no step for no records */
export function stepsOf(table: Table, ids: readonly Stored[], linked?: Document): DeleteStep[] {
  return piecesOf(ids, MOST_IDS).map((some) => ({ table, ids: some, ...(linked && { linked }) }));
}

/** Tells whether the caller may hear of a relation. */
export type MayKnow = (owner: Table, relation: Relation) => boolean;

/** Those that the caller may read. */
export function knownBy(view: ReadView): MayKnow {
  return (owner, relation) => view.shows(owner, relation);
}

/** Tells which relations a delete follows instead of being refused by them. */
export type Follow = (owner: Table, relation: Relation) => boolean;

/** How far a delete reaches. */
export interface Reach {
  /** Removes for good what its table would keep, and what it has kept. */
  readonly permanent: boolean;
  /** Only in this table, by its id. */
  readonly permanentIn?: string;
  /** For what is taken back: what would go along (`CASCADE`) blocks it instead, for it belongs to others. */
  readonly sparesOthers?: boolean;
  /** Whether the caller may hear of a relation that blocks it. */
  readonly mayKnow: MayKnow;
  /** Relations that are followed instead of blocking it. */
  readonly follows?: Follow;
  /** When what is followed was first judged, where that is not now. */
  readonly since?: Date;
  /** Asked about all that would go, before anything does; refuses by throwing. */
  readonly mayTake?: (step: DeleteStep) => Promise<void>;
}

/** The relations that a delete follows, for the note by which others can end it. @param since when it began to judge */
export function followedIn(
  catalog: Catalog,
  { follows }: Reach,
  since: Date,
): { readonly follows?: Followed } {
  if (follows === undefined) return {};
  const of = (owner: Table) => [...owner.relations.values()].filter((relation) => follows(owner, relation));
  const relations = [...catalog.tables.values()].flatMap(of).map(({ id }) => id);
  return { follows: { relations, since } };
}

/** The reach of deletes that nobody asked for: nothing is withheld in their refusals, and they need no rights. */
export const OWN_REACH: Reach = { permanent: false, mayKnow: () => true };

/** Is what a delete takes away of a table kept there? */
export function isKept(table: Table, { permanent, permanentIn = table.id }: Reach): boolean {
  return table.deletedAt !== undefined && !(permanent && permanentIn === table.id);
}

/** Does a record lose such a link when a delete removes for good what it leads to? One that goes along for good needs not. */
export function losesLink(owner: Table, { link, onDelete }: Relation, reach: Reach): boolean {
  return link.list || onDelete === "SET NULL" || (onDelete === "CASCADE" && isKept(owner, reach));
}

/** The part of a reach that further deletes of the same request inherit. */
export function inheritedReach({ permanentIn }: Pick<Reach, "permanentIn">): Pick<Reach, "permanentIn"> {
  return permanentIn === undefined ? {} : { permanentIn };
}

/** What deleting a record does to records that link to it. */
interface LinkEffect {
  readonly owner: Table;
  readonly relation: Relation;
  readonly effect: "restrict" | "cascade" | "unlink";
}

/** The part of a reach that says what links do. */
type LinkReach = Pick<Reach, "follows" | "sparesOthers">;

/** The effects of deleting from a table. */
function linkEffects(catalog: Catalog, table: Table, { follows, sparesOthers }: LinkReach): LinkEffect[] {
  return incomingLinks(catalog, table).map(({ owner, relation }): LinkEffect => {
    if (follows?.(owner, relation)) return { owner, relation, effect: "cascade" };
    if (relation.link.list || relation.onDelete === "SET NULL") return { owner, relation, effect: "unlink" };
    const goesAlong = relation.onDelete === "CASCADE" && sparesOthers !== true;
    return { owner, relation, effect: goesAlong ? "cascade" : "restrict" };
  });
}

/** Does a record with such a link go along with the one that it links to? */
export function takesAlong(relation: Relation | undefined): boolean {
  return relation?.link.on === "self" && !relation.link.list && relation.onDelete === "CASCADE";
}

/** Does such a link block the delete of what it leads to? */
export function isHolding(relation: Relation | undefined): boolean {
  return relation?.link.on === "self" && !relation.link.list && relation.onDelete === "RESTRICT";
}

/** Is a record bound to what such a link leads to: because the link is required, or because it goes along? */
export function isBound(relation: Relation): boolean {
  return relation.link.on === "self" && !relation.link.list && (relation.required || takesAlong(relation));
}

/**
 * Must such a link wait until it is decided what becomes of a record that a delete wants? One that would block the delete
 * must; and a required one that goes along, because something may block that, and the link can't be let go of.
 */
export function isWaiting(relation: Relation | undefined): boolean {
  return isHolding(relation) || (takesAlong(relation) && relation?.required === true);
}

/** Can a link to a record of this table block its delete? */
export function canBeHeld(catalog: Catalog, table: Table, reach: LinkReach): boolean {
  return linkEffects(catalog, table, reach).some(({ effect }) => effect === "restrict");
}

/** Can there be links that wait until it is decided what becomes of a record of this table? */
export function isAwaited(catalog: Catalog, table: Table, reach: LinkReach): boolean {
  const waits = ({ effect, relation }: LinkEffect) =>
    effect === "cascade" && !isHolding(relation) && isWaiting(relation);
  return canBeHeld(catalog, table, reach) || linkEffects(catalog, table, reach).some(waits);
}

/** What a delete does to records that block it, or go along. */
export interface DeleteEffect extends LinkEffect {
  /** Which of them it concerns. */
  readonly state: State;
}

/**
 * Links to a record that is kept stay as they are, for they lead nowhere while it is deleted, and links from deleted
 * records don't matter. What goes for good must leave no link behind, so there deleted records count too.
 */
export function deleteEffects(catalog: Catalog, table: Table, reach: Reach): DeleteEffect[] {
  const isKeptHere = isKept(table, reach);
  return linkEffects(catalog, table, reach)
    .filter(({ effect }) => effect !== "unlink")
    .map((each) => {
      const { owner, relation, effect } = each;
      // A delete that can be undone must lose nothing: what would go for good blocks it. What its own table keeps is left to
      // whoever removes that for good.
      const isLost = owner.deletedAt === undefined || owner.id !== reach.permanentIn;
      if (isKeptHere && effect === "cascade" && !isKept(owner, reach) && isLost)
        return { ...each, effect: "restrict", state: "living" };
      const keepsThem = (effect === "cascade" || takesAlong(relation)) && isKept(owner, reach);
      return { ...each, state: isKeptHere || keepsThem ? "living" : "all" };
    });
}

/**
 * The refusal of a delete that records block.
 * @param areDeleted whether all of them are deleted and kept
 */
export function blockedDelete(
  table: Table,
  { owner, relation }: DeleteEffect,
  mayKnow: MayKnow,
  areDeleted: boolean,
): AppError {
  if (!mayKnow(owner, relation))
    return new AppError("CONFLICT", `Other records still link to this "${table.name}" record.`);
  const link = `link to this "${table.name}" record by "${relation.name}"`;
  const message = areDeleted
    ? `Deleted records of "${owner.name}" still ${link}; remove them for good first.`
    : relation.onDelete === "CASCADE"
      ? `Records of "${owner.name}" ${link} and would go with it for good; delete or move them first, or give their table softDelete.`
      : `Records of "${owner.name}" still ${link}; delete or move them first.`;
  return new AppError("CONFLICT", { message, details: { table: owner.name, relation: relation.name } });
}
