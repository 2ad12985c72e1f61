// Notes of requests that write more than once: `_unfinished` says how to take back what was written, `_deletes` what is
// being deleted and where links to it may be left. A process that dies leaves its notes
// (docs/decisions/017-whole-requests.md).
import { AppError } from "@portico/shared/app-error";
import { type Collection, type Db, ObjectId } from "mongodb";
import type { Stored } from "../catalog/stored.js";
import type { Step } from "../records/whole/steps.js";
import { isTooLargeToWrite } from "./driver-errors.js";
import { dropIndex } from "./drop-index.js";
import { unflushed } from "./unflushed.js";

/** An index of earlier versions, which found the notes of a single request. */
const BY_OWNER = "once.owner_1";

/** The request of an Idempotency-Key: see records/write/once. */
export interface OnceOwner {
  readonly key: string;
  readonly owner: string;
}

/** Writes that are not known to be complete. */
export interface Note {
  readonly id: ObjectId;
  /** The process that works on it. */
  readonly instance: string;
  readonly at: Date;
  /** The entry of this key says whether they are complete. */
  readonly once?: OnceOwner;
  readonly steps: readonly Step[];
  /** They were taken back once; what was still under way by then is to be looked for once more, after `at`. */
  readonly again?: boolean;
  /** They are complete, or taken back: only the note itself is left. */
  readonly done?: boolean;
}

/** Is it neither whole nor taken back, not even once? */
export function isOpen({ done, again }: Pick<Note, "done" | "again">): boolean {
  return done !== true && again !== true;
}

/** The condition for such notes. */
const UNTOUCHED = { done: { $ne: true }, again: { $ne: true } };

/** What is left of a note. */
export type Left = Required<Pick<Note, "at" | "again" | "steps">>;

/** Relations that a delete follows instead of being refused because of them. */
export interface Followed {
  /** Their ids. */
  readonly relations: readonly string[];
  /** From here on, the rights of the caller decided about what they lead to; whoever ends the delete keeps that time. */
  readonly since: Date;
}

/** Part of what one request deletes: records of one table. */
export interface Delete {
  readonly id: ObjectId;
  /** The table's id. */
  readonly table: string;
  readonly ids: readonly Stored[];
  /** Names the request, and is in the records, too. */
  readonly group: ObjectId;
  readonly instance: string;
  readonly at: Date;
  /** Whether it is known that it may happen; until then nobody else ends what the request has begun. */
  readonly judged: boolean;
  /** The records with which it begins; whoever ends these also ends the others. */
  readonly first: boolean;
  /** It removes for good what its table would keep. */
  readonly permanent: boolean;
  /** The only table in which it does so. */
  readonly permanentIn?: string;
  readonly follows?: Followed;
  /** The act that the first record names meanwhile, if that is not the request's own. */
  readonly act?: ObjectId;
  /** All of it is gone. */
  readonly done: boolean;
}

interface Stamped {
  _id: ObjectId;
  instance: string;
  at: Date;
}
type UnfinishedDocument = Stamped & { once?: OnceOwner; steps: Step[]; again?: boolean; done?: boolean };
type DeleteDocument = Stamped & Omit<Delete, "id">;

export class UnfinishedStore {
  readonly #unfinished: Collection<UnfinishedDocument>;
  readonly #durable: Collection<UnfinishedDocument>;
  readonly #deletes: Collection<DeleteDocument>;

  /** @param isEmbedded whether the engine ends with this process */
  constructor(db: Db, isEmbedded: boolean) {
    const light = unflushed(isEmbedded);
    this.#unfinished = db.collection<UnfinishedDocument>("_unfinished", light);
    this.#durable = db.collection<UnfinishedDocument>("_unfinished");
    this.#deletes = db.collection<DeleteDocument>("_deletes", light);
  }

