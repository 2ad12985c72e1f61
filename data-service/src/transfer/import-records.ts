// POST /{table}/import: a file of records, read as it arrives and written in batches, each record as by a POST.
//
// A batch is written completely or not at all, unless it brings ids and its process dies (see create-batch). The first one
// with a problem ends the import: what came before it stays, and the answer says at which line to continue. A dry run reads on
// to the end, or to a hundred bad lines, and writes nothing.

import { AppError } from "@portico/shared/app-error";
import type { LastingCaller } from "../lasting-caller.js";
import { asRefusal } from "../mongo/driver-errors.js";
import { CallerChanged } from "../records/acting-for.js";
import { decideAs } from "../records/decide-as.js";
import { findTable, requireSameNames } from "../records/find-table.js";
import type { RecordDeps } from "../records/record-deps.js";
import { createBatch } from "../records/write/create-batch.js";
import { bindHeader } from "./bind-header.js";
import { bodyOfRow, byPosition, examine, isAboutRecords, type Rejected, type Target } from "./examine.js";
import type { SeenValues } from "./find-taken.js";
import { csvRows } from "./read-csv.js";
import { ndjsonRows } from "./read-ndjson.js";
import { MOST_MESSAGES, type Row } from "./rows.js";

/** Enough to make a round trip worth it, few enough that a bad line costs little of what comes before it. */
const BATCH_RECORDS = 500;
/** About as much memory as a batch may take. */
const BATCH_BYTES = 4 * 1024 * 1024;
/** How many lines an answer reports. */
const MOST_REJECTED = 100;

export interface ImportRequest {
  readonly caller: LastingCaller;
  readonly table: string;
  readonly format: "csv" | "ndjson";
  readonly source: AsyncIterable<Uint8Array>;
  /** One record may be as large as the body of one POST. */
  readonly maxRowBytes: number;
  readonly dryRun: boolean;
  /** Records that begin before this line are skipped: they exist from an earlier import. */
  readonly from: number;
}

export interface Imported {
  readonly imported: number;
  /** Records that were looked at, not counting skipped ones. */
  readonly checked: number;
  readonly dryRun: boolean;
}

/** How far an import has come. */
interface Progress {
  imported: number;
  checked: number;
  /** The line at which the first record begins that is not imported. */
  next: number;
  readonly rejected: Rejected[];
  readonly seen: SeenValues;
  /** What stays of a batch that was refused, as its refusal says. */
  kept?: unknown;
}

/**
 * @throws AppError 400 with the bad lines, 503 while the disk is nearly full; the `details` of any refusal say how much is
 * imported
 */
export async function importRecords(deps: RecordDeps, request: ImportRequest): Promise<Imported> {
  const { into } = await importTarget(deps, request);
  const targetNow = async (): Promise<Target> => {
    const target = await importTarget(deps, request);
    requireSameNames(target.into, into);
    return target;
  };
  const progress: Progress = { imported: 0, checked: 0, next: request.from, rejected: [], seen: new Map() };
  try {
    for await (const batch of batchesOf(rowsOf(deps, request), request.from)) {
      // A header that can't be read stands before the line to go on from; the records up to there are imported all the same.
      progress.next = Math.max(progress.next, batch[0]?.line ?? 0);
      if (!request.dryRun) await deps.requireSpace?.();
      await takeBatch(deps, request, targetNow, batch, progress);
      const isOver = request.dryRun
        ? progress.rejected.length >= MOST_REJECTED
        : progress.rejected.length > 0;
      if (isOver) break;
    }
  } catch (error) {
    throw interrupted(error, request, progress);
  }
  if (progress.rejected.length > 0) throw refusalOf(request, progress);
  return { imported: progress.imported, checked: progress.checked, dryRun: request.dryRun };
}

/**
 * Checked before anything is read, and again before each batch, because rights may end meanwhile. The records of Portico's
 * own tables are made by calls that do more than write.
 */
async function importTarget(deps: RecordDeps, { caller, table: name }: ImportRequest): Promise<Target> {
  const principal = await caller.now();
  const into = await decideAs(deps, principal, ({ rights, catalog }) => {
    const table = findTable(catalog, name);
    rights.require(catalog, table, "create");
    if (table.system)
      throw new AppError("BAD_REQUEST", `"${table.name}" is a table of Portico itself and takes no import.`);
    return table;
  });
  return { principal, caller, table: name, into };
}

