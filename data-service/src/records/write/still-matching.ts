// Which of some records a filter still matches. Writes then require the version that they had at that moment, so that a
// record that no longer matches is left alone.
import type { Catalog } from "../../catalog/catalog.js";
import type { Stored } from "../../catalog/column-types.js";
import { VERSION_FIELD } from "../../catalog/own-fields.js";
import { idText } from "../../catalog/record-ids.js";
import { getOrMake } from "../../get-or-make.js";
import type { AuthorizedQuery } from "../../query/ast.js";
import { matchStages } from "../../query/lower/condition.js";
import { type Document, Names } from "../../query/lower/document.js";
import { recordNotFound } from "../find-table.js";
import type { RecordDeps } from "../record-deps.js";
import type { Standing } from "../request.js";
import { atVersion, versionOf } from "../version.js";

/** Thrown for a record that the filter does not match any more. */
export class NoLongerMatching extends Error {}

/**
 * The condition under which a record is still the one that the filter has matched; asks the filter anew each time.
 * @param standing by which the record is written: tables may have changed since the filter was first asked
 */
export type StillMatching = (id: Stored, standing: Standing) => Promise<Document>;

/**
 * Asks about records that are written together: the first time for all of them at once.
 * @param queryIn the filter as it is bound by what a write is bound by
 * @returns throws NoLongerMatching for a record that the filter does not match, AppError 404 for one that does not exist
 */
export function whileMatching(
  { store }: Pick<RecordDeps, "store">,
  queryIn: (standing: Standing) => AuthorizedQuery,
  ids: readonly Stored[],
): StillMatching {
  const versions = async (
    { root }: AuthorizedQuery,
    some: readonly Stored[],
  ): Promise<Map<string, number>> => {
    const { table, rule, filter } = root;
    const found = await store.read(table, [
      { $match: { _id: { $in: [...some] } } },
      ...matchStages([rule, filter], new Names()),
      { $project: { _id: 1, [VERSION_FIELD]: 1 } },
    ]);
    return new Map(found.map((document) => [idText(table, document._id), versionOf(document)]));
  };
  const asked = new Map<Catalog, { query: AuthorizedQuery; first: Promise<Map<string, number>> }>();
  return async (id, standing) => {
    const { query, first } = getOrMake(asked, standing.catalog, () => {
      const query = queryIn(standing);
      return { query, first: versions(query, ids) };
    });
    const { table } = query.root;
    const [text, known] = [idText(table, id), await first];
    const version = known.get(text) ?? (await versions(query, [id])).get(text);
    // Whoever asks a second time has found the record changed: so look again.
    known.delete(text);
    if (version !== undefined) return atVersion([version]);
    if ((await store.existing(table, [id])).size === 0) throw recordNotFound(table);
    throw new NoLongerMatching(`"${table.name}" ${text}`);
  };
}
