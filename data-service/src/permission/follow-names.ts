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
import { comparedAs } from "../catalog/column-types.js";
import { type Meant, type MeantNames, meantAs, meantBy } from "./meant.js";
import type { Rule, RuleTable, Withheld } from "./rule.js";

/** The parts of a rule that name things. */
export type RuleText = Pick<Rule, "table" | "filter" | "fields" | "presets" | "check">;

/** A text with what its names are known to mean, if not just whatever has them at the moment. */
export type MeantText = RuleText & RuleTable;

/** A rule as it is stored. */
export type StoredRule = MeantText & Pick<Rule, "action"> & { readonly withheld?: Withheld };

/**
 * `off`: without the name that is gone the rule would mean something else, so it grants nothing until somebody looks at it.
 * In its text what is gone keeps its name, and the others have those of now.
 */
export type Followed =
  | { readonly kind: "same" }
  | { readonly kind: "renamed"; readonly text: RuleText }
  | { readonly kind: "off"; readonly because: string; readonly text: RuleText };

/** What has become of the names of a member and its table; undefined: gone. */
interface Names extends MeantNames {
  /** Is told of a name in a condition that is gone, or that means something else now. */
  lose(name: string, table: Table, fate: "goes" | "leads elsewhere" | "is compared in another way"): void;
  /** @param isCompared with a value: what a comparison means depends on the type as well */
  member(table: Table, name: string, isCompared: boolean): string | undefined;
  /** Do comparisons with it still mean the same? */
  isComparedAlike(table: Table, name: string): boolean;
  /**
   * Has a new member taken the name of one that is gone? What a rule withheld of the old one, it withholds of the new one,
   * too.
   */
  isTaken(table: Table, name: string): boolean;
  /** Does a relation still lead to this table? What was said about the records there does not apply to others. */
  leadsTo(table: Table, relation: string, target: Table): boolean;
}

/**
 * @param rule as it fitted the catalog `before`; what did not fit there stays as it is, and so does a name that is known to
 * mean something else than what has it
 * @returns the rule for the catalog `after`
 */
export function followNames(rule: MeantText, before: Catalog, after: Catalog): Followed {
  const table = ownTable(rule, before);
  if (table === undefined) return { kind: "same" };
  const name = tableById(after, table.id)?.name;
  if (name === undefined)
    return { kind: "off", because: `the table "${table.name}" goes`, text: textOf(rule) };
  const lost: string[] = [];
  const names: Names = {
    ...namesBetween(before, after),
    ...meantBy(rule.meant),
    lose: (name, table, fate) => lost.push(`it needs "${name}" of "${table.name}", which ${fate}`),
  };
  const text = { ...inTable(rule, table, before, names), table: name };
  const [because] = lost;
  if (because !== undefined) return { kind: "off", because, text };
  const isSame = JSON.stringify(text) === JSON.stringify(textOf(rule));
  return isSame ? { kind: "same" } : { kind: "renamed", text };
}

/** Texts that mean the same members of the same tables, each in terms of its catalog, give equal results. */
export function meaningOf(rule: MeantText, catalog: Catalog): string {
  const table = ownTable(rule, catalog);
  if (table === undefined) return JSON.stringify(textOf(rule));
  const names: Names = { ...idsIn(catalog), ...meantBy(rule.meant), lose: () => {} };
  return JSON.stringify({ ...inTable(rule, table, catalog, names), table: table.id });
}

/**
 * The way back from `meaningOf`.
 * @returns the text with the names of a catalog, in which a member that is gone is called by its id, so that it does not fit;
 * undefined where the table is gone, or something else has such a name
 */
export function textMeaning(
  meaning: string,
  meant: Meant | undefined,
  catalog: Catalog,
): RuleText | undefined {
  const byIds = textIn(JSON.parse(meaning));
  if (byIds === undefined) return undefined;
  const followed = followNames(byIds, namedByIds(catalog), catalog);
  const text = followed.kind === "same" ? byIds : followed.text;
  const isThere = catalog.tables.has(text.table) && meaningOf({ ...text, meant }, catalog) === meaning;
  return isThere ? text : undefined;
}

