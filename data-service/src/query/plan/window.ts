// Sorting by the greatest or least child, page by page: the children in index order, from the wanted end, name the
// first parents. A parent whose extreme lies strictly inside the window can't be beaten from outside it. Pure.
import type { AuthorizedNode, AuthorizedQuery, SortKey } from "../ast.js";
import { matchStages } from "../lower/condition.js";
import { type Document, Names, type Stage } from "../lower/document.js";

/** A sort by the greatest or least child. */
export type ExtremeKey = Extract<SortKey, { kind: "max" | "min" }>;

/** A wider window costs more than ranking everything usually does. */
const LARGEST_WINDOW = 20_000;

/** How many children to look at for this page and what comes before it. @param each children per record */
export function windowSize(node: AuthorizedNode, each: number): number {
  return Math.ceil((node.skip + node.limit) * each);
}

/** The first sort key, when the page can be found from one end of the children. @param size of the window */
export function windowKey(node: AuthorizedNode, size: number): ExtremeKey | undefined {
  const [key] = node.sort;
  if (key?.kind !== "max" && key?.kind !== "min") return undefined;
  const fromTheEnd = key.descending === (key.kind === "max");
  const reachable = size > 0 && size <= LARGEST_WINDOW && node.limit > 0;
  return fromTheEnd && reachable && !key.step.relation.link.list ? key : undefined;
}

/**
 * The pipeline on the children's collection that names the parents (`_id`) known to come first: every parent that is
 * not named has an extreme no better than any named one's.
 * @param enough names no more than this many, the first ones
 */
export function windowQuestion(
  key: ExtremeKey,
  size: number,
  rules: AuthorizedQuery["rules"],
  enough?: number,
): Stage[] {
  const { relation, target } = key.step;
  const [link, field] = [relation.link.field, key.column.field];
  const direction = key.descending ? -1 : 1;
  const whole: Document = { documents: ["unbounded", "unbounded"] };
  return [
    ...matchStages([rules(target)], new Names()),
    { $match: { [link]: { $ne: null }, [field]: { $ne: null } } },
    // Date indexes are [field descending, id ascending]; both directions walk them.
    { $sort: { [field]: direction, _id: direction === 1 ? -1 : 1 } },
    { $limit: size },
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

/** Parents that are named in reserve, should a link lead to a record that is gone. */
const RESERVE = 10;

/**
 * How many parents fill the page and what comes before it. Undefined when more are needed: a filter or rule may leave
 * some out, or something else than the id orders those with the same extreme.
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
