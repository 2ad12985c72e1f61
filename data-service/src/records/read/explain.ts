// GET /{table}?explain=true, for root admins: the plan of a query and what running it read.
import type { Json, JsonObject } from "@portico/shared/json";
import { EJSON } from "bson";
import type { Table } from "../../catalog/catalog.js";
import { type ExecutionReport, NOTHING_READ } from "../../mongo/execution-report.js";
import type { RecordStore } from "../../mongo/record-store.js";
import type { AuthorizedQuery, MetaKey } from "../../query/ast.js";
import { lowerAggregate } from "../../query/lower/aggregate.js";
import { countsAll, countsLiving } from "../../query/lower/count.js";
import type { Stage, StoredRecord } from "../../query/lower/document.js";
import { asksTogether } from "../../query/lower/joined-or-together.js";
import { lowerList } from "../../query/lower/read.js";
import { countedBy, deletedCount } from "./count.js";
import type { Effort } from "./effort.js";
import type { PlanDeps, Question } from "./plan-read.js";
import { planRead } from "./plan-read.js";
import { type RelatedDeps, withRelated } from "./related.js";

/** The most records whose relations are looked at; of large ones, it is the first alone. */
const MOST_EXPLAINED = 100;

interface ExplainDeps extends PlanDeps {
  readonly store: RelatedDeps["store"] & Pick<RecordStore, "byIds" | "explain" | "knowsCount" | "readSmall">;
}

/** Plans and runs a list query, and answers how it was read instead of what. */
export async function explainList(deps: ExplainDeps, query: AuthorizedQuery, effort: Effort): Promise<Json> {
  const explain: Explain = (table, pipeline) =>
    effort.ask((limits) => deps.store.explain(table, pipeline, limits));
  const { query: planned, rules, ranking, questions } = await planRead(deps, query, effort);
  const { table } = planned.root;
  const pipeline = lowerList(planned, ranking);
  const related = await relatedQuestions(deps, { root: planned.root, rules }, pipeline, effort);
  const [asked, counts, aggregate, own] = await Promise.all([
    Promise.all([...questions, ...related].map((each) => explainQuestion(explain, each))),
    Promise.all(query.meta.map((key) => explainCount(deps, explain, planned, key, effort))),
    query.aggregate.length === 0 ? undefined : explained(explain, table, lowerAggregate(planned)),
    explain(table, pipeline),
  ]);
  return {
    table: table.name,
    ranked: ranking.kind !== "none",
    questions: asked,
    counts,
    ...(aggregate && { aggregate }),
    pipeline: asJson(pipeline),
    ...counted(own),
  };
}

/** Runs a pipeline, a few at a time, and tells what it read. */
type Explain = (table: Table, pipeline: Stage[]) => Promise<ExecutionReport>;

async function explained(explain: Explain, table: Table, pipeline: Stage[]): Promise<JsonObject> {
  return { pipeline: asJson(pipeline), ...counted(await explain(table, pipeline)) };
}

/** What is asked for related records, which only the page itself can tell; of a long list, for its first records. */
async function relatedQuestions(
  { store }: ExplainDeps,
  { root, rules }: Pick<AuthorizedQuery, "root" | "rules">,
  pipeline: Stage[],
  effort: Effort,
): Promise<readonly Question[]> {
  const questions: Question[] = [];
  if (!asksTogether(root)) return questions;
  const first = (most: number): Promise<readonly StoredRecord[] | undefined> =>
    effort.ask((limits) => store.readSmall(root.table, [...pipeline, { $limit: most }], most, limits));
  const documents = (await first(MOST_EXPLAINED)) ?? (await first(1)) ?? [];
  const note = (question: Question) => void questions.push(question);
  await withRelated({ store }, root, documents, { rules, note, effort });
  return questions;
}

async function explainCount(
  deps: ExplainDeps,
  explain: Explain,
  query: AuthorizedQuery,
  meta: MetaKey,
  effort: Effort,
): Promise<Json> {
  const { table } = query.root;
  const isKnown = await deps.store.knowsCount(table);
  if (countsAll(query, meta) && isKnown) return { meta, ...counted(NOTHING_READ) };
  const knowsAll = isKnown && countsLiving(query, meta);
  const pipeline = knowsAll ? deletedCount(table) : await countedBy(deps, query, meta, effort);
  return { meta, ...(await explained(explain, table, pipeline)) };
}

async function explainQuestion(explain: Explain, { table, pipeline, answers }: Question): Promise<Json> {
  return { table: table.name, answers, ...(await explained(explain, table, pipeline)) };
}

function counted({ joins: _, ...report }: ExecutionReport): Record<string, Json> {
  return { ...report, indexes: [...report.indexes] };
}

/** Pipelines hold ids and dates, which JSON spells in MongoDB's extended form. */
function asJson(pipeline: unknown[]): Json {
  const json: Json = JSON.parse(EJSON.stringify(pipeline));
  return json;
}
