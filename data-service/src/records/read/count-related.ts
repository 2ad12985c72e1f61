// Counts the related records of a page: one query for a relation under all records, not a join for each of them (see
// query/plan/together).
import type { Table } from "../../catalog/catalog.js";
import { mixedIdText } from "../../catalog/mixed-id.js";
import { getOrMake } from "../../get-or-make.js";
import type { RecordStore } from "../../mongo/record-store.js";
import { countRead, type TableRead } from "../../query/advice/shape.js";
import { asStored } from "../../query/as-read.js";
import type { CountNode, RowRules } from "../../query/ast.js";
import type { Stage, StoredRecord } from "../../query/lower/document.js";
import { countField, GROUP_SIZE, lowerCounts, lowerCountsApart } from "../../query/lower/read.js";
import { askedKeys, handOutCounts } from "../../query/plan/together.js";
import type { Effort } from "./effort.js";
import type { Question } from "./plan-read.js";

type Documents = readonly StoredRecord[];

interface CountDeps {
  readonly store: Pick<RecordStore, "read">;
}

interface CountContext {
  readonly rules: RowRules;
  /** Told of what was asked. */
  readonly note?: (question: Question) => void;
  readonly effort: Effort;
}

/** The number of related records of each document, in the order of the documents. @param table that of the documents */
export async function countRelated(
  deps: CountDeps,
  table: Table,
  count: CountNode,
  documents: Documents,
  context: CountContext,
): Promise<readonly unknown[]> {
  const known = await countTogether(deps, count, documents, context);
  const alone = documents.filter((_, at) => known[at] === undefined);
  const joined = await countApart(deps, table, count, alone, context);
  return documents.map(({ _id }, at) => known[at] ?? joined.get(mixedIdText(_id)));
}

/** Undefined for those whose number only the database can tell. */
async function countTogether(
  { store }: CountDeps,
  count: CountNode,
  documents: Documents,
  { rules, note, effort }: CountContext,
): Promise<readonly (number | undefined)[]> {
  const { step } = count;
  const keys = askedKeys(step, documents);
  if (keys === undefined) return documents.map(() => undefined);
  if (keys.length === 0) return handOutCounts(step, documents, []);
  const pipeline = lowerCounts(step, keys, rules);
  const groups = await effort.ask((limits) => store.read(step.target, pipeline, limits));
  note?.({ table: step.target, ...askedFor(count, rules, pipeline, groups, GROUP_SIZE) });
  return handOutCounts(step, documents, groups);
}

/** By the id as text. */
async function countApart(
  { store }: CountDeps,
  table: Table,
  count: CountNode,
  documents: Documents,
  { rules, note, effort }: CountContext,
): Promise<ReadonlyMap<unknown, unknown>> {
  if (documents.length === 0) return new Map();
  const ids = documents.map(({ _id }) => asStored(_id));
  const pipeline = lowerCountsApart(count, ids, rules);
  const counted = await effort.ask((limits) => store.read(table, pipeline, limits));
  const field = countField(count);
  note?.({ table, as: field, ...askedFor(count, rules, pipeline, counted, field) });
  return new Map(counted.map((document) => [mixedIdText(document._id), document[field]]));
}

/** By the count that is shown: a query that is sent again has the same one. */
const reads = new WeakMap<CountNode, TableRead>();

function askedFor(
  count: CountNode,
  rules: RowRules,
  pipeline: Stage[],
  answers: Documents,
  sizeField: string,
): Omit<Question, "table"> {
  const { step } = count;
  return {
    pipeline,
    answers: answers.length,
    needs: answers.reduce((sum, each) => sum + Number(each[sizeField]), 0),
    read: getOrMake(reads, count, () => countRead(step, rules(step.target))),
  };
}
