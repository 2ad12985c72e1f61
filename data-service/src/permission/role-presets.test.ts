// Roles that rules set: by name in a file, by id in the database.
import { describe, expect, it } from "@jest/globals";
import type { JsonObject } from "@portico/shared/json";
import { buildCatalog } from "../catalog/build-catalog.js";
import { bareRelation, bareTable } from "../catalog/definition-fixture.js";
import { systemTables } from "../catalog/system-tables.js";
import { readAccess } from "./access-file.js";
import { accessByName, ruleById, rulesByName } from "./role-presets.js";
import type { DescribedRule } from "./rule.js";

const MEMBER = { id: "65a000000000000000000001", name: "Member", description: null };
/** Notes with a link to a role, one to a user, and a list of roles. */
const relations = [
  bareRelation("role", "svc_role"),
  bareRelation("user", "svc_user"),
  bareRelation("readers", "svc_role", { type: "many-to-many" }),
];
const fields = Object.fromEntries(relations.map(({ id }) => [id, id]));
const notes = bareTable("notes", { relations, storage: { collection: "notes", fields } });
const context = {
  catalog: buildCatalog(0, [notes], systemTables("svc_")),
  rolesTable: "svc_role",
  roles: [MEMBER],
};
const ids = new Map([[MEMBER.name, MEMBER.id]]);
/** A rule to create users. */
const setting = (presets: JsonObject) => ({ table: "svc_user", action: "create", presets });
const stored = (presets: JsonObject): DescribedRule => {
  const none = { roleId: null, filter: null, fields: null, check: null, description: null };
  return { ...none, id: "1", createdAt: new Date(0), table: "svc_user", action: "create", presets };
};

describe("a preset that links to a role", () => {
  const byName = { name: MEMBER.id, role: { name: "Member" } };
  // A column may have the same text as a role's id.
  const byId = { name: MEMBER.id, role: MEMBER.id };

  it("names it in a file, and has its id in the database; other members stay as they are", () => {
    expect(rulesByName([stored(byId)], context)).toEqual([stored(byName)]);
    expect(ruleById(setting(byName), ids, context)).toEqual({ json: setting(byId), problems: [] });
  });

  it("is told from links to other tables and from lists of links, whatever their values", () => {
    const others = { user: MEMBER.id, readers: [MEMBER.id] };
    const rule = { ...stored({ ...others, role: MEMBER.id }), table: "notes" };
    const presets = { ...others, role: { name: "Member" } };
    expect(rulesByName([rule], context)).toEqual([{ ...rule, presets }]);
    const wrong = { table: "notes", presets: { user: { name: "Member" }, readers: { name: "Member" } } };
    expect(ruleById(wrong, ids, context)).toEqual({ json: wrong, problems: [] });
  });

  it("is found by an id in capitals as well", () => {
    const id = "65A0000000000000000000BC";
    const roles = [{ ...MEMBER, id: id.toLowerCase() }];
    expect(rulesByName([stored({ role: id })], { ...context, roles })).toEqual([
      stored({ role: { name: "Member" } }),
    ]);
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

  it.each([null, "$role.id"])("stays as it is where it is %j", (role) => {
    expect(rulesByName([stored({ role })], context)).toEqual([stored({ role })]);
    expect(ruleById(setting({ role }), ids, context)).toEqual({ json: setting({ role }), problems: [] });
  });

  it("keeps an id that no role has, as a rule may outlive its role", () => {
    const gone = stored({ role: "65a000000000000000000009" });
    expect(rulesByName([gone], context)).toEqual([gone]);
  });

  it.each(["65a000000000000000000009", "Member", { name: 1 }, { name: "Member", id: 1 }, {}, ["Member"]])(
    "is refused in a file where it names no role: %j",
    (role) => {
      expect(ruleById(setting({ role }), ids, context).problems).toEqual([
        `presets.role: must name a role, as in {"name":"Member"}, not ${JSON.stringify(role)}`,
      ]);
    },
  );

  it("is refused with its place where no role has the name", () => {
    expect(ruleById(setting({ role: { name: "Membre" } }), ids, context).problems).toEqual([
      'presets.role.name: there is no role "Membre"; did you mean "Member"?',
    ]);
  });
});
