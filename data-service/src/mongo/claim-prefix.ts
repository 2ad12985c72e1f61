// A database belongs to one SYSTEM_TABLE_PREFIX: that of its first start, kept in `_markers`.
//
// Notes of unfinished work (`_changes`, `_unfinished` …) lie in collections without a prefix. Under another one every table that
// they speak of seems gone, and whoever comes with it would clear up what is needed.
import { ConfigError } from "@portico/shared/env";
import type { Db } from "mongodb";
import { systemTableNames } from "../catalog/system-tables.js";
import { isDuplicate } from "./driver-errors.js";

interface PrefixMarker {
  _id: string;
  prefix: string;
}

const MARKER = { _id: "system-table-prefix" };

/**
 * To be called before anything is written.
 * @returns others under which the database holds something as well, told once; under them it is refused from now on
 * @throws ConfigError when the database belongs to another prefix
 */
export async function claimPrefix(db: Db, prefix: string): Promise<readonly string[]> {
  const markers = db.collection<PrefixMarker>("_markers");
  const marked = await markers.findOne(MARKER);
  const used = marked === null ? await usedPrefixes(db) : [marked.prefix];
  if (used.length > 0 && !used.includes(prefix)) throw belongsTo(used, prefix);
  if (marked !== null) return [];
  await markers.updateOne(MARKER, { $setOnInsert: { prefix } }, { upsert: true }).catch((error: unknown) => {
    if (!isDuplicate(error)) throw error;
  });
  // Of two first starts, one has won.
  const first = (await markers.findOne(MARKER))?.prefix ?? prefix;
  if (first !== prefix) throw belongsTo([first], prefix);
  return used.filter((each) => each !== prefix);
}

/** What earlier versions, which kept no marker, have left; those of starts by mistake only where there is nothing else. */
async function usedPrefixes(db: Db): Promise<readonly string[]> {
  const names = new Set((await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name));
  // Portico makes it first of all, whatever is started; without it these are the tables of another program.
  if (!names.has("_signing_keys")) return [];
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
