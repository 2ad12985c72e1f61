// What a change of a table may cost: questions to its data, and what the answers mean.
import { same } from "./canonical.js";
import { isFilled, isMoved, isRetargeted, losesOptions, type Transition } from "./changed-fields.js";
import type { ColumnDefinition, RelationDefinition, RulesDefinition, TableDefinition } from "./definition.js";
import { fieldOf } from "./fields.js";
import { newlyEncrypted } from "./fills.js";
import { DELETED_FIELD } from "./soft-delete.js";

/** A question to the data. The step is destructive if there are such records. */
export type Question =
  /** More than `beyond` records; for `living`, not counting deleted ones. */
  | { readonly ask: "records" | "living"; readonly beyond: number }
  /** Records with a value in the field. */
  | { readonly ask: "present"; readonly field: string }
  /** Records without one. */
  | { readonly ask: "missing"; readonly field: string }
  /** Records with a link in the field, in which a relation that is gone had its lists of links. */
  | { readonly ask: "linked"; readonly field: string }
  /** Records whose list has more than one link. */
  | { readonly ask: "longer"; readonly field: string }
  /**
   * Records whose value the new type, or its list of values, can't hold in full; `cut` where that is told without counting
   * details, unless some lose their value altogether and that is another risk.
   */
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
  /** Said instead where values would be lost altogether, not only changed. */
  readonly whenGone?: Pick<Risk, "why" | "confirmed">;
}

export type Member = ColumnDefinition | RelationDefinition;

type Kind = "column" | "relation";

/** The table's own settings. */
export type Setting = Exclude<keyof TableDefinition, "id" | "columns" | "relations" | "storage">;

const none = (): readonly Risk[] => [];

/** One row a setting: what its change may cost. */
const SETTING_RISKS: Readonly<Record<Setting, (change: Transition) => readonly Risk[]>> = {
  name: none,
  description: none,
  singleton: singletonRisks,
  changes: none,
  history: none,
  softDelete: softDeleteRisks,
  shardKey: none,
  idType: idTypeRisks,
  uniques: uniquesRisks,
  indexes: none,
};

function isSetting(key: string): key is Setting {
  return Object.hasOwn(SETTING_RISKS, key);
}

/** In the order in which their changes are listed. */
export const SETTINGS: readonly Setting[] = Object.keys(SETTING_RISKS).filter(isSetting);

/** @param key the setting of the table that changes */
export function tableRisks(key: Setting, change: Transition): readonly Risk[] {
  return SETTING_RISKS[key](change);
}

function idTypeRisks(): Risk[] {
  const why = "have ids of the former type; idType can be changed only while the table has no records";
  return [{ question: { ask: "records", beyond: 0 }, why, confirmed: "nonsense" }];
}

function singletonRisks({ after }: Transition): Risk[] {
  if (!after.singleton) return [];
  const why = "are in the table; it can become a singleton only while it has one record at most";
  return [{ question: { ask: "living", beyond: 1 }, why, confirmed: "nonsense" }];
}

function softDeleteRisks({ after }: Transition): Risk[] {
  if (after.softDelete === true) return [];
  const why = "are deleted; restore them, or remove them for good, before softDelete is switched off";
  return [{ question: { ask: "present", field: DELETED_FIELD }, why, confirmed: "impossible" }];
}

function uniquesRisks({ before, after }: Transition): Risk[] {
  const former = new Set(before.uniques.map((names) => uniqueKey(before, names)));
  return after.uniques
    .filter((names) => !former.has(uniqueKey(after, names)))
    .map((names) => duplicates(names.map((name) => fieldNamed(after, name))));
}

function uniqueKey(table: TableDefinition, names: readonly string[]): string {
  return names.map((name) => fieldNamed(table, name)).join(" ");
}

/** The storage name of a column, a relation or something that every table has. */
function fieldNamed(table: TableDefinition, name: string): string {
  const member = [...table.columns, ...table.relations].find((each) => each.name === name);
  if (member !== undefined) return fieldOf(table, member.id);
  return name === "id" ? "_id" : (table.storage.fields[name] ?? name);
}

const SHARED = "share their value with another record; make the values different first";

function duplicates(fields: readonly string[], why = SHARED): Risk {
  return { question: { ask: "duplicates", fields }, why, confirmed: "impossible" };
}

/** For a column that is added, changed or removed. */
export function columnRisks(
  change: Transition,
  from: ColumnDefinition | undefined,
  to: ColumnDefinition | undefined,
): Risk[] {
  if (to === undefined) return from === undefined ? [] : [goesWith("column", change, from)];
  const field = fieldOf(change.after, to.id);
  const risks = from === undefined ? [] : valueRisks(change, from, to);
  if (to.required && from?.required !== true && to.default === undefined)
    risks.push(missing(from === undefined ? field : fieldOf(change.before, to.id)));
  const isSame = isFilled(from, to);
  if (to.unique && (isSame || from?.unique !== true))
    risks.push(duplicates([field], isSame ? "would get the same value, the default" : SHARED));
  return risks;
}

/** What happens to the existing values. */
function valueRisks(change: Transition, from: ColumnDefinition, to: ColumnDefinition): Risk[] {
  const risks = isMoved(change, to.id) ? parting(change, to.id) : outsideOptions(from, to);
  // Other programs may have stored what the column can't hold, and what moves is made to fit.
  const isForeign = change.before.storage.adopted === true && !from.encrypted;
  const isConverted = isForeign || from.type !== to.type || !same(from.options, to.options);
  if (isMoved(change, to.id) && isConverted) risks.push(unfit(change, from, to));
  if (!isLooser(from.rules ?? {}, to.rules ?? {}))
    risks.push({
      question: { ask: "rules", member: to.id },
      why: "have a value that breaks the new rules",
      confirmed: "kept",
    });
  return risks;
}

