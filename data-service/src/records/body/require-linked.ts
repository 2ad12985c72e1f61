// Records that a write links to: each must be there, visible to the caller, and not about to be deleted.
import { isDeepStrictEqual } from "node:util";
import { AppError } from "@portico/shared/app-error";
import type { Table } from "../../catalog/catalog.js";
import { idText } from "../../catalog/record-ids.js";
import type { Stored } from "../../catalog/stored.js";
import type { AuthorizedPredicate } from "../../query/ast.js";
import { matchStages } from "../../query/lower/condition.js";
import { Names } from "../../query/lower/document.js";
import { linkable } from "../delete/await-leaving.js";
import { isWaiting } from "../delete/delete-effects.js";
import type { RecordDeps } from "../record-deps.js";
import type { AuthorizedLinks } from "./link-set.js";
import { alone, asWhole, MOST_NAMED, type PathOf } from "./violations.js";

export type LinkedDeps = Pick<RecordDeps, "store" | "logger">;

/** Options for checking linked records. */
export interface LinkedOptions {
  /** Where in the request each plan stands. */
  readonly pathOf?: PathOf;
  /** Records that need not be there yet. */
  readonly isComing?: ((target: Table, id: Stored) => boolean) | undefined;
  /** Relations through which the plan at a position links to records that the same body makes, or to the one around it. */
  readonly broughtLinksOf?: ((at: number) => ReadonlySet<string> | undefined) | undefined;
  /** They were visible before and are linked to by now, which may be why the caller no longer sees them. */
  readonly isWritten?: boolean;
}

/**
 * Every linked record must exist and, before it is linked to, be visible.
 * @param mustExist the links of each plan
 * @throws AppError VALIDATION_ERROR naming each field with an unknown one; where a rule sets it, that is for the log alone
 */
export async function requireLinked(
  deps: LinkedDeps,
  mustExist: readonly (readonly AuthorizedLinks[])[],
  { pathOf = alone, isComing = () => false, isWritten = false, broughtLinksOf }: LinkedOptions = {},
): Promise<void> {
  const unknown: { readonly at: number; readonly violation: string }[] = [];
  for (const question of questionsOf(mustExist, isWritten ? "there" : "visible")) {
    const { relation, target, rows, presetBy, links } = question;
    const wanted = links.filter(({ id }) => !isComing(target, id));
    const ids = [...new Map(wanted.map(({ id, text }) => [text, id])).values()];
    const seen = matchStages([rows], new Names());
    const known = await linkable(deps, target, ids, { waits: isWaiting(relation), visible: seen });
    const missing = wanted.filter(({ text }) => !known.has(text));
    if (presetBy !== undefined && missing.length > 0)
      deps.logger.warn({ rule: presetBy, member: relation.name, id: missing[0]?.text }, PRESET_NOWHERE);
    for (const { at, text } of missing) {
      const own = broughtLinksOf?.(at)?.has(relation.name) === true ? MADE_UNSEEN : "";
      const named = `${pathOf(at)}${relation.name}: there is no "${target.name}" record with the id ${text}${own}`;
      unknown.push({ at, violation: presetBy === undefined ? named : ofPreset(pathOf(at)) });
    }
  }
  const inOrder = unknown.toSorted((a, b) => a.at - b.at);
  const violations = new Set(inOrder.map(({ violation }) => violation));
  if (violations.size > 0)
    throw new AppError("VALIDATION_ERROR", { message: [...violations].slice(0, MOST_NAMED) });
}

/** It was made a moment ago, with an id that the client has never heard of. */
const MADE_UNSEEN = "; one that this body makes must be one that you may see";

const PRESET_NOWHERE = "a rule sets a link to a record that is not there";

/** The caller sent no such link, and may know neither the member nor the table that it leads to. */
function ofPreset(place: string): string {
  return (place === "" ? "body: " : asWhole(place)) + PRESET_NOWHERE;
}

/** What plans link to through one relation, where the same rule says what is there. */
type Question = Pick<AuthorizedLinks, "relation" | "target"> & {
  readonly presetBy: string | undefined;
  readonly rows: AuthorizedPredicate;
  /** `at` is the position of the plan. */
  readonly links: { readonly at: number; readonly id: Stored; readonly text: string }[];
};

/**
 * One question per relation, however many plans there are; and another one where a rule sets the link, whatever the
 * caller may see: what one record may link to says nothing about the others.
 */
function questionsOf(
  mustExist: readonly (readonly AuthorizedLinks[])[],
  rule: "visible" | "there",
): readonly Question[] {
  const questions: Question[] = [];
  for (const [at, sets] of mustExist.entries()) {
    for (const { relation, target, presetBy, ids, [rule]: rows } of sets) {
      const isSame = (each: Question) =>
        each.relation === relation && each.presetBy === presetBy && isDeepStrictEqual(each.rows, rows);
      const known = questions.find(isSame);
      const question: Question = known ?? { relation, target, presetBy, rows, links: [] };
      if (known === undefined) questions.push(question);
      for (const id of ids) question.links.push({ at, id, text: idText(target, id) });
    }
  }
  return questions;
}
