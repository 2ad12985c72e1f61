// Records in MongoDB: the few calls of which every use case is made, with refusals instead of driver errors.
import { AppError } from "@portico/shared/app-error";
import type {
  AbstractCursor,
  Document as BsonDocument,
  Collection,
  CollectionOptions,
  Db,
  UpdateFilter,
} from "mongodb";
import type { Share } from "../caller-shares.js";
import type { Table } from "../catalog/catalog.js";
import { idText } from "../catalog/record-ids.js";
import type { Stored } from "../catalog/stored.js";
import { getOrMake } from "../get-or-make.js";
import { idsPipeline } from "../query/lower/by-ids.js";
import type { Document, Stage, StoredRecord } from "../query/lower/document.js";
import { tookTooLong } from "../store-refusals.js";
import type { Store } from "./connect.js";
import type { CursorKills } from "./cursor-kills.js";
import { asRefusal, isInterrupted, isLost, isTypeMismatch, refuseTooLarge } from "./driver-errors.js";
import { type ExecutionReport, reportOf } from "./execution-report.js";
import { findForm } from "./find-form.js";
import { GatheredInserts } from "./gathered-inserts.js";
import { GatheredReads } from "./gathered-reads.js";
import { GatheredUpdates } from "./gathered-updates.js";
import { BATCH_SIZE, inBatches } from "./in-batches.js";
import { type Answered, allOf, areLarge } from "./raw-documents.js";
import type { ReadLimits } from "./read-limits.js";
import { lastGiven, raiseSequence, takeNumbers } from "./sequences.js";
import { TableCounts } from "./table-counts.js";
import { listWith, listWithout } from "./update-parts.js";
import { mostAnswered, readToItsEnd, readWhole } from "./whole-answer.js";

/** A change of one document, by operator. */
export type UpdateOperators = UpdateFilter<BsonDocument>;

/** A document after a change. */
export interface Updated {
  /** As it is after the change; undefined when that is unknown. */
  readonly document: StoredRecord | undefined;
}

/** What differs between databases. */
export interface RecordStoreOptions {
  /** Other promises than the database's, for writes that are made safe in another way. */
  readonly collections?: CollectionOptions;
  /** Does the database work on at a read whose connection is closed? Then a read is over when it has been answered, and not before. */
  readonly worksOn?: boolean;
}

/** Tells documents apart that have no id yet. */
const POSITION = "__at";

/** How often a read that the database ends by itself is begun before it counts as failed. */
const READ_ATTEMPTS = 3;

export class RecordStore {
  readonly #db: Db;
  readonly #cursorKills: CursorKills;
  /** No read runs longer. */
  readonly timeoutMs: number;
  readonly #limits: { readonly maxTimeMS: number; readonly batchSize: number };
  readonly #counts: TableCounts;
  readonly #options: CollectionOptions;
  readonly #worksOn: boolean;
  readonly #gathered: GatheredReads;
  /** The same for whoever reads large ones some at a time. */
  readonly #gatheredSmall: GatheredReads;
  readonly #inserts = new GatheredInserts();
  readonly #updates: GatheredUpdates;
  /** What the driver makes of the options, by the name of the collection. */
  readonly #collections = new Map<string, Collection<BsonDocument>>();

