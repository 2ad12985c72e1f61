// A column or a relation as it was before a change, with whatever was changed of it since. Pure.
import { isArray, type Json } from "@portico/shared/json";
import { same } from "./canonical.js";
import { countProblem } from "./check-relation.js";
import { canBeUnique, isText } from "./column-types.js";
import { type ColumnDefinition, isList, type RelationDefinition } from "./definition.js";

/** A member that a change has changed. */
export interface Reverting<Kind> {
  readonly former: Kind;
  /** As the change left it. */
  readonly later: Kind;
  readonly current: Kind;
}

/**
 * The former values of a column come back where it has the type that the change gave it, or by hand its former one again.
 * Settings that were changed since stay, as far as the former type has them.
 * @returns undefined when it has another type since
 */
export function revertedColumn(reverting: Reverting<ColumnDefinition>): ColumnDefinition | undefined {
  const { former, later, current } = reverting;
  if (same(former, later)) return current;
  if (!hasTypeOf(current, later) && !hasTypeOf(current, former)) return undefined;
  const pick = picker(reverting);
  const { id, type, encrypted } = former;
  const isSameType = type === current.type;
  const options = isSameType ? optionsOf(reverting) : former.options;
  // A default keeps to the rules, so both are those of one time.
  const isBack = same(later.default, current.default) && same(later.rules, current.rules);
  const { default: given, rules } = isBack || !isSameType ? former : current;
  const standard = isAmong(given, options) ? given : undefined;
  const readOnly = pick("readOnly");
  return {
    id,
    name: pick("name"),
    type,
    // One that nobody may write needs a default.
    required: pick("required") && !(readOnly && standard === undefined),
    unique: pick("unique") && !encrypted && canBeUnique(type),
    hidden: pick("hidden"),
    readOnly,
    encrypted,
    searchable: pick("searchable") && !encrypted && isText(type),
    description: pick("description"),
    ...(standard === undefined ? {} : { default: standard }),
    ...(options === undefined ? {} : { options }),
    ...(rules === undefined ? {} : { rules }),
  };
}

function hasTypeOf(one: ColumnDefinition, other: ColumnDefinition): boolean {
  return one.type === other.type && one.encrypted === other.encrypted;
}

/** The values of an enum: if they were changed since, those of now, and what the change had removed of them. */
function optionsOf({ former, later, current }: Reverting<ColumnDefinition>): ColumnDefinition["options"] {
  if (same(later.options, current.options) || former.options === undefined) return former.options;
  const [left, now] = [later, current].map(({ options }) => options?.values ?? []);
  const removed = former.options.values.filter((value) => !left?.includes(value) && !now?.includes(value));
  return { values: [...(now ?? []), ...removed] };
}

/** Is a default one of the values of an enum, or all of it? */
function isAmong(given: Json | undefined, options: ColumnDefinition["options"]): boolean {
  if (options === undefined || given === undefined) return true;
  const values: readonly Json[] = options.values;
  return (isArray(given) ? given : [given]).every((each) => values.includes(each));
}

/**
 * The former links come back where the relation leads to the table to which the change let it lead, or where the change only
 * made one link of a list, or a list of one.
 * @returns undefined when it leads elsewhere since
 */
export function revertedRelation(reverting: Reverting<RelationDefinition>): RelationDefinition | undefined {
  const { former, later, current } = reverting;
  if (same(former, later)) return current;
  const isBackByHand = later.table === former.table && leadsLike(current, former);
  if (!leadsLike(current, later) && !isBackByHand) return undefined;
  const pick = picker(reverting);
  const isAsNow = isList(former) === isList(current);
  const type = isAsNow ? pick("type") : former.type;
  const required = !isList(former) && pick("required");
  const onDelete = isList(former) ? former.onDelete : pick("onDelete");
  const inverse = pick("inverse");
  return {
    id: former.id,
    name: pick("name"),
    type,
    table: former.table,
    inverse,
    required,
    onDelete: required && onDelete === "SET NULL" ? "RESTRICT" : onDelete,
    counted: pick("counted") && countProblem(type, inverse) === undefined,
    description: pick("description"),
  };
}

function leadsLike(one: RelationDefinition, other: RelationDefinition): boolean {
  return one.table === other.table && isList(one) === isList(other);
}

/** Chooses the former setting, or the present one where it was changed since. */
function picker<Kind>({ former, later, current }: Reverting<Kind>) {
  return <Key extends keyof Kind>(key: Key): Kind[Key] =>
    same(later[key], current[key]) ? former[key] : current[key];
}
