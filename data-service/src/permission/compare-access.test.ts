// A file's roles and rules beside those of a database.
import { describe, expect, it } from "@jest/globals";
import type { JsonObject } from "@portico/shared/json";
import fc from "fast-check";
import { readAccess } from "./access-file.js";
import { EDITOR, rule, statesOf } from "./access-fixture.js";
import { accessSteps } from "./access-steps.js";
import { compareAccess, openedBy, openedElsewhere, stepsOf } from "./compare-access.js";
import type { Action, DescribedRule } from "./rule.js";

/** Later than rules that are there were made, unless a test says otherwise. */
const NOW = new Date(5);

/** What a file does to the editors' rules, which rules are edited, and which go. */
function between(
  rules: readonly JsonObject[],
  stored: readonly DescribedRule[],
  { off = [], going = [] }: { readonly off?: DescribedRule[]; readonly going?: DescribedRule[] } = {},
) {
  const { access } = readAccess({ roles: [{ name: "editor", rules: [...rules] }] });
  const [change] = compareAccess(access, { roles: [EDITOR], rules: stored, off, going }, NOW);
  return {
    steps: change === undefined ? [] : stepsOf(change),
    edited: change?.edit.map(({ from }) => from.id) ?? [],
    removed: change?.remove.map(({ id }) => id) ?? [],
  };
}

