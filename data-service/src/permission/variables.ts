// `$user.id`, `$user.<column>`, `$role.id` and `$now` in rules: what they stand for, depending on the column that they are
// compared with.
import type { Json, JsonObject } from "@portico/shared/json";
import type { Column, Table } from "../catalog/catalog.js";
import type { ColumnType } from "../catalog/column-types.js";
import { suggestion } from "../catalog/names.js";

/** The variables of rules, for one caller. */
export interface Variables {
  /**
   * The value of a variable for a column.
   * @returns null when it has none, as for the user's id of an anonymous caller; undefined when there is no such variable
   */
  value(name: string, column: Column): Json | undefined;
  /** They stand for those of all callers while a rule is saved: what does not fit is a mistake in the rule. */
  readonly areSamples: boolean;
  /** For a refusal, which quotes no value: what type it has, or that there is no such variable and which there are. */
  about(name: string): string;
}

/** Who is asking, as rules see them. */
export interface RuleSubject {
  /** The user's record as JSON; null for anonymous callers. */
  readonly user: JsonObject | null;
  readonly roleId: string | null;
  readonly now: Date;
}

/** Where variables have their values from. */
export interface Source extends Omit<RuleSubject, "user"> {
  /** The value of a column of the user. @param compared the column that it is compared with */
  readonly own: (column: Column, compared: Column) => Json;
  readonly areSamples: boolean;
}

/**
 * `$word` alone, or whatever follows it after a dot: misspelt, too, for as a text it would let everything pass that is
 * unequal to it.
 */
const VARIABLE = /^\$[\p{L}_][\p{L}\p{N}_-]*(?:$|\.)/u;

/** Is the operand meant to be a variable? Other texts that begin with `$` are just texts. */
export function isVariable(operand: Json): operand is string {
  return typeof operand === "string" && VARIABLE.test(operand);
}

/** Every variable in a piece of JSON. */
export function variablesIn(json: Json): string[] {
  if (isVariable(json)) return [json];
  if (typeof json !== "object" || json === null) return [];
  return Object.values(json).flatMap(variablesIn);
}

/** @param users the users' table, whose readable columns are variables */
export function variablesOf({ user, ...subject }: RuleSubject, users: Table): Variables {
  return variablesFrom({ ...subject, own: ({ name }) => user?.[name] ?? null, areSamples: false }, users);
}

/** The variables of rules, with the user's values from wherever `own` has them. */
export function variablesFrom({ roleId, now, own, areSamples }: Source, users: Table): Variables {
  return {
    areSamples,
    value(name, column) {
      if (name === "$now") return column.type === "date" ? now.toISOString().slice(0, 10) : now.toISOString();
      if (name === "$role.id") return roleId;
      const ofUser = userColumn(users, name);
      return ofUser && own(ofUser, column);
    },
    about(name) {
      const type = OTHERS.get(name) ?? userColumn(users, name)?.type;
      if (type !== undefined) return `${name} has the type ${type}`;
      const known = namesOf(users);
      return `unknown variable "${name.slice(0, 64)}"; there are ${known.join(", ")}${suggestion(name, known)}`;
    },
  };
}

/** Those that are no columns of the user. */
const OTHERS: ReadonlyMap<string, ColumnType> = new Map([
  ["$role.id", "objectId"],
  ["$now", "datetime"],
]);

const USER = "$user.";

function userColumn({ columns }: Table, name: string): Column | undefined {
  const column = name.startsWith(USER) ? columns.get(name.slice(USER.length)) : undefined;
  return column === undefined || column.secret || column.encrypted ? undefined : column;
}

function namesOf(users: Table): string[] {
  const ofUser = [...users.columns.keys()].map((name) => USER + name);
  return [...ofUser.filter((name) => userColumn(users, name) !== undefined), ...OTHERS.keys()];
}
