// `limit` and `page` -> how many records to take and to skip; `meta` -> which counts to add.
import type { Json } from "@portico/shared/json";
import { isArray, isObject, kindOf } from "@portico/shared/json";
import type { MetaKey } from "../ast.js";
import { type Path, refuse } from "../refuse.js";

const DEFAULT_LIMIT = 10;

/** No list is as long. */
const PAST_THE_END = Number.MAX_SAFE_INTEGER - 1;

/** How many records a list has where no limit is given. @param maxLimit QUERY_MAX_LIMIT, undefined = none */
export function standardLimit(maxLimit: number | undefined): number {
  return Math.min(DEFAULT_LIMIT, maxLimit ?? DEFAULT_LIMIT);
}

/**
 * Reads limit and page.
 * @param maxLimit QUERY_MAX_LIMIT, undefined = none
 * @returns limit 0 = all
 */
export function parsePaging(
  given: { readonly limit?: Json; readonly page?: Json },
  path: (name: string) => Path,
  maxLimit: number | undefined,
): { limit: number; skip: number } {
  const limit = wholeNumber(given.limit, standardLimit(maxLimit), 0, path("limit"), maxLimit);
  const page = wholeNumber(given.page, 1, 1, path("page"));
  if (maxLimit !== undefined && (limit > maxLimit || limit === 0)) {
    const all = limit === 0 ? "0 means all, which is more than the maximum of" : "is above the maximum of";
    throw refuse(path("limit"), `${all} ${maxLimit}`);
  }
  // Everything is on the first page of an unlimited list; a later one is past the end.
  const skip = limit === 0 && page > 1 ? PAST_THE_END : Math.min((page - 1) * limit, PAST_THE_END);
  // The database counts to the last record of the page.
  return { limit: Math.min(limit, Number.MAX_SAFE_INTEGER - skip), skip };
}

/** @param most what to name as the greatest number */
function wholeNumber(
  given: Json | undefined,
  fallback: number,
  least: number,
  path: Path,
  most = Number.MAX_SAFE_INTEGER,
): number {
  if (given === undefined) return fallback;
  if (typeof given === "number" && Number.isSafeInteger(given) && given >= least) return given;
  const isTooLarge = typeof given === "number" && given > Number.MAX_SAFE_INTEGER;
  const isQuoted = typeof given === "string" && /^\d+$/.test(given);
  const more = isTooLarge ? ` to ${most}` : isQuoted ? ", without quotes in JSON" : "";
  throw refuse(path, `must be a whole number from ${least}${more}`);
}

const META_KEYS: readonly MetaKey[] = ["totalCount", "filterCount"];

/** Reads `totalCount,filterCount` or `*`. */
export function parseMeta(given: Json | undefined): MetaKey[] {
  if (given === undefined) return [];
  const names = typeof given === "string" ? given.split(",").map((each) => each.trim()) : given;
  if (!isArray(names)) throw refuse("meta", "must be totalCount, filterCount or *");
  const keys = names.flatMap((name): readonly MetaKey[] => {
    if (name === "*") return META_KEYS;
    const key = META_KEYS.find((each) => each === name);
    if (key === undefined) {
      const what = isObject(name) || isArray(name) ? kindOf(name) : `"${String(name).slice(0, 64)}"`;
      throw refuse("meta", `${what} is not known; use totalCount, filterCount or *`);
    }
    return [key];
  });
  if (names.length > META_KEYS.length + 1) throw refuse("meta", "names a count more than once");
  return META_KEYS.filter((key) => keys.includes(key));
}

/** Reads `explain=true`. */
export function parseExplain(given: Json | undefined): boolean {
  if (given === undefined || typeof given === "boolean") return given ?? false;
  const isQuoted = given === "true" || given === "false";
  throw refuse("explain", `must be true or false${isQuoted ? ", without quotes in JSON" : ""}`);
}
