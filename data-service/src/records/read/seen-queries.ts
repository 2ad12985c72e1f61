// What lists have read since this process started, by shape: the facts behind GET /svc_table/{id}/advice.
//
// Counting a shape costs a list a few microseconds. What the database examined for it is learned from `explain` now
// and then, after the answer, one at a time; a shape holds no operands.
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "@portico/shared/clock";
import { LRUCache } from "lru-cache";
import type { Table } from "../../catalog/catalog.js";
import { indexesOf } from "../../catalog/indexes.js";
import { getOrMake } from "../../get-or-make.js";
import type { Examined, ExecutionReport } from "../../mongo/execution-report.js";
import type { RecordStore } from "../../mongo/record-store.js";
import { childRead, type QueryShape, shapeOf, type TableRead } from "../../query/advice/shape.js";
import type { AuthorizedChild, AuthorizedNode } from "../../query/ast.js";
import type { Stage, StoredRecord } from "../../query/lower/document.js";
import { isCountJoined, isJoined, readsTogether } from "../../query/lower/joined-or-together.js";
import { childField, countField } from "../../query/lower/read.js";
import { within } from "../../within.js";
import type { Plan, Question } from "./plan-read.js";

/** Shapes that are kept; the one not seen for longest is dropped first. A shape takes a kilobyte or two. */
const MOST_SHAPES = 500;
/** How many reads may wait to be explained; any more are left for another time. */
const MOST_WAITING = 8;
/** How long a request for advice waits for explains that are running. */
const SETTLE_MS = 5_000;
/** A shape is explained when it is new, and again each time it has been seen this many times more. */
const EVERY = 1_000;
/** A shape that took this long is explained again, too … */
const SLOW_MS = 500;
/** … unless it was explained within this time. */
const REST_MS = 600_000;

export interface SeenShape {
  readonly shape: QueryShape;
  readonly seen: number;
  /** How many of these took longer than a query may. */
  readonly timedOut: number;
  /** Undefined where none was answered. */
  readonly facts: Facts | undefined;
}

export interface Facts {
  /** Documents the database read for one such query, or index keys where it read those alone. */
  readonly examined: number;
  /** Records of them that served the answer. */
  readonly returned: number;
}

interface Entry {
  readonly shape: QueryShape;
  seen: number;
  /** The table as it was when last explained: after a change of its indexes the old facts say nothing. */
  table: Table | undefined;
  explainedAt: number;
  facts: Facts | undefined;
  /** How many were not answered in time, with the table as it was then. */
  late: { readonly table: Table; readonly times: number } | undefined;
}

/** A list that was answered. */
export interface AnsweredList {
  readonly plan: Plan;
  /** Made again where it is explained, which is seldom. */
  readonly pipeline: () => Stage[];
  readonly returned: number;
  /** How many related records are joined to its own, by the field their join puts them in. */
  readonly joined: ReadonlyMap<string, number>;
  /** What was asked for related records that are not joined. */
  readonly related: readonly Question[];
  readonly milliseconds: number;
}

interface SeenQueriesDeps {
  readonly store: Pick<RecordStore, "explain">;
  readonly clock: Clock;
}

/** A read whose facts an explain gives. */
interface Sample {
  readonly entry: Entry;
  readonly table: Table;
  readonly returned: number;
  readonly examined: (report: ExecutionReport) => number;
}

interface Job {
  readonly table: Table;
  readonly pipeline: () => Stage[];
  readonly samples: readonly Sample[];
}

export class SeenQueries {
  readonly #deps: SeenQueriesDeps;
  readonly #entries = new LRUCache<string, Entry>({ max: MOST_SHAPES });
  readonly #shapes = new WeakMap<object, KeyedShape>();
  #waiting = 0;
  #work: Promise<void> = Promise.resolve();

  constructor(deps: SeenQueriesDeps) {
    this.#deps = deps;
  }

  /** Gathers what a list reads until it is answered. @param started when it was asked for, in epoch milliseconds */
  open(plan: Plan, started: number): OpenList {
    const millisecondsNow = (): number => this.#deps.clock.now().getTime() - started;
    return new OpenList(plan, (list) => this.note({ ...list, milliseconds: millisecondsNow() }));
  }

