// What is in a field of an adopted document -> whether it is of the kind of values that the type has: other programs write
// anything. Any number will do for `int`, and any time for `date`, as in filters.
import { UUID } from "bson";
import type { ColumnType } from "../../catalog/column-types.js";
import type { Document, Value } from "./document.js";

type Fits = (value: string) => Document;

/** In MongoDB's order of all values NaN comes before the other numbers; what is no number, before or after all of them. */
const finite: Fits = (value) => ({
  $and: [{ $gt: [value, Number.NEGATIVE_INFINITY] }, { $lt: [value, Number.POSITIVE_INFINITY] }],
});
const within = (least: Value, greatest: Value): Fits => {
  return (value) => ({ $and: [{ $gte: [value, least] }, { $lte: [value, greatest] }] });
};
const ofKind = (kind: string): Fits => {
  return (value) => ({ $eq: [{ $type: value }, kind] });
};

const MOST_MILLISECONDS = 8.64e15;
const onCalendar = within(new Date(-MOST_MILLISECONDS), new Date(MOST_MILLISECONDS));
const text = ofKind("string");

/** Of the types whose values have an order. Ids of several kinds are any values. */
const FITS: Readonly<Partial<Record<ColumnType, Fits>>> = {
  string: text,
  text,
  enum: text,
  int: finite,
  bigint: finite,
  float: finite,
  decimal: finite,
  boolean: ofKind("bool"),
  date: onCalendar,
  datetime: onCalendar,
  // Bytes are ordered by their length and their kind first.
  uuid: within(new UUID("0".repeat(32)), new UUID("f".repeat(32))),
  objectId: ofKind("objectId"),
};

/** The value if it is of the type's kind, otherwise null. @param value an expression */
export function fitting(type: ColumnType, value: string): Value {
  const fits = FITS[type];
  return fits === undefined ? value : { $cond: [fits(value), value, null] };
}
