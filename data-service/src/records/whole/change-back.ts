// Gives a record back what it held before a change that is taken back: starting from what it is now, and as far as others
// have not taken that meanwhile.
import { type Catalog, type Relation, type Table, targetOf } from "../../catalog/catalog.js";
import { gramField } from "../../catalog/grams.js";
import { asStored, linksIn } from "../../query/as-read.js";
import { allOf, type StoredRecord } from "../../query/lower/document.js";
import { Taken } from "../../store-refusals.js";
import { refuseContended, untilStill } from "../../until-still.js";
import { isBound, takesAlong } from "../delete/delete-effects.js";
import { endMissing, isLinkable } from "../delete/missing-links.js";
import { type FieldChange, movedField } from "../derived/counted-writes.js";
import type { ActingDeps, RecordDeps } from "../record-deps.js";
import { atVersion, versionOf } from "../version.js";
import { AFTER_OTHERS, formerFields, formerProjectionOf } from "./former-fields.js";
import type { ChangedStep, LinkedStep } from "./steps.js";

/** How often to try with a record that others keep changing. */
const ATTEMPTS = 100;

/** Records that another one can't be without. */
type Needed = readonly LinkedStep["to"][];

/**
 * Doing it again changes nothing.
 * @returns what the record goes on linking to, because its former links can't be restored
 * @throws AppError 409 when others have taken what it had
 */
export async function changeBack(
  deps: ActingDeps,
  catalog: Catalog,
  table: Table,
  step: ChangedStep,
): Promise<Needed> {
  const { id, set } = step;
  const back = () => changeBackAsItIs(deps, catalog, table, step);
  const needed = await untilStill(back, { attempts: ATTEMPTS, gaveUp: refuseContended(table.name) });
  for (const relation of table.relations.values()) {
    if (relation.link.on !== "self") continue;
    const links = { table, relation, which: { _id: id } };
    const target = targetOf(catalog, relation);
    const kept = needed.flatMap((to) => (takesAlong(relation) && to.table === target.id ? [to.id] : []));
    await endMissing(deps, catalog, links, target, [...linksIn(set[relation.link.field]), ...kept]);
  }
  return needed;
}

/** @returns what a record goes on needing whose change can't be taken back */
export async function neededBy(
  { store }: Pick<RecordDeps, "store">,
  catalog: Catalog,
  table: Table,
  step: ChangedStep,
): Promise<Needed> {
  const relations = boundLinksSet(table, step);
  const fields = Object.fromEntries(relations.map(({ link: { field } }) => [field, 1]));
  const [now] = await store.byIds(table, [step.id], { _id: 1, ...fields });
  return now === undefined ? [] : linkedBy(catalog, now, relations);
}

/** @returns false when the record was changed meanwhile */
async function changeBackAsItIs(
  deps: ActingDeps,
  catalog: Catalog,
  table: Table,
  step: ChangedStep,
): Promise<Needed | false> {
  const { id } = step;
  const which = [{ $match: { _id: id } }, { $project: formerProjectionOf(step) }];
  const [now] = await deps.store.read(table, which);
  const former = now && formerFields(table, step, now);
  if (now === undefined) return [];
  // Whatever has become of the rest: the record would go along with what such a link, if the change set it, leads to.
  if (former === undefined) return linkedBy(catalog, now, boundLinksSet(table, step));
  const write = async (change: FieldChange, staying: readonly Relation[]): Promise<Needed | false> => {
    const unchanged = atVersion([versionOf(now)]);
    const fields = { set: new Map(Object.entries(change.set)), unset: change.unset };
    const written = await deps
      .hooksOf(table)
      .changing(table, id, fields, (condition) =>
        deps.writes.update(table, id, change, { condition: allOf([unchanged, condition]) }),
      );
    return written !== undefined && linkedBy(catalog, now, staying);
  };
  const give = (change: FieldChange, staying: readonly Relation[]): Promise<Needed | false> =>
    write(change, staying).catch((error: unknown) => {
      const left = error instanceof Taken ? withoutTaken(deps, table, change, error) : undefined;
      if (left === undefined) throw error;
      return give(left.change, [...staying, ...left.staying]);
    });
  const lost = [...(await lostLinks(deps, catalog, table, former, now)), ...sharedLinks(table, former, now)];
  return give(withoutLinks(former, lost), lost);
}

