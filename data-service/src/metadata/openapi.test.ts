// The document by itself: what it is made of, for callers and tables of all kinds.
import { describe, expect, it } from "@jest/globals";
import type { JsonObject } from "@portico/shared/json";
import { buildCatalog } from "../catalog/build-catalog.js";
import type { Catalog } from "../catalog/catalog.js";
import { systemTableNames, systemTables } from "../catalog/system-tables.js";
import { Rights } from "../permission/rights.js";
import type { Rule } from "../permission/rule.js";
import { ownTables, tablesFor } from "../permission/visible-tables.js";
import type { SignedIn } from "../principal.js";
import { catalogOf } from "../query/library-fixture.js";
import { openApiOf } from "./openapi.js";

const SESSION = { kind: "session", id: "", origin: null } as const;
const READ_ONLY = { kind: "apiToken", id: "", readOnly: true } as const;
const ROOT: SignedIn = { kind: "user", userId: "", roleId: null, isRootAdmin: true, by: SESSION };

/** Tables of one's own beside the system's. */
function catalogWith(definitions: readonly JsonObject[]): Catalog {
  const system = buildCatalog(1, [], systemTables("svc_"));
  return { ...system, tables: new Map([...system.tables, ...catalogOf(definitions).tables]) };
}

interface Asked {
  readonly principal?: SignedIn;
  readonly rules?: readonly Rule[];
  readonly maxLimit?: number;
}

/** The document as a client reads it. */
function documentOf(
  definitions: readonly JsonObject[],
  { principal = ROOT, rules = [], maxLimit }: Asked = {},
) {
  const catalog = catalogWith(definitions);
  const names = systemTableNames("svc_");
  const rights = new Rights({
    principal,
    roleId: null,
    rules,
    user: null,
    now: new Date(0),
    tables: names,
  });
  const tables = tablesFor(principal, rights, catalog);
  const about = {
    principal,
    catalog,
    tables,
    own: ownTables(principal, rights, catalog, names),
    appUrl: "http://localhost",
    systemTablePrefix: "svc_",
    maxLimit,
  };
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into parts of every shape
  const document: any = JSON.parse(JSON.stringify(openApiOf(about)));
  return document;
}

function idsIn(document: object): string[] {
  return [...JSON.stringify(document).matchAll(/"operationId":"([^"]+)"/g)].map(([, id = ""]) => id);
}

/** As generators spell a name: without marks, whatever the case. */
const plain = (name: string): string => name.replaceAll(/[^a-zA-Z0-9]/g, "").toLowerCase();
const repeated = (names: readonly string[]): string[] => {
  const spelled = names.map(plain);
  return names.filter((name, at) => spelled.indexOf(plain(name)) !== at);
};

describe("names of the document", () => {
  const NAMES = [
    ...["sessions", "permissions", "api_tokens", "api_token", "asset", "providers", "oauth_accounts"],
    ...[
      "posts",
      "many_posts",
      "posts_create",
      "posts_comments",
      "posts_post",
      "bymethod_posts",
      "posts_bymethod",
    ],
    ...["error", "meta", "column_definition", "operators_int", "new_column"],
  ];
  const DEFINITIONS = [
    ...NAMES.map((name) => ({ name, changes: true, history: true, softDelete: true })),
    {
      name: "comments",
      relations: [{ name: "post", type: "many-to-one", table: "posts", inverse: "comments" }],
    },
    { name: "comments_post_nested" },
  ];
  const document = documentOf(DEFINITIONS);
  const schemas = Object.keys(document.components.schemas);
  const ids = idsIn(document);

  it("are different in every spelling, whatever the tables are called", () => {
    expect(ids).toEqual(expect.arrayContaining(["getSessions", "list_sessions", "changeMany_posts"]));
    expect(repeated(ids)).toEqual([]);
    expect(schemas).toEqual(expect.arrayContaining(["Error", "error.record", "comments.post.nested"]));
    expect(repeated(schemas)).toEqual([]);
  });

  it("of bodies inside others are different where tables and links are called alike", () => {
    const to = (name: string, inverse: string): JsonObject => ({
      name,
      type: "many-to-one",
      table: "hubs",
      inverse,
    });
    const alike = documentOf([
      { name: "hubs" },
      { name: "post", relations: [to("a_b", "first"), to("aB", "second")] },
      { name: "post_a", columns: [{ name: "text", type: "text" }], relations: [to("b", "third")] },
    ]).components.schemas;
    const bodies = Object.keys(alike).filter((name) => name.startsWith("post") && /nested\d*$/.test(name));
    expect([bodies.length, repeated(Object.keys(alike))]).toEqual([3, []]);
    const within = (link: string): string[] => {
      const [, , body] = alike["hubs.create"].properties[link].items.anyOf;
      return Object.keys(alike[body.$ref.split("/").at(-1)].properties).slice(0, 1);
    };
    expect(["first", "second", "third"].map(within)).toEqual([["aB"], ["a_b"], ["text"]]);
  });

  it("of fixed calls begin with no verb of a table's, of which none begins with another", () => {
    const reading = idsIn(documentOf(DEFINITIONS, { principal: { ...ROOT, by: READ_ONLY } }));
    const ofTables = [...ids, ...reading].filter((id) => id.includes("_"));
    const verbs = [...new Set(ofTables.map((id) => plain(id.split("_", 1)[0] ?? "")))];
    expect(verbs).toEqual(expect.arrayContaining(["list", "query", "changemany", "update", "tree", "undo"]));
    const fixed = ids.filter((id) => !id.includes("_")).map(plain);
    const begun = [...fixed, ...verbs].filter((id) =>
      verbs.some((verb) => id !== verb && id.startsWith(verb)),
    );
    expect(begun).toEqual([]);
  });

  it("of fixed schemas end in no kind of a table's, of which none ends in another", () => {
    const isOfTable = (name: string): boolean => /^[a-z]/.test(name);
    const kinds = [...new Set(schemas.filter(isOfTable).map((name) => name.split(".").at(-1) ?? ""))];
    expect(kinds).toEqual(expect.arrayContaining(["record", "create", "aggregate", "nested"]));
    const fixed = schemas.filter((name) => !isOfTable(name)).map(plain);
    const ended = [...fixed, ...kinds].filter((name) =>
      kinds.some((kind) => name !== kind && name.endsWith(kind)),
    );
    expect(ended).toEqual([]);
  });
});

