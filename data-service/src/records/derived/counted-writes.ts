// The writes that can change how many children a record has: each keeps the numbers of counted relations exact.
// Tables without such relations are written straight away.
import type { ObjectId } from "bson";
import { type Counter, ownCounters, type Relation, relationIn, type Table } from "../../catalog/catalog.js";
import { COLUMN_TYPES } from "../../catalog/column-types.js";
import { MOVES_FIELD, OWN_FIELDS, VERSION_FIELD } from "../../catalog/own-fields.js";
import type { Stored } from "../../catalog/stored.js";
import type { Counted, CountStore, Delta } from "../../mongo/count-store.js";
import { throwAway } from "../../mongo/driver-errors.js";
import type { RecordStore, Updated } from "../../mongo/record-store.js";
import { asStored, linksIn, stillHas } from "../../query/as-read.js";
import { allOf, type Document, type StoredRecord } from "../../query/lower/document.js";
import { linksElsewhere, stillLinks } from "../../query/lower/links.js";
import { refuseContended, untilStill } from "../../until-still.js";
import { mayStillBeDone } from "../whole/uncertain.js";

/** What an update does to one document. */
export interface FieldChange {
  readonly set: Document;
  readonly unset: readonly string[];
  /** By how much to raise MOVES_FIELD, the count of changes that no request made to the record itself. */
  readonly moves?: number;
}

/** When a record is to be changed at all. */
export interface Guard {
  /** While it satisfies this; `{}` = always. */
  readonly condition: Document;
  /** While it does not have this field, which holds an object where it is there (see leaving). */
  readonly freeOf?: string | undefined;
}

/**
 * Names the request that has set or removed the link in `field`, where that may have to be taken back: so it recognizes its
 * own work. Whoever else writes the link removes the name, except those that let go of a link to what no longer exists.
 */
export function movedField(field: string): string {
  return OWN_FIELDS.moved.prefix + field;
}

/** A record whose links others keep changing is tried this often before the request gives up. */
const ATTEMPTS = 100;

interface Store
  extends Pick<
    RecordStore,
    "read" | "updateById" | "updateAndGet" | "updateMany" | "pull" | "push" | "remove"
  > {
  /** @param areBrought whether the ids were not made for them, so that other records may have had them */
  insert(table: Table, documents: readonly Document[], areBrought: boolean): Promise<void>;
}

export class CountedWrites {
  readonly #store: Store;
  readonly #counts: Pick<CountStore, "mark" | "settle" | "abandon">;

  constructor(store: Store, counts: Pick<CountStore, "mark" | "settle" | "abandon">) {
    this.#store = store;
    this.#counts = counts;
  }

