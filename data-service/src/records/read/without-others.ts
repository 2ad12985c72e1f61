// Names in an address that are not ours: those of members are refused, and of the rest nothing is left.
import { memberNamed, type Table } from "../../catalog/catalog.js";
import type { ReadView } from "../../permission/read-view.js";
import type { Parameters } from "../../query/parameters.js";
import { refuse } from "../../query/refuse.js";

/**
 * A condition beside the filter rather than in it would be passed over, and all records answered, told, changed or deleted.
 * What is left is the same with any other names, so that it can be remembered.
 * @throws AppError 400 for a member; one that the caller may not know is a name like any other
 */
export function withoutOthers(given: Parameters, table: Table, view: ReadView): Parameters {
  if (given.others === undefined) return given;
  const { others, ...parameters } = given;
  for (const name of others) {
    // `author.name` would compare what the relation leads to.
    const [outer = ""] = name.split(/[.:]/);
    const member = memberNamed(table, outer);
    if (member === undefined || !view.shows(table, member)) continue;
    const kind = "link" in member ? "relation" : "column";
    throw refuse(outer, `is a ${kind} of "${table.name}"; filter by it with filter={"${outer}":…}`);
  }
  return parameters;
}
