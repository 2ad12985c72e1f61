// Changes of documents by their ids -> one command for all that arrive in the same turn of the event loop, as
// gathered-inserts does for new documents.
import type { Document as BsonDocument, Collection, UpdateFilter } from "mongodb";
import { mixedIdText } from "../catalog/mixed-id.js";
import type { Stored } from "../catalog/stored.js";
import type { Document } from "../query/lower/document.js";
import { away } from "./driver-errors.js";
import { TurnLoaders } from "./turn-loader.js";
import { unordered } from "./unordered-write.js";

/** A change of one document, of whatever kind. */
export interface IdChange {
  readonly id: Stored;
  readonly change: UpdateFilter<BsonDocument>;
  /** A condition that the document satisfies if it was there when the change was made, whoever changed it since. */
  readonly proof: Document;
}

export class GatheredUpdates {
  readonly #loaders = new TurnLoaders<IdChange, boolean>();
  readonly #timeoutMs: number;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Makes a change together with others.
   * @returns whether it was made. If not, the caller makes it alone: there were no other changes, it was refused, or its
   * document was not there.
   */
  async make(collection: Collection<BsonDocument>, change: IdChange): Promise<boolean> {
    const { collectionName } = collection;
    return this.#loaders.of(collectionName, (changes) => this.#makeAll(collection, changes)).load(change);
  }

  async #makeAll(
    collection: Collection<BsonDocument>,
    changes: readonly IdChange[],
  ): Promise<(boolean | Error)[]> {
    // Of several changes of one document only the first is made here: each is answered with what it made of the document.
    const different = [...new Map(changes.toReversed().map((each) => [mixedIdText(each.id), each])).values()];
    if (different.length < 2) return changes.map(() => false);
    const updates = different.map(({ id, change }) => {
      const filter: Document = { _id: id };
      return { updateOne: { filter, update: change } };
    });
    const { refused, matched } = await unordered(different.length, () =>
      collection.bulkWrite(updates, { ordered: false }),
    );
    const accepted = different.filter((_, at) => !refused.has(at));
    // The answer says only how many documents there were.
    const made = await Promise.all(
      // Each caller is told only of its own; of a look that fails, that the change may have been made.
      accepted.map((each) => matched === accepted.length || this.#wasMade(collection, each).catch(away)),
    );
    const byChange = new Map(accepted.map((each, at) => [each, made[at]]));
    return changes.map((each) => byChange.get(each) ?? false);
  }

  /**
   * A change that was not refused was made, if its document was there. False when the document came or went at that moment.
   */
  async #wasMade(collection: Collection<BsonDocument>, { id, proof }: IdChange): Promise<boolean> {
    const which: Document = { _id: id, ...proof };
    const options = { projection: { _id: 1 }, maxTimeMS: this.#timeoutMs };
    return (await collection.findOne(which, options)) !== null;
  }
}
