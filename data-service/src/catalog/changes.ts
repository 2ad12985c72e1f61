// Two definitions of one table -> the steps from the first to the second, what each may cost, and what it must write.
import type { Json } from "../json.js";
import { isJournaled } from "./catalog.js";
import type { ColumnType } from "./column-types.js";
import type { ColumnDefinition, RelationDefinition, RulesDefinition, TableDefinition } from "./definition.js";
import { freeField } from "./fields.js";
import { DELETED_FIELD } from "./soft-delete.js";

type Member = ColumnDefinition | RelationDefinition;

/** One difference. `from` and `to` are the member, or the table's own setting, before and after. */
export interface Step {
  readonly what:
    | "table.set"
    | "table.remove"
    | "table.restore"
    | "column.add"
    | "column.change"
    | "column.remove"
    | "relation.add"
    | "relation.change"
    | "relation.remove"
    | "order";
  /** Where in the definition: `name`, `columns.price`, `relations.author`, `uniques`. */
  readonly where: string;
  readonly from?: Json | Member;
  readonly to?: Json | Member;
  /** What the data must be asked; a step without one can neither lose nor fail. */
  readonly risks: readonly Risk[];
}

/** A question to the data. The step is destructive when there are such records. */
export type Question =
  /** Records at all, more than `beyond`. */
  | { readonly ask: "records"; readonly beyond: number }
  /** Records with a value in the field. */
  | { readonly ask: "present"; readonly field: string }
  /** Records without one. */
  | { readonly ask: "missing"; readonly field: string }
  /** Records whose link list is longer than one. */
  | { readonly ask: "longer"; readonly field: string }
  /** Records whose value the new type or its values can't hold in full; `cut` where that goes without counting how. */
  | { readonly ask: "unfit" | "cut"; readonly member: string }
  /** Records whose value breaks the new rules. */
  | { readonly ask: "rules"; readonly member: string }
  /** Records that share the values of the fields with another. */
  | { readonly ask: "duplicates"; readonly fields: readonly string[] };

export interface Risk {
  readonly question: Question;
  /** Completes "N records …". */
  readonly why: string;
  /**
   * What a confirmation does about it: `lost` takes the values away and keeps them for undo, `kept` leaves the records
   * as they are, `impossible` means that the data must be put right first, `nonsense` that no confirmation will do.
   */
  readonly confirmed: "lost" | "kept" | "impossible" | "nonsense";
}

/** Values to write before the new definition is put into use, into fields that nobody reads yet. */
export type Fill =
  | { readonly kind: "convert"; readonly member: string; readonly from: string; readonly to: string }
  | {
      readonly kind: "default";
      readonly member: string;
      readonly field: string;
      /** Where the field may hold values of others as well: another field, that names what was filled. */
      readonly mark?: string;
    }
  | { readonly kind: "wrap" | "first"; readonly from: string; readonly to: string }
  | { readonly kind: "mark" }
  | Restore;

/**
 * Brings a former field up to date: where the present value is not what a change made of the former one, it goes back.
 */
export type Restore =
  | { readonly kind: "restore"; readonly member: string; readonly later: string; readonly former: string }
  | {
      readonly kind: "restoreLinks";
      readonly later: string;
      readonly former: string;
      /** The former field holds a list. */
      readonly list: boolean;
      /** The collection that the links lead to. */
      readonly target: string;
    };

export interface Difference {
  readonly before: TableDefinition;
  /** As wanted, with new fields for what is stored otherwise from now on. */
  readonly after: TableDefinition;
  readonly steps: readonly Step[];
  readonly fills: readonly Fill[];
}

/**
 * Compares two definitions by the ids of their members.
 * @param wanted checked; its storage still names the former field of every member that has one
 */
