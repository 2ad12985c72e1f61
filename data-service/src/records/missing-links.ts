// Links to records that are not there at all: whoever gives a record its links back, or the record itself, lets go of them.
import type { Relation, Table } from "../catalog/catalog.js";
import type { Stored } from "../catalog/column-types.js";
import { idText } from "../mongo/record-store.js";
import type { Document } from "../query/lower/document.js";
import type { RecordDeps } from "./deps.js";

/** Where links lie. */
interface Links extends Pick<Relation["link"], "field" | "list"> {
  readonly table: Table;
  /** In these records; `{}` = in all. */
  readonly which: Document;
}

/** @param ids what they may lead to, in the table `target` */
export async function letGoOfMissing(
  { store, writes }: Pick<RecordDeps, "store" | "writes">,
  { table, field, list, which }: Links,
  target: Table,
  ids: readonly Stored[],
): Promise<void> {
  if (ids.length === 0) return;
  const there = await store.existing(target, ids);
  for (const gone of ids.filter((id) => !there.has(idText(target, id)))) {
    const linked = { ...which, [field]: gone };
    if (list) await writes.takeFromList(table, field, linked, [gone]);
    else await writes.moveLink(table, field, linked, null);
  }
}
