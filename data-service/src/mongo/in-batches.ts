// Reads of any length: documents some at a time, so that never many are held, however large they are.
import type { Db, Long, RunCommandCursor } from "mongodb";
import type { Share } from "../caller-shares.js";
import type { Table } from "../catalog/catalog.js";
import type { Stage, StoredRecord } from "../query/lower/document.js";
import { tookTooLong } from "../store-refusals.js";
import type { CursorKills } from "./cursor-kills.js";
import { isInterrupted } from "./driver-errors.js";
import { BYTES_AT_ONCE, RawDocuments } from "./raw-documents.js";
import { READ_OPTIONS, readCommand } from "./whole-answer.js";

/** Documents of a list call: few enough to be sent at once or streamed. */
export const BATCH_SIZE = 500;
/** A stream begins with this many, which show how large its documents are. */
const FIRST_BATCH_SIZE = 10;
/** How many documents are taken out of a batch together. */
const AT_ONCE = 50;
/** How often to check whether a cursor is open yet. */
const OPENING_MS = 20;
/** Of each wait for documents; all of them together may take any time. */
interface BatchLimits {
  readonly limitMs: number;
  /** Ends it, in the database as well. */
  readonly signal: AbortSignal | undefined;
  /** Asks the database for each batch. */
  readonly share: Share;
  readonly cursorKills: CursorKills;
}

/** Runs a pipeline and returns its documents as they are asked for. @throws AppError QUERY_TIMEOUT, or the signal's reason */
export async function* inBatches(
  db: Db,
  { collection }: Table,
  pipeline: Stage[],
  limits: BatchLimits,
): AsyncGenerator<readonly StoredRecord[]> {
  const opened = new OpenedCursor(openCursor(db, collection, pipeline), collection, limits.cursorKills);
  const { cursor } = opened;
  try {
    while (await hasMore(opened, limits)) {
      const raw: Uint8Array[] = cursor.readBufferedDocuments(AT_ONCE);
      cursor.setBatchSize(batchSizeFor(raw));
      yield* new RawDocuments(raw).some();
    }
  } finally {
    await opened.end();
  }
}

/** A cursor, and its id in the database, which the driver forgets when it fails to end it for want of a connection. */
class OpenedCursor {
  readonly cursor: RunCommandCursor;
  readonly #collection: string;
  readonly #kills: CursorKills;
  #id: Long | undefined;
  #ended: Promise<void> | undefined;
  /** The driver opens it and asks for its first documents at one go. */
  readonly #opening = setInterval(() => this.isOpen(), OPENING_MS);

  constructor(cursor: RunCommandCursor, collection: string, kills: CursorKills) {
    this.cursor = cursor;
    this.#collection = collection;
    this.#kills = kills;
  }

  isOpen(): boolean {
    this.#id ??= this.cursor.id;
    if (this.#id !== undefined) clearInterval(this.#opening);
    return this.#id !== undefined;
  }

  /** Ends it in the database, unless all of it was read. */
  end(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    this.isOpen();
    clearInterval(this.#opening);
    if (this.#id !== undefined && !this.#isRead()) void this.#kills.kill(this.#collection, this.#id);
    await this.cursor.close();
  }

  /** The driver says the same of one that it has given up. */
  #isRead(): boolean {
    return !this.cursor.killed && this.cursor.id?.isZero() === true;
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
  const largest = Math.max(1, ...raw.map(({ length }) => length));
  return Math.max(1, Math.min(BATCH_SIZE, Math.floor(BYTES_AT_ONCE / largest)));
}

async function hasMore(opened: OpenedCursor, { limitMs, signal, share }: BatchLimits): Promise<boolean> {
  signal?.throwIfAborted();
  if (opened.cursor.bufferedCount() > 0) return true;
  return share(() => hasNextBatch(opened, limitMs, signal), { maxTimeMS: limitMs, signal, isBatch: true });
}

/**
 * Waits for the next batch. If it takes longer than `limitMs`, or nobody waits for it any more, the database gives it up: by
 * the cursor, because a command that is aborted costs its connection, and goes on in the database.
 */
async function hasNextBatch(
  opened: OpenedCursor,
  limitMs: number,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  signal?.throwIfAborted();
  let isOver = false;
  const giveUp = (): void => {
    isOver = true;
    clearTimeout(timer);
    // A cursor that is not open yet would still be opened, and stay.
    if (opened.isOpen()) opened.end().catch(() => {});
    else timer = setTimeout(giveUp, OPENING_MS);
  };
  const refusal = (cause?: unknown): unknown =>
    signal?.aborted === true ? signal.reason : tookTooLong(cause);
  let timer = setTimeout(giveUp, limitMs);
  signal?.addEventListener("abort", giveUp);
  try {
    const has = await opened.cursor.hasNext();
    if (isOver) throw refusal();
    return has;
  } catch (error) {
    throw isOver && isInterrupted(error) ? refusal(error) : error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", giveUp);
  }
}
