// Makes a table's collection and indexes; repeating it changes nothing.
import { AppError } from "@portico/shared/app-error";
import { type Db, type IndexDescriptionInfo, MongoServerError } from "mongodb";
import type { Table } from "../catalog/catalog.js";
import { freeField } from "../catalog/fields.js";
import { builtBy, OUR_PREFIX } from "../catalog/index-names.js";
import { type IndexSpec, indexesOf, keyIdentity, SINGLETON_FIELD } from "../catalog/indexes.js";
import { DELETED_FIELD } from "../catalog/soft-delete.js";
import { dropIndex } from "./drop-index.js";
import { shardById } from "./sharding.js";

const NAMESPACE_EXISTS = 48;
const CANNOT_CREATE_INDEX = 67;

/** MongoDB's own, which nobody can drop; tables of earlier versions may name it among their indexes. */
const INDEX_OF_IDS = "_id_";

type IndexedTable = Pick<Table, "collection" | "isAdopted">;

export async function provisionTable(db: Db, table: Table): Promise<void> {
  await makeCollection(db, table.collection);
  await ensureIndexes(db, table, indexesOf(table));
  if (table.isSharded) await shardById(db, table.collection);
}

/** Makes only the index of a number of children: the table's own changes see to whatever else it needs. */
export async function provisionNumber(db: Db, parents: IndexedTable, index: IndexSpec): Promise<void> {
  await makeCollection(db, parents.collection);
  await ensureIndexes(db, parents, [index]);
}

/**
 * Provisions a table that is being made, whose name nobody else can take meanwhile. An earlier one of this name that was
 * given up, or one that showed the same documents and was deleted, may have left indexes behind that would make records unique
 * that need not be. Should the deleted one come back, it makes its own anew.
 */
export async function provisionNew(db: Db, table: Table, isOurs: () => Promise<boolean>): Promise<void> {
  await makeCollection(db, table.collection);
  await dropStrayUniques(db, table, isOurs);
  await provisionTable(db, table);
}

/** @param isOurs asked before each is dropped: a slow process may find somebody else's table, with uniques of its own */
async function dropStrayUniques(db: Db, table: Table, isOurs: () => Promise<boolean>): Promise<void> {
  const [collection, wanted] = [db.collection(table.collection), indexesOf(table)];
  for (const index of await collection.indexes()) {
    const isWanted = wanted.some((spec) => hasKey(index, spec) && sameOptions(index, spec));
    if (!isOurUnique(index, table) || isWanted || index.name === undefined) continue;
    if (await isOurs()) await dropIndex(collection, index.name);
  }
}

/**
 * Is it made and named like the indexes of columns, relations and singletons? Any other may be somebody else's, and in an
 * adopted collection also one that is named by its keys alone.
 */
function isOurUnique(index: IndexDescriptionInfo, { isAdopted = false }: IndexedTable): boolean {
  const fields = Object.keys(index.key);
  const key = fields.map((field) => [field, 1] as const);
  const present = fields.includes(SINGLETON_FIELD) ? [] : fields;
  const plain: IndexSpec = { key, unique: true, present };
  const isMade = [plain, { ...plain, absent: DELETED_FIELD }].some(
    (spec) => hasKey(index, spec) && sameOptions(index, spec),
  );
  const isMarked = index.name?.startsWith(OUR_PREFIX) === true;
  return isMade && (isMarked || (!isAdopted && index.name === indexName(plain)));
}

/** A change of a table that builds indexes. */
export interface Building {
  /**
   * Its id becomes part of their names: an instance that wakes up late drops an index by the name that it has seen, and
   * never one that was built since.
   */
  readonly change: string;
  /** Those that are dropped once the change is in use; until then each stays beside the one that replaces it. */
  readonly former: readonly IndexSpec[];
}

/**
 * Makes the missing indexes. An adopted collection has some of its own: those that do the same are used, and if one that
 * differs is in the way of ours, it stays, too. Ours have names of their own there.
 * @throws AppError 409 where MongoDB allows no more, or none such
 */
