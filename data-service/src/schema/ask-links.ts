// Asks a table's records about a list of links that a change removes, or turns into a single link.
import { type Relation, relationIn, type Table, targetOf } from "../catalog/catalog.js";
import { idText } from "../catalog/record-ids.js";
import { storedLinks } from "../catalog/restore-value.js";
import type { Stored } from "../catalog/stored.js";
import type { TableData } from "../mongo/table-data.js";
import { EXAMPLES, type Found } from "../mongo/table-questions.js";
import type { ChangePlan } from "./plan-change.js";

type Data = Pick<TableData, "deletedLinks" | "matching" | "withLinks" | "withoutValue">;

/** The relation whose links a field of the table holds as a list, if there is one. */
export function listRelation(table: Table, field: string): Relation | undefined {
  const relation = relationIn(table, field);
  return relation?.link.list === true ? relation : undefined;
}

/** Records without a link, or only with links to deleted records, which nobody is shown. */
export async function withoutLivingLinks(
  data: Data,
  plan: ChangePlan,
  before: Table,
  relation: Relation,
): Promise<Found> {
  const { field } = relation.link;
  const isDeleted = await deletedLinks(data, plan, before, relation);
  if (isDeleted === undefined) return data.withLinks(before, field, "none");
  const without = await data.withoutValue(before, field);
  const left = await data.matching(before, field, (value) => storedLinks(value).every(isDeleted));
  return {
    records: without.records + left.records,
    examples: [...without.examples, ...left.examples].slice(0, EXAMPLES),
  };
}

/**
 * Picks the link that stays of a list: the first to a record that is not deleted. If there is none, the first of the others,
 * whose record can be restored.
 */
export async function firstLink(
  data: Data,
  plan: ChangePlan,
  before: Table,
  field: string,
): Promise<(value: unknown) => Stored | undefined> {
  const relation = listRelation(before, field);
  const isDeleted = relation && (await deletedLinks(data, plan, before, relation));
  return (value) => {
    const links = storedLinks(value);
    return links.find((id) => isDeleted?.(id) !== true) ?? links[0];
  };
}

/** Tells links to deleted records; undefined if there are none. */
async function deletedLinks(
  data: Data,
  { catalogs }: ChangePlan,
  before: Table,
  relation: Relation,
): Promise<((id: Stored) => boolean) | undefined> {
  const target = targetOf(catalogs.before, relation);
  if (target.deletedAt === undefined) return undefined;
  const deleted = await data.deletedLinks(before, relation.link.field, target);
  const texts = new Set(deleted.map((id) => idText(target, id)));
  return texts.size === 0 ? undefined : (id) => texts.has(idText(target, id));
}
