// The oracle itself, held against sentences of the contract (section 4) by hand.
import { describe, expect, it } from "@jest/globals";
import { evaluate, type Parameters } from "./evaluate.js";
import { type Id, type JsonObject, Refused, type Row, type World } from "./model.js";
import { divideExact, exact, spell, textMatches } from "./values.js";

const DAY = "2024-01-01T00:00:00.000Z";

function row(id: Id, values: JsonObject, links: Row["links"] = {}): Row {
  return { id, createdAt: DAY, updatedAt: DAY, values, links };
}

const world: World = {
  tables: [
    {
      name: "authors",
      idType: "int",
      columns: [
        { name: "name", type: "string" },
        { name: "secret", type: "string", hidden: true },
      ],
      relations: [
        { name: "chief", type: "many-to-one", table: "authors", inverse: "staff" },
        { name: "desk", type: "one-to-one", table: "desks", inverse: "owner" },
      ],
    },
    { name: "desks", idType: "int", columns: [{ name: "room", type: "int" }], relations: [] },
    {
      name: "posts",
      idType: "int",
      columns: [
        { name: "title", type: "string" },
        { name: "views", type: "int" },
        { name: "price", type: "decimal" },
        { name: "size", type: "bigint" },
        { name: "at", type: "datetime" },
        { name: "state", type: "enum", values: ["draft", "done"] },
        { name: "flags", type: "enumList", values: ["new", "hot"] },
        { name: "extra", type: "json" },
      ],
      relations: [
        { name: "author", type: "many-to-one", table: "authors", inverse: "posts" },
        { name: "tags", type: "many-to-many", table: "tags", inverse: "posts" },
      ],
    },
    { name: "tags", idType: "int", columns: [{ name: "word", type: "string" }], relations: [] },
  ],
  rows: {
    authors: [
      row(1, { name: "Ann", secret: "s" }, { desk: [1] }),
      row(2, { name: "bob" }, { chief: [1] }),
      row(3, { name: null }, { chief: [1] }),
    ],
    desks: [row(1, { room: 7 })],
    posts: [
      row(
        1,
        {
          title: "Alpha",
          views: 5,
          price: "19.90",
          size: "9223372036854775807",
          at: "2024-05-31T12:00:00.000Z",
          state: "draft",
          flags: ["new", "hot"],
          extra: {},
        },
        { author: [1], tags: [1, 2] },
      ),
      row(
        2,
        {
          title: "beta",
          views: 5,
          price: "19.9",
          size: "1",
          at: "2024-05-31T00:00:00.000Z",
          state: "done",
          flags: [],
        },
        { author: [2], tags: [2] },
      ),
      row(3, { title: null, views: null }, { author: [3], tags: [3] }),
      row(4, { title: "😀" }),
      row(5, { title: "\uffee", views: -1, price: "0.1" }, { tags: [] }),
    ],
    tags: [row(1, { word: "red" }), row(2, { word: "blue" }), row(3, {})],
  },
};

function idsOf(table: string, parameters: Parameters): unknown {
  return evaluate(world, table, { limit: 0, ...parameters, fields: "id" }).data.map(
    (one) => (one as { id: Id }).id,
  );
}

function found(filter: JsonObject, table = "posts"): unknown {
  return idsOf(table, { filter });
}

