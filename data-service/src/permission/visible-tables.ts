// What a caller can see and do, table by table and member by member: the only source of everything that describes the API to
// them. Pure.
import {
  type Catalog,
  type Column,
  isGenerated,
  type Relation,
  type Table,
  targetOf,
} from "../catalog/catalog.js";
import type { AuthorizedPredicate } from "../query/ast.js";
import type { WriteGrant } from "./compile-rules.js";
import type { ReadView } from "./read-view.js";
import type { Rights } from "./rights.js";

/** "all" only where no rule looks at the row. */
export type Rows = "all" | "some";
/** In which records a value is shown; "never" = it can only be written. */
export type Shown = "always" | "in some rows" | "never";

interface VisibleMember {
  readonly shown: Shown;
  /** Can be filtered, sorted and aggregated by. */
  readonly comparable: boolean;
  readonly creatable: boolean;
  readonly updatable: boolean;
  /** A new record needs it, and it comes neither from a default, nor from a rule, nor from the service. */
  readonly needed: boolean;
}

export interface VisibleColumn extends VisibleMember {
  readonly column: Column;
}

export interface VisibleRelation extends VisibleMember {
  readonly relation: Relation;
  readonly target: Table;
  /** Its name at the other end, if the caller may know it. */
  readonly inverse: string | null;
}

/** A table with which the caller may do anything. Whatever is not in here is unknown to them. */
export interface VisibleTable {
  readonly table: Table;
  readonly columns: readonly VisibleColumn[];
  readonly relations: readonly VisibleRelation[];
  readonly actions: {
    readonly read?: Rows;
    readonly create?: true;
    readonly update?: Rows;
    readonly delete?: Rows;
  };
}

/** The relations whose records can be counted beside a record. */
export function countable({ relations }: Pick<VisibleTable, "relations">): readonly VisibleRelation[] {
  return relations.filter(({ relation, shown }) => relation.many && shown !== "never");
}

/** The tables with which a caller may do anything, in the catalog's order. */
export function visibleTables(rights: Rights, catalog: Catalog): VisibleTable[] {
  const view = rights.view(catalog);
  return [...catalog.tables.values()]
    .map((table) => visibleTable(rights, catalog, view, table))
    .filter(({ actions }) => Object.keys(actions).length > 0);
}

/** The same for somebody who may change nothing, such as a read-only API token. */
export function readableTables(tables: readonly VisibleTable[]): VisibleTable[] {
  const still = { creatable: false, updatable: false };
  return tables.flatMap(({ table, columns, relations, actions: { read } }) =>
    read === undefined
      ? []
      : [
          {
            table,
            actions: { read },
            columns: columns.map((each) => ({ ...each, ...still })).filter(isVisible),
            relations: relations.map((each) => ({ ...each, ...still })).filter(isVisible),
          },
        ],
  );
}

function visibleTable(rights: Rights, catalog: Catalog, view: ReadView, table: Table): VisibleTable {
  const create = rights.write(catalog, table, "create");
  const update = rights.write(catalog, table, "update", "all");
  const remove = rights.write(catalog, table, "delete", "all");
  const isReadable = view.names(table, "show").length > 0;
  const member = memberOf(view, table, create, update);
  return {
    table,
    columns: [...table.columns.values()].map((column) => ({ column, ...member(column) })).filter(isVisible),
    relations: [...table.relations.values()]
      .map((relation) => ({ ...endOf(view, catalog, relation), ...member(relation) }))
      .filter(isVisible),
    actions: {
      ...(isReadable ? { read: rowsOf([view.rows(table, "all")]) } : {}),
      ...(create.length > 0 ? { create: true } : {}),
      ...(update.length > 0 ? { update: rowsOf(update.map(({ rows }) => rows)) } : {}),
      ...(remove.length > 0 ? { delete: rowsOf(remove.map(({ rows }) => rows)) } : {}),
    },
  };
}

function isVisible({ shown, creatable, updatable }: VisibleMember): boolean {
  return shown !== "never" || creatable || updatable;
}

function rowsOf(rows: readonly AuthorizedPredicate[]): Rows {
  return rows.some(({ kind }) => kind === "always") ? "all" : "some";
}

function memberOf(
  view: ReadView,
  table: Table,
  create: readonly WriteGrant[],
  update: readonly WriteGrant[],
): (member: Column | Relation) => VisibleMember {
  const shown = new Set(view.names(table, "show"));
  const comparable = new Set(view.names(table, "use"));
  const grants = (of: readonly WriteGrant[], member: Column | Relation): boolean =>
    member.readOnly !== true &&
    !isGenerated(member) &&
    of.some(({ members }) => members(member)) &&
    (!("link" in member) || view.mayLink(table, member));
  return (member) => ({
    shown: shown.has(member.name) ? whereShown(view, table, member) : "never",
    comparable: comparable.has(member.name),
    creatable: grants(create, member),
    updatable: grants(update, member),
    needed: isNeeded(member) && create.every(({ presets }) => !(member.name in presets)),
  });
}

function whereShown(view: ReadView, table: Table, member: Column | Relation): Shown {
  return view.masks(table, [member]).length === 0 ? "always" : "in some rows";
}

function isNeeded(member: Column | Relation): boolean {
  const isGiven = "default" in member && (member.default !== undefined || member.filled === true);
  return member.required && !isGiven;
}

function endOf(
  view: ReadView,
  catalog: Catalog,
  relation: Relation,
): Pick<VisibleRelation, "relation" | "target" | "inverse"> {
  const target = targetOf(catalog, relation);
  const inverse = relation.inverse === null ? undefined : view.relation(target, relation.inverse, "show");
  return { relation, target, inverse: inverse?.relation.name ?? null };
}
