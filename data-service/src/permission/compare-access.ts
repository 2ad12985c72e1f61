// What a schema file and a database have in common as to who may do what, and what has to be made, edited and removed. Pure.
import { isObject, type Json } from "@portico/shared/json";
import { canonical } from "../catalog/canonical.js";
import type { Catalog } from "../catalog/catalog.js";
import type { FileAccess, FileRole, FileRule } from "./access-file.js";
import type { DescribedRule, Rule, StoredAccess, StoredRole } from "./rule.js";
import { isVariable } from "./variables.js";

/** What has to be done about one role, or about everyone. */
export interface AccessChange {
  /** The role as the file has it; undefined = everyone. */
  readonly role: FileRole | undefined;
  /** The same role as it is there. */
  readonly stored: StoredRole | undefined;
  readonly make: readonly FileRule[];
  /** Rules that stay and say something else. */
  readonly edit: readonly RuleEdit[];
  /** Rules that say what the file says already. */
  readonly keep: readonly RuleEdit[];
  readonly remove: readonly DescribedRule[];
}

/** What a file finds there, besides what it says nothing of. */
export interface AccessToChange extends StoredAccess {
  /**
   * Rules that the file's own tables switch off: they go like others that it leaves out, so that no undo brings them back
   * beside what it says. Those that were off before stay, as the file does not know of them.
   */
  readonly going: readonly DescribedRule[];
}

/** A rule keeps its place among the others, and what it withholds of members that are gone. */
export interface RuleEdit {
  readonly from: DescribedRule;
  readonly to: FileRule;
}

/**
 * Compares by meaning: the order of keys and of names in `fields` does not count, how often a rule is there does. The order
 * of rules counts where it does elsewhere, too: the first rule that allows a write supplies its presets.
 * @param now rules that are made from now on are tried behind those that were made before
 * @returns roles in the order of the file, then everyone
 */
export function compareAccess(
  { roles, everyone }: FileAccess,
  stored: AccessToChange,
  now: Date,
): AccessChange[] {
  const rulesOf = (wanted: readonly FileRule[], id: string | null | undefined) => {
    const { remove, ...rest } = compareRules(wanted, ofHolder(stored.rules, id), now);
    return { ...rest, remove: [...remove, ...ofHolder(stored.going, id)] };
  };
  const ofRoles = roles.map((role): AccessChange => {
    const same = stored.roles.find(({ name }) => name === role.name);
    return { role, stored: same, ...rulesOf(role.rules, same?.id) };
  });
  const ofEveryone: AccessChange[] =
    everyone === undefined ? [] : [{ role: undefined, stored: undefined, ...rulesOf(everyone, null) }];
  return [...ofRoles, ...ofEveryone].filter(hasSteps);
}

/** @param id of a role; null = everyone, undefined = a role that is not there yet */
function ofHolder<Each extends Rule>(rules: readonly Each[], id: string | null | undefined): Each[] {
  return rules.filter(({ roleId }) => roleId === id);
}

/** @returns whether the file says which rules a role has, or everyone */
export function holdersIn(
  { roles, everyone }: FileAccess,
  stored: readonly StoredRole[],
): (roleId: string | null) => boolean {
  const named = new Set(roles.map(({ name }) => name));
  const ids = new Set(stored.filter(({ name }) => named.has(name)).map(({ id }) => id));
  return (roleId) => (roleId === null ? everyone !== undefined : ids.has(roleId));
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
  // One that is switched off confines what may be changed as well.
  const readOff = stored.off.filter(({ action }) => action === "read");
  const rulesOf = (id: string | null): RuleJson[] => [
    ...ofHolder(stored.rules, id),
    ...ofHolder(readOff, id),
  ];
  const then = (rules: readonly FileRule[], id: string | null | undefined): RuleJson[] => [
    ...rules.map(({ json }) => json),
    ...ofHolder(readOff, id),
  ];
  const inFile = (each: FileRole): RuleJson[] =>
    then(each.rules, stored.roles.find(({ name }) => name === each.name)?.id);
  const ofEveryone = everyone === undefined ? rulesOf(null) : then(everyone, null);
  const others = stored.roles.filter(({ name }) => roles.every((each) => each.name !== name));
  const holders =
    role === undefined ? [[], ...roles.map(inFile), ...others.map(({ id }) => rulesOf(id))] : [inFile(role)];
  const closed = remove.filter(({ action }) => action === "read").map(({ table }) => table);
  return [...new Set(closed)].filter((table) =>
    holders.some((own) => isUnconfined(table, [...own, ...ofEveryone])),
  );
}

/**
 * @returns what a file that is pulled can't say, as it has no rules that are switched off: where it is applied elsewhere, rules
 * reach more than they do here
 */
export function openedElsewhere({ roles, rules, off }: StoredAccess): string[] {
  const ofEveryone = ofHolder(rules, null);
  const told = off.flatMap(({ roleId, table, action }) => {
    const holders = roleId === null ? [null, ...roles.map(({ id }) => id)] : [roleId];
    const isOpened = holders.some((id) =>
      isUnconfined(table, id === null ? ofEveryone : [...ofHolder(rules, id), ...ofEveryone]),
    );
    if (action !== "read" || !isOpened) return [];
    return [
      `${holderName(roles, roleId)}: a rule to read "${table}" is switched off, and so not in the file; where that is applied elsewhere, the rules to update and delete its records reach all of them`,
    ];
  });
  return [...new Set(told)];
}

