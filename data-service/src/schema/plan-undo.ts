// The last change of a table + the present definitions -> the change that undoes it, or the refusal. Asks no records.
import { AppError } from "@portico/shared/app-error";
import { buildCatalog } from "../catalog/build-catalog.js";
import { same } from "../catalog/canonical.js";
import type { Catalog } from "../catalog/catalog.js";
import { isRetargeted, movedMembers, type Transition } from "../catalog/changed-fields.js";
import { diff, restoration, type Step } from "../catalog/changes.js";
import { isTakenIn, memberElsewhere } from "../catalog/check-member.js";
import type { RelationDefinition, TableDefinition } from "../catalog/definition.js";
import { type Note, noted, type Restore } from "../catalog/fills.js";
import { definitionJson } from "../catalog/merge-definition.js";
import { isKeptSetting, revertChange } from "../catalog/revert-change.js";
import type { Member } from "../catalog/risks.js";
import type { TableChange } from "../mongo/change-store.js";
import {
  type ChangePlan,
  checkChanged,
  completePlan,
  type PlanDeps,
  requireOwnCollection,
} from "./plan-change.js";
import { ownAfter, ownBefore, ownTransition, type PathOf, pathsIn } from "./stored-change.js";

/**
 * Plans `POST /svc_table/{id}/undo`.
 * @param change the last change of the table that can be undone
 * @param known all changes of the table that are kept
 * @throws AppError 409 when something else has taken its place
 */
export function planUndo(
  deps: PlanDeps,
  definitions: readonly TableDefinition[],
  change: TableChange,
  known: readonly TableChange[],
): ChangePlan {
  const pathOf = pathsIn(known);
  const existing = definitions.find((each) => each.id === change.table);
  const others = definitions.filter((each) => each.id !== change.table);
  const catalog = buildCatalog(0, others, deps.systemTables);
  const wanted = beforeChange(definitions, catalog, existing, change, pathOf);
  // Other tables lead to it by its name of now.
  const asNow = { ...wanted, name: (existing ?? wanted).name };
  const after = fittingNow(wanted, () =>
    checkChanged(deps, others, asNow, definitionJson(wanted), { ownIds: false }),
  );
  requireOwnCollection(catalog, after);
  requireOwnMembers(catalog, existing, after);
  const { steps, fills } =
    existing === undefined
      ? { steps: [restoration(after)], fills: [] }
      : undoing(existing, after, change, { others: [...others, ...deps.systemTables], pathOf });
  const own: ChangePlan["own"] =
    existing === undefined ? { from: undefined, to: after } : { from: existing, to: after };
  return completePlan(deps, definitions, { own, steps, fills, undoes: change });
}

/**
 * Is it known what has become of a member's values since a change? Links that led elsewhere for a while went with that, and
 * nobody took them away; where it was the change that let them lead elsewhere, none of them come from the former ones.
 */
function isTraced(member: string, change: Transition, now: TableDefinition, pathOf: PathOf): boolean {
  const since = pathOf(member, { from: change.after.storage.fields[member], to: now.storage.fields[member] });
  if (since === undefined) return false;
  return leadsElsewhere(change, member) || !since.some((each) => leadsElsewhere(each, member));
}

function leadsElsewhere(change: Transition, member: string): boolean {
  const [from, to] = [change.before, change.after].map(({ relations }) =>
    relations.find(({ id }) => id === member),
  );
  return from !== undefined && to !== undefined && isRetargeted(change, from, to);
}

/** What is done to a table that still exists. */
function undoing(
  existing: TableDefinition,
  after: TableDefinition,
  change: TableChange,
  { others, pathOf }: { readonly others: readonly TableDefinition[]; readonly pathOf: PathOf },
): Pick<ChangePlan, "steps" | "fills"> {
  const { steps, fills } = diff(existing, after);
  const marks = fills.filter(({ kind }) => kind === "mark");
  const values = valueSteps(existing, after);
  return {
    steps: [...steps, ...values.filter(({ where }) => steps.every((step) => step.where !== where))].map(
      withoutConfirmation,
    ),
    fills: [...restoringFills(existing, after, others, notesIn(change), pathOf), ...marks],
  };
}

