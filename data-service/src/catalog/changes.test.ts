// The steps between two definitions of a table: they are complete, and lose no value unasked.
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { same } from "./canonical.js";
import { type Transition, withEpochOfReturn, withJournalEpoch } from "./changed-fields.js";
import { type Difference, diff, type Step } from "./changes.js";
import type { ColumnDefinition, RelationDefinition, TableDefinition } from "./definition.js";
import { bareColumn, bareRelation, bareTable } from "./definition-fixture.js";
import { freeField } from "./fields.js";
import { revertChange } from "./revert-change.js";

type Member = ColumnDefinition | RelationDefinition;

const column = fc
  .record({
    type: fc.constantFrom("string", "int", "text", "enum"),
    required: fc.boolean(),
    unique: fc.boolean(),
    hidden: fc.boolean(),
    encrypted: fc.boolean(),
    hasDefault: fc.boolean(),
    maxLength: fc.option(fc.integer({ min: 1, max: 3 })),
    values: fc.uniqueArray(fc.constantFrom("a", "b", "c"), { minLength: 1 }),
  })
  .map(({ type, hasDefault, maxLength, values, ...flags }) => ({
    type,
    ...flags,
    unique: flags.unique && !flags.encrypted,
    readOnly: false,
    searchable: false,
    description: null,
    ...(hasDefault ? { default: type === "enum" ? values[0] : "x" } : {}),
    ...(maxLength === null ? {} : { rules: { maxLength } }),
    ...(type === "enum" ? { options: { values } } : {}),
  }));

const relation = fc
  .record({
    type: fc.constantFrom("many-to-one", "one-to-one", "many-to-many"),
    table: fc.constantFrom("t", "people", "places"),
    inverse: fc.option(fc.constantFrom("things", "others")),
    required: fc.boolean(),
    onDelete: fc.constantFrom("SET NULL", "CASCADE", "RESTRICT"),
    counted: fc.boolean(),
    description: fc.constant(null),
  })
  .map(({ required, onDelete, counted, ...relation }) => {
    const isList = relation.type === "many-to-many";
    return {
      ...relation,
      required: required && !isList,
      onDelete: isList ? "SET NULL" : required && onDelete === "SET NULL" ? "RESTRICT" : onDelete,
      counted: counted && relation.inverse !== null && relation.type !== "one-to-one",
    };
  });

/** Members with ids out of a small set, so that two definitions share some, in any order and with other names. */
function members<Kind>(prefix: string, kind: fc.Arbitrary<Kind>) {
  const ids = [1, 2, 3, 4].map((at) => `${prefix}${at}`);
  return fc
    .tuple(
      fc.shuffledSubarray(ids),
      fc.shuffledSubarray(ids, { minLength: 4 }),
      fc.array(kind, { minLength: 4, maxLength: 4 }),
    )
    .map(([chosen, names, kinds]) =>
      chosen.map((id, at) => ({ id, name: `${names[at]}_name`, ...kinds[at] })),
    );
}

const shape = fc.record({
  name: fc.constantFrom("t", "u"),
  description: fc.option(fc.constantFrom("x", "y")),
  singleton: fc.boolean(),
  changes: fc.boolean(),
  history: fc.boolean(),
  columns: members("c", column),
  relations: members("r", relation),
});

/** Generated parts are definitions by construction; the fields that are there already are kept, as in check-definition. */
function definition(parts: object, former?: TableDefinition): TableDefinition {
  const plain = {
    id: "table",
    idType: "objectId",
    uniques: [],
    indexes: [],
    ...parts,
  } as unknown as TableDefinition;
  const { fields: known = {}, retired } = former?.storage ?? {};
  const taken = new Set([...Object.values(known), ...(retired ?? [])]);
  const fields = Object.fromEntries(
    [...plain.columns, ...plain.relations].map(({ id, name }) => {
      const field = known[id] ?? freeField(name, taken);
      taken.add(field);
      return [id, field];
    }),
  );
  return { ...plain, storage: { collection: "t", fields } };
}

const pair = fc.tuple(shape, shape).map(([one, other]) => {
  const before = definition(one);
  return { before, wanted: definition(other, before) };
});

/** An independent reading of what steps mean. */
function apply(before: TableDefinition, steps: readonly Step[]): unknown {
  const { storage: _storage, ...settings } = before;
  const result: Record<string, unknown> = { ...settings };
  for (const step of steps.filter(({ what }) => what === "table.set")) result[step.where] = step.to;
  for (const key of ["columns", "relations"] as const) {
    const kind = key.slice(0, -1);
    const list = new Map<string, unknown>(before[key].map((each) => [each.id, each]));
    for (const { what, from, to } of steps) {
      if (what === `${kind}.remove`) list.delete((from as Member).id);
      if (what === `${kind}.add` || what === `${kind}.change`) list.set((to as Member).id, to);
    }
    const order = steps.find(({ what, where }) => what === "order" && where === key)?.to;
    result[key] = Array.isArray(order) ? order.map((id: string) => list.get(id)) : [...list.values()];
  }
  return result;
}

