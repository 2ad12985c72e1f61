// Query -> AuthorizedQuery: puts the caller's row rules into every slot where records come from. Nothing else does: the
// functions at the end only change what is asked of something already authorized, and take nothing from the rules. A rule is
// never ANDed to the client's predicate inside a relation: a hidden row is an absent row, and a `_not` around it must not
// tell the two apart.
import type { Table } from "../catalog/catalog.js";
import type { ReadView } from "../permission/read-view.js";
import type {
  Authorized,
  AuthorizedNode,
  AuthorizedPredicate,
  AuthorizedQuery,
  AuthorizedRelated,
  BoundNode,
  Predicate,
  Query,
  RowRules,
} from "./ast.js";
import type { State } from "./living.js";
import { conjunction } from "./logic.js";

/**
 * Everything that lowering needs to know about rights.
 * @param rule of the records that are asked for, if it is not that of the living ones
 * @param linked see `authorizeNode`
 */
export function authorizeRead(
  query: Query,
  view: ReadView,
  rule?: AuthorizedPredicate,
  linked?: State,
): AuthorizedQuery {
  return brand({
    root: authorizeNode(query.root, view, rule, linked),
    meta: query.meta,
    aggregate: query.aggregate,
    rules: rowRules(view),
  });
}

/**
 * Puts the caller's row rules into a node and all of its children.
 * @param linked the state of related records where the record itself holds the link. Where they hold it, only living ones
 * count: besides the one record of a one-to-one relation, any number of deleted ones may link to the same record.
 */
export function authorizeNode(
  node: BoundNode,
  view: ReadView,
  rule: AuthorizedPredicate = view.rows(node.table),
  linked: State = "living",
): AuthorizedNode {
  return brand({
    ...node,
    rule,
    filter: authorizePredicate(node.filter, view),
    children: node.children.map((child) => {
      const state = child.relation.link.on === "self" ? linked : "living";
      const below = view.through(child.relation);
      const rows = below.rows(child.node.table, state);
      return { ...child, node: authorizeNode(child.node, below, rows, linked) };
    }),
    masks: view.masks(node.table, [
      ...node.columns,
      ...[...node.children, ...node.counts.map(({ step }) => step)].map(({ relation }) => relation),
    ]),
  });
}

/** Puts the row rule of the other end into every relation of a predicate. */
export function authorizePredicate(predicate: Predicate, view: ReadView): AuthorizedPredicate {
  switch (predicate.kind) {
    case "and":
    case "or":
      return { kind: predicate.kind, of: predicate.of.map((each) => authorizePredicate(each, view)) };
    case "not":
      return { kind: "not", of: authorizePredicate(predicate.of, view) };
    case "related": {
      const below = view.through(predicate.relation);
      return brand({
        ...predicate,
        where: authorizePredicate(predicate.where, below),
        visible: below.rows(predicate.target),
      });
    }
    case "exists":
      return brand({ ...predicate, visible: view.through(predicate.relation).rows(predicate.target) });
    default:
      return predicate;
  }
}

/** Whose records count wherever a query goes through a table without showing it. */
export function rowRules(view: ReadView): RowRules {
  return brand((table) => view.beyond.rows(table));
}

/** What may be replaced: which records exist for the caller, and what is masked in them, stays. */
type Parts = Pick<AuthorizedNode, "filter" | "sort" | "children" | "counts" | "limit">;

/** The same records, some of them or shown in another way. */
export function withParts(node: AuthorizedNode, parts: Partial<Parts>): AuthorizedNode {
  return brand({ ...node, ...parts });
}

/** The same query, about other records. */
export function withRoot(query: AuthorizedQuery, root: AuthorizedNode): AuthorizedQuery {
  return brand({ ...query, root });
}

/** The same query, with a filter that means the same or expresses it differently. */
export function withFilter(query: AuthorizedQuery, filter: AuthorizedPredicate): AuthorizedQuery {
  return withRoot(query, withParts(query.root, { filter }));
}

/**
 * The same query, with conditions before its row rule that are true of every record which the rule lets the caller see: they
 * say where to look, and the rule decides.
 */
export function withNarrowing(
  query: AuthorizedQuery,
  narrowing: readonly AuthorizedPredicate[],
): AuthorizedQuery {
  const { root } = query;
  return withRoot(query, brand({ ...root, rule: conjunction([...narrowing, root.rule]) }));
}

/** The query, with conditions as in `withNarrowing` before the row rules of tables through which it goes. */
export function withNarrowedRules(
  query: AuthorizedQuery,
  narrowing: ReadonlyMap<Table, readonly AuthorizedPredicate[]>,
): AuthorizedQuery {
  const { rules } = query;
  const narrowed = (table: Table) => conjunction([...(narrowing.get(table) ?? []), rules(table)]);
  return brand({ ...query, rules: brand(narrowed) });
}

/** The relation, with conditions as in `withNarrowing` before the row rule of its records. */
export function withNarrowVisible(
  related: AuthorizedRelated,
  narrowing: readonly AuthorizedPredicate[],
): AuthorizedRelated {
  return brand({ ...related, visible: conjunction([...narrowing, related.visible]) });
}

/** The same records, of which only the ids are shown. */
export function onlyIds(query: AuthorizedQuery): AuthorizedQuery {
  return withRoot(query, brand({ ...query.root, columns: [], children: [], counts: [], masks: [] }));
}

/** The same relation, whose records must satisfy another predicate. */
export function withWhere(related: AuthorizedRelated, where: AuthorizedPredicate): AuthorizedRelated {
  return brand({ ...related, where });
}

/** The brand exists only for the type checker; this is the only place that may grant it. */
function brand<T extends object>(authorized: T): T & Authorized {
  return authorized as T & Authorized;
}
