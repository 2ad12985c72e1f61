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

async function isShardedCluster(db: Db): Promise<boolean> {
  return isMongos(await db.admin().command({ hello: 1 }));
}

/**
 * The fields by which a collection is spread; undefined if it is not, and as well if the account may not ask:
 * `shardCollection` itself refuses a collection that is spread already.
 */
async function shardFields(db: Db, collection: string): Promise<readonly string[] | undefined> {
  const which = { _id: `${db.databaseName}.${collection}`, unsplittable: { $ne: true } };
  try {
    const known = db.client.db("config").collection<{ _id: string; key: Document }>("collections");
    const found = await known.findOne(which);
    return found === null ? undefined : Object.keys(found.key);
  } catch (error) {
    if (error instanceof MongoServerError && REFUSALS.includes(Number(error.code))) return undefined;
    throw error;
  }
}

/**
 * Spreads a collection over the shards by the hash of `_id`. Does nothing if there are no shards, or if the collection is
 * spread by its ids already.
 * @throws AppError 409 when MongoDB refuses, for instance because another program's index promises something unique, or when
 * the collection is spread by another key
 */
export async function shardById(db: Db, collection: string): Promise<void> {
  if (!(await isShardedCluster(db))) return;
  const fields = await shardFields(db, collection);
  if (fields !== undefined) return requireById(collection, fields);
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

function requireById(collection: string, fields: readonly string[]): void {
  if (fields.join() === "_id") return;
  throw new AppError("CONFLICT", {
    message: `shardKey: "${collection}" is sharded by another key already (${fields.join(", ")}).`,
  });
}
