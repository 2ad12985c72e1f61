// Permission rules follow renamed tables and columns, and lose what they granted by a name that is gone.
import { describe, expect, it } from "@jest/globals";
import { buildCatalog } from "../catalog/build-catalog.js";
import type { Catalog } from "../catalog/catalog.js";
import type { ColumnDefinition, RelationDefinition, TableDefinition } from "../catalog/definition.js";
import { bareColumn, bareRelation, bareTable } from "../catalog/definition-fixture.js";
import { type Followed, followNames, type RuleText } from "./follow-names.js";

const column = (id: string, name = id): ColumnDefinition => bareColumn(name, { id });
const relation = (id: string, table: string, inverse: string, name = id): RelationDefinition =>
  bareRelation(name, table, { id, inverse });
const table = (
  id: string,
  columns: readonly ColumnDefinition[],
  relations: readonly RelationDefinition[] = [],
  name = id,
): TableDefinition => {
  const fields = Object.fromEntries([...columns, ...relations].map((each) => [each.id, each.id]));
  return bareTable(name, { id, columns, relations, storage: { collection: id, fields } });
};
const catalog = (...tables: TableDefinition[]): Catalog => buildCatalog(0, tables, []);

const teams = table("teams", [column("name")]);
const notes = (columns = [column("title"), column("pay")], team = relation("team", "teams", "notes")) =>
  table("notes", columns, [team]);
const before = catalog(teams, notes());
const rule = (parts: Partial<RuleText>): RuleText => ({
  table: "notes",
  filter: null,
  fields: null,
  presets: null,
  check: null,
  ...parts,
});
const renamed = (parts: Partial<RuleText>): Followed => ({ kind: "renamed", text: rule(parts) });
const SAME: Followed = { kind: "same" };
const OFF = { kind: "off", because: 'it needs "pay" of "notes", which goes' };

describe("a rule after a rename", () => {
  const after = catalog(
    table("teams", [column("name", "label")], [], "groups"),
    notes([column("title"), column("pay", "wage")], relation("team", "groups", "papers", "group")),
  );

  it("has the new name wherever the old one stood", () => {
    const condition = (pay: string, team: string, name: string) => ({
      _or: [{ [pay]: "1" }, { _not: { [team]: { [name]: "red" } } }, { [`${team}.${name}`]: { _in: ["a"] } }],
    });
    const [former, later] = [condition("pay", "team", "name"), condition("wage", "group", "label")];
    const presets = { pay: "2", title: "pay" };
    const given = rule({ filter: former, check: former, fields: "*,-pay, team", presets });
    const wanted = { filter: later, check: later, fields: "*,-wage,group" };
    expect(followNames(given, before, after)).toEqual(
      renamed({ ...wanted, presets: { wage: "2", title: "pay" } }),
    );
  });

  it("follows its table, and the other side of a relation", () => {
    const given = rule({ table: "teams", filter: { notes: { pay: { _is_null: true } } } });
    const wanted = renamed({ table: "groups", filter: { papers: { wage: { _is_null: true } } } });
    expect(followNames(given, before, after)).toEqual(wanted);
  });

  it("keeps values and what is in no table, such as operators and names inside of an operand", () => {
    const given = rule({ filter: { title: { _eq: "pay" } }, fields: "title" });
    expect(followNames(given, before, after)).toEqual(SAME);
    expect(followNames(rule({ table: "nosuch", fields: "pay" }), before, after)).toEqual(SAME);
    expect(followNames(rule({ fields: "nosuch" }), before, after)).toEqual(SAME);
  });

  it("tells names that change places apart", () => {
    const swapped = catalog(teams, notes([column("title", "pay"), column("pay", "title")]));
    const given = rule({ fields: "pay", filter: { title: "a" } });
    const wanted = renamed({ fields: "title", filter: { pay: "a" } });
    expect(followNames(given, before, swapped)).toEqual(wanted);
  });
});

