// What one caller may read, as the only way for the query language to look up a name. A name that the caller may not know is
// not found here, so it is refused like one that does not exist.
//
// Rules may grant different members for different rows. What is shown in every row can be used: to filter, sort and
// aggregate by. What some rule grants can be shown, in the rows that this rule matches.
import { type Catalog, type Column, type Relation, type Table, targetOf } from "../catalog/catalog.js";
import { getOrMake } from "../get-or-make.js";
import type { AuthorizedPredicate, Mask } from "../query/ast.js";
import { inState, type State } from "../query/living.js";
import { disjunction } from "../query/logic.js";

/** Members that may be seen in the rows that match. */
export interface ReadGrant {
  readonly rows: AuthorizedPredicate;
  readonly members: (member: Column | Relation) => boolean;
}

/** A caller's read rights on one table. */
export interface ReadPolicy {
  /** Rows the caller may see: those that some grant matches. */
  readonly rows: AuthorizedPredicate;
  /** At least one. */
  readonly grants: readonly ReadGrant[];
}

/** Tells the rights on a table; undefined = none at all. */
export type ReadPolicies = (table: Table) => ReadPolicy | undefined;

/** What a name is wanted for: to be compared, or to be shown. */
export type Purpose = "use" | "show";

export class ReadView {
  readonly #catalog: Catalog;
  readonly #policies: ReadPolicies;
  readonly #known = new Map<string, ReadPolicy | undefined>();
  /** The view of records that links in other tables' records lead to. */
  readonly beyond: ReadView;

  /** @param beyond if it is another than this one */
  constructor(catalog: Catalog, policies: ReadPolicies, beyond?: ReadView) {
    this.#catalog = catalog;
    this.#policies = policies;
    this.beyond = beyond ?? this;
  }

  /** The view of the records that a relation leads to. */
  through({ link }: Relation): ReadView {
    return link.on === "self" ? this : this.beyond;
  }

  /** Whether the caller may read any of a table's records. */
  mayRead(table: Table): boolean {
    return this.#policy(table) !== undefined;
  }

  /**
   * The row rule of a table that a lookup in this view has found.
   * @param state "all" only when asking what the caller's rules say about rows, or when deleted ones are shown
   */
  rows(table: Table, state: State = "living"): AuthorizedPredicate {
    return inState(table, this.#policy(table)?.rows ?? { kind: "never" }, state);
  }

  column(table: Table, name: string, purpose: Purpose = "use"): Column | undefined {
    const column = table.columns.get(name);
    return column !== undefined && this.#may(table, column, purpose) ? column : undefined;
  }

  /** A relation, if the caller may read its target at all. */
  relation(
    table: Table,
    name: string,
    purpose: Purpose = "use",
  ): { relation: Relation; target: Table } | undefined {
    const relation = table.relations.get(name);
    if (relation === undefined || !this.#may(table, relation, purpose)) return undefined;
    const target = targetOf(this.#catalog, relation);
    return this.#policy(target) === undefined ? undefined : { relation, target };
  }

  /** Whether the caller may read a member in some records. */
  shows(table: Table, member: Column | Relation): boolean {
    const found = "link" in member ? this.relation.bind(this) : this.column.bind(this);
    return found(table, member.name, "show") !== undefined;
  }

  /** Whether the caller may know the other end of a relation that a rule lets them write. */
  mayLink(table: Table, relation: Relation): boolean {
    return (
      this.relation(table, relation.name, "show") !== undefined ||
      this.rows(targetOf(this.#catalog, relation)).kind !== "never"
    );
  }

  /** The columns that `*` stands for: readable and not hidden. */
  visibleColumns(table: Table): Column[] {
    return [...table.columns.values()].filter((column) => !column.hidden && this.#may(table, column, "show"));
  }

  /** The relations that `*` stands for: to-one. */
  visibleToOne(table: Table): { relation: Relation; target: Table }[] {
    return [...table.relations.values()]
      .filter((relation) => !relation.many)
      .flatMap((relation) => this.relation(table, relation.name, "show") ?? []);
  }

  /** Every name the caller may use on a table, for suggestions. */
  names(table: Table, purpose: Purpose = "use"): string[] {
    const columns = [...table.columns.values()].filter((column) => this.#may(table, column, purpose));
    const relations = [...table.relations.keys()].filter((name) => this.relation(table, name, purpose));
    return [...columns.map((column) => column.name), ...relations];
  }

  /** Which of the members may be seen only in some of the rows, and in which. Empty when all are visible in every row. */
  masks(table: Table, members: readonly (Column | Relation)[]): Mask[] {
    const grants = this.#policy(table)?.grants ?? [];
    const partly = members.filter((member) => !isShownAlways(table, grants, member));
    if (partly.length === 0) return [];
    const hides = partly.map(({ name }) => name);
    // Each costs a look-up for every record, so rules that show the same have one in common.
    const alike = new Map<string, { shows: string[]; rows: AuthorizedPredicate[] }>();
    for (const { rows, members: granted } of grants) {
      const shows = partly.filter(granted).map(({ name }) => name);
      getOrMake(alike, shows.join(), () => ({ shows, rows: [] })).rows.push(rows);
    }
    const masks = [...alike.values()].map(({ shows, rows }) => ({ shows, rows: disjunction(rows), hides }));
    // One has to stay, to say what is hidden.
    const showing = masks.filter(({ shows }) => shows.length > 0);
    return showing.length > 0 ? showing : masks.slice(0, 1);
  }

  #may(table: Table, member: Column | Relation, purpose: Purpose): boolean {
    if ("secret" in member && member.secret) return false;
    const grants = this.#policy(table)?.grants ?? [];
    if (grants.length === 0) return false;
    return purpose === "use"
      ? isShownAlways(table, grants, member)
      : member === table.idColumn || grants.some(({ members }) => members(member));
  }

  #policy(table: Table): ReadPolicy | undefined {
    if (!this.#known.has(table.name)) this.#known.set(table.name, this.#policies(table));
    return this.#known.get(table.name);
  }
}

/**
 * Whether a member is shown in every row that the grants make visible. Only then can it be compared: where it is hidden, a
 * comparison would reveal it.
 */
export function isShownAlways(
  table: Table,
  grants: readonly ReadGrant[],
  member: Column | Relation,
): boolean {
  return (
    member === table.idColumn ||
    grants.every(({ members }) => members(member)) ||
    grants.some(({ rows, members }) => rows.kind === "always" && members(member))
  );
}
