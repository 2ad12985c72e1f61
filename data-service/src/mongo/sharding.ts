// Collections on a sharded cluster: https://www.mongodb.com/docs/manual/sharding/
import { AppError } from "@portico/shared/app-error";
import { type Db, type Document, MongoServerError } from "mongodb";

const ALREADY_INITIALIZED = 23;
/** BadValue, Unauthorized, IllegalOperation, CannotCreateIndex, InvalidOptions: asking again would not help. */
const REFUSALS = [2, 13, 20, 67, 72];

/** Is the server that gave this answer to `hello` a router of a sharded cluster? */
export function isMongos(hello: Document): boolean {
  return hello.msg === "isdbgrid";
}

export async function isShardedCluster(db: Db): Promise<boolean> {
  return isMongos(await db.admin().command({ hello: 1 }));
}

/** False as well if the account may not ask: `shardCollection` itself refuses a collection that is spread already. */
async function isSpread(db: Db, collection: string): Promise<boolean> {
  const which = { _id: `${db.databaseName}.${collection}`, unsplittable: { $ne: true } };
  try {
    return (await db.client.db("config").collection<{ _id: string }>("collections").findOne(which)) !== null;
  } catch (error) {
    if (error instanceof MongoServerError && REFUSALS.includes(Number(error.code))) return false;
    throw error;
  }
}

/**
 * Spreads a collection over the shards by the hash of `_id`. Does nothing if there are no shards, or if the collection is
 * spread already, by whatever key.
 * @throws AppError 409 when MongoDB refuses, for instance because another program's index promises something unique
 */
export async function shardById(db: Db, collection: string): Promise<void> {
  if (!(await isShardedCluster(db)) || (await isSpread(db, collection))) return;
  const key = { _id: "hashed" } as const;
  try {
    // `shardCollection` makes the index only for an empty collection.
    await db.collection(collection).createIndex(key);
    await db.admin().command({ shardCollection: `${db.databaseName}.${collection}`, key });
  } catch (error) {
    if (!(error instanceof MongoServerError)) throw error;
    const code = Number(error.code);
    if (code === ALREADY_INITIALIZED) return;
    if (!REFUSALS.includes(code)) throw error;
    throw new AppError("CONFLICT", {
      message: `shardKey: MongoDB can't spread "${collection}": ${error.message}`,
      cause: error,
    });
  }
}
