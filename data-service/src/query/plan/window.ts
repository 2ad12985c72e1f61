// Sorting by the greatest or least child, page by page: the children in index order, from the wanted end, name the first
// parents. A parent whose extreme is strictly inside the window can't be beaten from outside it. Pure.
import { bsonTypeOf, uuidText } from "../../catalog/bson-json.js";
import type { Stored } from "../../catalog/stored.js";
import { getOrMake } from "../../get-or-make.js";
import { asStored } from "../as-read.js";
import type { AuthorizedNode, RowRules, SortKey } from "../ast.js";
import { matchStages } from "../lower/condition.js";
import { type Document, Names, type Stage, type StoredRecord } from "../lower/document.js";
import { onlyLinks } from "../lower/links.js";
import { keyText } from "./key-text.js";

/** A sort by the greatest or least child. */
export type ExtremeKey = Extract<SortKey, { kind: "max" | "min" }>;

/** A wider window usually costs more than ranking everything. */
const LARGEST_WINDOW = 20_000;

/** How many children to look at for this page and those before it. @param each children per record */
export function windowSize(node: AuthorizedNode, each: number): number {
  return Math.ceil((node.skip + node.limit) * each);
}

/** The first sort key, if the page can be found from one end of the children. @param size of the window */
export function windowKey(node: AuthorizedNode, size: number): ExtremeKey | undefined {
  const [key] = node.sort;
  if (key?.kind !== "max" && key?.kind !== "min") return undefined;
  const isFromAnEnd = key.descending === (key.kind === "max");
  const reachable = size > 0 && size <= LARGEST_WINDOW && node.limit > 0;
  return isFromAnEnd && reachable && !key.step.relation.link.list ? key : undefined;
}

/**
 * The pipeline on the children's collection that names the parents (`_id`) known to come first: every parent that is not
 * named has an extreme no better than any named one's.
 * @param enough the most parents to name; these are the first ones
 */
export function windowQuestion(key: ExtremeKey, size: number, rules: RowRules, enough?: number): Stage[] {
  const [link, field] = fieldsOf(key);
  const direction = directionOf(key);
  const whole: Document = { documents: ["unbounded", "unbounded"] };
  return [
    ...firstChildren(key, size, rules),
    { $group: { _id: `$${link}`, value: { [`$${key.kind}`]: `$${field}` }, children: { $sum: 1 } } },
    {
      $setWindowFields: {
        sortBy: { value: direction },
        output: {
          edge: { $last: "$value", window: whole },
          seen: { $sum: "$children", window: whole },
        },
      },
    },
    // A full window may have cut a tie at its edge; one that was not filled has seen every child.
    { $match: { $expr: { $or: [{ $ne: ["$value", "$edge"] }, { $lt: ["$seen", size] }] } } },
    ...(enough === undefined ? [] : [{ $sort: { value: direction, _id: 1 } }, { $limit: enough }]),
    { $project: { _id: 1 } },
  ];
}

/**
 * The pipeline that reads the first children themselves, for `firstParents`. For a few of them this costs half as much as
 * grouping in the database.
 */
export function glanceQuestion(key: ExtremeKey, size: number, rules: RowRules): Stage[] {
  const [link, field] = fieldsOf(key);
  return [...firstChildren(key, size, rules), { $project: { _id: 1, [link]: 1, [field]: 1 } }];
}

/** The children, starting from the wanted end. */
function firstChildren(key: ExtremeKey, size: number, rules: RowRules): Stage[] {
  const [link, field] = fieldsOf(key);
  const direction = directionOf(key);
  const isLinked = { $ne: null, ...onlyLinks(key.step.relation.link) };
  return [
    ...matchStages([rules(key.step.target)], new Names()),
    { $match: { [link]: isLinked, [field]: { $ne: null } } },
    { $sort: fromTheEnd(field, direction) },
    { $limit: size },
  ];
}