export function diff(before: TableDefinition, wanted: TableDefinition): Difference {
  const after = withFreshFields(before, wanted);
  const columns = memberSteps("column", before.columns, after.columns, (from, to) =>
    columnRisks(before, after, from, to),
  );
  const relations = memberSteps("relation", before.relations, after.relations, (from, to) =>
    relationRisks(before, after, from, to),
  );
  return {
    before,
    after,
    steps: [...tableSteps(before, after), ...columns, ...relations],
    fills: [
      ...after.columns.flatMap((column) => columnFills(before, after, column)),
      ...after.relations.flatMap((relation) => linkFills(before, after, relation)),
      ...(after.singleton && !before.singleton ? [{ kind: "mark" } as const] : []),
    ],
  };
}

/**
 * Must all writes of the table have ended before this is put into use? Otherwise some would be missing in the journal,
 * or would delete for good what is to be kept.
 */
export function switchesWrites({ what, where }: Step): boolean {
  return what === "table.set" && (where === "changes" || where === "history" || where === "softDelete");
}

/** Does it take a member away? It may have no values, and so cost nothing, and be missed all the same. */
export function removesMember({ what }: Step): boolean {
  return what === "column.remove" || what === "relation.remove";
}

/** Are the records to be spread over the shards of a cluster from now on? */
export function spreadsRecords({ what, where }: Step): boolean {
  return what === "table.set" && where === "shardKey";
}

/** The one step of deleting a table. */
export function removal(before: TableDefinition): Step {
  const question = { ask: "records", beyond: 0 } as const;
  const risks: Risk[] = [{ question, why: "are in the table and go with it", confirmed: "lost" }];
  return { what: "table.remove", where: before.name, from: before.name, risks };
}

/** The one step of bringing a deleted table back. */
export function restoration(after: TableDefinition): Step {
  return { what: "table.restore", where: after.name, to: after.name, risks: [] };
}

const SETTINGS = [
  ...([
    "name",
    "description",
    "singleton",
    "changes",
    "history",
    "softDelete",
    "shardKey",
    "idType",
  ] as const),
  ...(["uniques", "indexes"] as const),
];

function tableSteps(before: TableDefinition, after: TableDefinition): Step[] {
  // What an older definition does not name is off.
  const setting = (table: TableDefinition, key: (typeof SETTINGS)[number]) => table[key] ?? null;
  const differs = (from: Json, to: Json): boolean => !same(from, to) && (from ?? false) !== (to ?? false);
  return SETTINGS.filter((key) => differs(setting(before, key), setting(after, key))).map((key) => ({
    what: "table.set",
    where: key,
    from: setting(before, key),
    to: setting(after, key),
    risks: tableRisks(key, before, after),
  }));
}

function tableRisks(
  key: (typeof SETTINGS)[number],
  before: TableDefinition,
  after: TableDefinition,
): readonly Risk[] {
  if (key === "idType") {
    const why = "have ids of the former type; idType can be changed only while the table has no records";
    return [{ question: { ask: "records", beyond: 0 }, why, confirmed: "nonsense" }];
  }
  if (key === "singleton" && after.singleton) {
    const why = "are in the table; it can become a singleton only while it has one record at most";
    return [{ question: { ask: "records", beyond: 1 }, why, confirmed: "nonsense" }];
  }
  if (key === "softDelete" && after.softDelete !== true) {
    const why = "are deleted; restore them, or remove them for good, before softDelete is switched off";
    return [{ question: { ask: "present", field: DELETED_FIELD }, why, confirmed: "impossible" }];
  }
  if (key !== "uniques") return [];
  const former = new Set(before.uniques.map((names) => uniqueKey(before, names)));
  return after.uniques
    .filter((names) => !former.has(uniqueKey(after, names)))
    .map((names) => duplicates(names.map((name) => fieldNamed(after, name))));
}

function uniqueKey(table: TableDefinition, names: readonly string[]): string {
  return names.map((name) => fieldNamed(table, name)).join(" ");
}

