// Which way the planner chose for a list, in one word: for metrics.
import type { AuthorizedPredicate } from "../../query/ast.js";
import { isRelational } from "../../query/lower/condition.js";
import type { Plan } from "./plan-read.js";

/**
 * - `window`: ranked by children, found through a window of their index
 * - `grouped`: ranked by children, all of them grouped once
 * - `join`: a relation of the filter is joined to every record looked at
 * - `keys`: the relations of the filter were replaced by their keys
 * - `search`: a text search goes by an index of parts of the text
 * - `plain`: columns of the table alone
 */
export const PLAN_KINDS = ["window", "grouped", "join", "keys", "search", "plain"] as const;

export type PlanKind = (typeof PLAN_KINDS)[number];

/** The costliest that applies. */
export function planKind({ ranking, query }: Plan): PlanKind {
  if (ranking.kind === "among" || ranking.kind === "page") return "window";
  if (ranking.kind === "all") return "grouped";
  const { filter } = query.root;
  if (isRelational(filter)) return "join";
  if (holds(filter, "keys")) return "keys";
  return holds(filter, "candidates") ? "search" : "plain";
}

function holds(predicate: AuthorizedPredicate, kind: "keys" | "candidates"): boolean {
  if (predicate.kind === "and" || predicate.kind === "or")
    return predicate.of.some((each) => holds(each, kind));
  return predicate.kind === "not" ? holds(predicate.of, kind) : predicate.kind === kind;
}
