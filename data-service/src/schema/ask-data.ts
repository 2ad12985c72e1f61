// Asks a table's records what a planned change would cost them, and writes what it needs written.
import { AppError } from "@portico/shared/app-error";
import type { Column, Table } from "../catalog/catalog.js";
import type { Fill, Question, Restore, Risk, Step } from "../catalog/changes.js";
import { COLUMN_TYPES, isBinary, type Stored } from "../catalog/column-types.js";
import { convertValue } from "../catalog/convert.js";
import { SINGLETON_FIELD } from "../catalog/indexes.js";
import { linkRestorer, type Restorer, restorer } from "../catalog/restore-value.js";
import { ruleProblem } from "../catalog/rules.js";
import type { Json } from "../json.js";
import { idText } from "../mongo/record-store.js";
import type { Found, Report, TableData } from "../mongo/table-data.js";
import type { Sealer } from "../records/seal.js";
import { confirmHash, type Plan, schemaError } from "./plan-change.js";

export interface DataDeps {
  readonly data: TableData;
  readonly sealer: Sealer;
}

/** What a step would do to records that are there. */
export interface Cost {
  readonly what: Step["what"] | "rule.off";
  readonly where: string;
  /** How many records are concerned. */
  readonly rows: number;
  readonly why: string;
  /** Ids of some of them. */
  readonly examples: readonly string[];
  readonly confirmed: Risk["confirmed"];
}

/** What the records have against making the change without asking. */
export async function recordCosts(deps: DataDeps, plan: Plan): Promise<Cost[]> {
  const { before } = plan;
  if (before === undefined) return [];
  const costs: Cost[] = [];
  for (const { what, where, risks } of plan.steps) {
    for (const { question, why, confirmed } of risks) {
      const { records, examples } = await ask(deps, plan, before, question);
      const ids = examples.map((id) => idText(before, id));
      if (records > 0) costs.push({ what, where, rows: records, why, examples: ids, confirmed });
    }
  }
  return costs;
}

/**
 * Lets a change pass that costs nothing, or whose costs are confirmed.
 * @param confirmed the hash of an earlier refusal
 * @throws AppError 409 DESTRUCTIVE_CHANGE with the costs and the hash to confirm them with, 422 for what is refused anyway
 */
export function requireAllowed(plan: Plan, costs: readonly Cost[], confirmed: string | undefined): void {
  const nonsense = costs.filter((cost) => cost.confirmed === "nonsense");
  if (nonsense.length > 0) throw schemaError(nonsense.map(sentence));
  if (costs.length === 0) return;
  const hash = confirmHash(plan, costs);
  const possible = costs.every((cost) => cost.confirmed !== "impossible");
  if (possible && confirmed === hash) return;
  throw destructive(costs, possible ? hash : null, confirmed !== undefined);
}

/** @param hash null when the records must be put right first */
export function destructive(costs: readonly Cost[], hash: string | null, wasConfirmed: boolean): AppError {
  const stale = wasConfirmed && hash !== null ? ["confirm: this is not the change that was shown"] : [];
  const changes = costs.map(({ confirmed, ...cost }) => ({
    ...cost,
    confirmable: confirmed !== "impossible",
  }));
  return new AppError("DESTRUCTIVE_CHANGE", {
    message: [...stale, ...costs.map(sentence)],
    details: { changes, confirmHash: hash },
  });
}

function sentence({ what, where, rows, why }: Cost): string {
  return what === "rule.off" ? `${where}: ${why}` : `${where}: ${rows} of the records ${why}`;
}

async function ask(deps: DataDeps, plan: Plan, before: Table, question: Question): Promise<Found> {
  const { data } = deps;
  switch (question.ask) {
    case "records": {
      const records = await data.count(before);
      return { records: records > question.beyond ? records : 0, examples: [] };
    }
    case "present":
      return data.withField(before, question.field, true);
    case "missing":
      return data.withField(before, question.field, false);
    case "longer":
      return data.longerThanOne(before, question.field);
    case "duplicates":
      return data.duplicates(before, question.fields);
    case "unfit":
    case "rules": {
      const { from, to } = columnPair(plan, question.member);
      const isUnfit = question.ask === "unfit" ? unfit(deps, from, to) : breaksRules(deps, from, to);
      return data.matching(before, from.field, isUnfit);
    }
  }
}

