// Bracket form -> filter object: `filter[author][name][_eq]=Ann` reads as {"author":{"name":{"_eq":"Ann"}}}. Values stay
// text; they take the column's type when the filter is bound.
import type { Json } from "@portico/shared/json";
import { refuse } from "../refuse.js";

const KEY = /^filter((?:\[[^[\]]*\])+)$/;
const MAX_SEGMENTS = 40;

type Branch = Map<string, Branch | string>;

/**
 * Builds the filter from its pairs.
 * @throws AppError 400 when a key is malformed, given twice, or both a value and an object
 */
export function parseBrackets(pairs: readonly (readonly [key: string, value: string])[]): Json {
  const root: Branch = new Map();
  for (const [key, value] of pairs) insert(root, key, segmentsOf(key), value);
  return toJson(root, "");
}

function segmentsOf(key: string): string[] {
  const match = KEY.exec(key);
  const segments = match?.[1]?.slice(1, -1).split("][");
  if (segments === undefined || segments.length > MAX_SEGMENTS || segments.includes("")) {
    throw refuse("filter", `"${key.slice(0, 64)}" is malformed; write filter[field][_operator]=value`);
  }
  return segments;
}

function insert(root: Branch, key: string, segments: readonly string[], value: string): void {
  let branch = root;
  for (const [at, segment] of segments.entries()) {
    const existing = branch.get(segment);
    const last = at === segments.length - 1;
    if (last ? existing !== undefined : typeof existing === "string") {
      throw refuse("filter", `"${key.slice(0, 64)}" is given twice`);
    }
    if (last) branch.set(segment, value);
    else if (existing instanceof Map) branch = existing;
    else {
      const made: Branch = new Map();
      branch.set(segment, made);
      branch = made;
    }
  }
}

const LISTS = ["_and", "_or", "_in", "_not_in", "_nin", "_between"];

/** Lists are written with indexes: `filter[_or][0][views][_gt]=5`. */
function toJson(branch: Branch, name: string): Json {
  const entries = [...branch].map(([key, value]): [string, Json] => [
    key,
    typeof value === "string" ? value : toJson(value, key),
  ]);
  if (!LISTS.includes(name)) return Object.fromEntries(entries);
  const sorted = entries.toSorted(([a], [b]) => Number(a) - Number(b));
  if (sorted.some(([key], at) => key !== String(at))) {
    throw refuse("filter", `the members of ${name} are numbered [0], [1], … without gaps`);
  }
  return sorted.map(([, value]) => value);
}