describe("filter (4.1)", () => {
  it.each<[string, JsonObject, number[]]>([
    ["equality is case-sensitive", { title: { _eq: "alpha" } }, []],
    ["a null operand is a null test", { title: { _eq: null } }, [3]],
    ["_neq null is not null", { views: { _neq: null } }, [1, 2, 5]],
    ["{f:5} is _eq", { views: 5 }, [1, 2]],
    ["{f:null} is null", { views: null }, [3, 4]],
    ["a missing field is null", { views: { _is_null: true } }, [3, 4]],
    ["a comparison with null is unknown", { views: { _neq: 5 } }, [5]],
    ["_not of unknown is unknown", { _not: { views: { _eq: 5 } } }, [5]],
    ["_in: [] matches nothing", { views: { _in: [] } }, []],
    ["_in: [] is false, not unknown", { _not: { views: { _in: [] } } }, [1, 2, 3, 4, 5]],
    ["_not_in: [] matches everything", { views: { _not_in: [] } }, [1, 2, 3, 4, 5]],
    ["_nin is _not_in", { views: { _nin: [5] } }, [5]],
    ["_between is inclusive", { views: { _between: [-1, 5] } }, [1, 2, 5]],
    ["operators of one field are ANDed", { views: { _gt: -1, _lt: 6 } }, [1, 2]],
    ["fields of one object are ANDed", { views: 5, title: "beta" }, [2]],
    ["_or of unknown and true is true", { _or: [{ views: 5 }, { title: null }] }, [1, 2, 3]],
    ["_and: [] is true", { _and: [] }, [1, 2, 3, 4, 5]],
    ["_or: [] is true", { _or: [] }, [1, 2, 3, 4, 5]],
    ["_contains ignores case", { title: { _contains: "ALPH" } }, [1]],
    ["_icontains is _contains", { title: { _icontains: "ETA" } }, [2]],
    ["text operands are literal", { title: { _contains: "." } }, []],
    ["the empty text is in every text", { title: { _contains: "" } }, [1, 2, 4, 5]],
    ["text is ordered by code point", { title: { _gt: "\uffee" } }, [4]],
    ["decimals are equal by value", { price: "19.900" }, [1, 2]],
    ["bigints are exact", { size: { _lt: "9223372036854775807" } }, [2]],
    ["instants are equal with any offset", { at: "2024-05-31T14:00:00+02:00" }, [1]],
    ["a bare day is its midnight UTC", { at: "2024-05-31" }, [2]],
    ["_contains on an enum list is membership", { flags: { _contains: "hot" } }, [1]],
    ["an empty enum list has no members, but is not null", { _not: { flags: { _contains: "hot" } } }, [2]],
    ["json takes null tests", { extra: { _is_not_null: true } }, [1]],
    ["to-one: the related record", { author: { name: { _eq: "Ann" } } }, [1]],
    ["to-one: inner nulls are unknown", { _not: { author: { name: { _eq: "Ann" } } } }, [2]],
    [
      "an absent related record satisfies nothing, _is_null included",
      { author: { name: { _is_null: true } } },
      [3],
    ],
    ["to-one of a to-one", { author: { desk: { room: 7 } } }, [1]],
    ["to-many: any", { tags: { word: "blue" } }, [1, 2]],
    ["to-many: one record satisfies the whole object", { tags: { word: "red", id: 2 } }, []],
    [
      "_and members may be met by different records",
      { _and: [{ tags: { word: "red" } }, { tags: { id: 2 } }] },
      [1],
    ],
    ["none is _not", { _not: { tags: { word: "blue" } } }, [3, 4, 5]],
    ["to-many: {} is has any", { tags: {} }, [1, 2, 3]],
    ["directly on a to-one", { author: 2 }, [2]],
    ["_neq on a to-one needs a related record", { author: { _neq: 2 } }, [1, 3]],
    ["null on a to-one", { author: null }, [4, 5]],
    ["_is_null on a to-one is never unknown", { _not: { author: { _is_null: true } } }, [1, 2, 3]],
    ["directly on a to-many", { tags: { _in: [1, 3] } }, [1, 3]],
    ["an empty list on a to-many matches everything", { tags: { _not_in: [] } }, [1, 2, 3, 4, 5]],
    ["_neq on a to-many is any other", { tags: { _neq: 2 } }, [1, 3]],
    ["null on a to-many is has none", { tags: null }, [4, 5]],
  ])("%s", (_sentence, filter, ids) => {
    expect(found(filter)).toEqual(ids);
  });

  it.each<[string, JsonObject]>([
    ["an object without operators", { title: {} }],
    ["an unknown field", { nme: 1 }],
    ["an unknown field inside a relation that nothing has", { author: { chief: { chief: { nme: 1 } } } }],
    ['"5" for an int', { views: "5" }],
    ["1.5 for an int", { views: 1.5 }],
    ["null in a list", { views: { _in: [null] } }],
    ["null in a range", { views: { _gt: null } }],
    ["no member of the enum", { state: "gone" }],
    ["order on an enum list", { flags: { _gt: "hot" } }],
    ["equality on json", { extra: 5 }],
    ["text search in numbers", { views: { _contains: "5" } }],
    ["_between with three", { views: { _between: [1, 2, 3] } }],
  ])("refuses %s", (_what, filter) => {
    expect(() => found(filter)).toThrow(Refused);
  });

  it("goes through inverses and back to the same table", () => {
    expect(found({ staff: { name: "bob" } }, "authors")).toEqual([1]);
    expect(found({ chief: { posts: { title: "Alpha" } } }, "authors")).toEqual([2, 3]);
  });

  it.each<[string, string, boolean]>([
    ["STRASSE", "ß", false],
    ["straẞe", "SSE", false],
    ["straẞe", "ßE", true],
    ["\u212a", "k", true],
    ["ſ", "S", true],
    ["ς", "Σ", true],
    ["ı", "I", false],
    ["İ", "i", false],
    ["e\u0301", "é", false],
    ["𐐀", "𐐨", true],
  ])("%j contains %j: %s", (text, part, expected) => {
    expect(textMatches("contains", text, part)).toBe(expected);
  });
});

