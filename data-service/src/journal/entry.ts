// What the journal says about one change of one record, and how much of the record it keeps. Pure.
import { Binary, calculateObjectSize, ObjectId } from "bson";
import { isBinary, isStorable, plainJson } from "../catalog/bson-json.js";
import type { Table } from "../catalog/catalog.js";
import { OWN_FIELDS } from "../catalog/own-fields.js";
import { sameValue } from "../catalog/restore-value.js";
import type { Stored } from "../catalog/stored.js";
import { asStored } from "../query/as-read.js";
import type { Document, StoredRecord } from "../query/lower/document.js";

/** What happened to a record. */
export type ChangeKind = "created" | "updated" | "deleted";

/** The field of a record that names its last change; written by the same write that makes the change. */
export const CHANGE_FIELD = OWN_FIELDS.change.name;

/** Who changes something, as far as the request tells. */
export interface Actor {
  /** 24-hex id of the user; null when nobody was signed in, or for the service itself. */
  readonly userId: string | null;
}

/** A change that is about to be made. Written in advance, so that a crash in between leaves a trace. */
export interface Pending {
  readonly id: ObjectId;
  /** The table's id. */
  readonly table: string;
  /** The record's id. */
  readonly record: Stored;
  readonly kind: ChangeKind;
  /** Counts the changes of one record, from 1. */
  readonly revision: number;
  readonly by: string | null;
  readonly at: Date;
  /** The instance that makes it. */
  readonly instance: string;
  /** The record before; undefined for a new one. */
  readonly before?: Document;
  /**
   * For a deletion: the change that it builds on, which tells several lives of one id apart; itself where none is known (null
   * in those of earlier versions).
   */
  readonly previous?: ObjectId | null;
}

/** A change that has been made. */
export interface Entry extends Omit<Pending, "instance"> {
  /** The record after it; undefined for one that was deleted. */
  readonly after?: Document;
}

/** A change that the next one builds on. */
export interface LastChange {
  readonly id: ObjectId;
  readonly revision: number;
  /** Unknown for changes made by earlier versions. */
  readonly at?: Date;
}

/** The last change that a record names; undefined if its table kept no journal then. */
export function lastChangeOf(document: StoredRecord): LastChange | undefined {
  const mark = document[CHANGE_FIELD];
  if (typeof mark !== "object" || mark === null || !("e" in mark) || !("n" in mark)) return undefined;
  const at = "t" in mark && mark.t instanceof Date ? { at: mark.t } : {};
  return { id: new ObjectId(String(mark.e)), revision: Number(mark.n), ...at };
}

/** What a write puts into the record to name its change. */
export function markOf({ id, revision, at }: Pick<Pending, "id" | "revision" | "at">): Document {
  return { e: id, n: revision, t: at };
}

/** When the change after the last one is made: never before it, whatever another instance's clock says. */
export function timeAfter(last: Pick<LastChange, "at"> | undefined, now: Date): Date {
  return last?.at !== undefined && last.at > now ? last.at : now;
}

/** The condition for a record that nobody has changed since it was read. */
export function unchangedSince(document: StoredRecord): Document {
  const last = lastChangeOf(document);
  return last === undefined ? { [CHANGE_FIELD]: { $exists: false } } : { [`${CHANGE_FIELD}.e`]: last.id };
}

/** Stands for a value that must not be kept: it only says that there was one. */
const KEPT_SECRET = new Binary();

/** What is kept of a record: its columns and its own links. For encrypted values only that there was one. */
export function imageOf(table: Table, document: StoredRecord): Document {
  const image: Document = {};
  for (const { field, encrypted, secret } of table.columns.values()) {
    const value = document[field];
    if (value === undefined || value === null) continue;
    image[field] = encrypted || secret ? KEPT_SECRET : storable(value);
  }
  for (const { link } of table.relations.values()) {
    const value = link.on === "self" ? document[link.field] : undefined;
    if (value !== undefined && value !== null) image[link.field] = storable(value);
  }
  return image;
}

/** Of what another program has stored, the part that this one can't is kept as its JSON. */
function storable(value: unknown): Stored {
  if (isStorable(value)) return asStored(value);
  if (Array.isArray(value)) return value.map(storable);
  return JSON.stringify(plainJson(value));
}

/**
 * Stand for a value that there was no room for, which must not be taken for null. Two, so that those of one field are as equal
 * as its values were.
 */
const [CUT, CUT_OTHERWISE] = [markOfCut("cut"), markOfCut("cut otherwise")] as const;

function markOfCut(text: string): Binary {
  return new Binary(Buffer.from(`portico: ${text}`), Binary.SUBTYPE_USER_DEFINED);
}

/** Was there a value that is not known? @param kept what an entry has in a field */
export function isCut(kept: unknown): boolean {
  return isBinary(kept) && [CUT, CUT_OTHERWISE].some((mark) => sameValue(mark, kept));
}

type Images = Pick<Entry, "before" | "after">;

const MEBIBYTE = 1024 * 1024;
/** A MongoDB document may have 16 MB; an entry holds two records, and some space must be left. */
const MOST_BYTES = 12 * MEBIBYTE;
/** An announcement holds one, which may nearly have 16 MB, and says more of it than the record does. */
const MOST_BYTES_ANNOUNCED = 15 * MEBIBYTE;

/** The entry without its largest values, if it would be too large to be stored. */
export function fitted<Kept extends Images>(entry: Kept, most = MOST_BYTES): Kept {
  let excess = calculateObjectSize(entry) - most;
  if (excess <= 0) return entry;
  const cut = new Set<string>();
  for (const { field, bytes } of largestFirst(entry)) {
    if (excess <= 0) break;
    cut.add(field);
    excess -= bytes;
  }
  return { ...entry, ...withoutValues(entry, cut) };
}

/**
 * What is stored of a change before it is made, without values that there is no room for. It is read only where the process
 * that makes the change did not publish it: that one still has all values.
 */
export function announcementOf(pending: Pending): Pending {
  return fitted(pending, MOST_BYTES_ANNOUNCED);
}

function largestFirst({ before = {}, after = {} }: Images): { field: string; bytes: number }[] {
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const bytesOf = (field: string): number => calculateObjectSize({ was: before[field], is: after[field] });
  return fields
    .map((field) => ({ field, bytes: bytesOf(field) }))
    .toSorted((one, other) => other.bytes - one.bytes);
}

function withoutValues({ before, after }: Images, cut: ReadonlySet<string>): Images {
  const marked = (image: Document, mark: (field: string) => Binary): Document =>
    Object.fromEntries(
      Object.entries(image).map(([field, value]) => [field, cut.has(field) ? mark(field) : value]),
    );
  const isKept = (field: string): boolean => sameValue(before?.[field], after?.[field]);
  return {
    ...(before === undefined ? {} : { before: marked(before, () => CUT) }),
    ...(after === undefined
      ? {}
      : { after: marked(after, (field) => (isKept(field) ? CUT : CUT_OTHERWISE)) }),
  };
}

/** The entry for a change that was made. @param document the record as the change left it */
export function entryOf(table: Table, pending: Pending, document?: StoredRecord): Entry {
  const { instance: _instance, ...rest } = pending;
  return fitted({ ...rest, ...(document === undefined ? {} : { after: imageOf(table, document) }) });
}

/** The entry for the end of a record that was made and taken back. Nobody asked for it, and of several only one is kept. */
export function takenBackOf({ id, table, record, revision, at, after = {} }: Entry): Entry {
  return {
    id: new ObjectId(),
    table,
    record,
    kind: "deleted",
    revision: revision + 1,
    by: null,
    at,
    before: after,
    previous: id,
  };
}
