// Undoes what a request has written, step by step. What others have changed since stays as they left it, and what
// they have taken meanwhile (a unique value, a link that only one may have) stays theirs.
import { AppError, isConflict } from "@portico/shared/app-error";
import type { Logger } from "@portico/shared/logger";
import type { ObjectId } from "bson";
import type { Catalog, Table } from "../catalog/catalog.js";
import type { Stored } from "../catalog/column-types.js";
import { indexesOf } from "../catalog/indexes.js";
import { getOrMake } from "../get-or-make.js";
import { idText } from "../mongo/record-store.js";
import { keepChanging, untilStill } from "../until-still.js";
import { type FieldChange, linksIn, movedField } from "./counted-writes.js";
import { OWN_REACH } from "./delete-effects.js";
import type { RecordDeps } from "./deps.js";
import { asRead, formerFields } from "./former-fields.js";
import { letGoOfMissing } from "./missing-links.js";
import { Deleter } from "./run-delete.js";
import type { Changed, Linked, Made, Moved, UndoStep } from "./undo.js";
import { atVersion, versionOf } from "./version.js";
import { tablesDeletedFrom, tablesWritten } from "./write-plan.js";

type Deps = RecordDeps & { readonly logger: Logger };

/** Takes steps back, the last first. Doing it again changes nothing. */
export async function takeBack(deps: Deps, steps: readonly UndoStep[]): Promise<void> {
  if (steps.length === 0) return;
  // What links to the records must be known in full.
  const catalog = await deps.catalogs.refresh();
  const byId = new Map([...catalog.tables.values()].map((table) => [table.id, table]));
  /** Made by the request, and linked to by what can't go back, nor be without its link. */
  const needed: Linked["to"][] = [];
  for (const step of steps.toReversed()) {
    const table = byId.get(step.table);
    // With its table all of it has gone.
    if (table === undefined) continue;
    const back = async (): Promise<void> => {
      if (step.kind === "made") await unmake(deps, catalog, table, without(needed, table, step));
      else if (step.kind === "changed") await changeBack(deps, catalog, table, step);
      else await linkBack(deps, table, byId.get(step.to.table), step);
    };
    await back().catch((error: unknown) => {
      requireTaken(deps, table, step, error);
      if (step.kind === "linked") needed.push(step.to);
    });
  }
}

function without(needed: readonly Linked["to"][], table: Table, step: Made): Made {
  const staying = needed.filter((to) => to.table === table.id).map(({ id }) => idText(table, id));
  return { ...step, ids: step.ids.filter((id) => !staying.includes(idText(table, id))) };
}

/** The tables whose documents that may change. */
export function tablesTakenBackIn(catalog: Catalog, steps: readonly UndoStep[]): ReadonlySet<Table> {
  const byId = new Map([...catalog.tables.values()].map((table) => [table.id, table]));
  const tables = steps.flatMap(({ kind, table: id }) => {
    const table = byId.get(id);
    if (table === undefined) return [];
    return kind === "made" ? [...tablesDeletedFrom(catalog, table)] : tablesWritten(catalog, table);
  });
  return new Set(tables);
}

/** The earlier steps are undone even if this one can't be. @throws what others have not caused */
function requireTaken({ logger }: Deps, { name }: Table, { kind }: UndoStep, error: unknown): void {
  if (!isConflict(error)) throw error;
  logger.warn({ table: name, step: kind, err: error }, "others have taken what a request would give back");
}

/** Somebody may have linked to it meanwhile: it goes as any record does, or stays where that is not allowed. */
async function unmake(deps: Deps, catalog: Catalog, table: Table, step: Made): Promise<void> {
  const ours = step.at === undefined ? [] : [{ $match: { [table.createdAt.field]: step.at } }];
  const there = await deps.store.existing(table, step.ids, ours);
  const left = step.ids.filter((id) => there.has(idText(table, id)));
  if (left.length === 0) return;
  // What its own table would keep goes for good, as it never was; what others have linked to it goes as with any record.
  const reach = { ...OWN_REACH, permanent: true, permanentIn: table.id };
  const deleter = new Deleter(deps, catalog, reach);
  const take = (some: readonly Stored[]) => deleter.takeAway({ table, ids: some });
  await take(left).catch(async (error: unknown) => {
    if (left.length === 1 || !isConflict(error)) throw error;
    // One that has to stay keeps none of the others.
    for (const id of left) await take([id]).catch((each: unknown) => requireTaken(deps, table, step, each));
  });
}

/** A record that others never leave alone is looked at this often. */
const ATTEMPTS = 100;

