// Deletes under a note: what goes is written down first, and marked where a link could block its going. So links that are
// made in that moment wait or are refused, and those that a crash keeps this process from looking for are found by another.
import { isClientError } from "@portico/shared/app-error";
import { ObjectId } from "bson";
import type { Catalog } from "../../catalog/catalog.js";
import { idText } from "../../catalog/record-ids.js";
import type { Delete } from "../../mongo/unfinished-store.js";
import type { Document } from "../../query/lower/document.js";
import { refuseContended } from "../../until-still.js";
import type { ActingDeps } from "../record-deps.js";
import { maybeWritten } from "../whole/uncertain.js";
import { stillLeaving } from "./await-leaving.js";
import {
  canBeHeld,
  type DeleteStep,
  followedIn,
  inheritedReach,
  isAwaited,
  type Reach,
} from "./delete-effects.js";
import { claim, isHeld, mark, markedFor, unmark } from "./leaving.js";
import { spaceForGoing } from "./space-for-going.js";

/** What goes, and what it must satisfy until it does: that it still bears the mark of this delete, if it was given one. */
export interface HeldStep extends DeleteStep {
  readonly marked: Document;
}

/** What to delete under a note. */
export interface WantedDelete {
  /** The records that it begins with. */
  readonly first: DeleteStep;
  /** What these must satisfy in the moment that it is decided; `{}` = nothing. */
  readonly condition: Document;
  /** Finds what goes with them, parents before children. @throws AppError 409 when something blocks it */
  readonly collect: () => Promise<readonly DeleteStep[]>;
  /** Deletes it, or says that it is not to be deleted after all. A record that goes alone is judged by the condition here. */
  readonly act: (steps: readonly HeldStep[], group: ObjectId) => Promise<boolean>;
  /** The record that it begins with names it before anything goes (see beginAct). */
  readonly isNamed: boolean;
  readonly reach: Reach;
  /** It is not done at any cost: where the disk has no space for all that it writes, it is refused before. */
  readonly needsSpace: boolean;
}

/** Deletes records under a note. @returns what `act` says; false as well when the condition does not hold */
export async function deleteNoted(
  deps: ActingDeps,
  catalog: Catalog,
  wanted: WantedDelete,
): Promise<boolean> {
  const since = wanted.reach.since ?? deps.clock.now();
  const found = await wanted.collect();
  const group = new ObjectId();
  const note = new DeleteNote(deps, catalog, wanted, { group, since });
  const take = async (): Promise<boolean> => {
    const steps = await note.hold(found);
    if (steps === undefined || !(await wanted.act(steps, group).catch(throwUnended))) {
      await note.withdraw();
      return false;
    }
    await note.end();
    return true;
  };
  const takeNoted = () => deps.deletes.underWay.while(group, take);
  if (!wanted.needsSpace) return takeNoted();
  return spaceForGoing(deps, { catalog, reach: wanted.reach, steps: found }, takeNoted);
}

/** While the note says that it is to be done, another process may complete what has failed here. @throws AppError */
function throwUnended(error: unknown): never {
  throw isClientError(error) ? error : maybeWritten(error);
}

/** While others keep linking to what goes, each look finds more; what could be blocked gets more looks. */
const MOST_LOOKS = 5;
const MOST_HELD_LOOKS = 50;

/** The note of one delete, and the marks that it has set. */
class DeleteNote {
  readonly #deps: ActingDeps;
  readonly #catalog: Catalog;
  readonly #wanted: WantedDelete;
  /** Names the delete in its notes and marks. */
  readonly #group: ObjectId;
  /** A moment before anything was looked for. */
  readonly #since: Date;
  /** What is noted, by table. */
  readonly #noted = new Map<string, Set<string>>();
  readonly #marked: DeleteStep[] = [];
  #isSigned = false;
  /** How many notes were begun. */
  #notes = 0;
  #isJudged: boolean;

  constructor(
    deps: ActingDeps,
    catalog: Catalog,
    wanted: WantedDelete,
    { group, since }: { readonly group: ObjectId; readonly since: Date },
  ) {
    this.#deps = deps;
    this.#since = since;
    this.#catalog = catalog;
    this.#wanted = wanted;
    this.#group = group;
    this.#isJudged = Object.keys(wanted.condition).length === 0;
  }

