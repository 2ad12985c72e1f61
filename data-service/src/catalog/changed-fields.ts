// In which fields a table's values are when it is changed: those that will be stored differently get new fields.
import { isJournaled } from "./catalog.js";
import { linkField } from "./check-storage.js";
import type { ColumnType } from "./column-types.js";
import {
  type ColumnDefinition,
  isList,
  type RelationDefinition,
  type TableDefinition,
} from "./definition.js";
import { fieldOf, freeField } from "./fields.js";

/** A definition, and the one that replaces it. */
export interface Transition {
  readonly before: TableDefinition;
  readonly after: TableDefinition;
}

/**
 * Values that will be stored differently get fields of their own: the former values stay as they are, for undo, and only the
 * definition in use decides which of the two is read. A field name is never used twice.
 */
export function withFreshFields(before: TableDefinition, wanted: TableDefinition): TableDefinition {
  const fields: Record<string, string> = { ...wanted.storage.fields };
  const retired = new Set(before.storage.retired ?? []);
  const taken = new Set([...Object.values(before.storage.fields), ...Object.values(fields), ...retired]);
  const { adopted } = before.storage;
  const giveFreshField = (id: string, name: string): void => {
    // Adopted documents may have fields that we don't know of.
    fields[id] = freeField(adopted === true ? `${name}_${id}` : name, taken);
    taken.add(fields[id]);
  };
  for (const to of wanted.columns) {
    const from = before.columns.find((each) => each.id === to.id);
    if (from !== undefined && isStoredOtherwise(from, to, adopted === true)) giveFreshField(to.id, to.name);
  }
  for (const to of wanted.relations) {
    const from = before.relations.find((each) => each.id === to.id);
    if (from === undefined) continue;
    if (isList(from) !== isList(to) || isRetargeted({ before, after: wanted }, from, to))
      giveFreshField(to.id, linkField(to));
  }
  const used = new Set(Object.values(fields));
  for (const field of Object.values(before.storage.fields)) if (!used.has(field)) retired.add(field);
  // In an adopted collection a new member may have taken over one of these fields.
  const left = [...retired].filter((field) => !used.has(field));
  const kept = left.length === 0 ? {} : { retired: left.toSorted() };
  const { collection } = wanted.storage;
  return {
    ...wanted,
    storage: { collection, fields, ...(adopted === undefined ? {} : { adopted }), ...kept },
  };
}

/**
 * The definition with its journal's epoch: a new epoch begins whenever a table without a journal begins to keep one,
 * whenever records have values under the new definition that were noted elsewhere, or not at all, and whenever a name becomes
 * free: whoever follows by it would not notice that it stands for another member by then.
 */
export function withJournalEpoch(before: TableDefinition, after: TableDefinition): TableDefinition {
  const { journalEpoch: _former, ...storage } = after.storage;
  const change = { before, after };
  const isUnlike = !isJournaled(before) || showsUnnoted(change) || freesName(change);
  const isOther = isJournaled(after) && isUnlike;
  const journalEpoch = (before.storage.journalEpoch ?? 0) + (isOther ? 1 : 0);
  return { ...after, storage: { ...storage, ...(journalEpoch === 0 ? {} : { journalEpoch }) } };
}

/** The definition of a table that comes back: what its records linked to may be gone, and no journal says so. */
export function withEpochOfReturn(table: TableDefinition): TableDefinition {
  const { journalEpoch = 0 } = table.storage;
  if (!isJournaled(table) || table.relations.length === 0) return table;
  return { ...table, storage: { ...table.storage, journalEpoch: journalEpoch + 1 } };
}

