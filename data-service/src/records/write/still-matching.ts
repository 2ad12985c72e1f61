// Which of some records a filter still matches. Writes then require the version that they had at that moment, so that a
// record that no longer matches is left alone.
import { AppError } from "@portico/shared/app-error";
import type { Catalog, Table } from "../../catalog/catalog.js";
import { VERSION_FIELD } from "../../catalog/own-fields.js";
import { idText } from "../../catalog/record-ids.js";
import type { Stored } from "../../catalog/stored.js";
import { getOrMake } from "../../get-or-make.js";
import type { AuthorizedQuery } from "../../query/ast.js";
import { matchStages } from "../../query/lower/condition.js";
import { allOf, type Document, Names } from "../../query/lower/document.js";
import { recordNotFound } from "../find-table.js";
import type { RecordDeps } from "../record-deps.js";
import type { Standing } from "../request.js";
import { atVersion, versionOf } from "../version.js";

/**
 * Thrown for a record that the filter does not match any more. Its words are for a request that can't just leave it alone, as
 * what it has made for it stays (see refused-in-part).
 */
export class NoLongerMatching extends AppError {
  constructor({ name }: Table) {
    super("CONFLICT", `This "${name}" record does not match the filter any more.`);
  }
}

/**
 * Asked before anything else is judged by what a record is written by: tables and rights may have changed since the filter
 * was first asked, and what is wrong with a body then is no answer to the request.
 * @throws AppError 401, 403, 404, 409 where the filter can't be asked any more
 */
export type StillMatching = (standing: Standing) => Matching;

/**
 * Gives the condition under which a record is still the one that the filter has matched.
 * @param anew asks the filter also where what it last said of the record has not been used yet
 */
export type Matching = (id: Stored, anew?: boolean) => Promise<Document>;

/** The filter that records are to match still. */
export interface AskedAgain {
  /** The table that is filtered, if the caller may read it still. @throws AppError 401, 403, 404, 409 */
  readonly tableIn: (standing: Standing) => Table;
  /** As it is bound by what a write is bound by. */
  readonly queryIn: (standing: Standing, table: Table) => AuthorizedQuery;
}

/** Which of some records a query matches, by the texts of their ids, with their versions. */
export async function matchingAmong(
  store: Pick<RecordDeps["store"], "read">,
  { root: { table, rule, filter } }: AuthorizedQuery,
  ids: readonly Stored[],
): Promise<Map<string, number>> {
  const found = await store.read(table, [
    { $match: { _id: { $in: [...ids] } } },
    ...matchStages([rule, filter], new Names()),
    { $project: { _id: 1, [VERSION_FIELD]: 1 } },
  ]);
  return new Map(found.map((document) => [idText(table, document._id), versionOf(document)]));
}

/**
 * Asks about records that are written together: the first time for all of them at once.
 * @returns throws NoLongerMatching for a record that the filter does not match, AppError 404 for one that does not exist
 */
export function whileMatching(
  { store }: Pick<RecordDeps, "store">,
  { tableIn, queryIn }: AskedAgain,
  ids: readonly Stored[],
): StillMatching {
  const versions = (query: AuthorizedQuery, some: readonly Stored[]) => matchingAmong(store, query, some);
  const asked = new Map<Catalog, { query: AuthorizedQuery; first: Promise<Map<string, number>> }>();
  return (standing) => {
    const table = tableIn(standing);
    return async (id, anew = false) => {
      const { query, first } = getOrMake(asked, standing.catalog, () => {
        const query = queryIn(standing, table);
        return { query, first: versions(query, ids) };
      });
      const [text, known] = [idText(table, id), await first];
      const version = (anew ? undefined : known.get(text)) ?? (await versions(query, [id])).get(text);
      // Whoever asks a second time has found the record changed: so look again.
      known.delete(text);
      if (version !== undefined) return atVersion([version]);
      if ((await store.existing(table, [id])).size === 0) throw recordNotFound(table);
      throw new NoLongerMatching(table);
    };
  };
}

/**
 * Asks the filter only about a record that others have changed since it matched: what was made for it meanwhile may have taken
 * it out of the filter as well.
 * @param matched the condition under which it is still the one that has matched
 */
export function onceChanged(
  { store }: Pick<RecordDeps, "store">,
  table: Table,
  match: Matching,
  matched: Document,
): Matching {
  return async (id, anew) =>
    (await store.hasAny(table, allOf([{ _id: id }, matched]))) ? matched : match(id, anew);
}
