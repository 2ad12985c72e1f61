// GET /{table}?explain=true, for root admins: the plan of a query and what running it read.

import type { Json } from "@portico/shared/json";
import { EJSON } from "bson";
import { type ExecutionReport, NOTHING_READ } from "../mongo/execution-report.js";
import type { RecordStore } from "../mongo/record-store.js";
import type { AuthorizedQuery, MetaKey } from "../query/ast.js";
import { countsAll, countsLiving, lowerCount } from "../query/lower/count.js";
import type { Stage } from "../query/lower/document.js";
import { isTogether, lowerList, readsTogether } from "../query/lower/read.js";
import { deletedCount } from "./count.js";
import { Effort } from "./effort.js";
import type { PlanDeps, Question } from "./plan-read.js";
import { planRead } from "./plan-read.js";
import { withRelated } from "./related.js";

/** Records whose relations are looked at. */
const MOST_EXPLAINED = 100;

interface ExplainDeps extends PlanDeps {
  readonly store: Pick<RecordStore, "read" | "byIds" | "timeoutMs" | "explain" | "knowsCount">;
}

/** Plans and runs a list query, and answers how instead of what. */
export async function explainList(deps: ExplainDeps, query: AuthorizedQuery): Promise<Json> {
  const {
    query: planned,
    ranking,
    questions,
  } = await planRead(deps, query, new Effort(deps.store.timeoutMs));
  const pipeline = lowerList(planned, ranking);
  const related = await relatedQuestions(deps, planned, pipeline);
  const asked = await Promise.all([...questions, ...related].map((each) => explainQuestion(deps, each)));
  const counts = await Promise.all(query.meta.map((key) => explainCount(deps, planned, key)));
  const own = await deps.store.explain(planned.root.table, pipeline);
  return {
    table: planned.root.table.name,
    ranked: ranking.kind !== "none",
    questions: asked,
    counts,
    pipeline: asJson(pipeline),
    ...counted(own),
  };
}

/** What is asked for the related records of the page, which only the page itself can tell; of a long list, for its first. */
async function relatedQuestions(
  { store }: ExplainDeps,
  { root, rules }: AuthorizedQuery,
  pipeline: Stage[],
): Promise<readonly Question[]> {
  const questions: Question[] = [];
  if (!readsTogether(root) || !root.children.some(isTogether)) return questions;
  const documents = await store.read(root.table, [...pipeline, { $limit: MOST_EXPLAINED }]);
  await withRelated({ store }, root, documents, { rules, note: (question) => void questions.push(question) });
  return questions;
}

async function explainCount(deps: ExplainDeps, query: AuthorizedQuery, meta: MetaKey): Promise<Json> {
  const { table } = query.root;
  const isKnown = deps.store.knowsCount(table);
  if (countsAll(query, meta) && isKnown) return { meta, ...counted(NOTHING_READ) };
  const pipeline = isKnown && countsLiving(query, meta) ? deletedCount(table) : lowerCount(query, meta);
  const report = await deps.store.explain(table, pipeline);
  return { meta, pipeline: asJson(pipeline), ...counted(report) };
}

async function explainQuestion(deps: ExplainDeps, { table, pipeline, answers }: Question): Promise<Json> {
  const report = await deps.store.explain(table, pipeline);
  return { table: table.name, answers, pipeline: asJson(pipeline), ...counted(report) };
}

function counted({ joins: _, ...report }: ExecutionReport): Record<string, Json> {
  return { ...report, indexes: [...report.indexes] };
}

/** Pipelines hold ids and dates, which JSON spells in MongoDB's extended form. */
function asJson(pipeline: unknown[]): Json {
  const json: Json = JSON.parse(EJSON.stringify(pipeline));
  return json;
}
