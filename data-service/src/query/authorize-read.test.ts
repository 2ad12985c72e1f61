// That only authorizing makes what can be lowered. The type checker says so: each line that it must refuse is marked, and
// the build fails when it refuses one no longer.
import { describe, expect, it } from "@jest/globals";
import {
  ALWAYS,
  type AuthorizedNode,
  type AuthorizedPredicate,
  type AuthorizedQuery,
  type Predicate,
  type RowRules,
} from "./ast.js";
import { authorizePredicate, authorizeRead, onlyIds, withFilter, withParts } from "./authorize-read.js";
import { bindQuery } from "./bind-query.js";
import { column, rootView, step, table, viewOf } from "./library-fixture.js";

const parameters = { fields: "title,author.name", filterFromText: false };
const limits = { maxDepth: 7, maxLimit: undefined };
const bound = bindQuery(parameters, table("books"), rootView, limits);
const born: AuthorizedPredicate = {
  kind: "test",
  column: column("authors.born"),
  test: { op: "gt", value: 0 },
};
const query = authorizeRead(bound, viewOf(born));
const related: Predicate = { kind: "related", ...step("books.author"), where: ALWAYS };

describe("what can be lowered", () => {
  it("has the row rule at every relation", () => {
    expect(query.root.rule).toBe(born);
    expect(query.root.children.map(({ node }) => node.rule)).toEqual([born]);
    expect(query.rules(table("authors"))).toBe(born);
    expect(authorizePredicate(related, viewOf(born))).toMatchObject({ visible: born });
  });

  it("is not what was bound, nor a rule that somebody wrote", () => {
    // @ts-expect-error Bound, not authorized.
    const node: AuthorizedNode = bound.root;
    // @ts-expect-error Nobody's rules.
    const rules: RowRules = () => ALWAYS;
    // @ts-expect-error A relation whose records everybody sees.
    const predicate: AuthorizedPredicate = { ...related, where: ALWAYS, visible: ALWAYS };
    expect([node, rules, predicate]).toHaveLength(3);
  });

  it("is not what was put together out of something authorized", () => {
    // @ts-expect-error Another rule.
    const node: AuthorizedNode = { ...query.root, rule: ALWAYS };
    // @ts-expect-error Another caller's rules.
    const other: AuthorizedQuery = { ...query, rules: authorizeRead(bound, rootView).rules };
    expect([node, other]).toHaveLength(2);
  });

  it("keeps its rules when it is asked for in another way", () => {
    const some = withParts(query.root, { limit: 3 });
    const filtered = withFilter(query, born).root;
    const ids = onlyIds(query).root;
    expect([some.rule, filtered.rule, ids.rule]).toEqual([born, born, born]);
    expect([some.limit, filtered.filter, ids.columns, ids.children]).toEqual([3, born, [], []]);
  });
});
