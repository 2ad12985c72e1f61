// A permission rule as its owner wrote it and as `svc_permission` keeps it.
import type { Json, JsonObject } from "@portico/shared/json";
import type { Meant } from "./meant.js";

export const ACTIONS = ["read", "create", "update", "delete"] as const;
export type Action = (typeof ACTIONS)[number];
export type WriteAction = Exclude<Action, "read">;

export interface Rule {
  readonly id: string;
  /** null = everybody, signed in or not. */
  readonly roleId: string | null;
  /** Name of the table. */
  readonly table: string;
  readonly action: Action;
  /** The rows it is about; null = all. */
  readonly filter: Json | null;
  /** The names it is about, in the grammar of `fields`; null = everything that is not hidden. */
  readonly fields: string | null;
  /** Values set on write, whatever the body says. */
  readonly presets: JsonObject | null;
  /** What the written record must satisfy. */
  readonly check: Json | null;
}

/** A rule with what its owner says of it. */
export interface DescribedRule extends Rule {
  /** Rules are tried in this order. */
  readonly createdAt: Date;
  readonly description: string | null;
}

/** Sorts rules of one holder as they are tried. */
export function inTriedOrder(one: DescribedRule, other: DescribedRule): number {
  return one.createdAt.getTime() - other.createdAt.getTime() || (one.id < other.id ? -1 : 1);
}

export interface StoredRole {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
}

/** Who may do what: all roles, and their rules. */
export interface StoredAccess {
  readonly roles: readonly StoredRole[];
  /** Those that are enabled, in the order in which they are tried. */
  readonly rules: readonly DescribedRule[];
  /** Those that grant nothing; for reading, they still confine what their holders may change (contract, section 7). */
  readonly off: readonly DescribedRule[];
}

/**
 * What a rule withholds by names of members that are gone, by their ids: if one comes back, it is withheld again, whatever
 * has become of the rule meanwhile.
 */
export interface Withheld {
  /** Members that its `fields` left out. */
  readonly fields: readonly string[];
  /** Values that it set. */
  readonly presets: JsonObject;
}

/** The table of a rule: by a name that another table may have by now. */
export interface RuleTable extends Pick<Rule, "table"> {
  readonly meant?: Meant | undefined;
}

/** Rules as they were at one moment. */
export interface RuleSet {
  readonly rules: readonly Rule[];
  /** The tables of rules for reading that are switched off. */
  readonly readRulesOff: readonly RuleTable[];
  /** The latest change of tables whose names they use; undefined before the first. */
  readonly change: string | undefined;
}
