// A permission rule after an undo: brought back where its names mean what they meant, and strict where that is not so.
import { describe, expect, it } from "@jest/globals";
import { buildCatalog } from "../catalog/build-catalog.js";
import type { Catalog } from "../catalog/catalog.js";
import type { ColumnDefinition } from "../catalog/definition.js";
import { bareColumn, bareTable } from "../catalog/definition-fixture.js";
import { meaningOf, type RuleText } from "./follow-names.js";
import { type FormerRule, ruleAfter } from "./follow-rule.js";

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

describe("an undo", () => {
  const [before, after] = [catalog(column("title")), catalog(column("title"), column("pay"))];
  const rule = { ...text({ fields: "*" }), action: "read", isEnabled: true } as const;
  const former: FormerRule = { text: text({ fields: "-pay" }), isEnabled: true };

  it("brings the text back that means what it meant", () => {
    const noted = { ...former, meaning: meaningOf(former.text, after) };
    expect(ruleAfter(rule, noted, { before, after, context })).toEqual(former);
  });

  it("switches a rule off of which an earlier version noted no meaning", () => {
    const state = ruleAfter(rule, former, { before, after, context });
    expect(state).toEqual({ text: text({ fields: "*" }), isEnabled: false });
  });

  it("brings no text back that compares in a way which a type of now does not allow", () => {
    const compared = { text: text({ filter: { title: "a", pay: "b" } }), isEnabled: true };
    const noted = { ...compared, meaning: meaningOf(compared.text, after) };
    const other = catalog(column("title", { type: "int" }), column("pay"));
    const off = { ...rule, ...compared.text, isEnabled: false };
    const state = ruleAfter(off, noted, { before, after: other, context });
    expect(state).toEqual({ text: compared.text, isEnabled: false });
  });
});
