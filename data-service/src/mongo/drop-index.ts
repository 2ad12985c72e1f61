// Drops an index of earlier versions, wherever it still is.
import { type Collection, MongoServerError } from "mongodb";

const INDEX_NOT_FOUND = 27;

export async function dropIndex(collection: Pick<Collection, "dropIndex">, name: string): Promise<void> {
  await collection.dropIndex(name).catch((error: unknown) => {
    const isMissing = error instanceof MongoServerError && error.code === INDEX_NOT_FOUND;
    if (!isMissing) throw error;
  });
}
