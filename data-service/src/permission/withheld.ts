// What a permission rule withholds, a column by `-name` or its value by a preset, stays withheld when the member goes and
// comes back, whatever has become of the rule meanwhile. Pure.
import type { Json, JsonObject } from "@portico/shared/json";
import { type Catalog, type Table, tableById } from "../catalog/catalog.js";
import { memberId, ownTable, type RuleText, type StoredRule, tokensOf } from "./follow-names.js";
import { type Meant, meantAs, meantBy } from "./meant.js";
import type { Withheld } from "./rule.js";

export const NOTHING_WITHHELD: Withheld = { fields: [], presets: {} };

/** The table of a rule before and after a change. */
interface Between {
  readonly then: Table;
  readonly now: Table;
}

/** @returns what must be remembered after a change: about members that are gone, even if the rule is off without them */
export function withheldAfter(rule: StoredRule, before: Catalog, after: Catalog): Withheld {
  const { withheld = NOTHING_WITHHELD } = rule;
  const between = tableBetween(rule, before, after);
  if (between === undefined) return withheld;
  const { then, now } = between;
  const { isMeant } = meantBy(rule.meant);
  const idOf = (name: string) => (isMeant(then, name, "withheld") ? memberId(then, name) : undefined);
  const isGone = (id: string): boolean => nameIn(now, id) === undefined;
  const excluded = leftOut(rule).flatMap((name) => idOf(name) ?? []);
  const presets = Object.entries(rule.presets ?? {}).flatMap(([name, value]): [string, Json][] => {
    const id = idOf(name);
    return id === undefined ? [] : [[id, value]];
  });
  return {
    fields: [...new Set([...withheld.fields, ...excluded])].filter(isGone),
    presets: Object.fromEntries(
      [...Object.entries(withheld.presets), ...presets].filter(([id]) => isGone(id)),
    ),
  };
}

/**
 * @param text of the rule, with the names after the change
 * @param rule as it was before
 * @returns the text, which withholds again what it withheld of members that come back
 */
export function withheldAgain(text: RuleText, rule: StoredRule, before: Catalog, after: Catalog): RuleText {
  const { withheld = NOTHING_WITHHELD, action } = rule;
  const between = tableBetween(rule, before, after);
  if (between === undefined) return text;
  const { then, now } = between;
  // Whoever has written the rule since it came back has decided what becomes of it.
  const back = (id: string): string[] => {
    const name = nameIn(now, id);
    return name === undefined || nameIn(then, id) !== undefined ? [] : [name];
  };
  const names = withheld.fields.flatMap(back);
  const presets = Object.entries(withheld.presets).flatMap(([id, value]) =>
    back(id).map((name): [string, Json] => [name, value]),
  );
  const isWriting = action === "create" || action === "update";
  return {
    ...text,
    fields: action === "delete" ? text.fields : without(text.fields, names),
    presets: isWriting ? withPresets(text.presets, Object.fromEntries(presets)) : text.presets,
  };
}

/**
 * @param text of a former rule that comes back
 * @param present what the rule says now, with the same names
 * @returns the former text, which also withholds whatever the present one does: a new member that had taken a name stays
 * withheld when it gives the name back
 */
export function withholdingToo(text: RuleText, present: RuleText): RuleText {
  return {
    ...text,
    fields: without(text.fields, leftOut(present)),
    presets: withPresets(text.presets, present.presets ?? {}),
  };
}

/**
 * @param text of the rule, with the names after the change
 * @returns the new members that it withholds: in place of one whose name they have taken, or again now that they are back
 */
export function newlyWithheld(text: RuleText, rule: StoredRule, before: Catalog, after: Catalog): Meant {
  const { withheld = NOTHING_WITHHELD, meant } = rule;
  const between = tableBetween(rule, before, after);
  if (between === undefined) return [];
  const { then, now } = between;
  const isBack = (id: string): boolean => withheld.fields.includes(id) || Object.hasOwn(withheld.presets, id);
  const isTaker = (name: string): boolean =>
    memberId(then, name) !== undefined && meantBy(meant).isMeant(then, name, "withheld");
  return [...leftOut(text), ...Object.keys(text.presets ?? {})].flatMap((name) => {
    const id = memberId(now, name);
    const isNew = id !== undefined && nameIn(then, id) === undefined;
    return isNew && (isBack(id) || isTaker(name)) ? [meantAs(now, id, "withheld")] : [];
  });
}

/** The names that a rule leaves out. */
function leftOut({ fields }: Pick<RuleText, "fields">): string[] {
  return tokensOf(fields ?? "").flatMap((token) => (token.startsWith("-") ? [token.slice(1)] : []));
}

function tableBetween(rule: StoredRule, before: Catalog, after: Catalog): Between | undefined {
  const then = ownTable(rule, before);
  const now = then && tableById(after, then.id);
  return then === undefined || now === undefined ? undefined : { then, now };
}

function nameIn({ columns, relations }: Table, id: string): string | undefined {
  return [...columns.values(), ...relations.values()].find((each) => each.id === id)?.name;
}

/** A list of names covers nothing else; with one more `-name` it would cover all the rest. */
function without(fields: string | null, names: readonly string[]): string | null {
  const tokens = fields === null ? [] : tokensOf(fields);
  const isRest = fields === null || tokens.some((token) => token === "*" || token.startsWith("-"));
  const missing = names.map((name) => `-${name}`).filter((token) => !tokens.includes(token));
  return isRest && missing.length > 0 ? [...tokens, ...missing].join(",") : fields;
}

function withPresets(presets: JsonObject | null, more: JsonObject): JsonObject | null {
  return Object.keys(more).length === 0 ? presets : { ...more, ...presets };
}
