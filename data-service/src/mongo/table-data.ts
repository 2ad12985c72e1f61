// The records of a table, and their collection, as a change of the table sees them: read and written by storage field.
import type { Db } from "mongodb";
import { makeDiskSpace } from "./disk-space.js";
import { makeTableCollections, type TableCollections } from "./table-collections.js";
import { makeTableQuestions, type TableQuestions } from "./table-questions.js";
import { makeTableWrites, type TableWrites } from "./table-writes.js";

export type TableData = TableQuestions & TableWrites & TableCollections;

/**
 * @param requireSpace given if the disk under the database is ours to watch: called before each batch that makes records
 * larger; throws when the disk is nearly full
 */
export function makeTableData(db: Db, requireSpace?: () => Promise<void>): TableData {
  const space = requireSpace && makeDiskSpace(db, requireSpace);
  return { ...makeTableQuestions(db), ...makeTableWrites(db, space), ...makeTableCollections(db) };
}
