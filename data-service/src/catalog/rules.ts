// Column rules: what a stored value must satisfy beyond its type, one row a rule.
import { RE2JS } from "re2js";
import { getOrMake } from "../get-or-make.js";
import type { Rules } from "./catalog.js";
import { COLUMN_TYPES, type ColumnType } from "./column-types.js";
import { isEmailAddress } from "./email-address.js";
import type { Stored } from "./stored.js";

/** A text that the parser would repair, as browsers do with what somebody types, is not a valid address. */
const HTTP_URL = /^https?:\/\/[^\s\p{Cc}/\\?#][^\s\p{Cc}\\]*$/iu;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const FORMATS = {
  // A domain without a dot is most often a slip (`ann@gmail`).
  email: (text: string) => isEmailAddress(text) && text.includes(".", text.indexOf("@")),
  url: (text: string) => HTTP_URL.test(text) && URL.canParse(text),
  uuid: (text: string) => UUID.test(text),
};

/** How much of a text is checked even if it is too long, so that everything wrong with it is reported. */
const MOST_LOOKED_AT = 1_000;

/** Compiled patterns, each as long as the rules of a column hold it: those of refused definitions and of tables gone are let go. */
const patterns = new Map<string, WeakRef<RE2JS>>();
const letGo = new FinalizationRegistry<string>((pattern) => {
  if (patterns.get(pattern)?.deref() === undefined) patterns.delete(pattern);
});
const held = new WeakMap<Rules, RE2JS>();

/**
 * Each pattern is compiled once for all that hold it at the same time.
 * @throws Error when it is none
 */
export function compilePattern(pattern: string): RE2JS {
  const known = patterns.get(pattern)?.deref();
  if (known !== undefined) return known;
  const compiled = RE2JS.compile(pattern);
  patterns.set(pattern, new WeakRef(compiled));
  letGo.register(compiled, pattern);
  return compiled;
}

/** RE2 runs in linear time, so an owner's pattern can't stall the service. */
function matches(rules: Rules, pattern: string, text: string): boolean {
  return getOrMake(held, rules, () => compilePattern(pattern))
    .matcher(text)
    .find();
}

const NONE: readonly string[] = [];

/** All rules that a value breaks, each worded to follow the column's name. */
export function brokenRules(type: ColumnType, rules: Rules, value: Stored): readonly string[] {
  if (Object.keys(rules).length === 0) return NONE;
  const broken = [...brokenBounds(type, rules, value)];
  if (typeof value === "string") broken.push(...brokenByText(rules, value));
  if (Array.isArray(value)) broken.push(...brokenByLength(rules, value.length));
  return broken;
}

function* brokenBounds(type: ColumnType, { min, max }: Rules, value: Stored): Iterable<string> {
  const { compare, toJson: show } = COLUMN_TYPES[type];
  if (compare === undefined) return;
  if (min !== undefined && compare(value, min) < 0) yield `must be at least ${show(min)}`;
  if (max !== undefined && compare(value, max) > 0) yield `must be at most ${show(max)}`;
}

function* brokenByText(rules: Rules, text: string): Iterable<string> {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern, format } = rules;
  // Characters as people count them: an emoji is one, not two.
  const length = text.length > maxLength || text.length < 2 * minLength ? [...text].length : text.length;
  if (length < minLength) yield `must have at least ${minLength} characters`;
  if (length > maxLength) yield `must have at most ${maxLength} characters`;
  // Even in linear time a pattern takes seconds for a megabyte: a text that is refused anyway is not checked further.
  if (length > Math.max(maxLength, MOST_LOOKED_AT)) return;
  if (pattern !== undefined && !matches(rules, pattern, text)) yield `must match the pattern ${pattern}`;
  if (format !== undefined && !FORMATS[format](text)) yield `must be a valid ${format}`;
}

function* brokenByLength(rules: Rules, length: number): Iterable<string> {
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = rules;
  if (length < minItems) yield `must have at least ${minItems} members`;
  if (length > maxItems) yield `must have at most ${maxItems} members`;
}
