// Rules of columns are checked in bounded time.
import { describe, expect, it } from "@jest/globals";
import type { Json } from "@portico/shared/json";
import { buildRules } from "./build-catalog.js";
import { COLUMN_TYPES, type ColumnType } from "./column-types.js";
import type { RulesDefinition } from "./definition.js";
import { brokenRules } from "./rules.js";

function broken(type: ColumnType, rules: RulesDefinition, json: Json): readonly string[] {
  const value = COLUMN_TYPES[type].parse(json, ["red", "green"]);
  if (value === undefined) throw new Error("the value does not fit its type");
  return brokenRules(type, buildRules(type, rules), value);
}

describe("a rule", () => {
  it.each<[type: ColumnType, rules: RulesDefinition, keeps: Json, breaks: Json, says: string]>([
    ["int", { min: 1 }, 1, 0, "must be at least 1"],
    ["int", { max: 5 }, 5, 6, "must be at most 5"],
    ["float", { min: 0.5 }, 0.5, 0.49, "must be at least 0.5"],
    [
      "bigint",
      { max: "9007199254740992" },
      "9007199254740992",
      "9007199254740993",
      "must be at most 9007199254740992",
    ],
    ["decimal", { min: "9.95" }, "9.950", "9.9499", "must be at least 9.95"],
    ["date", { min: "2024-01-01" }, "2024-01-01", "2023-12-31", "must be at least 2024-01-01"],
    [
      "datetime",
      { max: "2024-01-01T00:00:00Z" },
      "2024-01-01T01:00:00+01:00",
      "2024-01-01T00:00:00.001Z",
      "must be at most 2024-01-01T00:00:00.000Z",
    ],
    ["string", { minLength: 2 }, "ab", "a", "must have at least 2 characters"],
    ["string", { minLength: 2 }, "😀😀", "😀", "must have at least 2 characters"],
    ["text", { maxLength: 2 }, "😀😀", "abc", "must have at most 2 characters"],
    ["string", { pattern: "^[a-z]+$" }, "abc", "Abc", "must match the pattern ^[a-z]+$"],
    ["string", { format: "email" }, "a@b.co", "a@b", "must be a valid email"],
    ["string", { format: "email" }, "a.b+c@sub.example.com", "a b@c.de", "must be a valid email"],
    ["string", { format: "url" }, "https://a.b/c?d", "javascript:alert(1)", "must be a valid url"],
    [
      "string",
      { format: "uuid" },
      "0190163D-8694-739b-aea5-966c26f8ad91",
      "0190163d",
      "must be a valid uuid",
    ],
    ["enumList", { minItems: 1 }, ["red"], [], "must have at least 1 members"],
    ["enumList", { maxItems: 1 }, ["red"], ["red", "green"], "must have at most 1 members"],
  ])("%s %j keeps %j and refuses %j", (type, rules, keeps, breaks, says) => {
    expect([broken(type, rules, keeps), broken(type, rules, breaks)]).toEqual([[], [says]]);
  });

  it("is told beside all others that a value breaks", () => {
    const rules: RulesDefinition = { minLength: 5, pattern: "^a", format: "email" };
    expect(broken("string", rules, "b")).toEqual([
      "must have at least 5 characters",
      "must match the pattern ^a",
      "must be a valid email",
    ]);
    const bounds: RulesDefinition = { maxLength: 2, pattern: "^[a-z]+$" };
    expect(broken("string", bounds, "ABC")).toEqual([
      "must have at most 2 characters",
      "must match the pattern ^[a-z]+$",
    ]);
  });

  it("bounds by maxLength what a pattern looks at", () => {
    const bounds: RulesDefinition = { maxLength: 2, pattern: "^[a-z]+$" };
    expect(broken("string", bounds, "A".repeat(1_001))).toEqual(["must have at most 2 characters"]);
    const long: RulesDefinition = { maxLength: 2_000, pattern: "^[a-z]+$" };
    expect(broken("string", long, "A".repeat(1_001))).toEqual(["must match the pattern ^[a-z]+$"]);
  });

  it.each([
    "https://example.com",
    "http://localhost:3000/a?b=c#d",
    "HTTPS://пример.рф/ü?q=ä",
    "http://[::1]/",
    "https://user:word@example.com/",
  ])("format url keeps %j", (text) => expect(broken("string", { format: "url" }, text)).toEqual([]));

  it.each([
    "http://x.io\n",
    " http://x.io",
    "ht\ntp://x.io",
    "http:x.io",
    "http:/x.io",
    "http:///x.io",
    "http:\\\\x.io",
    "http://x.io\\a",
    "http://x.io/a b",
    "http://x.io/\0",
    "http://",
    "http://a:99999/",
    "ftp://x.io",
  ])("format url refuses %j", (text) => expect(broken("string", { format: "url" }, text)).toHaveLength(1));

  it.each(["a@b.co", "ünicode@exämple.com", "o'hara+x@mail.b-c.example", "a..b@c.de", "a@نامه\u200cای.com"])(
    "format email keeps %j",
    (text) => expect(broken("string", { format: "email" }, text)).toEqual([]),
  );

  it.each(["a@b.co\0", "a\u0001@b.co", "a\u200b@b.co", "a@-b.co", "a@b-.co", "a@b.co\n", "a@b..co", "@b.co"])(
    "format email refuses %j",
    (text) => expect(broken("string", { format: "email" }, text)).toHaveLength(1),
  );

  it("that would take exponential time elsewhere is checked at once", () => {
    const started = performance.now();
    expect(broken("text", { pattern: "^(a+)+$" }, `${"a".repeat(50_000)}!`)).toEqual([
      "must match the pattern ^(a+)+$",
    ]);
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});
