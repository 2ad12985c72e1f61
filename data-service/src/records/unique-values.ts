// Which values must be unique among the living records of a table, and whether those that are to come back find theirs taken.
import { memberIn, type Table } from "../catalog/catalog.js";
import { indexesOf } from "../catalog/indexes.js";
import type { Stored } from "../catalog/stored.js";
import { piecesOf } from "../pieces.js";
import { asStored } from "../query/as-read.js";
import { allOf, anyOf, type Document, type StoredRecord } from "../query/lower/document.js";
import { Taken } from "../store-refusals.js";
import { stateCondition } from "./delete/kept.js";
import type { RecordDeps } from "./record-deps.js";

/** Few enough for one command, however long their values are. */
const AT_ONCE = 100;

/** The fields of a table that are unique together, by unique indexes. */
export function uniqueFields(table: Table): string[][] {
  const declared = indexesOf(table).filter(({ unique }) => unique);
  return declared.map(({ key }) => key.map(([field]) => field));
}

/** Documents that have one of these in the fields. @param values in the order of the fields; none is absent */
export function havingAny(fields: readonly string[], values: readonly (readonly Stored[])[]): Document {
  const [first = ""] = fields;
  if (fields.length === 1) return { [first]: { $in: values.flat() } };
  return anyOf(
    values.map((each) => Object.fromEntries(fields.map((field, at) => [field, each[at] ?? null]))),
  );
}

/**
 * Refuses to bring deleted records back while living ones have their unique values. It only looks, so that a refusal leaves no
 * trace: when they come back, the unique index decides.
 * @throws Taken
 */
export async function requireUntaken(
  deps: Pick<RecordDeps, "store">,
  table: Table,
  ids: readonly Stored[],
): Promise<void> {
  const uniques = uniqueFields(table);
  if (uniques.length === 0) return;
  const shown = Object.fromEntries(uniques.flat().map((field) => [field, 1]));
  for (const some of piecesOf(ids, AT_ONCE)) {
    const coming = { _id: { $in: some }, ...stateCondition(table, "deleted") };
    const records = await deps.store.read(table, [{ $match: coming }, { $project: shown }]);
    for (const fields of uniques)
      if (await isTaken(deps, table, fields, records)) throw takenIn(table, fields);
  }
}

async function isTaken(
  { store }: Pick<RecordDeps, "store">,
  table: Table,
  fields: readonly string[],
  coming: readonly StoredRecord[],
): Promise<boolean> {
  // Null is not stored, and collides with nothing.
  const whole = coming.filter((record) => fields.every((field) => record[field] !== undefined));
  if (whole.length === 0) return false;
  const values = whole.map((record) => fields.map((field) => asStored(record[field])));
  return store.hasAny(table, allOf([havingAny(fields, values), stateCondition(table, "living")]));
}

function takenIn(table: Table, fields: readonly string[]): Taken {
  const members = fields.map((field) => memberIn(table, field)).filter((member) => member !== undefined);
  return new Taken(table, members, undefined);
}
