// What anybody may do while a file is applied, or after that was interrupted.
import { describe, expect, it } from "@jest/globals";
import { isObject, type Json, type JsonObject } from "@portico/shared/json";
import fc from "fast-check";
import { type FileAccess, readAccess } from "./access-file.js";
import { EDITOR, rule, ruleOf, statesOf } from "./access-fixture.js";
import { type AccessStep, accessSteps } from "./access-steps.js";
import { compareAccess } from "./compare-access.js";
import { ACTIONS, type Action, type DescribedRule } from "./rule.js";

/** The steps that make the rules what a file says, where new ones are made `now`. */
function stepsTo(access: FileAccess, rules: readonly DescribedRule[], now = 5): AccessStep[] {
  return accessSteps(compareAccess(access, { roles: [EDITOR], rules, off: [], going: [] }, new Date(now)));
}

const fileOf = (json: JsonObject): FileAccess => readAccess(json).access;
const ofEditor = (...rules: readonly JsonObject[]): FileAccess =>
  fileOf({ roles: [{ name: "editor", rules: [...rules] }] });

/** A step in a few words. */
function wordsOf(step: AccessStep): string {
  const said = step.kind === "make" ? step.rule.json : step.kind === "edit" ? step.edit.to.json : step.rule;
  const { action, filter, check } = said;
  const condition = filter ?? check ?? null;
  return [step.kind, String(action), ...(condition === null ? [] : [JSON.stringify(condition)])].join(" ");
}

const MINE = { mine: true };
const posts = (action: Action, members: JsonObject = {}): JsonObject => ({
  table: "posts",
  action,
  ...members,
});

describe("the steps to the rules of a file", () => {
  it("take what confines writing away after the writing", () => {
    const stored = [rule("1", "read", { filter: MINE }), rule("2", "update"), rule("3", "delete")];
    expect(stepsTo(ofEditor(), stored).map(wordsOf)).toEqual([
      "remove delete",
      "remove update",
      `remove read {"mine":true}`,
    ]);
  });

  it("make what confines writing before the writing", () => {
    const file = ofEditor(posts("update"), posts("read", { filter: MINE }));
    expect(stepsTo(file, []).map(wordsOf)).toEqual([`make read {"mine":true}`, "make update"]);
  });

  it("close writing while reading becomes another, whatever of both is edited", () => {
    const stored = [
      rule("1", "read"),
      rule("2", "update", { filter: MINE }),
      rule("3", "create", { check: MINE }),
    ];
    const file = ofEditor(posts("read", { filter: MINE }), posts("update"), posts("create"));
    expect(stepsTo(file, stored).map(wordsOf)).toEqual([
      `edit create {"id":{"_in":[]}}`,
      `edit update {"id":{"_in":[]}}`,
      `edit read {"mine":true}`,
      "edit update",
      "edit create",
    ]);
  });

  it("close nothing that stays, nor what is described in other words, nor where reading stays as it is", () => {
    const stored = [
      rule("1", "read"),
      rule("2", "update", { filter: MINE }),
      rule("3", "delete", { filter: MINE }),
    ];
    const [update, described] = [
      posts("update", { filter: MINE }),
      posts("delete", { filter: MINE, description: "Own." }),
    ];
    expect(
      stepsTo(ofEditor(posts("read", { filter: MINE }), update, described), stored).map(wordsOf),
    ).toEqual([`edit read {"mine":true}`, `edit delete {"mine":true}`]);
    expect(stepsTo(ofEditor(posts("read"), posts("update"), posts("delete")), stored).map(wordsOf)).toEqual([
      "edit update",
      "edit delete",
    ]);
  });

  it("close an editor's writing where everyone's reading changes, and not that of others", () => {
    const stored = [rule("1", "read", { roleId: null }), rule("2", "update", { filter: MINE })];
    const roles = [
      { name: "editor", rules: [posts("update")] },
      { name: "other", rules: [posts("read")] },
    ];
    const everyone = [posts("read", { filter: MINE })];
    expect(stepsTo(fileOf({ roles, everyone }), stored).map(wordsOf)).toContain(
      `edit update {"id":{"_in":[]}}`,
    );
    expect(stepsTo(fileOf({ roles }), stored).map(wordsOf)).toEqual(["make read", "edit update"]);
  });
});

