// Asks a table's records what a planned change would cost them, and writes what it has to write.
import { AppError } from "@portico/shared/app-error";
import type { Json } from "@portico/shared/json";
import { isBinary } from "../catalog/bson-json.js";
import { buildColumn } from "../catalog/build-catalog.js";
import type { Column, Table } from "../catalog/catalog.js";
import type { Transition } from "../catalog/changed-fields.js";
import type { Step } from "../catalog/changes.js";
import { COLUMN_TYPES } from "../catalog/column-types.js";
import { convertValue } from "../catalog/convert.js";
import type { TableDefinition } from "../catalog/definition.js";
import type { Fill, Restore } from "../catalog/fills.js";
import { SINGLETON_FIELD } from "../catalog/indexes.js";
import { idText } from "../catalog/record-ids.js";
import {
  isMade,
  linkRestorer,
  type Made,
  type Restorer,
  restorer,
  sameValue,
  unlessOthers,
} from "../catalog/restore-value.js";
import type { Question, Risk } from "../catalog/risks.js";
import { brokenRules } from "../catalog/rules.js";
import type { Stored } from "../catalog/stored.js";
import type { TableData } from "../mongo/table-data.js";
import type { Found, Test } from "../mongo/table-questions.js";
import type { Report, Rewrite } from "../mongo/table-writes.js";
import { asStored } from "../query/as-read.js";
import type { Sealer } from "../records/write/seal.js";
import { firstLink, listRelation, withoutLivingLinks } from "./ask-links.js";
import { type ChangePlan, confirmHash, schemaError } from "./plan-change.js";

export interface DataDeps {
  readonly data: TableData;
  readonly sealer: Sealer;
}

/** What a step would do to existing records. */
export interface Cost {
  readonly what: Step["what"] | "rule.off";
  readonly where: string;
  /** How many records are affected. */
  readonly rows: number;
  readonly why: string;
  /** Numbers that keep changing with the records, so they are not part of what is confirmed. */
  readonly tally?: string | undefined;
  /** The same with a record's value, only for the client: neither a log nor the table's own record may have it. */
  readonly tallyShown?: string | undefined;
  /** Ids of some of them. */
  readonly examples: readonly string[];
  readonly confirmed: Risk["confirmed"];
}

/** What in the records keeps the change from being made without asking. */
export async function recordCosts(deps: DataDeps, plan: ChangePlan): Promise<Cost[]> {
  const { before } = plan;
  if (before === undefined) return [];
  const costs: Cost[] = [];
  for (const { what, where, risks } of plan.steps) {
    for (const risk of risks) {
      const { records, examples, gone = 0, ...tallies } = await ask(deps, plan, before, risk.question);
      const whenGone = gone > 0 ? risk.whenGone : undefined;
      const { why, confirmed } = whenGone ?? risk;
      const told = risk.question.ask === "cut" && whenGone === undefined ? {} : tallies;
      const ids = examples.map((id) => idText(before, id));
      if (records > 0) costs.push({ what, where, rows: records, why, ...told, examples: ids, confirmed });
    }
  }
  return costs;
}

/**
 * Lets a change pass if it costs nothing, or if its costs are confirmed.
 * @param confirmed the hash of an earlier refusal
 * @throws AppError 409 DESTRUCTIVE_CHANGE with the costs and the hash to confirm them with, 422 for what is refused in any
 * case
 */
export function requireAllowed(
  plan: ChangePlan,
  costs: readonly Cost[],
  confirmed: string | undefined,
): void {
  const nonsense = costs.filter((cost) => cost.confirmed === "nonsense");
  if (nonsense.length > 0) throw schemaError(nonsense.map(sentence));
  if (costs.length === 0) return;
  const hash = confirmHash(plan, costs);
  const possible = costs.every((cost) => cost.confirmed !== "impossible");
  if (possible && confirmed === hash) return;
  throw destructive(costs, { hash: possible ? hash : null, wasConfirmed: confirmed !== undefined });
}

interface Confirmation {
  /** Null when the records must be put right first. */
  readonly hash: string | null;
  readonly wasConfirmed: boolean;
}

export function destructive(costs: readonly Cost[], { hash, wasConfirmed }: Confirmation): AppError {
  const stale = wasConfirmed && hash !== null ? ["confirm: this is not the change that was shown"] : [];
  const changes = costs.map(({ confirmed, why, tally: _numbers, tallyShown = "", ...cost }) => ({
    ...cost,
    why: `${why}${tallyShown}`,
    confirmable: confirmed !== "impossible",
  }));
  return new AppError("DESTRUCTIVE_CHANGE", {
    message: [...stale, ...costs.map(sentence)],
    details: { changes, confirmHash: hash },
  });
}

