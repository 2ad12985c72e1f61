// Contract 4.1, operator by operator and type by type: which columns take it, which operands, which rows it finds.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { type Api, signIn } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { created } from "./library.js";

/** Three values of each type in ascending order: the rows 1, 2 and 3. Rows 4 (missing) and 5 (null) have none. */
const ORDERED: readonly (readonly [type: string, low: unknown, middle: unknown, high: unknown])[] = [
  ["string", "Zoe", "ann", "zoë"],
  ["text", "", "one\ntwo", "😀"],
  ["int", -7, 0, 9_007_199_254_740_991],
  ["bigint", "-9223372036854775808", "9007199254740992", "9007199254740993"],
  ["float", -1e300, 0.1, 0.30000000000000004],
  ["decimal", "-0.1", "9.95", "9999999999999999999999999999999.999"],
  ["date", "0001-01-01", "2024-02-29", "9999-12-31"],
  ["datetime", "1969-12-31T23:59:59.999Z", "2024-02-29T12:00:00.000Z", "2024-02-29T12:00:00.001Z"],
  ["enum", "blue", "green", "red"],
  [
    "uuid",
    "00000000-0000-0000-0000-000000000001",
    "0190163d-8694-739b-aea5-966c26f8ad91",
    "f190163d-8694-739b-aea5-966c26f8ad91",
  ],
  ["objectId", "000000000000000000000001", "65a000000000000000000000", "ffffffffffffffffffffffff"],
];
const OTHERS = {
  boolean: [true, false, true],
  enumList: [["red"], ["red", "blue"], []],
  json: [{ a: 1 }, [], 0],
};

const TYPES = [...ORDERED.map(([type]) => type), ...Object.keys(OTHERS)];
const options = { values: ["red", "green", "blue"] };

let stack: Stack;
let api: Api;

beforeAll(async () => {
  stack = await startStack();
  // Many small questions about the language alone: they go to the data service, which serves the same paths.
  api = await signIn(stack.dataUrl, stack.admin);
  const columns = TYPES.map((type) => ({
    name: `the_${type}`,
    type,
    ...(type.startsWith("enum") ? { options } : {}),
  }));
  await created(api, "svc_table", { name: "samples", idType: "int", columns });
  const values = [...ORDERED.map(([type, ...three]) => [type, three] as const), ...Object.entries(OTHERS)];
  const row = (at: number) => Object.fromEntries(values.map(([type, three]) => [`the_${type}`, three[at]]));
  await created(api, "samples", [row(0), row(1), row(2), {}, {}]);
  // Row 5 as another program may have written it: null instead of nothing.
  const client = new MongoClient(stack.mongodbUrl);
  const nulls = Object.fromEntries(TYPES.map((type) => [`the_${type}`, null]));
  await client.db().collection<{ _id: number }>("samples").updateOne({ _id: 5 }, { $set: nulls });
  await client.close();
});

afterAll(() => stack.stop());

async function rowsWhere(filter: unknown): Promise<number[]> {
  const { status, body } = await api.get("/samples", { filter, fields: "id" });
  if (status !== 200) throw new Error(`answered ${status}: ${body.message}`);
  return body.data.map(({ id }: { id: number }) => id);
}

async function refusalOf(filter: unknown): Promise<string> {
  const { status, body } = await api.get("/samples", { filter });
  expect([status, body.error?.code]).toEqual([400, "BAD_REQUEST"]);
  return body.message;
}

