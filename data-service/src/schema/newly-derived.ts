// Which members of a changed table need values that are computed from existing records, and which computed values nobody
// needs any more.
import type { Column, Relation, Table } from "../catalog/catalog.js";
import { gramFieldsOf, searchableOf } from "../catalog/grams.js";

/** Members that were switched on, or whose values are now stored elsewhere. */
export interface Derived {
  readonly table: Table;
  /** Columns whose text is to become searchable. */
  readonly searchable: readonly Column[];
  /** Relations whose links are to be counted. */
  readonly counted: readonly Relation[];
}

/**
 * Computes what older records need. Called once every instance works with the new definition, so that every later write
 * computes its own; called again after a crash, so it must continue where it stopped.
 */
export type BackfillDerived = (derived: Derived, report: (records: number) => Promise<void>) => Promise<void>;

/** @returns undefined when there is nothing to compute */
export function newlyDerived(before: Table | undefined, after: Table): Derived | undefined {
  const formerTexts = new Map(
    searchableOf(before?.columns.values() ?? []).map(({ id, field }) => [id, field]),
  );
  const formerRelations = new Map([...(before?.relations.values() ?? [])].map((each) => [each.id, each]));
  const searchable = searchableOf(after.columns.values()).filter(
    ({ id, field }) => formerTexts.get(id) !== field,
  );
  const counted = [...after.relations.values()].filter((relation) => {
    const former = formerRelations.get(relation.id);
    const isOwn = relation.link.on === "self" && relation.counter !== undefined;
    return isOwn && !(former?.counter !== undefined && former.link.field === relation.link.field);
  });
  return searchable.length + counted.length === 0 ? undefined : { table: after, searchable, counted };
}

/**
 * Fields with the grams of columns that are no longer searchable there. A text can be reconstructed from them, so they are
 * removed at once, even if the column was encrypted or removed; if the column comes back, they are made anew.
 */
export function formerGrams(before: Table | undefined, after: Table): string[] {
  const needed = new Set(gramFieldsOf(after.columns.values()));
  return gramFieldsOf(before?.columns.values() ?? []).filter((field) => !needed.has(field));
}
