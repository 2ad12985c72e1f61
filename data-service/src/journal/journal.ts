// Records changes in the journal: announced before they are made, published when they are, repaired after a crash.
import type { Logger } from "@portico/shared/logger";
import type { ObjectId } from "bson";
import type { Table } from "../catalog/catalog.js";
import { idText } from "../catalog/record-ids.js";
import type { Stored } from "../catalog/stored.js";
import { getOrMake } from "../get-or-make.js";
import type { JournalStore } from "../mongo/journal-store.js";
import type { RecordStore } from "../mongo/record-store.js";
import type { StoredRecord } from "../query/lower/document.js";
import { until } from "../until.js";
import {
  announcementOf,
  CHANGE_FIELD,
  type Entry,
  entryOf,
  lastChangeOf,
  type Pending,
  takenBackOf,
} from "./entry.js";

export interface JournalDeps {
  readonly journal: JournalStore;
  readonly store: Pick<RecordStore, "read" | "existing">;
  readonly logger: Logger;
  /** Tells the followers in this process. */
  readonly published: () => void;
}

/** How many entries are written to the journal at once. */
const MOST_AT_ONCE = 200;
/** Entries known to be in the journal: for a record that was changed a moment ago, the database need not be asked. */
const MOST_KNOWN = 10_000;

/** How long the end of a record waits for whoever is about to delete it to say so. */
const DELETING_MS = 1_000;
const LOOK_MS = 25;

