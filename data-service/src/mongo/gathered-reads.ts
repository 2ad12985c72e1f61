// Documents asked for by their ids -> one query for all that are asked for in the same turn of the event loop.
import { MongoError } from "mongodb";
import type { Table } from "../catalog/catalog.js";
import { mixedIdText } from "../catalog/mixed-id.js";
import type { Stored } from "../catalog/stored.js";
import type { Document, StoredRecord } from "../query/lower/document.js";
import { asError, MOST_AT_ONCE, TurnLoaders } from "./turn-loader.js";

/** Finds the documents with these ids. @returns undefined when they are too large to be held all at once */
export type Find = (
  table: Table,
  ids: readonly Stored[],
  fields: Document,
) => Promise<StoredRecord[] | undefined>;
/** An id of the table as text. */
type IdText = (table: Table, id: unknown) => string;

/** What was asked for at once is too large, maybe only because of what others asked for. */
class TooLarge extends Error {}

export class GatheredReads {
  readonly #find: Find;
  readonly #idText: IdText;
  /** By everything that makes two questions the same except for their ids. */
  readonly #loaders = new TurnLoaders<Stored, StoredRecord | undefined>();

  constructor(find: Find, idText: IdText) {
    this.#find = find;
    this.#idText = idText;
  }

  /**
   * @param fields a projection
   * @returns the documents that exist, in any order; undefined when they are too large together with what others asked for
   */
  async read(table: Table, ids: readonly Stored[], fields: Document): Promise<StoredRecord[] | undefined> {
    // A request for more has a query to itself.
    if (ids.length > MOST_AT_ONCE) return this.#find(table, ids, fields);
    const { collection, name, idColumn } = table;
    const kind = JSON.stringify([collection, name, idColumn.type, fields]);
    const loader = this.#loaders.of(kind, (some) => this.#load(table, some, fields));
    try {
      const found = await Promise.all(ids.map((id) => loader.load(id)));
      return found.filter((document) => document !== undefined);
    } catch (error) {
      if (error instanceof TooLarge) return undefined;
      throw error;
    }
  }

  async #load(
    table: Table,
    ids: readonly Stored[],
    fields: Document,
  ): Promise<(StoredRecord | undefined | Error)[]> {
    // Links of adopted collections may be text where ids are not: texts that differ here may mean the same id in a table.
    const texts = ids.map((id) => mixedIdText(id));
    const asked = new Map(ids.map((id, at) => [texts[at], id]));
    const different = [...asked.values()];
    try {
      const documents = await this.#find(table, different, fields);
      if (documents === undefined) return ids.map(() => new TooLarge());
      const byText = new Map(documents.map((document) => [mixedIdText(document._id), document]));
      const answers = texts.map((text) => byText.get(text));
      const others = [...byText].flatMap(([text, document]) => (asked.has(text) ? [] : [document]));
      return others.length === 0 ? answers : this.#withOthers(table, ids, fields, answers, others);
    } catch (error) {
      if (different.length === 1 || error instanceof MongoError) throw error;
      // A document that can't be decoded, because of another program, is trouble only for those who ask for it.
      return Promise.all(ids.map((id) => this.#loadAlone(table, id, fields)));
    }
  }

  /**
   * A number may equal a number of another kind: a document that matches no text belongs to the id that the table makes of
   * its own.
   * @param others documents that match no text
   */
  async #withOthers(
    table: Table,
    ids: readonly Stored[],
    fields: Document,
    answers: readonly (StoredRecord | undefined)[],
    others: readonly StoredRecord[],
  ): Promise<(StoredRecord | undefined | Error)[]> {
    const byId = new Map(others.map((document) => [this.#idText(table, document._id), document]));
    const all = ids.map((id, at) => answers[at] ?? byId.get(this.#idText(table, id)));
    if (others.every((document) => all.includes(document))) return all;
    // Only the database can tell whose the rest is.
    return Promise.all(ids.map((id, at) => all[at] ?? this.#loadAlone(table, id, fields)));
  }

  async #loadAlone(table: Table, id: Stored, fields: Document): Promise<StoredRecord | undefined | Error> {
    return this.#find(table, [id], fields).then((found) => found?.[0], asError);
  }
}
