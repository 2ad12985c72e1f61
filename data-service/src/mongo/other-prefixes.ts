// Under which other SYSTEM_TABLE_PREFIX a database was used, seen by the names of its collections.
import type { Db } from "mongodb";
import { systemTableNames } from "../catalog/system-tables.js";

/**
 * @returns none once the database has system tables with the present prefix: whoever set it has been told, or has come back
 * to it
 */
export async function otherPrefixes(db: Db, prefix: string): Promise<readonly string[]> {
  const names = new Set((await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name));
  if (isUsed(names, prefix)) return [];
  const { tables: ending } = systemTableNames("");
  const prefixes = [...names]
    .filter((name) => name.endsWith(ending))
    .map((name) => name.slice(0, -ending.length));
  return prefixes.filter((each) => isUsed(names, each));
}

/** By those that every version has made. */
function isUsed(names: ReadonlySet<string>, prefix: string): boolean {
  const { tables, roles, users, permissions } = systemTableNames(prefix);
  return [tables, roles, users, permissions].every((name) => names.has(name));
}