describe("limits", () => {
  const BOOKS = [
    { name: "books" },
    { name: "pages", relations: [{ name: "book", type: "many-to-one", table: "books", inverse: "pages" }] },
  ];
  const limitsOf = (maxLimit?: number): unknown[] => {
    const { parameters, schemas } = documentOf(BOOKS, maxLimit === undefined ? {} : { maxLimit }).components;
    const { limit: ofQuery } = schemas["books.query"].properties;
    const { limit: ofDeep } = schemas["books.deep"].properties.pages.properties;
    return [{ description: parameters.limit.description, ...parameters.limit.schema }, ofQuery, ofDeep];
  };

  it("have all records at 0 where there is no maximum", () => {
    const any = { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
    const own = { ...any, description: "10 where none is given; 0 = all." };
    expect(limitsOf()).toEqual([{ ...any, default: 10, description: "How many; 0 = all." }, own, own]);
  });

  it.each([
    [5, 5],
    [50, 10],
  ])("keep to a maximum of %i, and are %i where none is given", (maxLimit, standard) => {
    const own = {
      type: "integer",
      minimum: 1,
      maximum: maxLimit,
      description: `${standard} where none is given.`,
    };
    expect(limitsOf(maxLimit)).toEqual([
      { type: "integer", minimum: 1, maximum: maxLimit, default: standard, description: "How many." },
      own,
      own,
    ]);
  });
});

describe("the document of a read-only API token", () => {
  const document = documentOf([{ name: "notes", softDelete: true }], {
    principal: { ...ROOT, by: READ_ONLY },
  });

  it("has the calls that end a session, which rest on no right of the token", () => {
    expect(idsIn(document)).toEqual(expect.arrayContaining(["logout", "endTokens"]));
  });

  it("has no call that the token can't be used for", () => {
    const methods = Object.entries<object>(document.paths)
      .filter(([path]) => path.startsWith("/notes"))
      .map(([path, item]) => [path, Object.keys(item)]);
    expect(methods).toEqual([
      ["/notes", ["get", "post", "x-query"]],
      ["/notes/{id}", ["get"]],
    ]);
    expect(idsIn(document)).toContain("query_notes");
  });

  it("has the deleted records that its user could delete", () => {
    const isNamed = (part: object): boolean => JSON.stringify(part).includes("/deleted");
    expect(["/notes", "/notes/{id}"].map((path) => isNamed(document.paths[path].get))).toEqual([true, true]);
    expect(document.components.schemas["notes.query"].properties).toHaveProperty("deleted");
  });
});

describe("a file's content", () => {
  const typesFor = (fields: string): string[] => {
    const rules: Rule[] = (["read", "update"] as const).map((action) => ({
      id: action,
      roleId: null,
      table: "svc_file",
      action,
      filter: null,
      fields: action === "read" ? null : fields,
      presets: null,
      check: null,
    }));
    const principal = { ...ROOT, isRootAdmin: false };
    const { patch } = documentOf([], { principal, rules }).paths["/svc_file/{id}"];
    return Object.keys(patch.requestBody.content);
  };

  it("can be replaced by whoever may write its name, and by nobody else", () => {
    expect([typesFor("filename,title"), typesFor("title")]).toEqual([
      ["application/json", "multipart/form-data"],
      ["application/json"],
    ]);
  });
});

describe("the example of a change", () => {
  it("has no link, for which records there are is not known", () => {
    const { paths } = documentOf([
      { name: "desks" },
      {
        name: "articles",
        columns: [{ name: "title", type: "string" }],
        relations: [{ name: "desk", type: "many-to-one", table: "desks", required: true }],
      },
    ]);
    const exampleOf = (path: string, method: string): string[] =>
      Object.keys(paths[path][method].requestBody.content["application/json"].example);
    expect(exampleOf("/articles", "post")).toEqual(["title", "desk"]);
    expect(exampleOf("/articles/{id}", "patch")).toEqual(["title"]);
  });
});

describe("the body of a change of a rule", () => {
  it("links a role and brings none along, which a new rule may", () => {
    const { schemas } = documentOf([]).components;
    const formsOf = (write: string): string[] =>
      schemas[`svc_permission.${write}`].properties.role.anyOf.map(
        ({ $ref, type }: { $ref?: string; type?: string }) => $ref ?? type,
      );
    expect(formsOf("create")).toEqual(["string", "object", "#/components/schemas/svc_role.create", "null"]);
    expect(formsOf("update")).toEqual(["string", "object", "null"]);
  });
});
