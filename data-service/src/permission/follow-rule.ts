// What a change of tables does to a permission rule: its names follow, and a rule that would no longer fit is switched off.
// Pure.
import type { Catalog } from "../catalog/catalog.js";
import { type FitContext, misfits } from "./check-rule.js";
import { followNames, meaningOf, type RuleText, type StoredRule, textOf } from "./follow-names.js";
import type { Withheld } from "./rule.js";
import { withheldAfter, withheldAgain, withholdingToo } from "./withheld.js";

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
}

/** A rule before a change that is being undone. */
export interface FormerRule extends Pick<RuleState, "text" | "isEnabled"> {
  /** What its names meant (`meaningOf`); earlier versions noted neither that nor what it withheld. */
  readonly meaning?: string | undefined;
}

/**
 * @param rule what did not fit the catalog `before` stays as it is
 * @returns the rule for the catalog `after`; it is also off if a type or a value that it compares with has changed, because
 * then it would grant nothing now and might grant something else after the next change
 */
export function followRule(rule: StoredRule, { before, after, context }: CatalogChange): FollowedRule {
  const followed = followNames(rule, before, after);
  const named = followed.kind === "renamed" ? followed.text : textOf(rule);
  const text = withheldAgain(named, rule, before, after);
  if (followed.kind === "off") return { text, because: followed.because };
  const [because] = misfits({ ...rule, ...text }, after, context);
  const isNew = because !== undefined && misfits(rule, before, context).length === 0;
  return isNew ? { text, because } : { text };
}

/**
 * @param former what the change undoes, if nothing has touched the rule since. It is restored only where each of its names
 * means what it meant then
 */
export function ruleAfter(
  rule: StoredRule & { readonly isEnabled: boolean },
  former: FormerRule | undefined,
  change: CatalogChange,
): RuleState {
  const { before, after } = change;
  const withheld = withheldAfter(rule, before, after);
  if (former !== undefined && isAsItWas(former, rule, change)) {
    const followed = followNames(rule, before, after);
    const present = followed.kind === "renamed" ? followed.text : textOf(rule);
    const back = followed.kind === "off" ? former.text : withholdingToo(former.text, present);
    const text = withheldAgain(back, rule, before, after);
    return { text, isEnabled: former.isEnabled, withheld };
  }
  const { text, because } = followRule(rule, change);
  const isKnown = former === undefined || former.meaning !== undefined;
  return { text, isEnabled: rule.isEnabled && because === undefined && isKnown, withheld };
}

function isAsItWas(
  { text, meaning }: FormerRule,
  { action }: StoredRule,
  { after, context }: CatalogChange,
): boolean {
  return meaning === meaningOf(text, after) && misfits({ ...text, action }, after, context).length === 0;
}
