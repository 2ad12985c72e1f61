// Puts the related records that an answer shows, or their number, into the documents of a page: a query for each relation,
// not a join for each record (see query/plan/together).
import type { Json } from "@portico/shared/json";
import type { Table } from "../../catalog/catalog.js";
import { mixedIdText } from "../../catalog/mixed-id.js";
import { getOrMake } from "../../get-or-make.js";
import { RawDocuments } from "../../mongo/raw-documents.js";
import type { ReadLimits } from "../../mongo/read-limits.js";
import type { RecordStore } from "../../mongo/record-store.js";
import { piecesOf } from "../../pieces.js";
import { childRead, type TableRead } from "../../query/advice/shape.js";
import { asStored } from "../../query/as-read.js";
import type { AuthorizedChild, AuthorizedNode, RowRules } from "../../query/ast.js";
import type { Stage, StoredRecord } from "../../query/lower/document.js";
import { asksTogether, isTogether } from "../../query/lower/joined-or-together.js";
import { shownIn, shownWhere } from "../../query/lower/masks.js";
import {
  childField,
  countField,
  lowerApart,
  lowerTogether,
  ownFields,
  type Together,
} from "../../query/lower/read.js";
import { type HandedOut, handOut, togetherQuestion } from "../../query/plan/together.js";
import { heldSizes } from "../../query/unfolded.js";
import { tookTooLong } from "../../store-refusals.js";
import { countRelated } from "./count-related.js";
import { Effort, whileWanted } from "./effort.js";
import type { Question } from "./plan-read.js";
import { NoRoom, Room } from "./room.js";

type Documents = readonly StoredRecord[];

/** For how many records the related ones are read together; with more, there would be too many children at once. */
const AT_ONCE = 100;

export interface RelatedDeps {
  readonly store: Pick<RecordStore, "read" | "readRaw" | "smallByIds" | "stream" | "timeoutMs">;
}

/** What a page is read with. */
export interface RelatedContext {
  readonly rules: RowRules;
  /** Told of what was asked. */
  readonly note?: (question: Question) => void;
  /** For all that is read; without it, as much as any answer may hold. */
  readonly room?: Room;
  /** What the page itself was read with; without it, its related records have as long as a query of their own. */
  readonly effort?: Effort;
}

interface Reading extends RelatedContext {
  readonly effort: Effort;
  readonly room: Room;
}

/** @returns the documents of a page with their related records, where these were not joined: see lower/joined-or-together */
export async function withRelated(
  deps: RelatedDeps,
  node: AuthorizedNode,
  documents: Documents,
  context: RelatedContext,
): Promise<Documents> {
  if (!asksTogether(node)) return documents;
  const effort = context.effort ?? new Effort(deps.store.timeoutMs);
  const room = context.room ?? new Room(documents.length);
  return withEach(deps, node, documents, { ...context, effort, room });
}

async function withEach(
  deps: RelatedDeps,
  node: AuthorizedNode,
  documents: Documents,
  context: Reading,
): Promise<Documents> {
  const children = node.children.filter(isTogether);
  const counts = node.counts.filter(({ kind }) => kind === "counted");
  if (children.length + counts.length === 0) return documents;
  const parts: Documents[] = [];
  for (const some of piecesOf(documents, AT_ONCE)) {
    const found = await Promise.all([
      ...children.map(async (child) => ({
        field: childField(child),
        values: await relatedWhereShown(deps, node, child, some, context),
      })),
      ...counts.map(async (count) => ({
        field: countField(count),
        values: await countRelated(deps, node.table, count, some, context),
      })),
    ]);
    parts.push(
      some.map((document, nth) => ({
        ...document,
        ...Object.fromEntries(found.map(({ field, values }) => [field, values[nth]])),
      })),
    );
  }
  return parts.flat();
}

/** The related records of each document, in the order of the documents; none where it does not show them. */
async function relatedWhereShown(
  deps: RelatedDeps,
  node: AuthorizedNode,
  child: AuthorizedChild,
  documents: Documents,
  context: Reading,
): Promise<readonly Documents[]> {
  if (shownWhere(node, child.relation.name) === undefined)
    return relatedOf(deps, node, child, documents, context);
  const shownOf = shownIn(node.masks);
  const showing = documents.filter((document) => shownOf(document)(child.relation.name));
  const lists = await relatedOf(deps, node, child, showing, context);
  const listBy = new Map(showing.map((document, at) => [document, lists[at]]));
  return documents.map((document) => listBy.get(document) ?? []);
}

/** The related records of each document, in the order of the documents. */
async function relatedOf(
  deps: RelatedDeps,
  { table }: AuthorizedNode,
  child: AuthorizedChild,
  documents: Documents,
  context: Reading,
): Promise<readonly Documents[]> {
  const question = togetherQuestion(child, documents);
  const lists =
    question === undefined
      ? documents.map(() => undefined)
      : await listsOf(deps, child, documents, question, context);
  const shown = [...new Set(lists.flatMap((list) => list ?? []))];
  const complete = await withEach(deps, child.node, shown, context);
  const completeOf = new Map(shown.map((document, at) => [document, complete[at] ?? document]));
  const alone = documents.filter((_, at) => lists[at] === undefined);
  const joined = await joinedTo(deps, table, child, alone, context);
  return lists.map(
    (list, at) =>
      list?.map((document) => completeOf.get(document) ?? document) ?? joined.get(idOf(documents[at])) ?? [],
  );
}