describe("between the former rules and those of a file", () => {
  it("nobody may do what neither allows, also where it is interrupted and begun again", () => {
    fc.assert(
      fc.property(rulesThere(ACTIONS), rulesInFile(ACTIONS), rulesInFile(ACTIONS), (stored, own, others) => {
        const access = fileOf({ roles: [{ name: "editor", rules: own }], everyone: others });
        const mayDo = (rules: Rules) => [...allowed(rules, "visitor"), ...allowed(rules, "editor")];
        const states = statesTo(access, stored);
        const end = states.at(-1) ?? stored;
        const resumed = states.map((state) => [state, ...statesTo(access, state, 6)]);
        expect(opened(resumed.flat(), [stored, end], mayDo)).toEqual([]);
        for (const last of resumed.flatMap((each) => each.slice(-1))) {
          expect(mayDo(last).toSorted()).toEqual(mayDo(end).toSorted());
          expect(stepsTo(access, last, 7)).toEqual([]);
        }
      }),
      { numRuns: 200 },
    );
  });

  it("no write that is closed for a while falls to another rule of the role, with other presets", () => {
    fc.assert(
      fc.property(rulesThere(WRITES, [EDITOR.id]), rulesInFile(WRITES), (writes, own) => {
        const stored = [rule("-1", "read", { filter: OPEN }), ...writes];
        const access = ofEditor(...own, posts("read", { filter: MINE }));
        const states = statesTo(access, stored);
        const mayDo = (rules: Rules) => allowed(rules, "editor", "with presets");
        const ends = [stored, states.at(-1) ?? stored];
        expect(opened(states, ends, mayDo)).toEqual([]);
        const whenResumed = states.flatMap((state) => statesTo(access, state, 6));
        expect(opened(whenResumed, ends, mayDo)).toEqual([]);
      }),
      { numRuns: 1_000 },
    );
  });
});

type Rules = readonly DescribedRule[];

/** The rules after each step. */
function statesTo(access: FileAccess, stored: Rules, now = 5): Rules[] {
  return statesOf(stepsTo(access, stored, now), stored, new Date(now));
}

/** What may be done in some states, and in none of the others. */
function opened(
  states: readonly Rules[],
  others: readonly Rules[],
  mayDo: (rules: Rules) => string[],
): string[] {
  const known = new Set(others.flatMap(mayDo));
  return states.flatMap(mayDo).filter((each) => !known.has(each));
}

const WRITES = ACTIONS.filter((action) => action !== "read");
const RECORDS = [{}, { mine: true }, { open: true }, { mine: true, open: true }];

/**
 * All that a caller may do by some rules (contract, section 7): reading, changing and deleting the records there are, and making
 * others that link to one of these. @param how whether it makes a difference what is set by presets
 */
function allowed(
  rules: Rules,
  who: "visitor" | "editor",
  how: "with presets" | "whatever the presets" = "whatever the presets",
): string[] {
  const own = who === "editor" ? rules.filter(({ roleId }) => roleId === EDITOR.id) : [];
  const mine = [...own, ...rules.filter(({ roleId }) => roleId === null)];
  /** The first rule for an action that is about a record. */
  const ruleFor = (action: Action, record: JsonObject) =>
    mine.find((each) => each.action === action && isAbout(each.filter ?? each.check, record));
  const seen = RECORDS.filter((record) => ruleFor("read", record) !== undefined);
  const isConfined = mine.some(({ action }) => action === "read");
  const reached = isConfined ? seen : RECORDS;
  const found: (readonly [Action, JsonObject, JsonObject?])[] = [
    ...seen.map((record) => ["read", record] as const),
    ...reached.flatMap((record) => [["update", record] as const, ["delete", record] as const]),
    ...RECORDS.flatMap((record) => seen.map((linked) => ["create", record, linked] as const)),
  ];
  return found.flatMap(([action, record, linked]) => {
    const by = ruleFor(action, record);
    if (by === undefined) return [];
    return [JSON.stringify([who, action, record, linked, how === "with presets" ? by.presets : null])];
  });
}

function isAbout(condition: Json, record: JsonObject): boolean {
  return (
    condition === null || (isObject(condition) && Object.keys(condition).every((name) => name in record))
  );
}

const OPEN = { open: true };

function rulesInFile(actions: readonly Action[]): fc.Arbitrary<JsonObject[]> {
  const condition = fc.constantFrom<JsonObject | null>(null, MINE, OPEN);
  const presets = fc.constantFrom<JsonObject | null>(null, { state: "draft" });
  return fc.array(
    fc.tuple(fc.constantFrom(...actions), condition, presets).map(([action, about, set]) => ({
      ...posts(action, action === "create" ? { check: about } : { filter: about }),
      ...(action === "create" || action === "update" ? { presets: set } : {}),
    })),
    { maxLength: 4 },
  );
}

/** @param holders ids of roles; null = everyone */
function rulesThere(
  actions: readonly Action[],
  holders: readonly (string | null)[] = [EDITOR.id, null],
): fc.Arbitrary<DescribedRule[]> {
  const holder = fc.constantFrom(...holders);
  return fc
    .tuple(rulesInFile(actions), fc.infiniteStream(holder))
    .map(([rules, whose]) =>
      rules.map((json, at) => ({ ...ruleOf(String(at), json), roleId: whose.next().value })),
    );
}