/** The storage name of a column, a relation or what every table has. */
function fieldNamed(table: TableDefinition, name: string): string {
  const member = [...table.columns, ...table.relations].find((each) => each.name === name);
  if (member !== undefined) return fieldOf(table, member.id);
  return name === "id" ? "_id" : (table.storage.fields[name] ?? name);
}

const SHARED = "share their value with another record; make the values different first";

function duplicates(fields: readonly string[], why = SHARED): Risk {
  return { question: { ask: "duplicates", fields }, why, confirmed: "impossible" };
}

function memberSteps<Kind extends Member>(
  kind: "column" | "relation",
  before: readonly Kind[],
  after: readonly Kind[],
  risksOf: (from: Kind | undefined, to: Kind | undefined) => readonly Risk[],
): Step[] {
  const former = new Map(before.map((each) => [each.id, each]));
  const kept = new Set(after.map((each) => each.id));
  const removed = before.filter((each) => !kept.has(each.id)).map((from) => ({ from, to: undefined }));
  const others = after.map((to) => ({ from: former.get(to.id), to }));
  const steps = [...removed, ...others]
    .filter(({ from, to }) => !same(from, to))
    .map(({ from, to }): Step => {
      const what = from === undefined ? "add" : to === undefined ? "remove" : "change";
      const name = from?.name ?? to?.name ?? "";
      const member = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
      return { what: `${kind}.${what}`, where: `${kind}s.${name}`, ...member, risks: risksOf(from, to) };
    });
  return [...steps, ...orderStep(kind, before, after)];
}

/** Members that stay keep their places and new ones come last, unless this says otherwise. */
function orderStep(kind: string, before: readonly Member[], after: readonly Member[]): Step[] {
  const former = new Set(before.map((each) => each.id));
  const kept = new Set(after.map((each) => each.id));
  const expected = [
    ...before.filter((each) => kept.has(each.id)),
    ...after.filter((each) => !former.has(each.id)),
  ];
  const ids = after.map((each) => each.id);
  const asExpected = same(
    expected.map((each) => each.id),
    ids,
  );
  return asExpected ? [] : [{ what: "order", where: `${kind}s`, to: ids, risks: [] }];
}

function columnRisks(
  before: TableDefinition,
  after: TableDefinition,
  from: ColumnDefinition | undefined,
  to: ColumnDefinition | undefined,
): Risk[] {
  if (to === undefined) return from === undefined ? [] : [goesWith("column", before, after, from)];
  const field = fieldOf(after, to.id);
  const risks: Risk[] = [];
  const moved = from !== undefined && isMoved(before, after, to.id);
  if (moved) risks.push(...parting(before, after, to.id));
  if (from !== undefined && !moved && losesOptions(from, to))
    risks.push({
      question: { ask: "cut", member: to.id },
      why: "have a value that would be none of the column's values; it stays as it is",
      confirmed: "kept",
    });
  if (moved && !(from.type === to.type && same(from.options, to.options))) {
    const isCut = from.type === "datetime" && to.type === "date";
    const impossible = to.required && to.default === undefined;
    const remedy = impossible
      ? "; the column is required, so give it a default, make it optional, or change the values first"
      : "";
    risks.push({
      question: { ask: isCut ? "cut" : "unfit", member: to.id },
      why: `${isCut ? "have a time of day, which would be dropped" : "have a value that does not fit"}${remedy}`,
      confirmed: impossible ? "impossible" : "lost",
    });
  }
  if (from !== undefined && !isLooser(from.rules ?? {}, to.rules ?? {}))
    risks.push({
      question: { ask: "rules", member: to.id },
      why: "have a value that breaks the new rules",
      confirmed: "kept",
    });
  if (to.required && from?.required !== true && to.default === undefined)
    risks.push(missing(from === undefined ? field : fieldOf(before, to.id)));
  if (to.unique && from?.unique !== true)
    risks.push(duplicates([field], isFilled(from, to) ? "would get the same value, the default" : SHARED));
  return risks;
}

/**
 * Other programs do not follow a column of an adopted collection to another field: whoever changes it so is to know that
 * there will be two.
 */
