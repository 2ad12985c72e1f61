// The checked values of a body -> what is stored: passwords are hashed, values of encrypted columns sealed.
import type { Table } from "../../catalog/catalog.js";
import { COLUMN_TYPES } from "../../catalog/column-types.js";
import type { Stored } from "../../catalog/stored.js";
import type { Document } from "../../query/lower/document.js";
import type { OwnFields } from "../body/write-plan.js";
import type { RecordDeps } from "../record-deps.js";

/** @returns the fields of the record itself, without those that are removed */
export async function storedFields(
  deps: Pick<RecordDeps, "sealer" | "hooksOf">,
  table: Table,
  { set, columns }: OwnFields,
): Promise<Document> {
  const hooks = deps.hooksOf(table);
  const entries = [...set].map(async ([field, value]): Promise<[string, Stored]> => {
    const column = columns.get(field);
    if (column === undefined) return [field, value];
    if (column.encrypted) return [field, deps.sealer.seal(COLUMN_TYPES[column.type].toJson(value), column)];
    return [field, await hooks.stored(column, value)];
  });
  return Object.fromEntries(await Promise.all(entries));
}