function sentence({ what, where, rows, why, tally = "" }: Cost): string {
  return what === "rule.off" ? `${where}: ${why}` : `${where}: ${rows} of the records ${why}${tally}`;
}

interface Answer extends Found, Pick<Cost, "tally" | "tallyShown"> {
  /** How many of the records would be left without their value. */
  readonly gone?: number;
}

async function ask(deps: DataDeps, plan: ChangePlan, before: Table, question: Question): Promise<Answer> {
  const { data } = deps;
  switch (question.ask) {
    case "records":
    case "living": {
      const records = await (question.ask === "living" ? data.countLiving(before) : data.count(before));
      return { records: records > question.beyond ? records : 0, examples: [] };
    }
    case "linked":
      return data.withLinks(before, question.field, "some");
    case "present":
    case "missing":
    case "longer":
      return askField(deps, plan, before, question);
    case "duplicates":
      return data.duplicates(before, question.fields, filledIn(deps, plan));
    case "unfit":
    case "cut": {
      const { from, to } = columnPair(plan, question.member);
      const { isUnfit, goneCount, tallies } = misfits(deps, before, from, to);
      const found = await data.matching(before, from.field, isUnfit);
      return { ...found, gone: goneCount(), ...tallies() };
    }
    case "rules": {
      const { from, to } = columnPair(plan, question.member);
      return data.matching(before, from.field, breaksRules(deps, before, from, to));
    }
  }
}

type FieldQuestion = Extract<Question, { readonly ask: "present" | "missing" | "longer" }>;

function askField({ data }: DataDeps, plan: ChangePlan, before: Table, { ask, field }: FieldQuestion) {
  // Links to deleted records are lost with the others.
  if (ask === "longer") return data.withLinks(before, field, "several");
  const list = listRelation(before, field);
  if (list !== undefined)
    return ask === "missing"
      ? withoutLivingLinks(data, plan, before, list)
      : data.withLinks(before, field, "some");
  return ask === "missing" ? data.withoutValue(before, field) : data.withValue(before, field);
}

/** The defaults that records without a value will get, by field; those for converted values are known only later. */
function filledIn(deps: DataDeps, { fills, after }: ChangePlan): ReadonlyMap<string, Stored> {
  const converted = new Set(fills.flatMap((each) => (each.kind === "convert" ? [each.to] : [])));
  return new Map(
    fills.flatMap((each) => {
      if (each.kind !== "default" || after === undefined || converted.has(each.field)) return [];
      const column = columnOf(after, each.member);
      return column.encrypted ? [] : [[each.field, defaultOf(deps, column)] as const];
    }),
  );
}

/** The column of a member before and after. */
function columnPair({ before, after }: ChangePlan, member: string): { from: Column; to: Column } {
  return { from: columnOf(before, member), to: columnOf(after, member) };
}

/**
 * @param id of the record, where it is known
 * @throws AppError 409 for what another key has sealed: it can't be carried over, and is not given up unasked
 */
function jsonOf({ sealer }: DataDeps, table: Table, column: Column, stored: unknown, id?: unknown): Json {
  if (!column.encrypted) return COLUMN_TYPES[column.type].toJson(stored);
  if (!isBinary(stored)) return null;
  try {
    return sealer.unseal(stored, column);
  } catch (cause) {
    const record = id === undefined ? "a record" : `the record ${idText(table, id)}`;
    const remedy = `if its ENCRYPTION_KEY is lost, write another value or null there first, or remove the column`;
    const message = `${column.name}: the value of ${record} of "${table.name}" can't be decrypted; ${remedy}`;
    throw new AppError("CONFLICT", { message, cause });
  }
}

/** A longer value would say no more than a short one. Two ids of 36 characters have room. */
const SAMPLE_CHARACTERS = 80;

/** While values are looked at, tells those for which the new type has no value from those that it changes. */
function misfits(deps: DataDeps, table: Table, from: Column, to: Column) {
  const isShown = [from, to].every(({ hidden, encrypted }) => !hidden && !encrypted);
  let [gone, changed] = [0, 0];
  let sample: string | undefined;
  const isUnfit = (stored: unknown, id: unknown): boolean => {
    const json = jsonOf(deps, table, from, stored, id);
    const { value, exact } = convertValue(json, from.type, to);
    if (exact) return false;
    if (value === undefined) gone += 1;
    else {
      changed += 1;
      const text = `${JSON.stringify(json)} → ${JSON.stringify(COLUMN_TYPES[to.type].toJson(value))}`;
      if (isShown && text.length <= SAMPLE_CHARACTERS) sample ??= text;
    }
    return true;
  };
  const tallies = (): Pick<Cost, "tally" | "tallyShown"> => {
    const loses = gone === 0 ? [] : [`${gone} ${outcome(to, gone === 1)}`];
    const keeps = changed === 0 ? [] : [`${changed} ${changed === 1 ? "changes" : "change"}`];
    const tally = [...loses, ...keeps].join(", ");
    return { tally: ` (${tally})`, tallyShown: ` (${tally}${sample === undefined ? "" : `: ${sample}`})` };
  };
  return { isUnfit, goneCount: () => gone, tallies };
}