function parting(before: TableDefinition, after: TableDefinition, id: string): Risk[] {
  if (before.storage.adopted !== true) return [];
  const [former, later] = [fieldOf(before, id), fieldOf(after, id)];
  const why =
    `are documents in which other programs go on with the field "${former}", and the former values stay there; ` +
    `from now on this would be "${later}", and neither side sees what the other writes`;
  return [{ question: { ask: "records", beyond: 0 }, why, confirmed: "kept" }];
}

function relationRisks(
  before: TableDefinition,
  after: TableDefinition,
  from: RelationDefinition | undefined,
  to: RelationDefinition | undefined,
): Risk[] {
  if (to === undefined) return from === undefined ? [] : [goesWith("relation", before, after, from)];
  const field = fieldOf(after, to.id);
  const risks: Risk[] = [];
  const retargeted = from !== undefined && isRetargeted(before, after, from, to);
  if (from !== undefined && isMoved(before, after, to.id)) risks.push(...parting(before, after, to.id));
  if (retargeted) risks.push(lost(before, to.id, `link to "${from.table}"`));
  else if (from?.type === "many-to-many" && to.type !== "many-to-many") {
    const question = { ask: "longer", field: fieldOf(before, to.id) } as const;
    risks.push({ question, why: "have more than one link, and would keep the first", confirmed: "lost" });
  }
  if (to.required && (from?.required !== true || retargeted))
    risks.push(missing(from === undefined || retargeted ? field : fieldOf(before, to.id)));
  if (to.type === "one-to-one" && from !== undefined && from.type !== "one-to-one" && !retargeted)
    risks.push(duplicates([field]));
  return risks;
}

/** Of a member that is removed. A list that leaves it out, or has it without its id, was easily meant otherwise. */
function goesWith(
  kind: "column" | "relation",
  before: TableDefinition,
  after: TableDefinition,
  gone: Member,
): Risk {
  const isReplaced = membersOf(after, kind).some(({ name }) => name === gone.name);
  const newName = newNameOf(kind, before, after, gone);
  const id = `its id ("${gone.id}")`;
  const remedy = isReplaced
    ? `, and a new one made in its place; send ${id} to keep it`
    : newName === undefined
      ? `: "${kind}s" is the full set; send ${id} in it to keep it`
      : `; if "${newName}" is its new name, send that with ${id}`;
  const what = kind === "column" ? "value" : "link";
  return lost(before, gone.id, `have a ${what} in it, and it would be removed${remedy}`);
}

function membersOf({ columns, relations }: TableDefinition, kind: "column" | "relation"): readonly Member[] {
  return kind === "column" ? columns : relations;
}

/** The one new member of the type of the one that goes, if there is just that: it looks like a new name. */
function newNameOf(
  kind: "column" | "relation",
  before: TableDefinition,
  after: TableDefinition,
  gone: Member,
): string | undefined {
  const alike = (members: readonly Member[], others: readonly Member[]): Member[] =>
    members.filter(
      (each) =>
        each.type === gone.type &&
        targetOf(each) === targetOf(gone) &&
        others.every(({ id }) => id !== each.id),
    );
  const [former, later] = [membersOf(before, kind), membersOf(after, kind)];
  const [added, ...more] = alike(later, former);
  const isOnly = more.length === 0 && alike(former, later).length === 1;
  return isOnly ? added?.name : undefined;
}

/** Does a member go whose place another one seems to take under a new name? */
export function looksRenamed(before: TableDefinition, after: TableDefinition): boolean {
  return (["column", "relation"] as const).some((kind) => {
    const kept = new Set(membersOf(after, kind).map(({ id }) => id));
    const gone = membersOf(before, kind).filter(({ id }) => !kept.has(id));
    return gone.some((each) => newNameOf(kind, before, after, each) !== undefined);
  });
}

function targetOf(member: Member): string | undefined {
  return "table" in member ? member.table : undefined;
}

