// Query -> AuthorizedQuery: puts the caller's row rules into every slot where records come from.
// A rule is never ANDed to the client's predicate inside a relation: a hidden row is an absent row, and a `_not`
// around it must not tell the two apart.
import type { ReadView } from "../permission/read-view.js";
import type {
  AuthorizedNode,
  AuthorizedPredicate,
  AuthorizedQuery,
  Predicate,
  Query,
  ReadNode,
} from "./ast.js";
import type { State } from "./living.js";

/**
 * Everything lowering needs to know of rights. The only maker of the brand.
 * @param rule of the records that are asked for, where it is another than that of the living
 * @param linked see `authorizeNode`
 */
export function authorizeRead(
  query: Query,
  view: ReadView,
  rule?: AuthorizedPredicate,
  linked?: State,
): AuthorizedQuery {
  const parts = {
    root: authorizeNode(query.root, view, rule, linked),
    meta: query.meta,
    aggregate: query.aggregate,
    rules: view.rows.bind(view),
  };
  return brand(parts);
}

/**
 * The same for the shape of one record.
 * @param linked the state of related records where the record itself holds the link. Where they hold it they are living
 * ones: beside the one of a one-to-one relation, any number of deleted ones may link to the same record.
 */
export function authorizeNode(
  node: ReadNode<Predicate, null>,
  view: ReadView,
  rule: AuthorizedPredicate = view.rows(node.table),
  linked: State = "living",
): AuthorizedNode {
  return {
    ...node,
    rule,
    filter: authorizePredicate(node.filter, view),
    children: node.children.map((child) => {
      const state = child.relation.link.on === "self" ? linked : "living";
      const rows = view.rows(child.node.table, state);
      return { ...child, node: authorizeNode(child.node, view, rows, linked) };
    }),
    masks: view.masks(node.table, [
      ...node.columns,
      ...[...node.children, ...node.counts.map(({ step }) => step)].map(({ relation }) => relation),
    ]),
  };
}

/** The same for a predicate. */
export function authorizePredicate(predicate: Predicate, view: ReadView): AuthorizedPredicate {
  switch (predicate.kind) {
    case "and":
    case "or":
      return { kind: predicate.kind, of: predicate.of.map((each) => authorizePredicate(each, view)) };
    case "not":
      return { kind: "not", of: authorizePredicate(predicate.of, view) };
    case "related":
      return {
        ...predicate,
        where: authorizePredicate(predicate.where, view),
        visible: view.rows(predicate.target),
      };
    case "exists":
      return { ...predicate, visible: view.rows(predicate.target) };
    default:
      return predicate;
  }
}

function brand(query: Omit<AuthorizedQuery, symbol>): AuthorizedQuery {
  // The brand exists only for the type checker; this is the one place that may grant it.
  return query as AuthorizedQuery;
}
