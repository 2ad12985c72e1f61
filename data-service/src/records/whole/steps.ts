// What a request notes before each of its writes, so that it can be taken back: by the request itself when it is refused
// half-way, or by another process when this one dies. Only data; take-back acts on it.
import type { ObjectId } from "bson";
import type { Stored } from "../../catalog/stored.js";
import type { Document } from "../../query/lower/document.js";

/** Records are about to be made. Nobody else has their ids. */
export interface MadeStep {
  readonly kind: "made";
  /** The table's id, as in all of these. */
  readonly table: string;
  readonly ids: readonly Stored[];
  /** The createdAt given to them; tells them from a record that another program inserted first under the same number. */
  readonly at?: Date;
  /** The ids are not made for them: links to those may have been there before. */
  readonly isBrought?: true;
}

/** Fields of a record are about to change: what they held. */
export interface ChangedStep {
  readonly kind: "changed";
  readonly table: string;
  readonly id: Stored;
  /** How often requests had changed the record before (see changesOf), and how often anything else had (see movesOf). */
  readonly changes: number;
  readonly moves: number;
  /** Names this change in the record, and in the links that it sets there (see NOTED_FIELD, movedField). */
  readonly by: ObjectId;
  /** When the change says that it was made. */
  readonly at: Date;
  readonly set: Document;
  readonly unset: readonly string[];
  /** Lists of links as they will be, by field. */
  readonly lists: Readonly<Record<string, readonly Stored[]>>;
  /** For a record that is restored: all that it links to, by field. Earlier versions noted none. */
  readonly links?: Readonly<Record<string, readonly Stored[]>>;
}

/** Some records are about to link to another one, and others no longer to. */
export interface LinkedStep {
  readonly kind: "linked";
  /** The table and the field of the links that change. */
  readonly table: string;
  readonly field: string;
  readonly list: boolean;
  /** The record they link to. */
  readonly to: { readonly table: string; readonly id: Stored };
  /** Names this step in the records whose links it moves (see movedField), except in lists. */
  readonly by: ObjectId;
  /** Records that did not link to it. */
  readonly gained: readonly Moved[];
  /** Records that linked to it. */
  readonly lost: readonly Moved[];
}

/** A record whose link is about to change. For lists only the id matters. */
export interface Moved {
  readonly id: Stored;
  /** What it linked to; null = nothing. */
  readonly before: Stored | null;
  /** What movedField held; null = nothing. */
  readonly by: ObjectId | null;
  /** Of one that linked to nothing: how often requests had changed it (see changesOf). Earlier versions noted none. */
  readonly changes?: number;
}

export type Step = MadeStep | ChangedStep | LinkedStep;

/** How many records steps are about. */
export function recordsIn(steps: readonly Step[]): number {
  const count = (step: Step): number => {
    if (step.kind === "made") return step.ids.length;
    return step.kind === "linked" ? step.gained.length + step.lost.length : 1;
  };
  return steps.reduce((sum, step) => sum + count(step), 0);
}

/** Where a request notes what it is about to do. To be awaited before doing it. */
export interface StepLog {
  note(step: Step): Promise<void>;
  /** Takes out a step that is known not to have been done. */
  drop(step: Step): void;
}
