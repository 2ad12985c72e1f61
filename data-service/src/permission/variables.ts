// `$user.id`, `$user.<column>`, `$role.id` and `$now` in rules: what they stand for, depending on the column that they are
// compared with.
import type { Json, JsonObject } from "@portico/shared/json";
import type { Column, Table } from "../catalog/catalog.js";

/**
 * The value of a variable for a column.
 * @returns null when it has none, as for the user's id of an anonymous caller; undefined when there is no such variable
 */
export type Variables = (name: string, column: Column) => Json | undefined;

/** Who is asking, as rules see them. */
export interface Caller {
  /** The user's record as JSON; null for anonymous callers. */
  readonly user: JsonObject | null;
  readonly roleId: string | null;
  readonly now: Date;
}

const VARIABLE = /^\$(?:now$|role\.|user\.|now\.)/;

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
export function variablesOf({ user, roleId, now }: Caller, users: Table): Variables {
  return (name, column) => {
    if (name === "$now") return column.type === "date" ? now.toISOString().slice(0, 10) : now.toISOString();
    if (name === "$role.id") return roleId;
    const own = name.startsWith("$user.") ? userColumn(users, name.slice("$user.".length)) : undefined;
    return own === undefined ? undefined : (user?.[own.name] ?? null);
  };
}

function userColumn(users: Table, name: string): Column | undefined {
  const column = users.columns.get(name);
  return column === undefined || column.secret || column.encrypted ? undefined : column;
}
