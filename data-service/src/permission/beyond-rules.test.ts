// Which actions on which tables no rule can allow, and which are nobody's.
import { expect, test } from "@jest/globals";
import { isBeyondRules, isNobodys } from "./beyond-rules.js";
import { ACTIONS, type Action } from "./rule.js";

const tables = { users: "svc_user", roles: "svc_role", permissions: "svc_permission", tables: "svc_table" };
const WRITES: readonly Action[] = ["create", "update", "delete"];

interface Case {
  readonly name: string;
  readonly journal: boolean;
  readonly beyondRules: readonly Action[];
  readonly nobodys: readonly Action[];
}

test.each<Case>([
  { name: "posts", journal: false, beyondRules: [], nobodys: [] },
  { name: "svc_user", journal: false, beyondRules: [], nobodys: [] },
  { name: "svc_role", journal: false, beyondRules: WRITES, nobodys: [] },
  { name: "svc_permission", journal: false, beyondRules: WRITES, nobodys: [] },
  { name: "svc_table", journal: false, beyondRules: WRITES, nobodys: [] },
  { name: "svc_audit", journal: true, beyondRules: ["read", ...WRITES], nobodys: WRITES },
])("of $name no rule can allow $beyondRules, and nobody may $nobodys", (each) => {
  const { name, journal, beyondRules, nobodys } = each;
  const beyond = ACTIONS.filter((action) => isBeyondRules({ name, journal }, action, tables));
  expect(beyond.toSorted()).toEqual(beyondRules.toSorted());
  expect(ACTIONS.filter((action) => isNobodys({ journal }, action)).toSorted()).toEqual(nobodys.toSorted());
});
