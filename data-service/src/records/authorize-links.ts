// Links of a checked body -> the same, with what the caller may see at their other end. Pure.
import { AppError } from "@portico/shared/app-error";
import type { Table } from "../catalog/catalog.js";
import type { ReadView } from "../permission/read-view.js";
import type { CheckedBody } from "./check-body.js";

/**
 * A relation to a table without read rights is an unknown field, and a record that may not be seen an unknown record:
 * else the answer would tell which ids exist there.
 * @param preset names of relations that a rule sets, whatever the caller may see
 * @throws AppError VALIDATION_ERROR naming each relation that is not to be known
 */
export function authorizeLinks(
  body: CheckedBody,
  table: Table,
  view: ReadView,
  preset: ReadonlySet<string>,
): CheckedBody {
  const unknown: string[] = [];
  const links = body.links.map((set) => {
    const { name } = set.relation;
    if (preset.has(name)) return set;
    const found = view.relation(table, name, "show");
    if (found === undefined && !leadsSomewhere(view, set.target)) unknown.push(`${name}: unknown field`);
    return { ...set, visible: view.rows(set.target) };
  });
  if (unknown.length > 0) throw new AppError("VALIDATION_ERROR", { message: unknown });
  return { ...body, links };
}

/** A relation can be written by a rule that grants it even where it can't be read, as long as its records can. */
function leadsSomewhere(view: ReadView, target: Table): boolean {
  return view.rows(target).kind !== "never";
}
