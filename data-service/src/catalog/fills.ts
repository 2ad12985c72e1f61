// What a change of a table has to write into fields that nobody reads yet.
import { isFilled, isMoved, isRetargeted, movedMembers, type Transition } from "./changed-fields.js";
import { type ColumnDefinition, isList, type RelationDefinition } from "./definition.js";
import { fieldOf } from "./fields.js";
import { OWN_FIELDS } from "./own-fields.js";

/** Values to write, before the new definition is in use, into fields that nobody reads yet. */
export type Fill =
  | (Copy & { readonly kind: "convert"; readonly member: string })
  | {
      readonly kind: "default";
      readonly member: string;
      readonly field: string;
      /** If others may have written values into the field as well: another field, which marks what was filled. */
      readonly mark?: string;
    }
  | (Copy & { readonly kind: "wrap" | "first" })
  | { readonly kind: "mark" }
  | Restore;

/** Brings values into a new field. */
export interface Copy {
  readonly from: string;
  readonly to: string;
  /** If others may write the former field as well. */
  readonly note?: Note;
}

/**
 * Another field, which notes what a value was made from. For a text that will be encrypted it notes the result instead,
 * which is encrypted.
 */
export interface Note {
  readonly field: string;
  readonly holds: "former" | "made";
}

/** The field that a change has made, and the one that its values came from. */
export interface FieldPair {
  readonly later: string;
  readonly former: string;
  /** A former value that differs from the noted one was written by others, and stays. */
  readonly note?: Note;
}

/**
 * Brings a former field up to date: where the present value is not what the change made of the former one, it is copied
 * back.
 */
export type Restore =
  | (FieldPair & {
      readonly kind: "restore";
      readonly member: string;
      /** The changes that have led the values from the former field to the later one. */
      readonly path: readonly Transition[];
    })
  | (FieldPair & {
      readonly kind: "restoreLinks";
      /** The former field holds a list. */
      readonly list: boolean;
      /** The collection to which the links lead. */
      readonly target: string;
    });

/** What a column's values are taken from: a former field or its default. */
export function columnFills(change: Transition, column: ColumnDefinition): Fill[] {
  const { before, after } = change;
  const from = before.columns.find((each) => each.id === column.id);
  const [member, field] = [column.id, fieldOf(after, column.id)];
  const fills: Fill[] = [];
  if (from !== undefined && isMoved(change, member))
    fills.push({
      kind: "convert",
      member,
      from: fieldOf(before, member),
      to: field,
      ...noted(change, member),
    });
  const isMovedAway = fills.length > 0 && column.required && column.default !== undefined;
  if (!isMovedAway && !isFilled(from, column)) return fills;
  const isShared = after.storage.adopted === true && fills.length === 0;
  return [...fills, { kind: "default", member, field, ...(isShared ? { mark: markOf(member) } : {}) }];
}

function markOf(member: string): string {
  return OWN_FIELDS.filled.prefix + member;
}

/** Where a change notes the values that it moves. */
export function noted(change: Transition, member: string): { readonly note?: Note } {
  if (change.after.storage.adopted !== true) return {};
  const holds = newlyEncrypted(change).includes(member) ? "made" : "former";
  return { note: { field: noteOf(member, fieldOf(change.before, member)), holds } };
}

/** The field that notes what a member had in a former field. */
function noteOf(member: string, former: string): string {
  return `${OWN_FIELDS.was.prefix}${member}_${former}`;
}

/** Notes of the fields from which a change moves values. */
export function notesOf(change: Transition): string[] {
  if (change.after.storage.adopted !== true) return [];
  return movedMembers(change).map((member) => noteOf(member, fieldOf(change.before, member)));
}

/**
 * Defaults that a change writes into fields of an adopted collection that may hold others' values as well. Each is marked
 * beside it until the change is in use, so that it can be taken back.
 */
export function markedFills(change: Transition): { readonly field: string; readonly mark: string }[] {
  return change.after.columns
    .flatMap((column) => columnFills(change, column))
    .flatMap((each) =>
      each.kind === "default" && each.mark !== undefined ? [{ field: each.field, mark: each.mark }] : [],
    );
}

/** What a relation's links are taken from: a former field. */
export function linkFills(change: Transition, to: RelationDefinition): Fill[] {
  const { before, after } = change;
  const from = before.relations.find((each) => each.id === to.id);
  if (from === undefined || !isMoved(change, to.id) || isRetargeted(change, from, to)) return [];
  const kind = isList(to) ? "wrap" : "first";
  return [{ kind, from: fieldOf(before, to.id), to: fieldOf(after, to.id), ...noted(change, to.id) }];
}

/** Ids of columns whose plain values must not stay anywhere. */
export function newlyEncrypted({ before, after }: Transition): string[] {
  const plain = new Set(before.columns.flatMap(({ id, encrypted }) => (encrypted ? [] : [id])));
  return after.columns.filter(({ id, encrypted }) => encrypted && plain.has(id)).map(({ id }) => id);
}
