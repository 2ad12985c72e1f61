// Which hooks a table has.
import { expect, it } from "@jest/globals";
import { buildCatalog } from "../catalog/build-catalog.js";
import { systemTables } from "../catalog/system-tables.js";
import { hooksByTable, NO_HOOKS } from "./table-hooks.js";

const { tables } = buildCatalog(0, [], systemTables("svc_"));
const [users, roles] = [tables.get("svc_user"), tables.get("svc_role")];
if (users === undefined || roles === undefined) throw new Error("these tables are always there");

it("a table has the hooks that its name is given, and any other has none", () => {
  const ofUsers = { ...NO_HOOKS, prepare: () => null };
  const hooksOf = hooksByTable(new Map([["svc_user", ofUsers]]));
  expect([hooksOf(users), hooksOf(roles)]).toEqual([ofUsers, NO_HOOKS]);
});

it("without hooks a write is what its columns say", async () => {
  const plan = {
    own: { set: new Map([["email", "x"]]), unset: [], columns: new Map() },
    mustExist: [],
    foreign: [],
    ownLists: [],
  };
  expect(NO_HOOKS.prepare({ email: " X " }, "create")).toEqual({ email: " X " });
  expect(NO_HOOKS.plan(roles, plan, false)).toBe(plan);
  expect(await NO_HOOKS.withoutKnown(roles, "id", plan)).toBe(plan);
  expect(NO_HOOKS.alongside(roles, plan.own)).toEqual({});
  expect(await NO_HOOKS.changing(roles, "id", null, async (condition) => condition)).toEqual({});
  const removed: unknown[] = [];
  expect(await NO_HOOKS.removing(["id"], async (condition) => removed.push(condition))).toBe(1);
  expect(removed).toEqual([{}]);
});