  /**
   * Notes and marks what goes. What is marked gets no new links of the kind that blocks it: so look again until nothing is
   * new; but not for ever for what only goes along, which is looked for once more after all the others have gone.
   * @throws AppError 503 where what could be blocked keeps coming
   * @returns all that goes; undefined when the condition does not hold
   */
  async hold(found: readonly DeleteStep[]): Promise<readonly HeldStep[] | undefined> {
    try {
      let steps = found;
      let looks = 0;
      for (let fresh = this.#unnoted(steps); fresh.length > 0; fresh = this.#unnoted(steps)) {
        const notes = this.#notesOf(fresh);
        await this.#deps.deletes.notes.beginDelete(notes);
        this.#notes += notes.length;
        const toMark = fresh.filter((step) => this.#isToMark(step));
        const goesAlone = steps.length === 1 && toMark.length === 0;
        if (!goesAlone && !(await this.#sign())) return undefined;
        for (const step of toMark) await this.#mark(step);
        looks += 1;
        if (toMark.length === 0) break;
        if (looks >= MOST_LOOKS && toMark.every((step) => this.#onlyGoesAlong(step))) break;
        if (looks >= MOST_HELD_LOOKS) refuseContended(this.#wanted.first.table.name)();
        steps = await this.#wanted.collect();
      }
      return steps.map((step, at) => ({ ...step, marked: this.#marksOf(step, at === 0) }));
    } catch (error) {
      await this.withdraw();
      throw error;
    }
  }

  /** Nothing goes after all. @throws AppError 503 `uncertain` where it may yet */
  async withdraw(): Promise<void> {
    await this.#unsay().catch(this.#isJudged ? throwUnended : undefined);
  }

  async #unsay(): Promise<void> {
    const { notes, instance } = this.#deps.deletes;
    // First of all: records that nobody keeps from changing any more must not be deleted because their note is still there.
    await notes.judgeDelete({ group: this.#group, instance, judged: false });
    for (const step of this.#marked) await unmark(this.#deps, step, this.#group);
    await notes.forgetDelete(this.#group);
  }

  /** All has gone. If the database can't be told, the note stays, and whoever finds it completes this. */
  async end(): Promise<void> {
    const { deletes, clock, logger } = this.#deps;
    try {
      // Records that their table keeps may come back and be linked to again; and what was moved away meanwhile has not gone.
      for (const step of this.#marked) await unmark(this.#deps, step, this.#group);
    } catch (err) {
      logger.warn({ err, group: this.#group }, "the marks of a delete are not taken off yet");
      return;
    }
    // Nobody waits for it: if it fails, all it costs is another look later.
    deletes.notes.deleted(this.#group, clock.now()).catch(() => undefined);
  }

  /**
   * Asks the condition, once. From here on others wait for the delete, or come before it, and the first records bear the
   * sign that it wants them: a record that is restored, or made anew, no longer bears it.
   */
  async #sign(): Promise<boolean> {
    if (this.#isSigned) return true;
    this.#isSigned = true;
    const { first, condition, isNamed } = this.#wanted;
    if (this.#isJudged) {
      if (!isNamed && !this.#isToMark(first)) await this.#mark(first);
      return true;
    }
    this.#marked.push(first);
    this.#isJudged = await claim(this.#deps, first, this.#group, condition);
    if (!this.#isJudged) return false;
    const { notes, instance } = this.#deps.deletes;
    const known = await notes.judgeDelete({ group: this.#group, instance, judged: true });
    // Another instance has taken this one for dead, and let go of the record.
    if (known < this.#notes) throw stillLeaving();
    return true;
  }

  async #mark(step: DeleteStep): Promise<void> {
    this.#marked.push(step);
    await mark(this.#deps, step, this.#group);
  }

  /** Whoever takes this process for dead takes the marks off first: what has lost its mark is not ours to delete any more. */
  #marksOf(step: DeleteStep, isFirst: boolean): Document {
    const isSigned = isFirst && this.#marked.includes(this.#wanted.first);
    return isSigned || this.#isToMark(step) ? markedFor(this.#group) : {};
  }

  /** Records whose delete a link could block; and those taken along, where others go on their account. */
  #isToMark({ table, linked }: DeleteStep): boolean {
    const isTakenAlong = linked !== undefined && isHeld(this.#catalog, table);
    return isTakenAlong || isAwaited(this.#catalog, table, this.#wanted.reach);
  }

  #onlyGoesAlong({ table, linked }: DeleteStep): boolean {
    return linked !== undefined && !canBeHeld(this.#catalog, table, this.#wanted.reach);
  }

  /** What of the steps is not noted yet; from here on it counts as noted. */
  #unnoted(steps: readonly DeleteStep[]): DeleteStep[] {
    return steps.flatMap((step) => {
      const { table, ids } = step;
      const known = this.#noted.get(table.id) ?? new Set();
      const fresh = ids.filter((id) => !known.has(idText(table, id)));
      for (const id of fresh) known.add(idText(table, id));
      this.#noted.set(table.id, known);
      return fresh.length === 0 ? [] : [{ ...step, ids: fresh }];
    });
  }

  #notesOf(steps: readonly DeleteStep[]): Delete[] {
    const { deletes, clock } = this.#deps;
    const isFirst = this.#notes === 0;
    const isNoted = ({ table }: DeleteStep): boolean => isHeld(this.#catalog, table);
    return steps.filter(isNoted).map((step) => ({
      id: new ObjectId(),
      table: step.table.id,
      ids: step.ids,
      group: this.#group,
      judged: this.#isJudged,
      first: isFirst && step === steps[0],
      permanent: this.#wanted.reach.permanent,
      ...inheritedReach(this.#wanted.reach),
      ...followedIn(this.#catalog, this.#wanted.reach, this.#since),
      instance: deletes.instance,
      at: clock.now(),
      done: false,
    }));
  }
}
