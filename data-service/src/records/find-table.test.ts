// What is said of a table that is not there, and what it costs to say it.
import { describe, expect, it } from "@jest/globals";
import { buildCatalog } from "../catalog/build-catalog.js";
import { bareColumn, bareTable } from "../catalog/definition-fixture.js";
import { systemTableNames, systemTables } from "../catalog/system-tables.js";
import { Rights, type RightsContext } from "../permission/rights.js";
import type { Rule } from "../permission/rule.js";
import { ANONYMOUS } from "../principal.js";
import { findTable } from "./find-table.js";

const names = Array.from({ length: 20 }, (_, at) => `things_of_${at}`);
const columns = Array.from({ length: 15 }, (_, at) => bareColumn(`column${at}`));
const fields = Object.fromEntries(columns.map(({ id, name }) => [id, name]));
const definitions = [...names, "letters", "letter_box"].map((name) =>
  bareTable(name, { columns, storage: { collection: name, fields } }),
);
const catalog = buildCatalog(1, definitions, systemTables("svc_"));

/** A visitor's, who may read these tables. */
const rightsTo = (tables: readonly string[]): Rights => new Rights(contextWith(tables));

function contextWith(tables: readonly string[]): RightsContext {
  const more = { id: "r", roleId: null, action: "read", fields: null, presets: null, check: null } as const;
  const rules: Rule[] = tables.map((table) => ({ ...more, table, filter: { column1: "x" } }));
  return {
    principal: ANONYMOUS,
    roleId: null,
    rules,
    user: null,
    now: new Date(0),
    tables: systemTableNames("svc_"),
  };
}

describe("a table that is not there", () => {
  const refusal = (name: string, rights?: Rights) => () => findTable(catalog, name, rights);

  it("is named with the one that was meant, of those that the caller may hear of", () => {
    const meant = 'There is no table "leters"; did you mean "letters"?';
    expect(refusal("leters", rightsTo(["letters", "letter_box"]))).toThrow(meant);
    expect(refusal("leters", rightsTo(["letter_box"]))).toThrow(/^There is no table "leters"\.$/);
    expect(refusal("leters", rightsTo(["things_of_1"]))).toThrow(/^There is no table "leters"\.$/);
    expect(refusal("leters")).toThrow(/^There is no table "leters"\.$/);
  });

  it("asks what the caller may do with tables of similar names alone", () => {
    const asked = new Set<string>();
    class Counting extends Rights {
      override write(...call: Parameters<Rights["write"]>): ReturnType<Rights["write"]> {
        asked.add(call[1].name);
        return super.write(...call);
      }
    }
    const rights = new Counting(contextWith([...names, "letters"]));
    expect(() => findTable(catalog, "nowhere", rights)).toThrow();
    expect(() => findTable(catalog, "leters", rights)).toThrow();
    expect([...asked]).toEqual(["letters"]);
  });
});