async function changeBack(deps: Deps, catalog: Catalog, table: Table, step: Changed): Promise<void> {
  const { id, set } = step;
  const back = () => changeBackAsItIs(deps, table, step);
  await untilStill(back, { attempts: ATTEMPTS, gaveUp: keepChanging(table.name) });
  for (const relation of table.relations.values()) {
    const { on, field, list } = relation.link;
    const target = catalog.tables.get(relation.target);
    const links = { table, field, list, which: { _id: id } };
    if (on === "self" && target !== undefined) await letGoOfMissing(deps, links, target, linksIn(set[field]));
  }
}

/** Gives back what the record is to be again as it is now. @returns false when it is another one meanwhile */
async function changeBackAsItIs(deps: Deps, table: Table, step: Changed): Promise<boolean> {
  const { id, set, unset } = step;
  const which = [{ $match: { _id: id } }, { $project: asRead([...Object.keys(set), ...unset]) }];
  const [now] = await deps.store.read(table, which);
  const former = now && formerFields(table, step, now);
  if (now === undefined || former === undefined) return true;
  const unchanged = { condition: atVersion([versionOf(now)]) };
  const write = async (change: FieldChange): Promise<boolean> =>
    (await deps.writes.update(table, id, change, unchanged)) !== undefined;
  return write(former).catch((error: unknown) => {
    // The rest goes back without the values that others have by now.
    if (!(error instanceof AppError) || error.code !== "DUPLICATE_RESOURCE") throw error;
    const free = Object.entries(former.set).filter(([field]) => !isUnique(table, field));
    return write({ ...former, set: Object.fromEntries(free) });
  });
}

/** Is the field part of anything unique? */
function isUnique(table: Table, field: string): boolean {
  return indexesOf(table).some(({ unique, key }) => unique && key.some(([each]) => each === field));
}

async function linkBack(deps: Deps, table: Table, owner: Table | undefined, step: Linked): Promise<void> {
  const { writes } = deps;
  const { field, list, to, gained, lost } = step;
  // What has its link again may have it to what was deleted meanwhile.
  const links = [to.id, ...gained.flatMap(({ before }) => (before === null ? [] : [before]))];
  const give = (moved: readonly Moved[], link: Stored | null) => giveBack(deps, table, step, moved, link);
  const refused: unknown[] = [];
  if (list) {
    await writes.takeFromList(table, field, { _id: { $in: idsOf(gained) } }, [to.id]);
    await writes.addToList(table, field, { _id: { $in: idsOf(lost) } }, to.id);
  } else refused.push(...(await give(gained, to.id)), ...(await give(lost, null)));
  if (owner !== undefined) await letGoOfMissing(deps, { table, field, list, which: {} }, owner, links);
  if (refused.length > 0) throw refused[0];
}

/**
 * Gives records the links that they had, as far as others have not taken those.
 * @param link what they link to since the request
 * @returns why some can neither have theirs nor be without
 */
async function giveBack(
  deps: Deps,
  table: Table,
  step: Linked,
  moved: readonly Moved[],
  link: Stored | null,
): Promise<unknown[]> {
  const { field, by } = step;
  const refused: unknown[] = [];
  for (const { alike, before, by: former } of groupedByBefore(moved)) {
    const move = (ids: readonly Stored[], to: Stored | null, mover: ObjectId | null) =>
      // Only where it was we: somebody else may have set the very same. What it led to may be deleted by now.
      deps.writes.moveLink(
        table,
        field,
        { _id: { $in: ids }, [field]: { $in: [link, null] }, [movedField(field)]: by },
        to,
        mover,
      );
    const giveOne = async (id: Stored): Promise<void> => {
      try {
        await move([id], before, former);
      } catch (error) {
        requireTaken(deps, table, step, error);
        // Another record links there by now. This one must not stay, and go with what is taken back next.
        if (isRequired(table, field)) refused.push(error);
        else await move([id], null, null);
      }
    };
    await move(idsOf(alike), before, former).catch(async (error: unknown) => {
      if (!isConflict(error)) throw error;
      for (const id of idsOf(alike)) await giveOne(id);
    });
  }
  return refused;
}

function isRequired({ relations }: Table, field: string): boolean {
  return [...relations.values()].some(
    ({ link, required }) => link.on === "self" && link.field === field && required,
  );
}

function idsOf(moved: readonly Moved[]): Stored[] {
  return moved.map(({ id }) => id);
}

/** Records whose links were the same. */
interface Alike extends Pick<Moved, "before" | "by"> {
  readonly alike: Moved[];
}

function groupedByBefore(moved: readonly Moved[]): Alike[] {
  const groups = new Map<string, Alike>();
  for (const each of moved) {
    const { before, by } = each;
    const key = `${String(before)} ${String(by)}`;
    getOrMake(groups, key, () => ({ before, by, alike: [] })).alike.push(each);
  }
  return [...groups.values()];
}
