// The query as checked trees. Names are resolved: nodes hold columns and relations, never text from the client.
import type { Column, LinkField, Relation, Table } from "../catalog/catalog.js";
import type { Stored } from "../catalog/stored.js";

/** What a single column can be tested for. Every public operator becomes one of these, or a `not` of one. */
export type Test =
  | { readonly op: "eq"; readonly value: Stored }
  | { readonly op: "lt" | "lte" | "gt" | "gte"; readonly value: Stored }
  | { readonly op: "in"; readonly values: readonly Stored[] }
  | { readonly op: "contains" | "startsWith" | "endsWith"; readonly text: string }
  /** The list holds the value. */
  | { readonly op: "member"; readonly value: Stored }
  | { readonly op: "isNull" }
  /** Of ids: an address can name it. */
  | { readonly op: "named" };

/** True, false or unknown for every record. */
export interface Constant {
  readonly kind: "always" | "never" | "unknown";
}

/** P is the kind of predicate of which it is made: bound or authorized. */
export interface Combined<P> {
  readonly kind: "and" | "or";
  readonly of: readonly P[];
}

export interface Negated<P> {
  readonly kind: "not";
  readonly of: P;
}

/** Three-valued: unknown where the column is null. */
export interface Tested {
  readonly kind: "test";
  readonly column: Column;
  readonly test: Test;
}

/**
 * A relation's record satisfies `where`. To-one is three-valued (no record: unknown); to-many means "any" and is two-valued.
 */
export interface Related<P> {
  readonly kind: "related";
  readonly relation: Relation;
  readonly target: Table;
  readonly where: P;
}

/** There is a related record. Two-valued. */
export interface Exists {
  readonly kind: "exists";
  readonly relation: Relation;
  readonly target: Table;
}

/**
 * The document's `field`, a link or the id, holds one of the keys. Two-valued. The planner puts this in place of a relation
 * that it has resolved.
 */
export interface Keyed extends LinkField {
  readonly kind: "keys";
  readonly keys: readonly Stored[];
}

/**
 * The document's `field` holds one of the values, or a text that begins with one of the prefixes. True of every record for
 * which the test beside it is true, and of others: the planner adds it so that an index finds them.
 */
export interface Candidates {
  readonly kind: "candidates";
  readonly field: string;
  readonly values: readonly (Stored | null)[];
  readonly prefixes: readonly string[];
}

/**
 * The caller's row rules are in it: only query/authorize-read makes something with this brand. It exists only for the type
 * checker. No literal has a protected member, and a spread loses it.
 */
declare class Authorized {
  protected readonly authorized: true;
}

export type { Authorized };

/** The row rule of the table at the other end: a record outside it counts as absent. */
interface Visible extends Authorized {
  readonly visible: AuthorizedPredicate;
}

export interface AuthorizedRelated extends Related<AuthorizedPredicate>, Visible {}
interface AuthorizedExists extends Exists, Visible {}

/** A bound filter: names resolved, rights not yet applied. */
export type Predicate =
  | Constant
  | Combined<Predicate>
  | Negated<Predicate>
  | Tested
  | Related<Predicate>
  | Exists;

/** A filter or rule with a row rule at each of its relations; the rest of it is about the record alone. */
export type AuthorizedPredicate =
  | Constant
  | Combined<AuthorizedPredicate>
  | Negated<AuthorizedPredicate>
  | Tested
  | AuthorizedRelated
  | AuthorizedExists
  | Keyed
  | Candidates;

export const ALWAYS: Constant = { kind: "always" };
export const NEVER: Constant = { kind: "never" };
/** The result of a comparison with a missing value: neither it nor its negation lets a record pass. */
export const UNKNOWN: Constant = { kind: "unknown" };

/** One step of a to-one chain in a sort key. */
export interface Step {
  readonly relation: Relation;
  readonly target: Table;
}

export type SortKey =
  | {
      readonly kind: "column";
      readonly path: readonly Step[];
      readonly column: Column;
      readonly descending: boolean;
    }
  | { readonly kind: "count"; readonly step: Step; readonly descending: boolean }
  | {
      readonly kind: "max" | "min";
      readonly step: Step;
      readonly column: Column;
      readonly descending: boolean;
    };

/** Members that a row shows when it matches, among those that only some rows show. */
export interface Mask {
  readonly rows: AuthorizedPredicate;
  /** Names this mask shows. */
  readonly shows: readonly string[];
  /** Names that a row shows only if one of its masks does. */
  readonly hides: readonly string[];
}

/** The number of related records, as a record shows it. */
export type CountNode =
  /** Counted: those that the row rule of their table lets the caller see. */
  | { readonly kind: "counted"; readonly step: Step }
  /** Stored in the record: the planner uses this if every related record counts. */
  | { readonly kind: "stored"; readonly step: Step; readonly column: Column };

/** Records of one table, with their shape: the root of a list and every loaded relation. C is the kind of its children. */
interface ReadNode<P, C> {
  readonly table: Table;
  readonly columns: readonly Column[];
  readonly children: readonly C[];
  /** Numbers of related records; `AuthorizedQuery.rules` says which of these count. */
  readonly counts: readonly CountNode[];
  readonly filter: P;
  readonly sort: readonly SortKey[];
  /** 0 = all. */
  readonly limit: number;
  readonly skip: number;
}

/** A child's node, under its relation. */
interface Child<N> {
  readonly relation: Relation;
  readonly node: N;
}

/** What is asked for: names resolved, rights not yet applied. */
export interface BoundNode extends ReadNode<Predicate, BoundChild> {}
export interface BoundChild extends Child<BoundNode> {}

/** A node with the caller's rights in place, which all of its children have as well. */
export interface AuthorizedNode extends ReadNode<AuthorizedPredicate, AuthorizedChild>, Authorized {
  readonly rule: AuthorizedPredicate;
  /** Members that not every row shows. */
  readonly masks: readonly Mask[];
}
export interface AuthorizedChild extends Child<AuthorizedNode> {}

/** The caller's row rules, for the tables through which sort keys, counts and aggregates go. */
export type RowRules = Authorized & ((table: Table) => AuthorizedPredicate);

export type MetaKey = "totalCount" | "filterCount";
export type AggregateOp = "count" | "sum" | "avg" | "min" | "max";

export type AggregateKey =
  | { readonly kind: "column"; readonly column: Column; readonly ops: readonly AggregateOp[] }
  | { readonly kind: "relation"; readonly step: Step };

interface ListQuery<N> {
  readonly root: N;
  readonly meta: readonly MetaKey[];
  readonly aggregate: readonly AggregateKey[];
}

/** A whole list request, bound. */
export interface Query extends ListQuery<BoundNode> {}

/**
 * A query that has the caller's row rules everywhere. Lowering accepts no other; and the parts that it accepts on their own,
 * nodes, row rules and relations in predicates, have the brand as well.
 */
export interface AuthorizedQuery extends ListQuery<AuthorizedNode>, Authorized {
  readonly rules: RowRules;
}
