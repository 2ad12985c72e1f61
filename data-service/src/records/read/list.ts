// GET /{table}: parse → bind → authorize → plan → lower → run → shape.

import type { Json, JsonObject } from "@portico/shared/json";
import type { Table } from "../../catalog/catalog.js";
import type { Stored } from "../../catalog/column-types.js";
import { getOrMake } from "../../get-or-make.js";
import type { LastingCaller } from "../../http/lasting-caller.js";
import { idsPipeline } from "../../mongo/record-store.js";
import type { Rights } from "../../permission/rights.js";
import { type Principal, requireRoot } from "../../principal.js";
import { asStored } from "../../query/as-read.js";
import type { AuthorizedNode, AuthorizedQuery } from "../../query/ast.js";
import { authorizeRead, onlyIds } from "../../query/authorize-read.js";
import { bindQuery } from "../../query/bind-query.js";
import { lowerAggregate, shapeAggregate } from "../../query/lower/aggregate.js";
import type { Document, Stage } from "../../query/lower/document.js";
import {
  isTogether,
  lowerList,
  mostRecords,
  ownFields,
  type PageOfParents,
  type Ranking,
  readsTogether,
} from "../../query/lower/read.js";
import type { Parameters } from "../../query/parameters.js";
import { keyText } from "../../query/plan/key-text.js";
import { type StoredRecord, shaper } from "../../query/shape.js";
import { type ExportFormat, parametersOfExport, parseFormat } from "../../query/syntax/format.js";
import { parseExplain } from "../../query/syntax/paging.js";
import type { Stop } from "../../stop.js";
import { findTable } from "../find-table.js";
import type { RecordDeps } from "../record-deps.js";
import type { Standing } from "../request.js";
import { askedRows } from "./asked-rows.js";
import { countRows } from "./count.js";
import { Effort } from "./effort.js";
import { explainList } from "./explain.js";
import { planKind } from "./plan-kind.js";
import { type Plan, planRead, rankAfterAll } from "./plan-read.js";
import { withRelated } from "./related.js";
import { Remembered } from "./remembered.js";
import { inRoom, NoRoom } from "./room.js";
import { unfold } from "./unfold.js";
import { whileAllowed } from "./while-allowed.js";

export interface ListAnswer {
  /** Records as they arrive from the database, some at a time. */
  readonly records: AsyncIterable<readonly Json[]>;
  /** Present when asked for. */
  readonly meta: JsonObject | undefined;
  /** When a file is asked for: its format, and the shape that the records have. */
  readonly file?: { readonly format: ExportFormat; readonly node: AuthorizedNode };
}

const known = new Remembered<AuthorizedQuery>();

/** Above this many, a list is streamed: nobody holds all records of one that has more. */
const STREAM_FROM = 1_000;

/** Who waits for an answer. */
interface Asker {
  /** Is aborted when nobody waits any more. */
  readonly stop?: Stop;
  /** Of an answer that lasts: looked at again while it is given. */
  readonly caller?: Pick<LastingCaller, "now">;
}

/** Answers a list request. Counts are known before the first record is handed over. */
export async function list(
  deps: RecordDeps,
  principal: Principal,
  tableName: string,
  given: Parameters,
  { stop, caller }: Asker = {},
): Promise<ListAnswer> {
  const format = parseFormat(given.format);
  const parameters = format === undefined ? given : parametersOfExport(format, given);
  const explained = parseExplain(parameters.explain);
  const rights = await deps.rights(principal);
  const query = await queryBy(deps, rights, principal, tableName, parameters);
  if (explained) return { records: only(await explainList(deps, query)), meta: undefined };
  const started = deps.clock.now().getTime();
  const effort = new Effort(deps.store.timeoutMs, stop);
  const plan = await planRead(deps, query, effort);
  deps.notePlan(planKind(plan));
  const [records, meta] = await Promise.all([
    runList(deps, plan, started, effort, (source) =>
      caller === undefined ? source : whileAllowed(deps, caller, { rights, root: query.root }, source),
    ),
    runMeta(deps, plan.query, effort),
  ]);
  if (format === undefined) return { records, meta };
  return { records, meta, file: { format, node: query.root } };
}

/** What a list reads, by the rights of its caller. @throws AppError 400, 401, 403, 404 */
export async function listQuery(
  deps: Pick<RecordDeps, "rights" | "catalogs" | "limits">,
  principal: Principal,
  tableName: string,
  parameters: Parameters,
): Promise<AuthorizedQuery> {
  return queryBy(deps, await deps.rights(principal), principal, tableName, parameters);
}

