// A permission rule after an undo: brought back where its names mean what they meant, and strict where that is not so.
import { describe, expect, it } from "@jest/globals";
import type { Json } from "@portico/shared/json";
import { buildCatalog } from "../catalog/build-catalog.js";
import type { Catalog } from "../catalog/catalog.js";
import type { ColumnDefinition } from "../catalog/definition.js";
import { bareColumn, bareTable } from "../catalog/definition-fixture.js";
import { meaningOf, type RuleText } from "./follow-names.js";
import { type FollowedChange, type Loss, ruleAfter } from "./follow-rule.js";
import type { Withheld } from "./rule.js";

const column = (id: string, more: Partial<ColumnDefinition> = {}): ColumnDefinition =>
  bareColumn(id, { id, ...more });
const catalog = (...columns: ColumnDefinition[]): Catalog => {
  const fields = Object.fromEntries(columns.map(({ id }) => [id, id]));
  const users = bareTable("svc_user", { id: "users" });
  const notes = bareTable("notes", { id: "notes", columns, storage: { collection: "notes", fields } });
  return buildCatalog(0, [users, notes], []);
};
const context = { users: "svc_user" };
const text = (parts: Partial<RuleText>): RuleText => ({
  table: "notes",
  filter: null,
  fields: null,
  presets: null,
  check: null,
  ...parts,
});
const [EARLIER, LATER] = [new Date(1_000), new Date(2_000)];
const NOTHING: Withheld = { fields: [], presets: {} };

/** A change without a name: c2, which undoes c1. */
const between = (before: Catalog, after: Catalog): FollowedChange => ({
  id: "c2",
  at: LATER,
  undoes: "c1",
  undoableSince: new Date(0),
  before,
  after,
  context,
});

describe("an undo", () => {
  const [before, after] = [catalog(column("title")), catalog(column("title"), column("pay"))];
  const present = { ...text({ fields: "*" }), action: "read", isEnabled: true, withheld: NOTHING } as const;
  const lost = (former: RuleText, then: Catalog): Loss => ({
    change: "c1",
    at: EARLIER,
    wasEnabled: true,
    meaning: meaningOf(former, then),
  });
  const former = text({ fields: "-pay" });

  it("brings back what the text meant", () => {
    const rule = { ...present, losses: [lost(former, after)] };
    expect(ruleAfter(rule, between(before, after))).toEqual({
      text: former,
      isEnabled: true,
      withheld: NOTHING,
      losses: [],
    });
  });

  it("brings it back by the names of now, also where others have had it meanwhile", () => {
    const condition = text({ filter: { _or: [{ title: "a" }, { pay: "b" }] } });
    const now = catalog(column("title", { name: "pay" }), column("pay", { name: "title" }));
    const off = { ...present, ...condition, isEnabled: false, losses: [lost(condition, after)] };
    const state = ruleAfter(off, between(before, now));
    expect([state.text, state.isEnabled]).toEqual([
      text({ filter: { _or: [{ pay: "a" }, { title: "b" }] } }),
      true,
    ]);
  });

  it.each<Partial<RuleText>>([
    { fields: "title,pay" },
    { fields: "-pay,-title" },
    { presets: { title: "a", pay: "b" } },
    { filter: { title: "a", pay: "b" } },
    { check: { title: "a", pay: "b" } },
  ])("brings no text back of which a part is still gone: %j", (parts) => {
    const full = catalog(column("title"), column("pay"), column("other"));
    const rule = { ...present, action: "update", losses: [lost(text(parts), full)] } as const;
    const now = catalog(column("title"), column("other"));
    expect(ruleAfter(rule, between(before, now))).toMatchObject({ text: text({ fields: "*" }) });
  });

  it("leaves off what a later change has switched off", () => {
    const later: Loss = { ...lost(former, after), change: "other" };
    const rule = { ...present, isEnabled: false, losses: [lost(former, after), later] };
    expect(ruleAfter(rule, between(before, after))).toMatchObject({ isEnabled: false });
    const both = [lost(former, after), { ...later, wasEnabled: false }];
    expect(ruleAfter({ ...rule, losses: both }, between(before, after))).toMatchObject({
      text: former,
      isEnabled: true,
      losses: [],
    });
  });

  it("keeps withholding a new member that gives a name back", () => {
    const original = catalog(column("title"), column("pay"));
    const replaced = catalog(column("title"), column("new", { name: "pay" }));
    const back = catalog(column("title"), column("pay"), column("new", { name: "pay_2" }));
    const withholding = text({ fields: "-pay", presets: { pay: "1" } });
    const losses = [lost(withholding, original)];
    const given = { ...withholding, action: "update", isEnabled: true, withheld: NOTHING, losses } as const;
    const state = ruleAfter(given, between(replaced, back));
    expect(state.text).toEqual(text({ fields: "-pay,-pay_2", presets: { pay: "1", pay_2: "1" } }));
  });

  it("switches a rule off of which an earlier version noted no meaning", () => {
    const { meaning: _none, ...bare } = lost(former, after);
    const state = ruleAfter({ ...present, losses: [bare] }, between(before, after));
    expect(state).toMatchObject({ text: text({ fields: "*" }), isEnabled: false, withheld: NOTHING });
  });

  it.each<[string, Json]>([
    ["does not allow", "a"],
    ["takes for something else", { _lt: "5" }],
  ])("brings no text back that compares in a way which a type of now %s", (_what, operand) => {
    const compared = text({ filter: { title: operand, pay: "b" } });
    const other = catalog(column("title", { type: "decimal" }), column("pay"));
    const off = { ...present, ...compared, isEnabled: false, losses: [lost(compared, after)] };
    expect(ruleAfter(off, between(before, other))).toMatchObject({ text: compared, isEnabled: false });
  });
});

