// What is unique or indexed together: lists of names of the table's own members.
import { isArray, type Json } from "@portico/shared/json";
import type { Members } from "./check-member.js";
import type { ColumnDefinition } from "./definition.js";
import type { DefinitionReader } from "./definition-reader.js";
import { GENERATED_NAMES, suggestion } from "./names.js";

/** How many names an index or a unique may have. */
export const MAX_KEY_NAMES = 16;

export function checkKeys(
  reader: DefinitionReader,
  key: "uniques" | "indexes",
  { columns, relations }: Members,
): string[][] {
  const usable = new Set<string>([
    ...GENERATED_NAMES,
    ...columns.filter((each) => fitsKey(each, key)).map((each) => each.name),
    ...relations.filter((each) => each.type !== "many-to-many").map((each) => each.name),
  ]);
  return reader.list(key).flatMap((entry, at) => {
    const names = namesIn(entry);
    if (names.length === 0 || names.length > MAX_KEY_NAMES)
      reader.problem(`${key}[${at}]`, `must be a list of 1 to ${MAX_KEY_NAMES} names`);
    const bares = names.map((name) => bareName(name, key));
    if (bares.length === 1 && bares[0] === "id")
      reader.problem(`${key}[${at}]`, '"id" alone is unique and indexed in every table');
    if (new Set(bares).size < bares.length) reader.problem(`${key}[${at}]`, "names a member more than once");
    if (columns.filter((each) => each.type === "enumList" && bares.includes(each.name)).length > 1)
      reader.problem(`${key}[${at}]`, "can hold one enumList column at most");
    for (const bare of bares) {
      if (!usable.has(bare))
        reader.problem(`${key}[${at}]`, `"${bare}" can't be used here${suggestion(bare, usable)}`);
    }
    return [names];
  });
}

/** Nothing where not every entry is a name. */
function namesIn(entry: Json): string[] {
  const given = isArray(entry) ? entry : [];
  const names = given.filter((each) => typeof each === "string");
  return names.length < given.length ? [] : names;
}

/** A list can't be unique together with anything, and what is sealed or untyped has no order. */
export function fitsKey(
  { type, encrypted }: Pick<ColumnDefinition, "type" | "encrypted">,
  key: "uniques" | "indexes",
): boolean {
  return !encrypted && type !== "json" && (type !== "enumList" || key === "indexes");
}

function bareName(name: string, key: "uniques" | "indexes"): string {
  return key === "indexes" ? name.replace(/^-/, "") : name;
}