/** Are there members in another field, or back in one that was not read for a while, or columns that get their default? */
function showsUnnoted(change: Transition): boolean {
  const { before, after } = change;
  const formerly = (id: string) => before.columns.find((each) => each.id === id);
  if (after.columns.some((column) => isFilled(formerly(column.id), column))) return true;
  const { fields, retired = [] } = before.storage;
  // Documents of an adopted collection may have the field of a new member as well.
  const mayHave = (field: string): boolean => after.storage.adopted === true || retired.includes(field);
  return Object.entries(after.storage.fields).some(
    ([id, field]) => isMoved(change, id) && (id in fields || mayHave(field)),
  );
}

/** Does a name no longer stand for the member that had it? */
function freesName({ before, after }: Transition): boolean {
  const names = new Map(namesIn(after));
  return namesIn(before).some(([id, name]) => names.get(id) !== name);
}

/** The names of a table's members by their ids, as far as it defines them itself: both ends of a link to itself. */
function namesIn({ name: table, columns, relations }: TableDefinition): [string, string][] {
  const otherEnds = relations.flatMap(({ id, table: target, inverse }): [string, string][] =>
    target === table && inverse !== null ? [[`${id}:inverse`, inverse]] : [],
  );
  const own = [...columns, ...relations].map(({ id, name }): [string, string] => [id, name]);
  return [...own, ...otherEnds];
}

/** Will the values of a member be in another field? */
export function isMoved({ before, after }: Transition, id: string): boolean {
  return before.storage.fields[id] !== after.storage.fields[id];
}

/** Ids of the members that stay and whose values will be in another field. */
export function movedMembers(change: Transition): string[] {
  const { before, after } = change;
  return Object.keys(before.storage.fields).filter((id) => id in after.storage.fields && isMoved(change, id));
}

/**
 * The fields from which members move, and to which: there their history goes on. Without those whose history can't be told
 * under the new definition: encrypted values, and links to another table.
 */
export function fieldsOfHistory(change: Transition): Map<string, string> {
  const { before, after } = change;
  const columns = after.columns.filter(({ id, encrypted }) => {
    const from = before.columns.find((each) => each.id === id);
    return from !== undefined && !from.encrypted && !encrypted;
  });
  const relations = after.relations.filter((to) => {
    const from = before.relations.find(({ id }) => id === to.id);
    return from !== undefined && !isRetargeted(change, from, to);
  });
  const moved = [...columns, ...relations].filter(({ id }) => isMoved(change, id));
  return new Map(moved.map(({ id }) => [fieldOf(before, id), fieldOf(after, id)]));
}

/** The link leads to another table, not to the same one under a new name. */
export function isRetargeted(
  { before, after }: Transition,
  from: RelationDefinition,
  to: RelationDefinition,
): boolean {
  const toItself = from.table === before.name && to.table === after.name;
  return from.table !== to.table && !toItself;
}

function isStoredOtherwise(from: ColumnDefinition, to: ColumnDefinition, isAdopted: boolean): boolean {
  // Whatever can stay in place does: other programs read and write that field.
  if (isAdopted) return from.encrypted !== to.encrypted || storedForm(from.type) !== storedForm(to.type);
  // Nulls become the default, in a new field, so that the nulls are still there if the change is given up.
  const filled = to.required && !from.required && to.default !== undefined;
  return from.type !== to.type || from.encrypted !== to.encrypted || losesOptions(from, to) || filled;
}

/** Types with the same stored form can read each other's values as they are. */
function storedForm(type: ColumnType): string {
  return type === "string" || type === "enum" ? "text" : type;
}

/** Is there a value that the former column accepts but the new one's list of values does not? */
export function losesOptions(from: ColumnDefinition, to: ColumnDefinition): boolean {
  if (to.options === undefined) return false;
  if (from.options === undefined) return true;
  return from.options.values.some((value) => to.options?.values.includes(value) !== true);
}

/** As in SQL, a new column gives its default to existing records, and so does one that becomes required. */
export function isFilled(from: ColumnDefinition | undefined, to: ColumnDefinition): boolean {
  return to.default !== undefined && (from === undefined || (to.required && !from.required));
}
