// Requests that write more than once: wholly or not at all, whether they are refused half-way or their process dies.
//
// Before each write there is a note how to take it back; the last write of all says that everything is there (it removes
// the note, or ends the Idempotency-Key). What a dead process has left is taken back by the next one that looks.
import { type AppError, unavailable } from "@portico/shared/app-error";
import type { Clock } from "@portico/shared/clock";
import type { Logger } from "@portico/shared/logger";
import { ObjectId } from "bson";
import type { Table } from "../../catalog/catalog.js";
import type { Stored } from "../../catalog/stored.js";
import { isOpen, type Note, type OnceOwner, type UnfinishedStore } from "../../mongo/unfinished-store.js";
import { WRITTEN_WITHIN_MS } from "../../schema/dead-instances.js";
import { UnderWay } from "../../under-way.js";
import { ONCE_LEASE_MS, type OnceStore, type Turn } from "../write/once.js";
import { refusedWith, type StayingRecords } from "./refused-in-part.js";
import { recordsIn, type Step, type StepLog } from "./steps.js";
import { namesFoundBy, namesGivenBy, takeBackOrder } from "./take-back-order.js";
import { maybeWritten, mayStillBeDone, TakenBackLater, throwUnanswered } from "./uncertain.js";

export interface UnfinishedDeps {
  readonly notes: Pick<
    UnfinishedStore,
    "begin" | "add" | "end" | "leave" | "forget" | "all" | "ofOnce" | "madeIn" | "take"
  >;
  readonly once: Pick<OnceStore, "find" | "takeOver" | "remove">;
  /** Names this process. */
  readonly instance: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Takes steps back, the last first. */
  readonly takeBack: (steps: readonly Step[], logger: Logger) => Promise<TakenBack>;
  /** Is all there that the steps speak of? */
  readonly areDone: (steps: readonly Step[]) => Promise<boolean>;
  /** Is all of it in deleted tables that may come back? */
  readonly areKept: (steps: readonly Step[]) => Promise<boolean>;
  /** No other process uses the database, so nothing of a dead one can still be done. */
  readonly alone: boolean;
}

/** What became of steps that were taken back. */
export interface TakenBack {
  /** Steps that have to wait until a deleted table comes back. */
  readonly waiting: readonly Step[];
  /** Records that they had made, and that others have come to need. */
  readonly staying: readonly StayingRecords[];
}

/** How long a request keeps telling the database that it is whole before it gives up, and how often it does. */
const ASKED_AGAIN_MS = 5_000;
const LOOK_MS = 100;
/** How often it goes on doing so when nobody waits for the answer any more. */
const LATER_MS = 1_000;

/** What became of a request under a note. */
interface NotedTakenBack {
  /** False when somebody has taken this process for dead, and took it back as well. */
  readonly isOurs: boolean;
  readonly staying: readonly StayingRecords[];
}

export class Unfinished {
  readonly #deps: UnfinishedDeps;
  /** Notes of requests that this process works on. */
  readonly #underWay: UnderWay;
  /** Notes of requests that are whole, though the database may not know it. */
  readonly #unheard: UnderWay;

  constructor(deps: UnfinishedDeps, underWay = new UnderWay(), unheard = new UnderWay()) {
    this.#deps = deps;
    this.#underWay = underWay;
    this.#unheard = unheard;
  }

  /** For one request, which has a logger of its own: the notes are the same. */
  loggingTo(logger: Logger): Unfinished {
    return new Unfinished({ ...this.#deps, logger }, this.#underWay, this.#unheard);
  }

  /**
   * Runs writes that are atomic by themselves or idempotent; when one fails, all are taken back.
   * @throws AppError 503 `uncertain` where nobody knows whether one was done, or they can't be taken back
   */
  async orTakeBack<Result>(writes: (log: StepLog) => Promise<Result>): Promise<Result> {
    const steps: Step[] = [];
    try {
      return await writes({ note: async (step) => void steps.push(step), drop: dropFrom(steps) });
    } catch (error) {
      const { isKnown, staying } = await this.#takenBack(steps, error).catch((err: unknown) => {
        throw maybeWritten(err);
      });
      if (!isKnown) throwUnanswered(error);
      throw refusedWith(error, staying);
    }
  }

