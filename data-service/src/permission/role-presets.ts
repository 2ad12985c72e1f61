// Presets that link to a role: by its name in a schema file, `{"role":{"name":"Member"}}`, as its id differs from database to
// database; by its id in a rule itself. Pure.
import { isObject, type Json, type JsonObject } from "@portico/shared/json";
import type { Catalog } from "../catalog/catalog.js";
import { suggestion } from "../catalog/names.js";
import type { FileAccess, FileRule } from "./access-file.js";
import type { DescribedRule, Rule, StoredRole } from "./rule.js";
import { isVariable } from "./variables.js";

export interface RolePresetContext {
  /** Tables as they are called in the rules. */
  readonly catalog: Catalog;
  /** Name of the roles' table. */
  readonly rolesTable: string;
}

export interface StoredRoleContext extends RolePresetContext {
  readonly roles: readonly StoredRole[];
}

/** @returns the rules as a file says them; an id that no role has stays an id */
export function rulesByName(rules: readonly DescribedRule[], context: StoredRoleContext): DescribedRule[] {
  const byName = namesOf(context);
  return rules.map((rule) => {
    const presets = presetsWith(rule, context, byName);
    return isObject(presets) ? { ...rule, presets } : rule;
  });
}

/** @returns the same file, with the names of the roles that it names by id */
export function accessByName({ roles, everyone }: FileAccess, context: StoredRoleContext): FileAccess {
  const byName = namesOf(context);
  const named = (rule: FileRule): FileRule => {
    const presets = presetsWith(rule.json, context, byName);
    return presets === undefined ? rule : { ...rule, json: { ...rule.json, presets } };
  };
  return {
    roles: roles.map((role) => ({ ...role, rules: role.rules.map(named) })),
    everyone: everyone?.map(named),
  };
}

/**
 * The way back, of a rule of a file whose roles are named as far as they are there (`accessByName`).
 * @param ids of the roles, by their names
 * @returns the body of its POST, and what names no role that is there, each with its place in the rule
 */
export function ruleById(
  json: JsonObject,
  ids: ReadonlyMap<string, string>,
  context: RolePresetContext,
): { readonly json: JsonObject; readonly problems: readonly string[] } {
  const problems: string[] = [];
  const byId = (value: Json, member: string): Json => {
    if (value === null || isVariable(value)) return value;
    const name = isObject(value) && Object.keys(value).join() === "name" ? value.name : undefined;
    const id = typeof name === "string" ? ids.get(name) : undefined;
    if (typeof name !== "string")
      problems.push(
        `presets.${member}: must name a role, as in {"name":"Member"}, not ${JSON.stringify(value)}`,
      );
    else if (id === undefined)
      problems.push(`presets.${member}.name: there is no role "${name}"${suggestion(name, ids.keys())}`);
    return id ?? value;
  };
  const presets = presetsWith(json, context, byId);
  return { json: presets === undefined ? json : { ...json, presets }, problems };
}

/** A rule, and the member that it links to a role. */
export interface RoleSetter {
  readonly rule: Rule;
  readonly member: string;
}

/** @returns a rule that sets a role and is not its own, which goes with it: without the role it would refuse every write */
export function setterOf(
  roleId: string,
  rules: readonly Rule[],
  context: RolePresetContext,
): RoleSetter | undefined {
  const setters = rules.flatMap((rule): RoleSetter[] => {
    if (rule.roleId === roleId) return [];
    const set = rolePresets(rule, context).filter(([, value]) => String(value).toLowerCase() === roleId);
    return set.map(([member]) => ({ rule, member }));
  });
  return setters[0];
}

interface Presetting {
  readonly table?: Json;
  readonly presets?: Json;
}

function namesOf({ roles }: StoredRoleContext): (value: Json) => Json {
  const names = new Map(roles.map(({ id, name }) => [id, name]));
  return (value) => {
    // Somebody may have written the id in capitals.
    const name = typeof value === "string" ? names.get(value.toLowerCase()) : undefined;
    return name === undefined ? value : { name };
  };
}

/** @returns the presets with another value for each member that links to a role; what is no object as it is */
function presetsWith(
  rule: Presetting,
  context: RolePresetContext,
  change: (value: Json, member: string) => Json,
): Json | undefined {
  if (!isObject(rule.presets)) return rule.presets;
  const changed = rolePresets(rule, context).map(([name, value]) => [name, change(value, name)]);
  return { ...rule.presets, ...Object.fromEntries(changed) };
}

/** @returns the presets that link to a role, with their members */
function rolePresets(
  { table, presets }: Presetting,
  { catalog, rolesTable }: RolePresetContext,
): (readonly [string, Json])[] {
  const relations = typeof table === "string" ? catalog.tables.get(table)?.relations : undefined;
  if (relations === undefined || !isObject(presets)) return [];
  return Object.entries(presets).filter(([member]) => {
    const relation = relations.get(member);
    return relation !== undefined && relation.target === rolesTable && !relation.many;
  });
}
