// Goes through the records of a collection in batches, in the order of their ids.
import type { Document as BsonDocument, Collection, FindOptions } from "mongodb";
import { freeField } from "../catalog/fields.js";
import type { DiskSpace } from "./disk-space.js";

/**
 * How many records are written at once: few enough to leave room for others, and enough not to wait for every round trip.
 */
export const BATCH = 1_000;
/** A batch that has grown this large is written before it has that many: both sides hold it in memory. */
const BATCH_BYTES = 8 * 1024 * 1024;

export interface Walk {
  /** The records to go through. */
  readonly filter: BsonDocument;
  /** What to read of each record. */
  readonly projection: BsonDocument;
  /** Told how much each batch has written. */
  readonly space: DiskSpace | undefined;
}

/** @param each awaited before the next batch is read */
export async function walkRecords(
  records: Collection<BsonDocument>,
  { filter, projection, space }: Walk,
  each: (batch: BsonDocument[]) => Promise<void>,
): Promise<void> {
  let after: unknown;
  for (;;) {
    // Not `$gt`, which compares only with ids of the same kind.
    const rest = after === undefined ? filter : { $and: [filter, { _id: { $ne: after } }] };
    const begin = after === undefined ? {} : { min: { _id: after }, hint: { _id: 1 } };
    const options = { sort: { _id: 1 }, limit: BATCH, ...begin } as const;
    const { batch, bytes } = await readBatch(records, rest, projection, options);
    if (batch.length === 0) return;
    after = batch.at(-1)?._id;
    await each(batch);
    await space?.written(bytes);
  }
}

/** As many documents as are written at once, limited by their number and by their total size. */
async function readBatch(
  records: Collection<BsonDocument>,
  filter: BsonDocument,
  projection: BsonDocument,
  options: FindOptions,
): Promise<{ batch: BsonDocument[]; bytes: number }> {
  const size = freeField("_size", new Set(Object.keys(projection)));
  const whole = { ...projection, [size]: { $bsonSize: "$$ROOT" } };
  const batch: BsonDocument[] = [];
  let bytes = 0;
  for await (const document of records.find(filter, { ...options, projection: whole })) {
    batch.push(document);
    bytes += Number(document[size]);
    if (bytes >= BATCH_BYTES) break;
  }
  return { batch, bytes };
}