describe("a rule after a removal", () => {
  const gone = catalog(teams, notes([column("title")]));
  const after = catalog(teams, notes([column("title"), column("new", "pay")]));

  it("no longer names what is gone", () => {
    expect(followNames(rule({ fields: "title,pay" }), before, gone)).toEqual(renamed({ fields: "title" }));
    expect(followNames(rule({ fields: "*,-pay" }), before, gone)).toEqual(renamed({ fields: "*" }));
    expect(followNames(rule({ fields: "-pay" }), before, gone)).toEqual(renamed({ fields: "*" }));
    // What stands beside `-name` is of no account, and is not to begin to grant something, or all that is granted.
    expect(followNames(rule({ fields: "*,title,-pay" }), before, gone)).toEqual(renamed({ fields: "*" }));
    expect(followNames(rule({ fields: "title,-pay" }), before, gone)).toEqual(renamed({ fields: "*" }));
    expect(followNames(rule({ fields: "pay,-title" }), before, gone)).toEqual(renamed({ fields: "-title" }));
    expect(followNames(rule({ presets: { pay: "1" } }), before, gone)).toEqual(renamed({ presets: {} }));
  });

  it("grants nothing by the name that a new member has taken", () => {
    expect(followNames(rule({ fields: "title,pay" }), before, after)).toEqual(renamed({ fields: "title" }));
    expect(followNames(rule({ fields: "pay,-title" }), before, after)).toEqual(renamed({ fields: "-title" }));
  });

  it.each<Partial<RuleText>>([{ fields: "-pay" }, { fields: "*,title, -pay" }, { presets: { pay: "1" } }])(
    "still withholds a name that a new member has taken: %j",
    (parts) => expect(followNames(rule(parts), before, after)).toEqual(SAME),
  );

  it("withholds no name that a member has taken which it let see", () => {
    const moved = catalog(teams, notes([column("title", "pay")]));
    expect(followNames(rule({ fields: "-pay" }), before, moved)).toEqual(renamed({ fields: "*" }));
    expect(followNames(rule({ presets: { pay: "1" } }), before, moved)).toEqual(renamed({ presets: {} }));
  });

  it("is off when nothing or something else would be left of it", () => {
    expect(followNames(rule({ fields: "pay" }), before, after)).toEqual(OFF);
    const either = { _or: [{ title: "a" }, { pay: "1" }] };
    expect(followNames(rule({ filter: either }), before, after)).toEqual(OFF);
    expect(followNames(rule({ check: { pay: "1" } }), before, after)).toEqual(OFF);
    const through = rule({ table: "teams", filter: { notes: { pay: "1" } } });
    expect(followNames(through, before, after)).toEqual(OFF);
    expect(followNames(rule({}), before, catalog(teams))).toEqual({
      kind: "off",
      because: 'the table "notes" goes',
    });
  });
});

describe("a rule through a relation that leads to another table", () => {
  const people = table("people", [column("other", "name")]);
  const before = catalog(teams, people, notes());
  const after = catalog(
    teams,
    people,
    notes([column("title"), column("pay")], relation("team", "people", "notes")),
  );
  const off = { kind: "off", because: 'it needs "team" of "notes", which leads elsewhere' };

  it.each<[string, Partial<RuleText>]>([
    ["a condition", { filter: { team: { name: "red" } } }],
    ["a path", { check: { "team.name": "red" } }],
    ["a link that it sets", { presets: { team: "$user.id" } }],
  ])("is off where it has %s there", (_what, parts) => {
    expect(followNames(rule(parts), before, after)).toEqual(off);
  });

  it("is the same where it only names the relation, and where its table got another name", () => {
    expect(followNames(rule({ fields: "team" }), before, after)).toEqual(SAME);
    const renamedTeams = table("teams", [column("name")], [], "groups");
    const moved = catalog(
      renamedTeams,
      people,
      notes([column("title"), column("pay")], relation("team", "groups", "notes")),
    );
    expect(followNames(rule({ filter: { team: { name: "red" } } }), before, moved)).toEqual(SAME);
  });
});
