// Prepares a list for lowering: asks for the keys behind the relations of filter and row rules, and how many parents a ranking
// has.
import type { Table } from "../../catalog/catalog.js";
import type { Stored } from "../../catalog/stored.js";
import type { RecordStore } from "../../mongo/record-store.js";
import type { TableRead } from "../../query/advice/shape.js";
import { linkIn } from "../../query/as-read.js";
import type { AuthorizedNode, AuthorizedPredicate, AuthorizedQuery, RowRules } from "../../query/ast.js";
import { withFilter, withNarrowedRules, withNarrowing } from "../../query/authorize-read.js";
import type { Stage, StoredRecord } from "../../query/lower/document.js";
import { canRank } from "../../query/lower/rank.js";
import { lowerProbe, NO_RANKING, type PageOfParents, type Ranking } from "../../query/lower/read.js";
import {
  type Rarest,
  rarestOf,
  rarityQuestion,
  searchesOf,
  withCandidates,
} from "../../query/plan/candidates.js";
import { KeyRoom } from "../../query/plan/key-room.js";
import { keyText } from "../../query/plan/key-text.js";
import type { Thresholds } from "../../query/plan/thresholds.js";
import { useCounters } from "../../query/plan/use-counters.js";
import {
  type ExtremeKey,
  enoughParents,
  firstParents,
  glanceQuestion,
  windowKey,
  windowQuestion,
  windowSize,
} from "../../query/plan/window.js";
import { type Effort, whileWanted } from "./effort.js";
import { type Ask, type Narrow, namesRecords, narrower, resolve } from "./resolve-relations.js";

/** Children that are looked at first for each record that is wanted, where these can be said. */
const GLANCE = 2;

export interface Plan {
  readonly query: AuthorizedQuery;
  /** Those that related records are read by: a ranking looks where they are, so its query may say more. */
  readonly rules: RowRules;
  readonly ranking: Ranking;
  /** What was asked on the way, for `explain`. */
  readonly questions: readonly Question[];
}

/** A read that the plan depends on. */
export interface Question {
  readonly table: Table;
  readonly pipeline: Stage[];
  readonly answers: number;
  /** What was looked for, where an index can help with it. */
  readonly read?: TableRead;
  /** How many records it had to look at, where it answers fewer. */
  readonly needs?: number;
  /** The join inside it that is meant, where it is not the whole of it. */
  readonly as?: string;
}

export interface PlanDeps {
  readonly store: Pick<RecordStore, "read" | "byIds">;
  readonly thresholds: Thresholds;
}

/** Plans that asked nothing: they are the same whatever the tables hold. */
const settled = new WeakMap<AuthorizedQuery, Plan>();

/**
 * Asks what the plan depends on. How many questions that are, only the query and the row rules of its tables say, not how
 * much the tables hold: one or two for each of their relations, once for each rule, one for each search (MOST_ASKED at most),
 * and up to three for a sort by related records.
 */
export async function planRead(deps: PlanDeps, asked: AuthorizedQuery, effort: Effort): Promise<Plan> {
  const known = settled.get(asked);
  if (known !== undefined) return known;
  const plan = await makePlan(deps, asked, effort);
  if (plan.questions.length === 0) settled.set(asked, plan);
  return plan;
}

async function makePlan(deps: PlanDeps, asked: AuthorizedQuery, effort: Effort): Promise<Plan> {
  const query = useCounters(asked);
  const { root } = query;
  const questions: Question[] = [];
  const ask: Ask = async (table, pipeline, about = {}) => {
    const documents = await effort.ask((limits) => deps.store.read(table, pipeline, limits));
    questions.push({ table, pipeline, answers: documents.length, ...about });
    return documents;
  };
  const { maxKeys } = deps.thresholds;
  const narrow = narrower(ask, maxKeys);
  const [resolved, narrowing, rarest] = await Promise.all([
    resolve({ ask, maxKeys, room: new KeyRoom(), narrow }, root.filter, true),
    namesRecords(root.filter, root.table) ? [] : narrow(root.rule),
    findRarest(ask, root.table, root.filter),
  ]);
  const whichAreThere: Asking["whichAreThere"] = async (table, ids) => {
    const pipeline = [{ $match: { _id: { $in: [...ids] } } }, { $project: { _id: 1 } }];
    const documents = await effort.ask((limits) =>
      whileWanted(limits, deps.store.byIds(table, ids, { _id: 1 })),
    );
    questions.push({ table, pipeline, answers: documents.length });
    return documents;
  };
  const planned = withFilter(withNarrowing(query, narrowing), withCandidates(resolved, rarest));
  const ranked = await planRanking({ ask, whichAreThere, narrow }, planned, deps.thresholds);
  return { ...ranked, rules: query.rules, questions };
}

/** How to rank, and the query for it. */
type Ranked = Pick<Plan, "query" | "ranking">;

