// Looks whether writes are there that steps speak of, where the database did not say so.
import { tableById } from "../../catalog/catalog.js";
import type { RecordDeps } from "../record-deps.js";
import { NOTED_FIELD } from "./former-fields.js";
import type { Step } from "./steps.js";

/** @returns false as well where that can't be told, as of links in other records */
export async function areDone(
  { store, catalogs }: Pick<RecordDeps, "store" | "catalogs">,
  steps: readonly Step[],
): Promise<boolean> {
  const catalog = await catalogs.get();
  for (const step of steps) {
    const table = tableById(catalog, step.table);
    if (table === undefined || step.kind === "linked") return false;
    const which = step.kind === "made" ? [] : [{ $match: { [NOTED_FIELD]: step.by } }];
    const ids = step.kind === "made" ? step.ids : [step.id];
    if ((await store.existing(table, ids, which)).size < ids.length) return false;
  }
  return true;
}
