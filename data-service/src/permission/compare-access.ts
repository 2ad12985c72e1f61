// What a schema file and a database have in common as to who may do what, and what has to be made and removed. Pure.
import type { Json } from "@portico/shared/json";
import { canonical } from "../catalog/canonical.js";
import type { FileAccess, FileRole, FileRule } from "./access-file.js";
import type { DescribedRule, Rule, StoredAccess, StoredRole } from "./rule.js";

/** What has to be done about one role, or about everyone. */
export interface AccessChange {
  /** The role as the file has it; undefined = everyone. */
  readonly role: FileRole | undefined;
  /** The same role as it is there. */
  readonly stored: StoredRole | undefined;
  readonly make: readonly FileRule[];
  readonly remove: readonly DescribedRule[];
}

/**
 * Compares by meaning: the order of keys and of names in `fields` does not count, how often a rule is there does. The order
 * of rules counts where it does elsewhere, too: the first rule that allows a write supplies its presets.
 * @returns roles in the order of the file, then everyone, so that a new rule of a role is tried before one of everyone
 */
export function compareAccess({ roles, everyone }: FileAccess, stored: StoredAccess): AccessChange[] {
  const rulesOf = (id: string | null) => stored.rules.filter(({ roleId }) => roleId === id);
  const ofRoles = roles.map((role): AccessChange => {
    const same = stored.roles.find(({ name }) => name === role.name);
    return { role, stored: same, ...compareRules(role.rules, same === undefined ? [] : rulesOf(same.id)) };
  });
  const ofEveryone: AccessChange[] =
    everyone === undefined
      ? []
      : [{ role: undefined, stored: undefined, ...compareRules(everyone, rulesOf(null)) }];
  return [...ofRoles, ...ofEveryone].filter((change) => stepsOf(change).length > 0);
}

/**
 * @param change one of those of compareAccess
 * @returns tables whose last rule for reading it takes away while rules to update or delete stay, which then reach records that
 * could not be seen before (contract, section 7)
 */
export function openedBy(
  { role, remove }: AccessChange,
  { roles, everyone }: FileAccess,
  stored: StoredAccess,
): string[] {
  const rulesOf = (id: string | null): RuleJson[] => stored.rules.filter(({ roleId }) => roleId === id);
  const ofEveryone: readonly RuleJson[] = everyone?.map(({ json }) => json) ?? rulesOf(null);
  const inFile = (each: FileRole): RuleJson[] => each.rules.map(({ json }) => json);
  const others = stored.roles.filter(({ name }) => roles.every((each) => each.name !== name));
  const holders =
    role === undefined ? [[], ...roles.map(inFile), ...others.map(({ id }) => rulesOf(id))] : [inFile(role)];
  const isOpened = (table: string): boolean =>
    holders.some((own) => {
      const actions = [...own, ...ofEveryone]
        .filter((rule) => rule.table === table)
        .map(({ action }) => action);
      return !actions.includes("read") && (actions.includes("update") || actions.includes("delete"));
    });
  const closed = remove.filter(({ action }) => action === "read").map(({ table }) => table);
  return [...new Set(closed)].filter(isOpened);
}

function compareRules(
  wanted: readonly FileRule[],
  stored: readonly DescribedRule[],
): Pick<AccessChange, "make" | "remove"> {
  const make = wanted.map((rule) => ({ rule, kind: kindOfRule(rule.json), meaning: meaningOf(rule.json) }));
  const remove = stored.filter((rule) => {
    const [kind, meaning] = [kindOfRule(rule), meaningOf(rule)];
    // One that is new comes last. So of rules for the same writes only those stay that need none before them.
    const at = isOrdered(rule)
      ? make.findIndex((each) => each.kind === kind)
      : make.findIndex((each) => each.meaning === meaning);
    if (make[at]?.meaning !== meaning) return true;
    make.splice(at, 1);
    return false;
  });
  return { make: make.map(({ rule }) => rule), remove };
}

function isOrdered({ action }: Pick<Rule, "action">): boolean {
  return action === "create" || action === "update";
}

/** The members of a rule, whether a file or the database has it. */
type RuleJson = { readonly [Name in keyof Omit<DescribedRule, "id" | "roleId">]?: Json };

function kindOfRule({ table, action }: RuleJson): string {
  return canonical([table, action]);
}

function meaningOf({ table, action, description, ...conditions }: RuleJson): string {
  return canonical({ table, action, description: description ?? null, ...conditionsOf(conditions) });
}

function conditionsOf({ fields, filter, presets, check }: RuleJson) {
  const names = typeof fields === "string" ? fields.split(",").map((name) => name.trim()) : undefined;
  return {
    // `*` is what a rule has that says nothing of them.
    fields: fields === "*" ? null : (names?.toSorted() ?? fields ?? null),
    filter: filter ?? null,
    presets: presets ?? null,
    check: check ?? null,
  };
}

/** What a change does, step by step, in words like those of the steps of tables. */
export function stepsOf({ role, stored, make, remove }: AccessChange): string[] {
  const isNew = role !== undefined && stored === undefined;
  return [
    ...(isNew ? ["create"] : isRedescribed({ role, stored }) ? ["role.set description"] : []),
    ...make.map(({ json }) => `rule.add ${ruleText(json)}`),
    ...remove.map((rule) => `rule.remove ${ruleText(rule)}`),
  ];
}

/** Has a role that is there another description in the file? */
export function isRedescribed({ role, stored }: Pick<AccessChange, "role" | "stored">): boolean {
  if (role === undefined || stored === undefined) return false;
  return (role.json.description ?? null) !== stored.description;
}

function ruleText({ table, action, fields, filter, presets, check }: RuleJson): string {
  const conditions = Object.entries({ fields, filter, presets, check }).filter(
    ([, value]) => value !== undefined && value !== null,
  );
  const rest = conditions.length === 0 ? "" : ` ${JSON.stringify(Object.fromEntries(conditions))}`;
  return `${String(action)} ${String(table)}${rest}`;
}