  /** @param areBrought whether their ids were not made for them */
  async insert(table: Table, documents: readonly Document[], areBrought = false): Promise<void> {
    const parents = documents.flatMap((document) => parentsOf(ownCounters(table), document));
    await this.#counting(parents, async () => {
      await this.#store.insert(table, documents, areBrought);
      return parents.map((parent) => ({ ...parent, by: 1 }));
    });
  }

  /**
   * Changes one record, if the guard holds.
   * @param fields what to return of it
   * @returns undefined when there is no such record for which it holds
   */
  async update(
    table: Table,
    id: Stored,
    { set, unset, moves = 0 }: FieldChange,
    { condition, freeOf }: Guard,
    fields: Document = { _id: 1 },
  ): Promise<Updated | undefined> {
    const change = changeOf({ set, unset: [...unset, ...movesIn(table, { set, unset })], moves });
    const all = freeOf === undefined ? condition : allOf([{ [freeOf]: { $exists: false } }, condition]);
    const touched = ownCounters(table).filter(
      ({ children: { field } }) => field in set || unset.includes(field),
    );
    if (touched.length === 0 && Object.keys(condition).length === 0)
      return this.#store.updateById(table, id, change, fields, freeOf);
    const writeIf = async (which: Document): Promise<Updated | undefined> => {
      const document = await this.#store.updateAndGet(table, allOf([which, all]), change, fields);
      return document && { document };
    };
    if (touched.length === 0) return writeIf({ _id: id });
    return untilUnchanged(table, async () => {
      const [before] = await this.#readLinks(table, touched, [id], all);
      if (before === undefined) return undefined;
      const [former, next] = [parentsOf(touched, before), parentsOf(touched, set)];
      const deltas = [
        ...former.map((each) => ({ ...each, by: -1 })),
        ...next.map((each) => ({ ...each, by: 1 })),
      ];
      let found: Updated | undefined;
      await this.#counting([...former, ...next], async () => {
        found = await writeIf({ _id: id, ...sameLinks(touched, before) });
        return found === undefined ? [] : deltas;
      });
      // Somebody was faster: the next look tells whether only its links have changed, or the guard no longer holds.
      if (found === undefined) return false;
      // In a table that links to itself the record may be its own parent, whose number was changed after it.
      return touched.some(({ parents }) => parents === table.collection) ? { document: undefined } : found;
    });
  }

  /** Changes fields that are no links, in all records that are chosen. @returns how many are different now */
  async updateMany(table: Table, which: Document, change: FieldChange): Promise<number> {
    return this.#store.updateMany(table, which, changeOf(change));
  }

  /**
   * Makes the chosen records link to `id`, or to nothing, whatever they linked to before.
   * @param by names the request in those that did not (see movedField); null = nobody, undefined = whoever it was
   */
  async moveLink(
    table: Table,
    field: string,
    which: Document,
    id: Stored | null,
    by?: ObjectId | null,
  ): Promise<void> {
    const named = by === undefined ? {} : { [movedField(field)]: by };
    const change = changeOf({ ...fieldChange({ [field]: id, ...named }), moves: 1 });
    const counter = ownCounter(table, field);
    const link = relationIn(table, field)?.link ?? { field, list: false };
    const elsewhere = { $and: [which, linksElsewhere(link, id)] };
    if (counter === undefined) return void (await this.#store.updateMany(table, elsewhere, change));
    await untilUnchanged(table, async () => {
      const formers = await this.#linksOf(table, field, elsewhere);
      for (const former of formers) {
        const parents = [former, id]
          .flatMap((each) => linksIn(each, link))
          .map((each) => ({ counter, id: each }));
        await this.#counting(parents, async () => {
          const still = { $and: [which, stillLinks(link, former)] };
          const changed = await this.#store.updateMany(table, still, change);
          return parents.map((parent) => ({ ...parent, by: parent.id === former ? -changed : changed }));
        });
      }
      return formers.length === 0;
    });
  }

  /** Adds `id` to the list of links of the chosen records. */
  async addToList(table: Table, field: string, which: Document, id: Stored): Promise<void> {
    const counter = ownCounter(table, field);
    const parents = counter === undefined ? [] : [{ counter, id }];
    await this.#counting(parents, async () => {
      const lacking = { $and: [which, { [field]: { $ne: id } }] };
      const changed = await this.#store.push(table, lacking, field, id);
      return parents.map((parent) => ({ ...parent, by: changed }));
    });
  }

  /** Takes ids out of the lists of links of the chosen records. */
  async takeFromList(table: Table, field: string, which: Document, ids: readonly Stored[]): Promise<void> {
    const counter = ownCounter(table, field);
    if (counter === undefined) return void (await this.#store.pull(table, which, field, ids));
    for (const id of ids) {
      const parents = [{ counter, id }];
      await this.#counting(parents, async () => {
        const changed = await this.#store.pull(table, { $and: [which, { [field]: id }] }, field, [id]);
        return parents.map((parent) => ({ ...parent, by: -changed }));
      });
    }
  }

  /** Deletes records, those of them that satisfy the condition. @returns how many went */
  async remove(table: Table, ids: readonly Stored[], condition: Document = {}): Promise<number> {
    const counters = ownCounters(table);
    if (counters.length === 0)
      return this.#store.remove(table, allOf([{ _id: { $in: [...ids] } }, condition]));
    let removed = 0;
    await untilUnchanged(table, async () => {
      const documents = await this.#readLinks(table, counters, ids, condition);
      for (const alike of groupByLinks(counters, documents))
        removed += await this.#removeAlike(table, counters, alike, condition);
      // Once all have gone, a look that fails would hide that they have.
      return documents.length === 0 || removed === ids.length;
    });
    return removed;
  }

  /** Deletes records with the same links; the ones that have others by now stay. */
  async #removeAlike(
    table: Table,
    counters: readonly Counter[],
    alike: readonly StoredRecord[],
    condition: Document,
  ): Promise<number> {
    const [first] = alike;
    if (first === undefined) return 0;
    const parents = parentsOf(counters, first);
    let removed = 0;
    await this.#counting(parents, async () => {
      const which = { _id: { $in: alike.map(({ _id }) => asStored(_id)) }, ...sameLinks(counters, first) };
      removed = await this.#store.remove(table, allOf([which, condition]));
      return parents.map((parent) => ({ ...parent, by: -removed }));
    });
    return removed;
  }

  async #counting(parents: readonly Counted[], write: () => Promise<readonly Delta[]>): Promise<void> {
    if (parents.length === 0) return void (await write());
    const mark = await this.#counts.mark(distinct(parents));
    let deltas: readonly Delta[];
    try {
      deltas = await write();
    } catch (error) {
      // Part of it may have been written, or may still be. If we can't count now, the mark stays for later.
      await this.#counts.abandon(mark, !mayStillBeDone(error)).catch(() => undefined);
      throw error;
    }
    await this.#counts.settle(mark, summed(deltas)).catch(throwAway);
  }

  async #readLinks(
    table: Table,
    counters: readonly Counter[],
    ids: readonly Stored[],
    condition: Document,
  ): Promise<StoredRecord[]> {
    const project = Object.fromEntries(counters.map(({ children }) => [children.field, 1]));
    const which = allOf([{ _id: { $in: [...ids] } }, condition]);
    return this.#store.read(table, [{ $match: which }, { $project: { _id: 1, ...project } }]);
  }

  /** What the chosen records link to; null stands for nothing. */
  async #linksOf(table: Table, field: string, which: Document): Promise<(Stored | null)[]> {
    const groups = await this.#store.read(table, [{ $match: which }, { $group: { _id: `$${field}` } }]);
    return groups.map(({ _id }) => (_id === undefined || _id === null ? null : asStored(_id)));
  }
}

