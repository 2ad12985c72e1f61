// Reads whose answer fits into one message, as nearly all do: one database command, which costs the driver two thirds of the
// processor time that a cursor takes. The driver does not repeat such a command by itself; this does.
import { type Db, type Document, Long } from "mongodb";
import type { Stage } from "../query/lower/document.js";
import { isLost } from "./driver-errors.js";
import { findForm } from "./find-form.js";
import { type Answered, answered } from "./raw-documents.js";

/** How many documents are taken in one message. A message holds 16 MB, however many are asked for. */
const MOST_DOCUMENTS = 10_000;
/** Stages that answer no more documents than they get. */
const KEEPING = ["$match", "$sort", "$skip", "$project", "$addFields", "$set", "$lookup"];

/** A command takes these from no client (connect.ts says why). */
export const READ_OPTIONS = { enableUtf8Validation: false } as const;

/** A pipeline as the command that opens its cursor; as a `find`, if possible. */
export function readCommand(db: Db, collection: string, pipeline: Stage[], batchSize: number): Document {
  const form = findForm(pipeline);
  const command =
    form === undefined
      ? { aggregate: collection, pipeline, cursor: { batchSize } }
      : { find: collection, ...form, batchSize };
  // Unlike `find` and `aggregate`, a command of our own ignores the address's `readConcernLevel`.
  const { readConcern } = db;
  return readConcern === undefined ? command : { ...command, readConcern: readConcern.toJSON() };
}

/** How many documents a pipeline answers at most, as far as the pipeline itself tells. */
export function mostAnswered(pipeline: readonly Stage[]): number {
  for (let at = pipeline.length - 1; at >= 0; at -= 1) {
    const [[name, value] = []] = Object.entries(pipeline[at] ?? {});
    if (name === "$count") return 1;
    if (name === "$limit") return Number(value);
    if (name === undefined || !KEEPING.includes(name)) break;
  }
  return Number.POSITIVE_INFINITY;
}

export interface WholeRead {
  readonly collection: string;
  readonly pipeline: Stage[];
  /** Documents that it answers at most. */
  readonly most: number;
  readonly maxTimeMS: number;
  readonly signal?: AbortSignal;
}

/** Reads everything that a pipeline answers. @returns undefined when that is more than one message holds */
export async function readWhole(db: Db, read: WholeRead): Promise<Answered | undefined> {
  if (read.most > MOST_DOCUMENTS) return undefined;
  return inOneMessage(db, read).catch((error: unknown) => {
    if (!isLost(error)) throw error;
    return inOneMessage(db, read);
  });
}

/**
 * The same of a database that works on at what nobody waits for any more: it is over when the database is done with it, so that
 * nobody who has left asks more meanwhile.
 */
export async function readToItsEnd(db: Db, { signal, ...read }: WholeRead): Promise<Answered | undefined> {
  signal?.throwIfAborted();
  try {
    return await readWhole(db, read);
  } finally {
    // However it ended: for who has left, it did not take too long.
    signal?.throwIfAborted();
  }
}

async function inOneMessage(
  db: Db,
  { collection, pipeline, most, maxTimeMS, signal }: WholeRead,
): Promise<Answered | undefined> {
  // Only asking for one more tells that there is none.
  const command = { ...readCommand(db, collection, pipeline, most + 1), maxTimeMS };
  const { cursor } = await db.command(command, { ...READ_OPTIONS, raw: true, ...(signal && { signal }) });
  const { id: opened, documents } = answered(cursor);
  if (Number(opened) === 0) return documents;
  const id = Long.isLong(opened) ? opened : Long.fromNumber(Number(opened));
  // If it stays open all the same, the database closes it after a while.
  await db.command({ killCursors: collection, cursors: [id] }).catch(() => {});
  return undefined;
}
