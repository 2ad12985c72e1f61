// Permission rules follow renamed tables and columns, and lose what they granted by a name that is gone.
import { describe, expect, it } from "@jest/globals";
import type { Json } from "@portico/shared/json";
import { buildCatalog } from "../catalog/build-catalog.js";
import type { Catalog } from "../catalog/catalog.js";
import type { ColumnType } from "../catalog/column-types.js";
import type { ColumnDefinition, RelationDefinition, TableDefinition } from "../catalog/definition.js";
import { bareColumn, bareRelation, bareTable } from "../catalog/definition-fixture.js";
import {
  type Followed,
  followNames,
  meaningOf,
  meantIn,
  type RuleText,
  textMeaning,
} from "./follow-names.js";

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
const off = (parts: Partial<RuleText>): Followed => ({
  kind: "off",
  because: 'it needs "pay" of "notes", which goes',
  text: rule(parts),
});

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

  it.each<Partial<RuleText>>([
    { fields: "pay" },
    { filter: { _or: [{ title: "a" }, { pay: "1" }] } },
    { check: { pay: "1" } },
    { table: "teams", filter: { notes: { pay: "1" } } },
  ])("is off when nothing or something else would be left of it: %j", (parts) =>
    expect(followNames(rule(parts), before, after)).toEqual(off(parts)),
  );

  it("is off without its table", () => {
    const because = 'the table "notes" goes';
    expect(followNames(rule({}), before, catalog(teams))).toEqual({ ...off({}), because });
  });

  it("is off under the names of now, but for what is gone", () => {
    const moved = catalog(teams, notes([column("title", "heading"), column("new", "title")]));
    const filter = { title: "a", pay: "1", "team.name": "b" };
    const wanted = off({ filter: { heading: "a", pay: "1", "team.name": "b" }, fields: "heading" });
    expect(followNames(rule({ filter, fields: "title,pay" }), before, moved)).toEqual(wanted);
  });

  it("keeps both conditions where one gets the name of another that is gone", () => {
    const moved = catalog(teams, notes([column("title", "pay")]));
    const filter = { title: "a", pay: "1" };
    expect(followNames(rule({ filter }), before, moved)).toEqual(off({ filter }));
  });
});

describe("a rule of which it is known what its names meant", () => {
  const text = rule({ filter: { pay: "1", title: "a" }, presets: { pay: "2" }, fields: "pay,title" });
  const meant = meantIn(text, before);
  const taken = catalog(teams, notes([column("title"), column("new", "pay")]));
  const later = catalog(teams, notes([column("title", "heading"), column("new", "wage")]));

  it("follows by these alone", () => {
    const wanted = { filter: { pay: "1", heading: "a" }, presets: { pay: "2" }, fields: "pay,heading" };
    expect(followNames({ ...text, meant }, taken, later)).toEqual(renamed(wanted));
    expect(meaningOf({ ...text, meant }, taken)).not.toBe(meaningOf(text, taken));
  });

  it("withholds under its next name what has taken the name of something withheld", () => {
    const withTaker = [...meant, "-notes/new"];
    const wanted = { filter: { pay: "1", heading: "a" }, presets: { wage: "2" }, fields: "pay,heading" };
    expect(followNames({ ...text, meant: withTaker }, taken, later)).toEqual(renamed(wanted));
  });

  it("follows no table that has taken the name of its own", () => {
    const [others, renamedOthers] = ["notes", "papers"].map((name) =>
      catalog(teams, table("others", [column("pay")], [], name)),
    );
    if (others === undefined || renamedOthers === undefined) throw new Error("no catalogs");
    expect(followNames({ ...text, meant }, others, renamedOthers)).toEqual(SAME);
  });

  it("follows no records to which a relation leads by now", () => {
    const through = rule({ filter: { team: { name: "red" } } });
    const people = (name: string) => table("people", [column("other", name)]);
    const led = notes(undefined, relation("team", "people", "notes"));
    const [now, next] = [catalog(teams, people("name"), led), catalog(teams, people("label"), led)];
    expect(followNames({ ...through, meant: meantIn(through, before) }, now, next)).toEqual(SAME);
    expect(followNames(through, now, next)).toEqual(renamed({ filter: { team: { label: "red" } } }));
  });
});

