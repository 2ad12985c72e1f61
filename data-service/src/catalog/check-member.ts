// What columns and relations have in common: their ids and their names.
import { type Catalog, incomingLinks, type Table } from "./catalog.js";
import type { TableDefinition } from "./definition.js";
import type { DefinitionContext } from "./definition-context.js";
import type { DefinitionReader } from "./definition-reader.js";
import { memberNameProblem } from "./names.js";
import { DELETED_AT } from "./soft-delete.js";

export const OWN_ID = /^[0-9a-f]{24}$/;

export type Members = Pick<TableDefinition, "columns" | "relations">;

type MemberKind = "columns" | "relations";

/** A member's id: its own if the table already has it, or if it may bring one along. */
export function memberId(reader: DefinitionReader, kind: MemberKind, context: DefinitionContext): string {
  const { existing, ownIds, newId } = context;
  const given = reader.raw("id");
  if (given === undefined) return newId();
  const has = (other: MemberKind): boolean => existing?.[other].some(({ id }) => id === given) === true;
  if (has(kind)) return String(given);
  // A column's field holds values, a relation's holds ids: neither can become the other.
  const isOthers = has(kind === "columns" ? "relations" : "columns");
  const isOwn = ownIds && typeof given === "string" && OWN_ID.test(given) && !isOthers;
  const elsewhere = isOwn ? memberElsewhere(context.catalog, given) : undefined;
  if (isOwn && elsewhere === undefined) return given;
  const problem = elsewhere === undefined ? "there is no such member" : `is that of "${elsewhere}"`;
  reader.problem("id", `${problem}; leave the id out for a new one`);
  return newId();
}

/**
 * The member of one of these tables that has the id. No two have the same, because numbers of children are stored under it.
 */
export function memberElsewhere({ tables }: Catalog, id: string): string | undefined {
  for (const table of tables.values()) {
    const own = [...table.relations.values()].filter(({ link }) => link.on === "self");
    const member = [...table.columns.values(), ...own].find((each) => each.id === id);
    if (member !== undefined) return `${table.name}.${member.name}`;
  }
  return undefined;
}

/** Members may have an id only where ids mean something: not in the definition of a new table. */
export function memberKeys(
  keys: readonly string[],
  { existing, ownIds }: DefinitionContext,
): readonly string[] {
  if (ownIds) return ["id", "field", ...keys];
  return existing === undefined ? keys : ["id", ...keys];
}

export function checkIds(reader: DefinitionReader, { columns, relations }: Members): void {
  const seen = new Set<string>();
  for (const { id } of [...columns, ...relations]) {
    if (id !== "" && seen.has(id)) reader.problem("columns", `two members have the id ${id}`);
    seen.add(id);
  }
}

export function checkMemberName(reader: DefinitionReader): string {
  const name = reader.text("name") ?? "";
  const problem = memberNameProblem(name);
  if (problem !== undefined) reader.problem("name", problem);
  return name;
}

/** Every name may occur once in a table, and so may the inverse names that it gives to other tables. */
export function checkMemberNames(
  reader: DefinitionReader,
  { columns, relations }: Members,
  ownName: string,
  { catalog, existing }: DefinitionContext,
): void {
  const taken = new Set<string>();
  const claim = (path: string, table: string, name: string): void => {
    if (table === "" || name === "") return;
    const other = table === ownName ? undefined : catalog.tables.get(table);
    const exists = other !== undefined && hasMember(other, name);
    if (exists || taken.has(`${table}.${name}`)) reader.problem(path, `"${table}" has a "${name}" already`);
    taken.add(`${table}.${name}`);
  };
  for (const inverse of existing === undefined ? [] : inversesFrom(catalog, existing.name))
    taken.add(`${ownName}.${inverse}`);
  if (reader.raw("softDelete") === true) claim("softDelete", ownName, DELETED_AT);
  for (const [at, column] of columns.entries()) claim(`columns[${at}].name`, ownName, column.name);
  for (const [at, relation] of relations.entries()) claim(`relations[${at}].name`, ownName, relation.name);
  for (const [at, relation] of relations.entries()) {
    if (relation.inverse !== null) claim(`relations[${at}].inverse`, relation.table, relation.inverse);
  }
}

/** Does one of these tables have, or give to the table, a member of this name? @param others without the table itself */
export function isTakenIn(others: Catalog, table: string, name: string): boolean {
  const there = others.tables.get(table);
  return (there !== undefined && hasMember(there, name)) || inversesFrom(others, table).includes(name);
}

/** The names that other tables' relations give to their other ends in this one. */
function inversesFrom(others: Catalog, name: string): string[] {
  return incomingLinks(others, { name }).flatMap(({ relation }) => relation.inverse ?? []);
}

function hasMember(table: Table, name: string): boolean {
  return table.columns.has(name) || table.relations.has(name);
}
