// Links of a checked body -> the same, with what the caller may see at their other end. Pure.
import type { Table } from "../../catalog/catalog.js";
import type { ReadView } from "../../permission/read-view.js";
import { ALWAYS } from "../../query/ast.js";
import type { CheckedBody } from "./check-body.js";

/**
 * A record that may not be seen is an unknown record: else the answer would tell which ids exist there.
 * @param preset names of relations that a rule sets, whatever the caller may see
 */
export function authorizeLinks(body: CheckedBody, view: ReadView, preset: ReadonlySet<string>): CheckedBody {
  const links = body.links.map((set) =>
    preset.has(set.relation.name) ? { ...set, isPreset: true } : { ...set, visible: view.rows(set.target) },
  );
  return { ...body, links };
}

/**
 * The same for a record that root moves here from elsewhere: what it links to may be deleted, as it was there. Only what a
 * living record can't do without has to live.
 */
export function movedLinks(body: CheckedBody, { deletedAt }: Table, view: ReadView): CheckedBody {
  const isDeleted = deletedAt !== undefined && (body.values.get(deletedAt) ?? null) !== null;
  const links = body.links.map((set) => {
    const { link, required } = set.relation;
    const isNeeded = required && !isDeleted;
    if (isNeeded || link.on !== "self") return set;
    return { ...set, visible: view.rows(set.target, "all"), there: ALWAYS };
  });
  return { ...body, links };
}
