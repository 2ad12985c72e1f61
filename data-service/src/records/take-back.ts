// Takes back what a request has written, step by step. What others have changed since stays as they left it.
import { AppError } from "@portico/shared/app-error";
import type { Logger } from "@portico/shared/logger";
import type { Catalog, Table } from "../catalog/catalog.js";
import type { Stored } from "../catalog/column-types.js";
import { idText, VERSION_FIELD } from "../mongo/record-store.js";
import type { RecordDeps } from "./deps.js";
import { OWN_REACH, takeAway } from "./run-delete.js";
import type { Changed, Linked, Made, UndoStep } from "./undo.js";

type Deps = RecordDeps & { readonly logger: Logger };

/** Takes steps back, the last first. Doing it again changes nothing. */
export async function takeBack(deps: Deps, steps: readonly UndoStep[]): Promise<void> {
  if (steps.length === 0) return;
  // What links to the records must be known in full.
  const catalog = await deps.catalogs.refresh();
  const byId = new Map([...catalog.tables.values()].map((table) => [table.id, table]));
  for (const step of steps.toReversed()) {
    const table = byId.get(step.table);
    // With its table all of it has gone.
    if (table === undefined) continue;
    if (step.kind === "made") await unmake(deps, catalog, table, step);
    else if (step.kind === "changed") await changeBack(deps, catalog, table, step);
    else await linkBack(deps, table, byId.get(step.to.table), step);
  }
}

/** Somebody may have linked to it meanwhile: it goes as any record does, or stays where that is not allowed. */
async function unmake(deps: Deps, catalog: Catalog, table: Table, { ids }: Made): Promise<void> {
  const there = await deps.store.existing(table, ids);
  const left = ids.filter((id) => there.has(idText(table, id)));
  if (left.length === 0) return;
  try {
    await takeAway(deps, catalog, { table, ids: left }, { ...OWN_REACH, permanent: true });
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "CONFLICT") throw error;
    deps.logger.warn(
      { table: table.name },
      "records of an interrupted request stay, because others link to them",
    );
  }
}

async function changeBack(
  { store, writes }: Deps,
  catalog: Catalog,
  table: Table,
  { id, version, set, unset }: Changed,
): Promise<void> {
  const ours = { [VERSION_FIELD]: version + 1 };
  if ((await writes.update(table, id, { set, unset }, ours)) === undefined) return;
  for (const relation of table.relations.values()) {
    const { on, field, list } = relation.link;
    const former = set[field];
    if (on !== "self" || former === undefined || former === null) continue;
    const target = catalog.tables.get(relation.target);
    const links = list ? (former as Stored[]) : [former as Stored];
    for (const gone of target === undefined ? [] : await missingOf(store, target, links)) {
      const which = { _id: id, [field]: gone };
      if (list) await writes.takeFromList(table, field, which, [gone]);
      else await writes.moveLink(table, field, which, null);
    }
  }
}

async function missingOf(
  store: Pick<RecordDeps["store"], "existing">,
  table: Table,
  ids: readonly Stored[],
): Promise<Stored[]> {
  const there = await store.existing(table, ids);
  return ids.filter((id) => !there.has(idText(table, id)));
}

async function linkBack(
  { store, writes }: Deps,
  table: Table,
  owner: Table | undefined,
  { field, list, to, gained, lost }: Linked,
): Promise<void> {
  const idsOf = (those: readonly { readonly id: Stored }[]): Stored[] => those.map(({ id }) => id);
  if (list) {
    await writes.takeFromList(table, field, { _id: { $in: idsOf(gained) } }, [to.id]);
    await writes.addToList(table, field, { _id: { $in: [...lost] } }, to.id);
  } else {
    for (const alike of groupedByBefore(gained)) {
      const which = { _id: { $in: idsOf(alike) }, [field]: to.id };
      await writes.moveLink(table, field, which, alike[0]?.before ?? null);
    }
    await writes.moveLink(table, field, { _id: { $in: [...lost] }, [field]: null }, to.id);
  }
  if (owner === undefined) return;
  const links = [to.id, ...gained.flatMap(({ before }) => (before === null ? [] : [before]))];
  for (const gone of await missingOf(store, owner, links)) {
    if (list) await writes.takeFromList(table, field, { [field]: gone }, [gone]);
    else await writes.moveLink(table, field, { [field]: gone }, null);
  }
}

function groupedByBefore(gained: Linked["gained"]): Linked["gained"][] {
  const groups = new Map<string, Linked["gained"][number][]>();
  for (const each of gained) {
    const key = String(each.before);
    groups.set(key, [...(groups.get(key) ?? []), each]);
  }
  return [...groups.values()];
}
