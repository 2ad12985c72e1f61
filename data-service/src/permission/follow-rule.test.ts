// A permission rule after an undo: brought back where its names mean what they meant, and strict where that is not so.
import { describe, expect, it } from "@jest/globals";
import { buildCatalog } from "../catalog/build-catalog.js";
import type { Catalog } from "../catalog/catalog.js";
import type { ColumnDefinition } from "../catalog/definition.js";
import { bareColumn, bareTable } from "../catalog/definition-fixture.js";
import { meaningOf, type RuleText } from "./follow-names.js";
import { type FormerRule, ruleAfter } from "./follow-rule.js";
import type { Withheld } from "./rule.js";

const column = (id: string, more: Partial<ColumnDefinition> = {}): ColumnDefinition =>
  bareColumn(id, { id, ...more });
const catalog = (...columns: ColumnDefinition[]): Catalog => {
  const fields = Object.fromEntries(columns.map(({ id }) => [id, id]));
  const users = bareTable("svc_user", { id: "users" });
  const notes = bareTable("notes", { id: "notes", columns, storage: { collection: "notes", fields } });
  return buildCatalog(0, [users, notes], []);
};
const context = { users: "svc_user", maxDepth: 5 };
const text = (parts: Partial<RuleText>): RuleText => ({
  table: "notes",
  filter: null,
  fields: null,
  presets: null,
  check: null,
  ...parts,
});
const NOTHING: Withheld = { fields: [], presets: {} };

describe("an undo", () => {
  const [before, after] = [catalog(column("title")), catalog(column("title"), column("pay"))];
  const rule = { ...text({ fields: "*" }), action: "read", isEnabled: true, withheld: NOTHING } as const;
  const former: FormerRule = { text: text({ fields: "-pay" }), isEnabled: true };

  it("brings the text back that means what it meant", () => {
    const noted = { ...former, meaning: meaningOf(former.text, after) };
    expect(ruleAfter(rule, noted, { before, after, context })).toEqual({ ...former, withheld: NOTHING });
  });

  it("keeps withholding a new member that gives a name back", () => {
    const original = catalog(column("title"), column("pay"));
    const replaced = catalog(column("title"), column("new", { name: "pay" }));
    const back = catalog(column("title"), column("pay"), column("new", { name: "pay_2" }));
    const withholding = text({ fields: "-pay", presets: { pay: "1" } });
    const noted = { text: withholding, isEnabled: true, meaning: meaningOf(withholding, original) };
    const given = { ...withholding, action: "update", isEnabled: true, withheld: NOTHING } as const;
    const state = ruleAfter(given, noted, { before: replaced, after: back, context });
    expect(state.text).toEqual(text({ fields: "-pay,-pay_2", presets: { pay: "1", pay_2: "1" } }));
  });

  it("switches a rule off of which an earlier version noted no meaning", () => {
    const state = ruleAfter(rule, former, { before, after, context });
    expect(state).toEqual({ text: text({ fields: "*" }), isEnabled: false, withheld: NOTHING });
  });

  it("brings no text back that compares in a way which a type of now does not allow", () => {
    const compared = { text: text({ filter: { title: "a", pay: "b" } }), isEnabled: true };
    const noted = { ...compared, meaning: meaningOf(compared.text, after) };
    const other = catalog(column("title", { type: "int" }), column("pay"));
    const off = { ...rule, ...compared.text, isEnabled: false };
    const state = ruleAfter(off, noted, { before, after: other, context });
    expect(state).toEqual({ text: compared.text, isEnabled: false, withheld: NOTHING });
  });
});

describe("what a rule withheld", () => {
  const [there, gone] = [catalog(column("title"), column("pay")), catalog(column("title"))];
  const remembered: Withheld = { fields: ["pay"], presets: { pay: "1" } };
  const rule = {
    ...text({ fields: "-pay", presets: { pay: "1" } }),
    action: "update",
    isEnabled: true,
  } as const;

  it("is remembered when it goes, also by a rule that is off without it, until it is back", () => {
    const { withheld, text: left } = ruleAfter(rule, undefined, { before: there, after: gone, context });
    expect([withheld, left]).toEqual([remembered, text({ fields: "*", presets: {} })]);
    const needed = { ...rule, check: { pay: "1" } };
    const off = ruleAfter(needed, undefined, { before: there, after: gone, context });
    expect([off.withheld, off.isEnabled]).toEqual([remembered, false]);
    const back = ruleAfter({ ...rule, ...left, withheld }, undefined, {
      before: gone,
      after: there,
      context,
    });
    expect(back).toEqual({
      text: text({ fields: "*,-pay", presets: { pay: "1" } }),
      isEnabled: true,
      withheld: NOTHING,
    });
  });

  it("comes back in a rule that is off when its member does not take the value any more", () => {
    const later = catalog(column("title"), column("pay", { readOnly: true }));
    const given = { ...rule, ...text({}), withheld: remembered };
    const { text: now, isEnabled } = ruleAfter(given, undefined, { before: gone, after: later, context });
    expect([now, isEnabled]).toEqual([text({ fields: "-pay", presets: { pay: "1" } }), false]);
  });

  it("is no part of a rule that deletes, or sets values in one that reads", () => {
    const withheldBy = (action: "read" | "delete") => {
      const given = { ...rule, ...text({}), action, withheld: remembered };
      return ruleAfter(given, undefined, { before: gone, after: there, context }).text;
    };
    expect([withheldBy("read"), withheldBy("delete")]).toEqual([text({ fields: "-pay" }), text({})]);
  });
});