interface Waiting {
  readonly entry: Entry;
  readonly isKept: boolean;
  readonly resolve: (isNew: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** What tells of announcements of dead processes whether their changes may still come. */
interface Left {
  /** May the database still do what that process has sent? */
  readonly mayBeMade: (pending: Pending) => boolean;
  /** Is this table, which is not there, deleted and kept? What was announced for it is seen to when it comes back. */
  readonly isKept: (table: string) => Promise<boolean>;
}

export class Journal {
  readonly #deps: JournalDeps;
  readonly #waiting: Waiting[] = [];
  readonly #known = new Set<string>();
  #isWriting = false;

  constructor(deps: JournalDeps) {
    this.#deps = deps;
  }

  announce(pending: readonly Pending[]): Promise<void> {
    return this.#deps.journal.announce(pending.map(announcementOf));
  }

  /** When records that had one of these ids were last removed, by the ids' texts, in a table with a history. */
  async lastRemovals(table: Table, ids: readonly Stored[]): Promise<ReadonlyMap<string, Date>> {
    if (table.history !== true) return new Map();
    const removals = await this.#deps.journal.lastRemovals(table.id, ids);
    return new Map(removals.map(({ record, at }) => [idText(table, record), at]));
  }

  /** Forgets announced changes that were certainly not made. If this fails, it only costs a repair later. */
  async withdraw(pending: readonly Pending[]): Promise<void> {
    await this.#deps.journal.withdraw(pending.map(({ id }) => id)).catch(() => undefined);
  }

  /**
   * Resolves when the entries are in the journal, on disk. All that wait at the same moment are written together.
   * @param isKept whether they become a part of the history
   * @returns those that nobody had published before
   */
  async publish(
    table: Table,
    entries: readonly Entry[],
    isKept = table.history === true,
  ): Promise<readonly Entry[]> {
    const written = entries.map(
      (entry) =>
        new Promise<boolean>((resolve, reject) => {
          this.#waiting.push({ entry, isKept, resolve, reject });
        }),
    );
    void this.#write();
    const isNew = await Promise.all(written);
    return entries.filter((_, at) => isNew[at]);
  }

  /**
   * Publishes the last changes of records that are about to be changed again, if that has not been done yet: this way the
   * changes of one record are in the journal in their order, and none is lost with the process that made it.
   */
  async complete(table: Table, documents: readonly StoredRecord[]): Promise<void> {
    const byChange = new Map(
      documents.flatMap((document) => {
        const last = lastChangeOf(document);
        const isOpen = last !== undefined && !this.#known.has(last.id.toHexString());
        return isOpen ? [[last.id.toHexString(), { id: last.id, document }] as const] : [];
      }),
    );
    if (byChange.size === 0) return;
    const pending = await this.#deps.journal.announced([...byChange.values()].map(({ id }) => id));
    const entries = pending.map((each) =>
      entryOf(table, each, byChange.get(each.id.toHexString())?.document),
    );
    const told = await this.publish(table, entries);
    for (const id of byChange.keys()) this.#remember(id);
    // Who published the others has seen to it, or made them for good: their end may be a deletion that is still to be told.
    await this.#tellGone(table, told);
  }

  /**
   * For new records that were taken back, as if they had never been: others may have told of them already, and then it is told
   * that they have gone. Whoever tells of them from now on finds that out (see complete).
   * @param made how their making was announced
   * @param ends how the end of those was announced that followers may have read: they are told of it also where nobody has told
   * of the making, and then the history has nothing of either
   */
  async takenBack(table: Table, made: readonly Pending[], ends: readonly Pending[]): Promise<void> {
    const toldOf = () => this.#deps.journal.entries(made.map(({ id }) => id));
    const told = await toldOf();
    const toldIds = new Set(told.map(({ record }) => idText(table, record)));
    const isTold = ({ record }: Pending): boolean => toldIds.has(idText(table, record));
    // Before the end of the others is told: whoever does that waits for what is announced of it.
    await this.withdraw(ends.filter(isTold));
    const entries = ends.filter((each) => !isTold(each)).map((each) => entryOf(table, each));
    await this.publish(table, entries, false);
    // Whoever has told of another one meanwhile waits only for a while for what is announced of it.
    await this.#tellGone(table, entries.length === 0 ? told : await toldOf());
  }

  /** Tells of the end of records whose making was told, unless they are there, or their end is known. */
  async #tellGone(table: Table, told: readonly Entry[]): Promise<void> {
    const { journal, store } = this.#deps;
    const made = told.filter(({ kind }) => kind === "created");
    if (made.length === 0) return;
    const there = await store.existing(
      table,
      made.map(({ record }) => record),
    );
    const gone: Entry[] = [];
    for (const each of made.filter(({ record }) => !there.has(idText(table, record))))
      if (!(await this.#isDeleting(each)) && !(await journal.isDeletedAfter(each)))
        gone.push(takenBackOf(each));
    await this.publish(table, gone);
  }

  /** Will whoever has announced its deletion, or a repair, tell of that? Most have done so a moment later, or found it gone. */
  #isDeleting({ table, record }: Entry): Promise<boolean> {
    const isOver = async () =>
      (await this.#deps.journal.isDeletionAnnounced(table, record)) ? false : "over";
    const patience = { patienceMs: DELETING_MS, everyMs: LOOK_MS, tooLate: () => "late" };
    return until(isOver, patience).then((end) => end === "late");
  }

  /**
   * Publishes changes that dead processes made but did not publish, and forgets those that they only announced.
   * @param ids of changes that were announced by such processes
   * @param tables by id; what was announced for others is forgotten, unless they may come back
   * @returns how many changes were published late
   */
  async repair(ids: readonly ObjectId[], tables: ReadonlyMap<string, Table>, left: Left): Promise<number> {
    let told = 0;
    let open: readonly Pending[] = await this.#deps.journal.announced(ids);
    // Of several changes of one record, the later ones are looked at when it is known what became of the earlier ones.
    while (open.length > 0) {
      const first = new Map<string, Pending>();
      for (const each of open) getOrMake(first, `${each.table} ${String(each.record)}`, () => each);
      const some = [...first.values()];
      for (const id of new Set(some.map(({ table }) => table))) {
        const pending = some.filter(({ table }) => table === id);
        const table = tables.get(id);
        if (table !== undefined) told += await this.#repairIn(table, pending, left);
        else if (!(await left.isKept(id))) await this.withdraw(pending);
      }
      open = open.filter((each) => !some.includes(each));
    }
    return told;
  }

  /** @param pending of records of one table, one of each */
  async #repairIn(table: Table, pending: readonly Pending[], { mayBeMade }: Left): Promise<number> {
    const made = await this.#madeBy(table, pending);
    await this.publish(table, made);
    const published = idsOf(made);
    const others = pending.filter(({ id }) => !published.has(id.toHexString()));
    const told = await this.#toldBefore(table, others);
    const waiting = others.filter((each) => !told.has(each.id.toHexString()) && mayBeMade(each));
    await this.withdraw(pending.filter((each) => !waiting.includes(each)));
    return made.length;
  }

  /**
   * Those of the changes that were published, and built on since. A crash of the database may have lost their history alone, and
   * that of a process the end of a record that it took back; both are completed.
   */
  async #toldBefore(table: Table, pending: readonly Pending[]): Promise<ReadonlySet<string>> {
    if (pending.length === 0) return new Set();
    const { journal } = this.#deps;
    const told = await journal.entries(pending.map(({ id }) => id));
    if (told.length > 0 && table.history === true) await journal.keep(told);
    await this.#tellGone(table, told);
    return idsOf(told);
  }

  /**
   * The entries of those announced changes that were made. If others have built on one, it is in the journal, because they
   * published it first; and if the record was changed and deleted after the announcement, it is gone as well.
   */
  async #madeBy(table: Table, pending: readonly Pending[]): Promise<readonly Entry[]> {
    const { journal, store } = this.#deps;
    const deletions = pending.filter(({ kind }) => kind === "deleted");
    const there = await store.existing(
      table,
      deletions.map(({ record }) => record),
    );
    const documents = await this.#asLeftBy(table, pending);
    const made: Entry[] = [];
    for (const each of pending) {
      if (each.kind !== "deleted") {
        const document = documents.get(idText(table, each.record));
        const isLast = document !== undefined && lastChangeOf(document)?.id.equals(each.id) === true;
        if (isLast) made.push(entryOf(table, each, document));
      } else if (!there.has(idText(table, each.record)) && !(await journal.isDeletedAfter(each)))
        made.push(entryOf(table, each));
    }
    return made;
  }

