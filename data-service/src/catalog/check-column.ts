// A client's column -> a complete one; problems go to the reader.
import { isArray, isObject, type Json, kindOf } from "@portico/shared/json";
import { buildRules } from "./build-catalog.js";
import { checkMemberName, memberId, memberKeys } from "./check-member.js";
import type { PatternCheck } from "./check-pattern.js";
import {
  aColumn,
  COLUMN_TYPE_NAMES,
  COLUMN_TYPES,
  type ColumnType,
  canBeUnique,
  isText,
} from "./column-types.js";
import { type ColumnDefinition, plainColumn, type RulesDefinition } from "./definition.js";
import type { DefinitionContext } from "./definition-context.js";
import type { DefinitionReader } from "./definition-reader.js";
import { brokenRules } from "./rules.js";

const MAX_ENUM_VALUES = 1000;

/** The keys that a client may set for a column. */
export const COLUMN_KEYS: readonly string[] = [
  ...["name", "type", "required", "default", "unique", "hidden", "readOnly", "encrypted", "searchable"],
  ...["options", "rules", "description"],
];

/** @param reader undefined if the client did not send an object */
export function checkColumn(
  reader: DefinitionReader | undefined,
  context: DefinitionContext,
  patterns: PatternCheck,
): ColumnDefinition {
  if (reader === undefined) return unreadableColumn("");
  reader.knows(memberKeys(COLUMN_KEYS, context));
  const name = checkMemberName(reader);
  const type = reader.choice<ColumnType>("type", COLUMN_TYPE_NAMES);
  if (type === undefined) return unreadableColumn(name);
  const options = checkOptions(reader, type);
  const rules = checkRules(reader, type, patterns);
  const column = {
    id: memberId(reader, "columns", context),
    name,
    type,
    required: reader.flag("required"),
    unique: reader.flag("unique"),

    hidden: reader.flag("hidden"),
    readOnly: reader.flag("readOnly"),
    encrypted: reader.flag("encrypted"),
    searchable: reader.flag("searchable"),
    description: reader.text("description") ?? null,
    ...(options === undefined ? {} : { options }),
    ...(rules === undefined ? {} : { rules }),
  };
  checkFlags(reader, column);
  const standard = checkDefault(reader, column);
  if (column.required && column.readOnly && standard === undefined) {
    reader.problem(
      "default",
      "is needed: nobody may write a read-only column, and this one must have a value",
    );
  }
  return standard === undefined ? column : { ...column, default: standard };
}

/** Takes the place of a column that was refused, so that later problems name the right position. */
function unreadableColumn(name: string): ColumnDefinition {
  return plainColumn(name, "json", { id: "" });
}

function checkFlags(reader: DefinitionReader, column: ColumnDefinition): void {
  const { type, unique, searchable, encrypted } = column;
  if (unique && !canBeUnique(type)) reader.problem("unique", `${type} columns can't be unique`);
  if (unique && encrypted) reader.problem("unique", "an encrypted column can't be unique");
  if (searchable && !isText(type))
    reader.problem("searchable", "only string and text columns can be searchable");
  if (searchable && encrypted) reader.problem("searchable", "an encrypted column can't be searchable");
}

function checkOptions(reader: DefinitionReader, type: ColumnType): { values: readonly string[] } | undefined {
  const given = reader.raw("options");
  const isEnum = type === "enum" || type === "enumList";
  if (!isEnum) {
    if (given !== undefined) reader.problem("options", `${aColumn(type)} takes no options`);
    return undefined;
  }
  const values = isObject(given) ? given.values : given;
  for (const key of isObject(given) ? Object.keys(given) : [])
    if (key !== "values")
      reader.problem(`options.${key}`, `is not known here${reader.suggestion(key, ["values"])}`);
  const words = isArray(values) ? values.filter((each) => typeof each === "string" && each !== "") : [];
  const distinct = [...new Set(words.map(String))];
  if (
    !isArray(values) ||
    distinct.length === 0 ||
    distinct.length !== values.length ||
    distinct.length > MAX_ENUM_VALUES
  ) {
    const wanted = `1 to ${MAX_ENUM_VALUES} different texts, none of them empty`;
    reader.problem("options", `must be {"values": […]} with ${wanted}`);
  }
  return { values: distinct };
}

const TEXT_RULES = ["minLength", "maxLength", "pattern", "format"];
const LIST_RULES = ["minItems", "maxItems"];

function rulesOf(type: ColumnType): string[] {
  if (isText(type)) return TEXT_RULES;
  if (type === "enumList") return LIST_RULES;
  return COLUMN_TYPES[type].compare === undefined ? [] : ["min", "max"];
}

function checkRules(
  reader: DefinitionReader,
  type: ColumnType,
  patterns: PatternCheck,
): RulesDefinition | undefined {
  const given = reader.raw("rules");
  if (given === undefined) return undefined;
  if (!isObject(given)) {
    reader.problem("rules", `must be an object, not ${kindOf(given)}`);
    return undefined;
  }
  const allowed = rulesOf(type);
  const rules: Record<string, Json> = {};
  for (const [name, value] of Object.entries(given)) {
    const problem = allowed.includes(name)
      ? ruleValueProblem(name, value, type, patterns)
      : `is no rule of ${type} columns${allowed.length > 0 ? `; they have ${allowed.join(", ")}` : ""}`;
    if (problem === undefined) rules[name] = value;
    else reader.problem(`rules.${name}`, problem);
  }
  checkRanges(reader, type, rules);
  return rules;
}

/** Bounds that no value can satisfy. */
function checkRanges(reader: DefinitionReader, type: ColumnType, rules: RulesDefinition): void {
  const { min, max } = buildRules(type, rules);
  const { minLength = 0, maxLength = minLength, minItems = 0, maxItems = minItems } = rules;
  const turned = min !== undefined && max !== undefined && (COLUMN_TYPES[type].compare?.(min, max) ?? 0) > 0;
  if (turned) reader.problem("rules.min", "is above max");
  if (minLength > maxLength) reader.problem("rules.minLength", "is above maxLength");
  if (minItems > maxItems) reader.problem("rules.minItems", "is above maxItems");
}

function ruleValueProblem(
  name: string,
  value: Json,
  type: ColumnType,
  patterns: PatternCheck,
): string | undefined {
  if (name === "min" || name === "max") {
    return COLUMN_TYPES[type].parse(value, []) === undefined
      ? `must be ${COLUMN_TYPES[type].expects}`
      : undefined;
  }
  if (name === "pattern") return patterns.problem(value);
  if (name === "format") {
    return value === "email" || value === "url" || value === "uuid"
      ? undefined
      : "must be email, url or uuid";
  }
  const count = typeof value === "number" && Number.isInteger(value) && value >= 0;
  return count ? undefined : "must be a whole number from 0";
}

function checkDefault(reader: DefinitionReader, column: ColumnDefinition): Json | undefined {
  const value = reader.raw("default");
  if (value === undefined) return undefined;
  const row = COLUMN_TYPES[column.type];
  const stored = row.parse(value, column.options?.values ?? []);
  const problems =
    stored === undefined
      ? [`must be ${row.expects}`]
      : brokenRules(column.type, buildRules(column.type, column.rules ?? {}), stored);
  for (const problem of problems) reader.problem("default", problem);
  return value;
}