describe.each(ORDERED)("a column of type %s", (type, low, middle, high) => {
  const column = `the_${type}`;
  it.each<[operator: string, operand: unknown, ids: number[]]>([
    ["_eq", middle, [2]],
    ["_eq", null, [4, 5]],
    ["_neq", middle, [1, 3]],
    ["_neq", null, [1, 2, 3]],
    ["_gt", middle, [3]],
    ["_gte", middle, [2, 3]],
    ["_lt", middle, [1]],
    ["_lte", middle, [1, 2]],
    ["_in", [low, high], [1, 3]],
    ["_in", [], []],
    ["_not_in", [low, high], [2]],
    ["_not_in", [], [1, 2, 3, 4, 5]],
    ["_nin", [low], [2, 3]],
    ["_between", [low, middle], [1, 2]],
    ["_between", [middle, middle], [2]],
    ["_between", [high, low], []],
    ["_is_null", true, [4, 5]],
    ["_is_null", false, [1, 2, 3]],
    ["_is_not_null", true, [1, 2, 3]],
    ["_is_not_null", false, [4, 5]],
  ])("takes %s %j", async (operator, operand, ids) => {
    expect(await rowsWhere({ [column]: { [operator]: operand } })).toEqual(ids);
  });

  it("takes a bare value as _eq and a bare null as is-null", async () => {
    expect(await rowsWhere({ [column]: middle })).toEqual([2]);
    expect(await rowsWhere({ [column]: null })).toEqual([4, 5]);
  });

  it("ANDs several operators", async () => {
    expect(await rowsWhere({ [column]: { _gte: low, _lt: high, _neq: low } })).toEqual([2]);
  });

  it.each(["_gt", "_gte", "_lt", "_lte"])("refuses null for %s", async (operator) => {
    expect(await refusalOf({ [column]: { [operator]: null } })).toMatch(
      new RegExp(`^filter\\.${column}\\.${operator}: must be .+, not null$`),
    );
  });

  it.each(["_in", "_not_in", "_between"])("refuses null among the members of %s", async (operator) => {
    expect(await refusalOf({ [column]: { [operator]: [low, null] } })).toMatch(
      new RegExp(`^filter\\.${column}\\.${operator}\\[1\\]: must be .+, not null$`),
    );
  });

  it.each([
    ["_in", low, "must be a list"],
    ["_not_in", { 0: low, length: 1 }, "must be a list"],
    ["_between", [low], "must be a list of exactly two bounds"],
    ["_between", [low, middle, high], "must be a list of exactly two bounds"],
    ["_is_null", "true", "must be true or false, not text"],
    ["_is_not_null", 1, "must be true or false, not a number"],
    ["_is_null", null, "must be true or false, not null"],
  ])("refuses %s %j", async (operator, operand, problem) => {
    expect(await refusalOf({ [column]: { [operator]: operand } })).toContain(
      `filter.${column}.${operator}: ${problem}`,
    );
  });
});

describe("a boolean column", () => {
  it.each<[unknown, number[]]>([
    [{ _eq: true }, [1, 3]],
    [{ _neq: true }, [2]],
    [false, [2]],
    [{ _in: [false] }, [2]],
    [{ _in: [true, false] }, [1, 2, 3]],
    [{ _not_in: [true] }, [2]],
    [{ _nin: [] }, [1, 2, 3, 4, 5]],
    [{ _is_null: true }, [4, 5]],
    [{ _is_not_null: true }, [1, 2, 3]],
  ])("takes %j", async (operators, ids) => {
    expect(await rowsWhere({ the_boolean: operators })).toEqual(ids);
  });
});

describe("an enum list column", () => {
  it.each<[unknown, number[]]>([
    [{ _contains: "red" }, [1, 2]],
    [{ _icontains: "blue" }, [2]],
    [{ _contains: "green" }, []],
    [null, [4, 5]],
    [{ _eq: null }, [4, 5]],
    [{ _neq: null }, [1, 2, 3]],
    [{ _is_null: true }, [4, 5]],
    [{ _is_null: false }, [1, 2, 3]],
  ])("takes %j as membership or null test", async (operators, ids) => {
    expect(await rowsWhere({ the_enumList: operators })).toEqual(ids);
  });

  it("does not take a part of a member, nor another case", async () => {
    for (const near of ["re", "RED", "", "pink"]) {
      expect(await refusalOf({ the_enumList: { _contains: near } })).toMatch(
        /^filter\.the_enumList\._contains: must be one of red, green, blue, not /,
      );
    }
  });

  it("knows no equality, and says what it takes instead", async () => {
    const why = "an enum list takes _contains with one of its values, and _eq and _neq only with null";
    expect(await refusalOf({ the_enumList: { _eq: ["red"] } })).toBe(`filter.the_enumList._eq: ${why}`);
    expect(await refusalOf({ the_enumList: "red" })).toBe(`filter.the_enumList: ${why}`);
  });
});

describe("a json column", () => {
  it.each<[unknown, number[]]>([
    [null, [4, 5]],
    [{ _is_null: true }, [4, 5]],
    [{ _is_null: false }, [1, 2, 3]],
    [{ _is_not_null: true }, [1, 2, 3]],
    [{ _neq: null }, [1, 2, 3]],
  ])("takes %j", async (operators, ids) => {
    expect(await rowsWhere({ the_json: operators })).toEqual(ids);
  });

  it("is not null when its value is a list with a null in it", async () => {
    const [record] = await created(api, "samples", { the_json: [null, 1] });
    const only = { id: record.id };
    expect(await rowsWhere({ ...only, the_json: { _is_null: true } })).toEqual([]);
    expect(await rowsWhere({ ...only, the_json: { _is_not_null: true } })).toEqual([record.id]);
    await api.delete(`/samples/${record.id}`);
  });
});

