// A table of a schema file + the present definitions -> the change that makes it what the file says, with what it would put
// beyond the reach of an undo.
import type { Step } from "../catalog/changes.js";
import type { ColumnDefinition, RelationDefinition, TableDefinition } from "../catalog/definition.js";
import type { Question, Risk } from "../catalog/risks.js";
import { changeBody, type FileTable } from "../catalog/schema-file.js";
import { systemTableNames } from "../catalog/system-tables.js";
import type { TableChange } from "../mongo/change-store.js";
import type { ChangeDeps } from "./change-deps.js";
import { keptSince } from "./change-table.js";
import { type ChangePlan, planChange } from "./plan-change.js";
import { ownTransition } from "./stored-change.js";

/** @throws AppError as `planChange` */
export async function planToFile(
  deps: ChangeDeps,
  definitions: readonly TableDefinition[],
  existing: TableDefinition,
  table: FileTable,
): Promise<ChangePlan> {
  const plan = planChange(deps, definitions, existing.id, changeBody(table, existing), { ownIds: true });
  if (!plan.steps.some(addsMember)) return plan;
  const risks = await risksOf(deps, plan);
  const withRisk = (step: Step): Step => {
    const risk = addsMember(step) ? risks.get(idIn(step.to)) : undefined;
    return risk === undefined ? step : { ...step, risks: [...step.risks, risk] };
  };
  return { ...plan, steps: plan.steps.map(withRisk) };
}

/** By the ids of the members that an undo could bring back, and whose values will be in another field. */
async function risksOf(
  { changes, clock, systemTablePrefix }: ChangeDeps,
  { table, own }: ChangePlan,
): Promise<ReadonlyMap<string | undefined, Risk>> {
  const since = keptSince(clock.now());
  const kept = (await changes.undoable(table, since)).flatMap(removedBy);
  const undo = `POST /${systemTableNames(systemTablePrefix).tables}/${table}/undo`;
  return new Map(
    Object.entries(own.to?.storage.fields ?? {}).flatMap(([id, field]) => {
      const last = kept.find(({ member }) => member.id === id);
      // Documents of others show it in the same field again.
      return last === undefined || last.field === field ? [] : [[id, leftBehind(last, undo)] as const];
    }),
  );
}

function addsMember({ what }: Step): boolean {
  return what === "column.add" || what === "relation.add";
}

function idIn(member: Step["to"]): string | undefined {
  const id = typeof member === "object" && member !== null && "id" in member ? member.id : undefined;
  return typeof id === "string" ? id : undefined;
}

/** A member that was removed, whose values an undo would bring back. */
interface Kept {
  readonly member: ColumnDefinition | RelationDefinition;
  readonly field: string;
  readonly at: Date;
}

function removedBy(change: TableChange): Kept[] {
  const own = ownTransition(change);
  if (own === undefined) return [];
  const { before, after } = own;
  const left = new Set([...after.columns, ...after.relations].map(({ id }) => id));
  return [...before.columns, ...before.relations].flatMap((member): Kept[] => {
    const field = before.storage.fields[member.id];
    return left.has(member.id) || field === undefined ? [] : [{ member, field, at: change.at }];
  });
}

/** Under the same id, in another field, it is the removed member to an undo, which has nothing to bring back then. */
function leftBehind({ member, field, at }: Kept, undo: string): Risk {
  const isList = member.type === "many-to-many";
  const question: Question = { ask: isList ? "linked" : "present", field };
  const what = "table" in member ? "link" : "value";
  const day = at.toISOString().slice(0, 10);
  const why =
    `have a ${what} from before it was removed on ${day}, which no undo could bring back any more: it would be made ` +
    `anew, without it; undo the removal and what was changed after it instead to keep it (${undo}, once for each change)`;
  return { question, why, confirmed: "lost" };
}
