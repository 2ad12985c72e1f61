// What a client wants to change about a table + the present definitions -> the change to make, or the refusal. Asks no
// records.
import { hash } from "node:crypto";
import { AppError } from "@portico/shared/app-error";
import { isObject, type Json, noObject } from "@portico/shared/json";
import { ObjectId } from "bson";
import { buildCatalog, type SystemTableDefinition } from "../catalog/build-catalog.js";
import { canonical } from "../catalog/canonical.js";
import { type Catalog, type Counter, ownCounters, type Table, tableById } from "../catalog/catalog.js";
import { withEpochOfReturn, withJournalEpoch } from "../catalog/changed-fields.js";
import { diff, removal, type Step } from "../catalog/changes.js";
import { checkDefinition } from "../catalog/check-definition.js";
import type { TableDefinition } from "../catalog/definition.js";
import type { DefinitionContext } from "../catalog/definition-context.js";
import type { Fill } from "../catalog/fills.js";
import {
  counterIndex,
  type IndexSpec,
  indexesOf,
  keyIdentity,
  MAX_INDEXES,
  MAX_INDEXES_OF_COLLECTION,
  tooManyIndexes,
} from "../catalog/indexes.js";
import { mergeDefinition } from "../catalog/merge-definition.js";
import type { TableChange } from "../mongo/change-store.js";
import { newlyDerived } from "./newly-derived.js";

/** What happens to one definition. */
export type DefinitionChange = Made | Removed | Changed;
/** The table comes back. */
interface Made {
  readonly from: undefined;
  readonly to: TableDefinition;
}
interface Removed {
  readonly from: TableDefinition;
  readonly to: undefined;
}
interface Changed {
  readonly from: TableDefinition;
  readonly to: TableDefinition;
}

/** @returns undefined when there is no definition, neither before nor after */
export function definitionChange(
  from: TableDefinition | undefined,
  to: TableDefinition | undefined,
): DefinitionChange | undefined {
  if (from === undefined) return to && { from, to };
  return to === undefined ? { from, to } : { from, to };
}

/** A change of one table, ready to be made. */
export interface ChangePlan {
  /** The table's id. */
  readonly table: string;
  readonly steps: readonly Step[];
  readonly fills: readonly Fill[];
  readonly own: DefinitionChange;
  /** Definitions of other tables, whose relations refer to this one by its name. */
  readonly followers: readonly Changed[];
  readonly before: Table | undefined;
  readonly after: Table | undefined;
  /** All tables, without the change and with it. */
  readonly catalogs: { readonly before: Catalog; readonly after: Catalog };
  /** The earlier change that this one undoes. */
  readonly undoes: TableChange | undefined;
}

export interface PlanDeps {
  readonly systemTables: readonly SystemTableDefinition[];
  readonly systemTablePrefix: string;
}

/**
 * Plans `PATCH /svc_table/{id}`; with `ownIds` as for a schema file.
 * @throws AppError 404, 422 with every problem, 409 for a taken name
 */
export function planChange(
  deps: PlanDeps,
  definitions: readonly TableDefinition[],
  id: string,
  body: Json,
  { ownIds = false }: Pick<DefinitionContext, "ownIds"> = {},
): ChangePlan {
  if (!isObject(body)) throw schemaError([`body: ${noObject(body)}`]);
  const existing = existingTable(definitions, id);
  const wanted = checkChanged(deps, definitions, existing, mergeDefinition(existing, body), { ownIds });
  const { after, steps, fills } = diff(existing, wanted);
  const own = { from: existing, to: after };
  return completePlan(deps, definitions, { own, steps, fills, undoes: undefined });
}

/** Plans `DELETE /svc_table/{id}`. @throws AppError 404, 409 when other tables have relations to it */
export function planRemoval(deps: PlanDeps, definitions: readonly TableDefinition[], id: string): ChangePlan {
  const existing = existingTable(definitions, id);
  const leading = definitions.flatMap((table) =>
    table.relations
      .filter((relation) => relation.table === existing.name && table.id !== id)
      .map((relation) => `${table.name}.${relation.name}`),
  );
  if (leading.length > 0)
    throw new AppError("CONFLICT", {
      message: `Relations of other tables lead to "${existing.name}": ${leading.join(", ")}; remove them first.`,
      details: { relations: leading },
    });
  const own = { from: existing, to: undefined };
  return completePlan(deps, definitions, { own, steps: [removal(existing)], fills: [], undoes: undefined });
}