describe("values that could not be read back", () => {
  it.each<[column: string, value: unknown, message: string]>([
    [
      "the_json",
      { _bsontype: "ObjectId" },
      "the_json: must be JSON of at most 50 levels, without __proto__, _bsontype or a NUL in a name, a $ref beside an $id, broken Unicode or numbers too large, not an object",
    ],
    [
      "the_json",
      { a: [{ _bsontype: "Long" }] },
      "the_json: must be JSON of at most 50 levels, without __proto__, _bsontype or a NUL in a name, a $ref beside an $id, broken Unicode or numbers too large, not an object",
    ],
    [
      "the_datetime",
      "9999-12-31T23:59:59-14:00",
      'the_datetime: must be an ISO 8601 time with its offset, in the years 0000 to 9999 of UTC, such as "2024-05-31T12:00:00Z", not "9999-12-31T23:59:59-14:00"',
    ],
  ])("%s refuses %j", async (column, value, message) => {
    const { status, body } = await api.post("/samples", { [column]: value });
    expect([status, body.error.code, body.message]).toEqual([400, "VALIDATION_ERROR", [message]]);
  });
});

describe("operators a type does not have", () => {
  const equality = ["_in", "_not_in", "_nin"];
  const order = ["_gt", "_gte", "_lt", "_lte", "_between"];
  const text = ["_starts_with", "_ends_with"];
  const search = ["_contains", "_icontains"];
  const textless = TYPES.filter((type) => !["string", "text"].includes(type));
  const refused = [
    ...textless.flatMap((type) => text.map((operator) => [type, operator] as const)),
    ...textless
      .filter((type) => type !== "enumList")
      .flatMap((type) => search.map((operator) => [type, operator] as const)),
    ...["boolean", "enumList", "json"].flatMap((type) => order.map((operator) => [type, operator] as const)),
    ...["enumList", "json"].flatMap((type) => equality.map((operator) => [type, operator] as const)),
  ];

  it.each(refused)("a %s column refuses %s and says what it takes", async (type, operator) => {
    const article = /^[aeio]/.test(type) ? "an" : "a";
    const taken = ["enumList", "json"].includes(type) ? "_eq \\(with null only\\)" : "_eq";
    expect(await refusalOf({ [`the_${type}`]: { [operator]: "x" } })).toMatch(
      new RegExp(
        `^filter\\.the_${type}\\.${operator}: ${article} ${type} column does not take ${operator}; it takes ${taken}, ${taken.replace("_eq", "_neq")}, .*_is_not_null$`,
      ),
    );
  });
});

describe("_contains, _starts_with and _ends_with", () => {
  beforeAll(async () => {
    const texts = [
      "Straße",
      "a.b",
      "axb",
      "100% (sure)",
      "CAFÉ au lait",
      "line\nbreak",
      "a\0b",
      "\\d+ [x]",
      "İi",
    ];
    await created(
      api,
      "samples",
      texts.map((text) => ({ the_text: text, the_int: 50 })),
    );
  });

  const matches = async (operator: string, needle: string): Promise<string[]> => {
    const filter = { the_int: 50, the_text: { [operator]: needle } };
    const { body } = await api.get("/samples", { filter, fields: "the_text" });
    return body.data.map((record: { the_text: string }) => record.the_text);
  };

  it.each([
    ["_contains", "TRASS", []],
    ["_contains", "traß", ["Straße"]],
    ["_contains", "a.b", ["a.b"]],
    ["_contains", "0% (S", ["100% (sure)"]],
    ["_contains", "é AU", ["CAFÉ au lait"]],
    ["_icontains", "é AU", ["CAFÉ au lait"]],
    ["_contains", "a\0B", ["a\0b"]],
    ["_contains", "\\D", ["\\d+ [x]"]],
    ["_contains", "e\nb", ["line\nbreak"]],
    ["_starts_with", "A.", ["a.b"]],
    ["_starts_with", "^a", []],
    ["_starts_with", "break", []],
    ["_starts_with", "\\d", ["\\d+ [x]"]],
    ["_ends_with", "LAIT", ["CAFÉ au lait"]],
    ["_ends_with", "line", []],
    ["_ends_with", "E\nBREAK", ["line\nbreak"]],
    ["_ends_with", "xB", ["axb"]],
    ["_ends_with", "[X]", ["\\d+ [x]"]],
  ])("%s %j: literal text in any case", async (operator, needle, found) => {
    expect(await matches(operator, needle)).toEqual(found);
  });

  it("find the empty text in every text and in no null", async () => {
    expect(await matches("_contains", "")).toHaveLength(9);
    expect(await rowsWhere({ the_text: { _starts_with: "" }, id: { _lte: 5 } })).toEqual([1, 2, 3]);
  });

  it.each([5, null, ["a"], { _eq: "a" }, true])("refuse %j", async (needle) => {
    expect(await refusalOf({ the_string: { _contains: needle } })).toMatch(
      /^filter\.the_string\._contains: must be text, not /,
    );
  });
});

