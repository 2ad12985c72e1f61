// Documents asked for by their ids -> one query for all that are asked for in the same turn of the event loop. Many
// callers at once then cost the server one command, and a single one waits for nobody: the turn is over when everything
// that had arrived is looked at.
import DataLoader from "dataloader";
import { LRUCache } from "lru-cache";
import { MongoError } from "mongodb";
import type { Table } from "../catalog/catalog.js";
import type { Stored } from "../catalog/column-types.js";
import type { Document } from "../query/lower/document.js";
import type { StoredRecord } from "../query/shape.js";

/** Ids of one query. A request for more has a query of its own. */
const MOST_IDS = 100;
/** Kinds of questions that are remembered. */
const MOST_KINDS = 500;

/** Runs a `find`. */
export type Find = (table: Table, filter: Document, fields: Document) => Promise<StoredRecord[]>;
/** An id as text, for one of the table. */
type IdText = (table: Table, id: unknown) => string;

export class GatheredReads {
  readonly #find: Find;
  readonly #idText: IdText;
  /** By all that makes two questions the same but for their ids. */
  readonly #loaders = new LRUCache<string, DataLoader<Stored, StoredRecord | undefined>>({ max: MOST_KINDS });

  constructor(find: Find, idText: IdText) {
    this.#find = find;
    this.#idText = idText;
  }

  /**
   * @param fields a projection
   * @returns the documents that there are, in any order
   */
  async read(table: Table, ids: readonly Stored[], fields: Document): Promise<StoredRecord[]> {
    if (ids.length > MOST_IDS) return this.#find(table, idsFilter(ids), fields);
    const loader = this.#loaderFor(table, fields);
    const found = await Promise.all(ids.map((id) => loader.load(id)));
    return found.filter((document) => document !== undefined);
  }

  #loaderFor(table: Table, fields: Document): DataLoader<Stored, StoredRecord | undefined> {
    const { collection, name, idColumn } = table;
    const key = JSON.stringify([collection, name, idColumn.type, fields]);
    const known = this.#loaders.get(key);
    if (known !== undefined) return known;
    const loader = new DataLoader((ids: readonly Stored[]) => this.#load(table, ids, fields), {
      ...{ cache: false, maxBatchSize: MOST_IDS },
      batchScheduleFn: (send) => void setImmediate(send),
    });
    this.#loaders.set(key, loader);
    return loader;
  }

  async #load(
    table: Table,
    ids: readonly Stored[],
    fields: Document,
  ): Promise<(StoredRecord | undefined | Error)[]> {
    const texts = ids.map((id) => this.#idText(table, id));
    const different = [...new Map(ids.map((id, at) => [texts[at], id])).values()];
    try {
      const documents = await this.#find(table, idsFilter(different), fields);
      const byId = new Map(documents.map((document) => [this.#idText(table, document._id), document]));
      return texts.map((text) => byId.get(text));
    } catch (error) {
      if (different.length === 1 || error instanceof MongoError) throw error;
      // A document that can't be decoded, by another program's doing, is the trouble of those alone who ask for it.
      return Promise.all(ids.map((id) => this.#loadAlone(table, id, fields)));
    }
  }

  async #loadAlone(table: Table, id: Stored, fields: Document): Promise<StoredRecord | undefined | Error> {
    return this.#find(table, idsFilter([id]), fields).then(
      ([document]) => document,
      (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
    );
  }
}

/** A single id is found without planning a query. */
export function idsFilter(ids: readonly Stored[]): Document {
  const [only, ...others] = ids;
  return only !== undefined && others.length === 0 ? { _id: { $eq: only } } : { _id: { $in: [...ids] } };
}