async function planRanking(asking: Asking, query: AuthorizedQuery, thresholds: Thresholds): Promise<Ranked> {
  const { root } = query;
  const unranked = { query, ranking: NO_RANKING };
  if (!canRank(root)) return unranked;
  const { fewParents, windowChildren } = thresholds;
  const size = windowSize(root, windowChildren);
  const key = windowKey(root, size);
  const page = key === undefined ? undefined : await glance(asking, query, key, size);
  if (page !== undefined) return page;
  const matching = await asking.ask(root.table, lowerProbe(query, fewParents));
  if (matching.length <= fewParents) return unranked;
  const ranked = await narrowedForSort(query, asking.narrow);
  if (key === undefined) return { query: ranked, ranking: { kind: "all" } };
  return { query: ranked, ranking: { kind: "among", parents: await look(asking, ranked, key, size) } };
}

/** Mostly the extremes of different records lie side by side: then a glance names all that the page needs. */
async function glance(
  asking: Asking,
  query: AuthorizedQuery,
  key: ExtremeKey,
  size: number,
): Promise<Ranked | undefined> {
  const enough = enoughParents(query.root);
  if (enough === undefined || enough * GLANCE >= size) return undefined;
  const most = enough * GLANCE;
  const narrowed = await narrowedForSort(query, asking.narrow);
  const { root, rules } = narrowed;
  const about = { read: windowRead(key, rules), needs: most };
  const children = await asking.ask(key.step.target, glanceQuestion(key, most, rules), about);
  const reserve = firstParents(key, children, most)?.slice(0, enough) ?? [];
  const ranking = reserve.length === enough ? await pageOf(asking, root, reserve) : undefined;
  return ranking === undefined ? undefined : { query: narrowed, ranking };
}

/** The parents that a window of children names. */
async function look(
  { ask }: Asking,
  { root, rules }: AuthorizedQuery,
  key: ExtremeKey,
  size: number,
): Promise<readonly Stored[]> {
  const question = windowQuestion(key, size, rules, enoughParents(root));
  const first = await ask(key.step.target, question, { read: windowRead(key, rules), needs: size });
  return first.flatMap(({ _id }) => linkIn(_id));
}

/**
 * The query with what the row rules mean for the records that it is sorted by. Only for a ranking, which reads them all
 * together: a look-up for each parent finds few anyway, and MongoDB parses the keys for each.
 */
async function narrowedForSort(query: AuthorizedQuery, narrow: Narrow): Promise<AuthorizedQuery> {
  const { root, rules } = query;
  const targets = root.sort.flatMap((key) => (key.kind === "column" ? [] : [key.step.target]));
  const narrowed = targets.map(async (target) => [target, await narrow(rules(target))] as const);
  return withNarrowedRules(query, new Map(await Promise.all(narrowed)));
}

/** What an index would have to help with. */
function windowRead({ step, column, descending }: ExtremeKey, rules: RowRules): TableRead {
  const sort = [{ kind: "column" as const, path: [], column, descending }];
  return { table: step.target, predicates: [rules(step.target)], sort };
}

/**
 * The page out of the first parents, in their order, if they fill it. The first page of all shows by itself whether it is
 * full, so nothing is asked about it beforehand (see rankAfterAll).
 */
async function pageOf(
  { whichAreThere }: Asking,
  root: AuthorizedNode,
  reserve: readonly Stored[],
): Promise<PageOfParents | undefined> {
  if (root.skip > 0) return pageOfThose(root, reserve, await whichAreThere(root.table, reserve));
  return { kind: "page", parents: reserve.slice(0, root.limit), reserve };
}

/**
 * How to rank where the parents that were named did not fill the page after all: without those that are gone, or by
 * looking at all of them.
 */
export async function rankAfterAll(
  { store }: Pick<PlanDeps, "store">,
  { query: { root }, ranking }: Plan,
  effort: Effort,
): Promise<Ranking> {
  const reserve = ranking.kind === "page" ? ranking.reserve : undefined;
  if (reserve === undefined) return { kind: "all" };
  const found = await effort.ask((limits) =>
    whileWanted(limits, store.byIds(root.table, reserve, { _id: 1 })),
  );
  return pageOfThose(root, reserve, found) ?? { kind: "all" };
}

function pageOfThose(
  { skip, limit }: AuthorizedNode,
  reserve: readonly Stored[],
  found: readonly StoredRecord[],
): PageOfParents | undefined {
  const there = new Set(found.map(({ _id }) => keyText(_id)));
  // The record's id is spelled differently from the link to it (an adopted collection); only the database can match them.
  if (there.has(undefined)) return undefined;
  const page = reserve.filter((id) => there.has(keyText(id))).slice(skip, skip + limit);
  return page.length === limit ? { kind: "page", parents: page } : undefined;
}

interface Asking {
  readonly ask: Ask;
  /** A link may lead to a record that is gone. */
  readonly whichAreThere: (table: Table, ids: readonly Stored[]) => Promise<StoredRecord[]>;
  readonly narrow: Narrow;
}

/** Searches of a filter whose grams are counted. */
const MOST_ASKED = 8;

/** Asked beside the keys of relations, not after them; which is why searches inside relations go without. */
async function findRarest(ask: Ask, table: Table, filter: AuthorizedPredicate): Promise<Rarest> {
  const rarest = searchesOf(filter)
    .slice(0, MOST_ASKED)
    .map(async (search) => {
      const counts = await ask(table, rarityQuestion(search, table.collection));
      return [search, rarestOf(search, counts)] as const;
    });
  return new Map(await Promise.all(rarest));
}
