// What a former field should hold again when the change that moved its values is undone. Pure.
import { isArray, type Json } from "@portico/shared/json";
import { EJSON, serialize } from "bson";
import { same } from "./canonical.js";
import type { Column } from "./catalog.js";
import { COLUMN_TYPES } from "./column-types.js";
import { convertValue } from "./convert.js";
import type { Stored } from "./stored.js";

/** Undefined if what is there stays; `value` is undefined if the field should be empty. */
export type Restored = { readonly value: Stored | undefined } | undefined;

/** Decides by the values of the later and the former field, and by what was noted about the latter. */
export type Restorer = (present: unknown, former: unknown, noted?: unknown) => Restored;

/** Leaves alone what others have written into the former field. @param isOurs decides by its value and what was noted */
export function unlessOthers(
  restore: Restorer,
  isOurs: (former: unknown, noted: unknown) => boolean,
): Restorer {
  return (present, former, noted) => (isOurs(former, noted) ? restore(present, former) : undefined);
}

/** A column to which former values come back. */
export interface ColumnBack {
  readonly column: Column;
  /** As it is now. */
  readonly now: Column;
  /** What was made of it by the change that is undone, and by those since that have moved its values. */
  readonly made: readonly [Made, ...Made[]];
}

/** A change that has moved a column's values. */
export interface Made {
  readonly from: Column;
  readonly to: Column;
}

/**
 * The former value stays where the present one is still what the changes made of it, even if that was nothing: so nothing is
 * lost that nobody has touched. Any other value was written since, and counts.
 * @param jsonOf reads a stored value of a column
 * @param store is given what fits the column
 */
export function restorer(
  { column, now, made }: ColumnBack,
  jsonOf: JsonOf,
  store: (column: Column, value: Stored) => Stored,
): Restorer {
  const read = reader(jsonOf);
  const isHidden = made.some(({ from, to }) => to.encrypted && !from.encrypted);
  const isRequired = made[0].from.required || (column.required && column.isAdopted !== true);
  // Else a record without the former value was made since, or lost it to a change that kept it nowhere in the open.
  const mayBeNull = !isRequired && !isHidden;
  const madeOf = (former: Json): Json =>
    former === null && !mayBeNull ? null : filledIn(made.reduce(converted, former), now);
  const isAsMade = (present: Json, former: Json): boolean => {
    const expected = madeOf(former);
    return same(present, expected) || (former !== null && expected === null && isEmptyList(present));
  };
  return (presentStored, formerStored) => {
    const [present, former] = [read(now, presentStored), read(column, formerStored)];
    if (isAsMade(present, former) && !isGivenUp(former, made[0].from, column)) return undefined;
    const value = convert(present, now, column);
    if (same(former, toJson(column, value))) return undefined;
    return { value: value === undefined ? undefined : store(column, value) };
  };
}

/** Adopted documents get a default in the field that they have. */
function filledIn(json: Json, { isAdopted, required, default: standard = null }: Column): Json {
  return json === null && isAdopted === true && required ? standard : json;
}

/** Earlier versions made an empty list of what has no member of an enum. */
function isEmptyList(json: Json): boolean {
  return isArray(json) && json.length === 0;
}

/** Does it hold a value of an enum that was given up since? */
function isGivenUp(former: Json, from: Column, column: Column): boolean {
  const isLost = (each: Json): boolean =>
    typeof each === "string" && from.values.includes(each) && !column.values.includes(each);
  return (isArray(former) ? former : [former]).some(isLost);
}

/** What a change has made of a value: a required column has its default where there would be nothing. */
function converted(json: Json, { from, to }: Made): Json {
  const standard = to.required ? (to.default ?? null) : null;
  const value = convert(json, from, to);
  return toJson(
    to,
    value ?? (standard === null ? undefined : COLUMN_TYPES[to.type].parse(standard, to.values)),
  );
}

/** Is what was noted the same as what a change to the column `now` makes of a former value? @param jsonOf as above */
export function isMade(
  now: Column,
  then: Column,
  jsonOf: JsonOf,
): (former: unknown, noted: unknown) => boolean {
  const read = reader(jsonOf);
  return (former, noted) => same(toJson(now, convert(read(then, former), then, now)), read(now, noted));
}

type JsonOf = (column: Column, stored: unknown) => Json;

function reader(jsonOf: JsonOf): JsonOf {
  return (column, stored) => (isEmpty(stored) ? null : jsonOf(column, stored));
}

function toJson(column: Column, value: Stored | undefined): Json {
  return value === undefined ? null : COLUMN_TYPES[column.type].toJson(value);
}

function convert(json: Json, from: Column, to: Column): Stored | undefined {
  return json === null ? undefined : convertValue(json, from.type, to).value;
}

/**
 * Like `restorer`, for a link or a list of links.
 * @param isList whether the former field holds a list
 * @param lost links in the former field whose records are gone, which is why they are missing in the later field; nobody
 * removed them on purpose
 * @param keepsDeleted whether the change passed over links to deleted records, which may live again: then any link of the
 * list can be the one it made
 */
export function linkRestorer(isList: boolean, lost: readonly Stored[], keepsDeleted = false): Restorer {
  const gone = new Set(lost.map((id) => linkText([id])));
  return (presentStored, formerStored) => {
    const [present, former] = [storedLinks(presentStored), storedLinks(formerStored)];
    const made = isList ? former.slice(0, 1) : former;
    const left = made.filter((id) => !gone.has(linkText([id])));
    if (sameLinks(present, made) || sameLinks(present, left)) return undefined;
    const isAnyOfThem = present.length === 1 && former.some((id) => sameLinks([id], present));
    if (isList && keepsDeleted && isAnyOfThem) return undefined;
    const back = isList ? present : present.slice(0, 1);
    if (sameLinks(former, back)) return undefined;
    return { value: isList && back.length > 0 ? back : back[0] };
  };
}

/**
 * Are two stored values exactly the same? Null counts as no value. Compared in BSON, because in Extended JSON other values
 * can look like numbers.
 */
export function sameValue(one: unknown, other: unknown): boolean {
  return Buffer.compare(serialize({ value: one ?? null }), serialize({ value: other ?? null })) === 0;
}

function isEmpty(stored: unknown): boolean {
  return stored === undefined || stored === null;
}

/** The links in a field, whether a list or a single one. The ids came from this database and go back into it. */
export function storedLinks(stored: unknown): Stored[] {
  const list: readonly unknown[] = Array.isArray(stored) ? stored : [stored];
  return list.filter((id): id is Stored => !isEmpty(id));
}

function sameLinks(some: readonly Stored[], others: readonly Stored[]): boolean {
  return linkText(some) === linkText(others);
}

function linkText(links: readonly Stored[]): string {
  return EJSON.stringify(links, { relaxed: false });
}
