// A permission rule after a change of tables: renamed members are renamed in it, and what it granted by a removed name is no
// longer granted, so that nothing comes back to life when another member takes the name (security row H12). Pure.
import { isArray, isObject, type Json, type JsonObject } from "@portico/shared/json";
import {
  type Catalog,
  type Column,
  memberNamed,
  type Relation,
  type Table,
  tableById,
  targetOf,
} from "../catalog/catalog.js";
import type { Rule, Withheld } from "./rule.js";

/** The parts of a rule that name things. */
export type RuleText = Pick<Rule, "table" | "filter" | "fields" | "presets" | "check">;

/** A rule as it is stored. */
export type StoredRule = RuleText & Pick<Rule, "action"> & { readonly withheld?: Withheld };

/**
 * `off`: without the name that is gone the rule would mean something else, so it grants nothing until somebody looks at it.
 */
export type Followed =
  | { readonly kind: "same" }
  | { readonly kind: "renamed"; readonly text: RuleText }
  | { readonly kind: "off"; readonly because: string };

/** A condition uses a name that is gone, or that means something else now; the message says which. */
class Gone extends Error {
  constructor(name: string, table: Table, fate: "goes" | "leads elsewhere" = "goes") {
    super(`it needs "${name}" of "${table.name}", which ${fate}`);
  }
}

/** What has become of the names of a member and its table; undefined: gone. */
interface Names {
  table(table: Table): string | undefined;
  member(table: Table, name: string): string | undefined;
  /**
   * Has a new member taken the name of one that is gone? What a rule withheld of the old one, it withholds of the new one,
   * too.
   */
  isTaken(table: Table, name: string): boolean;
  /** Does a relation still lead to this table? What was said about the records there does not apply to others. */
  leadsTo(table: Table, relation: string, target: Table): boolean;
}

/**
 * @param rule as it fitted the catalog `before`; what did not fit there stays as it is
 * @returns the rule for the catalog `after`
 */
export function followNames(rule: RuleText, before: Catalog, after: Catalog): Followed {
  const table = before.tables.get(rule.table);
  if (table === undefined) return { kind: "same" };
  const names = namesBetween(after);
  const name = names.table(table);
  if (name === undefined) return { kind: "off", because: `the table "${table.name}" goes` };
  try {
    const text = { ...inTable(rule, table, before, names), table: name };
    const isSame = JSON.stringify(text) === JSON.stringify(textOf(rule));
    return isSame ? { kind: "same" } : { kind: "renamed", text };
  } catch (error) {
    if (error instanceof Gone) return { kind: "off", because: error.message };
    throw error;
  }
}

/** Texts that mean the same members of the same tables, each in terms of its catalog, give equal results. */
export function meaningOf(rule: RuleText, catalog: Catalog): string {
  const table = catalog.tables.get(rule.table);
  if (table === undefined) return JSON.stringify(textOf(rule));
  return JSON.stringify({ ...inTable(rule, table, catalog, idsIn(catalog)), table: table.id });
}

function inTable(rule: RuleText, table: Table, catalog: Catalog, names: Names): RuleText {
  const condition = (json: Json | null) => (json === null ? null : inCondition(json, table, catalog, names));
  return {
    filter: condition(rule.filter),
    fields: inFields(rule.fields, table, names),
    presets: inPresets(rule.presets, table, catalog, names),
    check: condition(rule.check),
    table: rule.table,
  };
}

/** Only the text, its members always in the same order, so that texts can be compared. */
export function textOf({ filter, fields, presets, check, table }: RuleText): RuleText {
  return { filter, fields, presets, check, table };
}

function namesBetween(after: Catalog): Names {
  const laterOf = (table: Table, id: string): Column | Relation | undefined => {
    const later = tableById(after, table.id);
    return later && membersOf(later).find((each) => each.id === id);
  };
  return {
    table: ({ id }) => tableById(after, id)?.name,
    member(table, name) {
      const id = memberId(table, name);
      return id === undefined ? name : laterOf(table, id)?.name;
    },
    isTaken(table, name) {
      const later = tableById(after, table.id);
      const taker = later && memberNamed(later, name);
      return taker !== undefined && membersOf(table).every(({ id }) => id !== taker.id);
    },
    leadsTo(table, name, target) {
      const id = memberId(table, name);
      const later = id === undefined ? undefined : laterOf(table, id);
      return later !== undefined && "link" in later && targetOf(after, later).id === target.id;
    },
  };
}