/**
 * @param access as a file says it, with roles by name
 * @returns presets that a file takes along as they are, and that may mean nothing elsewhere: they link to a record by its id
 */
export function linkedElsewhere({ roles, rules }: StoredAccess, catalog: Catalog): string[] {
  return rules.flatMap(({ roleId, table, action, presets }) => {
    const relations = catalog.tables.get(table)?.relations;
    const linked = Object.entries(presets ?? {}).filter(
      ([name, value]) => relations?.has(name) && !isObject(value) && value !== null && !isVariable(value),
    );
    return linked.map(
      ([member, id]) =>
        `${holderName(roles, roleId)}: a rule to ${action} "${table}" sets "${member}" to a record by its id, ${JSON.stringify(id)}, which may be another one elsewhere, or none: where the file is applied there, it has to be the id that the record has there`,
    );
  });
}

/** May its records be changed by these rules, whatever can be seen of them? */
function isUnconfined(table: string, rules: readonly RuleJson[]): boolean {
  const own = rules.filter((rule) => rule.table === table);
  return own.every(({ action }) => action !== "read") && own.some(changesRecords);
}

function changesRecords({ action }: RuleJson): boolean {
  return action === "update" || action === "delete";
}

function holderName(roles: readonly StoredRole[], roleId: string | null): string {
  return whoseName(roles.find(({ id }) => id === roleId));
}

/** How what is told of a file names who has the rules. @param role undefined = everyone */
export function whoseName(role: Pick<StoredRole, "name"> | undefined): string {
  return role === undefined ? "everyone" : `role "${role.name}"`;
}

type RuleChanges = Pick<AccessChange, "make" | "edit" | "keep" | "remove">;

function compareRules(wanted: readonly FileRule[], stored: readonly DescribedRule[], now: Date): RuleChanges {
  const kinds = new Set([...wanted.map(({ json }) => kindOfRule(json)), ...stored.map(kindOfRule)]);
  const changes = [...kinds].map((kind) => {
    const here = stored.filter((rule) => kindOfRule(rule) === kind);
    const inFile = wanted.filter(({ json }) => kindOfRule(json) === kind);
    const pairs = here.some(isOrdered) ? inOrder(inFile, here, now) : anyhow(inFile, here);
    return changesOf(pairs, here);
  });
  return {
    make: changes.flatMap(({ make }) => make),
    edit: changes.flatMap(({ edit }) => edit),
    keep: changes.flatMap(({ keep }) => keep),
    remove: changes.flatMap(({ remove }) => remove),
  };
}

/** A rule of the file, and the one that is to become it; undefined = it has to be made. */
interface Pair {
  readonly to: FileRule;
  readonly from: DescribedRule | undefined;
}

function changesOf(pairs: readonly Pair[], stored: readonly DescribedRule[]): RuleChanges {
  const there = pairs.flatMap(({ from, to }) => (from === undefined ? [] : [{ from, to }]));
  const isSame = ({ from, to }: RuleEdit): boolean => meaningOf(from) === meaningOf(to.json);
  return {
    make: pairs.filter(({ from }) => from === undefined).map(({ to }) => to),
    edit: there.filter((each) => !isSame(each)),
    keep: there.filter(isSame),
    remove: stored.filter((rule) => there.every(({ from }) => from !== rule)),
  };
}

/** Those that mean the same belong together, and of the others one to one as they come. */
function anyhow(wanted: readonly FileRule[], stored: readonly DescribedRule[]): Pair[] {
  const left = stored.map((rule) => ({ rule, meaning: meaningOf(rule) }));
  const same = wanted.map((to): Pair => {
    const at = left.findIndex(({ meaning }) => meaning === meaningOf(to.json));
    return { to, from: at < 0 ? undefined : left.splice(at, 1)[0]?.rule };
  });
  return same.map(({ to, from }) => ({ to, from: from ?? left.shift()?.rule }));
}

/**
 * As many as possible stay as they are, in the order of both, and of the others one becomes another between the same
 * neighbours. One that only moves is made again, not written over one that is still wanted. What is new comes last, so those
 * behind it are made again as well.
 */
function inOrder(wanted: readonly FileRule[], stored: readonly DescribedRule[], now: Date): Pair[] {
  const [meant, there] = [wanted.map(({ json }) => meaningOf(json)), stored.map(meaningOf)];
  const common = commonOrder(meant, there);
  const left = new Set(there.filter((_, at) => common.every(([, same]) => same !== at)));
  const moved = new Set(meant.filter((each, at) => left.has(each) && common.every(([same]) => same !== at)));
  const pairs: Pair[] = [];
  let [next, free] = [0, 0];
  for (const [at, same] of [...common, [wanted.length, stored.length] as const]) {
    const others = stored.slice(free, same).filter((rule) => !moved.has(meaningOf(rule)));
    for (const to of wanted.slice(next, at))
      pairs.push({ to, from: moved.has(meaningOf(to.json)) ? undefined : others.shift() });
    for (const to of wanted.slice(at, at + 1)) pairs.push({ to, from: stored[same] });
    [next, free] = [at + 1, same + 1];
  }
  const isBehindNew = ({ from }: Pair): boolean => from === undefined || from.createdAt >= now;
  const cut = pairs.some(({ from }) => from === undefined) ? pairs.findIndex(isBehindNew) : pairs.length;
  return pairs.map(({ to, from }, at) => ({ to, from: at < cut ? from : undefined }));
}

