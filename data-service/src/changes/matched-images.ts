// Records as the journal has them: which of them satisfy predicates.
import type { Table } from "../catalog/catalog.js";
import type { AuthorizedPredicate } from "../query/ast.js";
import { matchStages } from "../query/lower/condition.js";
import { type Document, Names } from "../query/lower/document.js";
import type { RecordDeps } from "../records/record-deps.js";

/** Those that satisfy all of the predicates, with their related records as they are now. One query for all of them. */
export async function matchedImages(
  { store }: Pick<RecordDeps, "store">,
  table: Table,
  images: readonly Document[],
  predicates: readonly AuthorizedPredicate[],
): Promise<ReadonlySet<Document>> {
  if (images.length === 0 || predicates.every(({ kind }) => kind === "always")) return new Set(images);
  const passing = await store.wouldMatch(table, images, matchStages(predicates, new Names()));
  return new Set(images.filter((_, at) => passing.has(at)));
}
