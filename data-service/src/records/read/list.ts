// GET /{table}: parse → bind → authorize → plan → lower → run → shape.
import type { Json, JsonObject } from "@portico/shared/json";
import type { Share } from "../../caller-shares.js";
import { BYTES_AT_ONCE, RawDocuments, SMALL } from "../../mongo/raw-documents.js";
import { only } from "../../pieces.js";
import type { AuthorizedNode } from "../../query/ast.js";
import type { StoredRecord } from "../../query/lower/document.js";
import { asksTogether, mostRecords } from "../../query/lower/joined-or-together.js";
import type { Ranking } from "../../query/lower/read.js";
import { shaper } from "../../query/shape.js";
import type { ExportFormat } from "../../query/syntax/format.js";
import { heldSizes } from "../../query/unfolded.js";
import { Stint } from "../../stint.js";
import { Stop } from "../../stop.js";
import { isTookTooLong } from "../../store-refusals.js";
import type { RecordDeps } from "../record-deps.js";
import type { TableRequest } from "../request.js";
import { decidingActions } from "./asked-rows.js";
import { Effort } from "./effort.js";
import { explainList } from "./explain.js";
import { runMeta } from "./list-meta.js";
import { loadListQuery, parseList } from "./list-query.js";
import { planKind } from "./plan-kind.js";
import { type Plan, planRead, type Question } from "./plan-read.js";
import { pipelineOf, readPage } from "./read-page.js";
import { type RelatedContext, withRelated } from "./related.js";
import { NoRoom } from "./room.js";
import { type Streaming, shaped, streamedRanking, streamOf } from "./stream-page.js";
import { unfold } from "./unfold.js";
import { whileAllowed } from "./while-allowed.js";

export interface ListAnswer {
  /** Records as they arrive from the database, some at a time. */
  readonly records: AsyncIterable<readonly Json[]>;
  /** Of a page, which is held until all of it is handed over: its size. */
  readonly bytesHeld?: () => number;
  /** Present when asked for. */
  readonly meta: JsonObject | undefined;
  /** When a file is asked for: its format, and the shape that the records have. */
  readonly file?: { readonly format: ExportFormat; readonly node: AuthorizedNode };
}

/** A list of more than this is streamed: its records are never held all at once. */
const STREAM_FROM = 1_000;

/** What is held of a page at most, whatever it comes out as: a message of the database, and the related records. */
const MOST_HELD = 48 * 1024 * 1024;

/**
 * Answers a list request. Counts are known before the first record is handed over.
 * @param request its caller, where there is one, is checked again while an answer that takes long is given
 * @param stop is aborted when nobody waits any more
 */
export async function list(deps: RecordDeps, request: TableRequest, stop = new Stop()): Promise<ListAnswer> {
  const { principal, caller, table } = request;
  const { parameters, format, explained } = parseList(request.parameters);
  const { query, rights } = await loadListQuery(deps, principal, table, parameters);
  const newShare = (): Share => deps.shares.of(principal);
  const effort = new Effort(deps.store.timeoutMs, stop, newShare());
  if (explained) return { records: only([await explainList(deps, query, effort)]), meta: undefined };
  const started = deps.clock.now().getTime();
  const plan = await planRead(deps, query, effort).catch(noteLate(deps, query.root));
  deps.notePlan(planKind(plan));
  const [{ isRead, ...listed }, meta] = await Promise.all([
    runList(deps, plan, started, { effort, stop, newShare }),
    runMeta(deps, plan.query, effort),
  ]);
  const began = { rights, actions: decidingActions(parameters.deleted), shown: query };
  const lasting = caller === undefined ? listed.records : whileAllowed(deps, caller, began, listed.records);
  // A page may be all read by now, but a file of it must not look complete to who may not read it any more.
  const records = format === undefined && isRead ? listed.records : lasting;
  const answer = { ...listed, records, meta };
  return format === undefined ? answer : { ...answer, file: { format, node: query.root } };
}

