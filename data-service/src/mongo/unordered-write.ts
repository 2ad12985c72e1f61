// A write of many documents, each of which is refused or accepted on its own.
import {
  type BulkWriteResult,
  type InsertManyResult,
  MongoBulkWriteError,
  MongoError,
  MongoInvalidArgumentError,
  MongoServerError,
} from "mongodb";
import { away, isAway, isUnanswered } from "./driver-errors.js";

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
    // Where the set has not confirmed it, those that were not refused are written, but may be lost. A router that has lost a
    // shard says so in the place of each document.
    if (isUnanswered(error) || errors.some(({ code }) => isAway(code))) throw away(uncounted(error));
    if (errors.length === 0) throw uncounted(error);
    return { refused: new Set(errors.map(({ index }) => index)), matched: error.matchedCount };
  }
}

/** What the driver has wrapped, or its words: its counts are of all the documents, and who reads them asks about one. */
function uncounted({ errorResponse, message, code }: MongoBulkWriteError): Error {
  return errorResponse instanceof MongoError ? errorResponse : new MongoServerError({ message, code });
}