  /** Records whose last change is one of these. */
  async #asLeftBy(table: Table, pending: readonly Pending[]): Promise<ReadonlyMap<string, StoredRecord>> {
    const which = {
      _id: { $in: pending.map(({ record }) => record) },
      [`${CHANGE_FIELD}.e`]: { $in: pending.map(({ id }) => id) },
    };
    const found = await this.#deps.store.read(table, [{ $match: which }]);
    return new Map(found.map((document) => [idText(table, document._id), document]));
  }

  async #write(): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    while (this.#waiting.length > 0) await this.#writeBatch(this.#waiting.splice(0, MOST_AT_ONCE));
    this.#isWriting = false;
  }

  async #writeBatch(batch: readonly Waiting[]): Promise<void> {
    const { journal, logger, published } = this.#deps;
    const ids = batch.map(({ entry }) => entry.id);
    let added: ReadonlySet<Entry>;
    try {
      const appended = await journal.append(batch.map(({ entry }) => entry));
      added = appended.added;
      const written = new Set(appended.written);
      const kept = batch.filter(({ entry, isKept }) => isKept && written.has(entry));
      if (kept.length > 0) await journal.keep(kept.map(({ entry }) => entry));
    } catch (error) {
      // The changes stay announced; whoever changes the records next, or the next repair, publishes them.
      for (const each of batch) each.reject(error);
      return;
    }
    for (const { entry, resolve } of batch) {
      this.#remember(entry.id.toHexString());
      resolve(added.has(entry));
    }
    published();
    // Nobody waits for this: whoever looks finds in the journal what stays announced.
    journal.withdraw(ids).catch((err: unknown) => logger.warn({ err }, "the journal was not tidied up"));
  }

  #remember(id: string): void {
    this.#known.add(id);
    if (this.#known.size <= MOST_KNOWN) return;
    const [oldest] = this.#known;
    if (oldest !== undefined) this.#known.delete(oldest);
  }
}

function idsOf(changes: readonly Pick<Entry, "id">[]): ReadonlySet<string> {
  return new Set(changes.map(({ id }) => id.toHexString()));
}