function queryBy(
  deps: Pick<RecordDeps, "catalogs" | "limits">,
  rights: Rights,
  principal: Principal,
  tableName: string,
  parameters: Parameters,
): Promise<AuthorizedQuery> {
  return deps.catalogs.decide((catalog) => {
    const table = readableTable({ rights, catalog }, tableName);
    // A plan tells of tables and rules that others may not know.
    if (parseExplain(parameters.explain)) requireRoot(principal, "explain is for root admins.");
    return queryIn(deps, { rights, catalog }, table, parameters);
  });
}

/** @throws AppError 401, 403, 404 */
export function readableTable({ rights, catalog }: Standing, name: string): Table {
  const table = findTable(catalog, name, rights);
  rights.require(catalog, table, "read");
  return table;
}

/** @returns what a list of a table reads that the caller may read @throws AppError 400 */
export function queryIn(
  { limits }: Pick<RecordDeps, "limits">,
  { rights, catalog }: Standing,
  table: Table,
  parameters: Parameters,
): AuthorizedQuery {
  const view = rights.view(catalog);
  const rows = askedRows(parameters.deleted, rights, catalog, table);
  // A file that root asks for holds what an import by root takes back: links to deleted records, too.
  const isFile = parseFormat(parameters.format) !== undefined;
  const linked = isFile && rights.isRoot && parameters.deleted !== undefined ? "all" : "living";
  const bind = () => authorizeRead(bindQuery(parameters, table, view, limits), view, rows(view), linked);
  // Deleted records are for those who may delete: that is more than the view says.
  if (parameters.deleted !== undefined) return bind();
  return known.of(view, [table.name, parameters, limits], bind);
}

/**
 * @param started when the list was asked for, in epoch milliseconds
 * @param lasting breaks off what lasts when it is not to be given any more
 */
async function runList(
  deps: RecordDeps,
  plan: Plan,
  started: number,
  effort: Effort,
  lasting: (source: AsyncIterable<readonly StoredRecord[]>) => AsyncIterable<readonly StoredRecord[]>,
): Promise<AsyncIterable<readonly Json[]>> {
  const { query, ranking } = plan;
  const { root } = query;
  const shape = shaper(root, deps.sealer.unseal);
  const seen = deps.seenQueries.open(plan, started);
  const whole = async (documents: readonly StoredRecord[], within?: Effort) => {
    const all = await withRelated(deps, root, documents, {
      rules: query.rules,
      note: (question) => seen.question(question),
      ...(within === undefined ? {} : { effort: within }),
    });
    seen.joined(all);
    return all;
  };
  const documents = mostRecords(root) > STREAM_FROM ? undefined : await readPage(deps, plan, effort);
  if (documents === undefined) {
    const run = await streamedRanking(deps, query, ranking, effort);
    const unfolded = (documents: readonly StoredRecord[]) => unfold(root, documents, shape);
    const done = (count: number): void => seen.done(() => pipelineOf(query, run), count);
    return shaped(lasting(streamOf(deps, query, run)), root, whole, unfolded, done);
  }
  const rows = await whole(documents, effort);
  seen.done(() => pipelineOf(query, ranking), documents.length);
  return unfold(root, rows, shape);
}

/** Parents of a page that are read at once, with all that is joined to them. */
const PARENTS_AT_ONCE = 10;

/** Documents of a page; undefined where they are too large to be held all at once. */
type Page = readonly StoredRecord[] | undefined;

/** The page, however it is ranked: what happens meanwhile may leave out some of the parents that were named for it. */
async function readPage(deps: RecordDeps, plan: Plan, effort: Effort): Promise<Page> {
  const { query, ranking } = plan;
  const isShort = (run: Ranking, page: Page) =>
    page !== undefined && namesParents(run) && page.length < query.root.limit;
  const first = await readRanked(deps, query, ranking, effort);
  if (!isShort(ranking, first)) return first;
  const next = await rankAfterAll(deps, plan, effort);
  const second = await readRanked(deps, query, next, effort);
  return isShort(next, second) ? readRanked(deps, query, { kind: "all" }, effort) : second;
}

async function readRanked(
  { store }: RecordDeps,
  query: AuthorizedQuery,
  ranking: Ranking,
  effort: Effort,
): Promise<Page> {
  const { root } = query;
  const read = (pipeline: Stage[]) =>
    effort.ask((limits) => store.readSmall(root.table, pipeline, root.limit, limits));
  if (ranking.kind !== "page") return read(pipelineOf(query, ranking));
  const { parents } = ranking;
  const fields = ownFields(root, { together: readsTogether(root) });
  const isFew = parents.length <= PARENTS_AT_ONCE;
  const readParents = (fields: Document) =>
    isFew ? effort.ask(() => store.byIds(root.table, parents, fields)) : read(idsPipeline(parents, fields));
  const found = await (fields === undefined ? read(pipelineOf(query, ranking)) : readParents(fields));
  if (found === undefined) return undefined;
  const byId = new Map(found.map((document) => [keyText(document._id), document]));
  return parents.map((id) => byId.get(keyText(id))).filter((document) => document !== undefined);
}

