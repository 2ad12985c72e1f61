// What a client wrote -> parameters; which are no parameters, twice, or too large.
import { describe, expect, it } from "@jest/globals";
import { AppError } from "@portico/shared/app-error";
import { type OwnName, PARAMETERS } from "@portico/shared/own-parameters";
import fc from "fast-check";
import { json, refusalOf } from "./library-fixture.js";
import { parametersOfBody, readCall, readParameters } from "./parameters.js";

describe("parameters of an address", () => {
  it.each<[search: string, parameters: object]>([
    ["", { filterFromText: false }],
    ["&&", { filterFromText: false }],
    ["fields=id,title&limit=5", { fields: "id,title", limit: 5, filterFromText: false }],
    ["filter=%7B%22a%22%3A1%7D", { filter: { a: 1 }, filterFromText: false }],
    ['filter={"a":"x+y%2Bz"}', { filter: { a: "x y+z" }, filterFromText: false }],
    ["deep={}&aggregate={}", { deep: {}, aggregate: {}, filterFromText: false }],
    ["filter[a][_eq]=1&sort=-a", { filter: { a: { _eq: "1" } }, sort: "-a", filterFromText: true }],
    ["filter%5Ba%5D=1", { filter: { a: "1" }, filterFromText: true }],
    [
      "utm=1&utm=2&x[y]=1&filtered=x&$where=1&_=1",
      { filterFromText: false, others: ["utm", "utm", "x", "filtered", "$where", "_"] },
    ],
  ])("%s", (search, parameters) => {
    expect(readParameters(search)).toEqual(parameters);
  });

  it.each<[search: string, message: string]>([
    ["limit=1&limit=1", "limit: is given twice"],
    ["limit=1&l%69mit=1", "limit: is given twice"],
    ["filter={}&filter[a]=1", "filter: is given twice, as JSON and in bracket form"],
    [
      'filter={"title":{"_eq":"a"},"title":{"_is_null":true}}',
      "filter.title: is given twice in one object; only one would count",
    ],
    ['deep={"a":{"limit":1,"limit":2}}', "deep.a.limit: is given twice in one object; only one would count"],
    ["limit[$gt]=0", "limit[$gt]: only filter has a bracket form"],
    ["filter=%FF", "filter: is not valid percent-encoded UTF-8"],
    ["filter=%C0%80", "filter: is not valid percent-encoded UTF-8"],
    ["%E0%A4=1", "%E0%A4: is not valid percent-encoded UTF-8"],
    [
      "filter={",
      'filter: is not valid JSON; strings and names need double quotes, as in {"name":{"_eq":"Ann"}}',
    ],
    ["deep=", 'deep: is not valid JSON; strings and names need double quotes, as in {"name":{"_eq":"Ann"}}'],
    [`filter=${"[".repeat(101)}${"]".repeat(101)}`, "filter: nests deeper than 100 levels"],
    [`filter="${"x".repeat(8_191)}"`, "filter: is longer than 8192 characters"],
    [`deep="${"x".repeat(8_191)}"`, "deep: is longer than 8192 characters"],
    [`filter[a]=${"x".repeat(8_192)}`, "filter: is longer than 8192 characters"],
  ])("refuses %.60s", (search, message) => {
    expect(refusalOf(() => readParameters(search))).toBe(message);
  });

  it("counts characters as people do", () => {
    const longest = `"${"😀".repeat(8_190)}"`;
    expect(readParameters(`filter=${longest}`).filter).toBe(JSON.parse(longest));
    expect(readParameters(`filter[a]=${"😀".repeat(8_183)}`).filter).toEqual({ a: "😀".repeat(8_183) });
    expect(refusalOf(() => readParameters(`filter[a]=${"😀".repeat(8_184)}`))).toMatch(/is longer than/);
  });

  it("refuses ours where they do not apply", () => {
    expect(readParameters("fields=id", ["fields"])).toEqual({ fields: "id", filterFromText: false });
    expect(refusalOf(() => readParameters("limit=1", ["fields"]))).toBe("limit: does not apply to this call");
    expect(refusalOf(() => readParameters("filter[a]=1", ["fields"]))).toBe(
      "filter: does not apply to this call",
    );
  });

  it.each<[search: string, own: readonly OwnName[], message: string]>([
    ["dryRun=true", [], "dryRun: does not apply to this call"],
    ["recursive=false", ["permanent"], "recursive: does not apply to this call"],
    ["flat[x]=true", [], "flat: does not apply to this call"],
    ["confirm=x", ["from"], "confirm: does not apply to this call"],
    ["dryRun=true&dryRun=true", ["dryRun"], "dryRun: is given twice"],
    ["from=1&from=2", ["from"], "from: is given twice"],
    ["dryRun=yes", ["dryRun"], "dryRun: must be true or false"],
    ["dryRun=", ["dryRun"], "dryRun: must be true or false"],
    ["dryRun[]=true", ["dryRun"], "dryRun[]: only filter has a bracket form"],
  ])("refuses %s where %j applies", (search, own, message) => {
    expect(refusalOf(() => readCall(search, [], own))).toBe(message);
  });

  it.each<[search: string, name: string, meant: string]>([
    ["dryrun=true", "dryrun", "dryRun"],
    ["dry_run=true", "dry_run", "dryRun"],
    ["Dry-Run", "Dry-Run", "dryRun"],
    ["dryRuns=true", "dryRuns", "dryRun"],
    ["Filter={}", "Filter", "filter"],
    ["filters[a]=1", "filters", "filter"],
    ["field=id", "field", "fields"],
    ["_limit=1", "_limit", "limit"],
    ["%20dryRun=true", " dryRun", "dryRun"],
    ["dryRun%09=true", "dryRun\t", "dryRun"],
    ["dryRun%00=true", "dryRun\0", "dryRun"],
    ["dry+run=true", "dry run", "dryRun"],
    ["dryRun%E2%80%8B=true", "dryRun\u200b", "dryRun"],
    ["amp;dryRun=true", "amp;dryRun", "dryRun"],
    ["amp;filter[a]=1", "amp;filter", "filter"],
    ["?dryRun=true", "?dryRun", "dryRun"],
    ["dry.run=true", "dry.run", "dryRun"],
    ["filter.age=1", "filter.age", "filter"],
    ["filter:age=1", "filter:age", "filter"],
    ["filters.age[_eq]=1", "filters.age", "filter"],
    ["deep.books.limit=1", "deep.books.limit", "deep"],
    ["sort.=name", "sort.", "sort"],
    ["limit [a]=1", "limit ", "limit"],
    ["p%41ge=1", "pAge", "page"],
    ["search=a", "search", "filter"],
    ["where[a]=1", "where", "filter"],
    ["select=id", "select", "fields"],
    ["populate=author", "populate", "fields"],
    ["expand=author", "expand", "fields"],
    ["include=author", "include", "fields"],
    ["order=-title", "order", "sort"],
    ["order_by=-title", "order_by", "sort"],
    ["sortBy=title", "sortBy", "sort"],
    ["keys=title", "keys", "fields"],
    ["pageSize=3", "pageSize", "limit"],
    ["pagination[page]=2", "pagination", "page"],
    ["or=(n.eq.5,n.eq.6)", "or", "filter"],
    ["and=(n.gt.5,n.lt.6)", "and", "filter"],
    ["not.or=(n.eq.5,n.eq.6)", "not.or", "filter"],
    ["per_page=20", "per_page", "limit"],
    ["offset=20", "offset", "page"],
    ["skip=20", "skip", "page"],
  ])(
    "refuses %s, which is one of ours misspelt or by another name, wherever it would apply",
    (search, name, meant) => {
      for (const allowed of [[], PARAMETERS])
        expect(refusalOf(() => readCall(search, allowed, ["dryRun"]))).toBe(
          `${name}: is no parameter; did you mean "${meant}"${meant === "page" ? ', which counts pages of "limit" from 1' : ""}?`,
        );
    },
  );

  it.each(["groupBy", "group_by", "distinct"])("refuses %s, for which there is nothing here", (name) => {
    expect(refusalOf(() => readParameters(`${name}[]=status`))).toBe(
      `${name}: is no parameter; there are no groups, and "aggregate" is over all that "filter" matches`,
    );
  });

  it.each([
    "fieldss",
    "key",
    "ordering",
    "filtering",
    "deletedAt",
    "sort2",
    "from to",
    "s",
    "",
    "-_",
    ".",
    ".filter.age",
    "my.filter",
    "amp;",
    "amp;lang",
    "?",
  ])("passes %j over, which is not ours by any spelling", (name) => {
    expect(readParameters(`${name}=1`)).toEqual({ filterFromText: false, others: [name] });
    expect(readParameters(`${name}=1`, ["fields"])).toEqual({ filterFromText: false });
  });

  it("takes switches, which are off unless they are named, and words", () => {
    const { parameters, isOn, textOf } = readCall(
      "dryRun=true&flat=false&from=7&other=x",
      [],
      ["dryRun", "flat", "permanent", "from", "confirm"],
    );
    expect(parameters).toEqual({ filterFromText: false });
    expect([isOn("dryRun"), isOn("flat"), isOn("permanent")]).toEqual([true, false, false]);
    expect([textOf("from"), textOf("confirm")]).toEqual(["7", undefined]);
  });

  it("answers any text with parameters or a refusal", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "filter",
        "fields",
        "=",
        "&",
        "[",
        "]",
        "%",
        "{",
        '"',
        "+",
        "%5B",
        "_eq",
        "limit",
        "__proto__",
      ),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        try {
          readParameters(pieces.join(""));
        } catch (error) {
          expect(error).toBeInstanceOf(AppError);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("parameters of a QUERY body", () => {
  it("takes them as JSON", () => {
    const body = { filter: { a: 1 }, sort: ["a"], limit: 5, meta: "*" };
    expect(parametersOfBody(body)).toEqual({ ...body, filterFromText: false });
  });

  it("counts their characters as people do", () => {
    const filter = "😀".repeat(8_190);
    expect(parametersOfBody({ filter })).toEqual({ filter, filterFromText: false });
    expect(refusalOf(() => parametersOfBody({ filter: `${filter}😀` }))).toMatch(/is longer than 8192/);
  });

  it.each<[body: string, message: RegExp]>([
    ["[]", /^body: must be a JSON object with the parameters of the query$/],
    ["null", /^body: must be a JSON object with the parameters of the query$/],
    ['{"filters":{}}', /^filters: is no parameter; use fields, filter, sort, /],
    ['{"__proto__":{}}', /^__proto__: is no parameter; /],
    ['{"filterFromText":true}', /^filterFromText: is no parameter; /],
    [`{"filter":"${"x".repeat(8_191)}"}`, /^filter: is longer than 8192 characters$/],
    [`{"fields":"${"a.".repeat(400_000)}a"}`, /^fields: is longer than 8192 characters$/],
    [`{"sort":["${"x".repeat(8_191)}"]}`, /^sort: is longer than 8192 characters$/],
    [`{"meta":${JSON.stringify(Array(800).fill("totalCount"))}}`, /^meta: is longer than 8192 characters$/],
    [`{"${"x".repeat(8_192)}":1}`, /^x{64}: is no parameter; /],
  ])("refuses %.40s", (body, message) => {
    expect(refusalOf(() => parametersOfBody(json(body)))).toMatch(message);
  });
});
