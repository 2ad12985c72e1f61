// What a request notes before each of its writes, so that it can be taken back: by the request itself when it is refused
// half-way, or by another process when this one dies. Data only; take-back does it.
import type { ObjectId } from "bson";
import type { Stored } from "../../catalog/column-types.js";
import type { Document } from "../../query/lower/document.js";

/** Records are going to be there. Their ids are nobody else's. */
export interface MadeStep {
  readonly kind: "made";
  /** The table's id, as in all of these. */
  readonly table: string;
  readonly ids: readonly Stored[];
  /** When the request says that it makes them: with a number that another program took first, a record says another time. */
  readonly at?: Date;
}

/** Fields of a record are going to change: what they were. */
export interface ChangedStep {
  readonly kind: "changed";
  readonly table: string;
  readonly id: Stored;
  /** How often requests had changed the record before (see changesOf), and its links were moved by others. */
  readonly changes: number;
  readonly moves: number;
  /** Names this in the record, and in the links that it sets there (see NOTED_FIELD, movedField). */
  readonly by: ObjectId;
  /** When the change says that it was made. */
  readonly at: Date;
  readonly set: Document;
  readonly unset: readonly string[];
  /** Lists of links as they will be, by field. */
  readonly lists: Readonly<Record<string, readonly Stored[]>>;
  /** Of a record that is restored all that it links to, by field; earlier versions noted none. */
  readonly links?: Readonly<Record<string, readonly Stored[]>>;
}

/** Some records will link to another one, and others no longer will. */
export interface LinkedStep {
  readonly kind: "linked";
  /** The table of the records whose links change, and where those lie. */
  readonly table: string;
  readonly field: string;
  readonly list: boolean;
  /** The record they link to. */
  readonly to: { readonly table: string; readonly id: Stored };
  /** Names this in the records whose links it moves (see movedField); lists don't have it. */
  readonly by: ObjectId;
  /** Records that did not link to it. */
  readonly gained: readonly Moved[];
  /** Records that linked to it. */
  readonly lost: readonly Moved[];
}

/** A record whose link is going to be another one. Of a list nothing but its id is asked. */
export interface Moved {
  readonly id: Stored;
  /** What it linked to; null = nothing. */
  readonly before: Stored | null;
  /** What was said of that; null = nothing. */
  readonly by: ObjectId | null;
}

export type UndoStep = MadeStep | ChangedStep | LinkedStep;

/** Where a request notes what it is about to do. To be awaited before it is done. */
export interface UndoLog {
  note(step: UndoStep): Promise<void>;
  /** A step that was noted is known not to have been done. */
  drop(step: UndoStep): void;
}
