// Reads a page that is held as a whole, however its records are ranked.
import { getOrMake } from "../../get-or-make.js";
import { type Answered, allOf, areLarge } from "../../mongo/raw-documents.js";
import type { AuthorizedQuery } from "../../query/ast.js";
import { idsPipeline } from "../../query/lower/by-ids.js";
import type { Document, Stage, StoredRecord } from "../../query/lower/document.js";
import { readsTogether } from "../../query/lower/joined-or-together.js";
import { lowerList, ownFields, type Ranking } from "../../query/lower/read.js";
import { keyText } from "../../query/plan/key-text.js";
import type { RecordDeps } from "../record-deps.js";
import { type Effort, whileWanted } from "./effort.js";
import { type Plan, rankAfterAll } from "./plan-read.js";

/** Parents of a page that are read at once, with all that is joined to them. */
export const PARENTS_AT_ONCE = 10;

/**
 * Documents of a page, as they came where they may be too large to be held decoded; undefined where they are too large to be
 * held at all.
 */
type Page = Answered | undefined;

/** The page, however it is ranked; ranked once more where parents that were named for it have gone meanwhile. */
export async function readPage(deps: RecordDeps, plan: Plan, effort: Effort): Promise<Page> {
  const page = await readFull(deps, plan, effort);
  return areLarge(page) ? page : allOf(page);
}

async function readFull(deps: RecordDeps, plan: Plan, effort: Effort): Promise<Page> {
  const { query, ranking } = plan;
  const isShort = (by: Ranking, page: Page) =>
    page !== undefined && namesParents(by) && page.length < query.root.limit;
  const first = await readUndecoded(deps, query, ranking, effort);
  if (!isShort(ranking, first)) return first;
  const next = await rankAfterAll(deps, plan, effort);
  const second = await readUndecoded(deps, query, next, effort);
  return isShort(next, second) ? readUndecoded(deps, query, { kind: "all" }, effort) : second;
}

/** The records of a page that is ranked so. @returns undefined when they are too large to be held all at once */
export async function readRanked(
  deps: RecordDeps,
  query: AuthorizedQuery,
  ranking: Ranking,
  effort: Effort,
): Promise<readonly StoredRecord[] | undefined> {
  const page = await readUndecoded(deps, query, ranking, effort);
  return allOf(page);
}

async function readUndecoded(
  { store }: RecordDeps,
  query: AuthorizedQuery,
  ranking: Ranking,
  effort: Effort,
): Promise<Page> {
  const { root } = query;
  const read = (pipeline: Stage[]) =>
    effort.ask((limits) => store.readRaw(root.table, pipeline, root.limit, limits));
  if (ranking.kind !== "page") return read(pipelineOf(query, ranking));
  const { parents } = ranking;
  const fields = ownFields(root, { together: readsTogether(root) });
  const isFew = parents.length <= PARENTS_AT_ONCE;
  const readFew = (fields: Document) =>
    effort.ask((limits) => whileWanted(limits, store.smallByIds(root.table, parents, fields)));
  const readParents = async (fields: Document) =>
    (isFew ? await readFew(fields) : undefined) ?? read(idsPipeline(parents, fields));
  const answer = await (fields === undefined ? read(pipelineOf(query, ranking)) : readParents(fields));
  const found = await allOf(answer);
  if (found === undefined) return undefined;
  const byId = new Map(found.map((document) => [keyText(document._id), document]));
  return parents.map((id) => byId.get(keyText(id))).filter((document) => document !== undefined);
}

/** Some of them may be gone by the time they are read. */
export function namesParents({ kind }: Ranking): boolean {
  return kind === "among" || kind === "page";
}

const pipelines = new WeakMap<AuthorizedQuery, Stage[]>();

/** A query that is sent again has its pipeline already, unless that depends on what is in the database. */
export function pipelineOf(query: AuthorizedQuery, ranking: Ranking): Stage[] {
  if (ranking.kind !== "none") return lowerList(query, ranking);
  return getOrMake(pipelines, query, () => lowerList(query));
}
