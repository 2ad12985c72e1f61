// Ids and links as text, so that this process can match them as the database would.
import { bsonTypeOf, uuidText } from "../../catalog/bson-json.js";
import { mixedIdText } from "../../catalog/mixed-id.js";
import { MOST_LINKS } from "../lower/read.js";

/** @returns the same text for values that the database considers equal; undefined if only it can tell */
export function keyText(value: unknown): string | undefined {
  const type = bsonTypeOf(value);
  const isPlain =
    typeof value === "string" ||
    (typeof value === "number" && isExact(value)) ||
    type === "ObjectId" ||
    type === "Long" ||
    uuidText(value) !== undefined;
  const text = isPlain ? mixedIdText(value) : undefined;
  return typeof text === "string" ? text : undefined;
}

/** Beyond the safe integers, a double and an integer of the same size are written differently. */
function isExact(number: number): boolean {
  return Number.isSafeInteger(number) || (Number.isFinite(number) && !Number.isInteger(number));
}

/**
 * What a link contains: nothing, one key, or a list of them.
 * @param list whether the field holds a list of links: where it should hold one, a list leads nowhere
 * @returns undefined for a list that is too long
 */
export function linkedKeys(value: unknown, list: boolean): readonly unknown[] | undefined {
  if (value === null || value === undefined) return [];
  if (!Array.isArray(value)) return [value];
  if (!list) return [];
  return value.length <= MOST_LINKS ? value : undefined;
}