interface Listed extends Pick<ListAnswer, "records" | "bytesHeld"> {
  /** Is all read that it shows? Else the rest is read while it is answered. */
  readonly isRead: boolean;
}

/**
 * @param started when the list was asked for, in epoch milliseconds
 */
async function runList(
  deps: RecordDeps,
  plan: Plan,
  started: number,
  { effort, ...streaming }: Streaming & { readonly effort: Effort },
): Promise<Listed> {
  const { query, rules } = plan;
  const { root } = query;
  const shape = shaper(root, deps.sealer.unseal);
  const seen = deps.seenQueries.open(plan, started);
  const note = (question: Question): void => seen.question(question);
  const complete = async (
    documents: readonly StoredRecord[],
    within: Pick<RelatedContext, "effort" | "room">,
  ) => {
    const all = await withRelated(deps, root, documents, { rules, note, ...within });
    seen.joined(all);
    return all;
  };
  const late = noteLate(deps, root);
  const page = mostRecords(root) > STREAM_FROM ? undefined : await readPage(deps, plan, effort).catch(late);
  const isSmall = page !== undefined && !(page instanceof RawDocuments);
  const rows = isSmall ? await complete(page, { effort }).catch(unlessNoRoom) : undefined;
  if (rows !== undefined) {
    seen.done(() => pipelineOf(query, plan.ranking), rows.length);
    return { records: unfold(root, rows, shape), bytesHeld: heldBytes(root, rows), isRead: true };
  }
  const { stop, newShare } = streaming;
  const inPieces = (source: AsyncIterable<readonly StoredRecord[]>, ranking: Ranking, stint?: Stint) =>
    shaped(source, root, {
      complete: (some, room) =>
        complete(some, { room, effort: new Effort(deps.store.timeoutMs, stop, newShare()) }),
      unfold: (some) => unfold(root, some, shape, stint),
      done: (count) => seen.done(() => pipelineOf(query, ranking), count),
    });
  if (page !== undefined) {
    const stint = new Stint();
    // One large record at a time, or as many as their related ones are read for.
    const source = isSmall ? only(page) : page.some(stint, asksTogether(root) ? BYTES_AT_ONCE : SMALL);
    const bytesHeld = isSmall ? heldBytes(root, page) : () => page.bytes;
    return { records: inPieces(inTurn(stint, source), plan.ranking, stint), bytesHeld, isRead: false };
  }
  const ranking = await streamedRanking(deps, query, plan.ranking, effort).catch(late);
  const source = endingWith(late, streamOf(deps, query, ranking, streaming));
  return { records: inPieces(source, ranking), isRead: false };
}

/** What has no room all at once may have it some at a time. */
function unlessNoRoom(error: unknown): undefined {
  if (!(error instanceof NoRoom)) throw error;
}

/** Notes for advice that the records themselves took longer than a query may: those related to them say nothing of their table. */
function noteLate({ seenQueries }: RecordDeps, root: AuthorizedNode): (error: unknown) => never {
  return (error) => {
    if (isTookTooLong(error)) seenQueries.timedOut(root);
    throw error;
  };
}

async function* endingWith<Some>(
  failed: (error: unknown) => never,
  source: AsyncIterable<Some>,
): AsyncGenerator<Some> {
  try {
    yield* source;
  } catch (error) {
    failed(error);
  }
}

/** Looked at once: a client that is slow is asked about at each piece that it takes, and looking through large values takes time. */
function heldBytes(root: AuthorizedNode, rows: readonly StoredRecord[]): () => number {
  const total = () => heldSizes(root, rows).reduce((sum, each) => sum + each, 0);
  let held: number | undefined;
  return () => {
    held ??= Math.min(total(), MOST_HELD);
    return held;
  };
}

/** Begins when it is its turn: what waits for that holds nothing decoded, and the head of its answer need not wait as long. */
async function* inTurn<Some>(stint: Stint, source: AsyncIterable<Some>): AsyncGenerator<Some> {
  await stint.end();
  yield* source;
}
