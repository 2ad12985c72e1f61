// Callers share a view of what they may read as long as no rule tells them apart.
import { describe, expect, it } from "@jest/globals";
import { ANONYMOUS, type Principal } from "../principal.js";
import { catalog, catalogOf, table } from "../query/library-fixture.js";
import { loadRights } from "./load-rights.js";
import type { Rule } from "./rule.js";

const NOW = new Date("2026-05-06T07:08:09.010Z");
const tables = { users: "svc_user", roles: "svc_role", permissions: "svc_permission", tables: "svc_table" };
const BOOKS: Rule = {
  id: "r",
  roleId: null,
  table: "books",
  action: "read",
  filter: null,
  fields: null,
  presets: null,
  check: null,
};

const user = (userId: string, roleId: string | null, isRootAdmin = false): Principal => ({
  kind: "user",
  userId,
  roleId,
  isRootAdmin,
});
/** The rules that are there, as a store that keeps them for a while gives them. */
const rightsUnder = (byRole: ReadonlyMap<string | null, readonly Rule[]>) =>
  loadRights({
    rules: {
      of: async (roleId) => ({ rules: byRole.get(roleId) ?? [], readRulesOff: [], change: undefined }),
    },
    userRecord: async () => null,
    clock: { now: () => NOW },
    tables,
  });

describe("a view of what may be read", () => {
  it("is one for all callers of a role whose rules speak of none of them", async () => {
    const rights = rightsUnder(new Map([["editors", [BOOKS]]]));
    const [ann, bob] = [await rights(user("a", "editors")), await rights(user("b", "editors"))];
    expect(ann.view(catalog)).toBe(bob.view(catalog));
  });

  it.each(["$user.id", "$now"])("is the caller's own where a rule speaks of %s", async (variable) => {
    const rule = { ...BOOKS, filter: { title: { _eq: variable } } };
    const rights = rightsUnder(new Map([["editors", [BOOKS, rule]]]));
    const [ann, bob] = [await rights(user("a", "editors")), await rights(user("b", "editors"))];
    expect(ann.view(catalog)).not.toBe(bob.view(catalog));
  });

  it("is another for another role, for root admins and for nobody", async () => {
    const rights = rightsUnder(
      new Map([
        ["editors", [BOOKS]],
        ["readers", [BOOKS]],
        [null, []],
      ]),
    );
    const callers = [user("a", "editors"), user("b", "readers"), user("c", null, true), ANONYMOUS];
    const views = await Promise.all(callers.map(async (caller) => (await rights(caller)).view(catalog)));
    expect(new Set(views).size).toBe(4);
    expect(views.map((view) => view.mayRead(table("authors")))).toEqual([false, false, true, false]);
  });

  it("ends with the rules and with the tables it was made of", async () => {
    const byRole = new Map<string | null, readonly Rule[]>([["editors", [BOOKS]]]);
    const rights = rightsUnder(byRole);
    const before = (await rights(user("a", "editors"))).view(catalog);
    expect((await rights(user("a", "editors"))).view(catalogOf([]))).not.toBe(before);
    byRole.set("editors", []);
    expect((await rights(user("a", "editors"))).view(catalog)).not.toBe(before);
  });
});
