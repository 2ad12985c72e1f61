// Bodies of new records -> what is to be written, if the rules allow it. Writes nothing.
import { isArray, type Json } from "@portico/shared/json";
import type { Table } from "../../catalog/catalog.js";
import { idText } from "../../catalog/record-ids.js";
import type { Stored } from "../../catalog/stored.js";
import type { Rights } from "../../permission/rights.js";
import type { Parameters } from "../../query/parameters.js";
import { findTable } from "../find-table.js";
import type { RecordDeps } from "../record-deps.js";
import { alternativesFor, type BodyContext, type BroughtLinks, openWrite } from "./bind-body.js";
import { checkBulk } from "./check-bulk.js";
import { type Alternative, chooseCreates } from "./choose-rule.js";
import { judgeForeign } from "./judge-foreign.js";
import type { LinkedOptions } from "./require-linked.js";
import { alone, type PathOf } from "./violations.js";
import { broughtId, type JudgedPlan, type Stamp } from "./write-plan.js";

/** Bodies of new records that are right as far as can be told without the database. */
export interface BoundCreates extends BodyContext {
  readonly given: readonly Json[];
  /** In the order of the bodies: the ways in which the rules allow each. */
  readonly bodies: readonly (readonly Alternative[])[];
}

/** Bodies of new records, and how to take them. */
export interface GivenCreates {
  readonly table: string;
  readonly body: Json;
  readonly parameters: Parameters;
  readonly isImport?: boolean;
  readonly stamp?: Stamp | undefined;
  /** Where in the request each of a list stands. */
  readonly pathOf?: PathOf;
  readonly broughtLinksOf?: (at: number) => BroughtLinks;
}

/** The table where it holds a single record. */
export function singleton(table: Table): Table | undefined {
  return table.singleton ? table : undefined;
}

/** Checks a body, or each of a list. */
export async function bindCreates(
  deps: RecordDeps,
  rights: Rights,
  { table: tableName, body, parameters, stamp, isImport = false, pathOf, broughtLinksOf }: GivenCreates,
): Promise<BoundCreates> {
  return deps.catalogs.decide((catalog) => {
    const table = findTable(catalog, tableName, rights);
    const wanted = { rights, catalog, table, mode: "create" as const, parameters };
    const context = openWrite(deps, { ...wanted, stamp, isImport });
    const bodies = checkBulk(
      body,
      (each, at) => alternativesFor(context, each, broughtLinksOf?.(at)),
      // An import tells of many lines, with its own limits for each and for all.
      isImport ? { pathOf, most: Number.POSITIVE_INFINITY } : { pathOf, single: singleton(table) },
    );
    return { ...context, given: isArray(body) ? body : [body], bodies };
  });
}

/**
 * Asks the rules about new records, and whether what they link to is there.
 * @returns in the order of the bodies, what is to be written
 */
export async function judgeCreates(
  deps: RecordDeps,
  { rights, table, catalog, given, bodies }: BoundCreates,
  { pathOf = alone, isComing = () => false, broughtLinksOf }: LinkedOptions,
): Promise<readonly JudgedPlan[]> {
  const { beforeCreate, requireFew } = deps.hooksOf(table);
  requireFew(given, rights.isRoot);
  await deps.catalogs.decide((now) => beforeCreate(now, given, { pathOf }));
  // They may link to each other; whether that is allowed is checked once they are written.
  const isAmong = among(table, bodies.flat());
  const plans = await chooseCreates(deps, table, bodies, rights.now, {
    pathOf,
    broughtLinksOf,
    isComing: (target, id) => isAmong(target, id) || isComing(target, id),
  });
  const judged: JudgedPlan[] = [];
  for (const plan of plans)
    judged.push(await judgeForeign(deps, { rights, catalog }, table, plan, { plans }));
  return judged;
}

/** Whether a record is one of those that bring an id of their own. */
function among(table: Table, alternatives: readonly Alternative[]): (target: Table, id: Stored) => boolean {
  const brought = alternatives.map(({ plan }) => broughtId(plan)).filter((id) => id !== undefined);
  const texts = new Set(brought.map((id) => idText(table, id)));
  return (target, id) => target.id === table.id && texts.has(idText(table, id));
}
