// What comes back of a member when a change of it is undone, and what stays of what was changed since.
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { catalog } from "../query/library-fixture.js";
import { same } from "./canonical.js";
import { checkDefinition } from "./check-definition.js";
import type { ColumnDefinition, RelationDefinition, TableDefinition } from "./definition.js";
import { bareColumn, bareRelation, bareTable } from "./definition-fixture.js";
import { definitionJson } from "./merge-definition.js";
import { type Reverting, revertedColumn, revertedRelation } from "./revert-member.js";

const COLUMNS: Readonly<Record<string, Partial<ColumnDefinition>>> = {
  "an int": { type: "int" },
  "a text": { type: "string" },
  "an encrypted text": { type: "string", encrypted: true },
  "an enum": { type: "enum", options: { values: ["a", "b", "c"] } },
  "a smaller enum": { type: "enum", options: { values: ["a", "b"] } },
  "a list": { type: "enumList", options: { values: ["a", "b"] } },
  "a truth": { type: "boolean" },
};

const BARE: { readonly requiredKeys: ["type"] } = { requiredKeys: ["type"] };

const values = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d"), { minLength: 1 });

/** What a client could say of a column besides its flags: values of an enum, a default and rules. */
const typed: fc.Arbitrary<Partial<ColumnDefinition>> = fc.oneof(
  fc.record(
    { type: fc.constant("int" as const), default: fc.constant(7), rules: fc.constant({ max: 9 }) },
    BARE,
  ),
  fc.record(
    {
      type: fc.constant("string" as const),
      default: fc.constant("x"),
      encrypted: fc.boolean(),
      rules: fc.constant({ minLength: 1 }),
    },
    BARE,
  ),
  values.chain((list) =>
    fc.record(
      {
        type: fc.constant("enum" as const),
        options: fc.constant({ values: list }),
        default: fc.constantFrom(...list),
      },
      { requiredKeys: ["type", "options"] },
    ),
  ),
  values.chain((list) =>
    fc.record(
      {
        type: fc.constant("enumList" as const),
        options: fc.constant({ values: list }),
        default: fc.subarray(list),
        rules: fc.constant({ maxItems: 4 }),
      },
      { requiredKeys: ["type", "options"] },
    ),
  ),
);

/** Columns that a client could have sent, all with one id. */
const column: fc.Arbitrary<ColumnDefinition> = fc
  .record({
    own: typed,
    flags: fc.record({ required: fc.boolean(), hidden: fc.boolean(), readOnly: fc.boolean() }),
    unique: fc.boolean(),
    searchable: fc.boolean(),
    name: fc.constantFrom("a", "b"),
  })
  .map(({ own, flags, unique, searchable, name }) => {
    const { type = "string", encrypted = false } = own;
    return bareColumn(name, {
      id: "c",
      ...own,
      ...flags,
      required: flags.required && (own.default !== undefined || !flags.readOnly),
      unique: unique && !encrypted && type !== "enumList",
      searchable: searchable && !encrypted && type === "string",
    });
  });

const isList = ({ type }: RelationDefinition): boolean => type === "many-to-many";

/** Relations that a client could have sent, all with one id. */
const relation: fc.Arbitrary<RelationDefinition> = fc
  .record({
    type: fc.constantFrom("many-to-one", "one-to-one", "many-to-many"),
    table: fc.constantFrom("authors", "books"),
    inverse: fc.constantFrom("things", "others", null),
    required: fc.boolean(),
    onDelete: fc.constantFrom("SET NULL", "CASCADE", "RESTRICT"),
    counted: fc.boolean(),
  })
  .map(({ type, table, inverse, required, onDelete, counted }) =>
    bareRelation("r", table, {
      type,
      inverse,
      required: required && type !== "many-to-many",
      onDelete:
        type === "many-to-many" ? "SET NULL" : required && onDelete === "SET NULL" ? "CASCADE" : onDelete,
      counted: counted && inverse !== null && type !== "one-to-one",
    }),
  );

function problemsOf(members: Pick<TableDefinition, "columns" | "relations">): readonly string[] {
  const existing = bareTable("t", members);
  const context = { catalog, systemPrefix: "svc_", newId: () => "new", existing };
  const checked = checkDefinition(definitionJson(existing), context);
  return checked.ok ? [] : checked.problems;
}

function revertings<Kind>(member: fc.Arbitrary<Kind>): fc.Arbitrary<Reverting<Kind>> {
  return fc.record({ former: member, later: member, current: member });
}

