// What goes back of a record's change that is taken back, as far as others have left it alone. Pure; take-back does it.
import type { Table } from "../../catalog/catalog.js";
import { COLUMN_TYPES, type Stored } from "../../catalog/column-types.js";
import { OWN_FIELDS } from "../../catalog/own-fields.js";
import { DELETED_FIELD, DELETION_FIELD } from "../../catalog/soft-delete.js";
import { MOVES_FIELD, VERSION_FIELD } from "../../mongo/record-store.js";
import { asStored } from "../../query/as-read.js";
import type { Document } from "../../query/lower/document.js";
import type { StoredRecord } from "../../query/shape.js";
import { type FieldChange, linksChanged, linksIn, movedField } from "../derived/counted-writes.js";
import { versionOf } from "../version.js";
import type { ChangedStep } from "./undo.js";

/** Names the last change of a record that was noted. */
export const NOTED_FIELD = OWN_FIELDS.noted.name;

/** What is to be read of a record, as a projection. @param fields those of the change */
export function undoProjection(fields: readonly string[]): Document {
  return Object.fromEntries(
    [VERSION_FIELD, MOVES_FIELD, DELETED_FIELD, ...fields].map((field) => [field, 1]),
  );
}

/** The same to take a change back. */
export function undoProjectionOf({ set, unset, links = {} }: ChangedStep): Document {
  return undoProjection([...Object.keys(set), ...unset, ...Object.keys(links)]);
}

/** How often requests have changed the record itself. */
export function changesOf(document: StoredRecord): number {
  return versionOf(document) - movesOf(document);
}

/** How often something else has (see MOVES_FIELD). */
export function movesOf(document: StoredRecord): number {
  const moves = document[MOVES_FIELD];
  return typeof moves === "number" ? moves : 0;
}

/**
 * What a record is to be again. Its fields are as long as no request has changed it since: what moved its links, let go of
 * them or deleted it was none. A single link is as long as nobody else has moved it. Into a list goes what was taken out, and
 * out what was put in.
 * @param now the record, as far as `undoProjection` says
 * @returns undefined where nothing of it goes back
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
    // The change, and that it is taken back: as if neither had been, for whoever has changed the record before.
    moves: isLast ? 2 : 1,
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
  // Whoever has linked a record that was restored since is not to find it deleted again.
  const isFree = set[DELETED_FIELD] === undefined || !isLinkedSince(step, now);
  return { isOurs, isLast: isFree && isOurs(NOTED_FIELD) && changesOf(now) === changes + 1 };
}

/** Does it link to more than it did? What has let go of its links has not: a delete, or the restoration itself. */
function isLinkedSince({ links, moves }: ChangedStep, now: StoredRecord): boolean {
  if (links === undefined) return movesOf(now) !== moves;
  return Object.entries(links).some(([field, former]) => {
    const had = among(former);
    return linksIn(now[field]).some((id) => !had(id));
  });
}

/** When a record was deleted since, and by what, stays; as does a time of its change that is another one by now. */
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

/** What was there, but for what others have taken out since; and what others have put in. */
function formerList(
  former: Stored | undefined,
  written: readonly Stored[],
  now: readonly Stored[],
): Stored | undefined {
  const was = linksIn(former);
  const [had, wrote, has] = [among(was), among(written), among(now)];
  const left = was.filter((id) => has(id) || !wrote(id));
  const added = now.filter((id) => !wrote(id) && !had(id));
  // Just as it was, whatever another program had written there.
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
