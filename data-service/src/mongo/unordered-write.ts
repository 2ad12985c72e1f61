// A write of many documents, each of which is refused or accepted on its own.
import {
  type BulkWriteResult,
  type InsertManyResult,
  MongoBulkWriteError,
  MongoError,
  MongoInvalidArgumentError,
} from "mongodb";
import { away, isAway, isUnconfirmed } from "./driver-errors.js";

/** What became of it. */
export interface UnorderedOutcome {
  /** The positions of those that are known not to be written. */
  readonly refused: ReadonlySet<number>;
  /** How many of the others existed and could be changed. */
  readonly matched: number;
}

/**
 * @param count how many documents it is about
 * @param write an unordered write of the driver
 * @throws whatever ended the write as a whole: nobody knows how far it came
 */
export async function unordered(
  count: number,
  write: () => Promise<BulkWriteResult | InsertManyResult>,
): Promise<UnorderedOutcome> {
  try {
    const result = await write();
    return { refused: new Set(), matched: "matchedCount" in result ? result.matchedCount : 0 };
  } catch (error) {
    // One is too large, or can't be written as BSON: the driver checks all of them before it sends any.
    if (!(error instanceof MongoError) || error instanceof MongoInvalidArgumentError) {
      return { refused: new Set(Array.from({ length: count }, (_, at) => at)), matched: 0 };
    }
    // What ended the write as a whole says nothing about a single document.
    if (!(error instanceof MongoBulkWriteError)) throw error;
    const errors = [error.writeErrors].flat();
    if (errors.length === 0) throw error;
    // A router that has lost a shard says so in the place of each document.
    if (errors.some(({ code }) => isAway(code))) throw away(error);
    // Those that were not refused are written, but may be lost.
    if (isUnconfirmed(error)) throw away(error);
    return { refused: new Set(errors.map(({ index }) => index)), matched: error.matchedCount };
  }
}
