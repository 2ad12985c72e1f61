// What was changed in tables, and what was there before: `_changes`, from the beginning of a change until the values that it
// removed are deleted.
import { type Collection, type Db, type Filter, ObjectId } from "mongodb";
import type { TableDefinition } from "../catalog/definition.js";

/** A change of tables. */
export interface TableChange {
  readonly id: string;
  /** The id of the table whose change was asked for. */
  readonly table: string;
  /** Definitions as they were: the table's own, unless it comes back, and those of tables that follow its new name. */
  readonly before: readonly TableDefinition[];
  /** Definitions as they are to be. */
  readonly after: readonly TableDefinition[];
  /** The tables that their relations led to, name -> id; earlier versions noted none. */
  readonly targets?: Readonly<Record<string, string>>;
  /** Ids of tables that are removed. */
  readonly removed: readonly string[];
  /** It took something away that `undo` can bring back. */
  readonly undoable: boolean;
  /** The change that this one undoes. */
  readonly undoes: string | null;
  /** Whatever it has moved in adopted documents is noted in them; earlier versions noted nothing. */
  readonly isNoted?: boolean;
  /**
   * The version of the catalog by which it was made: grows from change to change, whoever makes them; earlier versions noted
   * none.
   */
  readonly version?: number;
  readonly at: Date;
}

/** A change whose remains are swept. */
export type SweptChange = TableChange & { readonly isUndone: boolean };

export interface ChangeDocument extends Omit<TableChange, "id"> {
  _id: ObjectId;
  /**
   * `preparing`: nobody sees it yet, and after a crash it is given up. `done`: it is in use. `undone`: it was in use and was
   * undone. `sweeping`: what it took away is being removed for good.
   */
  state: "preparing" | "done" | "undone" | "sweeping";
  /** When the sweeping began, by the clock of the instance that sweeps. */
  sweptAt?: Date;
}

/** Ids are made before the lock is waited for, by different clocks. */
const LAST_FIRST = { version: -1, _id: -1 } as const;

/** More deleted tables of one name nobody looks through. */
const MOST_DELETED = 10;

interface Deletion extends Pick<TableChange, "removed"> {
  readonly before: readonly Pick<TableDefinition, "id" | "name">[];
}

/** A sweep that has taken this long was left by an instance that is gone. */
const SWEEPING_MS = 60 * 60 * 1000;

export interface ChangeStore {
  /** Notes a change before anything of it is written. */
  begin(change: TableChange): Promise<void>;
  /** The change that a lock names; undefined when it had hardly begun. */
  find(id: string): Promise<TableChange | undefined>;
  /** Notes that a change is in use, and that the one it undoes is undone. */
  finish(change: Pick<TableChange, "id" | "undoes">): Promise<void>;
  /** Forgets a change that was given up. */
  forget(id: string): Promise<void>;
  /** The change of a table that was made last since `since` that can be undone. */
  lastUndoable(table: string, since: Date): Promise<TableChange | undefined>;
  /** All changes of a table since `since` that can be undone, the last one first. */
  undoable(table: string, since: Date): Promise<TableChange[]>;
  /** All changes of a table that have not been swept yet, also one that is not finished: it may be in use by now. */
  madeOf(table: string): Promise<TableChange[]>;
  /** Ids of the tables that were deleted last since `since` under this name and can come back, the last one first. */
  deletedAs(name: string, since: Date): Promise<string[]>;
  /** Notes that nothing of a change can be undone any more; what it took away is kept as long as before. */
  pass(id: string): Promise<void>;
  /** Fields in which a member's values were before changes that have not been swept yet. */
  formerFields(table: string, member: string): Promise<string[]>;
  /** Is a table that was deleted kept for an undo? */
  keepsTable(table: string): Promise<boolean>;
  /** Is the collection kept for a deleted table? An adopted one is there for others, with or without that table. */
  keepsCollection(collection: string): Promise<boolean>;
  /** Ids of the tables, deleted and kept for an undo, whose records are in the collection, adopted or not. */
  keptIn(collection: string): Promise<string[]>;
  /**
   * Takes one change from before `until` whose remains should be swept, or one whose sweeping began so long ago that it was
   * interrupted. One that was undone stays that: it may have remains that did not come back.
   */
  takeForSweeping(until: Date, now: Date): Promise<SweptChange | undefined>;
  /** All other changes of these tables whose remains are still there. */
  othersOf(change: Pick<TableChange, "id" | "before">): Promise<TableChange[]>;
}

