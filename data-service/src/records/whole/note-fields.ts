// Notes what a record holds before a change that may have to be taken back.
import { ObjectId } from "bson";
import { isStorable } from "../../catalog/bson-json.js";
import type { Table } from "../../catalog/catalog.js";
import { DELETED_FIELD } from "../../catalog/soft-delete.js";
import type { Stored } from "../../catalog/stored.js";
import { asStored, linksIn, valueIn } from "../../query/as-read.js";
import { type FieldChange, linksChanged, movedField } from "../derived/counted-writes.js";
import type { RecordDeps } from "../record-deps.js";
import { versionOf } from "../version.js";
import { changesOf, formerProjection, movesOf, NOTED_FIELD } from "./former-fields.js";
import type { ChangedStep, StepLog } from "./steps.js";

/** A change as it is to be written: with a name by which the record says whose it is. */
export interface NotedChange {
  readonly change: FieldChange;
  readonly by: ObjectId;
}

/** Gives a change a name, for the record and for each single link that it sets there. */
export function named(table: Table, { set, unset }: FieldChange): NotedChange {
  const by = new ObjectId();
  const links = linksChanged(table, { set, unset }).filter(({ list }) => !list);
  const names = [NOTED_FIELD, ...links.map(({ field }) => movedField(field))];
  const own = Object.fromEntries(names.map((name) => [name, by]));
  return { change: { set: { ...set, ...own }, unset }, by };
}

/** The note of a change, and the version of the record that was noted. */
interface Note {
  readonly step: ChangedStep;
  readonly version: number;
}

function ownLinkFields({ relations }: Table): string[] {
  return [...relations.values()].flatMap(({ link: { on, field } }) => (on === "self" ? [field] : []));
}

/** Notes what the fields of a record hold before they change. @returns undefined when there is no such record */
export async function noteFields(
  { store }: Pick<RecordDeps, "store">,
  table: Table,
  id: Stored,
  { change, by }: NotedChange,
  log: StepLog,
): Promise<Note | undefined> {
  const { set, unset } = change;
  const at = set[table.updatedAt.field];
  if (!(at instanceof Date)) throw new Error(`a change of "${table.name}" does not say when it is made`);
  const fields = [...Object.keys(set), ...unset];
  const links = fields.includes(DELETED_FIELD) ? ownLinkFields(table) : [];
  const read = formerProjection([...fields, ...links]);
  const [before] = await store.read(table, [{ $match: { _id: id } }, { $project: read }]);
  if (before === undefined) return undefined;
  const had = fields.filter((field) => valueIn(before, field) !== undefined);
  const kept = had.filter((field) => isStorable(before[field]));
  // What was no link is none afterwards: otherwise the record would go along with what it links to now.
  const lost = had.filter((field) => !kept.includes(field) && ownLinkFields(table).includes(field));
  const lists = linksChanged(table, change).filter(({ list }) => list);
  const step: ChangedStep = {
    kind: "changed",
    table: table.id,
    id,
    changes: changesOf(before),
    moves: movesOf(before),
    by,
    at,
    // What was just read is given back as it was.
    set: Object.fromEntries(kept.map((field) => [field, asStored(before[field])])),
    unset: [...fields.filter((field) => valueIn(before, field) === undefined), ...lost],
    lists: Object.fromEntries(lists.map(({ field }) => [field, linksIn(set[field])])),
    ...(links.length === 0
      ? {}
      : { links: Object.fromEntries(links.map((field) => [field, linksIn(before[field])])) }),
  };
  await log.note(step);
  return { step, version: versionOf(before) };
}
