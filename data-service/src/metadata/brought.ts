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

/** The name of the schema of a new record's body, or of one without the link that the record around it sets. */
export type BodyName = (brought: Brought) => string;

/**
 * The names of one document. Spelled by generators, without marks and in any case, those of bodies that leave a link out meet
 * where tables and links are called alike (`post.a_b`, `post_a.b`): all but the first of these have a number.
 */
export function bodyNames(): BodyName {
  const given = new Map<string, string>();
  const spelled = new Map<string, number>();
  const numbered = (name: string): string => {
    const plain = name.replaceAll(/[^a-z0-9]/gi, "").toLowerCase();
    const count = (spelled.get(plain) ?? 0) + 1;
    spelled.set(plain, count);
    return count === 1 ? name : name + count;
  };
  return ({ table, without }) => {
    if (without === undefined) return `${table}.create`;
    const name = `${table}.${without}.nested`;
    const known = given.get(name) ?? numbered(name);
    given.set(name, known);
    return known;
  };
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
