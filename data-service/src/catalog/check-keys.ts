// What is unique or indexed together: lists of names of the table's own members.
import { isArray, type Json } from "@portico/shared/json";
import { same } from "./canonical.js";
import type { Members } from "./check-member.js";
import type { ColumnDefinition, TableDefinition } from "./definition.js";
import type { DefinitionReader } from "./definition-reader.js";
import { GENERATED_NAMES } from "./names.js";

/** How many names an index or a unique may have. */
export const MAX_KEY_NAMES = 16;

type Key = "uniques" | "indexes";

type KeyColumn = Pick<ColumnDefinition, "type" | "encrypted">;

export function checkKeys(
  reader: DefinitionReader,
  key: Key,
  members: Members,
  existing: TableDefinition | undefined,
): string[][] {
  const { columns } = members;
  const known = memberProblems(members, key);
  const usable = [...known].flatMap(([name, why]) => (why === undefined ? name : []));
  return reader.list(key).flatMap((entry, at) => {
    const names = namesIn(entry);
    if (names.length === 0 || names.length > MAX_KEY_NAMES) {
      reader.problem(`${key}[${at}]`, `must be a list of 1 to ${MAX_KEY_NAMES} names`);
      return [names];
    }
    const bares = names.map((name) => bareName(name, key));
    // Earlier versions took it, and what the table has already stays.
    const isThere = (): boolean => existing?.[key].some((each) => same(each, names)) === true;
    if (bares.length === 1 && bares[0] === "id" && !isThere())
      reader.problem(`${key}[${at}]`, '"id" alone is unique and indexed in every table');
    if (new Set(bares).size < bares.length) reader.problem(`${key}[${at}]`, "names a member more than once");
    if (columns.filter((each) => each.type === "enumList" && bares.includes(each.name)).length > 1)
      reader.problem(`${key}[${at}]`, "can hold one enumList column at most");
    for (const bare of bares) {
      const why = known.has(bare) ? known.get(bare) : "it is none of the table's own columns and relations";
      if (why === undefined) continue;
      reader.problem(
        `${key}[${at}]`,
        `"${bare}" can't be used here: ${why}${reader.suggestion(bare, usable)}`,
      );
    }
    return [names];
  });
}

/** Empty unless every entry is a name. */
function namesIn(entry: Json): string[] {
  const given = isArray(entry) ? entry : [];
  const names = given.filter((each) => typeof each === "string");
  return names.length < given.length ? [] : names;
}

/** Each of the table's own names, with why it can't be part of a key; undefined if it can. */
function memberProblems({ columns, relations }: Members, key: Key): ReadonlyMap<string, string | undefined> {
  return new Map<string, string | undefined>([
    ...GENERATED_NAMES.map((name) => [name, undefined] as const),
    ...columns.map((each) => [each.name, columnProblem(each, key)] as const),
    ...relations.map(({ name, type }) => [name, type === "many-to-many" ? MANY : undefined] as const),
  ]);
}

const MANY = "a many-to-many relation is a list of links";

/** A list can't be unique together with anything, and encrypted or untyped values have no order. */
function columnProblem({ type, encrypted }: KeyColumn, key: Key): string | undefined {
  if (encrypted) return "an encrypted column can't be compared";
  if (type === "json") return "json columns have no order";
  return type === "enumList" && key === "uniques" ? "enumList columns can't be unique" : undefined;
}

export function fitsKey(column: KeyColumn, key: Key): boolean {
  return columnProblem(column, key) === undefined;
}

function bareName(name: string, key: Key): string {
  return key === "indexes" ? name.replace(/^-/, "") : name;
}
