// Gives a record back what it held before a change that is taken back: starting from what it is now, and as far as others
// have not taken that meanwhile.
import { AppError } from "@portico/shared/app-error";
import { type Catalog, type Relation, type Table, targetOf } from "../../catalog/catalog.js";
import { indexesOf } from "../../catalog/indexes.js";
import { asStored } from "../../query/as-read.js";
import { allOf } from "../../query/lower/document.js";
import type { StoredRecord } from "../../query/shape.js";
import { refuseContended, untilStill } from "../../until-still.js";
import { isBound, takesAlong } from "../delete/delete-effects.js";
import { endMissing, isLinkable } from "../delete/missing-links.js";
import { type FieldChange, linksIn, movedField } from "../derived/counted-writes.js";
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
  const lost = [...(await lostLinks(deps, catalog, table, former, now)), ...sharedLinks(table, former, now)];
  const left = withoutLinks(former, lost);
  const links = singleLinks(table).filter(
    ({ link: { field } }) => field in left.set && isUnique(table, field),
  );
  const free = withoutUnique(table, left, links);
  const staying = links.filter(({ required }) => required);
  // What others have taken by now stays theirs: first the values are left out, then the links as well.
  return write(left, lost)
    .catch(ifTaken(() => write(free, lost)))
    .catch(ifTaken(() => write(lettingGo(withoutLinks(free, staying), links), [...lost, ...staying])));
}

/** Acts otherwise where others have what must be unique. */
function ifTaken<Result>(act: () => Promise<Result>): (error: unknown) => Promise<Result> {
  return (error) => {
    if (!(error instanceof AppError) || error.code !== "DUPLICATE_RESOURCE") throw error;
    return act();
  };
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
function withoutLinks({ set, unset, ...rest }: FieldChange, relations: readonly Relation[]): FieldChange {
  const names = relations.map(({ link: { field } }) => movedField(field));
  const fields = [...names, ...relations.map(({ link: { field } }) => field)];
  return {
    ...rest,
    set: Object.fromEntries(Object.entries(set).filter(([field]) => !fields.includes(field))),
    unset: [...unset.filter((field) => !fields.includes(field)), ...names],
  };
}

/** The change without what must be unique, except links. */
function withoutUnique(table: Table, { set, ...rest }: FieldChange, links: readonly Relation[]): FieldChange {
  const isLink = (field: string) => links.some(({ link }) => link.field === field);
  const free = Object.entries(set).filter(([field]) => isLink(field) || !isUnique(table, field));
  return { ...rest, set: Object.fromEntries(free) };
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

/** Is the field part of anything unique? */
function isUnique(table: Table, field: string): boolean {
  return indexesOf(table).some(({ unique, key }) => unique && key.some(([each]) => each === field));
}
