// New ids, by the table's id type.
import { ObjectId, UUID } from "bson";
import { v7 } from "uuid";
import type { Table } from "../catalog/catalog.js";
import type { Stored } from "../catalog/stored.js";

/** Gives numbers that nobody else gets. */
export interface Sequences {
  nextInSequence(table: Table, count: number): Promise<number>;
}

/** Makes ids for new records, in ascending order: ObjectIds also where a table has several kinds of ids, and UUIDs as texts. */
export async function newIds(table: Table, count: number, sequences: Sequences): Promise<Stored[]> {
  const each = <Id>(make: (at: number) => Id): Id[] => Array.from({ length: count }, (_, at) => make(at));
  if (table.idType === "objectId" || table.idType === "mixed") return each(() => new ObjectId());
  if (table.idType === "uuid") return each(() => new UUID(v7()));
  if (table.idType === "string") return each(() => v7());
  const first = await sequences.nextInSequence(table, count);
  return each((at) => first + at);
}
