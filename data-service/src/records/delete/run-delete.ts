// Deletes a record with all that `onDelete` asks for, in an order that leaves nothing dangling if the process dies in
// between. Where a table keeps its deleted records, they are marked instead of removed: docs/decisions/016-soft-deletion.md.
import { AppError, isConflict } from "@portico/shared/app-error";
import { ObjectId } from "bson";
import { type Catalog, incomingLinks, type Table, tableById } from "../../catalog/catalog.js";
import { idsOf, idText } from "../../catalog/record-ids.js";
import type { Stored } from "../../catalog/stored.js";
import { throwAway } from "../../mongo/driver-errors.js";
import { allOf, type Document } from "../../query/lower/document.js";
import { linksTo } from "../../query/lower/links.js";
import { until } from "../../until.js";
import { recordNotFound } from "../find-table.js";
import type { ActingDeps } from "../record-deps.js";
import { throwUnanswered } from "../whole/uncertain.js";
import {
  type DeleteEffect,
  type DeleteStep,
  inheritedReach,
  isKept,
  losesLink,
  OWN_REACH,
  type Reach,
  stepsOf,
  takesAlong,
} from "./delete-effects.js";
import { FindGoing } from "./find-going.js";
import { beginAct, type DeletionAct, markDeleted, stateCondition } from "./kept.js";
import { deleteNoted, type HeldStep } from "./noted-delete.js";

/** How long writers who have come late may take to notice. */
const LATE_PATIENCE_MS = 2_000;
const LATE_LOOK_MS = 10;
const LATE_LOOK_AT_MOST_MS = 100;

/** How records are taken away. */
interface Taking {
  readonly act?: DeletionAct;
  readonly condition?: Document;
  readonly needsSpace?: boolean;
}

/** Deletes with one reach, among the tables of one catalog. */
export class Deleter {
  readonly #deps: ActingDeps;
  readonly #catalog: Catalog;
  readonly #reach: Reach;
  readonly #going: FindGoing;
  /** Finds what has come late: that goes with what is gone, whoever has it. */
  readonly #late: FindGoing;
  #hasTaken = false;

  constructor(deps: ActingDeps, catalog: Catalog, reach: Reach = OWN_REACH) {
    this.#deps = deps;
    this.#catalog = catalog;
    this.#reach = reach;
    this.#going = new FindGoing(deps.store, catalog, reach);
    this.#late =
      reach.sparesOthers === true
        ? new FindGoing(deps.store, catalog, { ...reach, sparesOthers: false })
        : this.#going;
  }

  /** Whether any record may have gone, also where the delete was refused after that. */
  get hasTaken(): boolean {
    return this.#hasTaken;
  }

