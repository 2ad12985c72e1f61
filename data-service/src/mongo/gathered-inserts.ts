// Documents to be inserted -> one insert for all that arrive in the same turn of the event loop, as gathered-reads does
// for look-ups. Each caller is told of its own document alone.
import type DataLoader from "dataloader";
import { LRUCache } from "lru-cache";
import {
  type Document as BsonDocument,
  type Collection,
  MongoBulkWriteError,
  MongoError,
  MongoInvalidArgumentError,
} from "mongodb";
import { getOrMake } from "../get-or-make.js";
import { asError, turnLoader } from "./turn-loader.js";

/** Documents of one insert. */
const MOST_DOCUMENTS = 100;
/** Collections that are remembered. */
const MOST_COLLECTIONS = 500;

type Loader = DataLoader<BsonDocument, true>;

export class GatheredInserts {
  readonly #loaders = new LRUCache<string, Loader>({ max: MOST_COLLECTIONS });

  /** Inserts a document, or throws what the driver throws for it alone. */
  async insert(collection: Collection<BsonDocument>, document: BsonDocument): Promise<void> {
    const make = () =>
      turnLoader((documents: readonly BsonDocument[]) => insertAll(collection, documents), MOST_DOCUMENTS);
    await getOrMake<string, Loader>(this.#loaders, collection.collectionName, make).load(document);
  }
}

async function insertAll(
  collection: Collection<BsonDocument>,
  documents: readonly BsonDocument[],
): Promise<(true | Error)[]> {
  const [only, ...more] = documents;
  if (only !== undefined && more.length === 0) return [await insertAlone(collection, only)];
  const refused = await insertTogether(collection, documents);
  return Promise.all(
    documents.map((document, at) => (refused.has(at) ? insertAlone(collection, document) : true)),
  );
}

/**
 * Inserts what can be. One that is refused says nothing of the others, and is tried again by itself: its refusal then
 * reads as if it had never been among others.
 * @returns the positions of those that are known not to be inserted
 */
async function insertTogether(
  collection: Collection<BsonDocument>,
  documents: readonly BsonDocument[],
): Promise<ReadonlySet<number>> {
  try {
    await collection.insertMany([...documents], { ordered: false });
    return new Set();
  } catch (error) {
    // One is too large, or can't be written as BSON: the driver has looked at all before it sent any.
    if (!(error instanceof MongoError) || error instanceof MongoInvalidArgumentError) {
      return new Set(documents.keys());
    }
    // Whatever ended all of it says nothing of a single one: nobody knows how far they came.
    if (!(error instanceof MongoBulkWriteError)) throw error;
    const errors = [error.writeErrors].flat();
    if (errors.length === 0) throw error;
    if (error.result.getWriteConcernError() !== undefined) throw new Error("unsure", { cause: error });
    return new Set(errors.map(({ index }) => index));
  }
}

async function insertAlone(
  collection: Collection<BsonDocument>,
  document: BsonDocument,
): Promise<true | Error> {
  return collection.insertOne(document).then(() => true, asError);
}