/** @param act returns false as long as links have changed since they were read. @throws AppError 503 */
function untilUnchanged<Result>({ name }: Table, act: () => Promise<Result | false>): Promise<Result> {
  return untilStill(act, { attempts: ATTEMPTS, gaveUp: refuseContended(name) });
}

/** Null stands for no value. */
function fieldChange(values: Readonly<Record<string, Stored | null>>): FieldChange {
  const entries = Object.entries(values);
  const unset = entries.flatMap(([field, value]) => (value === null ? [field] : []));
  return { set: Object.fromEntries(entries.filter(([field]) => !unset.includes(field))), unset };
}

/** The fields that say who has set the links that are changed. */
function movesIn(table: Table, { set, unset }: FieldChange): string[] {
  return (
    linksChanged(table, { set, unset })
      .filter(({ list }) => !list)
      .map(({ field }) => movedField(field))
      // A change that may have to be taken back, or takes one back, sets these itself.
      .filter((moved) => !(moved in set) && !unset.includes(moved))
  );
}

/** The links among the fields of a change. */
export function linksChanged({ relations }: Table, { set, unset }: FieldChange): Relation["link"][] {
  return [...relations.values()]
    .map(({ link }) => link)
    .filter(({ on, field }) => on === "self" && (field in set || unset.includes(field)));
}

/** A changed link is a changed record. */
function changeOf({ set, unset, moves = 0 }: FieldChange) {
  return {
    ...(Object.keys(set).length === 0 ? {} : { $set: set }),
    ...(unset.length === 0 ? {} : { $unset: Object.fromEntries(unset.map((field) => [field, ""])) }),
    $inc: { [VERSION_FIELD]: 1, ...(moves === 0 ? {} : { [MOVES_FIELD]: moves }) },
  };
}

function ownCounter(table: Table, field: string): Counter | undefined {
  return ownCounters(table).find(({ children }) => children.field === field);
}

/** Each once: a list that another program wrote may hold an id twice, or null. */
function parentsOf(counters: readonly Counter[], document: StoredRecord): Counted[] {
  const parents = counters.flatMap((counter) =>
    linksIn(document[counter.children.field], counter.children).map((id) => ({ counter, id })),
  );
  return distinct(parents.filter(({ id }) => (id ?? null) !== null));
}

/** The condition that a document still has these links. */
function sameLinks(counters: readonly Counter[], document: StoredRecord): Document {
  return stillHas(
    document,
    counters.map(({ children }) => children.field),
  );
}

function groupByLinks(counters: readonly Counter[], documents: readonly StoredRecord[]): StoredRecord[][] {
  const groups = new Map<string, StoredRecord[]>();
  for (const document of documents) {
    const key = linksText(counters, document);
    groups.set(key, [...(groups.get(key) ?? []), document]);
  }
  return [...groups.values()];
}

/** The same for documents of which `sameLinks` says the same, lists that lead nowhere included. */
function linksText(counters: readonly Counter[], document: StoredRecord): string {
  const text = (value: unknown): unknown => (Array.isArray(value) ? value.map(text) : textOf(value));
  return JSON.stringify(counters.map(({ children: { field } }) => text(document[field])));
}

function keyOf({ counter, id }: Counted): string {
  return `${counter.id} ${textOf(id)}`;
}

/** Whatever the type of an id is: the text says which one it is. */
function textOf(id: unknown): string {
  return String(COLUMN_TYPES.mixed.toJson(id));
}

function distinct(parents: readonly Counted[]): Counted[] {
  return [...new Map(parents.map((parent) => [keyOf(parent), parent])).values()];
}

function summed(deltas: readonly Delta[]): Delta[] {
  const sums = new Map<string, Delta>();
  for (const delta of deltas) {
    const key = keyOf(delta);
    sums.set(key, { ...delta, by: delta.by + (sums.get(key)?.by ?? 0) });
  }
  return [...sums.values()];
}