/** Some of them may be gone by the time that they are read. */
function namesParents({ kind }: Ranking): boolean {
  return kind === "among" || kind === "page";
}

/**
 * How to rank a list that is streamed. Whether parents that were named fill its page has to be known before the first of
 * them is on the way.
 */
async function streamedRanking(
  deps: RecordDeps,
  query: AuthorizedQuery,
  ranking: Ranking,
  effort: Effort,
): Promise<Ranking> {
  if (!namesParents(ranking)) return ranking;
  const page = (await readRanked(deps, onlyIds(query), ranking, effort)) ?? [];
  const isFull = page.length === query.root.limit;
  // Of ids that only the database can compare, only it can restore the order.
  if (!isFull || page.some(({ _id }) => keyText(_id) === undefined)) return { kind: "all" };
  return { kind: "page", parents: page.map(({ _id }) => asStored(_id)) };
}

function streamOf(
  deps: RecordDeps,
  query: AuthorizedQuery,
  ranking: Ranking,
): AsyncGenerator<readonly StoredRecord[]> {
  if (ranking.kind === "page") return inParts(deps, query, ranking);
  return deps.store.stream(query.root.table, pipelineOf(query, ranking));
}

/** The page, some parents at a time; fewer where these are too large to be held at once. @throws AppError 400 */
async function* inParts(
  deps: RecordDeps,
  query: AuthorizedQuery,
  page: PageOfParents,
): AsyncGenerator<readonly StoredRecord[]> {
  const readParents = async (parents: readonly Stored[]) => {
    const found = await readRanked(deps, query, { ...page, parents }, new Effort(deps.store.timeoutMs));
    if (found === undefined) throw new NoRoom();
    return found;
  };
  for (let at = 0; at < page.parents.length; at += PARENTS_AT_ONCE)
    yield* inRoom(page.parents.slice(at, at + PARENTS_AT_ONCE), readParents);
}

const pipelines = new WeakMap<AuthorizedQuery, Stage[]>();

/** A query that is asked again brings its pipeline along, unless that depends on what is in the database. */
function pipelineOf(query: AuthorizedQuery, ranking: Ranking): Stage[] {
  if (ranking.kind !== "none") return lowerList(query, ranking);
  return getOrMake(pipelines, query, () => lowerList(query));
}

async function* only(record: Json): AsyncGenerator<readonly Json[]> {
  yield [record];
}

/** Related records of a stream that are held at once, where so few are enough for several of its records. */
const RELATED_AT_ONCE = 20_000;

/**
 * @param whole completes some documents
 * @param unfolded makes records of them
 * @param tell is told how many there were, if they are read to the end
 */
async function* shaped(
  source: AsyncIterable<readonly StoredRecord[]>,
  root: AuthorizedNode,
  whole: (documents: readonly StoredRecord[]) => Promise<readonly StoredRecord[]>,
  unfolded: (documents: readonly StoredRecord[]) => AsyncIterable<readonly Json[]>,
  tell: (count: number) => void,
): AsyncGenerator<readonly Json[]> {
  // Most records show far fewer than they may: some are read at once all the same, and in parts where that has no room.
  const atOnce = Math.max(PARENTS_AT_ONCE, Math.floor(RELATED_AT_ONCE / mostRead(root)));
  let count = 0;
  for await (const documents of source) {
    count += documents.length;
    for (let at = 0; at < documents.length; at += atOnce)
      for await (const some of inRoom(documents.slice(at, at + atOnce), whole)) yield* unfolded(some);
  }
  tell(count);
}

/** How many related records one record of a list may show that are read apart from it. */
function mostRead({ children }: AuthorizedNode): number {
  return mostRecords({ limit: 1, children: children.filter(isTogether) });
}

async function runMeta(
  deps: RecordDeps,
  query: AuthorizedQuery,
  effort: Effort,
): Promise<JsonObject | undefined> {
  if (query.meta.length === 0 && query.aggregate.length === 0) return undefined;
  const counts = query.meta.map(
    async (key): Promise<[string, Json]> => [key, await countRows(deps, query, key, effort)],
  );
  const entries = await Promise.all([...counts, ...aggregates(deps, query, effort)]);
  return Object.fromEntries(entries);
}

function aggregates(
  { store }: RecordDeps,
  query: AuthorizedQuery,
  effort: Effort,
): Promise<[string, Json]>[] {
  if (query.aggregate.length === 0) return [];
  const run = async (): Promise<[string, Json]> => {
    const [group] = await effort.ask((limits) => store.read(query.root.table, lowerAggregate(query), limits));
    return ["aggregate", shapeAggregate(query.aggregate, group)];
  };
  return [run()];
}