describe("fields (4.2)", () => {
  const shown = (fields: string | undefined, table = "authors", id = 1): unknown =>
    evaluate(world, table, { ...(fields === undefined ? {} : { fields }), filter: { id } }).data[0];
  const ann = { id: 1, name: "Ann", createdAt: DAY, updatedAt: DAY };

  it.each([undefined, "*"])("%s is every readable column and to-one relations as ids", (fields) => {
    expect(shown(fields)).toEqual({ ...ann, chief: null, desk: { id: 1 } });
  });

  it.each<[string, string, unknown]>([
    ["names are exactly these", "name", { name: "Ann" }],
    ["spaces are ignored", " name , id", { name: "Ann", id: 1 }],
    ["a relation is id objects", "desk,staff", { desk: { id: 1 }, staff: [{ id: 2 }, { id: 3 }] }],
    [
      "inside a relation id is always present",
      "staff.name",
      {
        staff: [
          { id: 2, name: "bob" },
          { id: 3, name: null },
        ],
      },
    ],
    ["paths merge", "desk.room,desk", { desk: { id: 1, room: 7 } }],
    ["-f is all but", "-name,-createdAt,-updatedAt", { id: 1, chief: null, desk: { id: 1 } }],
    [
      "positive names beside -f are ignored",
      "-name,-createdAt,-updatedAt,staff",
      { id: 1, chief: null, desk: { id: 1 } },
    ],
    [
      "-rel.f leaves the outer as *",
      "-desk.createdAt,-desk.updatedAt",
      { ...ann, chief: null, desk: { id: 1, room: 7, owner: { id: 1 } } },
    ],
    [
      "-rel.id does not take the id",
      "desk.id,-desk.id,-desk.createdAt,-desk.updatedAt",
      { desk: { id: 1, room: 7, owner: { id: 1 } } },
    ],
    ["a hidden column is shown when named", "name,secret", { name: "Ann", secret: "s" }],
    ["_count(rel) alone is all there is", "_count(staff)", { _count: { staff: 2 } }],
    [
      "*,_count(rel) adds it",
      "*,_count(staff),_count(posts)",
      { ...ann, chief: null, desk: { id: 1 }, _count: { staff: 2, posts: 1 } },
    ],
    [
      "an all-but scope does not ignore it",
      "-name,-createdAt,-updatedAt,_count(staff)",
      { id: 1, chief: null, desk: { id: 1 }, _count: { staff: 2 } },
    ],
    [
      "it stands in every scope, and is 0 where there are none",
      "staff._count(staff),desk.owner._count(staff)",
      {
        staff: [
          { id: 2, _count: { staff: 0 } },
          { id: 3, _count: { staff: 0 } },
        ],
        desk: { id: 1, owner: { id: 1, _count: { staff: 2 } } },
      },
    ],
  ])("%s", (_sentence, fields, record) => {
    expect(shown(fields)).toEqual(record);
  });

  it.each([
    ...["-*", "nme", "desk.nme", "-nme", "name.id"],
    ...["_count(desk)", "_count(nme)", "_count(name)", "-_count(staff)", "_max(staff.id)"],
  ])("refuses %s", (fields) => {
    expect(() => shown(fields)).toThrow(Refused);
  });
});

describe("sort (4.3)", () => {
  it.each<[string, string, string, number[]]>([
    ["the default is id", "posts", "id", [1, 2, 3, 4, 5]],
    ["nulls come first", "posts", "views", [3, 4, 5, 1, 2]],
    ["nulls come last when descending, the closing id ascends", "posts", "-views", [1, 2, 5, 3, 4]],
    ["text by code point", "posts", "-title", [4, 5, 2, 1, 3]],
    ["decimals by value", "posts", "-price,-id", [2, 1, 5, 4, 3]],
    ["to-one chains", "posts", "-author.name", [2, 1, 3, 4, 5]],
    ["parents without children count 0", "posts", "_count(tags)", [4, 5, 2, 3, 1]],
    ["_max: without children last", "posts", "_max(tags.word)", [2, 1, 3, 4, 5]],
    ["_max: without children last when descending too", "posts", "-_max(tags.word)", [1, 2, 3, 4, 5]],
    ["_min", "authors", "_min(staff.id),-id", [1, 3, 2]],
    ["the first of equal keys decides", "posts", "-id,id", [5, 4, 3, 2, 1]],
  ])("%s", (_sentence, table, sort, ids) => {
    expect(idsOf(table, { sort })).toEqual(ids);
  });

  it.each(["nme", "tags.word", "_max(author.name)", "_count(author)", "extra", "flags"])(
    "refuses %s",
    (sort) => {
      expect(() => idsOf("posts", { sort })).toThrow(Refused);
    },
  );
});

