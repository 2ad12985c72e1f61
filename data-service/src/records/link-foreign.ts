// Links that lie in the records of other tables: sets those of one record, and says what can't be let go.
import { AppError } from "@portico/shared/app-error";
import { ObjectId } from "bson";
import { owningRelation, type Relation, type Table } from "../catalog/catalog.js";
import type { Stored } from "../catalog/column-types.js";
import { asStored } from "../query/as-read.js";
import type { Document } from "../query/lower/document.js";
import type { LinkSet } from "./check-body.js";
import { movedField } from "./counted-writes.js";
import type { RecordDeps } from "./deps.js";
import { formerLinks } from "./former-links.js";
import type { Moved, UndoLog } from "./undo.js";

/**
 * Sets them: first the new ones are set, then the former ones let go. A second writer of the
 * same set may let go of ours in between, so they are set once more: two at once may leave both sets, never neither.
 * Links that are required are never let go: whoever links since that was looked at stays.
 */
export async function linkForeign(
  { store, writes }: Pick<RecordDeps, "store" | "writes">,
  table: Table,
  id: Stored | undefined,
  sets: readonly LinkSet[],
  log: UndoLog,
): Promise<void> {
  if (id === undefined) return;
  for (const linkSet of sets) {
    const { relation, target, ids } = linkSet;
    const { field, list } = relation.link;
    const isRequired = owningRelation(linkSet)?.required === true;
    const former = isRequired ? NOBODY : await formerLinks({ store }, id, linkSet);
    const chosen = { _id: { $in: [...ids] } };
    const gaining = { $and: [chosen, { [field]: { $ne: id } }] };
    const by = new ObjectId();
    await log.note({
      kind: "linked",
      table: target.id,
      field,
      list,
      to: { table: table.id, id },
      by,
      gained: await linksOf(store, target, relation, gaining),
      lost: await linksOf(store, target, relation, former),
    });
    if (list) {
      await writes.addToList(target, field, chosen, id);
      await writes.takeFromList(target, field, former, [id]);
      await writes.addToList(target, field, chosen, id);
    } else {
      if (!relation.exclusive) await writes.moveLink(target, field, chosen, id, by);
      await writes.moveLink(target, field, former, null, by);
      await writes.moveLink(target, field, chosen, id, by);
    }
  }
}

const NOBODY: Document = { _id: { $in: [] } };

/** Records that satisfy a condition, with their links. */
async function linksOf(
  store: Pick<RecordDeps["store"], "read">,
  table: Table,
  { link: { field, list } }: Pick<Relation, "link">,
  which: Document,
): Promise<Moved[]> {
  const moved = movedField(field);
  const found = await store.read(table, [
    { $match: which },
    { $project: { _id: 1, [field]: 1, [moved]: 1 } },
  ]);
  return found.map((each) => {
    const [before, by] = [each[field] ?? null, each[moved]];
    return {
      id: asStored(each._id),
      before: before === null || list ? null : asStored(before),
      by: by instanceof ObjectId ? by : null,
    };
  });
}

/** A record whose link is required can't be let go, only moved or deleted. */
export async function requireLettable(deps: RecordDeps, id: Stored, set: LinkSet): Promise<void> {
  const { relation, target } = set;
  const owning = owningRelation(set);
  if (owning?.required !== true) return;
  const former = await formerLinks(deps, id, set);
  const left = await deps.store.read(target, [{ $match: former }, { $limit: 1 }, { $project: { _id: 1 } }]);
  if (left.length === 0) return;
  const reason = `would leave records of "${target.name}" without their required "${owning.name}"; move or delete them instead`;
  throw new AppError("VALIDATION_ERROR", { message: [`${relation.name}: ${reason}`] });
}
