// Asks the records and the permission rules what a planned change would cost them.
import { systemTableNames } from "../catalog/system-tables.js";
import type { RuleStore } from "../mongo/rule-store.js";
import type { FitContext } from "../permission/check-rule.js";
import { followRule } from "../permission/follow-rule.js";
import type { Rule } from "../permission/rule.js";
import { type Cost, type DataDeps, recordCosts } from "./ask-data.js";
import type { ChangePlan } from "./plan-change.js";

export interface CostDeps extends DataDeps {
  readonly rules: Pick<RuleStore, "enabled">;
  readonly systemTablePrefix: string;
}

/** Everything that keeps the change from being made without asking. */
export async function costsOf(deps: CostDeps, plan: ChangePlan): Promise<Cost[]> {
  return [...(await recordCosts(deps, plan)), ...(await ruleCosts(deps, plan))];
}

/** What the rules of a catalog are judged by. */
function fitContextOf({ systemTablePrefix }: Pick<CostDeps, "systemTablePrefix">): FitContext {
  return { users: systemTableNames(systemTablePrefix).users };
}

/** The rules as they are after a change, without those that it switches off. */
export function followedRules<Each extends Rule>(
  deps: Pick<CostDeps, "systemTablePrefix">,
  rules: readonly Each[],
  { before, after }: ChangePlan["catalogs"],
): readonly Each[] {
  return rules.flatMap((rule) => {
    const { text, because } = followRule(rule, { before, after, context: fitContextOf(deps) });
    return because === undefined ? [{ ...rule, ...text }] : [];
  });
}

/**
 * A change's costs together with those of rules that were written since they were determined.
 * @param costs as they were determined
 * @returns undefined when there are no such rules
 */
export async function costsWithLateRules(
  deps: CostDeps,
  plan: ChangePlan,
  costs: readonly Cost[],
): Promise<Cost[] | undefined> {
  const known = new Set(costs.map(({ where, why }) => `${where} ${why}`));
  const rules = await ruleCosts(deps, plan);
  if (rules.every(({ where, why }) => known.has(`${where} ${why}`))) return undefined;
  return [...costs.filter(({ what }) => what !== RULE_OFF), ...rules];
}

const RULE_OFF = "rule.off";

/** What else closes with a rule: it still confines writes, until it is deleted. */
function alsoClosed({ action }: Rule): string {
  return action === "read" ? "; what it alone shows could then be neither changed nor deleted either" : "";
}

/** Rules that would be switched off. The rules of a deleted table are not listed, nor are those affected by an undo. */
async function ruleCosts(deps: CostDeps, { catalogs, own, steps, undoes }: ChangePlan): Promise<Cost[]> {
  if (steps.length === 0 || undoes !== undefined) return [];
  const removed = own.to === undefined ? own.from.name : undefined;
  const rules = (await deps.rules.enabled()).filter(({ table }) => table !== removed);
  return rules.flatMap((rule): Cost[] => {
    const { because } = followRule(rule, { ...catalogs, context: fitContextOf(deps) });
    if (because === undefined) return [];
    return [
      {
        what: RULE_OFF,
        where: `${systemTableNames(deps.systemTablePrefix).permissions}/${rule.id}`,
        rows: 0,
        examples: [],
        why: `the rule to ${rule.action} "${rule.table}" would be switched off, because ${because}${alsoClosed(rule)}`,
        confirmed: "lost",
      },
    ];
  });
}
