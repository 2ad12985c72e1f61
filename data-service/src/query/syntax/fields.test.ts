// The text of `fields` -> a tree of names (contract 4.2).
import { describe, expect, it } from "@jest/globals";
import { refusalOf } from "../library-fixture.js";
import { type FieldScope, parseFields } from "./fields.js";

/** A scope as plain data: names, then -excluded, then *, counts and relations with their scopes. */
function shown(scope: FieldScope): unknown {
  const names = [
    ...scope.names,
    ...[...scope.excluded].map((name) => `-${name}`),
    ...(scope.star ? ["*"] : []),
    ...[...scope.counts].map((name) => `#${name}`),
  ];
  const nested = [...scope.nested].map(([name, inner]) => [name, shown(inner)]);
  return nested.length === 0 ? names : [names, Object.fromEntries(nested)];
}

describe("fields", () => {
  it.each<[text: string, scope: unknown]>([
    ["a", ["a"]],
    ["a,b, c ", ["a", "b", "c"]],
    ["*", ["*"]],
    ["-a", ["-a"]],
    ["a,-b", ["a", "-b"]],
    ["rel.a", [[], { rel: ["a"] }]],
    ["rel.a,rel.b,c", [["c"], { rel: ["a", "b"] }]],
    ["rel.*", [[], { rel: ["*"] }]],
    ["rel,rel.a", [["rel"], { rel: ["a"] }]],
    ["a.b.c,a.b.d,a.e", [[], { a: [["e"], { b: ["c", "d"] }] }]],
    ["-rel.a", [[], { rel: ["-a"] }]],
    ["_count(rel)", ["#rel"]],
    ["*,_count(rel),_count(rel), _count(other)", ["*", "#rel", "#other"]],
    ["-a,_count(rel)", ["-a", "#rel"]],
    ["a._count(rel),a.b", [[], { a: ["b", "#rel"] }]],
    ["a.b._count(rel)", [[], { a: [[], { b: ["#rel"] }] }]],
    ["_counts,_count", ["_counts", "_count"]],
  ])("%s", (text, scope) => {
    expect(shown(parseFields(text, "fields"))).toEqual(scope);
  });

  it("takes a list of names too", () => {
    expect(shown(parseFields(["a", "rel.b"], "fields"))).toEqual([["a"], { rel: ["b"] }]);
  });

  it("refuses at once what lies deeper than allowed", () => {
    const names = `a.b.c,${"d.".repeat(4_000)}e`;
    expect(refusalOf(() => parseFields(names, "fields", { depth: 1, maxDepth: 3 }))).toBe(
      'fields: "d" lies deeper than 3 relations',
    );
    expect(parseFields("a.b.c", "fields", { depth: 1, maxDepth: 3 }).nested.size).toBe(1);
    // What is counted is a relation like those on the way there.
    expect(refusalOf(() => parseFields("a.b._count(d)", "fields", { depth: 1, maxDepth: 3 }))).toBe(
      'fields: "d" lies deeper than 3 relations',
    );
    expect(parseFields("a._count(d)", "fields", { depth: 1, maxDepth: 3 }).nested.size).toBe(1);
  });

  it("knows a scope that was only excluded from, which leaves the outer one as it is", () => {
    expect(parseFields("-rel.a", "fields").positive).toBe(false);
    expect(parseFields("rel.a", "fields").positive).toBe(true);
    expect(parseFields("rel._count(a)", "fields").positive).toBe(true);
    expect(parseFields("rel._count(a)", "fields").nested.get("rel")?.positive).toBe(true);
  });

  it.each([
    ["", "has an empty name"],
    ["a,", "has an empty name"],
    [" ", "has an empty name"],
    ["-*", "-* would leave nothing"],
    ["-rel.*", '"-rel.*" would leave nothing; name the relation itself'],
    ["--a", '"--a" is not a field name'],
    ["a.", '"a." is not a field name'],
    [".a", '".a" is not a field name'],
    ["a..b", '"a..b" is not a field name'],
    ["*.a", '"*.a" is not a field name'],
    ["a b", '"a b" is not a field name'],
    ["$a", '"$a" is not a field name'],
    ["a\0", '"a\0" is not a field name'],
    ["1a", '"1a" is not a field name'],
    ["_count(a.b)", '"_count(a.b)" is not a count; write _count(relation) or relation._count(relation)'],
    ["_count(a", '"_count(a" is not a count; write _count(relation) or relation._count(relation)'],
    ["_count( a )", '"_count( a )" is not a count; write _count(relation) or relation._count(relation)'],
    ["_count(-a)", '"_count(-a)" is not a count; write _count(relation) or relation._count(relation)'],
    ["_count(a).b", '"_count(a).b" is not a count; write _count(relation) or relation._count(relation)'],
    ["-_count(a)", `"-_count(a)" can't be left out: a count is shown only where it is named`],
    ["-a._count(b)", `"-a._count(b)" can't be left out: a count is shown only where it is named`],
    ["_max(a.b)", '"_max(a.b)" is not a field name; of functions only _count(relation) is taken here'],
    ["a.count(b)", '"a.count(b)" is not a field name; of functions only _count(relation) is taken here'],
  ])("refuses %j", (text, problem) => {
    expect(refusalOf(() => parseFields(text, "deep.x.fields"))).toBe(`deep.x.fields: ${problem}`);
  });

  it.each([
    [5, "fields: must be names separated by commas, not a number"],
    [null, "fields: must be names separated by commas, not null"],
    [{}, "fields: must be names separated by commas, not an object"],
    [[5], "fields[0]: must be text, not a number"],
    [true, "fields: must be names separated by commas, not true or false"],
  ])("refuses %j, which is no text", (given, refusal) => {
    expect(refusalOf(() => parseFields(given, "fields"))).toBe(refusal);
  });

  it("takes 200 names and not 201", () => {
    const names = (count: number) => Array.from({ length: count }, (_, at) => `f${at}`).join(",");
    expect(parseFields(names(200), "fields").names.size).toBe(200);
    expect(refusalOf(() => parseFields(names(201), "fields"))).toBe("fields: names more than 200 fields");
    expect(refusalOf(() => parseFields(`_count(a),${names(200)}`, "fields"))).toBe(
      "fields: names more than 200 fields",
    );
  });
});