describe("a column whose change is undone", () => {
  const kinds = (former: string, later: string, current: string, since: Partial<ColumnDefinition> = {}) => {
    const of = (kind: string) => bareColumn("c", COLUMNS[kind]);
    return revertedColumn({ former: of(former), later: of(later), current: { ...of(current), ...since } });
  };

  it.each([
    [{ readOnly: true }],
    [{ hidden: true }],
    [{ unique: true }],
    [{ required: true }],
    [{ description: "whole numbers" }],
    [{ name: "number" }],
  ])("has its former type, and keeps what was set since: %j", (since) => {
    expect(kinds("a text", "an int", "an int", since)).toEqual(bareColumn("c", since));
  });

  it("does not keep a default or rules for another type", () => {
    const since = { default: 5, rules: { max: 9 } };
    expect(kinds("a text", "an int", "an int", since)).toEqual(bareColumn("c"));
  });

  it("has its former members and those that were added since", () => {
    const since = { options: { values: ["d", "b", "a"] } };
    expect(kinds("an enum", "a smaller enum", "an enum", since)?.options?.values).toEqual([
      "d",
      "b",
      "a",
      "c",
    ]);
  });

  it("does not have members that were removed since", () => {
    const since = { options: { values: ["a"] } };
    expect(kinds("an enum", "a smaller enum", "an enum", since)?.options?.values).toEqual(["a", "c"]);
  });

  it("has no default that is none of its values", () => {
    const [former, later, current] = [
      ["a", "b"],
      ["a", "c"],
      ["a", "c"],
    ].map((values) => bareColumn("c", { type: "enum", options: { values } })) as [
      ColumnDefinition,
      ColumnDefinition,
      ColumnDefinition,
    ];
    const back = revertedColumn({ former, later, current: { ...current, default: "c" } });
    expect([back?.options?.values, back?.default]).toEqual([["a", "b"], undefined]);
  });

  it("stays as it is if the change was not about it", () => {
    const before = bareColumn("c", { type: "enum", options: { values: ["a", "b"] } });
    const current = { ...before, options: { values: ["b", "a"] } };
    expect(revertedColumn({ former: before, later: before, current })).toEqual(current);
  });

  it("comes back where its former type was given back by hand, and not where it has another", () => {
    expect(kinds("a text", "an int", "a text")?.type).toBe("string");
    expect(kinds("a text", "an int", "a truth")).toBe(undefined);
    expect(kinds("a text", "an int", "an encrypted text")).toBe(undefined);
  });

  it("is one that a client could have sent, with the settings that were changed since and that its type has", () => {
    const KEPT = ["name", "hidden", "readOnly"] as const;
    fc.assert(
      fc.property(revertings(column), ({ former, later, current }) => {
        const back = revertedColumn({ former, later, current });
        if (back === undefined || same(former, later)) return;
        expect([back.type, back.encrypted, problemsOf({ columns: [back], relations: [] })]).toEqual([
          former.type,
          former.encrypted,
          [],
        ]);
        for (const key of KEPT)
          expect(back[key]).toEqual(same(later[key], current[key]) ? former[key] : current[key]);
      }),
      { numRuns: 1_000 },
    );
  });

  it("is as it was if nothing was changed since", () => {
    fc.assert(
      fc.property(column, column, (former, later) => {
        expect(revertedColumn({ former, later, current: later })).toEqual(former);
      }),
    );
  });
});

describe("a relation whose change is undone", () => {
  it("leads where it led, and keeps what was set since", () => {
    const former = bareRelation("r", "authors", { required: true, onDelete: "RESTRICT" });
    const later = { ...former, table: "books" };
    const current = { ...later, required: false, onDelete: "CASCADE" as const };
    expect(revertedRelation({ former, later, current })).toEqual({
      ...former,
      required: false,
      onDelete: "CASCADE",
    });
  });

  it("is a list again, whether it is a single link since or was made a list by hand", () => {
    const former = bareRelation("r", "authors", { type: "many-to-many" });
    const later = bareRelation("r", "authors");
    for (const current of [{ ...later, required: true, onDelete: "CASCADE" as const }, former])
      expect(revertedRelation({ former, later, current })).toEqual(former);
  });

  it("does not come back where it leads elsewhere since, even to where it led", () => {
    const former = bareRelation("r", "authors");
    const later = bareRelation("r", "books");
    for (const current of [former, bareRelation("r", "readers")])
      expect(revertedRelation({ former, later, current })).toBe(undefined);
  });

  it("is one that a client could have sent", () => {
    fc.assert(
      fc.property(revertings(relation), (reverting) => {
        const back = revertedRelation(reverting);
        if (back === undefined || same(reverting.former, reverting.later)) return;
        expect([back.table, isList(back)]).toEqual([reverting.former.table, isList(reverting.former)]);
        expect(problemsOf({ columns: [], relations: [back] })).toEqual([]);
      }),
      { numRuns: 1_000 },
    );
  });

  it("is as it was if nothing was changed since", () => {
    fc.assert(
      fc.property(relation, relation, (former, later) => {
        expect(revertedRelation({ former, later, current: later })).toEqual(former);
      }),
    );
  });
});