/** @throws AppError 404 */
function existingTable(definitions: readonly TableDefinition[], id: string): TableDefinition {
  const existing = definitions.find((each) => each.id === id);
  if (existing === undefined) throw new AppError("NOT_FOUND", "There is no such table to change.");
  return existing;
}

/** @throws AppError 422 with every problem, 409 for a taken name */
export function checkChanged(
  deps: PlanDeps,
  definitions: readonly TableDefinition[],
  existing: TableDefinition,
  body: Readonly<Record<string, Json>>,
  { ownIds }: { readonly ownIds: boolean },
): TableDefinition {
  const others = definitions.filter((each) => each.id !== existing.id);
  const result = checkDefinition(body, {
    catalog: buildCatalog(0, others, deps.systemTables),
    systemPrefix: deps.systemTablePrefix,
    newId: () => new ObjectId().toHexString(),
    existing,
    ownIds,
  });
  if (!result.ok) throw schemaError(result.problems);
  if (others.some((each) => each.name === result.definition.name)) throw nameTaken(result.definition.name);
  return result.definition;
}

export function completePlan(
  deps: PlanDeps,
  definitions: readonly TableDefinition[],
  { own: wanted, steps, fills, undoes }: Pick<ChangePlan, "own" | "steps" | "fills" | "undoes">,
): ChangePlan {
  const { id: table } = wanted.from === undefined ? wanted.to : wanted.from;
  const own = withEpoch(wanted);
  const followers = own.from === undefined || own.to === undefined ? [] : follow(definitions, own);
  const built = builtTables(deps, definitions, table, [own, ...followers]);
  const plan = { steps, fills, undoes, table, own, followers, ...built };
  requireRoomForIndexes(plan);
  const { before, after, catalogs } = built;
  const counted = (after && newlyDerived(before, after)?.counted) ?? [];
  const parents = counted.map(({ target }) => target);
  requireRoomInParents(catalogs.after, parents, { areThere: true });
  return plan;
}

function withEpoch(own: DefinitionChange): DefinitionChange {
  const { from, to } = own;
  if (to === undefined) return own;
  return { from, to: from === undefined ? withEpochOfReturn(to) : withJournalEpoch(from, to) };
}

/** Relations of other tables refer to the table by its name, so they follow when it changes. */
function follow(definitions: readonly TableDefinition[], { from, to }: Changed): Changed[] {
  if (from.name === to.name) return [];
  const leads = (table: TableDefinition): boolean =>
    table.id !== from.id && table.relations.some((relation) => relation.table === from.name);
  return definitions.filter(leads).map((table) => ({
    from: table,
    to: {
      ...table,
      relations: table.relations.map((relation) =>
        relation.table === from.name ? { ...relation, table: to.name } : relation,
      ),
    },
  }));
}

/** All definitions that change, including the followers. */
export function changedDefinitions({
  own,
  followers,
}: Pick<ChangePlan, "own" | "followers">): DefinitionChange[] {
  return [own, ...followers];
}

/**
 * A table as it is and as it will be, with both ends of all relations.
 * @param table its id
 * @param changed all definitions that change with it, including its own
 */
export function builtTables(
  { systemTables }: Pick<PlanDeps, "systemTables">,
  definitions: readonly TableDefinition[],
  table: string,
  changed: readonly DefinitionChange[],
): Pick<ChangePlan, "before" | "after" | "catalogs"> {
  const ids = new Set(changed.map(({ from, to }) => (from ?? to)?.id));
  const rest = definitions.filter((each) => !ids.has(each.id));
  const build = (which: "from" | "to"): Catalog =>
    buildCatalog(0, [...rest, ...changed.flatMap((each) => each[which] ?? [])], systemTables);
  const catalogs = { before: build("from"), after: build("to") };
  return {
    catalogs,
    before: tableById(catalogs.before, table),
    after: tableById(catalogs.after, table),
  };
}

/** The indexes to build and to drop. */
export function indexChanges({ before, after }: Pick<ChangePlan, "before" | "after">): {
  readonly build: readonly IndexSpec[];
  readonly drop: readonly IndexSpec[];
} {
  const key = (spec: IndexSpec): string => `${keyIdentity(spec.key)} ${spec.unique} ${spec.absent ?? ""}`;
  const [former, wanted] = [before, after].map((table) => (table === undefined ? [] : indexesOf(table)));
  const without = (list: readonly IndexSpec[] = [], other: readonly IndexSpec[] = []): IndexSpec[] => {
    const known = new Set(other.map(key));
    return list.filter((spec) => !known.has(key(spec)));
  };
  // A deleted table keeps its indexes: it may come back.
  return { build: without(wanted, former), drop: after === undefined ? [] : without(former, wanted) };
}