describe("operands are checked by type", () => {
  it.each<[type: string, operand: unknown, problem: string]>([
    ["string", 5, "must be text, not 5"],
    ["string", ["a"], "must be text, not a list"],
    ["text", true, "must be text, not true or false"],
    ["int", "5", 'must be a whole number, not "5"'],
    ["int", 1.5, "must be a whole number, not 1.5"],
    ["int", 9_007_199_254_740_992, "must be a whole number, not a number beyond ±9007199254740991"],
    ["int", true, "must be a whole number, not true or false"],
    [
      "bigint",
      5,
      'must be a whole number as text, from "-9223372036854775808" to "9223372036854775807", not 5',
    ],
    [
      "bigint",
      "9223372036854775808",
      'must be a whole number as text, from "-9223372036854775808" to "9223372036854775807", not "9223372036854775808"',
    ],
    [
      "bigint",
      "1.0",
      'must be a whole number as text, from "-9223372036854775808" to "9223372036854775807", not "1.0"',
    ],
    ["float", "0.5", 'must be a number, not "0.5"'],
    [
      "decimal",
      19.9,
      'must be a decimal number as text with at most 34 digits and no exponent, such as "19.90", not 19.9',
    ],
    [
      "decimal",
      "1e3",
      'must be a decimal number as text with at most 34 digits and no exponent, such as "19.90", not "1e3"',
    ],
    ["boolean", "true", 'must be true or false, not "true"'],
    ["boolean", 1, "must be true or false, not 1"],
    ["date", "2023-02-29", 'must be a day such as "2024-05-31", not "2023-02-29"'],
    ["date", "2024-05-31T00:00:00Z", 'must be a day such as "2024-05-31", not "2024-05-31T00:00:00Z"'],
    [
      "datetime",
      "2024-05-31T12:00:00",
      'must be an ISO 8601 time with its offset, in the years 0000 to 9999 of UTC, such as "2024-05-31T12:00:00Z", not "2024-05-31T12:00:00"',
    ],
    [
      "datetime",
      0,
      'must be an ISO 8601 time with its offset, in the years 0000 to 9999 of UTC, such as "2024-05-31T12:00:00Z", not 0',
    ],
    ["enum", "pink", 'must be one of red, green, blue, not "pink"'],
    ["enum", "RED", 'must be one of red, green, blue, not "RED"'],
    [
      "uuid",
      "0190163d8694739baea5966c26f8ad91",
      'must be a UUID such as "0190163d-8694-739b-aea5-966c26f8ad91", not "0190163d8694739baea5966c26f8ad91"',
    ],
    ["objectId", "65a00000000000000000000", 'must be 24 hexadecimal digits, not "65a00000000000000000000"'],
    ["objectId", "65a00000000000000000000g", 'must be 24 hexadecimal digits, not "65a00000000000000000000g"'],
  ])("%s refuses %j", async (type, operand, problem) => {
    expect(await refusalOf({ [`the_${type}`]: { _eq: operand } })).toBe(`filter.the_${type}._eq: ${problem}`);
  });

  it("json is compared with null only", async () => {
    expect(await refusalOf({ the_json: 5 })).toBe(
      "filter.the_json: a json column can only be compared with null",
    );
  });

  it("a time may have any offset", async () => {
    for (const same of ["2024-02-29T12:00:00Z", "2024-02-29T14:00+02:00", "2024-02-28T22:30:00.000-13:30"]) {
      expect(await rowsWhere({ the_datetime: same })).toEqual([2]);
    }
  });

  it("hexadecimal operands may have capitals", async () => {
    expect(await rowsWhere({ the_objectId: "65A000000000000000000000" })).toEqual([2]);
    expect(await rowsWhere({ the_uuid: "0190163D-8694-739B-AEA5-966C26F8AD91" })).toEqual([2]);
  });

  it("decimals are equal by value, whatever their zeros", async () => {
    expect(await rowsWhere({ the_decimal: "009.9500" })).toEqual([2]);
  });

  it("equality is case-sensitive", async () => {
    expect(await rowsWhere({ the_string: "Ann" })).toEqual([]);
    expect(await rowsWhere({ the_string: "ann" })).toEqual([2]);
  });
});