/** Date indexes are [field descending, id ascending]; both directions use them. Ids are unique anyway. */
function fromTheEnd(field: string, direction: 1 | -1): Document {
  return field === "_id" ? { _id: direction } : { [field]: direction, _id: direction === 1 ? -1 : 1 };
}

/** The field in which a child says whose it is, and the field with the value that counts. */
function fieldsOf({ step, column }: ExtremeKey): [link: string, field: string] {
  return [step.relation.link.field, column.field];
}

function directionOf({ descending }: ExtremeKey): 1 | -1 {
  return descending ? -1 : 1;
}

/**
 * What `windowQuestion` answers, computed from the first children.
 * @param children in their order
 * @param size how many were asked for
 * @returns undefined if only the database can tell which values are equal, or which of two ids is less
 */
export function firstParents(
  key: ExtremeKey,
  children: readonly StoredRecord[],
  size: number,
): readonly Stored[] | undefined {
  const [link, field] = fieldsOf(key);
  const extremes = new Map<string, Extreme>();
  let edge: string | undefined;
  for (const child of children) {
    const text = keyText(child[link]);
    edge = valueText(child[field]);
    if (text === undefined || edge === undefined) return undefined;
    if (!extremes.has(text)) extremes.set(text, { id: asStored(child[link]), text, value: edge });
  }
  // A full window may have cut a tie at its edge; one that was not filled has seen every child.
  const isWhole = children.length < size;
  const inside = [...extremes.values()].filter(({ value }) => isWhole || value !== edge);
  // The children came by value; parents with the same value must come by id.
  const byValue = new Map<string, Extreme[]>();
  for (const each of inside) getOrMake(byValue, each.value, () => []).push(each);
  const groups = [...byValue.values()].map(byId);
  const ordered = groups.flatMap((group) => group ?? []);
  return groups.includes(undefined) ? undefined : ordered.map(({ id }) => id);
}

/** @returns undefined if only the database knows the order */
function byId(parents: readonly Extreme[]): readonly Extreme[] | undefined {
  if (parents.length === 1) return parents;
  if (parents.every(({ id }) => typeof id === "number")) {
    return [...parents].sort((one, other) => Number(one.id) - Number(other.id));
  }
  const kinds = new Set(parents.map(({ id }) => hexKind(id)));
  if (kinds.size > 1 || kinds.has(undefined)) return undefined;
  return [...parents].sort((one, other) => (one.text < other.text ? -1 : 1));
}

/** A parent and its greatest or least child. */
interface Extreme {
  readonly id: Stored;
  readonly text: string;
  readonly value: string;
}

/** The same text for values that the database considers equal; undefined for kinds that may equal others. */
function valueText(value: unknown): string | undefined {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? undefined : `at ${value.getTime()}`;
  return typeof value === "number" || typeof value === "string" ? `${typeof value} ${value}` : undefined;
}

/** Kinds of ids whose text sorts as they do, within each kind. */
function hexKind(id: Stored): string | undefined {
  if (bsonTypeOf(id) === "ObjectId") return "ObjectId";
  return uuidText(id) === undefined ? undefined : "UUID";
}

/** How many parents are named in reserve, in case a link leads to a record that is gone. */
const RESERVE = 10;

/**
 * How many parents fill the page and those before it. Undefined when more are needed: a filter or rule may leave some out,
 * or something other than the id orders those with the same extreme.
 */
export function enoughParents({
  table,
  sort,
  filter,
  rule,
  skip,
  limit,
}: AuthorizedNode): number | undefined {
  const [, second, ...others] = sort;
  const byIdThen =
    second?.kind === "column" &&
    second.path.length === 0 &&
    second.column === table.idColumn &&
    !second.descending;
  const takesAll = filter.kind === "always" && rule.kind === "always";
  return takesAll && byIdThen && others.length === 0 ? skip + limit + RESERVE : undefined;
}