  /**
   * @param timeoutMs QUERY_TIMEOUT_MS: no read runs longer
   */
  constructor(
    { db, cursorKills }: Pick<Store, "db" | "cursorKills">,
    timeoutMs: number,
    { collections = {}, worksOn = false }: RecordStoreOptions = {},
  ) {
    this.#db = db;
    this.#cursorKills = cursorKills;
    this.#options = collections;
    this.#worksOn = worksOn;
    this.timeoutMs = timeoutMs;
    this.#limits = { maxTimeMS: timeoutMs, batchSize: BATCH_SIZE };
    this.#counts = new TableCounts(db);
    this.#updates = new GatheredUpdates(timeoutMs);
    const find = (table: Table, ids: readonly Stored[], fields: Document) =>
      this.#raw(table, idsPipeline(ids, fields), ids.length);
    this.#gathered = new GatheredReads(
      async (table, ids, fields) => allOf(await find(table, ids, fields)),
      idText,
    );
    this.#gatheredSmall = new GatheredReads(async (table, ids, fields) => {
      const found = await find(table, ids, fields);
      return ids.length > 1 && areLarge(found) ? undefined : allOf(found);
    }, idText);
  }

  /** Runs a pipeline to its end and returns all documents. */
  async read(table: Table, pipeline: Stage[], limits?: ReadLimits): Promise<StoredRecord[]> {
    return this.#refusing(table, () => this.#read(table, pipeline, mostAnswered(pipeline), limits));
  }

  /**
   * The same for a pipeline that answers no more than `most` documents.
   * @returns undefined when they have more than 16 MB: nobody should hold them all
   */
  async readSmall(
    table: Table,
    pipeline: Stage[],
    most: number,
    limits?: ReadLimits,
  ): Promise<StoredRecord[] | undefined> {
    return allOf(await this.readRaw(table, pipeline, most, limits));
  }

  /** Like `readSmall`, for whoever does not need them all at once where they are large. */
  async readRaw(
    table: Table,
    pipeline: Stage[],
    most: number,
    limits?: ReadLimits,
  ): Promise<Answered | undefined> {
    return this.#refusing(table, () => this.#raw(table, pipeline, most, limits));
  }

  /** Those of the documents that exist, in any order. @param fields a projection */
  async byIds(table: Table, ids: readonly Stored[], fields: Document): Promise<StoredRecord[]> {
    return this.#refusing(
      table,
      async () =>
        (await this.#gathered.read(table, ids, fields)) ??
        this.#read(table, idsPipeline(ids, fields), ids.length),
    );
  }

  /**
   * Like `byIds`.
   * @returns undefined when the documents may have more than 2 MB together: nobody should hold them all
   */
  async smallByIds(
    table: Table,
    ids: readonly Stored[],
    fields: Document,
  ): Promise<StoredRecord[] | undefined> {
    return this.#refusing(table, () => this.#gatheredSmall.read(table, ids, fields));
  }

  /**
   * Runs a pipeline and returns documents as they are asked for, some at a time. Together they may take any time; for each
   * batch the database may work as long as for any other read.
   * @param signal ends it, in the database as well
   * @param share asks for each batch
   */
  async *stream(
    table: Table,
    pipeline: Stage[],
    signal?: AbortSignal,
    share: Share = (ask) => ask(),
  ): AsyncGenerator<readonly StoredRecord[]> {
    const limits = { limitMs: this.timeoutMs, signal, share, cursorKills: this.#cursorKills };
    for (let attempt = 1; ; attempt += 1) {
      let isBegun = false;
      try {
        for await (const documents of inBatches(this.#db, table, pipeline, limits)) {
          isBegun = true;
          yield documents;
        }
        return;
      } catch (error) {
        // What has been handed over can't be taken back, and a second run may have another order.
        const isWorthwhile = attempt < READ_ATTEMPTS && (isInterrupted(error) || isLost(error));
        if (isBegun || !isWorthwhile) throw asRefusal(error, table);
      }
    }
  }

  /** How many documents a table has. Reads them only if nothing else can be relied on. */
  async countAll(table: Table, limits: ReadLimits): Promise<number> {
    const until = performance.now() + limits.maxTimeMS;
    const exactly = async (signal = limits.signal): Promise<number> => {
      // It may have waited for somebody else's count.
      const maxTimeMS = Math.ceil(until - performance.now());
      if (maxTimeMS <= 0) throw tookTooLong();
      return this.count(table, [{ $count: "value" }], { ...limits, signal, maxTimeMS });
    };
    return this.#refusing(table, () => this.#counts.count(table.id, table.collection, exactly, limits));
  }

  /** The number that a counting pipeline answers as `value`. */
  async count(table: Table, pipeline: Stage[], limits?: ReadLimits): Promise<number> {
    const [result] = await this.read(table, pipeline, limits);
    return Number(result?.value ?? 0);
  }

  /** Does `countAll` answer without reading? */
  async knowsCount(table: Table): Promise<boolean> {
    return this.#refusing(table, () => this.#counts.knows(table.id));
  }

  /** How MongoDB runs a pipeline, and what it reads for it: until its time is over, if that comes first. */
  async explain(table: Table, pipeline: Stage[], limits?: ReadLimits): Promise<ExecutionReport> {
    const explain = async (): Promise<Document> => {
      const cursor = this.#aggregate(table, pipeline, limits);
      try {
        return await cursor.explain("executionStats");
      } finally {
        // The driver keeps every cursor, pipeline and all, until it is closed; one that only explains never closes by
        // itself.
        await cursor.close();
      }
    };
    return reportOf(await this.#refusing(table, () => untilRead(explain)));
  }

  /** The ids from the list that exist, as JSON text. @param visible stages that let only some records pass */
  async existing(
    table: Table,
    ids: readonly Stored[],
    visible: readonly Stage[] = [],
  ): Promise<ReadonlySet<string>> {
    const chosen = { $match: { _id: { $in: [...ids] } } };
    const found =
      visible.length === 0
        ? await this.byIds(table, ids, { _id: 1 })
        : await this.read(table, [chosen, ...visible, { $project: { _id: 1 } }]);
    return new Set(found.map((document) => idText(table, document._id)));
  }

  /** Is there a document like this? */
  async hasAny(table: Table, which: Document): Promise<boolean> {
    const found = await this.read(table, [{ $match: which }, { $limit: 1 }, { $project: { _id: 1 } }]);
    return found.length > 0;
  }

  /** Which of these documents, which are not stored, would pass the stages? @returns their positions */
  async wouldMatch(
    table: Table,
    documents: readonly Document[],
    stages: readonly Stage[],
  ): Promise<ReadonlySet<number>> {
    const numbered = documents.map((document, at) => ({ ...document, [POSITION]: at }));
    const pipeline = [{ $documents: { $literal: numbered } }, ...stages, { $project: { [POSITION]: 1 } }];
    const found = await this.#refusing(table, () =>
      this.#db.aggregate(pipeline, { maxTimeMS: this.timeoutMs }).toArray(),
    );
    return new Set(found.map((document) => Number(document[POSITION])));
  }

  /** Inserts documents: all of them, or (on a duplicate) none after the first that collides. */
  async insert(table: Table, documents: readonly Document[]): Promise<void> {
    const collection = this.#collection(table);
    const [only, ...more] = documents;
    if (only === undefined) return;
    await this.#writing<unknown>(table, () =>
      more.length === 0
        ? this.#inserts.insert(collection, only)
        : collection.insertMany([...documents], { ordered: true }),
    );
  }

  /** Inserts the documents whose ids do not exist yet. If none does, that takes half as long. */
  async insertMissing(table: Table, documents: readonly Document[]): Promise<void> {
    const ids = documents.map(({ _id }) => _id ?? null);
    const those = [{ $match: { _id: { $in: ids } } }, { $count: "value" }];
    if ((await this.count(table, those)) === 0) return this.insert(table, documents);
    const upserts = documents.map((document) => {
      const filter: Document = { _id: document._id ?? null };
      return { updateOne: { filter, update: { $setOnInsert: document }, upsert: true } };
    });
    await this.#writing(table, () => this.#collection(table).bulkWrite(upserts, { ordered: false }));
  }

  /** Changes the document that `which` selects. @returns whether there was one */
  async update(table: Table, which: Document, change: UpdateOperators): Promise<boolean> {
    const result = await this.#writing(table, () => this.#collection(table).updateOne(which, change));
    return result.matchedCount === 1;
  }

  /**
   * Changes the document that `which` selects, and returns it.
   * @param fields what to return of the document; all of it, if omitted
   * @returns the document after the change, or undefined when none was selected
   */
  async updateAndGet(
    table: Table,
    which: Document,
    change: UpdateOperators | Stage[],
    fields: Document = {},
  ): Promise<StoredRecord | undefined> {
    const found = await this.#writing(table, () =>
      this.#collection(table).findOneAndUpdate(which, change, {
        returnDocument: "after",
        projection: fields,
      }),
    );
    return found ?? undefined;
  }

  /**
   * Changes the document with this id, whatever it is like; many such changes at once cost the server one command.
   * @param change sets `updatedAt`, and gives the same result when it is made twice
   * @param fields what to return of the document
   * @param freeOf a field that keeps a document from being changed while it has an object in it
   * @returns undefined when there is no such document, or it has that object
   */
  async updateById(
    table: Table,
    id: Stored,
    change: UpdateOperators,
    fields: Document,
    freeOf?: string,
  ): Promise<Updated | undefined> {
    // If the id is the whole condition, no query is planned. `$pop` does nothing if there is no field, and refuses an
    // object.
    const whileFree: UpdateOperators =
      freeOf === undefined ? change : { ...change, $pop: { [freeOf]: 1 as const } };
    if (await this.#updateTogether(table, id, whileFree)) {
      // The change is made, whether the document can be read or not.
      const found = await this.byIds(table, [id], fields).catch(() => []);
      return { document: found[0] };
    }
    const alone = (which: Document, how: UpdateOperators): Promise<StoredRecord | undefined> =>
      this.updateAndGet(table, { _id: id, ...which }, how, fields);
    const document = await alone({}, whileFree).catch((error: unknown) => {
      if (freeOf === undefined || !isTypeMismatch(error)) throw error;
      return alone({ [freeOf]: { $exists: false } }, change);
    });
    return document && { document };
  }

  async #updateTogether(table: Table, id: Stored, change: UpdateOperators): Promise<boolean> {
    const { createdAt, updatedAt } = table;
    const at = change.$set?.[updatedAt.field];
    if (!(at instanceof Date)) return false;
    const proof = { $or: [{ [updatedAt.field]: at }, { [createdAt.field]: { $lt: at } }] };
    return this.#writing(table, () => this.#updates.make(this.#collection(table), { id, change, proof }));
  }

  /** @returns how many documents have changed */
  async updateMany(table: Table, which: Document, change: UpdateOperators | Stage[]): Promise<number> {
    const result = await this.#writing(table, () => this.#collection(table).updateMany(which, change));
    return result.modifiedCount;
  }

  /**
   * Makes many changes, each to the document that its `which` selects, in no particular order. @returns how many were made
   */
  async updateEach(
    table: Table,
    changes: readonly { readonly which: Document; readonly change: UpdateOperators }[],
  ): Promise<number> {
    const updates = changes.map(({ which, change }) => ({ updateOne: { filter: which, update: change } }));
    const result = await this.#writing(table, () =>
      this.#collection(table).bulkWrite(updates, { ordered: false }),
    );
    return result.modifiedCount;
  }

  /** Removes ids from the list in `field`, wherever `which` selects. @returns how many lists have changed */
  async pull(table: Table, which: Document, field: string, ids: readonly Stored[]): Promise<number> {
    const { having, set } = listWithout(field, ids);
    return this.updateMany(table, { $and: [which, having] }, [{ $set: set }]);
  }

  /** Adds an id to the list in `field`, wherever `which` selects. @returns how many lists have changed */
  async push(table: Table, which: Document, field: string, id: Stored): Promise<number> {
    const { having, set } = listWith(field, id);
    return this.updateMany(table, { $and: [which, having] }, [{ $set: set }]);
  }

  /** @returns how many documents were removed */
  async remove(table: Table, which: Document): Promise<number> {
    const result = await this.#writing(table, () => this.#collection(table).deleteMany(which));
    return result.deletedCount;
  }

  /** The first of some numbers that are not yet ids of records; never given twice. */
  async nextInSequence(table: Table, count: number): Promise<number> {
    for (;;) {
      // Beyond the safe integers sums are rounded, but never down to one: the last number, as it was counted, tells of all.
      const last = await this.#refusing(table, () => takeNumbers(this.#db, table.id, count));
      if (!Number.isSafeInteger(last)) throw noNumbersLeft(table);
      const first = last - count + 1;
      // Records may have existed before the table, and another program may still be making some.
      const isTaken = await this.hasAny(table, { _id: { $gte: first, $lte: last } });
      if (!isTaken && first > 1) return first;
      const greatest = await this.#greatestNumber(table);
      // Records above all numbers that were given are older; those of others who were given one after us are not.
      if (!isTaken && greatest <= (await lastGiven(this.#db, table.id))) return first;
      await this.raiseSequence(table, greatest);
    }
  }

  async #greatestNumber(table: Table): Promise<number> {
    const numbers: Stage[] = [
      { $match: { _id: { $type: "number" } } },
      { $sort: { _id: -1 } },
      { $limit: 1 },
    ];
    const [greatest] = await this.read(table, [...numbers, { $project: { _id: 1 } }]);
    return Math.floor(Number(greatest?._id ?? 0));
  }

  /** Makes a table's sequence continue above this number. */
  async raiseSequence(table: Table, last: number): Promise<void> {
    await this.#refusing(table, () => raiseSequence(this.#db, table.id, last));
  }

  #collection(table: Table) {
    const name = table.collection;
    const make = () => this.#db.collection<BsonDocument>(name, this.#options);
    return getOrMake(this.#collections, name, make);
  }

  /** @param most how many documents it answers at most */
  #read(table: Table, pipeline: Stage[], most: number, limits?: ReadLimits): Promise<StoredRecord[]> {
    return untilRead(async () => {
      const all = await allOf(await this.#whole(table, pipeline, most, limits));
      if (all !== undefined) return all;
      return this.#worksOn
        ? this.#toItsEnd(table, pipeline, limits)
        : this.#cursor(table, pipeline, limits).toArray();
    });
  }

  /** The same as `readToItsEnd`, of what may be more than one message holds: it is over with the one under way. */
  async #toItsEnd(
    table: Table,
    pipeline: Stage[],
    { signal, ...limits }: Partial<ReadLimits> = {},
  ): Promise<StoredRecord[]> {
    const cursor = this.#cursor(table, pipeline, limits);
    const all: StoredRecord[] = [];
    try {
      while (signal?.aborted !== true && (await cursor.hasNext()))
        for (const document of cursor.readBufferedDocuments()) all.push(document);
      return all;
    } finally {
      await cursor.close();
      signal?.throwIfAborted();
    }
  }

  #raw(table: Table, pipeline: Stage[], most: number, limits?: ReadLimits): Promise<Answered | undefined> {
    return untilRead(() => this.#whole(table, pipeline, most, limits));
  }

  #whole(
    { collection }: Table,
    pipeline: Stage[],
    most: number,
    limits?: ReadLimits,
  ): Promise<Answered | undefined> {
    const readAll = this.#worksOn ? readToItsEnd : readWhole;
    return readAll(this.#db, { collection, pipeline, most, maxTimeMS: this.timeoutMs, ...limits });
  }

  #cursor(table: Table, pipeline: Stage[], limits?: Partial<ReadLimits>): AbstractCursor<StoredRecord> {
    const form = findForm(pipeline);
    if (form === undefined) return this.#aggregate(table, pipeline, limits);
    const { filter, ...options } = form;
    return this.#collection(table).find(filter, { ...options, ...this.#limits, ...limits });
  }

  #aggregate(table: Table, pipeline: Stage[], limits?: Partial<ReadLimits>) {
    return this.#collection(table).aggregate(pipeline, { ...this.#limits, ...limits });
  }

  async #writing<Result>(table: Table, call: () => Promise<Result>): Promise<Result> {
    return this.#refusing(table, () => call().catch(refuseTooLarge));
  }

  async #refusing<Result>(table: Table, call: () => Promise<Result>): Promise<Result> {
    try {
      return await call();
    } catch (error) {
      throw asRefusal(error, table);
    }
  }
}

/** An import may have brought the greatest number there is. */
function noNumbersLeft({ name }: Table): AppError {
  return new AppError("CONFLICT", `There are no numbers left for new records of "${name}".`);
}

/** Runs a read, and again when the database has ended it by itself: a table that is changed loses indexes. */
async function untilRead<Result>(read: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await read();
    } catch (error) {
      if (attempt >= READ_ATTEMPTS || !isInterrupted(error)) throw error;
    }
  }
}
