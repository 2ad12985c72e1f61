// Which way the planner chose for a list, in one word: for metrics.
import { leavesIn } from "../../query/leaves.js";
import { holdsKeys, isRelational } from "../../query/lower/condition.js";
import type { Plan } from "./plan-read.js";

/**
 * - `window`: ranked by children, found through a window of their index
 * - `grouped`: ranked by children, all of them grouped once
 * - `join`: a relation of filter or row rule is joined to every record looked at
 * - `keys`: the relations of the filter were replaced by their keys, or keys say where the row rule's records are
 * - `search`: a text search goes by an index of parts of the text
 * - `plain`: columns of the table alone
 */
export const PLAN_KINDS = ["window", "grouped", "join", "keys", "search", "plain"] as const;

export type PlanKind = (typeof PLAN_KINDS)[number];

/** The costliest that applies. */
export function planKind({ ranking, query }: Plan): PlanKind {
  if (ranking.kind === "among" || ranking.kind === "page") return "window";
  if (ranking.kind === "all") return "grouped";
  const { rule, filter } = query.root;
  if (isRelational(filter) || (isRelational(rule) && !holdsKeys(rule))) return "join";
  const kinds = [rule, filter].flatMap(leavesIn).map(({ kind }) => kind);
  if (kinds.includes("keys")) return "keys";
  return kinds.includes("candidates") ? "search" : "plain";
}