  /** Counts the reads of a list and sees to it that new and slow ones are explained. Never throws, never waits. */
  note(answered: AnsweredList): void {
    const { plan, related, milliseconds } = answered;
    for (const question of [...plan.questions, ...related]) this.#noteQuestion(question, milliseconds);
    const { root } = plan.query;
    const children = this.#seeChildren(root, answered);
    // In a ranked list the children lie inside the join that fetches the page.
    const isRanked = plan.ranking.kind !== "none";
    const joined = isRanked ? ["record"] : joinedFields(root);
    const own: Sample = {
      entry: this.#see(root, () => ownRead(root)),
      table: root.table,
      returned: answered.returned + root.skip,
      examined: (report) => examinedOf(report) - joined.reduce((sum, as) => sum + examinedBy(report, as), 0),
    };
    const samples = isRanked ? [own] : [own, ...children];
    this.#explain({ table: root.table, pipeline: answered.pipeline, samples }, milliseconds);
  }

  /**
   * Counts a list that took longer than a query may, unless that may be due to what is joined to its records. It is not
   * explained, which would take as long. Never throws.
   */
  timedOut(root: AuthorizedNode): void {
    if (joinedFields(root).length > 0) return;
    const { table } = root;
    const entry = this.#see(root, () => ownRead(root));
    entry.late = { table, times: lateAs(entry, table) + 1 };
  }

  #noteQuestion({ table, pipeline, answers, read, needs, as }: Question, milliseconds: number): void {
    if (read === undefined) return;
    const sample = {
      entry: this.#see(read, () => read),
      table: read.table,
      returned: needs ?? answers,
      examined: as === undefined ? examinedOf : (report: ExecutionReport) => examinedBy(report, as),
    };
    this.#explain({ table, pipeline: () => pipeline, samples: [sample] }, milliseconds);
  }

  #seeChildren(root: AuthorizedNode, { joined, returned }: AnsweredList): Sample[] {
    return joinedChildren(root).map((child): Sample => {
      const as = childField(child);
      const entry = this.#see(child.node, () => childRead(child));
      const answered = (joined.get(as) ?? 0) + child.node.skip * returned;
      return {
        entry,
        table: child.node.table,
        returned: answered,
        examined: (report) => examinedBy(report, as),
      };
    });
  }

  /** @param whose a query that is asked again brings the same one along, and its shape is known then */
  #see(whose: object, read: () => TableRead): Entry {
    const { key, shape } = getOrMake(this.#shapes, whose, () => keyedShape(read()));
    const known = this.#entries.get(key);
    const entry = known ?? {
      shape,
      seen: 0,
      table: undefined,
      explainedAt: 0,
      facts: undefined,
      late: undefined,
    };
    if (known === undefined) this.#entries.set(key, entry);
    entry.seen += 1;
    return entry;
  }

  #explain(job: Job, milliseconds: number): void {
    const now = this.#deps.clock.now().getTime();
    const due = job.samples.filter((sample) => isDue(sample, milliseconds, now));
    if (due.length === 0 || this.#waiting >= MOST_WAITING) return;
    for (const { entry, table } of due) {
      if (!isReadAlike(entry.shape, entry.table, table)) entry.facts = undefined;
      entry.table = table;
      entry.explainedAt = now;
    }
    this.#waiting += 1;
    this.#work = this.#work.then(() => this.#run({ ...job, samples: due }));
  }

  async #run({ table, pipeline, samples }: Job): Promise<void> {
    try {
      // QUERY_TIMEOUT_MS is its limit too, so that whatever can be answered can be explained.
      const report = await this.#deps.store.explain(table, pipeline());
      for (const { entry, returned, examined } of samples) {
        entry.facts = { examined: examined(report), returned };
      }
    } catch {
      // Too slow, or the database is away: the shape will come by again.
    } finally {
      this.#waiting -= 1;
    }
  }

  /** What is known of the shapes of a table, once running explains are done or have taken long. */
  async of(table: Table): Promise<SeenShape[]> {
    await within(SETTLE_MS, this.#work);
    return [...this.#entries.values()].flatMap((entry) => {
      const { shape, seen, table: then } = entry;
      const facts = isReadAlike(shape, then, table) ? entry.facts : undefined;
      const timedOut = lateAs(entry, table);
      if (facts === undefined && timedOut === 0) return [];
      return [{ shape: { ...shape, table: table.name }, seen, timedOut, facts }];
    });
  }
}

/** How many were not answered in time, of those that were read as they would be now. */
function lateAs({ shape, late }: Entry, now: Table): number {
  return late !== undefined && isReadAlike(shape, late.table, now) ? late.times : 0;
}

type Gathered = Omit<AnsweredList, "milliseconds">;

/** A list that is being answered. */
class OpenList {
  readonly #plan: Plan;
  readonly #note: (list: Gathered) => void;
  readonly #joined = new Map<string, number>();
  readonly #related: Question[] = [];