const NOTHING = { steps: [], edited: [], removed: [] };

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
    expect(between([read], twice)).toEqual({ ...NOTHING, steps: ["rule.remove read posts"], removed: ["2"] });
    expect(between([read, read], twice)).toEqual(NOTHING);
  });

  it("differ by what they say of themselves, too", () => {
    const described = { table: "posts", action: "read", description: "All posts." };
    expect(between([described], [rule("1", "read")])).toEqual({
      steps: ['rule.set read posts: description none -> "All posts."'],
      edited: ["1"],
      removed: [],
    });
  });

  it("say nothing with what is empty", () => {
    const empty = { filter: {}, presets: {}, check: {} };
    const update = { table: "posts", action: "update" };
    expect(between([update], [rule("1", "update", empty)])).toEqual(NOTHING);
    expect(between([{ ...update, ...empty, fields: "*" }], [rule("1", "update")])).toEqual(NOTHING);
  });

  it("are edited where they are, so that they keep their place and what they withhold", () => {
    const drafts = { presets: { status: "draft" } };
    const any = { table: "posts", action: "create" };
    const stored = [
      rule("1", "create", { ...drafts, fields: "title" }),
      rule("2", "create"),
      rule("3", "read"),
    ];
    const wanted = [
      { ...any, ...drafts, fields: "title,status" },
      any,
      { ...any, action: "read", fields: "title" },
    ];
    expect(between(wanted, stored)).toEqual({
      steps: [
        'rule.set create posts: fields "title" -> "title,status"',
        'rule.set read posts: fields none -> "title"',
      ],
      edited: ["1", "3"],
      removed: [],
    });
  });

  it("for reading go one by one, whichever it is", () => {
    const mine = { table: "posts", action: "read", filter: { mine: true } };
    const stored = [rule("1", "read", { fields: "title" }), rule("2", "read", { filter: { mine: true } })];
    expect(between([mine], stored).removed).toEqual(["1"]);
  });

  it("that are switched off stay, but for those that the tables of the same file switch off", () => {
    const read = { table: "posts", action: "read" };
    const [off, going] = [[rule("1", "update")], [rule("2", "read", { fields: "old" })]];
    expect(between([read], [rule("3", "read")], { off })).toEqual(NOTHING);
    expect(between([read], [rule("3", "read")], { off, going }).removed).toEqual(["2"]);
  });

  it("that stay keep themselves, wherever others come, go or change before them", () => {
    const any = { table: "posts", action: "create" };
    const of = (status: string) => ({ presets: { status } });
    const stored = [
      rule("1", "create", of("draft")),
      rule("2", "create", of("open")),
      rule("3", "create", of("done")),
    ];
    const wanted = [
      { ...any, ...of("open") },
      { ...any, ...of("late") },
    ];
    expect(between(wanted, stored)).toMatchObject({ edited: ["3"], removed: ["1"] });
    const moved = [{ ...any, ...of("open") }, { ...any, ...of("done") }, any, { ...any, ...of("draft") }];
    expect(between(moved, stored)).toMatchObject({ edited: [], removed: ["1"] });
  });

  it("for writing are made again behind one that is to be tried before them", () => {
    const drafts = { presets: { status: "draft" } };
    const any = { table: "posts", action: "create" };
    expect(between([{ ...any, ...drafts }, any], [rule("1", "create")])).toEqual({
      edited: [],
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
    // One that is made later than any new one, as a clock elsewhere may say, can't stay before them.
    expect(between([{ ...any, ...drafts }, any], [rule("9", "create", drafts)]).removed).toEqual(["9"]);
  });

  it("come to rest, and none that stays is missing on the way: once they are what the file says, nothing is left to do", () => {
    const wanted = fc.array(fc.constantFrom("draft", "open", "done"), { maxLength: 6 });
    const there = fc.array(fc.tuple(fc.constantFrom("draft", "open", "done"), fc.nat(99)), { maxLength: 6 });
    const action = fc.constantFrom<Action>("create", "read");
    fc.assert(
      fc.property(action, wanted, there, (kind, states, stored) => {
        const of = (status: string) => ({ presets: { status } });
        const json = states.map((status) => ({ table: "posts", action: kind, ...of(status) }));
        const { access } = readAccess({ roles: [{ name: "editor", rules: json }] });
        const rules = stored
          .map(([status, number], at) => rule(`${String(number).padStart(2, "0")}${at}`, kind, of(status)))
          .toSorted((one, other) => (one.id < other.id ? -1 : 1));
        const [change] = compareAccess(access, { roles: [EDITOR], rules, off: [], going: [] }, new Date(500));
        const steps = statesOf(change === undefined ? [] : accessSteps([change]), rules, new Date(500));
        const kept = states.filter((status) => rules.some(({ presets }) => presets?.status === status));
        for (const state of steps)
          expect(state.map(({ presets }) => presets?.status)).toEqual(expect.arrayContaining(kept));
        const after = steps.at(-1) ?? rules;
        expect(
          compareAccess(access, { roles: [EDITOR], rules: after, off: [], going: [] }, new Date(600)),
        ).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  it("are compared for the roles of the file alone, and for everyone if it speaks of them", () => {
    const stored = {
      roles: [EDITOR, { id: "o", name: "other", description: "Old." }],
      rules: [rule("1", "read", { roleId: "o" }), rule("2", "read", { roleId: null })],
      off: [],
      going: [],
    };
    const changes = (json: JsonObject) =>
      compareAccess(readAccess(json).access, stored, NOW).map((change) => stepsOf(change));
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
      const stored = { roles: [EDITOR], rules, off: [], going: [] };
      const changes = compareAccess(access, stored, NOW);
      expect(changes.flatMap((each) => openedBy(each, access, stored))).toEqual(opened);
    },
  );

  it("opens nothing while one that is switched off stays, which confines as well", () => {
    const { access } = readAccess({ roles: [{ name: "editor", rules: [change] }] });
    const opened = (action: Action) => {
      const stored = { roles: [EDITOR], rules: own, off: [rule("3", action)], going: [] };
      return compareAccess(access, stored, NOW).flatMap((each) => openedBy(each, access, stored));
    };
    expect(opened("read")).toEqual([]);
    expect(opened("delete")).toEqual(["posts"]);
  });
});

describe("a rule for reading that is switched off", () => {
  const off = (roleId: string | null) => [rule("1", "read", { roleId })];
  const update = (roleId: string | null) => rule("2", "update", { roleId });
  const read = rule("3", "read");

  it.each<[string, string | null, readonly DescribedRule[], string[]]>([
    ["its role may update", EDITOR.id, [update(EDITOR.id)], ['role "editor"']],
    ["everyone may", EDITOR.id, [update(null)], ['role "editor"']],
    ["of everyone, and a role may", null, [update(EDITOR.id)], ["everyone"]],
    ["another rule lets it read", EDITOR.id, [update(EDITOR.id), read], []],
    ["nothing may be changed", EDITOR.id, [rule("2", "create")], []],
    ["of a role, and another may", "other", [update(EDITOR.id)], []],
  ])("is missed elsewhere, or not: %s", (_which, holder, rules, told) => {
    const roles = [EDITOR, { id: "other", name: "other", description: null }];
    const lines = openedElsewhere({ roles, rules, off: off(holder) });
    expect(lines.map((line) => line.split(":")[0])).toEqual(told);
  });
});
