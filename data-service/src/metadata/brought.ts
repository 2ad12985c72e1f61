// Which new records a body can bring along by a relation, for schemas and types. Pure.
import { owningRelation } from "../catalog/catalog.js";
import { getOrMake } from "../get-or-make.js";
import type { VisibleRelation, VisibleTable, Writable } from "../permission/visible-tables.js";

/** A new record inside a body. */
export interface Brought {
  readonly table: string;
  /** Its link to the record around it. That record sets it, so the body must leave it out. */
  readonly without: string | undefined;
}

const BODIES: readonly Writable[] = ["creatable", "updatable"];

/** What a relation can bring along in such a body; undefined if only existing records can be linked. */
export function broughtBy(
  { relation, target, bringsNew }: VisibleRelation,
  body: Writable,
): Brought | undefined {
  if (!bringsNew[body]) return undefined;
  const owning = relation.link.on === "self" ? undefined : owningRelation({ relation, target });
  return { table: target.name, without: owning?.name };
}

/** The links that bodies of new records leave out, by table: each of them makes a schema of its own. */
export function leftOutIn(tables: readonly VisibleTable[]): ReadonlyMap<string, ReadonlySet<string>> {
  const leftOut = new Map<string, Set<string>>();
  for (const each of tables.flatMap(({ relations }) => relations)) {
    for (const body of BODIES) {
      const brought = each[body] ? broughtBy(each, body) : undefined;
      if (brought?.without !== undefined)
        getOrMake(leftOut, brought.table, () => new Set<string>()).add(brought.without);
    }
  }
  return leftOut;
}
