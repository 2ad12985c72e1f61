// Who may do what, as a schema file says it: {"roles":[{"name", "description", "rules":[…]}], "everyone":[…]}. Pure.
import { isArray, isObject, type Json, type JsonObject, kindOf } from "@portico/shared/json";
import type { DescribedRule, StoredAccess } from "./rule.js";

/** A rule of a file: the body of a POST of a rule, without its role. */
export interface FileRule {
  /** Where it stands in the file. */
  readonly path: string;
  readonly json: JsonObject;
}

/** A role of a file: the body of a POST of a role, and the rules that it is to have. */
export interface FileRole {
  readonly path: string;
  readonly name: string;
  readonly json: JsonObject;
  readonly rules: readonly FileRule[];
}

export interface FileAccess {
  /** Other roles are left alone. */
  readonly roles: readonly FileRole[];
  /** The rules without a role; undefined = these are left alone. */
  readonly everyone: readonly FileRule[] | undefined;
}

/** Of a file that speaks of tables alone. */
export const NO_ACCESS: FileAccess = { roles: [], everyone: undefined };

/** Does it speak of tables alone? */
export function isWithout({ roles, everyone }: FileAccess): boolean {
  return roles.length === 0 && everyone === undefined;
}

const ROLE_KEYS = ["name", "description", "rules"];
const RULE_KEYS = ["table", "action", "fields", "filter", "presets", "check", "description"];
/** Keys of a rule elsewhere, and what a file does instead. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  role: "the rules of a role stand in its own list",
  isEnabled: "leave out a rule that is switched off",
};

/** @returns what a file's JSON says, and each problem with the place where it is */
export function readAccess({ roles = [], everyone }: JsonObject): {
  access: FileAccess;
  problems: readonly string[];
} {
  const problems: string[] = [];
  const read = isArray(roles) ? roles.flatMap((each, at) => readRole(each, `roles[${at}]`, problems)) : [];
  if (!isArray(roles)) problems.push(`roles: must be a list of roles, not ${kindOf(roles)}`);
  for (const { name, path } of read.filter(
    (role, at) => at > read.findIndex(({ name }) => name === role.name),
  ))
    problems.push(`${path}.name: "${name}" is there more than once`);
  const ofEveryone = everyone === undefined ? undefined : readRules(everyone, "everyone", problems);
  return { access: { roles: read, everyone: ofEveryone }, problems };
}

function readRole(role: Json, path: string, problems: string[]): FileRole[] {
  if (!isObject(role) || typeof role.name !== "string") {
    problems.push(`${path}: must be an object with a name, not ${kindOf(role)}`);
    return [];
  }
  problems.push(...unknownKeys(role, path, ROLE_KEYS));
  // A list that is missing may be a slip, and would take every right away.
  const { rules = null, ...json } = role;
  return [{ path, name: role.name, json, rules: readRules(rules, `${path}.rules`, problems) }];
}

function readRules(rules: Json, path: string, problems: string[]): FileRule[] {
  if (!isArray(rules)) {
    problems.push(`${path}: must be a list of rules ([] for none), not ${kindOf(rules)}`);
    return [];
  }
  return rules.flatMap((json, at): FileRule[] => {
    const own = `${path}[${at}]`;
    if (!isObject(json)) {
      problems.push(`${own}: must be an object, not ${kindOf(json)}`);
      return [];
    }
    problems.push(...unknownKeys(json, own, RULE_KEYS));
    return [{ path: own, json }];
  });
}

function unknownKeys(json: JsonObject, path: string, known: readonly string[]): string[] {
  return Object.keys(json)
    .filter((key) => !known.includes(key))
    .map((key) => {
      const instead = known === RULE_KEYS ? ELSEWHERE[key] : undefined;
      return `${path}.${key}: is not known here${instead === undefined ? "" : `; ${instead}`}`;
    });
}

/** The way back: what a schema file says of access; nothing where there are neither roles nor rules. */
export function writeAccess({ roles, rules }: StoredAccess): JsonObject {
  if (roles.length === 0 && rules.length === 0) return {};
  const rulesOf = (id: string | null): Json[] => rules.filter(({ roleId }) => roleId === id).map(ruleJson);
  return {
    roles: roles
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map(({ id, name, description }) => ({ ...given({ name, description }), rules: rulesOf(id) })),
    everyone: rulesOf(null),
  };
}

function ruleJson({ table, action, fields, filter, presets, check, description }: DescribedRule): JsonObject {
  return given({ table, action, fields, filter, presets, check, description });
}

/** Without what has no value. */
function given(json: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null));
}
