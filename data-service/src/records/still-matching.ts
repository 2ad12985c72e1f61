// Which of some records a filter still matches. Writes then require the version that they had at that moment, so that a
// record that no longer matches is left alone.
import type { Stored } from "../catalog/column-types.js";
import { idText, VERSION_FIELD } from "../mongo/record-store.js";
import type { AuthorizedQuery } from "../query/ast.js";
import { matchStages } from "../query/lower/condition.js";
import { type Document, Names } from "../query/lower/document.js";
import type { RecordDeps } from "./deps.js";
import { recordNotFound } from "./find-table.js";
import { atVersion, versionOf } from "./version.js";

/** Says that the filter does not match a record any more. */
export class NoLongerMatching extends Error {}

/** The condition under which a record is still the one that the filter has matched; asks the filter anew each time. */
export type StillMatching = (id: Stored) => Promise<Document>;

/**
 * Asks about records that are written together: the first time for all of them at once.
 * @returns a condition that throws NoLongerMatching for a record that the filter does not match, AppError 404 for none
 */
export async function stillMatching(
  { store }: Pick<RecordDeps, "store">,
  { root: { table, rule, filter } }: AuthorizedQuery,
  ids: readonly Stored[],
): Promise<StillMatching> {
  const versions = async (some: readonly Stored[]): Promise<Map<string, number>> => {
    const found = await store.read(table, [
      { $match: { _id: { $in: [...some] } } },
      ...matchStages([rule, filter], new Names()),
      { $project: { _id: 1, [VERSION_FIELD]: 1 } },
    ]);
    return new Map(found.map((document) => [idText(table, document._id), versionOf(document)]));
  };
  const first = await versions(ids);
  return async (id) => {
    const text = idText(table, id);
    const version = first.get(text) ?? (await versions([id])).get(text);
    // Whoever asks again has found the record changed.
    first.delete(text);
    if (version !== undefined) return atVersion([version]);
    if ((await store.existing(table, [id])).size === 0) throw recordNotFound(table);
    throw new NoLongerMatching(`"${table.name}" ${text}`);
  };
}
