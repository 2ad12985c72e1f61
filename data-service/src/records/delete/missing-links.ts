// Links that come back to records, or with them: none stays that leads to a record that doesn't exist any more, unless its own
// record would have to go and can't.
import { isConflict } from "@portico/shared/app-error";
import type { Catalog, Relation, Table } from "../../catalog/catalog.js";
import { isPlain } from "../../catalog/mixed-id.js";
import { idsOf, idText } from "../../catalog/record-ids.js";
import type { Stored } from "../../catalog/stored.js";
import { allOf, type Document } from "../../query/lower/document.js";
import { linksTo } from "../../query/lower/links.js";
import type { ActingDeps, RecordDeps } from "../record-deps.js";
import { linkable } from "./await-leaving.js";
import { isWaiting, takesAlong } from "./delete-effects.js";
import { stateCondition } from "./kept.js";
import { Deleter } from "./run-delete.js";

/** Where links lie. */
interface Links {
  readonly table: Table;
  /** Theirs. */
  readonly relation: Relation;
  /** In these records; `{}` = in all. */
  readonly which: Document;
}

/**
 * Ends links to records that don't exist.
 * @param ids what they may lead to, in the table `target`
 * @throws AppError 503 when it takes long until it is decided what becomes of one
 */
export async function letGoOfMissing(
  deps: Pick<ActingDeps, "store" | "writes">,
  { table, relation, which }: Links,
  target: Table,
  ids: readonly Stored[],
): Promise<void> {
  const { field, list } = relation.link;
  const there = await linkable(deps, target, ids, { waits: isWaiting(relation) });
  for (const gone of ids.filter((id) => !there.has(idText(target, id)))) {
    const linked = allOf([which, linksTo(relation.link, [gone])]);
    if (list) await deps.writes.takeFromList(table, field, linked, [gone]);
    else await deps.writes.moveLink(table, field, linked, null);
  }
}

/**
 * The same for living records that were taken back. One that goes with what it links to goes now, because that record's delete
 * could not find it: without the link it would be nobody's, which may mean everybody's. If something blocks that, its link
 * stays, and leads nowhere.
 */
export async function endMissing(
  deps: ActingDeps,
  catalog: Catalog,
  links: Links,
  target: Table,
  ids: readonly Stored[],
): Promise<void> {
  const { table, relation, which } = links;
  if (!takesAlong(relation)) return letGoOfMissing(deps, links, target, ids);
  const there = await linkable(deps, target, ids, { waits: isWaiting(relation) });
  const gone = ids.filter((id) => !there.has(idText(target, id)));
  if (gone.length === 0) return;
  const linked = allOf([which, linksTo(relation.link, gone)]);
  const living = allOf([linked, stateCondition(table, "living")]);
  const left = await deps.store.read(table, [{ $match: living }, { $project: { _id: 1 } }]);
  for (const id of idsOf(table, left)) {
    const step = { table, ids: [id], linked };
    await new Deleter(deps, catalog).takeAway(step, { condition: linked }).catch((error: unknown) => {
      if (!isConflict(error)) throw error;
    });
  }
  // What its table keeps loses its link then, as with any delete.
  if (table.deletedAt === undefined) return;
  const kept = allOf([which, stateCondition(table, "deleted")]);
  await letGoOfMissing(deps, { table, relation, which: kept }, target, gone);
}

/** May such a link lead to a record? @throws AppError 503 when it takes long until it is decided what becomes of it */
export async function isLinkable(
  deps: Pick<RecordDeps, "store">,
  relation: Relation,
  target: Table,
  id: Stored,
): Promise<boolean> {
  if (!isPlain(id)) return false;
  const living = [{ $match: stateCondition(target, "living") }];
  return (await linkable(deps, target, [id], { waits: isWaiting(relation), visible: living })).size > 0;
}
