// The numbers of children that counted relations keep in their parents' documents (docs/decisions/004-counters.md).
//
// A mark is written before the children change and removed after the numbers have changed. Whatever a crash interrupts
// leaves its mark behind, and the parents that it names are counted again. Nobody may ignore a mark without abandoning it,
// so a process that made it and was only slow finds out.
import { type AnyBulkWriteOperation, type Collection, type Db, type Document, ObjectId } from "mongodb";
import type { Counter } from "../catalog/catalog.js";
import type { Stored } from "../catalog/stored.js";
import { asStored } from "../query/as-read.js";
import { eachLink } from "../query/lower/each-link.js";
import { linksTo } from "../query/lower/links.js";
import { type Noted, WRITTEN_WITHIN_MS } from "../schema/dead-instances.js";
import { untilStill } from "../until-still.js";
import { isAgainstDocument } from "./driver-errors.js";
import { unflushed } from "./unflushed.js";
import { oneMore, sumWith } from "./update-parts.js";

/** A parent whose number of children is kept. */
export interface Counted {
  readonly counter: Counter;
  readonly id: Stored;
}

/** How much a number changes. */
export interface Delta extends Counted {
  readonly by: number;
}

/** Marks a change in progress. */
export interface Mark {
  readonly id: ObjectId;
  readonly parents: readonly Counted[];
}

interface MarkDocument {
  _id: ObjectId;
  at: Date;
  /** The process that made it; earlier versions did not say. */
  instance?: string;
  parents: { counter: string; id: Stored }[];
  /** Nobody waits for the change any more, and the parents must be counted. */
  abandoned?: true;
  /** What its process had sent may still be written: others took it for dead, or it got no answer. */
  dead?: true;
  /** They have been counted, and will be counted once more. */
  counted?: true;
}

type MarkState = Pick<MarkDocument, "abandoned" | "dead">;

/** What tells of marks whether their changes may still come. */
export interface Left {
  /** Will the process that made a mark do nothing more about it? */
  readonly isDead: (mark: Noted) => Promise<boolean>;
  /** No other process uses the database, so nothing of a dead one is still being written. */
  readonly alone: boolean;
  /** Told of each mark whose parents could not be counted. */
  readonly failed: (error: unknown, mark: ObjectId) => void;
}

/** Marks that nobody has abandoned. */
const WAITED_FOR = { abandoned: { $ne: true as const } };

/** How often to try to set a number that others keep changing, and how long to wait in between. */
const RECOUNTS = 400;
const PAUSE_MS = 5;
/** After how many numbers to tell how many there are. */
const REPORTED_EVERY = 100;

export class CountStore {
  readonly #db: Db;
  readonly #marks: Collection<MarkDocument>;
  readonly #instance: string;
  readonly #now: () => Date;
  /** Here only the order counts, so nobody waits for the disk where that is kept. */
  readonly #unflushed: ReturnType<typeof unflushed>;

  /** @param isEmbedded whether the engine ends with this process */
  constructor(db: Db, isEmbedded: boolean, instance: string, now: () => Date) {
    this.#db = db;
    this.#unflushed = unflushed(isEmbedded);
    this.#marks = db.collection<MarkDocument>("_counting", this.#unflushed);
    this.#instance = instance;
    this.#now = now;
  }

  async ensureIndexes(): Promise<void> {
    await this.#marks.createIndex({ "parents.counter": 1, "parents.id": 1 });
  }

  /** Notes that the numbers of these parents are about to change. Await it before anything else is written. */
  async mark(parents: readonly Counted[]): Promise<Mark> {
    return this.#note(parents, {});
  }

  /** Changes the numbers, and removes the mark. */
  async settle(mark: Mark, deltas: readonly Delta[]): Promise<void> {
    await this.#add(deltas);
    const { deletedCount } = await this.#marks.deleteOne({ _id: mark.id, ...WAITED_FOR });
    if (deletedCount === 0) await this.abandon(mark);
  }

