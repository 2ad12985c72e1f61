// Drops an index that may be gone already.
import { type Collection, MongoServerError } from "mongodb";

const NAMESPACE_NOT_FOUND = 26;
const INDEX_NOT_FOUND = 27;

/** Drops an index, wherever it still is. */
export async function dropIndex(collection: Pick<Collection, "dropIndex">, name: string): Promise<void> {
  await collection.dropIndex(name).catch(unlessMissing);
}

/** For calls about indexes and collections. @throws the error, unless it says that there is none to act on */
export function unlessMissing(error: unknown): void {
  const isMissing =
    error instanceof MongoServerError && [NAMESPACE_NOT_FOUND, INDEX_NOT_FOUND].includes(Number(error.code));
  if (!isMissing) throw error;
}
