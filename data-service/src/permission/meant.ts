// What the names of a rule are known to mean, by ids: what it named and what is gone must not become a stranger that has taken
// its name. Pure.
import { memberNamed, type Table } from "../catalog/catalog.js";

/**
 * Ids of tables, and what `meantAs` makes of those of members. A rule has it while it is off without something that it
 * names: by then a name alone no longer tells whose it is.
 */
export type Meant = readonly string[];

/**
 * What a rule does by a name. What it withholds (`-name`, a preset) it withholds of a new member, too, that takes the name in
 * the same change; a grant or a condition never passes on.
 */
export type Part = "granted" | "withheld";

export function meantAs({ id }: Pick<Table, "id">, member: string, part: Part): string {
  return `${part === "withheld" ? "-" : ""}${id}/${member}`;
}

export interface MeantNames {
  /** Does the rule mean the member that has this name? */
  isMeant(table: Table, name: string, part: Part): boolean;
  /** Does the rule mean this table: its own, or one to which its relations lead? */
  isMeantTable(table: Table): boolean;
}

/** @param meant undefined = whatever has the names at the moment */
export function meantBy(meant: Meant | undefined): MeantNames {
  const known = meant && new Set(meant);
  return {
    isMeant(table, name, part) {
      const id = memberNamed(table, name)?.id;
      if (known === undefined || id === undefined) return true;
      return known.has(meantAs(table, id, "granted")) || known.has(meantAs(table, id, part));
    },
    isMeantTable: ({ id }) => known?.has(id) ?? true,
  };
}
