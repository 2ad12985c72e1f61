// What a caller can see and do, table by table and member by member: the only source of everything that describes the API to
// them. Pure.
import {
  type Catalog,
  type Column,
  isGenerated,
  owningRelation,
  type Relation,
  type Table,
  targetOf,
} from "../catalog/catalog.js";
import { mayOnlyRead, type Requester } from "../principal.js";
import type { AuthorizedPredicate } from "../query/ast.js";
import type { ProtectedTables } from "./beyond-rules.js";
import type { WriteGrant } from "./compile-rules.js";
import { foreignGrants } from "./foreign-links.js";
import type { ReadView } from "./read-view.js";
import type { Rights } from "./rights.js";

/** What a member must be for a body to have it, of a new record or of a change. */
export type Writable = "creatable" | "updatable";
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
  /** A body can link by it to records that are there. */
  readonly linksThere: boolean;
  /** A body can bring new records along by it. */
  readonly bringsNew: Readonly<Record<Writable, boolean>>;
}

/** Is the member's value shown in any record? */
export function isShown({ shown }: VisibleMember): boolean {
  return shown !== "never";
}

/** Has the query language a test for the member? It has none for encrypted columns. */
export function isFilterable(member: VisibleColumn | VisibleRelation): boolean {
  return member.comparable && !("column" in member && member.column.encrypted);
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
  /** The records that were deleted can be read, too: those that one could delete. */
  readonly showsDeleted: boolean;
}

/** The relations whose records can be counted beside a record. */
export function countable({ relations }: Pick<VisibleTable, "relations">): readonly VisibleRelation[] {
  return relations.filter((each) => each.relation.many && isShown(each));
}

/** What a request's caller may do: with a read-only API token, only read. @param among the only ones that are asked about */
export function tablesFor(
  requester: Requester,
  rights: Rights,
  catalog: Catalog,
  among?: Iterable<Table>,
): VisibleTable[] {
  const tables = visibleTables(rights, catalog, among);
  return mayOnlyRead(requester) ? readableTables(tables) : tables;
}

/** The tables with which a caller may do anything, in the catalog's order. @param among the only ones that are asked about */
export function visibleTables(
  rights: Rights,
  catalog: Catalog,
  among: Iterable<Table> = catalog.tables.values(),
): VisibleTable[] {
  const view = rights.view(catalog);
  return [...among]
    .map((table) => visibleTable(rights, catalog, view, table))
    .filter(({ actions }) => Object.keys(actions).length > 0);
}

/** The same for somebody who may change nothing. */
function readableTables(tables: readonly VisibleTable[]): VisibleTable[] {
  const still = { creatable: false, updatable: false };
  return tables.flatMap(({ table, columns, relations, actions: { read }, showsDeleted }) =>
    read === undefined
      ? []
      : [
          {
            table,
            actions: { read },
            showsDeleted,
            columns: columns.map((each) => ({ ...each, ...still })).filter(isVisible),
            relations: relations.map((each) => ({ ...each, ...still })).filter(isVisible),
          },
        ],
  );
}