function lost(before: TableDefinition, id: string, why: string): Risk {
  return { question: { ask: "present", field: fieldOf(before, id) }, why, confirmed: "lost" };
}

function missing(field: string): Risk {
  const why = "have no value where one would be required; with a confirmation they stay without";
  return { question: { ask: "missing", field }, why, confirmed: "kept" };
}

/** Every value that the old rules let pass is let pass by the new ones. */
function isLooser(from: RulesDefinition, to: RulesDefinition): boolean {
  const atLeast = (key: "minLength" | "minItems") => (to[key] ?? 0) <= (from[key] ?? 0);
  const atMost = (key: "maxLength" | "maxItems") =>
    to[key] === undefined || (from[key] !== undefined && to[key] >= from[key]);
  const sameOrGone = (["pattern", "format", "min", "max"] as const).every(
    (key) => to[key] === undefined || to[key] === from[key],
  );
  const counts = atLeast("minLength") && atLeast("minItems") && atMost("maxLength") && atMost("maxItems");
  return sameOrGone && counts;
}

function columnFills(before: TableDefinition, after: TableDefinition, column: ColumnDefinition): Fill[] {
  const from = before.columns.find((each) => each.id === column.id);
  const [member, field] = [column.id, fieldOf(after, column.id)];
  const fills: Fill[] = [];
  if (from !== undefined && isMoved(before, after, member))
    fills.push({ kind: "convert", member, from: fieldOf(before, member), to: field });
  const isMovedAway = fills.length > 0 && column.required && column.default !== undefined;
  if (!isMovedAway && !isFilled(from, column)) return fills;
  const isShared = after.storage.adopted === true && fills.length === 0;
  return [...fills, { kind: "default", member, field, ...(isShared ? { mark: markOf(member) } : {}) }];
}

/**
 * As in SQL a new column gives its default to the records that are there already, and so does one that becomes
 * required.
 */
function isFilled(from: ColumnDefinition | undefined, to: ColumnDefinition): boolean {
  return to.default !== undefined && (from === undefined || (to.required && !from.required));
}

function markOf(member: string): string {
  return `_filled_${member}`;
}

/**
 * Defaults that a change writes into fields of an adopted collection that may hold values of others as well. Each is
 * noted beside it until the change is in use, so that it can be taken back.
 */
export function markedFills(
  before: TableDefinition,
  after: TableDefinition,
): { readonly field: string; readonly mark: string }[] {
  return after.columns
    .flatMap((column) => columnFills(before, after, column))
    .flatMap((each) =>
      each.kind === "default" && each.mark !== undefined ? [{ field: each.field, mark: each.mark }] : [],
    );
}

function linkFills(before: TableDefinition, after: TableDefinition, to: RelationDefinition): Fill[] {
  const from = before.relations.find((each) => each.id === to.id);
  if (from === undefined || !isMoved(before, after, to.id) || isRetargeted(before, after, from, to))
    return [];
  const kind = to.type === "many-to-many" ? "wrap" : "first";
  return [{ kind, from: fieldOf(before, to.id), to: fieldOf(after, to.id) }];
}

/** The link leads to another table, and not to the same one under a new name. */
function isRetargeted(
  before: TableDefinition,
  after: TableDefinition,
  from: RelationDefinition,
  to: RelationDefinition,
): boolean {
  const toItself = from.table === before.name && to.table === after.name;
  return from.table !== to.table && !toItself;
}

/** Ids of columns whose plain values must not stay anywhere. */
export function newlyEncrypted(before: TableDefinition, after: TableDefinition): string[] {
  const plain = new Set(before.columns.flatMap(({ id, encrypted }) => (encrypted ? [] : [id])));
  return after.columns.filter(({ id, encrypted }) => encrypted && plain.has(id)).map(({ id }) => id);
}

function isMoved(before: TableDefinition, after: TableDefinition, id: string): boolean {
  return before.storage.fields[id] !== after.storage.fields[id];
}