/** A question for related records. */
interface RelatedQuestion {
  readonly table: Table;
  readonly pipeline: Stage[];
  /** Reads it when there is little of it. @returns undefined when there is too much to be read at once */
  readonly small: (limits: ReadLimits) => Promise<Documents | RawDocuments | undefined>;
  /** The related records in some of what was read. */
  readonly relatedIn: (documents: Documents) => Documents;
}

/**
 * Reads what there is room for: large documents a batch at a time, so that no more of them is ever held.
 * @returns undefined when all of it would be too much
 */
async function readInRoom(
  { store }: RelatedDeps,
  { node }: AuthorizedChild,
  { table, pipeline, small, relatedIn }: RelatedQuestion,
  { room, effort }: Reading,
): Promise<Documents | undefined> {
  let [bytes, records] = [0, 0];
  const hold = (some: Documents): void => {
    for (const size of heldSizes(node, relatedIn(some))) {
      bytes += size;
      records += 1;
      room.take(size);
    }
  };
  return effort.ask(async (limits) => {
    const until = performance.now() + limits.maxTimeMS;
    try {
      const few = await small(limits);
      if (few !== undefined && !(few instanceof RawDocuments)) {
        hold(few);
        return few;
      }
      const all: StoredRecord[] = [];
      for await (const some of few?.some() ?? store.stream(table, pipeline, limits.signal)) {
        if (few === undefined && performance.now() > until) throw tookTooLong();
        hold(some);
        all.push(...some);
      }
      return all;
    } catch (error) {
      if (!(error instanceof NoRoom)) throw error;
      room.giveBack(bytes, records);
      return undefined;
    }
  });
}

/**
 * The records of those whose own are not known from the query for all, by the parent's id as text.
 * @throws NoRoom when they are too much to be held
 */
async function joinedTo(
  deps: RelatedDeps,
  table: Table,
  child: AuthorizedChild,
  parents: Documents,
  context: Reading,
): Promise<ReadonlyMap<Json, Documents>> {
  if (parents.length === 0) return new Map();
  const { rules, note } = context;
  const ids = parents.map(({ _id }) => asStored(_id));
  const pipeline = lowerApart(child, ids, rules);
  const as = childField(child);
  const listsIn = (some: Documents): Documents[] => some.map((document) => listOf(document[as]));
  const small = (limits: ReadLimits) => deps.store.readRaw(table, pipeline, parents.length, limits);
  const question = { table, pipeline, small, relatedIn: (some: Documents) => listsIn(some).flat() };
  const documents = await readInRoom(deps, child, question, context);
  if (documents === undefined) throw new NoRoom();
  const lists = listsIn(documents);
  note?.({ table, pipeline, answers: lists.flat().length, read: advisedRead(child), as });
  return new Map(documents.map((document, at) => [idOf(document), lists[at] ?? []]));
}

function idOf(document: StoredRecord | undefined): Json {
  return mixedIdText(document?._id);
}

function listOf(value: unknown): Documents {
  return Array.isArray(value) ? value : [];
}

/** By the relation that is shown: a query that is sent again has the same one. */
const reads = new WeakMap<AuthorizedChild, TableRead>();

function advisedRead(child: AuthorizedChild): TableRead {
  return getOrMake(reads, child, () => childRead(child));
}

/** Asks for the records of a relation under all parents, and hands them out; more of them may be asked for than are shown. */
async function listsOf(
  deps: RelatedDeps,
  child: AuthorizedChild,
  parents: Documents,
  question: Together,
  context: Reading,
): Promise<HandedOut> {
  const { relation, node } = child;
  const { table } = node;
  const { rules, note } = context;
  if (question.keys.length === 0) return handOut(child, parents, [], undefined);
  const pipeline = lowerTogether(child, question, rules);
  const isById = relation.link.on === "self" && !relation.many;
  const fields = isById ? ownFields(node, { together: true }) : undefined;
  // When they are asked for by nothing but ids, requests that come at once share the query.
  const small = (limits: ReadLimits) =>
    fields === undefined
      ? deps.store.readRaw(table, pipeline, question.most ?? question.keys.length, limits)
      : whileWanted(limits, deps.store.smallByIds(table, question.keys, fields));
  const found = await readInRoom(deps, child, { table, pipeline, small, relatedIn: (some) => some }, context);
  if (found === undefined) return parents.map(() => undefined);
  const lists = handOut(child, parents, found, question.most);
  const needs = lists.reduce((sum, list) => sum + (list === undefined ? 0 : node.skip + list.length), 0);
  note?.({ table, pipeline, answers: found.length, needs, read: advisedRead(child) });
  return lists;
}
