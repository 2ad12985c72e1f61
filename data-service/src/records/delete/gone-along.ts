// Has a record gone along with what it was just linked to? Then the change that linked it came first, and counts as done.
import type { Table } from "../../catalog/catalog.js";
import { DELETION_FIELD } from "../../catalog/soft-delete.js";
import type { Stored } from "../../catalog/stored.js";
import type { LinkSet } from "../body/link-set.js";
import type { RecordDeps } from "../record-deps.js";
import { linkable } from "./await-leaving.js";
import { takesAlong } from "./delete-effects.js";

/**
 * Of a record that is gone for good nobody can tell, and it doesn't matter. One that is kept may have been deleted by
 * itself, and may be restored: then it has to be as the answer said.
 * @param links of the record itself, as the change has set them
 * @throws AppError 503 when it takes long until it is decided what becomes of what they lead to
 */
export async function hasGoneAlong(
  { store }: Pick<RecordDeps, "store">,
  table: Table,
  id: Stored,
  links: readonly Pick<LinkSet, "relation" | "target" | "ids">[],
): Promise<boolean> {
  const along = links.filter(({ relation }) => takesAlong(relation));
  if (along.length === 0) return false;
  const fields = Object.fromEntries(along.map(({ relation: { link } }) => [link.field, 1]));
  const [now] = await store.byIds(table, [id], { _id: 1, [DELETION_FIELD]: 1, ...fields });
  if (now === undefined) return true;
  for (const { relation, target, ids } of along) {
    // What it linked to has gone for good, and let go of it.
    if ((now[relation.link.field] ?? null) === null) return true;
    // What it links to goes last.
    await linkable({ store }, target, ids, { waits: true });
    const [kept] = await store.byIds(target, ids, { _id: 1, [DELETION_FIELD]: 1 });
    if (kept !== undefined && String(kept[DELETION_FIELD]) === String(now[DELETION_FIELD])) return true;
  }
  return false;
}
