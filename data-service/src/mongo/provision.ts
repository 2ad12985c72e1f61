// Makes a table's collection and indexes; running it again changes nothing.
import { type Collection, type Db, type IndexDescriptionInfo, MongoServerError } from "mongodb";
import type { Table } from "../catalog/catalog.js";
import { freeField } from "../catalog/fields.js";
import { type IndexSpec, indexesOf, keyIdentity, SINGLETON_FIELD } from "../catalog/indexes.js";
import { DELETED_FIELD } from "../catalog/soft-delete.js";
import { shardById } from "./sharding.js";

const NAMESPACE_EXISTS = 48;

export async function provisionTable(db: Db, table: Table): Promise<void> {
  await makeCollection(db, table.collection);
  await ensureIndexes(db, table, indexesOf(table));
  if (table.isSharded) await shardById(db, table.collection);
}

/**
 * The same for a table that is being made, and whose name nobody else can take meanwhile. One of this name that was
 * given up may have left indexes behind, by which records would have to be unique that need not be.
 */
export async function provisionNew(db: Db, table: Table): Promise<void> {
  await makeCollection(db, table.collection);
  if (table.isAdopted !== true) await dropStrayUniques(db.collection(table.collection), indexesOf(table));
  await provisionTable(db, table);
}

async function dropStrayUniques(collection: Collection, wanted: readonly IndexSpec[]): Promise<void> {
  for (const index of await collection.indexes()) {
    const isWanted = wanted.some((spec) => hasKey(index, spec) && sameOptions(index, spec));
    if (isOurUnique(index) && !isWanted && index.name !== undefined) await collection.dropIndex(index.name);
  }
}

/** Is it made and called as those are that columns, relations and singletons have? Another may be somebody else's. */
function isOurUnique(index: IndexDescriptionInfo): boolean {
  const fields = Object.keys(index.key);
  const key = fields.map((field) => [field, 1] as const);
  const present = fields.includes(SINGLETON_FIELD) ? [] : fields;
  const plain: IndexSpec = { key, unique: true, present };
  const isMade = [plain, { ...plain, absent: DELETED_FIELD }].some(
    (spec) => hasKey(index, spec) && sameOptions(index, spec),
  );
  return isMade && (index.name === indexName(plain) || index.name?.startsWith(OUR_PREFIX) === true);
}

/** How the indexes that we have made in an adopted collection are recognised. */
const OUR_PREFIX = "portico_";

/**
 * Makes the indexes that are missing. An adopted collection has some of its own: those that do the same are used, and
 * those in whose way another is that does not stay too. Ours have names of their own there.
 */
export async function ensureIndexes(
  db: Db,
  { collection: name, isAdopted = false }: Pick<Table, "collection" | "isAdopted">,
  specs: readonly IndexSpec[],
): Promise<void> {
  const collection = db.collection(name);
  const existing = await collection.indexes();
  const missing = specs.filter((spec) => !existing.some((index) => serves(index, spec)));
  const taken = new Set(existing.map(({ name }) => name ?? ""));
  const named = missing.map((spec) => {
    const usual = indexName(spec);
    const name = isAdopted || taken.has(usual) ? freeField(`${OUR_PREFIX}${usual}`, taken) : usual;
    taken.add(name);
    return { ...driverIndex(spec), ...(name === usual ? {} : { name }) };
  });
  if (named.length > 0) await collection.createIndexes(named);
}

/**
 * Drops indexes of ours that are there; those that look alike and promise something else are somebody else's, and in an
 * adopted collection also those that promise the same under another name.
 */
export async function dropOwnIndexes(
  db: Db,
  { collection: name, isAdopted = false }: Pick<Table, "collection" | "isAdopted">,
  specs: readonly IndexSpec[],
): Promise<void> {
  const collection = db.collection(name);
  for (const index of await collection.indexes()) {
    const { name: called } = index;
    if (called === undefined || (isAdopted && !called.startsWith(OUR_PREFIX))) continue;
    const isOurs = specs.some((spec) => hasKey(index, spec) && sameOptions(index, spec));
    if (isOurs) await collection.dropIndex(called);
  }
}

/** Does an index that is there find, or refuse, all that the wanted one would? */
function serves(index: IndexDescriptionInfo, spec: IndexSpec): boolean {
  if (!hasKey(index, spec) || !comparesPlainly(index)) return false;
  if (sameOptions(index, spec)) return true;
  const holdsAll = index.partialFilterExpression === undefined && index.sparse !== true;
  // Nulls that collide as well, or that are left out by another name: what is there is unique.
  return spec.unique ? index.unique === true && index.partialFilterExpression === undefined : holdsAll;
}

/** By code points, as every query here does. */
export function comparesPlainly({ collation }: IndexDescriptionInfo): boolean {
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

/** The name MongoDB gives an index by its keys; the same for the same index at every start. */
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