/** An index that a number of children gives to another table; for a table that refers to itself, it is among its own. */
export interface NumberIndex {
  readonly parents: Table;
  readonly index: IndexSpec;
}

type Tables = Pick<ChangePlan, "before" | "after" | "catalogs">;

/** For numbers that will now be kept. */
export function numbersKept({ before, after, catalogs }: Tables): NumberIndex[] {
  return numberIndexes(catalogs.after, after, before);
}

/** For numbers that will no longer be kept. */
export function numbersLeft({ before, after, catalogs }: Tables): NumberIndex[] {
  return numberIndexes(catalogs.before, before, after);
}

/** @param other numbers that this one keeps as well are left out */
export function numberIndexes(catalog: Catalog, table: Table | undefined, other?: Table): NumberIndex[] {
  const countersOf = (of: Table | undefined): Counter[] => (of === undefined ? [] : ownCounters(of));
  const keyOf = ({ id, parents }: Counter): string => `${id} ${parents}`;
  const known = new Set(countersOf(other).map(keyOf));
  return countersOf(table).flatMap((counter) => {
    const parents = [...catalog.tables.values()].find(({ collection }) => collection === counter.parents);
    if (parents === undefined || parents.id === table?.id || known.has(keyOf(counter))) return [];
    return [{ parents, index: counterIndex(counter) }];
  });
}

function requireRoomForIndexes(plan: Pick<ChangePlan, "before" | "after">): void {
  if (plan.after === undefined) return;
  const tooMany = tooManyIndexes(plan.after);
  if (tooMany !== undefined) throw schemaError([tooMany]);
  const meanwhile = indexesOf(plan.after).length + indexChanges(plan).drop.length;
  // While a change is being made, former and new indexes exist side by side.
  if (meanwhile + 1 > MAX_INDEXES_OF_COLLECTION)
    throw schemaError([`indexes: too many change at once; remove some first, then add the new ones`]);
}

/**
 * A number of children that will be kept gives the other table an index.
 * @param parents names of the tables that get such a number, once for each
 * @param areThere whether these tables show their new numbers already
 * @throws AppError 422
 */
export function requireRoomInParents(
  { tables }: Catalog,
  parents: readonly string[],
  { areThere }: { readonly areThere: boolean },
): void {
  const full = [...new Set(parents)].filter((name) => {
    const table = tables.get(name);
    const coming = areThere ? 0 : parents.filter((each) => each === name).length;
    return table !== undefined && indexesOf(table).length + coming > MAX_INDEXES;
  });
  if (full.length > 0)
    throw schemaError(full.map((name) => `relations: "${name}" would have more than ${MAX_INDEXES} indexes`));
}

/**
 * What a client confirms: this change of this definition with these costs. It includes neither the ids that new members
 * would get nor the numbers of records, which keep changing.
 * @param costs what is lost or may fail
 */
export function confirmHash(
  plan: ChangePlan,
  costs: readonly { what: string; where: string; why: string }[],
): string {
  const { from, to } = plan.own;
  const known = new Set([...(from?.columns ?? []), ...(from?.relations ?? [])].map((each) => each.id));
  const added = [...(to?.columns ?? []), ...(to?.relations ?? [])].filter(({ id }) => !known.has(id));
  const kinds = costs.map(({ what, where, why }) => ({ what, where, why }));
  let text = canonical({ before: from, steps: plan.steps, kinds });
  for (const { id, name } of added) text = text.replaceAll(id, `new ${name}`);
  return hash("sha256", text, "hex");
}

/** 409 for a name that another table has. */
export function nameTaken(name: string): AppError {
  return new AppError("DUPLICATE_RESOURCE", {
    message: `name: there is a table "${name}" already`,
    details: { fields: ["name"] },
  });
}

/** Two tables on one collection would not notice each other's writes. @throws AppError 409 */
export function requireOwnCollection({ tables }: Catalog, { id, storage }: TableDefinition): void {
  const { collection } = storage;
  const other = [...tables.values()].find((table) => table.collection === collection && table.id !== id);
  if (other !== undefined)
    throw new AppError(
      "CONFLICT",
      `storage.collection: "${collection}" is the collection of the table "${other.name}"`,
    );
}

/** 422 with every problem. */
export function schemaError(problems: readonly string[]): AppError {
  return new AppError("SCHEMA_ERROR", { message: problems });
}
