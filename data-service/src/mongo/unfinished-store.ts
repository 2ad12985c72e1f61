// Notes of requests that write more than once: `_unfinished` says how to take back what was written, `_deletes` what is
// deleted and where links to it may be left. A process that dies leaves its notes (docs/decisions/017-whole-requests.md).
import type { Collection, Db, ObjectId } from "mongodb";
import type { Stored } from "../catalog/column-types.js";
import type { UndoStep } from "../records/whole/undo.js";

/** The request of an Idempotency-Key: see records/write/once. */
export interface OnceOwner {
  readonly key: string;
  readonly owner: string;
}

/** Writes that are not known to be whole. */
export interface Unfinished {
  readonly id: ObjectId;
  /** The process that works on it. */
  readonly instance: string;
  readonly at: Date;
  /** Whole or not is said by the entry of this key. */
  readonly once?: OnceOwner;
  readonly steps: readonly UndoStep[];
  /** They are whole, or taken back: the note itself is all that is left. */
  readonly done?: boolean;
}

/** Relations that a delete follows instead of being refused by them. */
export interface Followed {
  /** Their ids. */
  readonly relations: readonly string[];
  /** What they lead to was judged by the rights of the caller from here on; whoever ends the delete keeps it. */
  readonly since: Date;
}

/** Part of what one request deletes: records of one table. */
export interface Delete {
  readonly id: ObjectId;
  /** The table's id. */
  readonly table: string;
  readonly ids: readonly Stored[];
  /** Names the request, also in the records. */
  readonly group: ObjectId;
  readonly instance: string;
  readonly at: Date;
  /** It is known that it may go; until then nobody else ends what the request has begun. */
  readonly judged: boolean;
  /** The records that it begins with; with the others ends whoever ends it with these. */
  readonly first: boolean;
  /** It removes for good what its table would keep. */
  readonly permanent: boolean;
  /** That only in this table. */
  readonly permanentIn?: string;
  readonly follows?: Followed;
  /** The act that the first record names while it goes, where it is not the request's own. */
  readonly act?: ObjectId;
  /** All of it has gone. */
  readonly done: boolean;
}

interface Stamped {
  _id: ObjectId;
  instance: string;
  at: Date;
}
type UnfinishedDocument = Stamped & { once?: OnceOwner; steps: UndoStep[]; done?: boolean };
type DeleteDocument = Stamped & Omit<Delete, "id">;

export class UnfinishedStore {
  readonly #unfinished: Collection<UnfinishedDocument>;
  readonly #durable: Collection<UnfinishedDocument>;
  readonly #deletes: Collection<DeleteDocument>;

  /** @param isCluster whether writes to different collections may be kept by different servers */
  constructor(db: Db, isCluster: boolean) {
    // In one journal of the database nothing is kept without what was written before it: notes need not wait for the
    // disk.
    const light = isCluster ? {} : { writeConcern: { w: 1, journal: false } as const };
    this.#unfinished = db.collection<UnfinishedDocument>("_unfinished", light);
    this.#durable = db.collection<UnfinishedDocument>("_unfinished");
    this.#deletes = db.collection<DeleteDocument>("_deletes", light);
  }

  async ensureIndexes(): Promise<void> {
    await this.#durable.createIndex({ "once.owner": 1 }, { sparse: true });
    await this.#deletes.createIndex({ group: 1 });
  }

  /** Notes the first step of a request. */
  async begin({ id, ...rest }: Unfinished): Promise<void> {
    await this.#unfinished.insertOne({ _id: id, ...rest, steps: [...rest.steps] });
  }

  /** Notes a further step. @returns false when somebody has taken this process for dead */
  async add({ id, instance }: Pick<Unfinished, "id" | "instance">, step: UndoStep): Promise<boolean> {
    const { matchedCount } = await this.#unfinished.updateOne(
      { _id: id, instance },
      { $push: { steps: step } },
    );
    return matchedCount === 1;
  }

  /**
   * The writes are whole, or taken back: on disk when this resolves. Where its answer is lost, it can be asked again,
   * for the note stays.
   * @returns false when somebody has taken this process for dead
   */
  async end({ id, instance }: Pick<Unfinished, "id" | "instance">): Promise<boolean> {
    const { matchedCount } = await this.#durable.updateOne({ _id: id, instance }, { $set: { done: true } });
    return matchedCount === 1;
  }

  /** Removes a note that has ended, or where something else says that the writes are whole. */
  async forget({ id, instance }: Pick<Unfinished, "id" | "instance">): Promise<void> {
    await this.#unfinished.deleteOne({ _id: id, instance });
  }

  async all(): Promise<Unfinished[]> {
    return (await this.#unfinished.find().sort({ _id: -1 }).toArray()).map(noteOf);
  }

  async ofOnce(owner: string): Promise<Unfinished[]> {
    return (await this.#unfinished.find({ "once.owner": owner }).toArray()).map(noteOf);
  }

  /** Takes over what another process has left. @returns undefined when a third one was faster, or it has ended */
  async take(left: Unfinished, instance: string, at: Date): Promise<Unfinished | undefined> {
    const found = await this.#unfinished.findOneAndUpdate(
      { _id: left.id, instance: left.instance, at: left.at, done: { $ne: true } },
      { $set: { instance, at } },
      { returnDocument: "after" },
    );
    return found === null ? undefined : noteOf(found);
  }

  async beginDelete(parts: readonly Delete[]): Promise<void> {
    if (parts.length > 0)
      await this.#deletes.insertMany(parts.map(({ id, ...rest }) => ({ _id: id, ...rest })));
  }

  /**
   * Says whether the delete is known to be allowed.
   * @returns in how many of its notes; fewer than it has when somebody has taken this process for dead
   */
  async judgeDelete({
    group,
    instance,
    judged,
  }: Pick<Delete, "group" | "instance" | "judged">): Promise<number> {
    const { matchedCount } = await this.#deletes.updateMany({ group, instance }, { $set: { judged } });
    return matchedCount;
  }

  /** An earlier delete of the record was not ended: this one goes on with its act. */
  async nameAct(group: ObjectId, act: ObjectId): Promise<void> {
    await this.#deletes.updateMany({ group }, { $set: { act } });
  }

  /** All of it has gone. */
  async deleted(group: ObjectId, at: Date): Promise<void> {
    await this.#deletes.updateMany({ group }, { $set: { done: true, at } });
  }

  /** Nothing of it goes, or nothing is left to be looked at. */
  async forgetDelete(group: ObjectId): Promise<void> {
    await this.#deletes.deleteMany({ group });
  }

  /** Takes over what another process has left, or what is to be looked at again. @returns whether nobody was faster */
  async takeDelete({ id, at, judged }: Delete, instance: string, now: Date): Promise<boolean> {
    const taken = { $set: { instance, at: now } };
    const { matchedCount } = await this.#deletes.updateOne({ _id: id, at, judged }, taken);
    return matchedCount === 1;
  }

  async endDelete({ id }: Delete): Promise<void> {
    await this.#deletes.deleteOne({ _id: id });
  }

  async allDeletes(): Promise<Delete[]> {
    const found = await this.#deletes.find().sort({ _id: 1 }).toArray();
    return found.map(({ _id, ...rest }) => ({ id: _id, ...rest }));
  }
}

/** Changes that an earlier version has noted can't be told from others' any more: such a record stays as it is. */
function noteOf({ _id, steps, ...rest }: UnfinishedDocument): Unfinished {
  return { id: _id, ...rest, steps: steps.filter((step) => step.kind !== "changed" || "by" in step) };
}
