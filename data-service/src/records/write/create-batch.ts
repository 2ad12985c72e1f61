// The records of one batch of an import: written, or only tried.
import type { Json } from "@portico/shared/json";
import type { Column, Relation, Table } from "../../catalog/catalog.js";
import type { Stored } from "../../catalog/stored.js";
import { PLAIN } from "../body/bind-body.js";
import { bindCreates, type GivenCreates, judgeCreates } from "../body/judge-creates.js";
import { pathIn } from "../body/violations.js";
import { broughtId, type JudgedPlan } from "../body/write-plan.js";
import { requireSameNames } from "../find-table.js";
import type { RecordShape } from "../read/read-one.js";
import type { RecordDeps } from "../record-deps.js";
import type { TableCall } from "../request.js";
import { allOrNone } from "../whole/all-or-none.js";
import { prepareCreate } from "./run-create.js";
import { mayName } from "./tell-taken.js";
import { writing } from "./writing.js";

function importOf({ table }: TableCall, bodies: readonly Json[]): GivenCreates {
  return { table, body: bodies, parameters: PLAIN, isImport: true };
}

/**
 * Creates the records of one batch of an import, all or none, as a POST of a list does; nothing is read for an answer.
 * @throws AppError 409 where another table has got the name of `into`, or another column one of its names
 */
export async function createBatch(
  given: RecordDeps,
  call: TableCall & { readonly into: Table },
  bodies: readonly Json[],
): Promise<void> {
  await writing(given, call, async (deps, rights) => {
    const bound = await bindCreates(deps, rights, importOf(call, bodies));
    requireSameNames(bound.table, call.into);
    const pathOf = pathIn(bodies);
    const plans = await judgeCreates(deps, bound, { pathOf });
    // After a crash nobody could tell those that were written from other records with their ids. Nor need they be: the
    // import goes on where it was cut off.
    const bringsIds = plans.some((plan) => broughtId(plan) !== undefined);
    await allOrNone(deps, { table: bound.table, needsNote: !bringsIds }, (noted) =>
      prepareCreate(noted, bound.table, plans, pathOf),
    );
    await deps.hooksOf(bound.table).afterWrite([]);
  });
}

/** New records that may be written, as far as their rules and their bodies go. */
export interface JudgedCreates {
  readonly table: Table;
  readonly shape: RecordShape;
  /** In the order of the bodies. */
  readonly plans: readonly JudgedPlan[];
  /** Whether the caller may hear of a member. */
  readonly mayName: (member: Column | Relation) => boolean;
}

/** Refuses bodies whose values are wrong, whatever the rules' checks and the database would say. Writes nothing. */
export async function checkBatch(given: RecordDeps, call: TableCall, bodies: readonly Json[]): Promise<void> {
  await writing(given, call, async (deps, rights) => {
    await bindCreates(deps, rights, importOf(call, bodies));
  });
}

/**
 * What `createBatch` would refuse of a batch, except for values that are taken. Writes nothing.
 * @param isComing tells the ids of other records that will exist by then, where root brings ids
 */
export async function tryBatch(
  given: RecordDeps,
  call: TableCall,
  bodies: readonly Json[],
  isComing: (id: Stored) => boolean,
): Promise<JudgedCreates> {
  return writing(given, call, async (deps, rights) => {
    const bound = await bindCreates(deps, rights, importOf(call, bodies));
    const plans = await judgeCreates(deps, bound, {
      pathOf: pathIn(bodies),
      isComing: (target, id) => rights.isRoot && target.id === bound.table.id && isComing(id),
    });
    const { table, catalog } = bound;
    return { ...bound, plans, mayName: (member) => mayName(rights, catalog, table, member) };
  });
}
