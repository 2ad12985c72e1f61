// What one caller may read, as the only way the query language can look up a name.
// A name the caller may not know is not found here, so it is refused like one that does not exist.
import { type Catalog, type Column, type Relation, type Table, targetOf } from "../catalog/catalog.js";
import type { AuthorizedPredicate } from "../query/ast.js";

/** A caller's read rights on one table. */
export interface ReadPolicy {
  /** Rows the caller may see. */
  readonly rows: AuthorizedPredicate;
  /** Whether the caller may read this column when it is named. */
  readonly mayRead: (column: Column) => boolean;
}

/** Tells the rights on a table; undefined = none at all. */
export type ReadPolicies = (table: Table) => ReadPolicy | undefined;

export class ReadView {
  readonly #catalog: Catalog;
  readonly #policies: ReadPolicies;
  readonly #known = new Map<string, ReadPolicy | undefined>();

  constructor(catalog: Catalog, policies: ReadPolicies) {
    this.#catalog = catalog;
    this.#policies = policies;
  }

  /** The row rule of a table that a lookup of this view has found. */
  rows(table: Table): AuthorizedPredicate {
    return this.#policy(table)?.rows ?? { kind: "never" };
  }

  column(table: Table, name: string): Column | undefined {
    const column = table.columns.get(name);
    return column !== undefined && this.#mayRead(table, column) ? column : undefined;
  }

  /** A relation whose target the caller may read at all. */
  relation(table: Table, name: string): { relation: Relation; target: Table } | undefined {
    const relation = table.relations.get(name);
    if (relation === undefined) return undefined;
    const target = targetOf(this.#catalog, relation);
    return this.#policy(target) === undefined ? undefined : { relation, target };
  }

  /** The columns of `*`: readable and not hidden. */
  visibleColumns(table: Table): Column[] {
    return [...table.columns.values()].filter((column) => !column.hidden && this.#mayRead(table, column));
  }

  /** The relations of `*`: to-one. */
  visibleToOne(table: Table): { relation: Relation; target: Table }[] {
    return [...table.relations.values()]
      .filter((relation) => !relation.many)
      .flatMap((relation) => this.relation(table, relation.name) ?? []);
  }

  /** Every name the caller may use on a table, for suggestions. */
  names(table: Table): string[] {
    const columns = [...table.columns.values()].filter((column) => this.#mayRead(table, column));
    const relations = [...table.relations.keys()].filter((name) => this.relation(table, name) !== undefined);
    return [...columns.map((column) => column.name), ...relations];
  }

  #mayRead(table: Table, column: Column): boolean {
    return !column.secret && this.#policy(table)?.mayRead(column) === true;
  }

  #policy(table: Table): ReadPolicy | undefined {
    if (!this.#known.has(table.name)) this.#known.set(table.name, this.#policies(table));
    return this.#known.get(table.name);
  }
}
