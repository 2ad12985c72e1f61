// Members that only some rows show -> marks in each row, and what the database drops where they are missing: what is hidden
// must not even count in a limit.
import { VERSION_FIELD } from "../../catalog/own-fields.js";
import type { AuthorizedNode, Mask } from "../ast.js";
import { matchStages } from "./condition.js";
import type { Document, Names, Stage, StoredRecord, Value } from "./document.js";

type Masked = Pick<AuthorizedNode, "masks">;

/** Holds a document if the row matches the mask. */
function maskField(at: number): string {
  return `__m${at}`;
}

/** The fields with the marks. */
export function maskFields({ masks }: Masked): string[] {
  return masks.map((_, at) => maskField(at));
}

/**
 * Marks which masks a row matches. Only the rows of a page are left by now, so each is looked up once more under the mask's
 * own rule: one compiler for rules, wherever they are. The row's own values were read before, so a row that has changed since
 * matches none: its former values must not be shown because of its new ones. Other programs raise no version when they change
 * a row of an adopted collection; then they may be. What is joined to the row is read after the marks, by rules of its own.
 */
export function maskStages(node: AuthorizedNode, names: Names): Stage[] {
  const self = { from: node.table.collection, localField: "_id", foreignField: "_id" };
  const version = { $ifNull: [`$${VERSION_FIELD}`, 0] };
  const isUnchanged = { $match: { $expr: { $eq: [version, "$$version"] } } };
  return node.masks.map(({ rows }, at) => ({
    $lookup: {
      ...self,
      let: { version },
      pipeline: [isUnchanged, ...matchStages([rows], names), { $project: { _id: 1 } }],
      as: maskField(at),
    },
  }));
}

/** Whether a marked row shows the member, as an expression. @returns undefined when every row does */
export function shownWhere({ masks }: Masked, name: string): Document | undefined {
  if (!masks.some(({ hides }) => hides.includes(name))) return undefined;
  const marks = masks.flatMap(({ shows }, at) => (shows.includes(name) ? [`$${maskField(at)}`] : []));
  return { $or: marks.map((mark) => ({ $ne: [mark, []] })) };
}

/** What a projection makes of a field: its value, in the rows that show the member. @param value another one to show */
export function ifShown(node: Masked, name: string, field: string, value?: Document): Value {
  const where = shownWhere(node, name);
  return where === undefined ? (value ?? 1) : { $cond: [where, value ?? `$${field}`, "$$REMOVE"] };
}

/** Tells which members a marked row shows. */
export function shownIn(masks: readonly Mask[]): (document: StoredRecord) => (name: string) => boolean {
  const hidden = new Set(masks.flatMap(({ hides }) => hides));
  return (document) => {
    const matched = masks.filter((_, at) => {
      const found = document[maskField(at)];
      return Array.isArray(found) && found.length > 0;
    });
    const shown = new Set(matched.flatMap(({ shows }) => shows));
    return (name) => !hidden.has(name) || shown.has(name);
  };
}