  /**
   * Counts the children of a mark's parents, after a change that may have happened only in part.
   * @param isOver whether nothing more of it can be written; else the mark stays, and `repair` counts them once more
   */
  async abandon(mark: Mark, isOver = true): Promise<void> {
    const mayCome = { dead: true, at: this.#now() } as const;
    const state = { abandoned: true, ...(isOver ? {} : mayCome) } as const;
    const { matchedCount } = await this.#marks.updateOne({ _id: mark.id, ...WAITED_FOR }, { $set: state });
    const own = matchedCount === 1 ? mark : await this.#markAgain(mark, state);
    if (!(await this.#recountAll(own.parents))) return;
    if (isOver) await this.#marks.deleteOne({ _id: own.id });
    else await this.#marks.updateOne({ _id: own.id }, { $set: { counted: true } });
  }

  /**
   * Completes what dead processes have left, and counts once more where an answer was lost.
   * @param counters those in use; others are gone with their relation
   * @returns how many interrupted changes there were
   */
  async repair(counters: readonly Counter[], { isDead, alone, failed }: Left): Promise<number> {
    const byId = new Map(counters.map((counter) => [counter.id, counter]));
    const late = new Date(this.#now().getTime() - WRITTEN_WITHIN_MS);
    // All of them first: a dead mark must not be waited for while another one's parents are counted.
    await this.#abandonAll(async ({ instance, at }) =>
      instance === undefined ? alone || at < late : isDead({ instance, at }),
    );
    const due = alone ? {} : { $or: [{ counted: { $ne: true as const } }, { at: { $lt: late } }] };
    let repaired = 0;
    for await (const mark of this.#marks.find({ abandoned: true, ...due })) {
      const isLastCount = alone || mark.dead === undefined || mark.at < late;
      const isRepaired = this.#repairOne(mark, byId, isLastCount).catch((error: unknown) => {
        // One that can't be counted now must not keep the others waiting; the next repair tries again.
        failed(error, mark._id);
        return false;
      });
      if (await isRepaired) repaired += 1;
    }
    return repaired;
  }

  /** @returns false when one of its parents never had a quiet moment */
  async #repairOne(
    { _id, parents }: MarkDocument,
    counters: ReadonlyMap<string, Counter>,
    isLastCount: boolean,
  ): Promise<boolean> {
    const known = parents.flatMap(({ counter: name, id }) => {
      const counter = counters.get(name);
      return counter === undefined ? [] : [{ counter, id }];
    });
    if (!(await this.#recountAll(known))) return false;
    if (isLastCount) await this.#marks.deleteOne({ _id });
    else await this.#marks.updateOne({ _id }, { $set: { counted: true } });
    return true;
  }

  /**
   * Counts the children of every parent that has or had some. For numbers that begin to be kept.
   * @param report told now and then how many parents have been counted since
   */
  async countAll(
    counter: Counter,
    report: (parents: number) => Promise<void> = async () => {},
  ): Promise<void> {
    const { collection, field } = counter.children;
    const named = this.#db
      .collection(collection)
      .aggregate([...eachParent(counter), { $group: { _id: `$${field}` } }], { allowDiskUse: true });
    const numbered = { [counter.column.field]: { $gt: Number.NEGATIVE_INFINITY } };
    const parents = this.#db.collection(counter.parents).find(numbered, { projection: { _id: 1 } });
    let done = 0;
    for (const ids of [named, parents])
      for await (const { _id } of ids) {
        await this.#recountInTheEnd({ counter, id: asStored(_id) });
        done += 1;
        if (done % REPORTED_EVERY === 0) await report(REPORTED_EVERY);
      }
  }

  /** Like `countAll`, if nobody else changes children: one pass over them, and all numbers at once. */
  async countAllAlone(counter: Counter): Promise<void> {
    const { collection, field } = counter.children;
    const numbers = this.#db
      .collection(collection)
      .aggregate<{ _id: Stored; children: number }>([
        ...eachParent(counter),
        { $group: { _id: `$${field}`, children: { $sum: 1 } } },
      ]);
    const operations = (await numbers.toArray()).map(({ _id, children }) => ({
      updateOne: { filter: { _id } as Document, update: setNumber(counter, children) },
    }));
    const parents = this.#db.collection<Document>(counter.parents, this.#unflushed);
    if (operations.length > 0) await parents.bulkWrite(operations, { ordered: false });
  }

  /** Sets a number by counting. @returns false when there was never a quiet moment */
  async recount(parent: Counted): Promise<boolean> {
    const gaveUp = () => false;
    return untilStill(() => this.#recountOnce(parent), { attempts: RECOUNTS, pauseMs: PAUSE_MS, gaveUp });
  }

  /**
   * A change that is under way while we count would be added to what we may already have counted. So the number is set only
   * if there was none from before to after, and none ended meanwhile.
   */
  async #recountOnce({ counter, id }: Counted): Promise<boolean> {
    const parents = this.#db.collection<Document>(counter.parents, this.#unflushed);
    const which = { _id: id } as Document;
    const parent = await parents.findOne(which, { projection: { [counter.version]: 1 } });
    if (parent === null) return true;
    if (await this.#isChanging(counter, id)) return false;
    const children = await this.#children(counter, id);
    const version: unknown = parent[counter.version];
    const unchanged = { ...which, [counter.version]: version ?? { $exists: false } };
    if (await this.#isChanging(counter, id)) return false;
    const set = await parents.updateOne(unchanged, setNumber(counter, children)).catch(unlessRefused);
    return set === undefined || set.matchedCount === 1;
  }

  /** One that others never leave alone is left to `repair`, which tries until it has counted it. */
  async #recountInTheEnd(parent: Counted): Promise<void> {
    if (!(await this.recount(parent))) await this.#note([parent], { abandoned: true });
  }

  async #note(parents: readonly Counted[], state: MarkState): Promise<Mark> {
    const id = new ObjectId();
    const made = { at: this.#now(), instance: this.#instance };
    await this.#marks.insertOne({ _id: id, ...made, parents: parents.map(toNamed), ...state });
    return { id, parents };
  }

  /**
   * We were so slow that somebody took us for dead. They may count before our change arrives, and then remove that mark: so
   * ours is a new one.
   */
  async #markAgain({ id, parents }: Mark, state: MarkState): Promise<Mark> {
    const again = await this.#note(parents, state);
    await this.#marks.deleteOne({ _id: id });
    return again;
  }

  async #abandonAll(isLeft: (mark: MarkDocument) => Promise<boolean>): Promise<void> {
    const left: ObjectId[] = [];
    for await (const mark of this.#marks.find(WAITED_FOR)) if (await isLeft(mark)) left.push(mark._id);
    if (left.length === 0) return;
    const dead = { abandoned: true, dead: true } as const;
    await this.#marks.updateMany({ _id: { $in: left }, ...WAITED_FOR }, { $set: dead });
  }

  /** @returns false when one of them never had a quiet moment */
  async #recountAll(parents: readonly Counted[]): Promise<boolean> {
    for (const parent of parents) if (!(await this.recount(parent))) return false;
    return true;
  }

  async #children({ children }: Counter, id: Stored): Promise<number> {
    return this.#db.collection(children.collection).countDocuments(linksTo(children, [id]));
  }