/** Members whose type was changed back by hand: only their values are to come back. */
function valueSteps(existing: TableDefinition, after: TableDefinition): Step[] {
  const moved = new Set(movedMembers({ before: existing, after }));
  const steps = (kind: "column" | "relation", members: readonly Member[]): Step[] =>
    members
      .filter(({ id }) => moved.has(id))
      .map((member) => ({
        what: `${kind}.change`,
        where: `${kind}s.${member.name}`,
        from: member,
        to: member,
        risks: [],
      }));
  return [...steps("column", existing.columns), ...steps("relation", existing.relations)];
}

/** Going back to what was there before costs nothing; only a singleton can't hold several records, whichever came first. */
function withoutConfirmation(step: Step): Step {
  if (step.where !== "singleton") return { ...step, risks: [] };
  return { ...step, risks: step.risks.map((risk) => ({ ...risk, confirmed: "impossible" })) };
}

/** If a change was only about settings that undo leaves alone, and nobody has changed them since: these settings. */
export function settingsLeftAlone(change: TableChange, definitions: readonly TableDefinition[]): string[] {
  const now = definitions.find(({ id }) => id === change.table);
  const own = ownTransition(change);
  if (own === undefined || now === undefined) return [];
  const { before, after } = own;
  const places = diff(before, after).steps.map(({ where }) => where);
  if (!places.every(isKeptSetting)) return [];
  return places.filter((key) => same(now[key] ?? null, after[key] ?? null));
}

/**
 * A former definition was valid in itself: whatever is wrong with it now conflicts with later changes. Whoever undoes a change
 * has sent no list in which to look for a position, so members are called by their names.
 */
function fittingNow(wanted: TableDefinition, check: () => TableDefinition): TableDefinition {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "SCHEMA_ERROR") throw error;
    const message = error.violations.map((each) => byName(each, wanted));
    throw new AppError("CONFLICT", { message, cause: error });
  }
}

function byName(problem: string, { columns, relations }: TableDefinition): string {
  const lists = { columns, relations };
  return problem.replace(/^(columns|relations)\[(\d+)\]/, (place, list: keyof typeof lists, at: string) => {
    const member = lists[list][Number(at)];
    return member === undefined ? place : `${list}.${member.name}`;
  });
}

/**
 * The table without the change.
 * @param others the other tables
 * @throws AppError 409 when a relation would come back whose target is gone
 */
function beforeChange(
  definitions: readonly TableDefinition[],
  others: Catalog,
  existing: TableDefinition | undefined,
  change: TableChange,
  pathOf: PathOf,
): TableDefinition {
  const before = ownBefore(change);
  if (before === undefined) throw new Error(`change ${change.id} has nothing to bring back`);
  const later = ownAfter(change);
  const nameNow = (existing ?? before).name;
  const names = new Map(
    [...definitions, { id: change.table, name: nameNow }].map(({ id, name }) => [id, name]),
  );
  const then = byNamesOfNow(before, change, names);
  const reverted =
    existing === undefined || later === undefined
      ? then
      : revertChange(
          existing,
          { before: then, after: byNamesOfNow(later, change, names) },
          (table, name) => isTakenIn(others, table, name),
          (member) => isTraced(member, { before, after: later }, existing, pathOf),
        );
  const wanted = { ...reverted, relations: leadToItself(reverted, nameNow) };
  const gone = before.relations.flatMap((each) => {
    const target = targetId(before, change, each);
    return target === undefined || names.has(target) ? [] : [{ ...each, target }];
  });
  requireTargets(existing, wanted, gone);
  return wanted;
}

/** The table to which a relation led when the change was made, as far as that was noted. */
function targetId(
  owner: TableDefinition,
  { table, targets }: TableChange,
  to: RelationDefinition,
): string | undefined {
  return to.table === owner.name ? table : targets?.[to.table];
}

/** A former definition whose relations use the present names of their tables. @param names by id */
function byNamesOfNow(
  former: TableDefinition,
  change: TableChange,
  names: ReadonlyMap<string, string>,
): TableDefinition {
  const rename = (each: RelationDefinition): RelationDefinition => {
    const name = names.get(targetId(former, change, each) ?? "");
    return name === undefined ? each : { ...each, table: name };
  };
  return { ...former, relations: former.relations.map(rename) };
}

