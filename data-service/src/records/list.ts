// GET /{table}: parse → bind → authorize → plan → lower → run → shape.

import type { Stored } from "../catalog/column-types.js";
import { getOrMake } from "../get-or-make.js";
import type { Json, JsonObject } from "../json.js";
import { type Principal, requireRoot } from "../principal.js";
import type { AuthorizedNode, AuthorizedQuery } from "../query/ast.js";
import { authorizeRead } from "../query/authorize-read.js";
import { bindQuery } from "../query/bind-query.js";
import { lowerAggregate, shapeAggregate } from "../query/lower/aggregate.js";
import type { Stage } from "../query/lower/document.js";
import {
  lowerList,
  mostRecords,
  NO_RANKING,
  ownFields,
  type Ranking,
  readsTogether,
} from "../query/lower/read.js";
import type { Parameters } from "../query/parameters.js";
import { keyText } from "../query/plan/key-text.js";
import { type StoredRecord, shaper } from "../query/shape.js";
import { type ExportFormat, parametersOfExport, parseFormat } from "../query/syntax/format.js";
import { parseExplain } from "../query/syntax/paging.js";
import { askedRows } from "./asked-rows.js";
import { countRows } from "./count.js";
import type { RecordDeps } from "./deps.js";
import { explainList } from "./explain.js";
import { findTable } from "./find-table.js";
import { planKind } from "./plan-kind.js";
import { type Plan, planRead, type Question, rankAfterAll } from "./plan-read.js";
import { withRelated } from "./related.js";
import { Remembered } from "./remembered.js";
import { addJoined } from "./seen-queries.js";

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

/** Answers a list request. Counts are known before the first record is handed over. */
export async function list(
  deps: RecordDeps,
  principal: Principal,
  tableName: string,
  given: Parameters,
): Promise<ListAnswer> {
  const format = parseFormat(given.format);
  const parameters = format === undefined ? given : parametersOfExport(format, given);
  const explained = parseExplain(parameters.explain);
  const query = await listQuery(deps, principal, tableName, parameters);
  if (explained)
    return { records: inParts([await explainList(deps, query)], (plan) => plan), meta: undefined };
  const started = deps.clock.now().getTime();
  const plan = await planRead(deps, query);
  deps.notePlan(planKind(plan));
  const [records, meta] = await Promise.all([runList(deps, plan, started), runMeta(deps, plan.query)]);
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
  const explained = parseExplain(parameters.explain);
  const rights = await deps.rights(principal);
  return deps.catalogs.decide((catalog) => {
    const table = findTable(catalog, tableName);
    rights.require(catalog, table, "read");
    // A plan tells of tables and rules that others may not know.
    if (explained) requireRoot(principal, "explain is for root admins.");
    const view = rights.view(catalog);
    const rows = askedRows(parameters.deleted, rights, catalog, table);
    const bind = () => authorizeRead(bindQuery(parameters, table, view, deps.limits), view, rows(view));
    // Deleted records are for those who may delete: that is more than the view says.
    if (parameters.deleted !== undefined) return bind();
    return known.of(view, [table.name, parameters, deps.limits], bind);
  });
}

/** @param started when the list was asked for, in epoch milliseconds */
async function runList(
  deps: RecordDeps,
  plan: Plan,
  started: number,
): Promise<AsyncIterable<readonly Json[]>> {
  const { query, ranking } = plan;
  const { root } = query;
  const shape = shaper(root, deps.sealer.unseal);
  const related: Question[] = [];
  const joined = new Map<string, number>();
  const note = (returned: number, run: Ranking): void => {
    const milliseconds = deps.clock.now().getTime() - started;
    const pipeline = pipelineOf(query, run);
    deps.seenQueries.note({ plan, pipeline, returned, joined, related, milliseconds });
  };
  const whole = async (documents: readonly StoredRecord[], until?: number) => {
    const all = await withRelated(deps, root, documents, {
      rules: query.rules,
      // Of a relation that was asked for in parts, one part says enough.
      note: (question) => void (related.some((each) => isSame(each, question)) || related.push(question)),
      ...(until === undefined ? {} : { until }),
    });
    addJoined(joined, root, all);
    return all;
  };
  if (mostRecords(root) > STREAM_FROM) {
    const run = await streamedRanking(deps, query, ranking);
    return shaped(streamOf(deps, query, run), whole, shape, (count) => note(count, run));
  }
  const until = performance.now() + deps.store.timeoutMs;
  const documents = await readPage(deps, query, ranking);
  const short = ranking.parents !== undefined && documents.length < root.limit;
  const rows = await whole(short ? await readAfterAll(deps, plan) : documents, until);
  note(documents.length, ranking);
  return inParts(rows, shape);
}

function isSame(one: Question, other: Question): boolean {
  return one.read === other.read && one.as === other.as;
}

