// Documents to be inserted -> one insert for all that arrive in the same turn of the event loop, as gathered-reads does for
// look-ups. Each caller is told only about its own document.
import type { Document as BsonDocument, Collection } from "mongodb";
import { asError, TurnLoaders } from "./turn-loader.js";
import { unordered } from "./unordered-write.js";

export class GatheredInserts {
  readonly #loaders = new TurnLoaders<BsonDocument, true>();

  /** Inserts a document, or throws what the driver would throw for it alone. */
  async insert(collection: Collection<BsonDocument>, document: BsonDocument): Promise<void> {
    const { collectionName } = collection;
    await this.#loaders.of(collectionName, (documents) => insertAll(collection, documents)).load(document);
  }
}

async function insertAll(
  collection: Collection<BsonDocument>,
  documents: readonly BsonDocument[],
): Promise<(true | Error)[]> {
  const [only, ...more] = documents;
  if (only !== undefined && more.length === 0) return [await insertAlone(collection, only)];
  // A refused document says nothing about the others. It is tried again by itself, so that its refusal reads as if it had
  // never been among others.
  const { refused } = await unordered(documents.length, () =>
    collection.insertMany([...documents], { ordered: false }),
  );
  return Promise.all(
    documents.map((document, at) => (refused.has(at) ? insertAlone(collection, document) : true)),
  );
}

async function insertAlone(
  collection: Collection<BsonDocument>,
  document: BsonDocument,
): Promise<true | Error> {
  return collection.insertOne(document).then(() => true, asError);
}
