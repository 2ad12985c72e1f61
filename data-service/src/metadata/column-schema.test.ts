// Columns as JSON Schema, and their examples, which must fit.
import { describe, expect, it } from "@jest/globals";
import type { JsonObject } from "@portico/shared/json";
import { catalogOf } from "../query/library-fixture.js";
import { exampleOf, inputSchema, valueSchema } from "./column-schema.js";

function columnOf(definition: JsonObject) {
  const table = catalogOf([{ name: "things", columns: [{ name: "it", ...definition }] }]).tables.get(
    "things",
  );
  const column = table?.columns.get("it");
  if (column === undefined) throw new Error("the fixture has no such column");
  return column;
}

const COLORS = { values: ["red", "green"] };
/** What a whole number may be. */
const SAFE = { minimum: -9_007_199_254_740_991, maximum: 9_007_199_254_740_991 };

describe("the schema of a column", () => {
  it.each<[string, JsonObject, object]>([
    ["text or null", { type: "string" }, { type: ["string", "null"] }],
    ["text", { type: "string", required: true }, { type: "string" }],
    ["anything", { type: "json" }, {}],
    ["anything but null", { type: "json", required: true }, { not: { type: "null" } }],
    [
      "a whole number that can be told from its neighbours",
      { type: "int", required: true },
      { type: "integer", ...SAFE },
    ],
    [
      "a member or null",
      { type: "enum", options: COLORS },
      { type: ["string", "null"], enum: ["red", "green", null] },
    ],
    [
      "a list of members",
      { type: "enumList", options: COLORS, required: true },
      { type: "array", items: { type: "string", enum: ["red", "green"] } },
    ],
    [
      "what its owner may not write",
      { type: "int", readOnly: true },
      { type: ["integer", "null"], ...SAFE, readOnly: true },
    ],
  ])("says %s", (_what, definition, schema) => expect(valueSchema(columnOf(definition))).toEqual(schema));

  it.each<[string, JsonObject, object]>([
    ["bounds of numbers", { type: "int", rules: { min: 0, max: 5 } }, { minimum: 0, maximum: 5 }],
    ["lengths", { type: "string", rules: { minLength: 2, maxLength: 9 } }, { minLength: 2, maxLength: 9 }],
    ["a pattern", { type: "string", rules: { pattern: "^a+$" } }, { pattern: "^a+$" }],
    [
      "an address",
      { type: "string", rules: { format: "url" } },
      { format: "iri", description: "By http or https." },
    ],
    [
      "an e-mail address",
      { type: "string", rules: { format: "email" } },
      { format: "idn-email", description: "Its domain has a dot." },
    ],
    [
      "bounds of other types",
      { type: "decimal", rules: { min: "1.5" } },
      { description: "Of 34 digits at most. At least 1.5." },
    ],
    [
      "a pattern of RE2 alone",
      { type: "string", rules: { pattern: "(?i)a" } },
      { description: "Must match (?i)a (RE2)." },
    ],
    ...["^(?i:a)$", "(?-s:a)"].map((pattern): [string, JsonObject, object] => [
      `a pattern that newer JavaScript alone knows: ${pattern}`,
      { type: "string", rules: { pattern } },
      { description: `Must match ${pattern} (RE2).` },
    ]),
    ...["^.$", "^\\S+@\\S+$", "^a\\\\.b$", "^[\\w\\s]+$"].map((pattern): [string, JsonObject, object] => [
      `a pattern that means another thing in JavaScript: ${pattern}`,
      { type: "string", rules: { pattern } },
      { description: `Must match ${pattern} (RE2).` },
    ]),
    ...["^[\\w.-]+\\.[a-z\\]]+$", "^\\\\s$", "^[^.\\\\s]$", "^[(?i:]+(?:a)$"].map(
      (pattern): [string, JsonObject, object] => [
        `a pattern that only looks like one: ${pattern}`,
        { type: "string", rules: { pattern } },
        { pattern },
      ],
    ),
    ["one bound, which leaves the other", { type: "int", rules: { min: 0 } }, { minimum: 0 }],
    ["a default", { type: "int", default: 3 }, { description: "Default of a new record: 3." }],
  ])("of a body says %s", (_what, definition, parts) => {
    const { type: _type, ...rest } = inputSchema(columnOf(definition));
    const plain = columnOf({ type: String(definition.type) });
    const { type: _plainType, ...basic } = inputSchema(plain);
    expect(rest).toEqual({ ...basic, ...parts });
  });

  it.each<[string, JsonObject]>([
    ["objectId", { type: "string", pattern: "^[0-9a-fA-F]{24}$" }],
    [
      "datetime",
      { type: "string", format: "date-time", description: "A day alone is taken as its midnight, UTC." },
    ],
    ["bigint", { type: "string", pattern: "^-?\\d+$", description: "Of 64 bits at most." }],
    ["decimal", { type: "string", pattern: "^-?\\d+(\\.\\d+)?$", description: "Of 34 digits at most." }],
  ])("of a body says which forms of an %s are taken", (type, schema) =>
    expect(inputSchema(columnOf({ type, required: true }))).toEqual(schema),
  );
});

describe("the example of a column", () => {
  it.each<[JsonObject, unknown]>([
    [{ type: "int", rules: { min: 7 } }, 7],
    [{ type: "string", rules: { minLength: 6 } }, "text a"],
    [{ type: "string", rules: { maxLength: 2 } }, "te"],
    [{ type: "string", rules: { minLength: 1_000_000_000 } }, undefined],
    [{ type: "string", rules: { minLength: 6, maxLength: 6 } }, "text a"],
    [{ type: "string", rules: { format: "email" } }, "ann@example.com"],
    [{ type: "string", rules: { format: "email", maxLength: 8 } }, undefined],
    [{ type: "string", rules: { format: "url", minLength: 50 } }, undefined],
    [{ type: "string", rules: { format: "url", minLength: 8, maxLength: 50 } }, "https://example.com/"],
    [{ type: "enum", options: COLORS }, "red"],
    [{ type: "boolean", default: false }, false],
    [{ type: "string", rules: { pattern: "^a+$" } }, undefined],
  ])("of %j is %j", (definition, example) => expect(exampleOf(columnOf(definition))).toBe(example));
});
