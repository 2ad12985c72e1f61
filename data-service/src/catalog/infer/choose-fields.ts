// The fields of a collection -> those that a table can show, the most frequent ones, and those that hold its times. Pure.
import { fieldProblem } from "../names.js";
import { free } from "./infer-names.js";
import { type FieldProfile, filled } from "./profile.js";

/** A table has at most 300 members; some are left for later. */
const MOST_FIELDS = 250;

/** Where documents store their times, as the common libraries name them. */
const TIMES = {
  createdAt: ["createdAt", "created_at", "_created_at", "date_created"],
  updatedAt: ["updatedAt", "updated_at", "_updated_at", "date_updated"],
} as const;

/** Bookkeeping of mongoose, Spring Data and Doctrine, which is not data. */
const BOOKKEEPING = ["__v", "_class"];

/** The fields that hold the times of a record. */
export type Times = Readonly<Record<keyof typeof TIMES, string>>;

/** What becomes of a collection's fields. */
export interface FieldChoice {
  readonly times: Times;
  /** They become columns and relations; nothing need be asked about any other. */
  readonly served: readonly FieldProfile[];
  /** Names of those that no table can show. */
  readonly left: readonly string[];
  /** How many could be shown, but are too many. */
  readonly rare: number;
}

/** A collection may be used as a map, with a field for each of its thousands of keys. */
export function chooseFields(fields: readonly FieldProfile[]): FieldChoice {
  const times = { createdAt: timeField(fields, "createdAt"), updatedAt: timeField(fields, "updatedAt") };
  const isServable = ({ name }: FieldProfile): boolean =>
    !BOOKKEEPING.includes(name) && fieldProblem(name) === undefined;
  const rest = fields.filter((field) => isServable(field) && !Object.values(times).includes(field.name));
  const frequent = new Set(rest.toSorted((a, b) => filled(b) - filled(a)).slice(0, MOST_FIELDS));
  return {
    times,
    served: rest.filter((field) => frequent.has(field)),
    left: fields.filter((field) => !isServable(field)).map(({ name }) => name),
    rare: rest.length - frequent.size,
  };
}

/** The field that holds the time; a new one if no field does. */
function timeField(fields: readonly FieldProfile[], time: keyof typeof TIMES): string {
  const isTime = ({ values }: FieldProfile): boolean => values.every(({ type }) => type === "date");
  const known = TIMES[time].find((name) => fields.some((field) => field.name === name && isTime(field)));
  if (known !== undefined) return known;
  const names = new Set(fields.map(({ name }) => name));
  return names.has(time) ? free(`portico_${time}`, names) : time;
}
