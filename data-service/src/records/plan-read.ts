// Prepares a list for lowering: asks for the keys behind relation filters, and how many parents a ranking has.
import type { Stored } from "../catalog/column-types.js";
import type { RecordStore } from "../mongo/record-store.js";
import type { AuthorizedPredicate, AuthorizedQuery, AuthorizedRelated } from "../query/ast.js";
import { isAboutKey } from "../query/lower/condition.js";
import { canRank } from "../query/lower/rank.js";
import { lowerProbe } from "../query/lower/read.js";
import { answered, askedTruth, KEY, keyQuestion } from "../query/plan/resolve.js";
import type { Thresholds } from "../query/plan/thresholds.js";
import type { StoredRecord } from "../query/shape.js";

export interface Plan {
  readonly query: AuthorizedQuery;
  /** Group children once instead of looking them up for each parent. */
  readonly ranked: boolean;
}

export interface PlanDeps {
  readonly store: Pick<RecordStore, "read">;
  readonly thresholds: Thresholds;
}

/** Asks what the plan depends on; never more questions than the filter has relations, whatever the tables hold. */
export async function planRead({ store, thresholds }: PlanDeps, query: AuthorizedQuery): Promise<Plan> {
  const { root } = query;
  const filter = await resolve({ store, thresholds }, root.filter, true);
  const planned = { ...query, root: { ...root, filter } };
  if (!canRank(root)) return { query: planned, ranked: false };
  const parents = await store.read(root.table, lowerProbe(planned, thresholds.fewParents));
  return { query: planned, ranked: parents.length > thresholds.fewParents };
}

/** Replaces relations by their keys, innermost first, where the keys are few. @param wanted see lower/condition */
async function resolve(
  deps: PlanDeps,
  predicate: AuthorizedPredicate,
  wanted: boolean,
): Promise<AuthorizedPredicate> {
  switch (predicate.kind) {
    case "and":
    case "or":
      return {
        ...predicate,
        of: await Promise.all(predicate.of.map((each) => resolve(deps, each, wanted))),
      };
    case "not":
      return { kind: "not", of: await resolve(deps, predicate.of, !wanted) };
    case "related":
      return isAboutKey(predicate) ? predicate : resolveRelated(deps, predicate, wanted);
    default:
      return predicate;
  }
}

async function resolveRelated(
  deps: PlanDeps,
  predicate: AuthorizedRelated,
  wanted: boolean,
): Promise<AuthorizedPredicate> {
  const where = await resolve(deps, predicate.where, askedTruth(predicate, wanted));
  const inner = { ...predicate, where };
  const { maxKeys } = deps.thresholds;
  const documents = await deps.store.read(predicate.target, keyQuestion(inner, wanted, maxKeys));
  return documents.length > maxKeys ? inner : answered(inner, wanted, documents.flatMap(keysOf));
}

/** A child of a many-to-many relation names several parents. */
function keysOf(document: StoredRecord): Stored[] {
  const key = document[KEY];
  if (key === null || key === undefined) return [];
  // Whatever stands in a link field came from the same database and goes back into it.
  return (Array.isArray(key) ? key : [key]) as Stored[];
}
