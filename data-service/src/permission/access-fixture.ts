// Rules for tests of what a schema file does to them.
import { isObject, type JsonObject } from "@portico/shared/json";
import type { AccessStep } from "./access-steps.js";
import { ACTIONS, type Action, type DescribedRule, inTriedOrder, type StoredRole } from "./rule.js";

export const EDITOR: StoredRole = { id: "e", name: "editor", description: null };

/** One of the editors'. Ids say when rules were made. */
export function rule(id: string, action: Action, members: Partial<DescribedRule> = {}): DescribedRule {
  const none = { filter: null, fields: null, presets: null, check: null, description: null };
  const createdAt = new Date(Number.parseInt(id, 10));
  return { id, roleId: EDITOR.id, table: "posts", action, createdAt, ...none, ...members };
}

/**
 * The rules after each step, in the order in which they are tried.
 * @param now when what is new is made
 */
export function statesOf(
  steps: readonly AccessStep[],
  rules: readonly DescribedRule[],
  now: Date,
): DescribedRule[][] {
  const states: DescribedRule[][] = [];
  let state = [...rules];
  for (const [at, step] of steps.entries()) {
    state = after(step, state, `${now.getTime()}.${String(at).padStart(2, "0")}`);
    states.push(state);
  }
  return states;
}

function after(step: AccessStep, now: readonly DescribedRule[], id: string): DescribedRule[] {
  if (step.kind === "make") {
    const made = { ...ruleOf(id, step.rule.json), roleId: step.role === undefined ? null : EDITOR.id };
    return [...now, made].toSorted(inTriedOrder);
  }
  if (step.kind === "remove") return now.filter((each) => each.id !== step.rule.id);
  const { from, to } = step.edit;
  return now.map((each) =>
    each.id === from.id ? { ...each, ...ruleOf(each.id, to.json), roleId: each.roleId } : each,
  );
}

/** One of the editors', as a file says it. */
export function ruleOf(id: string, json: JsonObject): DescribedRule {
  const action = ACTIONS.find((each) => each === json.action) ?? "read";
  return rule(id, action, {
    filter: json.filter ?? null,
    check: json.check ?? null,
    presets: isObject(json.presets) ? json.presets : null,
    description: typeof json.description === "string" ? json.description : null,
  });
}
