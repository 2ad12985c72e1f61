// A file's roles and rules beside those of a database.
import { describe, expect, it } from "@jest/globals";
import type { JsonObject } from "@portico/shared/json";
import { readAccess } from "./access-file.js";
import { compareAccess, openedBy, stepsOf } from "./compare-access.js";
import type { Action, DescribedRule, StoredRole } from "./rule.js";

const EDITOR: StoredRole = { id: "e", name: "editor", description: null };

/** Ids say in which order rules were made. */
function rule(id: string, action: Action, members: Partial<DescribedRule> = {}): DescribedRule {
  const none = { filter: null, fields: null, presets: null, check: null, description: null };
  return { id, roleId: EDITOR.id, table: "posts", action, ...none, ...members };
}

/** What a file does to the editors' rules, and which rules go. */
function between(rules: readonly JsonObject[], stored: readonly DescribedRule[]) {
  const { access } = readAccess({ roles: [{ name: "editor", rules: [...rules] }] });
  const [change] = compareAccess(access, { roles: [EDITOR], rules: stored });
  return {
    steps: change === undefined ? [] : stepsOf(change),
    removed: change?.remove.map(({ id }) => id) ?? [],
  };
}

const NOTHING = { steps: [], removed: [] };

describe("rules of a file and of a database", () => {
  it("are the same whatever the order of keys, of names in fields, and of rules for reading", () => {
    const stored = [
      rule("1", "read", { filter: { a: 1, b: { c: 2, d: 3 } }, fields: "title,status" }),
      rule("2", "read", { filter: { mine: true } }),
    ];
    const wanted = [
      { action: "read", table: "posts", filter: { mine: true }, fields: null },
      { table: "posts", action: "read", fields: "status, title", filter: { b: { d: 3, c: 2 }, a: 1 } },
    ];
    expect(between(wanted, stored)).toEqual(NOTHING);
  });

  it("count: one that is there twice is once too many", () => {
    const read = { table: "posts", action: "read" };
    const twice = [rule("1", "read"), rule("2", "read")];
    expect(between([read], twice)).toEqual({ steps: ["rule.remove read posts"], removed: ["2"] });
    expect(between([read, read], twice)).toEqual(NOTHING);
  });

  it("differ by what they say of themselves, too", () => {
    const described = { table: "posts", action: "read", description: "All posts." };
    expect(between([described], [rule("1", "read")]).removed).toEqual(["1"]);
  });

  it("for writing are made again behind one that is to be tried before them", () => {
    const drafts = { presets: { status: "draft" } };
    const any = { table: "posts", action: "create" };
    expect(between([{ ...any, ...drafts }, any], [rule("1", "create")])).toEqual({
      steps: [
        'rule.add create posts {"presets":{"status":"draft"}}',
        "rule.add create posts",
        "rule.remove create posts",
      ],
      removed: ["1"],
    });
    // One that comes last disturbs nobody; nor does one that goes, or one for another table.
    const stored = [rule("1", "create", drafts), rule("2", "delete"), rule("3", "create")];
    expect(between([{ table: "posts", action: "delete" }, any], stored).removed).toEqual(["1"]);
    expect(between([{ ...any, ...drafts }, any], stored.slice(0, 1)).removed).toEqual([]);
  });

  it("are compared for the roles of the file alone, and for everyone if it speaks of them", () => {
    const stored = {
      roles: [EDITOR, { id: "o", name: "other", description: "Old." }],
      rules: [rule("1", "read", { roleId: "o" }), rule("2", "read", { roleId: null })],
    };
    const changes = (json: JsonObject) =>
      compareAccess(readAccess(json).access, stored).map((change) => stepsOf(change));
    expect(changes({ roles: [{ name: "editor", rules: [] }] })).toEqual([]);
    expect(changes({ everyone: [] })).toEqual([["rule.remove read posts"]]);
    expect(changes({ roles: [{ name: "new", rules: [] }] })).toEqual([["create"]]);
    const rules = [{ table: "posts", action: "read" }];
    expect(changes({ roles: [{ name: "other", rules }] })).toEqual([["role.set description"]]);
  });
});

describe("a rule for reading that goes", () => {
  const read = { table: "posts", action: "read" };
  const change = { table: "posts", action: "update" };
  const own = [rule("1", "read"), rule("2", "update")];
  const ofEveryone = [rule("1", "read", { roleId: null }), rule("2", "update")];

  it.each<[string, JsonObject, readonly DescribedRule[], string[]]>([
    [
      "the last of a role that may still update",
      { roles: [{ name: "editor", rules: [change] }] },
      own,
      ["posts"],
    ],
    ["everyone's, where a role may still update", { everyone: [] }, ofEveryone, ["posts"]],
    ["with the rules to change records", { roles: [{ name: "editor", rules: [] }] }, own, []],
    [
      "for another one",
      { roles: [{ name: "editor", rules: [{ ...read, fields: "title" }, change] }] },
      own,
      [],
    ],
    ["while everyone may read", { roles: [{ name: "editor", rules: [change] }], everyone: [read] }, own, []],
  ])(
    "opens a table where it is the last, and rules to change records stay: %s",
    (_which, file, rules, opened) => {
      const { access } = readAccess(file);
      const stored = { roles: [EDITOR], rules };
      expect(compareAccess(access, stored).flatMap((each) => openedBy(each, access, stored))).toEqual(opened);
    },
  );
});