function textIn(json: Json): RuleText | undefined {
  if (!isObject(json)) return undefined;
  const { table, filter = null, fields: names, presets: values, check = null } = json;
  if (typeof table !== "string") return undefined;
  const fields = typeof names === "string" ? names : null;
  return { filter, fields, presets: isObject(values) ? values : null, check, table };
}

/** The table that a rule is about, unless another has taken its name. */
export function ownTable({ table: name, meant }: RuleTable, catalog: Catalog): Table | undefined {
  const table = catalog.tables.get(name);
  return table !== undefined && meantBy(meant).isMeantTable(table) ? table : undefined;
}

/** What the names of a rule mean. */
export function meantIn(rule: RuleText, catalog: Catalog): Meant {
  const table = catalog.tables.get(rule.table);
  if (table === undefined) return [];
  const meant = new Set([table.id]);
  inTable(rule, table, catalog, {
    ...idsIn(catalog),
    ...meantBy(undefined),
    lose: () => {},
    member(table, name) {
      const id = memberId(table, name);
      if (id !== undefined) meant.add(meantAs(table, id, "granted"));
      return name;
    },
    leadsTo(_table, _name, target) {
      meant.add(target.id);
      return true;
    },
  });
  return [...meant];
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

type MemberNames = Pick<Names, "member" | "isComparedAlike" | "isTaken" | "leadsTo">;

function namesBetween(before: Catalog, after: Catalog): MemberNames {
  const laterOf = (table: Table, id: string): Column | Relation | undefined => {
    const later = tableById(after, table.id);
    return later && membersOf(later).find((each) => each.id === id);
  };
  return {
    member(table, name) {
      const id = memberId(table, name);
      return id === undefined ? name : laterOf(table, id)?.name;
    },
    isComparedAlike(table, name) {
      const member = memberNamed(table, name);
      const later = member && laterOf(table, member.id);
      return (
        member === undefined || later === undefined || comparison(member, before) === comparison(later, after)
      );
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
function idsIn(catalog: Catalog): MemberNames {
  return {
    member(table, name, isCompared) {
      const member = memberNamed(table, name);
      return member === undefined ? name : (isCompared ? comparedId : plainId)(member, catalog);
    },
    isComparedAlike: () => true,
    isTaken: () => false,
    leadsTo: () => true,
  };
}

function plainId(member: Column | Relation, catalog: Catalog): string {
  return "link" in member ? `${member.id}>${targetOf(catalog, member).id}` : member.id;
}

/** What is compared in another way from now on is a different one. */
function comparedId(member: Column | Relation, catalog: Catalog): string {
  return `${plainId(member, catalog)}=${comparison(member, catalog)}`;
}

/**
 * What a comparison with a member depends on. `5` is before `10` as a number and behind it as a text; and without a record at
 * its other end a relation is unknown, or false where it could have several.
 */
function comparison(member: Column | Relation, catalog: Catalog): string {
  if (!("link" in member)) return comparedAs(member.type);
  const { idColumn } = targetOf(catalog, member);
  return `${member.many ? "any " : ""}${comparedAs(idColumn.type)}`;
}

/** The same tables, each and its members by the names that `idsIn` gives them. */
function namedByIds(catalog: Catalog): Catalog {
  const tables = [...catalog.tables.values()].map((table): Table => {
    const idsOf = (each: Column | Relation) => [plainId(each, catalog), comparedId(each, catalog)];
    const columns = [...table.columns.values()].flatMap((each) =>
      idsOf(each).map((id): [string, Column] => [id, each]),
    );
    const relations = [...table.relations.values()].flatMap((each) =>
      idsOf(each).map((id): [string, Relation] => [id, { ...each, target: targetOf(catalog, each).id }]),
    );
    return { ...table, name: table.id, columns: new Map(columns), relations: new Map(relations) };
  });
  return { ...catalog, tables: new Map(tables.map((table) => [table.id, table])) };
}

/** The id of the member with this name; undefined if there is none. */
export function memberId(table: Table, name: string): string | undefined {
  return memberNamed(table, name)?.id;
}

/** Descends into logic nodes and relations; what is under a column is its operand. */
function inCondition(json: Json, table: Table, catalog: Catalog, names: Names): Json {
  if (isArray(json)) return json.map((each) => inCondition(each, table, catalog, names));
  if (!isObject(json)) return json;
  const entries = Object.entries(json).map(([key, value]): [string, Json] => {
    if (key.startsWith("_")) return [key, inCondition(value, table, catalog, names)];
    const path = alongPath(key.split("."), comparesValue(value), table, catalog, names);
    return [path.text, path.end === undefined ? value : inCondition(value, path.end, catalog, names)];
  });
  // Of what is gone the name stays, which may be another's by now: two conditions must not become one.
  const isClear = new Set(entries.map(([key]) => key)).size === entries.length;
  return isClear ? Object.fromEntries(entries) : json;
}

/** Is a member compared with a value, and not just asked whether it has one? */
function comparesValue(operand: Json): boolean {
  if (!isObject(operand)) return operand !== null;
  const parts = Object.entries(operand);
  const isNullTest = ([name, value]: [string, Json]): boolean =>
    NULL_TESTS.includes(name) || (value === null && name.startsWith("_"));
  return parts.length === 0 || !parts.every(isNullTest);
}

const NULL_TESTS = ["_is_null", "_is_not_null"];

/** Follows `author.team.name`. @returns the table to which the last name leads, for relations. */
function alongPath(
  path: readonly string[],
  isCompared: boolean,
  start: Table,
  catalog: Catalog,
  names: Names,
): { text: string; end: Table | undefined } {
  let at: Table | undefined = start;
  const text = path.map((name) => {
    const table = at;
    at = undefined;
    if (table === undefined || !names.isMeant(table, name, "granted")) return name;
    const [relation, later] = [table.relations.get(name), names.member(table, name, isCompared)];
    const target = relation && targetOf(catalog, relation);
    if (later === undefined) names.lose(name, table, "goes");
    else if (target !== undefined && !names.leadsTo(table, name, target))
      names.lose(name, table, "leads elsewhere");
    else if (isCompared && !names.isComparedAlike(table, name))
      names.lose(name, table, "is compared in another way");
    at = target !== undefined && names.isMeantTable(target) ? target : undefined;
    return later ?? name;
  });
  return { text: text.join("."), end: at };
}

export function tokensOf(fields: string): string[] {
  return fields.split(",").map((each) => each.trim());
}

/** Only names of what is gone stay, for want of others. */
function inFields(fields: string | null, table: Table, names: Names): string | null {
  if (fields === null) return null;
  const tokens = tokensOf(fields);
  const kept = tokens.flatMap((token) => {
    const sign = token.startsWith("-") ? "-" : "";
    const name = token.slice(sign.length);
    if (!names.isMeant(table, name, sign === "-" ? "withheld" : "granted")) return [token];
    const later = names.member(table, name, false);
    if (later === undefined) return sign === "-" && names.isTaken(table, name) ? [token] : [];
    return [sign + later];
  });
  if (kept.length === tokens.length && kept.every((each, at) => each === tokens[at])) return fields;
  const isAllBut = (names: readonly string[]): boolean => names.some((name) => name.startsWith("-"));
  // All but a column that is gone means all. Names beside it had no effect, and must not begin to have one.
  if (isAllBut(tokens) && !isAllBut(kept)) return "*";
  if (kept.length > 0) return kept.join(",");
  names.lose(tokens.join(", "), table, "goes");
  return fields;
}

/** A value for a member that is gone need not be set; a link must not lead to other records. */
function inPresets(
  presets: JsonObject | null,
  table: Table,
  catalog: Catalog,
  names: Names,
): JsonObject | null {
  if (presets === null) return null;
  const entries = Object.entries(presets).flatMap(([name, value]): [string, Json][] => {
    if (!names.isMeant(table, name, "withheld")) return [[name, value]];
    const later = names.member(table, name, false);
    if (later === undefined) return names.isTaken(table, name) ? [[name, value]] : [];
    const relation = table.relations.get(name);
    if (relation !== undefined && !names.leadsTo(table, name, targetOf(catalog, relation)))
      names.lose(name, table, "leads elsewhere");
    return [[later, value]];
  });
  return Object.fromEntries(entries);
}