/** A relation of the table to itself follows when the table gets its former name back. */
function leadToItself({ name, relations }: TableDefinition, formerName: string): RelationDefinition[] {
  return relations.map((each) => (each.table === formerName ? { ...each, table: name } : each));
}

/** A relation with the id of its target, which a client needs to undo the deletion of that. */
type Gone = RelationDefinition & { readonly target: string };

/** @param gone relations, as they were, whose target is gone; another table may have its name */
function requireTargets(
  existing: TableDefinition | undefined,
  wanted: TableDefinition,
  gone: readonly Gone[],
): void {
  const isThere = (relation: RelationDefinition): boolean =>
    existing?.relations.some((each) => same(each, relation)) === true;
  const lost = wanted.relations
    .filter((each) => !isThere(each))
    .flatMap((each) => gone.filter(({ id }) => id === each.id));
  if (lost.length === 0) return;
  throw new AppError("CONFLICT", {
    message: lost.map(
      ({ name, table, target }) =>
        `relations.${name}: the table "${table}" (${target}) that it led to was deleted; undo that first.`,
    ),
    details: { relations: lost.map(({ name }) => name), tables: lost.map(({ target }) => target) },
  });
}

/** What a change has noted of a member's former values; earlier versions noted nothing. */
function notesIn(change: TableChange): (member: string) => { readonly note?: Note } {
  const own = ownTransition(change);
  return (member) => (own === undefined || change.isNoted !== true ? {} : noted(own, member));
}

/** What was written since the change is only in the later field: it is copied back, as far as it can be converted. */
function restoringFills(
  now: TableDefinition,
  after: TableDefinition,
  others: readonly TableDefinition[],
  notes: (member: string) => { readonly note?: Note },
  pathOf: PathOf,
): Restore[] {
  const moved = <Member extends { readonly id: string }>(
    then: readonly Member[],
    current: readonly Member[],
  ) =>
    then.flatMap((to) => {
      const from = current.find((each) => each.id === to.id);
      const [later, former] = [now.storage.fields[to.id], after.storage.fields[to.id]];
      const isMoved = from !== undefined && later !== undefined && former !== undefined && later !== former;
      return isMoved ? [{ from, to, pair: { later, former, ...notes(to.id) } }] : [];
    });
  const columns = moved(after.columns, now.columns).map(({ to, pair }): Restore => {
    const path = pathOf(to.id, { from: pair.former, to: pair.later }) ?? [];
    return { kind: "restore", member: to.id, ...pair, path };
  });
  const links = moved(after.relations, now.relations)
    .filter(({ from, to }) => (from.table === now.name ? after.name : from.table) === to.table)
    .flatMap(({ to, pair }): Restore[] => {
      const collection = [after, ...others].find(({ name }) => name === to.table)?.storage.collection;
      if (collection === undefined) return [];
      const list = to.type === "many-to-many";
      return [{ kind: "restoreLinks", list, ...pair, target: collection }];
    });
  return [...columns, ...links];
}

/**
 * Meanwhile a schema file may have given the ids of removed members to another table. In an adopted collection another member
 * may have come to a field that is led back to.
 * @throws AppError 409
 */
function requireOwnMembers(
  others: Catalog,
  existing: TableDefinition | undefined,
  after: TableDefinition,
): void {
  const known = new Set([...(existing?.columns ?? []), ...(existing?.relations ?? [])].map(({ id }) => id));
  const members = [...after.columns, ...after.relations];
  const taken = members
    .filter(({ id }) => !known.has(id))
    .flatMap(({ id, name }) => {
      const other = memberElsewhere(others, id);
      return other === undefined ? [] : [`the id of "${name}" is now used by "${other}"`];
    });
  const { fields } = after.storage;
  const moved = members.filter(({ id }) => existing?.storage.fields[id] !== fields[id]);
  const sharing = moved.flatMap(({ id, name }) => {
    const other = members.find((each) => each.id !== id && fields[each.id] === fields[id]);
    return other === undefined ? [] : [`the field of "${name}" is now used by "${other.name}"`];
  });
  const problems = [...taken, ...sharing];
  if (problems.length > 0) throw new AppError("CONFLICT", { message: problems });
}
