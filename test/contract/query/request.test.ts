// Contract 4, how a query arrives: parameters of the address, the body of QUERY, and what neither may hold.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { apiOf, search } from "../../support/api.js";
import { created, type Library, startLibrary } from "./library.js";

let library: Library;
let base: string;
let authorization: string;

beforeAll(async () => {
  library = await startLibrary({ env: { QUERY_MAX_LIMIT: "5" } });
  base = `${library.stack.appUrl}/api`;
  const { body } = await apiOf(base).post("/auth/login", library.stack.admin);
  authorization = `Bearer ${body.accessToken}`;
});

afterAll(() => library.stack.stop());

interface Raw {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

/** Sends a request and gives the answer as the bytes it is. */
async function send(
  method: string,
  path: string,
  body?: string,
  headers: Record<string, string> = {},
): Promise<Raw> {
  const response = await fetch(base + path, {
    method,
    headers: { Authorization: authorization, "Content-Type": "application/json", ...headers },
    ...(body === undefined ? {} : { body }),
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

async function refusalOf(search: string): Promise<string> {
  const { status, text } = await send("GET", `/books?${search}`);
  expect(status).toBe(400);
  return JSON.parse(text).message;
}

describe("QUERY and POST with X-HTTP-Method-Override", () => {
  const QUERIES: Record<string, unknown>[] = [
    {},
    { fields: "title,author.name,reviews.stars", sort: "-_count(reviews),title", limit: 3, page: 1 },
    { filter: { author: { name: { _starts_with: "a" } } }, meta: "*", fields: "id" },
    { deep: { reviews: { fields: "stars", sort: "-stars", limit: 1 } }, fields: "id", meta: "totalCount" },
    {
      aggregate: { pages: { sum: true }, reviews: { count: true } },
      fields: "id",
      filter: { pages: { _gt: 100 } },
    },
    { filter: { title: "nobody" } },
  ];

  it.each(QUERIES)("%j answers byte for byte as GET does", async (query) => {
    const search = Object.entries(query).map(
      ([name, value]) =>
        `${name}=${encodeURIComponent(typeof value === "object" ? JSON.stringify(value) : String(value))}`,
    );
    const get = await send("GET", `/books?${search.join("&")}`);
    const body = JSON.stringify(query);
    const asQuery = await send("QUERY", "/books", body);
    const asPost = await send("POST", "/books", body, { "X-HTTP-Method-Override": "QUERY" });
    expect(get.status).toBe(200);
    expect([asQuery.status, asQuery.text]).toEqual([200, get.text]);
    expect([asPost.status, asPost.text]).toEqual([200, get.text]);
    expect(asQuery.headers.get("content-type")).toBe(get.headers.get("content-type"));
  });

  it("refuses what is as long as no address could be, in few words", async () => {
    for (const parameter of ["fields", "sort", "meta", "limit"]) {
      const { status, text } = await send(
        "QUERY",
        "/books",
        JSON.stringify({ [parameter]: "a".repeat(900_000) }),
      );
      const { message } = JSON.parse(text);
      expect([status, message]).toEqual([400, `${parameter}: is longer than 8192 characters`]);
    }
    for (const body of [{ fields: "a".repeat(8_000) }, { ["a".repeat(900_000)]: 1 }]) {
      const { status, text } = await send("QUERY", "/books", JSON.stringify(body));
      expect([status, JSON.parse(text).message.length < 300]).toEqual([400, true]);
    }
  });

  it("take numbers and lists as JSON too", async () => {
    const { text } = await send(
      "QUERY",
      "/books",
      JSON.stringify({ fields: ["id"], sort: ["-pages", "title"], limit: 2, page: 2, meta: ["totalCount"] }),
    );
    expect(JSON.parse(text)).toMatchObject({ data: [{ id: 2 }, { id: 1 }], meta: { totalCount: 6 } });
  });

  it("take a filter too long for an address", async () => {
    const members = Array.from({ length: 1_000 }, (_, at) => 9_000_000 + at);
    const { status, text } = await send(
      "QUERY",
      "/books",
      JSON.stringify({ filter: { id: { _not_in: members.slice(0, 900) } } }),
    );
    expect([status, JSON.parse(text).data.length]).toEqual([200, 5]);
  });

  it("take lists where the address has names separated by commas", async () => {
    const [ofLists, ofTexts] = await Promise.all(
      [
        { fields: ["id", "author.name"], sort: ["-pages", "title"], meta: ["totalCount"] },
        { fields: "id,author.name", sort: "-pages,title", meta: "totalCount" },
      ].map((parameters) => send("QUERY", "/books", JSON.stringify(parameters))),
    );
    expect(ofLists).toMatchObject({ status: 200, text: ofTexts?.text });
    const bare = await send("QUERY", "/books", JSON.stringify({ sort: [], meta: [] }));
    expect(JSON.parse(bare.text)).toEqual(JSON.parse((await send("QUERY", "/books", "{}")).text));
  });

  it.each<[body: string | undefined, message: string]>([
    ["[]", "body: must be a JSON object with the parameters of the query"],
    ["null", "body: must be a JSON object with the parameters of the query"],
    [undefined, "body: must be a JSON object with the parameters of the query"],
    ['{"filter":{"titel":1}}', 'filter.titel: unknown field "titel" on "books"; did you mean "title"?'],
    ['{"filter":"{}"}', 'filter: must be an object such as {"name":{"_eq":"Ann"}}, not text'],
    ['{"limit":1.5}', "limit: must be a whole number from 0"],
    ['{"limit":"5"}', "limit: must be a whole number from 0, without quotes in JSON"],
    ['{"page":"1"}', "page: must be a whole number from 1, without quotes in JSON"],
    [
      '{"deep":{"reviews":{"limit":"5"}}}',
      "deep.reviews.limit: must be a whole number from 0, without quotes in JSON",
    ],
    ['{"explain":"true"}', "explain: must be true or false, without quotes in JSON"],
    ['{"limit":null}', "limit: must be a whole number from 0"],
    ['{"limit":true}', "limit: must be a whole number from 0"],
    ['{"sort":5}', "sort: must be keys separated by commas, not a number"],
    ['{"sort":["id",5]}', "sort[1]: must be text, not a number"],
    ['{"fields":{"a":1}}', "fields: must be names separated by commas, not an object"],
    ['{"fields":[]}', "fields: names nothing; leave it out for every column"],
    ['{"sort":""}', "sort: has an empty key"],
    ['{"meta":5}', "meta: must be totalCount, filterCount or *"],
    ['{"meta":[5]}', 'meta: "5" is not known; use totalCount, filterCount or *'],
    ['{"deep":"{}"}', "deep: must be an object keyed by relation, not text"],
    ['{"limit":', "The body is not valid JSON in UTF-8."],
  ])("%s is refused", async (body, message) => {
    for (const [method, headers] of [
      ["QUERY", {}] as const,
      ["POST", { "X-HTTP-Method-Override": "QUERY" }] as const,
    ]) {
      const { status, text } = await send(method, "/books", body, headers);
      expect([status, JSON.parse(text).message]).toEqual([400, message]);
    }
  });

  it.each(["filters", "__proto__", "Limit", ""])(
    "refuse the member %j, which is no parameter",
    async (name) => {
      const { status, text } = await send("QUERY", "/books", `{"${name}":{}}`);
      expect(status).toBe(400);
      expect(JSON.parse(text).message).toMatch(
        new RegExp(`^${name}: is no parameter; use fields, filter, sort, limit, page, meta, deep, aggregate`),
      );
    },
  );

  it("refuse our parameters in the address, which would be ignored silently", async () => {
    for (const [name, problem] of [
      ["limit", "stands in the body of a QUERY, not in its address"],
      ["filter", "stands in the body of a QUERY, not in its address"],
      ["dryRun", "does not apply to this call"],
    ]) {
      const { status, text } = await send("QUERY", `/books?${name}=1`, "{}");
      expect([status, JSON.parse(text).message]).toEqual([400, `${name}: ${problem}`]);
    }
  });

  it("refuse a filter of more than 8,192 characters", async () => {
    const filter = { id: { _in: Array(900).fill(123_456_789) } };
    const { status, text } = await send("QUERY", "/books", JSON.stringify({ filter }));
    expect([status, JSON.parse(text).message]).toEqual([400, "filter: is longer than 8192 characters"]);
  });

  it.each<[parameter: string, value: string, message: string]>([
    ["meta", '{"toString":1}', "meta: must be totalCount, filterCount or *"],
    ["meta", '[{"toString":1}]', "meta: an object is not known; use totalCount, filterCount or *"],
    ["meta", "[null]", 'meta: "null" is not known; use totalCount, filterCount or *'],
    ["fields", '[{"toString":1}]', "fields[0]: must be text, not an object"],
    ["fields", "[]", "fields: names nothing; leave it out for every column"],
    ["deep", '{"author":{"fields":[]}}', "deep.author.fields: names nothing; leave it out for every column"],
    ["sort", '{"toString":1}', "sort: must be keys separated by commas, not an object"],
    ["limit", '{"toString":1}', "limit: must be a whole number from 0"],
    ["page", '[{"toString":1}]', "page: must be a whole number from 1"],
    ["explain", '{"toString":1}', "explain: must be true or false"],
    ["format", '{"toString":1}', "format: must be json, csv or ndjson"],
    ["deleted", '{"toString":1}', "deleted: must be with or only"],
  ])("refuse %s: %s", async (name, value, message) => {
    const { status, text } = await send("QUERY", "/books", `{"${name}":${value}}`);
    expect([status, JSON.parse(text).message]).toEqual([400, message]);
  });

  it("want JSON", async () => {
    const { status, text } = await send("QUERY", "/books", "limit=1", {
      "Content-Type": "application/x-www-form-urlencoded",
    });
    expect([status, JSON.parse(text).error.code]).toEqual([415, "UNSUPPORTED_MEDIA_TYPE"]);
  });

  it("are announced by OPTIONS", async () => {
    const { status, headers } = await send("OPTIONS", "/books");
    expect([status, headers.get("accept-query")]).toEqual([204, "application/json"]);
    expect(headers.get("allow")?.split(", ")).toEqual(
      expect.arrayContaining(["GET", "HEAD", "QUERY", "POST", "OPTIONS"]),
    );
  });

  it("need the same rights as GET", async () => {
    for (const method of ["GET", "QUERY"]) {
      const response = await fetch(`${base}/books`, {
        method,
        ...(method === "GET" ? {} : { body: "{}", headers: { "Content-Type": "application/json" } }),
      });
      expect(response.status).toBe(401);
      expect(await response.json()).toMatchObject({ error: { code: "UNAUTHORIZED" } });
    }
  });
});

describe("the address", () => {
  it.each([
    ["fields=id&fields=title", "fields: is given twice"],
    ["filter={}&filter={}", "filter: is given twice"],
    ["sort=id&sort=id", "sort: is given twice"],
    ["limit=1&limit=1", "limit: is given twice"],
    ["page=1&page=1", "page: is given twice"],
    ["meta=*&meta=*", "meta: is given twice"],
    ["deep={}&deep={}", "deep: is given twice"],
    ["aggregate={}&aggregate={}", "aggregate: is given twice"],
    ["limit=1&%6Cimit=1", "limit: is given twice"],
    ["limit[]=1", "limit[]: only filter has a bracket form"],
    ["limit[$gt]=0", "limit[$gt]: only filter has a bracket form"],
    ["deep[reviews][limit]=1", "deep[reviews][limit]: only filter has a bracket form"],
    ["filter=%FF%FE", "filter: is not valid percent-encoded UTF-8"],
    ["filter=%7B%22title%22%3A%22%ED%A0%80%22%7D", "filter: is not valid percent-encoded UTF-8"],
    ["filter=%", "filter: is not valid percent-encoded UTF-8"],
    ["fields=%zz", "fields: is not valid percent-encoded UTF-8"],
    ["limit=1;page=2", "limit: must be a whole number from 0"],
    [
      'filter={"createdAt":{"_gt":"2021-01-01T00:00:00+02:00"}}',
      'filter.createdAt._gt: must be an ISO 8601 time with its offset, in the years 0000 to 9999 of UTC, such as "2024-05-31T12:00:00Z", not "2021-01-01T00:00:00 02:00" (a + in an address is a space; write %2B)',
    ],
    ["limit", "limit: must be a whole number from 0"],
    [
      "filter",
      'filter: is not valid JSON; strings and names need double quotes, as in {"name":{"_eq":"Ann"}}',
    ],
    ["meta=totalCount%00", 'meta: "totalCount\0" is not known; use totalCount, filterCount or *'],
  ])("%s is refused", async (search, message) => {
    expect(await refusalOf(search)).toBe(message);
  });

  it("ignores parameters that are not ours", async () => {
    const plain = await send("GET", "/books?fields=id");
    for (const foreign of ["utm_source=x", "q=$2b", "$where=1", "_=1", "limited=1", "a=1&a=2", "x[y][]=1"]) {
      expect(await send("GET", `/books?fields=id&${foreign}`)).toMatchObject({
        status: 200,
        text: plain.text,
      });
    }
  });

  it("reads + as a space and %2B as a plus", async () => {
    const count = async (search: string) =>
      JSON.parse((await send("GET", `/books?${search}`)).text).data.length;
    expect(await count('filter={"title":{"_contains":"Zero+"}}')).toBe(1);
    expect(await count('filter={"title":{"_contains":"Zero%2B"}}')).toBe(0);
  });

  it("ignores a trailing slash and empty pairs", async () => {
    const plain = await send("GET", "/books?fields=id");
    expect((await send("GET", "/books/?&fields=id&")).text).toBe(plain.text);
  });

  it.each([
    ["GET", ""],
    ["GET", "/1"],
    ["DELETE", "/1"],
  ])("does not see a table that is not there: %s /table%s", async (method, member) => {
    for (const path of ["/bookz", "/BOOKS", "/constructor", "/__proto__"]) {
      const { status, text } = await send(method, path + member);
      expect([path, status, JSON.parse(text).error.code]).toEqual([path, 404, "NOT_FOUND"]);
    }
  });
});

describe("a query that resembles one asked before", () => {
  it("is judged by its own words", async () => {
    const of = (born: string) => `/authors?filter=${encodeURIComponent(`{"birthYear":${born}}`)}`;
    expect((await send("GET", of("null"))).status).toBe(200);
    expect((await send("GET", of("1e400"))).status).toBe(400);
    expect((await send("GET", of('"null"'))).status).toBe(400);
  });
});

describe("QUERY_MAX_LIMIT", () => {
  it("is the default where the default would be above it", async () => {
    const { status, text } = await send("GET", "/books");
    expect([status, JSON.parse(text).data.length]).toEqual([200, 5]);
  });

  it("may be reached and not passed", async () => {
    expect((await send("GET", "/books?limit=5")).status).toBe(200);
    expect(await refusalOf("limit=6")).toBe("limit: is above the maximum of 5");
    expect(await refusalOf("limit=0")).toBe("limit: 0 means all, which is more than the maximum of 5");
  });

  it("is not lifted by the folder tree, which has no limit", async () => {
    expect((await send("GET", "/svc_folder/tree")).status).toBe(200);
    expect((await send("GET", "/svc_folder?limit=0")).status).toBe(400);
  });

  it("is none for changes of many", async () => {
    const filter = encodeURIComponent('{"id":{"_is_not_null":true}}');
    const { status, text } = await send("PATCH", `/books?filter=${filter}`, "{}");
    expect([status, JSON.parse(text).meta.matched > 5]).toEqual([200, true]);
  });

  it("counts for children too", async () => {
    expect(await refusalOf(`deep=${encodeURIComponent('{"reviews":{"limit":6}}')}`)).toBe(
      "deep.reviews.limit: is above the maximum of 5",
    );
    expect((await send("GET", "/books?fields=reviews")).status).toBe(200);
  });

  it("is none for files of root admins, which are how a database is copied", async () => {
    const linesOf = async (query: Record<string, unknown>): Promise<object[]> => {
      const { status, text } = await send("GET", `/books${search({ format: "ndjson", ...query })}`);
      expect(status).toBe(200);
      return text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
    };
    const { body } = await library.list("books", { limit: 1, meta: "totalCount" });
    for (const query of [
      {},
      { limit: 0 },
      { fields: "id,reviews,tags" },
      { deep: { reviews: { limit: 6 } } },
    ])
      expect(await linesOf(query)).toHaveLength(body.meta.totalCount);
  });

  it("counts for files of everybody else, who name limits", async () => {
    const rule = { role: null, action: "read" };
    for (const table of ["books", "tags"]) await created(library.api, "svc_permission", { ...rule, table });
    const visitor = apiOf(base);
    const ask = (query: object) => visitor.get("/books", { format: "csv", fields: "id", ...query });
    const all = "0 means all, which is more than the maximum of 5";
    expect((await ask({})).body.message).toBe(`limit: ${all}`);
    expect((await ask({ fields: "id,tags", limit: 5 })).body.message).toBe(`deep.tags.limit: ${all}`);
    const deep = { tags: { limit: 5 } };
    expect((await ask({ fields: "id", deep, limit: 5 })).status).toBe(200);
  });
});
