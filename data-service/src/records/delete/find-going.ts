// Finds what goes with records that are deleted, and what blocks it. Nothing is changed here.
import type { AppError } from "@portico/shared/app-error";
import type { Catalog, Table } from "../../catalog/catalog.js";
import { idsOf, idText } from "../../catalog/record-ids.js";
import type { Stored } from "../../catalog/stored.js";
import { getOrMake } from "../../get-or-make.js";
import type { Document, StoredRecord } from "../../query/lower/document.js";
import { linksTo } from "../../query/lower/links.js";
import { namedId } from "../../query/lower/named-id.js";
import type { RecordDeps } from "../record-deps.js";
import {
  blockedDelete,
  type DeleteEffect,
  type DeleteStep,
  deleteEffects,
  type Reach,
  stepsOf,
} from "./delete-effects.js";
import { stateCondition } from "./kept.js";

/** Looks with one reach, among the tables of one catalog. */
export class FindGoing {
  readonly #store: Pick<RecordDeps["store"], "read">;
  readonly #catalog: Catalog;
  readonly #reach: Reach;

  constructor(store: Pick<RecordDeps["store"], "read">, catalog: Catalog, reach: Reach) {
    this.#store = store;
    this.#catalog = catalog;
    this.#reach = reach;
  }

  effectsOn(table: Table): DeleteEffect[] {
    return deleteEffects(this.#catalog, table, this.#reach);
  }

  /** What goes, as far as the caller may take it along. @throws AppError 409 when something blocks it */
  async find(first: DeleteStep): Promise<DeleteStep[]> {
    const steps = await this.#reached(first);
    for (const step of steps) await this.#reach.mayTake?.(step);
    return steps;
  }

  /**
   * What goes, parents before children; a record that is reached again, as in a circle, goes once. Records of tables that
   * may go along can only be said to block it when all that goes is known; any others are looked for first.
   */
  async #reached(first: DeleteStep): Promise<DeleteStep[]> {
    const seen = new Map<string, Set<string>>();
    const seenOf = (table: Table): Set<string> => getOrMake(seen, table.name, () => new Set());
    const mayGo = this.#tablesReached(first.table);
    const steps: DeleteStep[] = [];
    // The list grows while it is walked: every step adds the records that link to its own.
    const wanted = [await this.#stillLinked(first)];
    for (const { table, ids, linked } of wanted) {
      const unseen = ids.filter((id) => !seenOf(table).has(idText(table, id)));
      for (const id of unseen) seenOf(table).add(idText(table, id));
      for (const step of stepsOf(table, unseen, linked)) {
        await this.#requireFree(step, (owner) => !mayGo.has(owner), seenOf);
        steps.push(step);
        wanted.push(...(await this.#takenAlong(step)));
      }
    }
    for (const step of steps) await this.#requireFree(step, (owner) => mayGo.has(owner), seenOf);
    return steps;
  }

  /** The tables of which records may go with one of this table. */
  #tablesReached(first: Table): ReadonlySet<Table> {
    const reached = new Set([first]);
    // It grows while it is walked.
    for (const table of reached)
      for (const { effect, owner } of this.effectsOn(table)) if (effect === "cascade") reached.add(owner);
    return reached;
  }

  /** Those of the records that have not been moved away since they were found. */
  async #stillLinked(step: DeleteStep): Promise<DeleteStep> {
    const { table, ids, linked } = step;
    if (linked === undefined) return step;
    const which = { _id: { $in: [...ids] }, ...linked };
    const found = await this.#store.read(table, [{ $match: which }, { $project: { _id: 1 } }]);
    return { ...step, ids: idsOf(table, found) };
  }

  /** The records that go with those of a step. */
  async #takenAlong(step: DeleteStep): Promise<DeleteStep[]> {
    const along: DeleteStep[] = [];
    for (const each of this.effectsOn(step.table)) {
      if (each.effect !== "cascade") continue;
      const ids = await this.linkedIds(each, step.ids);
      along.push({ table: each.owner, ids, linked: linksTo(each.relation.link, step.ids) });
    }
    return along;
  }

  /** @throws AppError 409 when records of such tables block it that don't go themselves */
  async #requireFree(
    { table, ids }: DeleteStep,
    isAsked: (owner: Table) => boolean,
    goingOf: (table: Table) => ReadonlySet<string>,
  ): Promise<void> {
    for (const each of this.effectsOn(table)) {
      if (each.effect !== "restrict" || !isAsked(each.owner)) continue;
      const going = goingOf(each.owner);
      // One more than those that go is enough to show that something else links here.
      const linked = await this.linkedIds(each, ids, going.size + 1);
      if (linked.some((id) => !going.has(idText(each.owner, id))) || (await this.#isLinkedUnnamed(each, ids)))
        throw await this.#refusal(table, each, ids);
    }
  }

  async #refusal(table: Table, effect: DeleteEffect, ids: readonly Stored[]): Promise<AppError> {
    const living: DeleteEffect = { ...effect, state: "living" };
    const { mayKnow } = this.#reach;
    const areDeleted =
      mayKnow(effect.owner, effect.relation) &&
      effect.state === "all" &&
      (await this.linkedIds(living, ids, 1)).length === 0 &&
      !(await this.#isLinkedUnnamed(living, ids));
    return blockedDelete(table, effect, mayKnow, areDeleted);
  }

  /**
   * Records that link to others. In an adopted collection those whose ids an address can name: another one would be read as
   * nothing, or as somebody else's record.
   * @param limit how many are enough
   */
  async linkedIds(effect: DeleteEffect, ids: readonly Stored[], limit?: number): Promise<Stored[]> {
    const { isAdopted, idColumn } = effect.owner;
    const which = isAdopted === true ? { _id: namedId(idColumn.type) } : {};
    return idsOf(effect.owner, await this.#linked(effect, ids, which, limit));
  }

  /** Is there any other such record? It goes along with nothing, but what it links to may not go either. */
  async #isLinkedUnnamed(effect: DeleteEffect, ids: readonly Stored[]): Promise<boolean> {
    const { isAdopted, idColumn } = effect.owner;
    if (isAdopted !== true) return false;
    const which = { _id: { $not: namedId(idColumn.type) } };
    return (await this.#linked(effect, ids, which, 1)).length > 0;
  }

  #linked(
    { owner, relation, state }: DeleteEffect,
    ids: readonly Stored[],
    which: Document,
    limit: number | undefined,
  ): Promise<StoredRecord[]> {
    return this.#store.read(owner, [
      { $match: { ...linksTo(relation.link, ids), ...stateCondition(owner, state), ...which } },
      ...(limit === undefined ? [] : [{ $limit: limit }]),
      { $project: { _id: 1 } },
    ]);
  }
}