/** The column of a member before and after. */
function columnPair({ before, after }: Plan, member: string): { from: Column; to: Column } {
  const find = (table: Table | undefined): Column => {
    const column = [...(table?.columns.values() ?? [])].find((each) => each.id === member);
    if (column === undefined) throw new Error(`no column ${member}`);
    return column;
  };
  return { from: find(before), to: find(after) };
}

function jsonOf({ sealer }: DataDeps, column: Column, stored: unknown): Json {
  if (!column.encrypted) return COLUMN_TYPES[column.type].toJson(stored);
  return isBinary(stored) ? sealer.unseal(stored, column) : null;
}

function unfit(deps: DataDeps, from: Column, to: Column): (stored: unknown) => boolean {
  return (stored) => !convertValue(jsonOf(deps, from, stored), from.type, to).exact;
}

function breaksRules(deps: DataDeps, from: Column, to: Column): (stored: unknown) => boolean {
  return (stored) => {
    const { value } = convertValue(jsonOf(deps, from, stored), from.type, to);
    return value !== undefined && ruleProblem(to.type, to.rules, value) !== undefined;
  };
}

/** Writes what the new definition needs, into fields that nobody reads yet; running it again goes on where it ended. */
export async function fill(
  deps: DataDeps,
  plan: Plan,
  table: Table,
  each: Fill,
  report: Report,
): Promise<void> {
  const { data } = deps;
  if (each.kind === "mark") return data.setMissing(table, SINGLETON_FIELD, () => 1, report);
  if (each.kind === "default") {
    const to = columnOf(table, each.member);
    return data.setMissing(table, each.field, () => defaultOf(deps, to), report);
  }
  if (each.kind === "convert") {
    const { from, to } = columnPair(plan, each.member);
    return data.copy(table, each.from, each.to, converter(deps, from, to), report);
  }
  if (each.kind === "restore" || each.kind === "restoreLinks")
    return data.restore(table, each, await restorerOf(deps, plan, table, each), report);
  // Ids came from the same database and go back into it.
  const wrap = (value: unknown): Stored => [value as Stored];
  const first = (value: unknown): Stored | undefined =>
    Array.isArray(value) ? (value[0] as Stored) : undefined;
  return data.copy(table, each.from, each.to, each.kind === "wrap" ? wrap : first, report);
}

/** Would a record be left without a value in the former field? */
export async function leavesGaps(deps: DataDeps, plan: Plan, before: Table, each: Restore): Promise<boolean> {
  return deps.data.leavesGaps(before, each, await restorerOf(deps, plan, before, each));
}

async function restorerOf(deps: DataDeps, plan: Plan, table: Table, each: Restore): Promise<Restorer> {
  if (each.kind === "restoreLinks")
    return linkRestorer(each.list, await deps.data.lostLinks(table, each.to, each.target));
  const { from, to } = columnPair(plan, each.member);
  return restorer(
    from,
    to,
    (column, stored) => jsonOf(deps, column, stored),
    (column, value) => sealed(deps, column, value),
  );
}

function columnOf(table: Table, member: string): Column {
  const column = [...table.columns.values()].find((each) => each.id === member);
  if (column === undefined) throw new Error(`no column ${member} in "${table.name}"`);
  return column;
}

function converter(deps: DataDeps, from: Column, to: Column): (stored: unknown) => Stored | undefined {
  return (stored) => {
    const { value } = convertValue(jsonOf(deps, from, stored), from.type, to);
    return value === undefined ? undefined : sealed(deps, to, value);
  };
}

function defaultOf(deps: DataDeps, column: Column): Stored {
  const value = COLUMN_TYPES[column.type].parse(column.default ?? null, column.values);
  if (value === undefined) throw new Error(`the default of "${column.name}" does not fit it`);
  return sealed(deps, column, value);
}

function sealed({ sealer }: DataDeps, column: Column, value: Stored): Stored {
  return column.encrypted ? sealer.seal(COLUMN_TYPES[column.type].toJson(value), column) : value;
}
