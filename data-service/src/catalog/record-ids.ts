// The ids of records that were read: as text, and as values to ask for again.
import type { Table } from "./catalog.js";
import { COLUMN_TYPES } from "./column-types.js";
import type { Stored } from "./stored.js";

/** An id as the text that stands for it in messages and comparisons. */
export function idText(table: Table, id: unknown): string {
  return String(COLUMN_TYPES[table.idColumn.type].toJson(id));
}

/** The ids of documents as they were read. */
export function idsOf(table: Table, documents: readonly { readonly _id?: unknown }[]): Stored[] {
  const row = COLUMN_TYPES[table.idColumn.type];
  return documents.map(({ _id }) => row.parse(row.toJson(_id), [])).filter((id) => id !== undefined);
}
