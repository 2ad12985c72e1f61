// Roles and rules of a schema file, read and written.
import { describe, expect, it } from "@jest/globals";
import type { JsonObject } from "@portico/shared/json";
import { readAccess, writeAccess } from "./access-file.js";
import type { DescribedRule } from "./rule.js";

const RULE: DescribedRule = {
  id: "1",
  createdAt: new Date(0),
  roleId: "r",
  table: "posts",
  action: "read",
  filter: { status: "published" },
  fields: null,
  presets: null,
  check: null,
  description: null,
};

const ROLE = { id: "r", name: "editor", description: null };

describe("roles and rules of a schema file", () => {
  it("are nothing where it does not speak of them: everyone's stay as they are", () => {
    expect(readAccess({})).toEqual({ access: { roles: [], everyone: undefined }, problems: [] });
    expect(readAccess({ everyone: [] }).access.everyone).toEqual([]);
  });

  it.each<[JsonObject, string]>([
    [{ roles: {} }, "roles: must be a list of roles, not an object"],
    [{ roles: ["editor"] }, "roles[0]: must be an object with a name, not text"],
    [{ roles: [{ name: "a" }] }, "roles[0].rules: must be a list of rules ([] for none), not null"],
    [{ roles: [{ name: "a", rules: [1] }] }, "roles[0].rules[0]: must be an object, not a number"],
    [{ roles: [{ name: "a", rules: [], users: [] }] }, "roles[0].users: is not known here"],
    [{ everyone: [{ titel: "" }] }, "everyone[0].titel: is not known here"],
    [
      { roles: [{ name: "a", rules: [{ role: "b" }] }] },
      "roles[0].rules[0].role: is not known here; the rules of a role stand in its own list",
    ],
    [
      { everyone: [{ isEnabled: false }] },
      "everyone[0].isEnabled: is not known here; leave out a rule that is switched off",
    ],
    [
      {
        roles: [
          { name: "a", rules: [] },
          { name: "a", rules: [] },
        ],
      },
      'roles[1].name: "a" is there more than once',
    ],
  ])("are refused with the place where something is wrong: %j", (json, problem) => {
    expect(readAccess(json).problems).toEqual([problem]);
  });

  it("are written without what has no value, roles by name, rules in their order", () => {
    const rules = [RULE, { ...RULE, id: "2", roleId: null, filter: null, fields: "title" }];
    expect(
      writeAccess({ roles: [ROLE, { id: "a", name: "author", description: "Writes." }], rules, off: [] }),
    ).toEqual({
      roles: [
        { name: "author", description: "Writes.", rules: [] },
        { name: "editor", rules: [{ table: "posts", action: "read", filter: { status: "published" } }] },
      ],
      everyone: [{ table: "posts", action: "read", fields: "title" }],
    });
  });

  it("are left out where there are none, so that the file takes none away elsewhere", () => {
    expect(writeAccess({ roles: [], rules: [], off: [] })).toEqual({});
  });
});
