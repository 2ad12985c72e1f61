// Roles that rules set: by name in a file, by id in the database.
import { describe, expect, it } from "@jest/globals";
import type { JsonObject } from "@portico/shared/json";
import { buildCatalog } from "../catalog/build-catalog.js";
import { systemTables } from "../catalog/system-tables.js";
import { readAccess } from "./access-file.js";
import { accessByName, ruleById, rulesByName } from "./role-presets.js";
import type { DescribedRule } from "./rule.js";

const MEMBER = { id: "65a000000000000000000001", name: "Member", description: null };
const context = {
  catalog: buildCatalog(0, [], systemTables("svc_")),
  rolesTable: "svc_role",
  roles: [MEMBER],
};
const ids = new Map([[MEMBER.name, MEMBER.id]]);
/** A rule to create users. */
const setting = (presets: JsonObject) => ({ table: "svc_user", action: "create", presets });
const stored = (presets: JsonObject): DescribedRule => {
  const none = { roleId: null, filter: null, fields: null, check: null, description: null };
  return { ...none, id: "1", table: "svc_user", action: "create", presets };
};

describe("a preset that links to a role", () => {
  const byName = { name: MEMBER.id, role: { name: "Member" } };
  // A column may have the same text as a role's id.
  const byId = { name: MEMBER.id, role: MEMBER.id };

  it("names it in a file, and has its id in the database; other members stay as they are", () => {
    expect(rulesByName([stored(byId)], context)).toEqual([stored(byName)]);
    expect(ruleById(setting(byName), ids, context)).toEqual({ json: setting(byId), problems: [] });
  });

  it("means the same by the role's id in a file", () => {
    const { access } = readAccess({
      roles: [{ name: "a", rules: [setting(byId)] }],
      everyone: [setting(byId)],
    });
    const named = readAccess({
      roles: [{ name: "a", rules: [setting(byName)] }],
      everyone: [setting(byName)],
    });
    expect(accessByName(access, context)).toEqual(named.access);
  });

  it.each([null, "$role.id", "65a000000000000000000009", { name: 1 }, { name: "Member", id: 1 }, ["Member"]])(
    "stays as it is where it is no role's: %j",
    (role) => {
      expect(rulesByName([stored({ role })], context)).toEqual([stored({ role })]);
      expect(ruleById(setting({ role }), ids, context)).toEqual({ json: setting({ role }), problems: [] });
    },
  );

  it("is refused with its place where no role has the name", () => {
    expect(ruleById(setting({ role: { name: "Membre" } }), ids, context).problems).toEqual([
      'presets.role.name: there is no role "Membre"; did you mean "Member"?',
    ]);
  });
});
