// Which variables a rule may compare with which columns (contract 7).
import { describe, expect, it } from "@jest/globals";
import type { Json, JsonObject } from "@portico/shared/json";
import { COLUMN_TYPE_NAMES, COLUMN_TYPES, type DeclaredType } from "../catalog/column-types.js";
import { catalogOf } from "../query/library-fixture.js";
import { ruleProblems } from "./check-rule.js";

const COLORS = ["red", "green"];

/** Values that a column of the type may have. JSON may be anything. */
const VALUES: Readonly<Record<DeclaredType, readonly Json[]>> = {
  string: ["some text", "5", "red", "2026-01-01", "65a000000000000000000001"],
  text: ["some text", "5", "red", "2026-01-01", "65a000000000000000000001"],
  int: [5, -5],
  bigint: ["5", "9007199254740993"],
  float: [5, 1.5],
  decimal: ["5", "1.5"],
  boolean: [true, false],
  date: ["2026-01-01", "1999-12-31"],
  datetime: ["2026-01-01T00:00:00.000Z", "2026-01-01T12:34:56.789Z"],
  enum: COLORS,
  enumList: [[], ["red"], COLORS],
  json: [],
  uuid: ["0190163d-8694-739b-aea5-966c26f8ad91", "00000000-0000-4000-8000-000000000000"],
  objectId: ["000000000000000000000000", "65a00000000000000000000f", "ffffffffffffffffffffffff"],
};

const columns = COLUMN_TYPE_NAMES.map((type) => ({
  name: `the_${type}`,
  type,
  ...(type === "enum" || type === "enumList" ? { options: { values: COLORS } } : {}),
}));
const catalog = catalogOf([
  { name: "people", columns },
  { name: "things", columns },
]);

const problems = (parts: JsonObject): string[] =>
  ruleProblems(
    { table: "things", ...parts },
    {
      catalog,
      protected: { users: "people", roles: "roles", permissions: "permissions", tables: "tables" },
    },
  );

const PAIRS = COLUMN_TYPE_NAMES.flatMap((own) => COLUMN_TYPE_NAMES.map((type) => [own, type] as const));

describe("a variable of a rule", () => {
  it.each(PAIRS)("of the type %s fits a column of the type %s if each of its values does", (own, type) => {
    const fits = VALUES[own].every((value) => COLUMN_TYPES[type].parse(value, COLORS) !== undefined);
    const variable = `$user.the_${own}`;
    const rules: JsonObject[] = [{ action: "create", presets: { [`the_${type}`]: variable } }];
    if (COLUMN_TYPES[type].families.includes("equality"))
      rules.push(
        { action: "read", filter: { [`the_${type}`]: variable } },
        { action: "read", filter: { [`the_${type}`]: { _in: [variable] } } },
      );
    for (const rule of rules) {
      const found = problems(rule);
      expect(found).toHaveLength(fits ? 0 : 1);
      // It says what stands there, and quotes no value that nobody wrote.
      for (const each of found)
        expect(each).toMatch(
          new RegExp(`^\\S+: must be .*(; \\${variable} has the type ${own}|, not a list)$`),
        );
    }
  });

  it("of an enum fits another one that shares some of its values", () => {
    const sized = (name: string, values: string[]): JsonObject => ({
      name,
      columns: [{ name: "size", type: "enum", options: { values } }],
    });
    const of = (values: string[]): string[] =>
      ruleProblems(
        { table: "things", action: "read", filter: { size: "$user.size" } },
        {
          catalog: catalogOf([sized("people", ["xs", "s", "m"]), sized("things", values)]),
          protected: { users: "people", roles: "roles", permissions: "permissions", tables: "tables" },
        },
      );
    expect(of(["m", "l"])).toEqual([]);
    expect(of(["l", "xl"])).toEqual(["filter.size: must be one of l, xl; $user.size has the type enum"]);
  });
});
