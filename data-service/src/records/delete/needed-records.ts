// What records need that are restored: none comes back without a record that it must link to.
import { AppError } from "@portico/shared/app-error";
import { type Catalog, type Relation, type Table, targetOf } from "../../catalog/catalog.js";
import { COLUMN_TYPES } from "../../catalog/column-types.js";
import { idsOf, idText } from "../../catalog/record-ids.js";
import type { Stored } from "../../catalog/stored.js";
import type { ReadView } from "../../permission/read-view.js";
import type { AuthorizedPredicate } from "../../query/ast.js";
import { conjunction } from "../../query/logic.js";
import { matchStages } from "../../query/lower/condition.js";
import { Names } from "../../query/lower/document.js";
import { eachLink } from "../../query/lower/each-link.js";
import { linksTo } from "../../query/lower/links.js";
import type { ActingDeps, RecordDeps } from "../record-deps.js";
import { linkable } from "./await-leaving.js";
import { type DeleteStep, isWaiting, knownBy } from "./delete-effects.js";
import { stateCondition } from "./kept.js";

/** Whoever restores a record. */
export interface Restorer {
  readonly view: ReadView;
  /** The rows of a table that they may delete, and so restore. */
  readonly mayDelete: (table: Table) => AuthorizedPredicate;
}

/**
 * A record whose link is required does not come back before the one that it links to, unless both come together.
 * @param coming all that comes together: the record itself, and what went with it
 * @param are whether it is back already
 * @throws AppError 409 naming the relation and one of the links, if the caller may know them
 */
export async function requireNeeded(
  deps: ActingDeps,
  catalog: Catalog,
  caller: Restorer,
  coming: { readonly own: DeleteStep; readonly others: readonly DeleteStep[] },
  { areBack }: { readonly areBack: boolean },
): Promise<void> {
  const steps = [coming.own, ...coming.others];
  const texts = new Map<string, Set<string>>();
  for (const { table, ids } of steps)
    texts.set(table.id, new Set([...(texts.get(table.id) ?? []), ...ids.map((id) => idText(table, id))]));
  for (const step of steps) {
    for (const relation of step.table.relations.values()) {
      const target = targetOf(catalog, relation);
      if (relation.link.on !== "self" || !relation.required || target.deletedAt === undefined) continue;
      const comesAsWell = (id: Stored): boolean => texts.get(target.id)?.has(idText(target, id)) === true;
      const linked = await linkedBy(deps, step, relation, target);
      const asked = areBack ? linked : linked.filter((id) => !comesAsWell(id));
      const ids = await deletedOf(deps, relation, target, asked);
      if (ids.some(comesAsWell)) throw deletedMeanwhile(coming.own, target, ids);
      if (ids.length > 0) throw await stillDeleted(deps, caller, { step, relation, target, ids });
    }
  }
}

/** The ids that a relation of these records leads to, whatever has become of them. */
export async function linkedBy(
  { store }: Pick<RecordDeps, "store">,
  { table, ids }: DeleteStep,
  { link }: Relation,
  target: Table,
): Promise<Stored[]> {
  const found = await store.read(table, [
    { $match: { _id: { $in: [...ids] } } },
    ...eachLink(link),
    { $group: { _id: `$${link.field}` } },
  ]);
  return idsOf(target, found);
}

/**
 * Those that are deleted, of records that a relation leads to.
 * @throws AppError 503 when it takes long until that is decided
 */
async function deletedOf(
  { store }: RecordDeps,
  relation: Relation,
  target: Table,
  linked: readonly Stored[],
): Promise<Stored[]> {
  // A delete that has already looked for what blocks it did not see the records that come back now.
  const living = [{ $match: stateCondition(target, "living") }];
  if (isWaiting(relation)) await linkable({ store }, target, linked, { waits: true, visible: living });
  const deleted = await store.existing(target, linked, [{ $match: stateCondition(target, "deleted") }]);
  return linked.filter((id) => deleted.has(idText(target, id)));
}

/** Links of records that are restored, to deleted ones. */
interface Lacking {
  readonly step: DeleteStep;
  readonly relation: Relation;
  readonly target: Table;
  /** The deleted ones. */
  readonly ids: readonly Stored[];
}

async function stillDeleted(deps: RecordDeps, caller: Restorer, lacking: Lacking): Promise<AppError> {
  const { relation, target } = lacking;
  const { table } = lacking.step;
  if (!knownBy(caller.view)(table, relation))
    return new AppError("CONFLICT", "A record that this one needs is deleted; restore that one first.");
  const seen = await seenLink(deps, caller, lacking);
  const [one, other] =
    seen === undefined
      ? [`This "${table.name}" record`, "a record"]
      : [`The "${table.name}" record ${idText(table, seen.from)}`, `the record ${idText(target, seen.to)}`];
  const id = seen && COLUMN_TYPES[target.idColumn.type].toJson(seen.to);
  return new AppError("CONFLICT", {
    message: `${one} needs its "${relation.name}", ${other} of "${target.name}" that is deleted; restore that first.`,
    details: { table: target.name, relation: relation.name, ...(id === undefined ? {} : { id }) },
  });
}

/** One of the links, if the caller sees it: both its ends, as deleted records are shown, and that one leads to the other. */
async function seenLink(
  { store }: RecordDeps,
  { view, mayDelete }: Restorer,
  { step: { table, ids: from }, relation, target, ids }: Lacking,
): Promise<{ readonly from: Stored; readonly to: Stored } | undefined> {
  // Rules that show the relation in some records alone may hide it in this one.
  if (view.relation(table, relation.name) === undefined) return undefined;
  const shown = (of: Table) => matchStages([conjunction([view.rows(of, "all"), mayDelete(of)])], new Names());
  const visible = await store.existing(target, ids, shown(target));
  const to = ids.find((id) => visible.has(idText(target, id)));
  if (to === undefined) return undefined;
  const linked = { _id: { $in: [...from] }, ...linksTo(relation.link, [to]) };
  const found = await store.read(table, [
    { $match: linked },
    ...shown(table),
    { $limit: 1 },
    { $project: { _id: 1 } },
  ]);
  const [one] = idsOf(table, found);
  return one === undefined ? undefined : { from: one, to };
}

/** The refusal where others have deleted the record again, or one that has come back with it. */
function deletedMeanwhile(own: DeleteStep, target: Table, ids: readonly Stored[]): AppError {
  const isOwn = (id: Stored): boolean => own.ids.some((each) => idText(target, each) === idText(target, id));
  if (target.id === own.table.id && ids.some(isOwn)) return deletedAgain(own.table);
  return new AppError("CONFLICT", "Another request has deleted a record again that came back with this one.");
}

/** The refusal where others have deleted what has just come back. */
export function deletedAgain({ name }: Table): AppError {
  return new AppError("CONFLICT", `Another request has deleted this "${name}" record again.`);
}
