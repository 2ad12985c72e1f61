// A database belongs to one SYSTEM_TABLE_PREFIX: that of its first start, kept in `_markers`.
//
// Notes of unfinished work (`_changes`, `_unfinished` …) lie in collections without a prefix. Under another one every table that
// they speak of seems gone, and whoever comes with it would clear up what is needed.
import { ConfigError } from "@portico/shared/env";
import type { Collection, Db } from "mongodb";
import { systemTableNames } from "../catalog/system-tables.js";
import { unlessDuplicate } from "./driver-errors.js";

interface PrefixMarker {
  _id: string;
  prefix: string;
}

const MARKER = { _id: "system-table-prefix" };
const FIRST_COLLECTION = "_signing_keys";

/**
 * To be called before anything is written.
 * @returns others under which the database holds something as well, told once; under them it is refused from now on
 * @throws ConfigError when the database belongs to another prefix
 */
export async function claimPrefix(db: Db, prefix: string): Promise<readonly string[]> {
  const { isMarked, used } = await ownersOf(db, prefix);
  if (isMarked) return [];
  const markers = markersOf(db);
  await markers.updateOne(MARKER, { $setOnInsert: { prefix } }, { upsert: true }).catch(unlessDuplicate);
  // Of two first starts, one has won.
  const first = (await markers.findOne(MARKER))?.prefix ?? prefix;
  if (first !== prefix) throw belongsTo([first], prefix);
  return used.filter((each) => each !== prefix);
}

/**
 * For whoever claims nothing: a command works on a database that is there.
 * @returns whether a service of any version has ever started on it
 * @throws ConfigError when the database belongs to another prefix
 */
export async function hasStarted(db: Db, prefix: string): Promise<boolean> {
  return (await ownersOf(db, prefix)).hasStarted;
}

/** @throws ConfigError when the database belongs to others than this one */
async function ownersOf(
  db: Db,
  prefix: string,
): Promise<{ readonly isMarked: boolean; readonly hasStarted: boolean; readonly used: readonly string[] }> {
  const marked = await markersOf(db).findOne(MARKER);
  const isMarked = marked !== null;
  const names = new Set(isMarked ? [] : await collectionNames(db));
  // Portico makes it first of all, whatever is started; without it these are the tables of another program.
  const hasStarted = isMarked || names.has(FIRST_COLLECTION);
  const used = isMarked ? [marked.prefix] : hasStarted ? await usedPrefixes(db, names) : [];
  if (used.length > 0 && !used.includes(prefix)) throw belongsTo(used, prefix);
  return { isMarked, hasStarted, used };
}

function markersOf(db: Db): Collection<PrefixMarker> {
  return db.collection<PrefixMarker>("_markers");
}

async function collectionNames(db: Db): Promise<readonly string[]> {
  return (await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name);
}

/** What earlier versions, which kept no marker, have left; those of starts by mistake only where there is nothing else. */
async function usedPrefixes(db: Db, names: ReadonlySet<string>): Promise<readonly string[]> {
  const { tables: ending } = systemTableNames("");
  const prefixes = [...names]
    .filter((name) => name.endsWith(ending))
    .map((name) => name.slice(0, -ending.length))
    .filter((prefix) => ownTables(prefix).every((name) => names.has(name)))
    .toSorted();
  if (prefixes.length < 2) return prefixes;
  const isFilled = await Promise.all(prefixes.map((prefix) => holdsMoreThanAnAdmin(db, prefix)));
  const filled = prefixes.filter((_prefix, at) => isFilled[at]);
  return filled.length > 0 ? filled : prefixes;
}

/** Those that every version has made. */
function ownTables(prefix: string): readonly string[] {
  const { tables, roles, users, permissions } = systemTableNames(prefix);
  return [tables, roles, users, permissions];
}

/** A start makes one root admin, a command nothing. */
async function holdsMoreThanAnAdmin(db: Db, prefix: string): Promise<boolean> {
  const counts = ownTables(prefix).map((name) => db.collection(name).countDocuments({}, { limit: 2 }));
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0) > 1;
}

function belongsTo(prefixes: readonly string[], prefix: string): ConfigError {
  const settings = prefixes.map((each) => `SYSTEM_TABLE_PREFIX=${each}`).join(" or ");
  return new ConfigError([
    `The database is in use under another SYSTEM_TABLE_PREFIX than ${prefix}: set ${settings}, or name another database.`,
  ]);
}