describe("page, meta and aggregate (4.4)", () => {
  it("pages do not overlap, and past the end there is nothing", () => {
    expect([1, 2, 3, 4].map((page) => idsOf("posts", { limit: 2, page }))).toEqual([[1, 2], [3, 4], [5], []]);
  });

  it("counts are independent of the page, and only those asked for", () => {
    const filter = { views: 5 };
    const metaOf = (meta: string) => evaluate(world, "posts", { filter, meta, limit: 1, page: 9 }).meta;
    expect(metaOf("*")).toEqual({ totalCount: 5, filterCount: 2 });
    expect(metaOf("filterCount")).toEqual({ filterCount: 2 });
  });

  it("aggregates go over the filtered rows", () => {
    const aggregate = {
      views: { count: true, sum: true, avg: true, min: true, max: true },
      price: { sum: true },
      size: { sum: true, avg: true },
      tags: { count: true },
    };
    const filter = { _not: { id: { _eq: 5 } } };
    expect(evaluate(world, "posts", { filter, aggregate }).meta?.aggregate).toEqual({
      views: { count: 2, sum: 10, avg: 5, min: 5, max: 5 },
      price: { sum: "39.8" },
      size: { sum: "9223372036854775808", avg: "4611686018427387904" },
      tags: { count: 4 },
    });
  });

  it("aggregates over nothing are null, and counts 0", () => {
    const aggregate = {
      views: { count: true, sum: true, avg: true, min: true, max: true },
      tags: { count: true },
    };
    expect(evaluate(world, "posts", { filter: { id: 99 }, aggregate }).meta?.aggregate).toEqual({
      views: { count: 0, sum: null, avg: null, min: null, max: null },
      tags: { count: 0 },
    });
  });

  it("quotients have 34 digits", () => {
    expect(spell(divideExact(exact("2"), 3))).toBe("0.6666666666666666666666666666666667");
    expect(spell(divideExact(exact("-1.5"), 4))).toBe("-0.375");
  });
});

describe("deep (4.5)", () => {
  const deepOf = (deep: JsonObject, fields = "id", filter: JsonObject = { id: 1 }): unknown =>
    evaluate(world, "authors", { fields, filter, deep }).data;

  it("loads a relation that fields did not name, or excluded", () => {
    const staff = { fields: "name" };
    expect(deepOf({ staff })).toEqual([
      {
        id: 1,
        staff: [
          { id: 2, name: "bob" },
          { id: 3, name: null },
        ],
      },
    ]);
    expect(deepOf({ staff }, "-desk,-name,-chief,-createdAt,-updatedAt,-staff")).toEqual(deepOf({ staff }));
  });

  it("its fields replace what the outer fields said of the relation", () => {
    const fields = "staff.createdAt,staff.chief.name";
    expect(deepOf({ staff: { fields: "name", limit: 1 } }, fields)).toEqual([
      { staff: [{ id: 2, name: "bob" }] },
    ]);
    expect(deepOf({ staff: { limit: 1 } }, "staff.name")).toEqual([{ staff: [{ id: 2, name: "bob" }] }]);
  });

  it("limits, pages and sorts per parent", () => {
    const staff = { fields: "id", sort: "-id", limit: 1 };
    expect(deepOf({ staff })).toEqual([{ id: 1, staff: [{ id: 3 }] }]);
    expect(deepOf({ staff: { ...staff, page: 2 } })).toEqual([{ id: 1, staff: [{ id: 2 }] }]);
  });

  it("a filter narrows children, never parents, and a to-one that does not match is null", () => {
    const filter = { name: "nobody" };
    const deep = { chief: { filter }, staff: { filter } };
    expect(deepOf(deep, "id", { id: 2 })).toEqual([{ id: 2, chief: null, staff: [] }]);
  });

  it("goes on inside", () => {
    const deep = { desk: { fields: "room", deep: { owner: { fields: "name" } } } };
    expect(deepOf(deep)).toEqual([{ id: 1, desk: { id: 1, room: 7, owner: { id: 1, name: "Ann" } } }]);
  });

  it.each<JsonObject>([
    { desk: { limit: 1 } },
    { desk: { sort: "id" } },
    { staff: { limit: -1 } },
    { staff: { order: "id" } },
    { name: {} },
  ])("refuses %j", (deep) => {
    expect(() => deepOf(deep)).toThrow(Refused);
  });
});