/** The tables of users and of roles as `/me` shows users themselves and their role; none for visitors. */
export function ownTables(
  requester: Requester,
  rights: Rights,
  catalog: Catalog,
  { users, roles }: Pick<ProtectedTables, "users" | "roles">,
): VisibleTable[] {
  if (requester.kind === "anonymous") return [];
  const view = rights.own(catalog, requester);
  const isOwn = rights.ownMembers(catalog);
  // Of one's own record only the rest is a matter of rules, which may show it in others alone.
  const shownIn = (member: Column | Relation, shown: Shown): Shown =>
    shown !== "never" && isOwn(member) ? "always" : shown;
  return [users, roles]
    .flatMap((name) => catalog.tables.get(name) ?? [])
    .map((table) => visibleTable(rights, catalog, view, table))
    .map(({ columns, relations, ...visible }) => ({
      ...visible,
      columns: columns.map((each) => ({ ...each, shown: shownIn(each.column, each.shown) })),
      relations: relations.map((each) => ({ ...each, shown: shownIn(each.relation, each.shown) })),
    }));
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
      .map((relation) =>
        linkedBy({
          ...endOf(view, catalog, relation),
          ...linksOf(rights, catalog, view, table, relation),
          ...member(relation),
        }),
      )
      .filter(isVisible),
    actions: {
      ...(isReadable ? { read: rowsOf([view.rows(table, "all")]) } : {}),
      ...(create.length > 0 ? { create: true } : {}),
      ...(update.length > 0 ? { update: rowsOf(update.map(({ rows }) => rows)) } : {}),
      ...(remove.length > 0 ? { delete: rowsOf(remove.map(({ rows }) => rows)) } : {}),
    },
    showsDeleted: isReadable && table.deletedAt !== undefined && remove.length > 0,
  };
}

/** What links lead to, as rules for the records there say. */
export function linksOf(
  rights: Rights,
  catalog: Catalog,
  view: ReadView,
  table: Table,
  relation: Relation,
): Pick<VisibleRelation, "linksThere" | "bringsNew"> {
  const target = targetOf(catalog, relation);
  const isOwn = relation.link.on === "self";
  const owning = isOwn ? undefined : owningRelation({ relation, target });
  const creates = target.ownCreate === undefined ? rights.write(catalog, target, "create") : [];
  const isHung = owning !== undefined && mayWrite(view, target, owning, creates);
  const bringsNew = isOwn ? creates.length > 0 : isHung;
  return {
    linksThere: isOwn || foreignGrants(rights, catalog, { relation, target }).length > 0,
    bringsNew: { creatable: bringsNew, updatable: bringsNew && table.changesOnlyLink !== true },
  };
}

/**
 * A change sets links that lie elsewhere one way or the other. A new record, which has none yet, can do with those that
 * its new records bring.
 */
function linkedBy(relation: VisibleRelation): VisibleRelation {
  const { linksThere, bringsNew, creatable, updatable } = relation;
  return {
    ...relation,
    creatable: creatable && (linksThere || bringsNew.creatable),
    updatable: updatable && linksThere,
  };
}

function isVisible(member: VisibleMember): boolean {
  return isShown(member) || member.creatable || member.updatable;
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
  return (member) => ({
    shown: shown.has(member.name) ? whereShown(view, table, member) : "never",
    comparable: comparable.has(member.name),
    creatable: mayWrite(view, table, member, create),
    updatable: mayWrite(view, table, member, update),
    needed: isNeeded(member) && create.every(({ presets }) => !(member.name in presets)),
  });
}

/** Do some of these rules let the member be written? */
function mayWrite(
  view: ReadView,
  table: Table,
  member: Column | Relation,
  grants: readonly WriteGrant[],
): boolean {
  return (
    member.readOnly !== true &&
    !isGenerated(member) &&
    grants.some(({ members }) => members(member)) &&
    (!("link" in member) || view.mayLink(table, member))
  );
}

function whereShown(view: ReadView, table: Table, member: Column | Relation): Shown {
  return view.masks(table, [member]).length === 0 ? "always" : "in some rows";
}

function isNeeded(member: Column | Relation): boolean {
  if ("link" in member && member.nullMeans !== undefined) return true;
  const isGiven = "default" in member && (member.default !== undefined || member.filled === true);
  return member.required && !isGiven;
}

function endOf(
  view: ReadView,
  catalog: Catalog,
  relation: Relation,
): Pick<VisibleRelation, "relation" | "target" | "inverse"> {
  const target = targetOf(catalog, relation);
  const inverse =
    relation.inverse === null ? undefined : view.through(relation).relation(target, relation.inverse, "show");
  return { relation, target, inverse: inverse?.relation.name ?? null };
}