function membersOf({ columns, relations }: Table): (Column | Relation)[] {
  return [...columns.values(), ...relations.values()];
}

/** Replaces each name by its id; a relation that leads to other records is a different one. */
function idsIn(catalog: Catalog): Names {
  return {
    table: ({ id }) => id,
    member(table, name) {
      const relation = table.relations.get(name);
      if (relation === undefined) return memberId(table, name) ?? name;
      return `${relation.id}>${targetOf(catalog, relation).id}`;
    },
    isTaken: () => false,
    leadsTo: () => true,
  };
}

/** The id of the member with this name; undefined if there is none. */
export function memberId(table: Table, name: string): string | undefined {
  return memberNamed(table, name)?.id;
}

/** Descends into logic nodes and relations; what is under a column is its operand. @throws Gone */
function inCondition(json: Json, table: Table, catalog: Catalog, names: Names): Json {
  if (isArray(json)) return json.map((each) => inCondition(each, table, catalog, names));
  if (!isObject(json)) return json;
  const entries = Object.entries(json).map(([key, value]): [string, Json] => {
    if (key.startsWith("_")) return [key, inCondition(value, table, catalog, names)];
    const path = alongPath(key.split("."), table, catalog, names);
    return [path.text, path.end === undefined ? value : inCondition(value, path.end, catalog, names)];
  });
  return Object.fromEntries(entries);
}

/** Follows `author.team.name`. @returns the table to which the last name leads, for relations. @throws Gone */
function alongPath(
  path: readonly string[],
  start: Table,
  catalog: Catalog,
  names: Names,
): { text: string; end: Table | undefined } {
  let at: Table | undefined = start;
  const text = path.map((name) => {
    if (at === undefined) return name;
    const table = at;
    const [relation, later] = [table.relations.get(name), names.member(table, name)];
    if (later === undefined) throw new Gone(name, table);
    at = relation === undefined ? undefined : targetOf(catalog, relation);
    if (at !== undefined && !names.leadsTo(table, name, at)) throw new Gone(name, table, "leads elsewhere");
    return later;
  });
  return { text: text.join("."), end: at };
}

export function tokensOf(fields: string): string[] {
  return fields.split(",").map((each) => each.trim());
}

/** @throws Gone when none of the names is left */
function inFields(fields: string | null, table: Table, names: Names): string | null {
  if (fields === null) return null;
  const tokens = tokensOf(fields);
  const kept = tokens.flatMap((token) => {
    const sign = token.startsWith("-") ? "-" : "";
    const name = token.slice(sign.length);
    const later = names.member(table, name);
    if (later === undefined) return sign === "-" && names.isTaken(table, name) ? [token] : [];
    return [sign + later];
  });
  if (kept.length === tokens.length && kept.every((each, at) => each === tokens[at])) return fields;
  const isAllBut = (names: readonly string[]): boolean => names.some((name) => name.startsWith("-"));
  // All but a column that is gone means all. Names beside it had no effect, and must not begin to have one.
  if (isAllBut(tokens) && !isAllBut(kept)) return "*";
  if (kept.length > 0) return kept.join(",");
  throw new Gone(tokens.join(", "), table);
}

/** A value for a member that is gone need not be set. @throws Gone for a link that would lead to other records */
function inPresets(
  presets: JsonObject | null,
  table: Table,
  catalog: Catalog,
  names: Names,
): JsonObject | null {
  if (presets === null) return null;
  const entries = Object.entries(presets).flatMap(([name, value]): [string, Json][] => {
    const later = names.member(table, name);
    if (later === undefined) return names.isTaken(table, name) ? [[name, value]] : [];
    const relation = table.relations.get(name);
    if (relation !== undefined && !names.leadsTo(table, name, targetOf(catalog, relation)))
      throw new Gone(name, table, "leads elsewhere");
    return [[later, value]];
  });
  return Object.fromEntries(entries);
}