  async #isChanging({ id: counter }: Counter, id: Stored): Promise<boolean> {
    return (await this.#marks.findOne({ parents: { $elemMatch: { counter, id } }, ...WAITED_FOR })) !== null;
  }

  async #add(deltas: readonly Delta[]): Promise<void> {
    const byCollection = new Map<string, AnyBulkWriteOperation<Document>[]>();
    for (const { counter, id, by } of deltas.filter(({ by }) => by !== 0)) {
      const operations = byCollection.get(counter.parents) ?? [];
      operations.push({ updateOne: { filter: { _id: id } as Document, update: addNumber(counter, by) } });
      byCollection.set(counter.parents, operations);
    }
    for (const [name, operations] of byCollection) {
      const parents = this.#db.collection<Document>(name, this.#unflushed);
      await parents.bulkWrite(operations, { ordered: false }).catch(unlessRefused);
    }
  }
}

/**
 * A number that a parent can't take stays as it is: the validator of its collection refuses it, or there is no room for it in
 * 16 MB. Only the author of these can do something about that, and the children are written all the same.
 */
function unlessRefused(error: unknown): undefined {
  if (!isAgainstDocument(error)) throw error;
}

/** One document for each parent that a child names. */
function eachParent({ children }: Counter): Document[] {
  const { field, isAdopted = false } = children;
  if (isAdopted) return eachLink(children);
  return [
    { $match: { [field]: { $ne: null } } },
    { $project: { _id: 0, [field]: 1 } },
    { $unwind: `$${field}` },
  ];
}

function toNamed({ counter, id }: Counted): MarkDocument["parents"][number] {
  return { counter: counter.id, id };
}

function addNumber(counter: Counter, by: number): Document[] {
  return setTo(counter, sumWith(counter.column.field, by));
}

function setNumber(counter: Counter, number: number): Document[] {
  return setTo(counter, { $literal: number });
}

/** Zero is absent, as null is everywhere. */
function setTo({ column, version }: Counter, number: Document): Document[] {
  const field = `$${column.field}`;
  return [
    { $set: { [column.field]: number, ...oneMore(version) } },
    { $set: { [column.field]: { $cond: [{ $eq: [field, 0] }, "$$REMOVE", field] } } },
  ];
}