  async ensureIndexes(): Promise<void> {
    await this.#durable.createIndex({ "once.key": 1 }, { sparse: true });
    await dropIndex(this.#durable, BY_OWNER);
    await this.#deletes.createIndex({ group: 1 });
  }

  /** Notes the first step of a request. @throws AppError 400 for one that is too large */
  async begin({ id, ...rest }: Note): Promise<void> {
    const note = { _id: id, ...rest, steps: [...rest.steps] };
    await this.#unfinished.insertOne(note).catch(refuseTooMuch);
  }

  /**
   * Notes a further step.
   * @returns false when somebody has taken this process for dead
   * @throws AppError 400 for one that is too large, alone or with those before
   */
  async add({ id, instance }: Pick<Note, "id" | "instance">, step: Step): Promise<boolean> {
    const added = { $push: { steps: step } };
    const { matchedCount } = await this.#unfinished
      .updateOne({ _id: id, instance }, added)
      .catch(refuseTooMuch);
    return matchedCount === 1;
  }

  /**
   * The writes are complete, or taken back: this is on disk when it resolves. If the answer is lost, it can be asked again,
   * because the note stays.
   * @returns false when somebody has taken this process for dead
   */
  async end({ id, instance }: Pick<Note, "id" | "instance">): Promise<boolean> {
    const { matchedCount } = await this.#durable.updateOne({ _id: id, instance }, { $set: { done: true } });
    return matchedCount === 1;
  }

  /**
   * Leaves what is still to be looked at of a note that was taken back to whoever looks from then on.
   * @returns false when somebody has taken this process for dead
   */
  async leave({ id, instance }: Pick<Note, "id" | "instance">, left: Left): Promise<boolean> {
    const { at, again, steps } = left;
    const noted = { $set: { at, again, steps: [...steps] } };
    const { matchedCount } = await this.#durable.updateOne({ _id: id, instance }, noted);
    return matchedCount === 1;
  }

  /** Removes a note that has ended, or if something else says that the writes are complete. */
  async forget({ id, instance }: Pick<Note, "id" | "instance">): Promise<void> {
    await this.#unfinished.deleteOne({ _id: id, instance });
  }

  async all(): Promise<Note[]> {
    return (await this.#unfinished.find().toArray()).map(noteOf);
  }

  /** Of all requests with this Idempotency-Key. */
  async ofOnce(key: string): Promise<Note[]> {
    return (await this.#unfinished.find({ "once.key": key }).toArray()).map(noteOf);
  }

  /** Those of a table's records that requests make which are neither whole nor taken back. */
  async madeIn(table: string, ids: readonly Stored[]): Promise<Stored[]> {
    const made = { kind: "made", table, ids: { $in: [...ids] } } as const;
    const open = this.#unfinished.find({ steps: { $elemMatch: made }, ...UNTOUCHED });
    const notes = await open.project<Pick<Note, "steps">>({ steps: 1 }).toArray();
    const steps = notes.flatMap((note) => note.steps);
    return steps.flatMap((step) => (step.kind === "made" && step.table === table ? step.ids : []));
  }

  /**
   * The ids of those that have written to a table, or were about to, and are neither whole nor taken back.
   * @param since what began before then is left out
   * @param neverYet what began after that did so by a clock that was wrong: it counts until somebody has tried to take it back
   */
  async openIn(table: string, since: Date, neverYet: Date): Promise<ReadonlySet<string>> {
    const recent = {
      _id: { $gte: idAt(since) },
      $or: [{ _id: { $lte: idAt(neverYet) } }, { at: { $gt: neverYet } }],
    };
    const open = this.#unfinished.find({ "steps.table": table, ...UNTOUCHED, ...recent });
    const ids = await open.project<{ _id: ObjectId }>({ _id: 1 }).toArray();
    return new Set(ids.map(({ _id }) => _id.toHexString()));
  }

  /** Forgets what fields of a table's records held: that is not given back any more. */
  async forgetValues(table: string, fields: readonly string[]): Promise<void> {
    if (fields.length === 0) return;
    const paths = fields.map((field) => [`steps.$[step].set.${field}`, ""]);
    await this.#durable.updateMany(
      { "steps.table": table },
      { $unset: Object.fromEntries(paths) },
      { arrayFilters: [{ "step.table": table }] },
    );
  }

  /** Takes over what another process has left. @returns undefined when a third one was faster, or it has ended */
  async take(left: Note, instance: string, at: Date): Promise<Note | undefined> {
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
   * Says that the delete is known to be allowed.
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

  /** An earlier delete of the record did not end: this one continues its act. */
  async nameAct(group: ObjectId, act: ObjectId): Promise<void> {
    await this.#deletes.updateMany({ group }, { $set: { act } });
  }

  /** All of it is gone. */
  async deleted(group: ObjectId, at: Date): Promise<void> {
    await this.#deletes.updateMany({ group }, { $set: { done: true, at } });
  }

  /** Nothing of it is deleted, or nothing is left to be looked at. */
  async forgetDelete(group: ObjectId): Promise<void> {
    await this.#deletes.deleteMany({ group });
  }

  /** Takes over what another process has left, or what must be looked at again. @returns whether nobody was faster */
  async takeDelete({ id, at, judged }: Delete, instance: string, now: Date): Promise<boolean> {
    const taken = { $set: { instance, at: now } };
    const { matchedCount } = await this.#deletes.updateOne({ _id: id, at, judged }, taken);
    return matchedCount === 1;
  }

  /** The same for several that are done. @returns false when others have taken them all */
  async takeDone(done: readonly Delete[], instance: string, now: Date): Promise<boolean> {
    const latest = new Date(Math.max(...done.map(({ at }) => at.getTime())));
    const untaken = { _id: { $in: done.map(({ id }) => id) }, at: { $lte: latest } };
    const { matchedCount } = await this.#deletes.updateMany(untaken, { $set: { instance, at: now } });
    return matchedCount > 0;
  }

  async endDeletes(ended: readonly Delete[]): Promise<void> {
    await this.#deletes.deleteMany({ _id: { $in: ended.map(({ id }) => id) } });
  }

  /** Those of which something may still be there. */
  async openDeletes(): Promise<Delete[]> {
    return (
      await this.#deletes
        .find({ done: { $ne: true } })
        .sort({ _id: 1 })
        .toArray()
    ).map(deleteOf);
  }

  /**
   * Those of which all is gone, the first ones first: each single delete leaves one, so there may be very many.
   * @param instance of its notes only those that ended before then
   */
  async *doneDeletes(instance: string, before: Date): AsyncGenerator<Delete> {
    const due = { $or: [{ at: { $lt: before } }, { instance: { $ne: instance } }] };
    for await (const found of this.#deletes.find({ done: true, ...due }).sort({ _id: 1 }))
      yield deleteOf(found);
  }
}

function idAt(time: Date): ObjectId {
  return ObjectId.createFromTime(Math.floor(time.getTime() / 1000));
}

/** For a step that was not noted. @throws AppError 400 where the note has no room for it, any other error as it is */
function refuseTooMuch(error: unknown): never {
  if (!isTooLargeToWrite(error)) throw error;
  const message =
    "This changes more links or records at once than can be noted in case it has to be taken back (16 MB). Change fewer at once; links that lie in other records can be changed there in any number, by PATCH with a filter.";
  throw new AppError("BAD_REQUEST", { message, cause: error });
}

function deleteOf({ _id, ...rest }: DeleteDocument): Delete {
  return { id: _id, ...rest };
}

/** What earlier versions noted without a name can't be told from other people's any more: such records stay as they are. */
function noteOf({ _id, steps, ...rest }: UnfinishedDocument): Note {
  const isNamed = (step: Step): boolean => !["changed", "linked"].includes(step.kind) || "by" in step;
  return { id: _id, ...rest, steps: steps.filter(isNamed) };
}