export function makeChangeStore(db: Db): ChangeStore {
  const changes: Collection<ChangeDocument> = db.collection<ChangeDocument>("_changes");
  const byId = (id: string) => ({ _id: ObjectId.createFromHexString(id) });
  const toChange = ({ _id, state: _state, sweptAt: _sweptAt, ...change }: ChangeDocument): TableChange => ({
    id: _id.toHexString(),
    ...change,
  });
  const undoableOf = (which: Filter<ChangeDocument>, since: Date) =>
    changes.find({ ...which, undoable: true, state: "done", at: { $gt: since } }).sort(LAST_FIRST);
  return {
    async begin({ id, ...change }) {
      await changes.insertOne({ ...byId(id), ...change, state: "preparing" });
    },
    async find(id) {
      const found = await changes.findOne(byId(id));
      return found === null ? undefined : toChange(found);
    },
    async finish({ id, undoes }) {
      if (undoes !== null) await changes.updateOne(byId(undoes), { $set: { state: "undone" } });
      // A process that is late here must not bring back what was undone meanwhile.
      await changes.updateOne({ ...byId(id), state: "preparing" }, { $set: { state: "done" } });
    },
    async forget(id) {
      await changes.deleteOne(byId(id));
    },
    async lastUndoable(table, since) {
      const [last] = await undoableOf({ table }, since).limit(1).toArray();
      return last && toChange(last);
    },
    async undoable(table, since) {
      return (await undoableOf({ table }, since).toArray()).map(toChange);
    },
    async madeOf(table) {
      return (await changes.find({ table }).toArray()).map(toChange);
    },
    async deletedAs(name, since) {
      const deletions = { removed: { $ne: [] }, before: { $elemMatch: { name } } };
      const told = { removed: 1, "before.id": 1, "before.name": 1 };
      const found = await undoableOf(deletions, since).limit(MOST_DELETED).project<Deletion>(told).toArray();
      return found.flatMap(({ before, removed }) =>
        removed.filter((id) => before.some((each) => each.id === id && each.name === name)),
      );
    },
    async pass(id) {
      await changes.updateOne(byId(id), { $set: { undoable: false } });
    },
    async formerFields(table, member) {
      const known = await changes.find({ table }, { projection: { before: 1 } }).toArray();
      const fields = known.flatMap(
        ({ before }) => before.find(({ id }) => id === table)?.storage.fields[member] ?? [],
      );
      return [...new Set(fields)];
    },
    async keepsTable(table) {
      return (await changes.findOne({ removed: table, state: { $ne: "undone" } })) !== null;
    },
    async keepsCollection(collection) {
      // Also by a deletion that has yet to be tidied up: its table must not be seen any more.
      const before = { $elemMatch: { "storage.collection": collection, "storage.adopted": { $ne: true } } };
      return (await changes.findOne({ removed: { $ne: [] }, before, state: { $ne: "undone" } })) !== null;
    },
    async keptIn(collection) {
      const before = { $elemMatch: { "storage.collection": collection } };
      const deletions = { removed: { $ne: [] }, before, state: { $ne: "undone" } } as const;
      const removed = await changes.find(deletions, { projection: { removed: 1 } }).toArray();
      return removed.flatMap((change) => change.removed);
    },
    async takeForSweeping(until, now) {
      const begun = new Date(now.getTime() - SWEEPING_MS);
      const free = { state: { $in: ["sweeping", "undone"] as const }, sweptAt: { $not: { $gt: begun } } };
      const found = await changes.findOneAndUpdate(
        { $or: [{ state: "done" }, free], at: { $lte: until } },
        [{ $set: { state: { $cond: [{ $eq: ["$state", "undone"] }, "undone", "sweeping"] }, sweptAt: now } }],
        { sort: { _id: 1 } },
      );
      return found === null ? undefined : { ...toChange(found), isUndone: found.state === "undone" };
    },
    async othersOf({ id, before }) {
      const tables = before.map((table) => table.id);
      const others = { "before.id": { $in: tables }, _id: { $ne: ObjectId.createFromHexString(id) } };
      return (await changes.find(others).toArray()).map(toChange);
    },
  };
}