async function readPage(
  { store }: RecordDeps,
  query: AuthorizedQuery,
  ranking: Ranking,
): Promise<readonly StoredRecord[]> {
  const { root } = query;
  const { parents, isPage } = ranking;
  if (parents === undefined || !isPage) return store.read(root.table, pipelineOf(query, ranking));
  const fields = ownFields(root, { together: readsTogether(root) });
  const found =
    fields === undefined
      ? await store.read(root.table, pipelineOf(query, ranking))
      : await store.byIds(root.table, parents, fields);
  const byId = new Map(found.map((document) => [keyText(document._id), document]));
  return parents.map((id) => byId.get(keyText(id))).filter((document) => document !== undefined);
}

/** The list, where the parents that were named did not fill the page; what happens meanwhile may leave out more of them. */
async function readAfterAll(deps: RecordDeps, plan: Plan): Promise<readonly StoredRecord[]> {
  const { query } = plan;
  const ranking = await rankAfterAll(deps, plan);
  const rows = await readPage(deps, query, ranking);
  const isFull = ranking.parents === undefined || rows.length === query.root.limit;
  return isFull ? rows : readPage(deps, query, { ranked: true });
}

/**
 * How to rank a list that is streamed. Whether parents that were named fill its page has to be known before the first of
 * them is on the way.
 */
async function streamedRanking(deps: RecordDeps, query: AuthorizedQuery, ranking: Ranking): Promise<Ranking> {
  if (ranking.parents === undefined) return ranking;
  const ids = { ...query, root: { ...query.root, columns: [], children: [], masks: [] } };
  const page = await readPage(deps, ids, ranking);
  const isFull = page.length === query.root.limit;
  // Of ids that only the database can compare, only it can restore the order.
  if (!isFull || page.some(({ _id }) => keyText(_id) === undefined)) return { ranked: true };
  // Ids come from the same database and go back into it.
  return { ranked: true, parents: page.map(({ _id }) => _id as Stored), isPage: true };
}

/** Parents of a page that are read at once, with all that is joined to them. */
const PARENTS_AT_ONCE = 10;

async function* streamOf(
  deps: RecordDeps,
  query: AuthorizedQuery,
  ranking: Ranking,
): AsyncGenerator<readonly StoredRecord[]> {
  const { parents } = ranking;
  if (parents === undefined) return yield* deps.store.stream(query.root.table, pipelineOf(query, ranking));
  for (let at = 0; at < parents.length; at += PARENTS_AT_ONCE) {
    yield await readPage(deps, query, { ...ranking, parents: parents.slice(at, at + PARENTS_AT_ONCE) });
  }
}

const pipelines = new WeakMap<AuthorizedQuery, Stage[]>();

/** A query that is asked again brings its pipeline along, unless that depends on what is in the database. */
function pipelineOf(query: AuthorizedQuery, ranking: Ranking): Stage[] {
  if (ranking !== NO_RANKING) return lowerList(query, ranking);
  return getOrMake(pipelines, query, () => lowerList(query));
}

/** Records that are made at once; the next ones when these are on their way. */
const AT_ONCE = 50;

async function* inParts<Each>(
  rows: readonly Each[],
  shape: (row: Each) => Json,
): AsyncGenerator<readonly Json[]> {
  for (let at = 0; at < rows.length; at += AT_ONCE) yield rows.slice(at, at + AT_ONCE).map(shape);
}

/**
 * @param whole completes some documents
 * @param tell is told how many there were, if they are read to the end
 */
async function* shaped(
  source: AsyncIterable<readonly StoredRecord[]>,
  whole: (documents: readonly StoredRecord[]) => Promise<readonly StoredRecord[]>,
  shape: (document: StoredRecord) => Json,
  tell: (count: number) => void,
): AsyncGenerator<readonly Json[]> {
  let count = 0;
  for await (const documents of source) {
    count += documents.length;
    yield (await whole(documents)).map(shape);
  }
  tell(count);
}

async function runMeta(deps: RecordDeps, query: AuthorizedQuery): Promise<JsonObject | undefined> {
  if (query.meta.length === 0 && query.aggregate.length === 0) return undefined;
  const counts = query.meta.map(
    async (key): Promise<[string, Json]> => [key, await countRows(deps, query, key)],
  );
  const entries = await Promise.all([...counts, ...aggregates(deps, query)]);
  return Object.fromEntries(entries);
}

function aggregates(deps: RecordDeps, query: AuthorizedQuery): Promise<[string, Json]>[] {
  if (query.aggregate.length === 0) return [];
  const run = async (): Promise<[string, Json]> => {
    const [group] = await deps.store.read(query.root.table, lowerAggregate(query));
    return ["aggregate", shapeAggregate(query.aggregate, group)];
  };
  return [run()];
}