describe("the bracket form", () => {
  const rowsOf = async (search: string): Promise<number[]> => {
    const { status, body } = await api.send("GET", `/samples?fields=id&${search}`);
    if (status !== 200) throw new Error(`answered ${status}: ${body.message}`);
    return body.data.map(({ id }: { id: number }) => id);
  };

  it.each<[string, number[]]>([
    ["filter[the_int][_eq]=0", [2]],
    ["filter[the_int][_gte]=-7&filter[the_int][_lt]=1", [1, 2]],
    ["filter[the_int][_in]=0,-7", [1, 2]],
    ["filter[the_int][_in]=", []],
    ["filter[the_int][_between]=-7,0", [1, 2]],
    ["filter[the_int][_is_null]=true&filter[id][_lte]=5", [4, 5]],
    ["filter[the_int][_is_not_null]=false&filter[id][_lte]=5", [4, 5]],
    ["filter[the_bigint]=9007199254740993", [3]],
    ["filter[the_float][_lt]=1e-2", [1]],
    ["filter[the_decimal][_eq]=9.95", [2]],
    ["filter[the_boolean]=false", [2]],
    ["filter[the_date][_between]=2024-01-01,2024-12-31", [2]],
    ["filter[the_datetime][_gt]=2024-02-29T12:00:00Z", [3]],
    ["filter[the_enum][_not_in]=red,blue", [2]],
    ["filter[the_enumList][_contains]=blue", [2]],
    ["filter[the_string][_contains]=O%C3%8B", [3]],
    ["filter[_or][0][the_int]=0&filter[_or][1][the_enum]=red", [2, 3]],
    ["filter[_not][the_int][_eq]=0&filter[id][_lte]=5", [1, 3]],
    ["filter%5Bthe_int%5D%5B_eq%5D=0", [2]],
  ])("%s coerces by type", async (search, ids) => {
    expect(await rowsOf(search)).toEqual(ids);
  });

  it.each<[string, string]>([
    ["filter[the_int]=1.5", 'filter.the_int: must be a whole number, not "1.5"'],
    ["filter[the_int]=", 'filter.the_int: must be a whole number, not ""'],
    ["filter[the_boolean]=yes", 'filter.the_boolean: must be true or false, not "yes"'],
    ["filter[the_int][_is_null]=1", "filter.the_int._is_null: must be true or false, not text"],
    ["filter[the_int][_in]=1,x", 'filter.the_int._in: must be a whole number, not "x"'],
    [
      "filter[the_int][_between]=1",
      "filter.the_int._between: must be a list of exactly two bounds, [from, to]",
    ],
    ["filter[the_int=1", 'filter: "filter[the_int" is malformed; write filter[field][_operator]=value'],
    ["filter[the_int]x=1", 'filter: "filter[the_int]x" is malformed; write filter[field][_operator]=value'],
    ["filter[]=1", 'filter: "filter[]" is malformed; write filter[field][_operator]=value'],
    ["filter[_or][1][id]=1", "filter: the members of _or are numbered [0], [1], … without gaps"],
    ["filter[the_int]=1&filter[the_int]=2", 'filter: "filter[the_int]" is given twice'],
    ["filter[the_int]=1&filter[the_int][_eq]=2", 'filter: "filter[the_int][_eq]" is given twice'],
    ["filter={}&filter[the_int]=1", "filter: is given twice, as JSON and in bracket form"],
    ["sort[x]=id", "sort[x]: only filter has a bracket form"],
    ["filter[nope]=1", 'filter.nope: unknown field "nope" on "samples"'],
  ])("%s is refused", async (search, message) => {
    const { status, body } = await api.send("GET", `/samples?${search}`);
    expect([status, body.message]).toEqual([400, message]);
  });
});