  /** @returns whether it is known that nothing more of it can come, and what stays of it */
  async #takenBack(
    steps: readonly Step[],
    error: unknown,
  ): Promise<{ readonly isKnown: boolean; readonly staying: TakenBack["staying"] }> {
    const { areDone } = this.#deps;
    const isKnown = !mayStillBeDone(error) || (steps.length > 0 && (await areDone(steps).catch(() => false)));
    const { staying } = await this.#takeBack(steps);
    return { isKnown, staying };
  }

  /**
   * Runs writes so that in the end all of them are there or none, even if this process dies in between.
   * @param turn of a request with an Idempotency-Key
   */
  async wholly<Result>(writes: (log: StepLog) => Promise<Result>, turn?: Turn<Result>): Promise<Result> {
    const note = this.#newNote(turn);
    return this.#underWay.while(note.id, () => this.#noted(note, writes, turn));
  }

  async #noted<Result>(
    note: Omit<Note, "steps">,
    writes: (log: StepLog) => Promise<Result>,
    turn?: Turn<Result>,
  ): Promise<Result> {
    const { notes } = this.#deps;
    const steps: Step[] = [];
    const takeBack = (isOver = true): Promise<NotedTakenBack> =>
      this.#takeBackNoted(note, steps, isOver).catch((cause: unknown) => {
        throw takenBackLater(cause, turn !== undefined);
      });
    let isNoted = false;
    const log: StepLog = {
      note: async (step) => {
        if (isNoted && !(await notes.add(note, step))) throw requestTookTooLong();
        if (!isNoted) await notes.begin({ ...note, steps: [step] });
        isNoted = true;
        // One that could not be noted is not done, so that nothing of it is to be taken back.
        steps.push(step);
      },
      // It stays in the note in the database, which tells whoever finds it what was to be done.
      drop: dropFrom(steps),
    };
    const result = await writes(log).catch(async (error: unknown) => {
      // If others have taken its earlier writes back, later ones fail for want of them: that is no fault of the request.
      if (!isNoted) throw error;
      const { isOurs, staying } = await takeBack(!mayStillBeDone(error));
      throw isOurs ? refusedWith(error, staying) : requestTookTooLong();
    });
    // Without steps nothing was written, whatever was noted before. If this fails, this process can't tell whether the request
    // is whole: the note tells whoever looks.
    const isOurs = await (turn?.finish(result).catch(throwUnanswered) ??
      (steps.length === 0 || this.#ended(note)));
    if (!isOurs) {
      if (isNoted) await takeBack();
      throw requestTookTooLong();
    }
    if (isNoted) this.#forget(note);
    return result;
  }

  /** Those of a table's records that requests are still making: they may be taken back. */
  stillMade(table: Table, ids: readonly Stored[]): Promise<readonly Stored[]> {
    return this.#deps.notes.madeIn(table.id, ids);
  }

  /**
   * Takes back what requests with this key have left behind, the last first, for the one that continues them. What is whole stays,
   * and what is in deleted tables waits for these.
   */
  async takeBackOf(key: string): Promise<void> {
    for (const left of takeBackOrder(await this.#deps.notes.ofOnce(key)))
      if (!(await this.#deps.areKept(left.steps))) await this.#takeOver(left);
  }

  /** Forgets the notes of a request that is whole, before the entry goes that says so. */
  async forgetWhole(ended: OnceOwner): Promise<void> {
    if (!(await this.#hasEnded(ended))) return;
    for (const left of await this.#deps.notes.ofOnce(ended.key))
      if (left.once?.owner === ended.owner) await this.#deps.notes.forget(left);
  }

  /**
   * Takes back what dead processes have left, the last first. What another one has written over that stays for now is left until
   * that is done with: it could not be given back under it.
   * @param isDead whether the process will do no more about it
   * @param inTurn runs the work on one request; if it refuses to, nothing more is taken back
   * @returns how many requests were taken back
   */
  async repair(
    isDead: (note: Note) => Promise<boolean>,
    inTurn: (takeOver: () => Promise<boolean>) => Promise<boolean> = (takeOver) => takeOver(),
  ): Promise<number> {
    let takenBack = 0;
    const writtenOver = new Set<string>();
    const mayBegin = (left: Note): boolean =>
      !this.#underWay.has(left.id) &&
      !this.#unheard.has(left.id) &&
      !namesGivenBy(left).some((name) => writtenOver.has(name));
    for (const left of takeBackOrder(await this.#deps.notes.all())) {
      const takeOver = (): Promise<boolean> =>
        this.#takeOverIf(left, isDead).catch((err: unknown) => {
          // One that can't be taken back now must not keep others waiting that it has not written over; the next repair tries again.
          this.#deps.logger.error({ err, note: left.id }, "an interrupted request is not taken back yet");
          return false;
        });
      if (mayBegin(left) && (await inTurn(takeOver))) takenBack += 1;
      // One that is only to be looked at again was taken back already.
      else if (left.again !== true) for (const name of namesFoundBy(left)) writtenOver.add(name);
    }
    return takenBack;
  }

  #newNote(turn: { readonly once: Note["once"] } | undefined): Omit<Note, "steps"> {
    const { instance, clock } = this.#deps;
    const once = turn?.once;
    return { id: new ObjectId(), instance, at: clock.now(), ...(once === undefined ? {} : { once }) };
  }

  #takeBack(steps: readonly Step[]): Promise<TakenBack> {
    return this.#deps.takeBack(steps, this.#deps.logger);
  }

  /**
   * What lies in deleted tables stays noted as long as these may come back.
   * @param isOver none of it can still be done; else the note stays for a second look
   */
  async #takeBackNoted(
    note: Omit<Note, "steps">,
    steps: readonly Step[],
    isOver: boolean,
  ): Promise<NotedTakenBack> {
    const { waiting, staying } = await this.#takeBack(steps);
    return { isOurs: await this.#noteTakenBack(note, steps, { waiting, isOver }), staying };
  }

  /** @returns false when somebody has taken this process for dead, and took it back as well */
  async #noteTakenBack(
    note: Omit<Note, "steps">,
    steps: readonly Step[],
    { waiting: kept, isOver }: Pick<TakenBack, "waiting"> & { readonly isOver: boolean },
  ): Promise<boolean> {
    const { notes, clock } = this.#deps;
    const now = clock.now();
    if (!isOver) {
      const left = steps.filter((step) => kept.includes(step) || !isListLink(step));
      const at = new Date(now.getTime() + WRITTEN_WITHIN_MS);
      return notes.leave(note, { at, again: true, steps: left });
    }
    if (kept.length > 0) return notes.leave(note, { at: now, again: false, steps: kept });
    const isOurs = await notes.end(note);
    this.#forget(note);
    return isOurs;
  }

  /** Says that the writes are whole, until the database has confirmed it. @throws AppError 503 when it does not */
  async #ended(note: Omit<Note, "steps">): Promise<boolean> {
    const began = performance.now();
    for (;;) {
      try {
        return await this.#deps.notes.end(note);
      } catch (error) {
        if (performance.now() - began > ASKED_AGAIN_MS) {
          void this.#unheard.while(note.id, () => this.#endLater(note));
          throw maybeWritten(error);
        }
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      }
    }
  }

  /** A client that looks must see what will stay: so as long as this process lives, it goes on saying that it is whole. */
  async #endLater(note: Omit<Note, "steps">): Promise<void> {
    for (let isHeard = false; !isHeard; ) {
      await new Promise((resolve) => setTimeout(resolve, LATER_MS).unref());
      isHeard = await this.#deps.notes.end(note).then(
        () => true,
        () => false,
      );
    }
    this.#forget(note);
  }

  /** Nobody waits for this: a finished note is only clutter. */
  #forget(note: Omit<Note, "steps">): void {
    const { notes, logger } = this.#deps;
    notes.forget(note).catch((err: unknown) => logger.warn({ err }, "a note is left to the repair"));
  }

  async #takeOverIf(left: Note, isDead: (note: Note) => Promise<boolean>): Promise<boolean> {
    // Its key is forgotten one day, and a note that waits for a deleted table to come back would then not be known as whole.
    if (left.once !== undefined && (await this.#hasEnded(left.once))) {
      await this.#deps.notes.forget(left);
      return false;
    }
    // Also one that has ended: its process may not have heard so, and may ask for it again.
    if (!(await isDead(left))) return false;
    if (left.done !== true) return this.#takeOver(left);
    await this.#deps.notes.forget(left);
    return false;
  }

  /** @returns whether there was something to take back, and nobody else did it */
  async #takeOver(left: Note): Promise<boolean> {
    const { notes, instance, clock, logger } = this.#deps;
    const note = await notes.take(left, instance, clock.now());
    if (note === undefined) return false;
    if (note.once !== undefined && (await this.#isWhole(note.once))) {
      await notes.forget(note);
      return false;
    }
    // Of thousands of records this takes minutes, and at a start everybody waits for it.
    logger.info(
      { note: note.id, records: recordsIn(note.steps) },
      "taking back what an interrupted request has written",
    );
    await this.#takeBackNoted(note, note.steps, this.#isLastLook(left));
    if (note.once !== undefined) await this.#free(note.once.key);
    return true;
  }

  /** Sending the key again starts afresh, unless another request with it has left something that is to be taken back first. */
  async #free(key: string): Promise<void> {
    const { notes, once, instance } = this.#deps;
    for (const left of await notes.ofOnce(key))
      if (isOpen(left) && !(await this.#deps.areKept(left.steps))) return;
    await once.remove(key, instance);
  }

  /** What a process has sent before it died may be written after the first look, and its key may come again before the second. */
  #isLastLook({ instance, again = false, at }: Note): boolean {
    const { alone, instance: own, clock } = this.#deps;
    return (alone && instance !== own) || (again && at <= clock.now());
  }

  /** Once this has said no, the request can't become whole any more. */
  async #isWhole({ key, owner }: OnceOwner): Promise<boolean> {
    const { once, instance, clock } = this.#deps;
    const leaseUntil = new Date(clock.now().getTime() + ONCE_LEASE_MS);
    if (await once.takeOver(key, owner, { owner: instance, leaseUntil })) return false;
    return this.#hasEnded({ key, owner });
  }

  async #hasEnded({ key, owner }: OnceOwner): Promise<boolean> {
    const entry = await this.#deps.once.find(key);
    return entry?.owner === owner && entry.done === true;
  }
}

/**
 * Such links don't name who set them: once they were taken back, a second look would take those away as well that others have
 * set in between.
 */
function isListLink(step: Step): boolean {
  return step.kind === "linked" && step.list;
}

function dropFrom(steps: Step[]): StepLog["drop"] {
  return (step) => void steps.splice(0, steps.length, ...steps.filter((each) => each !== step));
}

/**
 * The note stays, and whoever finds it takes back the rest.
 * @param hasKey whether it has an Idempotency-Key: then the same request does so when it is sent again
 */
function takenBackLater(cause: unknown, hasKey: boolean): TakenBackLater {
  const [when, seconds] = hasKey
    ? ["when it is sent again", 2]
    : ["within a minute or two; send it again after that", 120];
  const message = `Part of the request was written and can't be rolled back yet; it will be ${when}.`;
  const { code, headers } = unavailable(message, seconds);
  return new TakenBackLater(code, { message, headers, cause });
}

function requestTookTooLong(): AppError {
  return unavailable("The request took so long that what it had written was taken back; send it again.", 1);
}