  /**
   * Deletes a record with all that `onDelete` asks for. Everything that could refuse it is asked first, on all levels.
   * @param condition only while the record satisfies it; `{}` = always
   * @returns false when the record is there and does not satisfy the condition
   */
  async deleteOne(table: Table, id: Stored, condition: Document): Promise<boolean> {
    const { store, hooksOf } = this.#deps;
    const hooks = hooksOf(table);
    if ((await store.existing(table, [id])).size === 0) throw recordNotFound(table);
    const done = await hooks.changing(table, id, null, async (also) => {
      await this.#deps.requireCaller();
      const first = { table, ids: [id] };
      const both = allOf([condition, also]);
      if (incomingLinks(this.#catalog, table).length > 0)
        return this.takeAway(first, { condition: both, needsSpace: true });
      return this.#deleteAlone(first, both).catch(throwUnanswered);
    });
    if (done) await hooks.afterWrite([id]);
    return done;
  }

  /**
   * Deletes records with all that `onDelete` asks for, whoever wants it.
   * @param how the act that they go in, if it has begun already; the condition that a single record must satisfy; whether it
   * is refused where the disk has no space for it
   * @returns false when the record does not satisfy the condition, or is deleted already
   * @throws AppError 409 when something blocks it, 503 when there is no space for it
   */
  async takeAway(
    first: DeleteStep,
    { act, condition = {}, needsSpace = false }: Taking = {},
  ): Promise<boolean> {
    const go = async (steps: readonly HeldStep[], group: ObjectId): Promise<boolean> => {
      const begun = act ?? (await this.#begin(first, allOf([condition, steps[0]?.marked ?? {}]), group));
      return begun !== undefined && this.#deleteSteps(steps, begun, condition);
    };
    const collect = () => this.#going.find(first);
    const [reach, isNamed] = [this.#reach, act === undefined && isKept(first.table, this.#reach)];
    const wanted = { first, condition, collect, act: go, isNamed, reach, needsSpace };
    return deleteNoted(this.#deps, this.#catalog, wanted);
  }

  /** Ends links that were made to records while these went. Links to records that are kept may stay: they lead nowhere. */
  async lookAgain({ table, ids }: DeleteStep, act: DeletionAct = this.#newAct()): Promise<void> {
    if (ids.length === 0) return;
    const step = { table: tableById(this.#catalog, table.id) ?? table, ids };
    for (const effect of this.#late.effectsOn(step.table)) {
      if (!(await this.#isLinked(effect, step))) continue;
      if (effect.effect === "restrict") await this.#letGo(effect, step);
      else {
        await this.#letWritersNotice(effect, step);
        // Records that were restored meanwhile keep what links to them.
        const gone = await this.#gone(step);
        await this.#takeLate(effect, gone, await this.#going.linkedIds(effect, gone.ids), act);
      }
    }
    if (!isKept(step.table, this.#reach)) await this.#unlink(step);
  }

  /** Deletes a record to which nothing could link when the delete began. @returns whether it went */
  async #deleteAlone(step: DeleteStep, condition: Document): Promise<boolean> {
    const act = this.#newAct();
    if ((await this.#deleteStep(step, act, condition)) === 0) return false;
    this.#hasTaken = true;
    await this.#lookInNewTables(step, act).catch(throwAway);
    return true;
  }

  async #lookInNewTables(step: DeleteStep, act: DeletionAct): Promise<void> {
    const late = await this.#byPresentCatalog();
    if (late !== this) await late.lookAgain(step, act);
  }

  #newAct(): DeletionAct {
    return { id: new ObjectId(), at: this.#deps.clock.now() };
  }

  /** @returns the act in which all goes; undefined when the record does not satisfy the condition */
  async #begin(
    { table, ids: [id] }: DeleteStep,
    condition: Document,
    group: ObjectId,
  ): Promise<DeletionAct | undefined> {
    const fresh = { id: group, at: this.#deps.clock.now() };
    if (id === undefined || !isKept(table, this.#reach)) return fresh;
    const begun = await beginAct(this.#deps, table, id, condition, fresh);
    if (begun !== undefined && !begun.id.equals(group))
      await this.#deps.deletes.notes.nameAct(group, begun.id);
    return begun;
  }

  /**
   * Deletes the deepest records first, then looks once more for links that were made meanwhile: whoever links after that
   * finds the record gone (see runCreate).
   * @param condition a record that goes alone is judged by it in the moment that it goes; one that takes others along was
   * judged when it was marked
   * @returns false when the first one does not go after all; true where another delete was faster and there is no condition
   */
  async #deleteSteps(steps: readonly HeldStep[], act: DeletionAct, condition: Document): Promise<boolean> {
    const judged = steps.length === 1 ? condition : {};
    const gone: DeleteStep[] = [];
    let isDone = true;
    for (const [at, step] of [...steps.entries()].toReversed()) {
      const { table, ids, marked, linked = {} } = step;
      // Of several records some may go before another is refused.
      this.#hasTaken ||= at > 0;
      const went = await this.#deleteStep(step, act, allOf([judged, marked, linked]));
      this.#hasTaken ||= went > 0;
      const left = went === ids.length ? step : await this.#gone(step);
      // Now, and not after all the others have gone: a large delete takes a while, and its notes are for crashes.
      if (at > 0 && left.ids.length > 0 && !isKept(table, this.#reach)) await this.#unlink(left);
      gone.push(left);
      if (at === 0 && went === 0)
        isDone = Object.keys(condition).length === 0 && left.ids.length === ids.length;
    }
    // Also where the first record has stayed, or another delete was faster: that one knows nothing of what has gone here. But
    // records may have been restored since, and those are not to go again.
    const late = await this.#byPresentCatalog();
    for (const step of gone.toReversed()) await late.lookAgain(isDone ? step : await this.#gone(step), act);
    return isDone;
  }

  /** A large delete takes a while, and a table that was made meanwhile may link here as well. */
  async #byPresentCatalog(): Promise<Deleter> {
    const present = await this.#deps.catalogs.get();
    return present.version === this.#catalog.version ? this : new Deleter(this.#deps, present, this.#reach);
  }

  /** Those of the records that are not there any more. */
  async #gone({ table, ids }: DeleteStep): Promise<DeleteStep> {
    const living = [{ $match: stateCondition(table, "living") }];
    const there = await this.#deps.store.existing(table, ids, isKept(table, this.#reach) ? living : []);
    return { table, ids: ids.filter((id) => !there.has(idText(table, id))) };
  }

  /** Deletes these records and nothing else: the condition is part of the write. @returns how many went */
  #deleteStep({ table, ids }: DeleteStep, act: DeletionAct, condition: Document): Promise<number> {
    const { hooksOf, writes } = this.#deps;
    if (isKept(table, this.#reach)) return markDeleted(this.#deps, table, ids, act, condition);
    return hooksOf(table).removing(ids, (also) => writes.remove(table, ids, allOf([condition, also])));
  }

  /**
   * Whoever has come to link to what is gone looks once more, finds that, and takes it back: a refused request must not cost
   * the record. What still links here after a while was answered before, or its writer has died.
   */
  #letWritersNotice(effect: DeleteEffect, step: DeleteStep): Promise<true> {
    const areGone = async () => !(await this.#isLinked(effect, step));
    return until(areGone, {
      patienceMs: LATE_PATIENCE_MS,
      everyMs: LATE_LOOK_MS,
      atMostMs: LATE_LOOK_AT_MOST_MS,
      tooLate: () => true as const,
    });
  }

  async #isLinked(effect: DeleteEffect, { ids }: DeleteStep): Promise<boolean> {
    return (await this.#going.linkedIds(effect, ids, 1)).length > 0;
  }

  /** Deletes records that have come to link to what is gone. */
  async #takeLate(
    effect: DeleteEffect,
    step: DeleteStep,
    late: readonly Stored[],
    act: DeletionAct,
  ): Promise<void> {
    const { permanent, mayTake } = this.#reach;
    const all: Reach = {
      permanent,
      mayKnow: () => true,
      ...inheritedReach(this.#reach),
      ...(mayTake === undefined ? {} : { mayTake }),
    };
    const deleter = new Deleter(this.#deps, this.#catalog, all);
    // Where each needs a permission, one that may not go must not keep the others.
    const atOnce = mayTake === undefined ? [late] : late.map((id) => [id]);
    const linked = linksTo(effect.relation.link, step.ids);
    for (const going of atOnce.flatMap((ids) => stepsOf(effect.owner, ids, linked))) {
      try {
        await deleter.takeAway(going, { act });
      } catch (error) {
        if (!isRefusal(error)) throw error;
        await this.#letGo(effect, step, { _id: { $in: [...going.ids] } });
      }
    }
  }

  /**
   * Records that can't go along, or that the caller may not take along, are left without the link; but never those that belong
   * to what they link to. Without the link they would be nobody's, which may mean everybody's (a permission rule): it leads
   * nowhere then.
   */
  async #letGo({ owner, relation }: DeleteEffect, step: DeleteStep, which: Document = {}): Promise<void> {
    if (isKept(step.table, this.#reach) || takesAlong(relation)) return;
    await this.#setNull(owner, relation.link.field, { ...which, ...linksTo(relation.link, step.ids) });
  }

  /** Takes the ids out of every link that a delete for good sets to null, and out of the links of records that are kept. */
  async #unlink(step: DeleteStep): Promise<void> {
    for (const { owner, relation } of incomingLinks(this.#catalog, step.table)) {
      if (!losesLink(owner, relation, this.#reach)) continue;
      const { field, list } = relation.link;
      const linked = linksTo(relation.link, step.ids);
      if (list) await this.#takeFromList(owner, field, linked, step.ids);
      else if (relation.onDelete === "SET NULL") await this.#setNull(owner, field, linked);
      // A living one among these has come late, and is still to be deleted.
      else await this.#setNull(owner, field, { ...linked, ...stateCondition(owner, "deleted") });
    }
  }

  #setNull(owner: Table, field: string, linked: Document): Promise<void> {
    return this.#letLinksGo(owner, linked, (some) => this.#deps.writes.moveLink(owner, field, some, null));
  }

  #takeFromList(owner: Table, field: string, linked: Document, ids: readonly Stored[]): Promise<void> {
    return this.#letLinksGo(owner, linked, (some) => this.#deps.writes.takeFromList(owner, field, some, ids));
  }

  /**
   * Lets go of links. Only what another program has given the collection can prevent it: a validator, a unique index.
   * What they lead to has gone, or is about to go, so that a refusal would help nobody: those links stay, and no others.
   */
  async #letLinksGo(
    owner: Table,
    linked: Document,
    act: (some: Document) => Promise<unknown>,
  ): Promise<void> {
    const isDone = async (some: Document): Promise<boolean> => {
      try {
        await act(some);
        return true;
      } catch (error) {
        if (!isConflict(error)) throw error;
        return false;
      }
    };
    if (await isDone(linked)) return;
    const { store, logger } = this.#deps;
    let staying = 0;
    const found = await store.read(owner, [{ $match: linked }, { $project: { _id: 1 } }]);
    for (const id of idsOf(owner, found)) if (!(await isDone({ $and: [linked, { _id: id }] }))) staying += 1;
    logger.warn(
      { table: owner.name, staying },
      "links to deleted records stay: the collection refuses to let them go",
    );
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof AppError && ["CONFLICT", "FORBIDDEN"].includes(error.code);
}