describe("a change that takes something from a rule", () => {
  const before = catalog(column("title"), column("pay"));
  const rule = { ...text({}), action: "update", isEnabled: true, withheld: NOTHING, losses: [] } as const;
  const change = (after: Catalog): FollowedChange => ({ ...between(before, after), undoes: null });

  it("is noted with what the rule meant, and one that only renames is not", () => {
    const given = { ...rule, fields: "title,pay" };
    const renamed = catalog(column("title", { name: "heading" }), column("pay"));
    expect(ruleAfter(given, change(renamed))).toMatchObject({
      text: text({ fields: "heading,pay" }),
      losses: [],
    });
    const meaning = meaningOf(given, before);
    expect(ruleAfter(given, change(catalog(column("title"))))).toMatchObject({
      text: text({ fields: "title" }),
      isEnabled: true,
      losses: [{ change: "c2", at: LATER, wasEnabled: true, meaning }],
    });
  });

  it("leaves it off knowing what it meant, also where it was off before", () => {
    const after = catalog(column("title"), column("new", { name: "pay" }));
    const given = { ...rule, filter: { pay: "1" }, presets: { pay: "2" } };
    const meant = ["notes", "notes/pay", "-notes/new"];
    expect(ruleAfter(given, change(after))).toMatchObject({ isEnabled: false, meant });
    expect(ruleAfter({ ...given, isEnabled: false }, change(after))).toMatchObject({
      isEnabled: false,
      meant,
      losses: [{ wasEnabled: false }],
    });
  });

  it("makes those forgotten that can't be undone any more", () => {
    const old: Loss = { change: "c0", at: EARLIER, wasEnabled: true, meaning: "" };
    const given = { ...rule, fields: "title,pay", losses: [old] };
    const now = { ...change(catalog(column("title"))), undoableSince: EARLIER };
    expect(ruleAfter(given, now).losses.map((each) => each.change)).toEqual(["c2"]);
  });
});

describe("what a rule withheld", () => {
  const [there, gone] = [catalog(column("title"), column("pay")), catalog(column("title"))];
  const remembered: Withheld = { fields: ["pay"], presets: { pay: "1" } };
  const rule = {
    ...text({ fields: "-pay", presets: { pay: "1" } }),
    action: "update",
    isEnabled: true,
    losses: [],
  } as const;

  it("is remembered when it goes, also by a rule that is off without it, until it is back", () => {
    const { withheld, text: left } = ruleAfter(rule, between(there, gone));
    expect([withheld, left]).toEqual([remembered, text({ fields: "*", presets: {} })]);
    const needed = { ...rule, check: { pay: "1" } };
    const off = ruleAfter(needed, between(there, gone));
    expect([off.withheld, off.isEnabled]).toEqual([remembered, false]);
    const back = ruleAfter({ ...rule, ...left, withheld }, between(gone, there));
    expect(back).toMatchObject({
      text: text({ fields: "*,-pay", presets: { pay: "1" } }),
      isEnabled: true,
      withheld: NOTHING,
    });
  });

  it("comes back in a rule that is off when its member does not take the value any more", () => {
    const later = catalog(column("title"), column("pay", { readOnly: true }));
    const given = { ...rule, ...text({}), withheld: remembered };
    const { text: now, isEnabled } = ruleAfter(given, between(gone, later));
    expect([now, isEnabled]).toEqual([text({ fields: "-pay", presets: { pay: "1" } }), false]);
  });

  it("is no part of a rule that deletes, or sets values in one that reads", () => {
    const withheldBy = (action: "read" | "delete") => {
      const given = { ...rule, ...text({}), action, withheld: remembered };
      return ruleAfter(given, between(gone, there)).text;
    };
    expect([withheldBy("read"), withheldBy("delete")]).toEqual([text({ fields: "-pay" }), text({})]);
  });
});
