// One record of a system table as JSON, for rules and their checks: only its own columns, and no secrets.
import type { Json, JsonObject } from "@portico/shared/json";
import { COLUMN_TYPES } from "../catalog/column-types.js";
import type { Stored } from "../catalog/stored.js";
import { findTable } from "./find-table.js";
import type { RecordDeps } from "./record-deps.js";

export type ReadRecord = (table: string, id: Stored) => Promise<JsonObject | undefined>;

/** Makes the reader. */
export function recordReader({ catalogs, store }: Pick<RecordDeps, "catalogs" | "store">): ReadRecord {
  return async (name, id) => {
    const table = findTable(await catalogs.get(), name);
    const columns = [...table.columns.values()].filter(({ secret, encrypted }) => !secret && !encrypted);
    const [document] = await store.read(table, [{ $match: { _id: id } }]);
    if (document === undefined) return undefined;
    const entries = columns.map((column): [string, Json] => {
      const value = document[column.field];
      return [
        column.name,
        value === undefined || value === null ? null : COLUMN_TYPES[column.type].toJson(value),
      ];
    });
    return Object.fromEntries(entries);
  };
}
