// Finds the links that a new, full set of links replaces. The caller's set holds only links that the caller may see, so
// links to hidden records stay as they are.
import type { Table } from "../../catalog/catalog.js";
import { idsOf, idText } from "../../catalog/record-ids.js";
import type { Stored } from "../../catalog/stored.js";
import { linksIn, stillIs } from "../../query/as-read.js";
import { matchStages } from "../../query/lower/condition.js";
import { type Document, Names, type StoredRecord } from "../../query/lower/document.js";
import { linksTo } from "../../query/lower/links.js";
import type { RecordDeps } from "../record-deps.js";
import type { AuthorizedLinks } from "./link-set.js";
import type { WritePlan } from "./write-plan.js";

/** The condition for documents that link to a record and are not in its new set, as far as the caller sees them. */
export async function formerLinks(
  { store }: Pick<RecordDeps, "store">,
  id: Stored,
  { relation, target, ids, visible }: AuthorizedLinks,
): Promise<Document> {
  const linked = linksTo(relation.link, [id]);
  const former = { ...linked, _id: { $nin: [...ids] } };
  if (visible.kind === "always") return former;
  const seen = await store.read(target, [
    { $match: former },
    ...matchStages([visible], new Names()),
    { $project: { _id: 1 } },
  ]);
  return { ...linked, _id: { $in: idsOf(target, seen) } };
}

/** A plan whose lists of links are whole, and the condition under which they are. */
export interface WholePlan {
  readonly plan: WritePlan;
  readonly condition: Document;
}

/** The plan, keeping the links in the record's own lists that its caller can't see. */
export async function withUnseen(
  deps: Pick<RecordDeps, "store">,
  table: Table,
  id: Stored,
  plan: WritePlan,
): Promise<WholePlan> {
  const fields = plan.ownLists.filter(isPartial).map(({ relation }) => relation.link.field);
  if (fields.length === 0) return { plan, condition: {} };
  const project = { _id: 1, ...Object.fromEntries(fields.map((field) => [field, 1])) };
  const [before] = await deps.store.read(table, [{ $match: { _id: id } }, { $project: project }]);
  return planWithUnseen(deps, before, plan);
}

/** Like `withUnseen`, for a record that has been read: what is judged is what will be written. */
export async function planWithUnseen(
  deps: Pick<RecordDeps, "store">,
  before: StoredRecord | undefined,
  plan: WritePlan,
): Promise<WholePlan> {
  const { own, ownLists } = plan;
  const { whole, condition } = await wholeLists(deps, before, ownLists.filter(isPartial));
  const set = new Map([...own.set, ...whole]);
  const unset = own.unset.filter((field) => !whole.has(field));
  return { plan: { ...plan, own: { ...own, set, unset }, ownLists: [] }, condition };
}

/** The list may hold links that the caller can't see. */
function isPartial({ visible }: AuthorizedLinks): boolean {
  return visible.kind !== "always";
}

/** Lists of links as they will be: those in which something unseen stays. */
interface WholeLists {
  /** By field. */
  readonly whole: ReadonlyMap<string, Stored>;
  /** Holds as long as the record has the links that were read. */
  readonly condition: Document;
}

async function wholeLists(
  { store }: Pick<RecordDeps, "store">,
  before: StoredRecord | undefined,
  lists: readonly AuthorizedLinks[],
): Promise<WholeLists> {
  const whole = new Map<string, Stored>();
  const condition: Document = {};
  for (const { relation, target, ids, visible } of lists) {
    const { field } = relation.link;
    // What was just read goes back as it was; other programs may have put a single id in the place of a list.
    const stored = (before?.[field] ?? null) as Stored | Stored[] | null;
    // Absent as well as null.
    condition[field] = stillIs(stored);
    const list = linksIn(stored);
    const seen = await store.existing(target, list, matchStages([visible], new Names()));
    const chosen = new Set(ids.map((each) => idText(target, each)));
    const unseen = list.filter((each) => {
      const text = idText(target, each);
      return !seen.has(text) && !chosen.has(text);
    });
    if (unseen.length > 0) whole.set(field, [...ids, ...unseen]);
  }
  return { whole, condition };
}