/** Bound links whose former records don't exist any more: the present link is better than none. */
async function lostLinks(
  deps: ActingDeps,
  catalog: Catalog,
  table: Table,
  { set }: FieldChange,
  now: StoredRecord,
): Promise<readonly Relation[]> {
  const lost: Relation[] = [];
  for (const relation of singleLinks(table).filter(isBound)) {
    const { field } = relation.link;
    const former = set[field];
    if (former === undefined || (now[field] ?? null) === null) continue;
    if (!(await isLinkable(deps, relation, targetOf(catalog, relation), asStored(former))))
      lost.push(relation);
  }
  return lost;
}

/**
 * Links to an owner of records that had none before, and that others have changed while they had one: what they wrote was not
 * meant for a record of nobody (a permission rule of everybody), so it keeps its owner.
 */
function sharedLinks(table: Table, { unset, moves }: FieldChange, now: StoredRecord): readonly Relation[] {
  if (moves !== AFTER_OTHERS) return [];
  const isFreed = ({ link: { field } }: Relation): boolean =>
    unset.includes(field) && (now[field] ?? null) !== null;
  return singleLinks(table).filter((relation) => takesAlong(relation) && isFreed(relation));
}

/** The change without some links: these stay as they are, and nobody takes them back any more. */
function withoutLinks(change: FieldChange, relations: readonly Relation[]): FieldChange {
  const names = relations.map(({ link: { field } }) => movedField(field));
  const fields = [...names, ...relations.map(({ link: { field } }) => field)];
  const left = withoutFields(change, fields);
  return { ...left, unset: [...left.unset, ...names] };
}

/** These stay as they are. */
function withoutFields({ set, unset, ...rest }: FieldChange, fields: readonly string[]): FieldChange {
  return {
    ...rest,
    set: Object.fromEntries(Object.entries(set).filter(([field]) => !fields.includes(field))),
    unset: unset.filter((field) => !fields.includes(field)),
  };
}

/** What is left of a change. */
interface Left {
  readonly change: FieldChange;
  /** Links that stay where they are. */
  readonly staying: readonly Relation[];
}

/**
 * The change without what others have taken: of all that is unique together first the values, then the links as well.
 * @returns undefined where none of that is in it
 */
function withoutTaken(
  { hooksOf }: Pick<RecordDeps, "hooksOf">,
  table: Table,
  change: FieldChange,
  { members }: Taken,
): Left | undefined {
  const { set, unset } = change;
  const columns = members.flatMap((member) => ("link" in member ? [] : [member.field]));
  const values = columns.filter((field) => field in set || unset.includes(field));
  if (values.length > 0) {
    const hooks = hooksOf(table);
    const beside = values.flatMap((field) => [gramField({ field }), ...hooks.marksOf(table, field)]);
    // The record says when it was last written: that is when it got what it keeps.
    return { change: withoutFields(change, [...values, ...beside, table.updatedAt.field]), staying: [] };
  }
  const links = members.filter((member) => "link" in member).filter(({ link }) => link.field in set);
  if (links.length === 0) return undefined;
  const staying = links.filter(({ required }) => required);
  return { change: lettingGo(withoutLinks(change, staying), links), staying };
}

/** Optional links are let go of: what they lead to may have to go. */
function lettingGo({ set, unset, ...rest }: FieldChange, links: readonly Relation[]): FieldChange {
  const gone = links.flatMap(({ required, link: { field } }) => (required ? [] : [field]));
  const left = Object.entries(set).filter(([field]) => !gone.includes(field));
  return { ...rest, set: Object.fromEntries(left), unset: [...unset, ...gone] };
}

function linkedBy(catalog: Catalog, now: StoredRecord, relations: readonly Relation[]): LinkedStep["to"][] {
  return relations.flatMap((relation) => {
    const { id: table } = targetOf(catalog, relation);
    return linksIn(now[relation.link.field]).map((id) => ({ table, id }));
  });
}

/** Links that the change has set, and that the record can't be without or goes with. */
function boundLinksSet(table: Table, { set, unset }: ChangedStep): Relation[] {
  return singleLinks(table).filter(
    (relation) => isBound(relation) && (relation.link.field in set || unset.includes(relation.link.field)),
  );
}

/** The relations whose links lie in the table's own records, one link in each. */
function singleLinks({ relations }: Table): Relation[] {
  return [...relations.values()].filter(({ link }) => link.on === "self" && !link.list);
}