/** @returns places of the longest list of texts that both have in this order, in the one and in the other */
function commonOrder(one: readonly string[], other: readonly string[]): (readonly [number, number])[] {
  // How long it is behind a place in the one, for each place in the other.
  const rows = [other.map(() => 0)];
  const lengthAt = (at: number, place: number): number => rows[one.length - at]?.[place] ?? 0;
  for (let at = one.length - 1; at >= 0; at -= 1) {
    const row: number[] = [];
    for (let place = other.length - 1; place >= 0; place -= 1)
      row[place] =
        one[at] === other[place]
          ? lengthAt(at + 1, place + 1) + 1
          : Math.max(lengthAt(at + 1, place), row[place + 1] ?? 0);
    rows.push(row);
  }
  const common: [number, number][] = [];
  let [at, place] = [0, 0];
  while (at < one.length && place < other.length) {
    if (one[at] === other[place]) common.push([at++, place++]);
    else if (lengthAt(at + 1, place) >= lengthAt(at, place + 1)) at += 1;
    else place += 1;
  }
  return common;
}

function isOrdered({ action }: Pick<Rule, "action">): boolean {
  return action === "create" || action === "update";
}

/** The members of a rule, whether a file or the database has it. */
type RuleJson = { readonly [Name in keyof Omit<DescribedRule, "id" | "roleId" | "createdAt">]?: Json };

/** Rules of one kind are tried one after the other. */
export function kindOfRule({ table, action }: RuleJson): string {
  return canonical([table, action]);
}

function meaningOf(rule: RuleJson): string {
  return canonical(membersOf(rule));
}

/** Does it more than describe the rule in other words? */
export function changesRights({ from, to: { json } }: RuleEdit): boolean {
  return meaningOf({ ...from, description: null }) !== meaningOf({ ...json, description: null });
}

/** What a rule of a kind says, in one spelling. */
function membersOf({ fields, filter, presets, check, description }: RuleJson) {
  const names = typeof fields === "string" ? fields.split(",").map((name) => name.trim()) : undefined;
  return {
    // `*` is what a rule has that says nothing of them.
    fields: fields === "*" ? null : (names?.toSorted() ?? fields ?? null),
    filter: unlessEmpty(filter),
    presets: unlessEmpty(presets),
    check: unlessEmpty(check),
    description: description ?? null,
  };
}

/** A condition or presets that say nothing are none; so are presets whose last member went with its column. */
function unlessEmpty(json: Json | undefined): Json {
  return json === undefined || (isObject(json) && Object.keys(json).length === 0) ? null : json;
}

/** What a change does, step by step, in words like those of the steps of tables. */
export function stepsOf({ role, stored, make, edit, remove }: AccessChange): string[] {
  const isNew = role !== undefined && stored === undefined;
  return [
    ...(isNew ? ["create"] : isRedescribed({ role, stored }) ? ["role.set description"] : []),
    ...make.map(({ json }) => `rule.add ${ruleText(json)}`),
    ...edit.map(editText),
    ...remove.map((rule) => `rule.remove ${ruleText(rule)}`),
  ];
}

export function hasSteps(change: AccessChange): boolean {
  return stepsOf(change).length > 0;
}

/** Has a role that is there another description in the file? */
export function isRedescribed({ role, stored }: Pick<AccessChange, "role" | "stored">): boolean {
  if (role === undefined || stored === undefined) return false;
  return (role.json.description ?? null) !== stored.description;
}

function ruleText({ table, action, ...members }: RuleJson): string {
  const { fields, filter, presets, check } = members;
  const rest = Object.entries({ fields, filter, presets, check }).filter(
    ([, value]) => value !== undefined && value !== null,
  );
  return [action, table, ...(rest.length === 0 ? [] : [JSON.stringify(Object.fromEntries(rest))])].join(" ");
}

/** What it says differently, from what and to what. */
function editText({ from, to: { json } }: RuleEdit): string {
  const [before, after] = [membersOf(from), membersOf(json)];
  const changes = EDITABLE.filter((name) => canonical(before[name]) !== canonical(after[name])).map(
    (name) => `${name} ${valueText(from[name])} -> ${valueText(json[name])}`,
  );
  return `rule.set ${String(from.action)} ${from.table}: ${changes.join(", ")}`;
}

const EDITABLE = ["fields", "filter", "presets", "check", "description"] as const;

function valueText(json: Json | undefined): string {
  return json === undefined || json === null ? "none" : JSON.stringify(json);
}
