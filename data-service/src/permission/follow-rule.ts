// What a change of tables does to a permission rule: its names follow, and a rule that would no longer fit is switched off.
// Pure.
import type { Catalog } from "../catalog/catalog.js";
import { type FitContext, misfits } from "./check-rule.js";
import {
  followNames,
  meaningOf,
  meantIn,
  type RuleText,
  type StoredRule,
  textMeaning,
  textOf,
} from "./follow-names.js";
import type { Meant } from "./meant.js";
import type { Withheld } from "./rule.js";
import { newlyWithheld, withheldAfter, withheldAgain, withholdingToo } from "./withheld.js";

/** The tables before and after a change, and what rules are judged by. */
export interface CatalogChange {
  readonly before: Catalog;
  readonly after: Catalog;
  readonly context: FitContext;
}

/** A rule for the catalog after a change, and why it is off from then on. */
export interface FollowedRule {
  readonly text: RuleText;
  readonly because?: string;
}

/** What a change makes of a rule. */
export interface RuleState {
  readonly text: RuleText;
  readonly isEnabled: boolean;
  readonly withheld: Withheld;
  /** While it is off without something that it names. */
  readonly meant?: Meant | undefined;
  /** What changes have taken from it since somebody has written it, the latest last. */
  readonly losses: readonly Loss[];
}

/** A change took something from a rule, or switched it off. */
export interface Loss {
  /** The change's id. */
  readonly change: string;
  readonly at: Date;
  /** Was the rule on before? */
  readonly wasEnabled: boolean;
  /** What its text meant before (`meaningOf`); earlier versions noted neither that nor what it withheld. */
  readonly meaning?: string | undefined;
}

/** A change that rules follow. */
export interface FollowedChange extends CatalogChange {
  readonly id: string;
  readonly at: Date;
  /** The change that this one undoes. */
  readonly undoes: string | null;
  /** What was lost before that can't be undone any more. */
  readonly undoableSince: Date;
}

type Followable = StoredRule & Pick<RuleState, "isEnabled" | "losses">;

/**
 * @param rule what did not fit the catalog `before` stays as it is
 * @returns the rule for the catalog `after`; it is also off if a type or a value that it compares with has changed, because
 * then it would grant nothing now and might grant something else after the next change
 */
export function followRule(rule: StoredRule, { before, after, context }: CatalogChange): FollowedRule {
  const followed = followNames(rule, before, after);
  const named = followed.kind === "same" ? textOf(rule) : followed.text;
  const text = withheldAgain(named, rule, before, after);
  if (followed.kind === "off") return { text, because: followed.because };
  const [because] = misfits({ ...rule, ...text }, after, context);
  const isNew = because !== undefined && misfits(rule, before, context).length === 0;
  return isNew ? { text, because } : { text };
}

/** @returns the rule after a change; what the change undoes comes back if nobody has written the rule since */
export function ruleAfter(rule: Followable, change: FollowedChange): RuleState {
  const undone = rule.losses.findIndex((each) => each.change === change.undoes);
  return (undone >= 0 ? ruleBack(rule, undone, change) : undefined) ?? ruleOn(rule, change);
}

/**
 * @param undone which of the losses
 * @returns the rule from before it, with the names of now; undefined where what it named is not there, or does not fit
 */
function ruleBack(rule: Followable, undone: number, change: FollowedChange): RuleState | undefined {
  const { before, after, context } = change;
  const { action, isEnabled, losses } = rule;
  const [loss, next] = losses.slice(undone);
  // A later change, which is not undone, has switched it off.
  const isOffSince = !isEnabled && next?.wasEnabled === true;
  if (loss?.meaning === undefined || isOffSince) return undefined;
  const meant = loss.wasEnabled ? undefined : rule.meant;
  const former = textMeaning(loss.meaning, meant, after);
  if (former === undefined || misfits({ ...former, action }, after, context).length > 0) return undefined;
  const followed = followNames(rule, before, after);
  const present = followed.kind === "same" ? textOf(rule) : followed.text;
  return {
    text: withheldAgain(withholdingToo(former, present), rule, before, after),
    isEnabled: loss.wasEnabled,
    withheld: withheldAfter(rule, before, after),
    meant,
    losses: losses.slice(0, undone),
  };
}

/** The rule with what the change takes from it. */
function ruleOn(rule: Followable, change: FollowedChange): RuleState {
  const { before, after } = change;
  const { text, because } = followRule(rule, change);
  const isKnown = rule.losses.every((each) => each.change !== change.undoes || each.meaning !== undefined);
  const isEnabled = rule.isEnabled && because === undefined && isKnown;
  const known = [...(rule.meant ?? meantIn(rule, before)), ...newlyWithheld(text, rule, before, after)];
  const meant = isEnabled ? undefined : [...new Set(known)];
  const meaning = meaningOf(rule, before);
  const isLess = isEnabled !== rule.isEnabled || meaning !== meaningOf({ ...text, meant }, after);
  const loss: Loss = { change: change.id, at: change.at, wasEnabled: rule.isEnabled, meaning };
  const undoable = rule.losses.filter(({ at }) => at > change.undoableSince);
  return {
    text,
    isEnabled,
    withheld: withheldAfter(rule, before, after),
    meant: isLess || rule.meant !== undefined ? meant : undefined,
    losses: isLess ? [...undoable, loss] : rule.losses,
  };
}
