// What a record gets back when a change of it is taken back: what others have left alone since. Pure; take-back does it.
import type { Table } from "../../catalog/catalog.js";
import { COLUMN_TYPES } from "../../catalog/column-types.js";
import { MOVES_FIELD, OWN_FIELDS, VERSION_FIELD } from "../../catalog/own-fields.js";
import { DELETED_FIELD, DELETION_FIELD } from "../../catalog/soft-delete.js";
import type { Stored } from "../../catalog/stored.js";
import { asStored, linksIn } from "../../query/as-read.js";
import type { Document, StoredRecord } from "../../query/lower/document.js";
import { type FieldChange, linksChanged, movedField } from "../derived/counted-writes.js";
import { countIn, versionOf } from "../version.js";
import type { ChangedStep } from "./steps.js";

/** Names the last noted change of a record. */
export const NOTED_FIELD = OWN_FIELDS.noted.name;

/** By how much a change that is taken back raises `moves`, where a request has changed the record since. */
export const AFTER_OTHERS = 1;

/** What is to be read of a record, as a projection. @param fields those of the change */
export function formerProjection(fields: readonly string[]): Document {
  return Object.fromEntries(
    [VERSION_FIELD, MOVES_FIELD, DELETED_FIELD, ...fields].map((field) => [field, 1]),
  );
}

/** What is to be read of a record to take a change back, as a projection. */
export function formerProjectionOf({ set, unset, links = {} }: ChangedStep): Document {
  return formerProjection([...Object.keys(set), ...unset, ...Object.keys(links)]);
}

/** How often requests have changed the record itself. */
export function changesOf(document: StoredRecord): number {
  return versionOf(document) - movesOf(document);
}

/** The condition that requests have changed a record so often, and no more (see changesOf). */
export function atChanges(changes: number): Document {
  const counts = [VERSION_FIELD, MOVES_FIELD].map((field) => ({
    $cond: [{ $isNumber: `$${field}` }, `$${field}`, 0],
  }));
  return { $expr: { $eq: [{ $subtract: counts }, changes] } };
}

/** How often anything else has (see MOVES_FIELD). */
export function movesOf(document: StoredRecord): number {
  return countIn(document[MOVES_FIELD]);
}

/**
 * What a record gets back. Its fields, as long as no request has changed it since; moving its links, letting go of them and
 * deleting it don't count as one. A single link, as long as nobody else has moved it. Of a list, what was taken out is put in
 * again, and what was put in is taken out.
 * @param now the record, as far as `formerProjection` says
 * @returns undefined where it gets nothing back
 */
export function formerFields(table: Table, step: ChangedStep, now: StoredRecord): FieldChange | undefined {
  const { isOurs, isLast } = ownership(step, now);
  const singles = linksChanged(table, step).filter(({ list }) => !list);
  const moved = new Map(
    singles.flatMap(({ field }) => [field, movedField(field)].map((each) => [each, field])),
  );
  const stays = isLast ? stayingFields(table, step, now) : undefined;
  const goes = (field: string): boolean => {
    const link = moved.get(field);
    return link === undefined ? stays?.has(field) === false : isOurs(movedField(link));
  };
  const fields = [...Object.keys(step.set), ...step.unset].filter(goes);
  if (fields.length === 0) return undefined;
  const entries = fields.map((field): [string, Stored | undefined] => [field, formerValue(step, field, now)]);
  return {
    set: Object.fromEntries(
      entries.flatMap(([field, value]) => (value === undefined ? [] : [[field, value]])),
    ),
    unset: entries.flatMap(([field, value]) => (value === undefined ? [field] : [])),
    // Two for the change and its taking back: to whoever changed the record before, it is as if neither had been made.
    moves: isLast ? 2 : AFTER_OTHERS,
  };
}

interface Ownership {
  /** Whether such a field names the change. */
  readonly isOurs: (field: string) => boolean;
  /** No request has changed the record since. */
  readonly isLast: boolean;
}

function ownership(step: ChangedStep, now: StoredRecord): Ownership {
  const { by, changes, set } = step;
  const isOurs = (field: string): boolean => String(now[field]) === String(by);
  // A record that was restored, and linked to others since, must not be deleted again.
  const isFree = set[DELETED_FIELD] === undefined || !isLinkedSince(step, now);
  return { isOurs, isLast: isFree && isOurs(NOTED_FIELD) && changesOf(now) === changes + 1 };
}

/** Does it link to more than it did? Deletes, and the restoration itself, only let go of links. */
function isLinkedSince({ links, moves }: ChangedStep, now: StoredRecord): boolean {
  if (links === undefined) return movesOf(now) !== moves;
  return Object.entries(links).some(([field, former]) => {
    const had = among(former);
    return linksIn(now[field]).some((id) => !had(id));
  });
}

/** If it was deleted since, when and by which act stays; and so does `updatedAt`, if it is another time by now. */
function stayingFields({ updatedAt }: Table, { at }: ChangedStep, now: StoredRecord): ReadonlySet<string> {
  const isDeleted = (now[DELETED_FIELD] ?? null) !== null;
  const time = now[updatedAt.field];
  const isSame = time instanceof Date && time.getTime() === at.getTime();
  return new Set([
    ...(isSame ? [] : [updatedAt.field]),
    ...(isDeleted ? [DELETED_FIELD, DELETION_FIELD] : []),
  ]);
}

/** @returns undefined = nothing */
function formerValue({ set, lists }: ChangedStep, field: string, now: StoredRecord): Stored | undefined {
  const former = set[field];
  const value = former === undefined ? undefined : asStored(former);
  const written = lists[field];
  return written === undefined ? value : formerList(value, written, linksIn(now[field]));
}

/** What was there, except what others have taken out since; and what others have put in. */
function formerList(
  former: Stored | undefined,
  written: readonly Stored[],
  now: readonly Stored[],
): Stored | undefined {
  const was = linksIn(former);
  const [had, wrote, has] = [among(was), among(written), among(now)];
  const left = was.filter((id) => has(id) || !wrote(id));
  const added = now.filter((id) => !wrote(id) && !had(id));
  // Exactly as it was, even if another program wrote no list there.
  if (added.length === 0 && left.length === was.length) return former;
  const list = [...left, ...added];
  return list.length === 0 ? undefined : list;
}

function among(ids: readonly Stored[]): (id: Stored) => boolean {
  // Whatever the type of the ids is: the text says which one it is.
  const textOf = (id: Stored): string => String(COLUMN_TYPES.mixed.toJson(id));
  const texts = new Set(ids.map(textOf));
  return (id) => texts.has(textOf(id));
}
