// Which rows of a batch would be refused, and why: everything that a POST does, without its writes.
import { AppError } from "@portico/shared/app-error";
import { isObject, type Json } from "@portico/shared/json";
import type { Table } from "../catalog/catalog.js";
import { COLUMN_TYPES } from "../catalog/column-types.js";
import type { Stored } from "../catalog/stored.js";
import { getOrMake } from "../get-or-make.js";
import { CallerChanged } from "../records/acting-for.js";
import { findTable } from "../records/find-table.js";
import type { RecordDeps } from "../records/record-deps.js";
import type { TableCall } from "../records/request.js";
import { checkBatch, type JudgedCreates, tryBatch } from "../records/write/create-batch.js";
import { findTaken, idKey, MOST_SEEN, mayHaveSeen, type SeenValues } from "./find-taken.js";
import type { Row } from "./rows.js";

/** A line that is not imported, and why. */
export interface Rejected {
  readonly line: number;
  readonly messages: readonly string[];
}

/** Who writes records, and where. */
export interface Target extends TableCall {
  /** The table as it is now: another one may get its name. */
  readonly into: Table;
}

/** Will a record of the file have this id by the time the row is written? */
type IsComing = (id: Stored) => boolean;

interface Judged {
  readonly rejected: Rejected[];
  /** Rows with which nothing is wrong, each considered on its own. */
  readonly good: { readonly row: Row; readonly plan: JudgedCreates["plans"][number] }[];
  of: Pick<JudgedCreates, "table" | "mayName"> | undefined;
}

/** @param seen unique values of earlier rows; grows */
export async function examine(
  deps: RecordDeps,
  target: Target,
  rows: readonly Row[],
  seen: SeenValues,
): Promise<Rejected[]> {
  const isReadable = ({ problems }: Row): boolean => problems.length === 0;
  const [readable, others] = [rows.filter(isReadable), rows.filter((row) => !isReadable(row))];
  const ids = new Map(await idsOf(deps, target, rows));
  const isComing: IsComing = (id) => ids.has(idKey(id)) || mayHaveSeen(seen, id);
  const unread = await examineUnread(deps, target, others);
  const judged = await examineReadable(deps, target, readable, seen, isComing);
  // Later rows may lead to a bad one as well, once it is right.
  for (const [key, line] of ids) if (!seen.has(key) && seen.size < MOST_SEEN) seen.set(key, line);
  return inOrder([...unread, ...judged]);
}

/** Whatever can be read of such a row is checked on its own: rules, links and uniques could depend on the rest. */
async function examineUnread(deps: RecordDeps, target: Target, rows: readonly Row[]): Promise<Rejected[]> {
  const partly = rows.filter(({ body }) => body !== undefined);
  const refusal = partly.length > 0 && (await orRefusal(checkBatch(deps, target, partly.map(bodyOfRow))));
  const found = refusal instanceof AppError ? byPosition(refusal) : undefined;
  return rows.map((row) => {
    const { line, problems, unread = [] } = row;
    const isKnown = (message: string): boolean => unread.some((name) => message.startsWith(`${name}: `));
    const more = (found?.get(partly.indexOf(row)) ?? []).filter((message) => !isKnown(message));
    return { line, messages: [...problems, ...more] };
  });
}

async function examineReadable(
  deps: RecordDeps,
  target: Target,
  rows: readonly Row[],
  seen: SeenValues,
  isComing: IsComing,
): Promise<Rejected[]> {
  const { rejected, good, of } = await judgeAll(deps, target, rows, isComing);
  if (of === undefined) return inOrder(rejected);
  const sorted = good.toSorted((a, b) => a.row.line - b.row.line);
  const plans = sorted.map(({ plan }) => plan);
  const lines = sorted.map(({ row }) => row.line);
  const taken = await findTaken(deps, of.table, plans, lines, seen, of.mayName);
  return inOrder([
    ...rejected,
    ...[...taken].map(([at, message]) => ({ line: lines[at] ?? 0, messages: [message] })),
  ]);
}

function inOrder(rejected: readonly Rejected[]): Rejected[] {
  return rejected.toSorted((a, b) => a.line - b.line);
}

/** The ids in the rows, as keys, and where they are. */
async function idsOf(
  deps: RecordDeps,
  { table }: Target,
  rows: readonly Row[],
): Promise<(readonly [key: string, line: number])[]> {
  return deps.catalogs.decide((catalog) => {
    const { type } = findTable(catalog, table).idColumn;
    return rows.flatMap((row) => {
      const body = bodyOfRow(row);
      const id = isObject(body) ? COLUMN_TYPES[type].parse(body.id ?? null, []) : undefined;
      return id === undefined ? [] : [[idKey(id), row.line] as const];
    });
  });
}

/** Checks halves until a refusal belongs to a single row; a refusal that names its rows is trusted. */
async function judgeAll(
  deps: RecordDeps,
  target: Target,
  rows: readonly Row[],
  isComing: IsComing,
): Promise<Judged> {
  const judged: Judged = { rejected: [], good: [], of: undefined };
  const open: (readonly Row[])[] = [rows];
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    if (part.length === 0) continue;
    const outcome = await orRefusal(tryBatch(deps, target, part.map(bodyOfRow), isComing));
    if (outcome instanceof AppError) open.push(...assign(outcome, part, judged));
    else {
      judged.of = outcome;
      for (const [at, plan] of outcome.plans.entries()) {
        const row = part[at];
        if (row !== undefined) judged.good.push({ row, plan });
      }
    }
  }
  return judged;
}

/** Notes which rows a refusal is about. @returns the rows that are still to be judged, in parts */
function assign(refusal: AppError, part: readonly Row[], judged: Judged): (readonly Row[])[] {
  const named = byPosition(refusal);
  if (named !== undefined) {
    const about = [...named].map(([at, messages]) => ({ line: part[at]?.line ?? 0, messages }));
    judged.rejected.push(...about);
    return [part.filter((_, at) => !named.has(at))];
  }
  const [only] = part;
  if (part.length > 1 || only === undefined) {
    const half = Math.ceil(part.length / 2);
    return [part.slice(half), part.slice(0, half)];
  }
  judged.rejected.push({ line: only.line, messages: refusal.violations });
  return [];
}

/** @throws what is not about the records */
async function orRefusal<Result>(work: Promise<Result>): Promise<Result | AppError> {
  try {
    return await work;
  } catch (error) {
    if (isAboutRecords(error)) return error;
    throw error;
  }
}

export function bodyOfRow({ body }: Row): Json {
  return body ?? null;
}

const ABOUT_RECORDS = ["VALIDATION_ERROR", "BAD_REQUEST", "FORBIDDEN", "DUPLICATE_RESOURCE", "CONFLICT"];

/** Whether a refusal is about what the records contain; any other ends the import. */
export function isAboutRecords(error: unknown): error is AppError {
  if (error instanceof CallerChanged) return false;
  return error instanceof AppError && ABOUT_RECORDS.includes(error.code);
}

const POSITION = /^\[(\d+)\](?:\.|: )/;

/** Violations in a list begin with the position of their record. @returns undefined when one does not */
export function byPosition(refusal: AppError): Map<number, string[]> | undefined {
  const messages = new Map<number, string[]>();
  for (const message of refusal.violations) {
    const position = POSITION.exec(message);
    if (position === null) return undefined;
    const at = Number(position[1]);
    getOrMake(messages, at, () => [] as string[]).push(message.slice(position[0].length));
  }
  return messages;
}
