// Which new records a body can bring along by a relation, for schemas and types. Pure.
import { owningRelation } from "../catalog/catalog.js";
import { getOrMake } from "../get-or-make.js";
import type { VisibleRelation, VisibleTable } from "../permission/visible-tables.js";

/** A new record inside a body. */
export interface Brought {
  readonly table: string;
  /** Its link to the record around it. That record sets it, so the body must leave it out. */
  readonly without: string | undefined;
}

/** Tells what a relation can bring along; undefined if only existing records can be linked. */
export type BroughtBy = (relation: VisibleRelation) => Brought | undefined;

/** @param tables all that the caller may do anything with */
export function broughtIn(tables: readonly VisibleTable[]): BroughtBy {
  const byName = new Map(tables.map((each) => [each.table.name, each]));
  return ({ relation, target }) => {
    const { actions, relations = [] } = byName.get(target.name) ?? {};
    if (actions?.create === undefined || target.ownCreate !== undefined) return undefined;
    if (relation.link.on === "self") return { table: target.name, without: undefined };
    const owning = owningRelation({ relation, target });
    const isSettable = relations.some((each) => each.relation.name === owning?.name && each.creatable);
    return owning && isSettable ? { table: target.name, without: owning.name } : undefined;
  };
}

/** The links that bodies of new records leave out, by table: each combination makes a schema of its own. */
export function leftOutIn(
  tables: readonly VisibleTable[],
  broughtBy: BroughtBy,
): ReadonlyMap<string, ReadonlySet<string>> {
  const leftOut = new Map<string, Set<string>>();
  for (const each of tables.flatMap(({ relations }) => relations)) {
    const brought = each.creatable || each.updatable ? broughtBy(each) : undefined;
    if (brought?.without !== undefined)
      getOrMake(leftOut, brought.table, () => new Set<string>()).add(brought.without);
  }
  return leftOut;
}