/** What becomes of a value that does not fit into the column. */
function outcome({ required, default: instead }: Column, isOne: boolean): string {
  if (required && instead === undefined) return "would be left without a value";
  return `${isOne ? "becomes" : "become"} ${required ? "the default" : "null"}`;
}

function breaksRules(deps: DataDeps, table: Table, from: Column, to: Column): Test {
  return (stored, id) => {
    const { value } = convertValue(jsonOf(deps, table, from, stored, id), from.type, to);
    return value !== undefined && brokenRules(to.type, to.rules, value).length > 0;
  };
}

/**
 * Writes what the new definition needs, into fields that nobody reads yet; running it again continues where it stopped.
 */
export async function fill(
  deps: DataDeps,
  plan: ChangePlan,
  table: Table,
  each: Fill,
  report: Report,
): Promise<void> {
  const { data } = deps;
  if (each.kind === "mark") return data.setMissing(table, { field: SINGLETON_FIELD }, () => 1, report);
  if (each.kind === "default") {
    const to = columnOf(table, each.member);
    const where = { field: each.field, mark: each.mark, nulls: to.required };
    return data.setMissing(table, where, () => defaultOf(deps, to), report);
  }
  if (each.kind === "convert") {
    const { from, to } = columnPair(plan, each.member);
    return data.copy(table, each, converter(deps, table, from, to), report);
  }
  if (each.kind === "restore" || each.kind === "restoreLinks")
    return data.restore(table, each, await restorerOf(deps, plan, table, each), report);
  // Where another program has left a list in the place of a link, it is one of links from now on.
  const wrap = (value: unknown): Stored => (Array.isArray(value) ? asStored(value) : [asStored(value)]);
  const { before = table } = plan;
  const rewrite = each.kind === "wrap" ? wrap : await firstLink(data, plan, before, each.from);
  return data.copy(table, each, rewrite, report);
}

/** Would a record be left without a value in the former field? */
export async function leavesGaps(
  deps: DataDeps,
  plan: ChangePlan,
  before: Table,
  each: Restore,
): Promise<boolean> {
  return deps.data.leavesGaps(before, each, await restorerOf(deps, plan, before, each));
}

async function restorerOf(deps: DataDeps, plan: ChangePlan, table: Table, each: Restore): Promise<Restorer> {
  if (each.kind === "restoreLinks") {
    const lost = await deps.data.lostLinks(table, each.former, each.target);
    const target = [...plan.catalogs.after.tables.values()].find(
      ({ collection }) => collection === each.target,
    );
    const restore = linkRestorer(each.list, lost, target?.deletedAt !== undefined);
    return each.note === undefined ? restore : unlessOthers(restore, sameValue);
  }
  const { from, to } = columnPair(plan, each.member);
  const read = (column: Column, stored: unknown): Json => jsonOf(deps, table, column, stored);
  const [first, ...others] = each.path.map((change) => madeBy(change, each.member));
  const made = [first ?? { from: to, to: from }, ...others] as const;
  const back = { column: to, now: from, made };
  const restore = restorer(back, read, (column, value) => sealed(deps, column, value));
  if (each.note === undefined) return restore;
  return unlessOthers(restore, each.note.holds === "made" ? isMade(made[0].to, to, read) : sameValue);
}

function madeBy({ before, after }: Transition, member: string): Made {
  const of = (table: TableDefinition): Column => {
    const column = table.columns.find(({ id }) => id === member);
    if (column === undefined) throw new Error(`no column ${member} in "${table.name}"`);
    return buildColumn(table, column);
  };
  return { from: of(before), to: of(after) };
}

function columnOf(table: Table | undefined, member: string): Column {
  const column = [...(table?.columns.values() ?? [])].find((each) => each.id === member);
  if (column === undefined) throw new Error(`no column ${member} in "${table?.name}"`);
  return column;
}

function converter(deps: DataDeps, table: Table, from: Column, to: Column): Rewrite {
  return (stored, id) => {
    const { value } = convertValue(jsonOf(deps, table, from, stored, id), from.type, to);
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
