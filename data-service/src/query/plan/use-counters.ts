// Uses the numbers of children that a counted relation keeps, instead of counting. Pure.
import type {
  AuthorizedNode,
  AuthorizedPredicate,
  AuthorizedQuery,
  CountNode,
  RowRules,
  SortKey,
} from "../ast.js";
import { withParts, withRoot, withWhere } from "../authorize-read.js";
import { asksForAny } from "../lower/condition.js";
import { counterFor } from "../lower/counter-for.js";

/** The same query, using counters wherever it shows or sorts by a number of children or asks whether there are any. */
export function useCounters(query: AuthorizedQuery): AuthorizedQuery {
  return withRoot(query, useCountersIn(query.root, query.rules));
}

/** The shape of one record, using counters wherever `useCounters` does. */
export function useCountersIn(node: AuthorizedNode, rules: RowRules): AuthorizedNode {
  return withParts(node, {
    filter: inPredicate(node.filter, rules),
    sort: node.sort.map((key) => inSortKey(key, rules)),
    children: node.children.map((child) => ({ ...child, node: useCountersIn(child.node, rules) })),
    counts: node.counts.map((count) => inCount(count, rules)),
  });
}

function inCount(count: CountNode, rules: RowRules): CountNode {
  const { step } = count;
  const counter = counterFor(step.relation, step.target, rules);
  return counter === undefined ? count : { kind: "stored", step, column: counter.column };
}

function inSortKey(key: SortKey, rules: RowRules): SortKey {
  if (key.kind !== "count") return key;
  const counter = counterFor(key.step.relation, key.step.target, rules);
  if (counter === undefined) return key;
  // No children is an absent number, and absent comes before every number, as zero does.
  return { kind: "column", path: [], column: counter.column, descending: key.descending };
}

function inPredicate(predicate: AuthorizedPredicate, rules: RowRules): AuthorizedPredicate {
  switch (predicate.kind) {
    case "and":
    case "or":
      return { kind: predicate.kind, of: predicate.of.map((each) => inPredicate(each, rules)) };
    case "not":
      return { kind: "not", of: inPredicate(predicate.of, rules) };
    case "related":
    case "exists": {
      const counter = asksForAny(predicate) && counterFor(predicate.relation, predicate.target, rules);
      if (counter)
        return { kind: "not", of: { kind: "test", column: counter.column, test: { op: "isNull" } } };
      return predicate.kind === "exists"
        ? predicate
        : withWhere(predicate, inPredicate(predicate.where, rules));
    }
    default:
      return predicate;
  }
}