const check = (property: (difference: Difference, wanted: TableDefinition) => void): void => {
  fc.assert(
    fc.property(pair, ({ before, wanted }) => property(diff(before, wanted), wanted)),
    { numRuns: 500 },
  );
};

describe("the difference of two definitions", () => {
  it("of a definition and itself is nothing", () => {
    fc.assert(
      fc.property(shape, (parts) => {
        const { steps, fills, after } = diff(definition(parts), definition(parts));
        expect([steps, fills, same(after, definition(parts))]).toEqual([[], [], true]);
      }),
    );
  });

  it("tells the whole truth: its steps lead from the first to the second", () => {
    check(({ before, steps }, wanted) => {
      const { storage: _storage, ...plain } = wanted;
      expect(same(apply(before, steps), plain)).toBe(true);
    });
  });

  it("takes no value away without asking the data: each former field is kept, converted or asked about", () => {
    check(({ before, after, steps, fills }) => {
      const asked = new Set(
        steps.flatMap(({ risks }) =>
          risks.map(({ question }) => ("field" in question ? question.field : "")),
        ),
      );
      for (const [id, field] of Object.entries(before.storage.fields)) {
        const isKept = after.storage.fields[id] === field;
        const isCopied = fills.some((each) => "from" in each && each.from === field);
        expect(isKept || isCopied || asked.has(field)).toBe(true);
      }
    });
  });

  it("never uses a field for two members, nor one that holds former values for new ones", () => {
    check(({ before, after }) => {
      const fields = Object.entries(after.storage.fields);
      expect(new Set(fields.map(([, field]) => field)).size).toBe(fields.length);
      for (const [id, field] of fields)
        if (Object.values(before.storage.fields).includes(field))
          expect(before.storage.fields[id]).toBe(field);
      const left = Object.values(before.storage.fields).filter(
        (field) => !fields.some(([, each]) => each === field),
      );
      expect(after.storage.retired ?? []).toEqual(left.toSorted());
    });
  });

  it("in an adopted collection tells its own fields from those of other programs, and names the undo", () => {
    const typed = (type: "string" | "int") => [bareColumn("a", { id: "c1", type })];
    const storage = { collection: "t", fields: { c1: "a" }, adopted: true } as const;
    const adopted = bareTable("t", { columns: typed("string"), storage });
    const whyOf = ({ steps }: Difference) =>
      steps.flatMap(({ risks }) => risks.map(({ why }) => why)).join(" ");
    const parted = diff(adopted, { ...adopted, columns: typed("int") });
    expect(whyOf(parted)).toMatch(/other programs keep using the field "a"/);
    const back = whyOf(diff(parted.after, { ...parted.after, columns: typed("string") }));
    expect(back).toMatch(/"a_c1" is a field of Portico's own.* undo/);
    expect(back).not.toMatch(/keep using/);
  });

  it("in an adopted collection uses field names for new values that nobody has, and stays adopted", () => {
    const column = { id: "c1", name: "age", type: "string" };
    const plain = definition({
      name: "t",
      description: null,
      singleton: false,
      columns: [column],
      relations: [],
    });
    const adopted = { ...plain, storage: { ...plain.storage, adopted: true } };
    const { after } = diff(adopted, {
      ...adopted,
      columns: [{ ...adopted.columns[0], type: "int" }],
    } as TableDefinition);
    expect(after.storage).toEqual({
      collection: "t",
      adopted: true,
      fields: { c1: "age_c1" },
      retired: ["age"],
    });
    expect(revertChange(after, { before: adopted, after }, () => false).storage).toEqual({
      collection: "t",
      adopted: true,
      fields: { c1: "age" },
      retired: ["age_c1"],
    });
  });

  it("is taken back by revertChange, whatever it was", () => {
    check(({ before, after }) => {
      const { storage, columns, relations, ...settings } = revertChange(
        after,
        { before, after },
        () => false,
      );
      const { storage: _storage, columns: _columns, relations: _relations, ...former } = before;
      expect(settings).toEqual(former);
      for (const each of [...before.columns, ...before.relations]) {
        expect([...columns, ...relations]).toContainEqual(each);
        expect(storage.fields[each.id]).toBe(before.storage.fields[each.id]);
      }
      for (const list of [columns, relations])
        expect(new Set(list.map(({ name }) => name)).size).toBe(list.length);
    });
  });
});

describe("what an undo brings back", () => {
  const named = (names: string) =>
    Array.from(names, (name) => ({ ...plainColumn("string"), id: name, name }));
  const linked = (names: string) =>
    Array.from(names, (name) => ({ id: name, name, type: "many-to-one", table: "t", inverse: null }));
  const parts = (columns: string, relations: string) =>
    definition({ name: "t", columns: named(columns), relations: linked(relations) });

  it.each([
    ["abcd", "bd", "bd", "abcd"],
    ["abcd", "ab", "abe", "abcde"],
    ["abcd", "acd", "dca", "dcab"],
    ["abc", "c", "c", "abc"],
    ["abc", "c", "d", "abd"],
    ["abc", "", "", "abc"],
    ["abc", "xac", "xac", "xabc"],
  ])("stands behind what it stood behind: %s, changed into %s, now %s", (before, after, now, expected) => {
    for (const of of [(names: string) => parts(names, ""), (names: string) => parts("", names)]) {
      const back = revertChange(of(now), { before: of(before), after: of(after) }, () => false);
      const [own, all] = [before, [...back.columns, ...back.relations].map(({ id }) => id).join("")];
      expect([own, all]).toEqual([own, expected]);
    }
  });
});

describe("the epoch of a journal", () => {
  it("is another one for a new column if documents may have its field already", () => {
    const parts = {
      name: "t",
      changes: true,
      columns: [{ id: "c1", name: "age", type: "int" }],
      relations: [],
    };
    const before = definition(parts);
    const wider = { ...parts, columns: [...parts.columns, { id: "c2", name: "open", type: "boolean" }] };
    const epochIn = (storage: Partial<TableDefinition["storage"]>): number | undefined => {
      const [from, to] = [before, definition(wider, before)].map((each) => ({
        ...each,
        storage: { ...each.storage, ...storage },
      }));
      return from && to && withJournalEpoch(from, to).storage.journalEpoch;
    };
    expect([epochIn({}), epochIn({ adopted: true }), epochIn({ retired: ["open"] })]).toEqual([
      undefined,
      1,
      1,
    ]);
  });

  it.each<[string, Readonly<Record<string, string>>, number | undefined]>([
    ["two swap their names", { c1: "b", c2: "a" }, 1],
    ["one gives its name away", { c1: "c", c2: "b" }, 1],
    ["another one is made in its place", { c3: "a", c2: "b" }, 1],
    ["all keep theirs", { c2: "b", c1: "a", c3: "c" }, undefined],
  ])("is another one when a name becomes free: %s", (_how, after, epoch) => {
    const of = (names: Readonly<Record<string, string>>, from?: TableDefinition): TableDefinition =>
      definition(
        {
          name: "t",
          changes: true,
          columns: Object.entries(names).map(([id, name]) => ({ id, name, type: "int" })),
          relations: [],
        },
        from,
      );
    const before = of({ c1: "a", c2: "b" });
    expect(withJournalEpoch(before, of(after, before)).storage.journalEpoch).toBe(epoch);
  });

  it("is another one when the other ends of a table's links to itself swap their names", () => {
    const of = (table: string, [left, right]: readonly [string, string]): TableDefinition =>
      bareTable("t", {
        changes: true,
        relations: [
          bareRelation("r1", table, { inverse: left }),
          bareRelation("r2", table, { inverse: right }),
        ],
      });
    const swapped = (table: string): number | undefined =>
      withJournalEpoch(of(table, ["a", "b"]), of(table, ["b", "a"])).storage.journalEpoch;
    expect([swapped("t"), swapped("others")]).toEqual([1, undefined]);
  });

  it("is another one when a table comes back whose records may have lost links meanwhile", () => {
    const of = (parts: object): number | undefined =>
      withEpochOfReturn(definition({ name: "t", columns: [], ...parts })).storage.journalEpoch;
    const relations = [{ id: "r1", name: "other", type: "many-to-one", table: "t" }];
    expect([
      of({ changes: true, relations }),
      of({ changes: true, relations: [] }),
      of({ changes: false, relations }),
    ]).toEqual([1, undefined, undefined]);
  });
});

/** Whose values of which form lie in a table's fields: any others would be misread. */
function formsOf({ columns, relations, storage }: TableDefinition): [field: string, form: string][] {
  const forms = [
    ...columns.map(({ id, type, encrypted }) => [id, `${id} ${type} ${encrypted}`] as const),
    ...relations.map(({ id, type, table }) => [id, `${id} ${type === "many-to-many"} ${table}`] as const),
  ];
  return forms.map(([id, form]) => [String(storage.fields[id]), form]);
}

describe("changes and undos, one after another", () => {
  const wish = shape.map((parts) => ({ ...parts, name: "t" }));
  /** Out of few, so that a table is often made again what it was before. */
  const history = fc.tuple(wish, wish).chain((few) => {
    // Which of the changes so far: an undo passes over those that cost nothing.
    const undo = fc.nat({ max: 2 });
    return fc.array(fc.oneof(fc.constantFrom(...few), undo), { minLength: 4, maxLength: 9 });
  });

  it("leave in each field values of one member, in one form", () => {
    fc.assert(
      fc.property(wish, history, (first, steps) => {
        let now = definition(first);
        const changes: Transition[] = [];
        const forms = new Map(formsOf(now));
        for (const step of steps) {
          if (typeof step === "number") {
            const [undone] = changes.splice(step, 1);
            if (undone !== undefined) now = revertChange(now, undone, () => false);
          } else {
            changes.push(diff(now, definition(step, now)));
            now = changes.at(-1)?.after ?? now;
          }
          for (const [field, form] of formsOf(now)) {
            expect([field, forms.get(field) ?? form]).toEqual([field, form]);
            forms.set(field, form);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("what is asked of the data", () => {
  const base = { name: "t", description: null, singleton: false, columns: [], relations: [] };
  const text = { ...plainColumn("string"), id: "c1", name: "a" };
  const questions = (from: object, to: object) => {
    const before = definition({ ...base, columns: [from] });
    return diff(before, definition({ ...base, columns: [to] }, before)).steps.flatMap(({ risks }) => risks);
  };

  it.each([
    ["hidden", { hidden: true }],
    ["a description", { description: "x" }],
    ["a default", { default: "x" }],
    ["another name", { name: "b" }],
    ["searchable", { searchable: true }],
    ["required with a default", { required: true, default: "x" }],
    ["encryption", { encrypted: true }],
  ])("nothing for %s", (_what, change) => {
    expect(questions(text, { ...text, ...change })).toEqual([]);
  });

  it.each([
    ["another type", { type: "int" }, "unfit", "lost"],
    ["tighter rules", { rules: { maxLength: 3 } }, "rules", "kept"],
    ["required", { required: true }, "missing", "kept"],
    ["unique", { unique: true }, "duplicates", "impossible"],
  ])("%s", (_what, change, ask, confirmed) => {
    const [risk] = questions(text, { ...text, ...change });
    expect([risk?.question.ask, risk?.confirmed]).toEqual([ask, confirmed]);
  });

  it("of a required column's new type also whether values would be gone: only then it is impossible", () => {
    const required = { ...text, required: true };
    const asked = (changes: object) =>
      questions(required, { ...required, ...changes }).map(({ question, confirmed, whenGone }) => [
        question.ask,
        confirmed,
        whenGone?.confirmed,
      ]);
    expect(asked({ type: "int" })).toEqual([["unfit", "lost", "impossible"]]);
    expect(asked({ type: "int", default: 1 })).toEqual([["unfit", "lost", "lost"]]);
    expect(asked({ type: "int", required: false })).toEqual([["unfit", "lost", "lost"]]);
  });

  it("of an adopted column that is encrypted, whether all fits: other programs may have stored anything", () => {
    const before = definition({ ...base, columns: [text] });
    const adopted = { ...before, storage: { ...before.storage, adopted: true } };
    const asked = (from: TableDefinition, change: object) =>
      diff(from, definition({ ...base, columns: [{ ...text, ...change }] }, from)).steps.flatMap(
        ({ risks }) => risks.map(({ question }) => question.ask),
      );
    expect(asked(adopted, { encrypted: true })).toEqual(["records", "unfit"]);
    expect(asked(adopted, { hidden: true })).toEqual([]);
  });

  it("nothing for rules that let more pass", () => {
    const rules = (from: object, to: object) => questions({ ...text, rules: from }, { ...text, rules: to });
    expect(rules({ maxLength: 3, pattern: "x" }, { maxLength: 4 })).toEqual([]);
    expect(rules({ minLength: 3 }, { minLength: 2 })).toEqual([]);
    expect(rules({ pattern: "x" }, { pattern: "y" }).length).toBe(1);
    expect(rules({ min: 1 }, { min: 0 }).length).toBe(1);
  });
});

function plainColumn(type: string) {
  return {
    type,
    required: false,
    unique: false,
    hidden: false,
    readOnly: false,
    encrypted: false,
    searchable: false,
    description: null,
  };
}
