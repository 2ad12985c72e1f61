// Column rules: what a stored value must satisfy beyond its type, one row a rule.
import { RE2JS } from "re2js";
import type { Rules } from "./catalog.js";
import { COLUMN_TYPES, type ColumnType, type Stored } from "./column-types.js";

const EMAIL = /^[^\s@"(),:;<>[\]\\]{1,64}@[^\s@.]+(?:\.[^\s@.]+)+$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const FORMATS = {
  email: (text: string) => text.length <= 254 && EMAIL.test(text),
  url: (text: string) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol),
  uuid: (text: string) => UUID.test(text),
};

const patterns = new Map<string, RE2JS>();

/** RE2 runs in linear time, so an owner's pattern can't stall the service. Compiled once per pattern. */
function matches(pattern: string, text: string): boolean {
  let compiled = patterns.get(pattern);
  if (compiled === undefined) {
    compiled = RE2JS.compile(pattern);
    patterns.set(pattern, compiled);
  }
  return compiled.matcher(text).find();
}

/**
 * The first rule a value breaks, worded to follow the column's name; undefined when it breaks none.
 */
export function ruleProblem(type: ColumnType, rules: Rules, value: Stored): string | undefined {
  const compare = COLUMN_TYPES[type].compare;
  if (compare !== undefined) {
    const show = COLUMN_TYPES[type].toJson;
    if (rules.min !== undefined && compare(value, rules.min) < 0)
      return `must be at least ${show(rules.min)}`;
    if (rules.max !== undefined && compare(value, rules.max) > 0) return `must be at most ${show(rules.max)}`;
  }
  if (typeof value === "string") return textProblem(rules, value);
  if (Array.isArray(value)) return listProblem(rules, value.length);
  return undefined;
}

function textProblem(rules: Rules, text: string): string | undefined {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern, format } = rules;
  // Characters as people count them: an emoji is one, not two.
  const length = text.length > maxLength || text.length < 2 * minLength ? [...text].length : text.length;
  if (length < minLength) return `must have at least ${minLength} characters`;
  if (length > maxLength) return `must have at most ${maxLength} characters`;
  if (pattern !== undefined && !matches(pattern, text)) return `must match the pattern ${pattern}`;
  if (format !== undefined && !FORMATS[format](text)) return `must be a valid ${format}`;
  return undefined;
}

function listProblem(rules: Rules, length: number): string | undefined {
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = rules;
  if (length < minItems) return `must have at least ${minItems} members`;
  if (length > maxItems) return `must have at most ${maxItems} members`;
  return undefined;
}