/** Values that stay where they are. */
function outsideOptions(from: ColumnDefinition, to: ColumnDefinition): Risk[] {
  if (!losesOptions(from, to)) return [];
  const why = "have a value that would be none of the column's values; it stays as it is";
  return [{ question: { ask: "cut", member: to.id }, why, confirmed: "kept" }];
}

const UNFITTING = "have a value that does not fit";
const DROPPED = "have a time of day, which would be dropped";
const NEEDED = "; the column is required, so give it a default, make it optional, or change the values first";

/** Values that are converted. */
function unfit(change: Transition, from: ColumnDefinition, to: ColumnDefinition): Risk {
  const isCut = from.type === "datetime" && to.type === "date";
  const isWiped = newlyEncrypted(change).includes(to.id) && change.after.storage.adopted !== true;
  const forGood = isWiped ? ", and no undo brings it back, because the plain values go at once" : "";
  const isNeeded = to.required && to.default === undefined;
  return {
    question: { ask: isCut ? "cut" : "unfit", member: to.id },
    why: (isCut ? DROPPED : UNFITTING) + forGood,
    confirmed: "lost",
    // A time without a day among the years 0000 to 9999 goes whole.
    whenGone: isNeeded
      ? { why: UNFITTING + NEEDED, confirmed: "impossible" }
      : { why: UNFITTING + forGood, confirmed: "lost" },
  };
}

/**
 * Other programs do not follow a column of an adopted collection to another field: whoever makes such a change should know
 * that there will be two fields.
 */
function parting({ before, after }: Transition, id: string): Risk[] {
  if (before.storage.adopted !== true) return [];
  const [former, later] = [fieldOf(before, id), fieldOf(after, id)];
  const isOwn = former.includes(`_${id}`);
  const why = isOwn
    ? `are documents in which "${former}" is a field of Portico's own; the values would go on to another of its own, ` +
      `"${later}"; the way back to the field that other programs use is an undo of the change that left it (POST …/undo), for 30 days`
    : `are documents in which other programs keep using the field "${former}", and the former values stay there; ` +
      `the column would be stored in "${later}" from then on, and neither side would see what the other writes`;
  return [{ question: { ask: "records", beyond: 0 }, why, confirmed: "kept" }];
}

/** For a relation that is added, changed or removed. */
export function relationRisks(
  change: Transition,
  from: RelationDefinition | undefined,
  to: RelationDefinition | undefined,
): Risk[] {
  const { before, after } = change;
  if (to === undefined) return from === undefined ? [] : [goesWith("relation", change, from)];
  const field = fieldOf(after, to.id);
  const risks: Risk[] = [];
  const retargeted = from !== undefined && isRetargeted(change, from, to);
  if (from !== undefined && isMoved(change, to.id)) risks.push(...parting(change, to.id));
  if (retargeted) risks.push(lost(before, to.id, `link to "${from.table}"`));
  else if (from?.type === "many-to-many" && to.type !== "many-to-many") {
    const question = { ask: "longer", field: fieldOf(before, to.id) } as const;
    risks.push({
      question,
      why: "have more than one link, and would keep the first whose record is not deleted",
      confirmed: "lost",
    });
  }
  if (to.required && (from?.required !== true || retargeted))
    risks.push(missing(from === undefined || retargeted ? field : fieldOf(before, to.id)));
  // Only documents of others have links for a relation that is new.
  const hadLinks = from === undefined ? before.storage.adopted === true : !retargeted;
  if (to.type === "one-to-one" && from?.type !== "one-to-one" && hadLinks) risks.push(duplicates([field]));
  return risks;
}

/**
 * For a member that is removed. A list that leaves it out, or has it without its id, may well have been meant differently.
 * The list may be in a body or in a schema file.
 */
function goesWith(kind: Kind, change: Transition, gone: Member): Risk {
  const known = new Set(membersOf(change.before, kind).map(({ id }) => id));
  // One that was there before has only taken over the name.
  const isReplaced = membersOf(change.after, kind).some(
    ({ id, name }) => name === gone.name && !known.has(id),
  );
  const newName = newNameOf(kind, change, gone);
  const id = `its id ("${gone.id}")`;
  const remedy = isReplaced
    ? `, and a new one made in its place; give ${id} to keep it`
    : newName === undefined
      ? `: "${kind}s" is the full set; list it there with ${id} to keep it`
      : `; if "${newName}" is its new name, give that ${id}`;
  const what = kind === "column" ? "value" : "link";
  return lost(change.before, gone.id, `have a ${what} in it, and it would be removed${remedy}`);
}

function membersOf({ columns, relations }: TableDefinition, kind: Kind): readonly Member[] {
  return kind === "column" ? columns : relations;
}

/** The only new member with the type of the one that goes, if there is just one of each: this looks like a rename. */
function newNameOf(kind: Kind, { before, after }: Transition, gone: Member): string | undefined {
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

/** Is a member removed whose place another one seems to take under a new name? */
export function looksRenamed(change: Transition): boolean {
  return (["column", "relation"] as const).some((kind) => {
    const kept = new Set(membersOf(change.after, kind).map(({ id }) => id));
    const gone = membersOf(change.before, kind).filter(({ id }) => !kept.has(id));
    return gone.some((each) => newNameOf(kind, change, each) !== undefined);
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

/** The new rules accept every value that the old ones did. */
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