  constructor(plan: Plan, note: (list: Gathered) => void) {
    this.#plan = plan;
    this.#note = note;
  }

  /** Of a relation that is asked for in parts, one part says enough. */
  question(question: Question): void {
    const isKnown = this.#related.some(({ read, as }) => read === question.read && as === question.as);
    if (!isKnown) this.#related.push(question);
  }

  /** @param documents of the answer, with what is joined to them */
  joined(documents: readonly StoredRecord[]): void {
    addJoined(this.#joined, this.#plan.query.root, documents);
  }

  /** The list is answered. @param returned how many records the pipeline gave */
  done(pipeline: () => Stage[], returned: number): void {
    this.#note({ plan: this.#plan, pipeline, returned, joined: this.#joined, related: this.#related });
  }
}

/** What was read with other indexes, or from another table or member of that name, will not be read again. */
function isReadAlike(shape: QueryShape, then: Table | undefined, now: Table): boolean {
  return (
    then?.id === now.id &&
    isDeepStrictEqual(indexesOf(then), indexesOf(now)) &&
    membersOf(shape).every((name) => isDeepStrictEqual(readPart(then, name), readPart(now, name)))
  );
}

/** The names of the table's own members in a shape; `author` of the sort by `-author.name`, `tags` of `_count(tags)`. */
function membersOf({ filter, sort }: QueryShape): string[] {
  const sorted = sort.map((key) => key.replace(/^-?(_\w+\()?/, "").replace(/\W.*$/, ""));
  return [...filter.map(({ field }) => field), ...sorted];
}

/** As far as reads depend on it: a description, or what new values must satisfy, changes none. */
function readPart({ columns, relations }: Table, name: string): unknown {
  const [column, relation] = [columns.get(name), relations.get(name)];
  if (column === undefined) return relation && { id: relation.id, link: relation.link };
  const { id, field, type, encrypted } = column;
  return { id, field, type, encrypted };
}

interface KeyedShape {
  readonly key: string;
  readonly shape: QueryShape;
}

function keyedShape(read: TableRead): KeyedShape {
  const shape = shapeOf(read);
  // A table keeps its id when it is renamed.
  return { key: JSON.stringify([read.table.id, shape.filter, shape.sort]), shape };
}

function ownRead({ table, rule, filter, sort }: AuthorizedNode): TableRead {
  return { table, predicates: [rule, filter], sort };
}

function isDue({ entry, table }: Sample, milliseconds: number, now: number): boolean {
  const isSlow = milliseconds >= SLOW_MS && now - entry.explainedAt >= REST_MS;
  return entry.table !== table || entry.seen % EVERY === 0 || isSlow;
}

/** Children that are fetched by a join. */
function joinedChildren(node: AuthorizedNode, together = readsTogether(node)): readonly AuthorizedChild[] {
  return node.children.filter((child) => isJoined(child, together));
}

/** The joins that serve the output. */
function joinedFields(node: AuthorizedNode): readonly string[] {
  const counts = node.counts.filter((count) => isCountJoined(count, readsTogether(node)));
  return [...joinedChildren(node).map(childField), ...counts.map(countField)];
}

/** Reading an index alone costs too, where no document is read. */
function examinedOf({ documentsExamined, keysExamined }: Examined): number {
  return documentsExamined > 0 ? documentsExamined : keysExamined;
}

function examinedBy(report: ExecutionReport, as: string): number {
  const join = report.joins.get(as);
  return join === undefined ? 0 : examinedOf(join);
}

/** Adds how many related records are joined to some of the answer's, by the field their join puts them in. */
function addJoined(
  joined: Map<string, number>,
  root: AuthorizedNode,
  documents: readonly StoredRecord[],
): void {
  for (const [field, count] of joinedRecords(joinedChildren(root), documents))
    joined.set(field, (joined.get(field) ?? 0) + count);
}

/** How many related records the documents hold, by the field their join puts them in; those inside them count along. */
function joinedRecords(
  children: AuthorizedNode["children"],
  documents: readonly StoredRecord[],
): Map<string, number> {
  return new Map(
    children.map((child) => {
      const field = childField(child);
      const records = documents.flatMap((document) => listOf(document[field]));
      // Inside a join, everything is joined.
      const inside = [...joinedRecords(joinedChildren(child.node, false), records).values()];
      return [field, inside.reduce((sum, count) => sum + count, records.length)];
    }),
  );
}

function listOf(value: unknown): StoredRecord[] {
  return Array.isArray(value) ? value : [];
}