function rowsOf(deps: RecordDeps, request: ImportRequest): AsyncIterable<Row> {
  const { maxRowBytes } = request;
  const source = whileAllowed(request);
  if (request.format === "ndjson") return ndjsonRows(source, maxRowBytes);
  return csvRows(source, maxRowBytes, async (names) =>
    bindHeader(deps, { principal: await request.caller.now(), table: request.table }, names),
  );
}

/** What is skipped, or empty, makes no batch before which the caller is looked at. */
async function* whileAllowed({ source, caller }: ImportRequest): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) {
    await caller.now();
    yield chunk;
  }
}

/** Rows from the given line on, in batches of limited size. */
async function* batchesOf(rows: AsyncIterable<Row>, from: number): AsyncGenerator<Row[]> {
  let batch: Row[] = [];
  let size = 0;
  for await (const row of rows) {
    if (row.line < from && !row.isLast) continue;
    batch.push(row);
    size += row.size;
    if (batch.length < BATCH_RECORDS && size < BATCH_BYTES) continue;
    yield batch;
    batch = [];
    size = 0;
  }
  if (batch.length > 0) yield batch;
}

async function takeBatch(
  deps: RecordDeps,
  { dryRun }: ImportRequest,
  targetNow: () => Promise<Target>,
  batch: readonly Row[],
  progress: Progress,
): Promise<void> {
  const target = await targetNow();
  progress.checked += batch.length;
  const isReadable = batch.every(({ problems }) => problems.length === 0);
  if (!dryRun && isReadable) {
    const refusal = await writeBatch(deps, target, batch).catch(async (error: unknown) => {
      // Nothing of it is written then: who has another role by now goes on by the rules of that one.
      if (error instanceof CallerChanged) return writeBatch(deps, await targetNow(), batch);
      throw error;
    });
    if (refusal === undefined) {
      progress.imported += batch.length;
      progress.next = (batch.at(-1)?.line ?? progress.next) + 1;
      return;
    }
    progress.kept = refusal.details?.kept;
    // What was refused may be the caller by now, or the table, and not the records.
    progress.rejected.push(...(await examine(deps, await targetNow(), batch, new Map())));
    // It was refused, but nothing is wrong with it now: somebody else was in the way, and is gone.
    if (progress.rejected.length === 0) progress.rejected.push(someLineOf(batch, refusal));
  } else {
    progress.rejected.push(...(await examine(deps, target, batch, dryRun ? progress.seen : new Map())));
  }
}

/** For a refusal that no line causes on its own, or any more; and for one that only the database can tell. */
function someLineOf(batch: readonly Row[], refusal: AppError): Rejected {
  const [first, last] = [batch[0]?.line ?? 0, batch.at(-1)?.line ?? 0];
  for (const [at, messages] of byPosition(refusal) ?? []) {
    const line = batch[at]?.line;
    if (line !== undefined) return { line, messages };
  }
  if (batch.length === 1) return { line: first, messages: refusal.violations };
  const messages = refusal.violations.map((message) => `or one of those up to ${last}: ${message}`);
  return { line: first, messages };
}

/** @returns why the batch was refused @throws what is not about its records */
async function writeBatch(
  deps: RecordDeps,
  target: Target,
  batch: readonly Row[],
): Promise<AppError | undefined> {
  try {
    await createBatch(deps, target, batch.map(bodyOfRow));
    return undefined;
  } catch (error) {
    if (isAboutRecords(error)) return error;
    throw error;
  }
}

function refusalOf(request: ImportRequest, progress: Progress): AppError {
  const rejected = progress.rejected.slice(0, MOST_REJECTED);
  const lines = rejected.map(({ line, messages }) => ({ line, messages: messages.slice(0, MOST_MESSAGES) }));
  return new AppError("VALIDATION_ERROR", {
    message: lines.flatMap(({ line, messages }) => messages.map((message) => `line ${line}: ${message}`)),
    details: { ...stateOf(request, progress), rejected: lines },
  });
}

/** Whatever ends an import halfway, the client is told how much was imported. */
function interrupted(error: unknown, request: ImportRequest, progress: Progress): unknown {
  const refusal = asRefusal(error);
  const cause = refusal instanceof AppError ? refusal : new AppError("INTERNAL_ERROR", { cause: error });
  const { code, messages, headers, details } = cause;
  return new AppError(code, {
    message: messages,
    headers,
    cause: cause.cause ?? error,
    details: { ...details, ...stateOf(request, progress) },
  });
}

function stateOf({ dryRun }: ImportRequest, { imported, next, kept }: Progress) {
  return { imported, dryRun, ...(dryRun ? {} : { next }), ...(kept === undefined ? {} : { kept }) };
}
