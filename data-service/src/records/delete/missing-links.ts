// Links that come back to records, or with them: those to records that don't exist any more are let go of.
import type { Relation, Table } from "../../catalog/catalog.js";
import type { Stored } from "../../catalog/column-types.js";
import { idText } from "../../catalog/record-ids.js";
import type { Document } from "../../query/lower/document.js";
import type { RecordDeps } from "../record-deps.js";
import { linkable } from "./await-leaving.js";
import { isWaiting } from "./delete-effects.js";
import { stateCondition } from "./kept.js";

/** Where links lie. */
interface Links {
  readonly table: Table;
  /** Theirs. */
  readonly relation: Relation;
  /** In these records; `{}` = in all. */
  readonly which: Document;
}

/**
 * Lets go of links to records that don't exist.
 * @param ids what they may lead to, in the table `target`
 * @throws AppError 503 when it takes long until it is decided what becomes of one
 */
export async function letGoOfMissing(
  deps: Pick<RecordDeps, "store" | "writes">,
  { table, relation, which }: Links,
  target: Table,
  ids: readonly Stored[],
): Promise<void> {
  const { field, list } = relation.link;
  const there = await linkable(deps, target, ids, { waits: isWaiting(relation) });
  for (const gone of ids.filter((id) => !there.has(idText(target, id)))) {
    const linked = { ...which, [field]: gone };
    if (list) await deps.writes.takeFromList(table, field, linked, [gone]);
    else await deps.writes.moveLink(table, field, linked, null);
  }
}

/** May such a link lead to a record? @throws AppError 503 when it takes long until it is decided what becomes of it */
export async function isLinkable(
  deps: Pick<RecordDeps, "store">,
  relation: Relation,
  target: Table,
  id: Stored,
): Promise<boolean> {
  const living = [{ $match: stateCondition(target, "living") }];
  return (await linkable(deps, target, [id], { waits: isWaiting(relation), visible: living })).size > 0;
}
