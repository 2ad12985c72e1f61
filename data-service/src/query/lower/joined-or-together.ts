// How related records come into an answer: joined to each record, read for many records together, or not read at all, because the
// record itself says all that is shown of them.
import type { AuthorizedChild, AuthorizedNode, CountNode } from "../ast.js";
import { isRelational } from "./condition.js";

/** @param together whether relations are read for many parents together, where possible */
export function isJoined(child: AuthorizedChild, together = false): boolean {
  return !isKeyOnly(child) && !(together && isTogether(child));
}

/** Is a number of related records joined? It can always be asked for many parents together. */
export function isCountJoined({ kind }: CountNode, together = false): boolean {
  return kind === "counted" && !together;
}

/** Is something asked for these records together, after they are read? */
export function asksTogether(node: AuthorizedNode): boolean {
  const { children, counts } = node;
  return readsTogether(node) && (children.some(isTogether) || counts.some(({ kind }) => kind === "counted"));
}

/**
 * How many records of one kind a list may have to hold: its own, times those that each shows of a to-many relation, and so
 * on. Infinity if nothing limits them.
 */
export function mostRecords({ limit, children }: Pick<AuthorizedNode, "limit" | "children">): number {
  const inside = children.filter((child) => !isKeyOnly(child)).map(({ node }) => mostRecords(node));
  return (limit === 0 ? Number.POSITIVE_INFINITY : limit) * Math.max(1, ...inside);
}

/** For one or two records, joins cost no more than a query for each relation. */
const FEW = 2;

/** Are these records' relations read for all of them together, where possible? */
export function readsTogether({ limit }: Pick<AuthorizedNode, "limit">): boolean {
  return limit === 0 || limit > FEW;
}

/** The most children per parent, counted from the first, that are read for many parents together. */
const MOST_SHOWN = 100;

/**
 * Can the related records be read by one query for many parents? Those of a to-one relation are at most as many as the
 * parents. For others, more may come than are shown, so they must cost nothing beyond being read. Lists of links in the
 * related records may be long, and mostly say who else links to them.
 */
export function isTogether(child: AuthorizedChild): boolean {
  const { relation, node } = child;
  const { on, list } = relation.link;
  if (isKeyOnly(child)) return false;
  if (!list && on === "self") return true;
  if (node.limit === 0 || node.skip + node.limit > MOST_SHOWN || (list && on === "target")) return false;
  const isPlain = ![node.rule, node.filter].some(isRelational) && node.masks.length === 0;
  const ownSort = node.sort.every((key) => key.kind === "column" && key.path.length === 0);
  return isPlain && ownSort && node.children.every((each) => isKeyOnly(each) || isTogether(each));
}

/**
 * True when the answer shows only `{"id":…}` and the id is in the document itself, so that no join is needed: no rule or
 * filter could turn it into null.
 */
export function isKeyOnly({ relation, node }: AuthorizedChild): boolean {
  const { on, list } = relation.link;
  const onlyId =
    node.children.length === 0 &&
    node.counts.length === 0 &&
    node.columns.every((column) => column === node.table.idColumn);
  return on === "self" && !list && onlyId && node.rule.kind === "always" && node.filter.kind === "always";
}
