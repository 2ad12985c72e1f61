// Reads and shapes a list that is never held as a whole: some of its records at a time.
import type { Json } from "@portico/shared/json";
import type { Share } from "../../caller-shares.js";
import type { Table } from "../../catalog/catalog.js";
import type { Stored } from "../../catalog/stored.js";
import { only, piecesOf } from "../../pieces.js";
import { asStored } from "../../query/as-read.js";
import type { AuthorizedNode, AuthorizedQuery, SortKey } from "../../query/ast.js";
import { onlyIds } from "../../query/authorize-read.js";
import type { StoredRecord } from "../../query/lower/document.js";
import { isTogether, mostRecords } from "../../query/lower/joined-or-together.js";
import type { PageOfParents, Ranking } from "../../query/lower/read.js";
import { keyText } from "../../query/plan/key-text.js";
import type { Stop } from "../../stop.js";
import type { RecordDeps } from "../record-deps.js";
import { Effort } from "./effort.js";
import { Pace } from "./pace.js";
import { namesParents, PARENTS_AT_ONCE, pipelineOf, readRanked } from "./read-page.js";
import { inRoom, NoRoom, type Room } from "./room.js";

/**
 * How to rank a list that is streamed. Whether the parents that were named fill its page must be known before the first of
 * them is sent.
 */
export async function streamedRanking(
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

/** How a stream is read. */
export interface Streaming {
  /** Ends it. */
  readonly stop: Stop;
  /**
   * Of its caller, for each part anew: as parts of one request, of which nobody knows how many will come, all but the first would
   * come before whatever else the caller asks.
   */
  readonly newShare: () => Share;
}

export function streamOf(
  deps: RecordDeps,
  query: AuthorizedQuery,
  ranking: Ranking,
  streaming: Streaming,
): AsyncGenerator<readonly StoredRecord[]> {
  if (ranking.kind === "page") return inParts(deps, query, ranking, streaming);
  const { root } = query;
  const { stop, newShare } = streaming;
  const found = deps.store.stream(root.table, pipelineOf(query, ranking), stop, newShare());
  return root.sort[0] !== undefined && isId(root.sort[0], root.table) ? eachOnce(found) : found;
}

function isId(key: SortKey, { idColumn }: Table): boolean {
  return key.kind === "column" && key.path.length === 0 && key.column === idColumn;
}

/**
 * Documents in the order of their ids, without repetitions: where others move one within the index by which the database finds
 * them, it comes twice.
 */
async function* eachOnce(
  source: AsyncIterable<readonly StoredRecord[]>,
): AsyncGenerator<readonly StoredRecord[]> {
  let last: string | undefined;
  for await (const documents of source)
    yield documents.filter(({ _id }) => {
      const before = last;
      last = keyText(_id);
      return last === undefined || last !== before;
    });
}

/** The page, some parents at a time; fewer where these are too large to be held at once. @throws AppError 400 */
async function* inParts(
  deps: RecordDeps,
  query: AuthorizedQuery,
  page: PageOfParents,
  { stop, newShare }: Streaming,
): AsyncGenerator<readonly StoredRecord[]> {
  const readParents = async (parents: readonly Stored[]) => {
    const effort = new Effort(deps.store.timeoutMs, stop, newShare());
    const found = await readRanked(deps, query, { ...page, parents }, effort);
    if (found === undefined) throw new NoRoom();
    return found;
  };
  for (const some of piecesOf(page.parents, PARENTS_AT_ONCE)) yield* inRoom(some, readParents, only);
}

/** What becomes of the documents of a stream. */
interface Steps {
  /** Adds the related records that there is room for to some documents. */
  readonly complete: (documents: readonly StoredRecord[], room: Room) => Promise<readonly StoredRecord[]>;
  /** Makes records of them. */
  readonly unfold: (documents: readonly StoredRecord[]) => AsyncIterable<readonly Json[]>;
  /** Is told how many there were, if they are read to the end. */
  readonly done: (count: number) => void;
}

/** Shapes the documents of a stream, as many at a time as there is room for with their related records. */
export async function* shaped(
  source: AsyncIterable<readonly StoredRecord[]>,
  root: AuthorizedNode,
  { complete, unfold, done }: Steps,
): AsyncGenerator<readonly Json[]> {
  const pace = new Pace(mostRead(root));
  const completeInRoom = async (some: readonly StoredRecord[]) => {
    const room = pace.roomFor(some.length);
    const all = await complete(some, room);
    pace.learn(some.length, room);
    return all;
  };
  let count = 0;
  for await (const documents of source) {
    count += documents.length;
    for (let at = 0, size = pace.next; at < documents.length; at += size, size = pace.next)
      yield* inRoom(documents.slice(at, at + size), completeInRoom, unfold);
  }
  done(count);
}

/** How many related records one record of a list may show that are read apart from it. */
function mostRead({ children }: AuthorizedNode): number {
  return mostRecords({ limit: 1, children: children.filter(isTogether) });
}
