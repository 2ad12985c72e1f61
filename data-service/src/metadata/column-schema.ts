// A column as JSON Schema, and a value that fits it. Pure.
import type { Json } from "@portico/shared/json";
import type { Part } from "@portico/shared/operation";
import type { Column } from "../catalog/catalog.js";
import { COLUMN_TYPES, type ColumnType } from "../catalog/column-types.js";
import { rulesJson } from "./metadata.js";

/**
 * A column's values as answers show them. A required one is never null, except in records older than the requirement.
 * @param mayBeNull in the records of its table
 */
export function valueSchema(column: Column, mayBeNull = !column.required): Part {
  const plain = column.values.length === 0 ? COLUMN_TYPES[column.type].schema : memberSchema(column);
  const schema = mayBeNull ? nullable(plain) : notNull(plain);
  return {
    ...schema,
    ...(column.generated || column.readOnly ? { readOnly: true } : {}),
    ...(column.description === null ? {} : { description: column.description }),
  };
}

/** A column's values as a body may set them. */
export function inputSchema(column: Column): Part {
  const schema = withRules(givenSchema(column), column);
  return {
    ...(column.required ? notNull(schema) : nullable(schema)),
    ...(column.secret ? { writeOnly: true, format: "password" } : {}),
    ...describe(column),
  };
}

/** A value as bodies and filters may have it, whatever the column's rules. */
export function givenSchema(column: Pick<Column, "type" | "values">): Part {
  const { schema, given = schema } = COLUMN_TYPES[column.type];
  return column.values.length === 0 ? given : memberSchema(column);
}

/** The schema of an enum, or of a list of its members. */
export function memberSchema({ type, values }: Pick<Column, "type" | "values">): Part {
  const member = { type: "string", enum: [...values] };
  return type === "enumList" ? { type: "array", items: member } : member;
}

/** What the schema allows, or null. A schema without a type allows null already. */
export function nullable(schema: Part): Part {
  if (typeof schema.type !== "string") return schema;
  const { enum: members } = schema;
  return {
    ...schema,
    type: [schema.type, "null"],
    ...(Array.isArray(members) ? { enum: [...members, null] } : {}),
  };
}

function notNull(schema: Part): Part {
  return schema.type === undefined ? { ...schema, not: { type: "null" } } : schema;
}

/** Addresses may be in any script. */
const FORMATS = { email: "idn-email", url: "iri", uuid: "uuid" } as const;

/** Adds those of a column's rules that JSON Schema can express. */
export function withRules(schema: Part, { type, rules }: Pick<Column, "type" | "rules">): Part {
  const { minLength, maxLength, minItems, maxItems, pattern, format, min, max } = rules;
  const show = COLUMN_TYPES[type].toJson;
  const isNumber = type === "int" || type === "float";
  return {
    ...schema,
    ...(minLength === undefined ? {} : { minLength }),
    ...(maxLength === undefined ? {} : { maxLength }),
    ...(minItems === undefined ? {} : { minItems }),
    ...(maxItems === undefined ? {} : { maxItems }),
    ...(pattern === undefined || !isPortable(pattern) ? {} : { pattern }),
    ...(format === undefined ? {} : { format: FORMATS[format] }),
    ...(min === undefined || !isNumber ? {} : { minimum: show(min) }),
    ...(max === undefined || !isNumber ? {} : { maximum: show(max) }),
  };
}

/** Patterns are RE2's; JSON Schema's are JavaScript's, which can express most of them. */
function isPortable(pattern: string): boolean {
  const words = pattern.replace(/\\[^sS]/g, "");
  const outside = words.replace(/\[[^\]]*\]/g, "");
  // There they mean other letters: RE2's `.` is all but a line feed, and its `\s` is ASCII alone.
  if (/\\[sS]/.test(words) || outside.includes(".")) return false;
  // `(?i:a)`: newer JavaScript has it as well, which most readers of the document don't know yet.
  if (/\(\?[a-z-]+:/i.test(outside)) return false;
  try {
    return new RegExp(pattern, "u") instanceof RegExp;
  } catch {
    return false;
  }
}

/** What is taken of a type, or of a format, beside what its schema says. */
const OF_TYPES: Readonly<Partial<Record<ColumnType, readonly string[]>>> = {
  bigint: ["Of 64 bits at most."],
  // Zeros in front don't count.
  decimal: ["Of 34 digits at most."],
  // As a format of its own it would keep generators from taking dates for what they are.
  datetime: ["A day alone is taken as its midnight, UTC."],
};
const OF_FORMATS: Readonly<Record<keyof typeof FORMATS, readonly string[]>> = {
  email: ["Its domain has a dot."],
  url: ["By http or https."],
  uuid: [],
};

/**
 * The column's own description, the rules that JSON Schema can't express, and the default: client generators take a member
 * with the keyword `default` for one that must be given.
 */
function describe(column: Column): Part {
  const { min, max, pattern } = rulesJson(column);
  const isNumber = column.type === "int" || column.type === "float";
  const parts = [
    ...(column.description === null ? [] : [column.description]),
    ...(OF_TYPES[column.type] ?? []),
    ...(column.rules.format === undefined ? [] : OF_FORMATS[column.rules.format]),
    ...(min === undefined || isNumber ? [] : [`At least ${min}.`]),
    ...(max === undefined || isNumber ? [] : [`At most ${max}.`]),
    ...(column.default === undefined ? [] : [`Default of a new record: ${JSON.stringify(column.default)}.`]),
    ...(pattern === undefined || isPortable(String(pattern)) ? [] : [`Must match ${pattern} (RE2).`]),
  ];
  return parts.length === 0 ? {} : { description: parts.join(" ") };
}

const SAMPLES: Readonly<Record<ColumnType, Json>> = {
  string: "text",
  text: "text",
  int: 1,
  bigint: "9007199254740993",
  float: 1.5,
  decimal: "19.90",
  boolean: true,
  date: "2026-05-31",
  datetime: "2026-05-31T12:00:00.000Z",
  enum: "",
  enumList: [],

  json: { key: "value" },
  uuid: "0190163d-8694-739b-aea5-966c26f8ad91",
  objectId: "61e8b014acff7fb4f32baed4",
  mixed: "61e8b014acff7fb4f32baed4",
};
const FORMAT_SAMPLES = {
  email: "ann@example.com",
  url: "https://example.com/",
  uuid: "0190163d-8694-739b-aea5-966c26f8ad91",
};

/** A rule may ask for more than any document can hold. */
const LONGEST_EXAMPLE = 200;

/** A value that fits the column; undefined if its rules leave that to luck. */
export function exampleOf(column: Column): Json | undefined {
  const { type, rules, values } = column;
  if (column.default !== undefined && column.default !== null) return column.default;
  if (rules.pattern !== undefined || rules.minItems !== undefined) return undefined;
  const [member] = values;
  if (member !== undefined) return type === "enumList" ? [member] : member;
  const { min, max } = rulesJson(column);
  if (min !== undefined || max !== undefined) return min ?? max;
  const sample = rules.format === undefined ? SAMPLES[type] : FORMAT_SAMPLES[rules.format];
  if (typeof sample !== "string") return sample;
  const { minLength = 0, maxLength = LONGEST_EXAMPLE, format } = rules;
  if (minLength > LONGEST_EXAMPLE) return undefined;
  const fitting = sample.padEnd(minLength, " and more").slice(0, maxLength);
  return format === undefined || fitting === sample ? fitting : undefined;
}
