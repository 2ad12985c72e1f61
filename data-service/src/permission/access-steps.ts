// In which order rules are made what a file says of them: meanwhile, or after an interruption, nobody reaches what neither the
// former rules nor those of the file let them reach. Pure.
//
// What may be changed, and what may be linked to, is only what the rules for reading show (contract, section 7). So former rules
// for writing must not meet those for reading of the file, nor the other way round: where both differ, rules for writing are closed
// until the others are done.
import type { Json, JsonObject } from "@portico/shared/json";
import { canonical } from "../catalog/canonical.js";
import type { FileRole, FileRule } from "./access-file.js";
import { type AccessChange, changesRights, kindOfRule, type RuleEdit } from "./compare-access.js";
import { type DescribedRule, inTriedOrder, type Rule } from "./rule.js";

/** One write. */
export type AccessStep =
  /** Without a role it is everyone's. */
  | { readonly kind: "make"; readonly role: FileRole | undefined; readonly rule: FileRule }
  | { readonly kind: "edit"; readonly edit: RuleEdit }
  | { readonly kind: "remove"; readonly rule: DescribedRule };

/** @param changes of one file; one that was interrupted anywhere is completed by the changes that are left then */
export function accessSteps(changes: readonly AccessChange[]): AccessStep[] {
  const reading = changes.map((each) => partOf(each, isForReading));
  const writing = changes.map((each) => partOf(each, (rule) => !isForReading(rule)));
  const closing = writing.filter((each) =>
    reading.some((other) => haveSameCallers(each, other) && isOther(other)),
  );
  const open = writing.filter((each) => !closing.includes(each));
  return [
    ...closing.flatMap(closingSteps),
    ...inTurn(reading),
    ...closing.flatMap(openingSteps),
    // What was interrupted after its reading goes on with the opening.
    ...open.filter(isInterrupted).flatMap((each) => [...each.remove.map(removing), ...openingSteps(each)]),
    ...inTurn(open.filter((each) => !isInterrupted(each))),
  ];
}

/** A rule of a file or of the database. */
interface Acting {
  readonly action?: Json;
}

function isForReading({ action }: Acting): boolean {
  return action === "read";
}

function partOf(change: AccessChange, isIn: (rule: Acting) => boolean): AccessChange {
  const { make, edit, keep, remove } = change;
  return {
    ...change,
    make: make.filter(({ json }) => isIn(json)),
    edit: edit.filter(({ from }) => isIn(from)),
    keep: keep.filter(({ from }) => isIn(from)),
    remove: remove.filter(isIn),
  };
}

/** Do the rules of both ever concern the same caller? Everyone's always do. */
function haveSameCallers({ role }: AccessChange, { role: other }: AccessChange): boolean {
  return role === other || role === undefined || other === undefined;
}

/** May its holder do something else afterwards? */
function isOther({ make, edit, remove }: AccessChange): boolean {
  return make.length + remove.length > 0 || edit.some(changesRights);
}

/** Nobody is without a right that they keep. */
function inTurn(parts: readonly AccessChange[]): AccessStep[] {
  return [
    ...parts.flatMap(making),
    ...parts.flatMap(({ edit }) => edit.map(editing)),
    ...parts.flatMap(({ remove }) => remove.map(removing)),
  ];
}

/** The last first: what one no longer allows would fall to those behind it, with their presets. */
function closingSteps(part: AccessChange): AccessStep[] {
  const closed = closedIn(part).map(({ from }): [DescribedRule, AccessStep] => [
    from,
    editing({ from, to: closedRule(from) }),
  ]);
  const removed = part.remove.map((rule): [DescribedRule, AccessStep] => [rule, removing(rule)]);
  return [...closed, ...removed]
    .toSorted(([one], [other]) => inTriedOrder(other, one))
    .map(([, step]) => step);
}

/** The first first. */
function openingSteps(part: AccessChange): AccessStep[] {
  const closed = closedIn(part);
  const others = part.edit.filter((each) => !closed.includes(each));
  return [
    ...[...closed, ...others].toSorted((one, other) => inTriedOrder(one.from, other.from)).map(editing),
    ...making(part),
  ];
}

/** All that stay of the kinds of which one goes or allows something else. */
function closedIn({ edit, keep, remove }: AccessChange): RuleEdit[] {
  const others = [...edit.filter(changesRights).map(({ from }) => from), ...remove];
  const kinds = new Set(others.map(kindOfRule));
  return [...edit, ...keep].filter(({ from }) => kinds.has(kindOfRule(from)));
}

/**
 * One that allows nothing. It is not switched off: a file does not know of rules that are off, and would not switch it on
 * again after an interruption.
 */
function closedRule({ table, action, description }: DescribedRule): FileRule {
  const condition = action === "create" ? { check: NOTHING } : { filter: NOTHING };
  return { path: "", json: { table, action, description, ...condition } };
}

const NOTHING: JsonObject = { id: { _in: [] } };

function isInterrupted({ edit }: AccessChange): boolean {
  return edit.some(({ from }) => isClosed(from));
}

function isClosed({ action, filter, check }: Rule): boolean {
  return canonical(action === "create" ? check : filter) === canonical(NOTHING);
}

function making({ role, make }: AccessChange): AccessStep[] {
  return make.map((rule) => ({ kind: "make", role, rule }));
}

function editing(edit: RuleEdit): AccessStep {
  return { kind: "edit", edit };
}

function removing(rule: DescribedRule): AccessStep {
  return { kind: "remove", rule };
}