export async function ensureIndexes(
  db: Db,
  table: IndexedTable,
  specs: readonly IndexSpec[],
  building?: Building,
): Promise<void> {
  const collection = db.collection(table.collection);
  const existing = await collection.indexes();
  const staying = existing.filter((index) => !isOwn(index, table, building?.former ?? []));
  const missing = specs.filter((spec) => !staying.some((index) => serves(index, spec)));
  const taken = new Set(existing.map(({ name }) => name ?? ""));
  const named = missing.map((spec) => {
    const usual = indexName(spec);
    const own = `${OUR_PREFIX}${usual}${building === undefined ? "" : builtBy(building.change)}`;
    const isApart = table.isAdopted === true || building !== undefined || taken.has(usual);
    const name = isApart ? freeField(own, taken) : usual;
    taken.add(name);
    return { ...driverIndex(spec), ...(name === usual ? {} : { name }) };
  });
  if (named.length > 0) await collection.createIndexes(named).catch((error) => refuseIndexes(error, table));
}

/** @throws AppError 409 where MongoDB allows no such index, any other error as it is */
function refuseIndexes(error: unknown, { collection }: IndexedTable): never {
  if (!(error instanceof MongoServerError) || error.code !== CANNOT_CREATE_INDEX) throw error;
  // Such as a unique index of a collection that others have sharded by a key that is not in it.
  const message = /too many indexes/i.test(error.message)
    ? `The collection "${collection}" has as many indexes as MongoDB allows; drop some of its indexes first.`
    : `MongoDB can't make an index of "${collection}": ${error.message}`;
  throw new AppError("CONFLICT", { message, cause: error });
}

/** The names of those of our indexes that exist. */
export async function ownIndexNames(
  db: Db,
  table: IndexedTable,
  specs: readonly IndexSpec[],
): Promise<string[]> {
  const existing = await db.collection(table.collection).indexes();
  return existing.filter((index) => isOwn(index, table, specs)).flatMap(({ name }) => name ?? []);
}

/**
 * Is it one of these, and ours? Similar ones that promise something else belong to somebody else, and in an adopted
 * collection so do those that promise the same under another name.
 */
function isOwn(
  index: IndexDescriptionInfo,
  { isAdopted = false }: IndexedTable,
  specs: readonly IndexSpec[],
): boolean {
  if (index.name === INDEX_OF_IDS || (isAdopted && index.name?.startsWith(OUR_PREFIX) !== true)) return false;
  return specs.some((spec) => hasKey(index, spec) && sameOptions(index, spec));
}

/** Does an existing index find, or refuse, everything that the wanted one would? */
function serves(index: IndexDescriptionInfo, spec: IndexSpec): boolean {
  if (!hasKey(index, spec) || !comparesPlainly(index)) return false;
  if (sameOptions(index, spec)) return true;
  const holdsAll = index.partialFilterExpression === undefined && index.sparse !== true;
  // An index in which nulls collide as well, or which leaves them out under another name, is still unique.
  return spec.unique ? index.unique === true && index.partialFilterExpression === undefined : holdsAll;
}

/** By code points, as every query here does. */
export function comparesPlainly({ collation }: Pick<IndexDescriptionInfo, "collation">): boolean {
  return collation === undefined || collation.locale === "simple";
}

function hasKey({ key }: IndexDescriptionInfo, spec: IndexSpec): boolean {
  return keyIdentity(Object.entries(key)) === keyIdentity(spec.key);
}

function sameOptions(index: IndexDescriptionInfo, spec: IndexSpec): boolean {
  const { partialFilterExpression } = driverIndex(spec);
  const isPlain = index.sparse !== true && comparesPlainly(index) && index.expireAfterSeconds === undefined;
  const filters = [index.partialFilterExpression, partialFilterExpression];
  const [found, wanted] = filters.map((filter) => JSON.stringify(filter ?? null));
  return isPlain && (index.unique === true) === spec.unique && found === wanted;
}

export async function makeCollection(db: Db, name: string): Promise<void> {
  try {
    await db.createCollection(name);
  } catch (error) {
    if (!(error instanceof MongoServerError && error.code === NAMESPACE_EXISTS)) throw error;
  }
}

/** The name that MongoDB gives an index by its keys; the same for the same index at every start. */
function indexName({ key }: IndexSpec): string {
  return key.flat().join("_");
}

function driverIndex({ key, unique, present, absent }: IndexSpec) {
  const lacks = absent === undefined ? {} : { [absent]: { $eq: null } };
  const exists = (present ?? []).map((field): [string, { $exists: true }] => [field, { $exists: true }]);
  return {
    key: new Map(key),
    ...(unique ? { unique } : {}),
    ...(exists.length > 0 || absent !== undefined
      ? { partialFilterExpression: { ...Object.fromEntries(exists), ...lacks } }
      : {}),
  };
}