describe("what a rule meant", () => {
  const text = rule({
    filter: { _or: [{ pay: "1" }, { team: { name: "red" } }, { "team.name": { _in: ["a"] } }] },
    fields: "*,-pay,team",
    presets: { team: "$user.id" },
  });
  const after = catalog(
    table("teams", [column("name", "label")], [], "groups"),
    table(
      "notes",
      [column("title", "pay"), column("pay", "title")],
      [relation("team", "groups", "notes", "group")],
      "papers",
    ),
  );

  it("is told by the names of any time", () => {
    expect(textMeaning(meaningOf(text, before), undefined, after)).toEqual(
      rule({
        table: "papers",
        filter: { _or: [{ title: "1" }, { group: { label: "red" } }, { "group.label": { _in: ["a"] } }] },
        fields: "*,-title,group",
        presets: { group: "$user.id" },
      }),
    );
  });

  it("can't be told where the table is gone, or something else is called like the id of what is gone", () => {
    const meaning = meaningOf(rule({ fields: "title,pay" }), before);
    for (const now of [catalog(teams), catalog(teams, notes([column("title"), column("new", "pay")]))])
      expect(textMeaning(meaning, undefined, now)).toBeUndefined();
    expect(textMeaning("[]", undefined, after)).toBeUndefined();
  });

  it("has the id of a member that is gone, or of a relation that leads elsewhere", () => {
    const people = table("people", [column("name")]);
    const now = catalog(teams, people, notes([column("title")], relation("team", "people", "notes")));
    const given = rule({ fields: "title,pay", filter: { "team.name": "red" } });
    expect(textMeaning(meaningOf(given, before), undefined, now)).toEqual(
      rule({ fields: "title,pay", filter: { "team>teams=objectId.name=string": "red" } }),
    );
  });

  it("is not the same once a value compares in another way", () => {
    const [filter, as] = [{ pay: "1" }, bareColumn("pay", { type: "decimal" })];
    const now = catalog(teams, notes([column("title"), as]));
    expect(textMeaning(meaningOf(rule({ filter }), before), undefined, now)).toEqual(
      rule({ filter: { "pay=string": "1" } }),
    );
    const asked = rule({ filter: { pay: null }, fields: "pay" });
    expect(textMeaning(meaningOf(asked, before), undefined, now)).toEqual(asked);
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
  const because = 'it needs "team" of "notes", which leads elsewhere';

  it.each<[string, Partial<RuleText>]>([
    ["a condition", { filter: { team: { name: "red" } } }],
    ["a path", { check: { "team.name": "red" } }],
    ["a link that it sets", { presets: { team: "$user.id" } }],
  ])("is off where it has %s there", (_what, parts) => {
    expect(followNames(rule(parts), before, after)).toEqual({ ...off(parts), because });
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

describe("a rule that compares a column which gets another type", () => {
  const typed = (type: ColumnType): Catalog =>
    catalog(teams, notes([column("title"), bareColumn("pay", { type, options: { values: ["1"] } })]));
  const lost = (parts: Partial<RuleText>) => ({
    ...off(parts),
    because: 'it needs "pay" of "notes", which is compared in another way',
  });

  it.each<[ColumnType, ColumnType, Json]>([
    ["decimal", "string", { _lt: "5" }],
    ["bigint", "string", { _gte: "5" }],
    ["string", "bigint", { _gt: "5" }],
    ["date", "datetime", { _gt: "2026-05-31" }],
    ["datetime", "date", { _lt: "$now" }],
    ["datetime", "string", { _neq: "2026-05-31T00:00:00Z" }],
    ["uuid", "string", { _not_in: ["0190163D-8694-739B-AEA5-966C26F8AD91"] }],
    ["objectId", "string", "$user.id"],
    ["enumList", "text", { _contains: "1" }],
  ])("is off from %s to %s, also through a relation and as a check", (from, to, operand) => {
    for (const parts of [
      { filter: { _or: [{ _not: { pay: operand } }] } },
      { check: { pay: operand, title: "a" } },
      { table: "teams", filter: { notes: { pay: operand } } },
    ])
      expect(followNames(rule(parts), typed(from), typed(to))).toEqual(lost(parts));
  });

  it.each<[ColumnType, ColumnType, Json]>([
    ["int", "float", { _lt: 5 }],
    ["bigint", "decimal", { _lt: "5" }],
    ["string", "text", { _contains: "1" }],
    ["enum", "string", { _neq: "1" }],
    ["decimal", "string", null],
    ["decimal", "string", { _is_null: true }],
    ["decimal", "string", { _neq: null }],
  ])("is the same from %s to %s where that compares alike: %j", (from, to, operand) =>
    expect(followNames(rule({ filter: { pay: operand } }), typed(from), typed(to))).toEqual(SAME),
  );

  it("is the same where it does not compare the column", () =>
    expect(
      followNames(rule({ fields: "-pay", presets: { pay: "1" } }), typed("decimal"), typed("string")),
    ).toEqual(SAME));
});

it("a rule through a relation is off once that can lead to several records: without any it is false then, no longer unknown", () => {
  const many = relation("team", "teams", "notes");
  const after = catalog(teams, notes(undefined, { ...many, type: "many-to-many" }));
  const parts = { filter: { _not: { team: { name: "red" } } } };
  const because = 'it needs "team" of "notes", which is compared in another way';
  expect(followNames(rule(parts), before, after)).toEqual({ ...off(parts), because });
  expect(followNames(rule({ filter: { team: null } }), before, after)).toEqual(SAME);
});