/**
 * Values that are stored otherwise from now on get a field of their own: the former values stay as they are, for undo,
 * and the definition that is in use decides alone which of the two is read. A field name is never used twice.
 */
function withFreshFields(before: TableDefinition, wanted: TableDefinition): TableDefinition {
  const fields: Record<string, string> = { ...wanted.storage.fields };
  const retired = new Set(before.storage.retired ?? []);
  const taken = new Set([...Object.values(before.storage.fields), ...Object.values(fields), ...retired]);
  const { adopted } = before.storage;
  const restore = (id: string, name: string): void => {
    // Adopted documents may have fields unknown to us.
    fields[id] = freeField(adopted === true ? `${name}_${id}` : name, taken);
    taken.add(fields[id]);
  };
  for (const to of wanted.columns) {
    const from = before.columns.find((each) => each.id === to.id);
    if (from !== undefined && isStoredOtherwise(from, to, adopted === true)) restore(to.id, to.name);
  }
  for (const to of wanted.relations) {
    const from = before.relations.find((each) => each.id === to.id);
    if (from === undefined) continue;
    const shape = (type: string): boolean => type === "many-to-many";
    if (shape(from.type) !== shape(to.type) || isRetargeted(before, wanted, from, to))
      restore(to.id, `${to.name}${shape(to.type) ? "Ids" : "Id"}`);
  }
  const used = new Set(Object.values(fields));
  for (const field of Object.values(before.storage.fields)) if (!used.has(field)) retired.add(field);
  // In an adopted collection a new member may have taken one over.
  const left = [...retired].filter((field) => !used.has(field));
  const kept = left.length === 0 ? {} : { retired: left.toSorted() };
  const { collection } = wanted.storage;
  return {
    ...wanted,
    storage: { collection, fields, ...(adopted === undefined ? {} : { adopted }), ...kept },
  };
}

/** The definition with the epoch of its journal: another one whenever a table that keeps none begins to keep one. */
export function withJournalEpoch(before: TableDefinition, after: TableDefinition): TableDefinition {
  const { journalEpoch: _former, ...storage } = after.storage;
  const begins = isJournaled(after) && !isJournaled(before);
  const journalEpoch = (before.storage.journalEpoch ?? 0) + (begins ? 1 : 0);
  return { ...after, storage: { ...storage, ...(journalEpoch === 0 ? {} : { journalEpoch }) } };
}

function isStoredOtherwise(from: ColumnDefinition, to: ColumnDefinition, isAdopted: boolean): boolean {
  // What can stay in place stays: other programs read and write that field.
  if (isAdopted) return from.encrypted !== to.encrypted || storedForm(from.type) !== storedForm(to.type);
  // Nulls become the default: in a field of its own, so that the nulls are still there if the change is given up.
  const filled = to.required && !from.required && to.default !== undefined;
  return from.type !== to.type || from.encrypted !== to.encrypted || losesOptions(from, to) || filled;
}

/** Types of one form read each other's values as they are. */
function storedForm(type: ColumnType): string {
  return type === "string" || type === "enum" ? "text" : type;
}

/** Is there a value that the former column takes and the new one, as a list of values, does not? */
function losesOptions(from: ColumnDefinition, to: ColumnDefinition): boolean {
  if (to.options === undefined) return false;
  if (from.options === undefined) return true;
  return from.options.values.some((value) => to.options?.values.includes(value) !== true);
}

function fieldOf(table: TableDefinition, id: string): string {
  const field = table.storage.fields[id];
  if (field === undefined) throw new Error(`table "${table.name}" has no storage for member ${id}`);
  return field;
}

/** Equal as JSON, whatever the order of keys. */
export function same(a: unknown, b: unknown): boolean {
  return canonical(a) === canonical(b);
}

/** JSON with its keys in order and without what is undefined: equal for what is equal. */
export function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_key, inner: unknown) =>
      typeof inner === "object" && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        : inner,
    ) ?? "undefined"
  );
}
