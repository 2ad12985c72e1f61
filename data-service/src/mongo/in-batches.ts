// Reads of any length: documents some at a time, so that never many are held, however large they are.
import type { AbstractCursor, Db, RunCommandCursor } from "mongodb";
import type { Table } from "../catalog/catalog.js";
import type { Stage, StoredRecord } from "../query/lower/document.js";
import { tookTooLong } from "../store-refusals.js";
import type { InTurn } from "../turns.js";
import { isInterrupted } from "./driver-errors.js";
import { BYTES_AT_ONCE, RawDocuments } from "./raw-documents.js";
import { READ_OPTIONS, readCommand } from "./whole-answer.js";

/** Documents of a list call: few enough to be sent at once or streamed. */
export const BATCH_SIZE = 500;
/** A stream begins with this many, which show how large its documents are. */
const FIRST_BATCH_SIZE = 10;
/** How many documents of a batch are weighed. */
const WEIGHED = 3;
/** How many documents are taken out of a batch together. */
const AT_ONCE = 50;
/** How often to check whether a cursor that must be killed is open yet. */
const OPENING_MS = 20;
/** Of each wait for documents; all of them together may take any time. */
interface BatchLimits {
  readonly limitMs: number;
  /** Ends it, in the database as well. */
  readonly signal: AbortSignal | undefined;
  /** Asks the database for each batch. */
  readonly inTurn: InTurn;
}

/** Runs a pipeline and returns its documents as they are asked for. @throws AppError QUERY_TIMEOUT, or the signal's reason */
export async function* inBatches(
  db: Db,
  { collection }: Table,
  pipeline: Stage[],
  limits: BatchLimits,
): AsyncGenerator<readonly StoredRecord[]> {
  const cursor = openCursor(db, collection, pipeline);
  try {
    while (await hasMore(cursor, limits)) {
      const isLast = cursor.bufferedCount() <= AT_ONCE;
      const raw: Uint8Array[] = cursor.readBufferedDocuments(AT_ONCE);
      if (isLast) cursor.setBatchSize(batchSizeFor(raw));
      yield* new RawDocuments(raw).some();
    }
  } finally {
    await cursor.close();
  }
}

/**
 * A cursor without a time limit: a server counts `maxTimeMS` over all batches of a cursor. Opening it reads nothing, so
 * everything slow is a `getMore`, which ends when its cursor is killed.
 */
function openCursor(db: Db, collection: string, pipeline: Stage[]): RunCommandCursor {
  const command = readCommand(db, collection, pipeline, 0);
  return db.runCursorCommand(command, { ...READ_OPTIONS, raw: true }).setBatchSize(FIRST_BATCH_SIZE);
}

/** How many documents of this kind to ask for at once. */
function batchSizeFor(raw: readonly Uint8Array[]): number {
  const largest = Math.max(1, ...raw.slice(-WEIGHED).map(({ length }) => length));
  return Math.max(1, Math.min(BATCH_SIZE, Math.floor(BYTES_AT_ONCE / largest)));
}

async function hasMore(cursor: AbstractCursor, { limitMs, signal, inTurn }: BatchLimits): Promise<boolean> {
  signal?.throwIfAborted();
  return cursor.bufferedCount() > 0 || inTurn(() => hasNextBatch(cursor, limitMs, signal));
}

/**
 * Waits for the next batch. If it takes longer than `limitMs`, or nobody waits for it any more, the database gives it up: by
 * the cursor, because a command that is aborted costs its connection.
 */
async function hasNextBatch(
  cursor: AbstractCursor,
  limitMs: number,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  signal?.throwIfAborted();
  let isOver = false;
  const giveUp = (): void => {
    isOver = true;
    clearTimeout(timer);
    // A cursor that is not open yet would still be opened, and stay.
    if (cursor.id === undefined) timer = setTimeout(giveUp, OPENING_MS);
    else cursor.close().catch(() => {});
  };
  const refusal = (cause?: unknown): unknown =>
    signal?.aborted === true ? signal.reason : tookTooLong(cause);
  let timer = setTimeout(giveUp, limitMs);
  signal?.addEventListener("abort", giveUp);
  try {
    const has = await cursor.hasNext();
    if (isOver) throw refusal();
    return has;
  } catch (error) {
    throw isOver && isInterrupted(error) ? refusal(error) : error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", giveUp);
  }
}
