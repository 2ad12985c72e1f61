// Profiles of collections -> tables: names, types and relations.
import { describe, expect, it } from "@jest/globals";
import type { JsonObject } from "@portico/shared/json";
import { Binary, Long, UUID } from "bson";
import fc from "fast-check";
import { buildCatalog } from "../build-catalog.js";
import { checkDefinition } from "../check-definition.js";
import { memberNameProblem, tableNameProblem } from "../names.js";
import { guessColumn } from "./infer-columns.js";
import { type LinkAnswer, linkOf, linkQuestions } from "./infer-links.js";
import { hintsAt, memberNameFor, relationNameFor, tableNameFor } from "./infer-names.js";
import { idTypeOf, inferTables } from "./infer-tables.js";
import type { CollectionProfile, FieldProfile, Seen } from "./profile.js";

const NONE: ReadonlySet<string> = new Set();

const seen = (type: string, more: Partial<Seen> = {}): Seen => ({ type, count: 20, ...more });
const TEXT = seen("string", { shortest: 3, longest: 9 });
const OBJECT_ID = seen("objectId");
const WHOLE = seen("int", { least: 1, greatest: 9 });
const UUIDS = seen("binData", { least: new UUID(new Uint8Array(16)), greatest: new UUID() });
const BYTES = seen("binData", { least: new Binary(new Uint8Array(16)), greatest: new UUID() });
const BIG = seen("long", { least: 1, greatest: Long.MAX_VALUE });

const WHOLE_DOUBLES = seen("double", { fractions: 0, least: 1, greatest: 9 });
const FRACTIONS = seen("double", { fractions: 1, least: 0.1, greatest: 19.99 });
const GREAT_DOUBLES = seen("double", { fractions: 0, least: 1, greatest: 2 ** 60 });

const field = (name: string, values: Seen[], members: Seen[] = [], words?: string[]): FieldProfile => ({
  name,
  values,
  members,
  ...(words === undefined ? {} : { words }),
});
const collection = (name: string, more: Partial<CollectionProfile> = {}): CollectionProfile => ({
  name,
  documents: 20,
  complete: true,
  fields: [],
  ids: [OBJECT_ID],
  uniques: [],
  indexes: 1,
  ...more,
});
const infer = (profiles: CollectionProfile[], answers: LinkAnswer[] = []) =>
  inferTables(profiles, answers, { systemPrefix: "svc_", served: [] });

/** As programs and people choose them, up to beyond the length that tables and members may have. */
const likelyName = fc.string({ unit: fc.constantFrom(..."abcXYZ019_-. éß日"), maxLength: 80, size: "max" });

describe("names", () => {
  it.each([
    ["blogPosts", "blog_posts"],
    ["BlogPosts", "blog_posts"],
    ["user-profiles", "user_profiles"],
    ["app.HTTPLogs", "app_http_logs"],
    ["2024", "t_2024"],
    ["docs", "t_docs"],
    ["svc_things", "t_svc_things"],
    ["_User", "user"],
    ["日本", "t"],
  ])("the collection %s is the table %s", (name, table) => {
    expect(tableNameFor(name, "svc_", NONE)).toBe(table);
  });

  it("neither a number after a name nor a letter before it makes a system table of it", () => {
    expect(tableNameFor("svc", "svc_", new Set(["svc"]))).toBe("t_svc");
    expect(tableNameFor("2024", "t_", NONE)).toBe("x_t_2024");
  });

  it.each([
    ["firstName", "firstName"],
    ["first name", "first_name"],
    ["_p_author", "p_author"],
    ["größe", "gro_e"],
    ["2fa", "f_2fa"],
    ["id", "id_field"],
    ["createdAt", "createdAt_field"],
    ["constructor", "constructor_field"],
  ])("the field %s is the column %s", (name, column) => {
    expect(memberNameFor(name, NONE)).toBe(column);
  });

  it.each([
    ["authorId", false, "author"],
    ["author_id", false, "author"],
    ["authorID", false, "author"],
    ["author", false, "author"],
    ["tagIds", true, "tags"],
    ["category_ids", true, "categories"],
    ["tags", true, "tags"],
    ["relatedIds", false, "related"],
    ["_id2", false, "id2"],
  ])("the link %s is the relation %s", (name, isPlural, relation) => {
    expect(relationNameFor(name, isPlural, NONE)).toBe(relation);
  });

  it("a relation takes the name of its field where the shorter one is a column's", () => {
    expect(relationNameFor("authorId", false, new Set(["author"]))).toBe("authorId");
  });

  it("every collection and every field gets a name that is allowed, and none twice", () => {
    const name = fc.oneof(likelyName, fc.string({ unit: "binary" }));
    // Some that differ only after their longest part.
    const start = fc.constantFrom("", "svc_", "docs");
    const alike = fc
      .tuple(start, likelyName, fc.array(name, { maxLength: 5 }))
      .map(([first, middle, ends]) => ends.map((end) => first + middle + end));
    const names = fc.oneof(fc.array(name, { maxLength: 6 }), alike);
    fc.assert(
      fc.property(names, fc.constantFrom("svc_", "t", "a_"), (wishes, systemPrefix) => {
        const [tables, members] = [new Set<string>(), new Set<string>()];
        for (const wish of wishes) {
          tables.add(tableNameFor(wish, systemPrefix, tables));
          members.add(memberNameFor(wish, members));
        }
        expect([tables.size, members.size]).toEqual([wishes.length, wishes.length]);
        expect([...tables].map((each) => tableNameProblem(each, systemPrefix)).filter(Boolean)).toEqual([]);
        expect([...members].map(memberNameProblem).filter(Boolean)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ["authorId", "authors", true],
    ["author_id", "author", true],
    ["category", "categories", true],
    ["mainAddress", "addresses", true],
    ["boxIds", "boxes", true],
    ["age", "authors", false],
    ["status", "articles", false],
  ])("%s speaks of %s: %s", (name, target, expected) => {
    expect(hintsAt(name, target, false)).toBe(expected);
  });

  it("a parent is one of the same collection", () => {
    expect([hintsAt("parentId", "categories", true), hintsAt("parentId", "categories", false)]).toEqual([
      true,
      false,
    ]);
  });
});

describe("the column for what was seen in a field", () => {
  it.each<[string, Seen[], string]>([
    ["texts", [TEXT], "string"],
    ["long texts", [seen("string", { longest: 256 })], "text"],
    ["ints", [WHOLE], "int"],
    ["longs that JSON holds", [seen("long", { least: 1, greatest: 2 ** 40 })], "int"],
    ["longs that it does not", [BIG], "bigint"],
    ["ints and longs that it does not", [WHOLE, BIG], "bigint"],
    ["doubles", [seen("double")], "float"],
    ["ints and doubles", [WHOLE, seen("double")], "float"],
    ["great longs and whole doubles", [BIG, WHOLE_DOUBLES], "decimal"],
    ["decimals and ints", [seen("decimal"), WHOLE], "decimal"],
    ["decimals and whole doubles", [seen("decimal"), WHOLE_DOUBLES], "decimal"],
    ["decimals and doubles with fractions", [seen("decimal"), FRACTIONS], "json"],
    ["decimals and doubles greater than JSON holds whole numbers", [seen("decimal"), GREAT_DOUBLES], "json"],
    ["great longs and doubles with fractions", [BIG, FRACTIONS], "json"],
    ["ints and doubles with fractions", [WHOLE, FRACTIONS], "float"],
    ["booleans", [seen("bool")], "boolean"],
    ["dates", [seen("date")], "datetime"],
    ["ObjectIds", [OBJECT_ID], "objectId"],
    ["UUIDs", [UUIDS], "uuid"],
    ["objects", [seen("object")], "json"],
    ["nothing", [], "json"],
    ["numbers and texts", [WHOLE, TEXT], "json"],
  ])("%s", (_case, values, type) => {
    expect(guessColumn(field("f", values), true).type).toBe(type);
  });

  it("says where it is not obvious", () => {
    expect(guessColumn(field("f", [WHOLE, TEXT]), true).note).toBe("numbers and texts, served as json");
    expect(guessColumn(field("f", []), true).note).toBe("only nulls, served as json");
    expect(guessColumn(field("f", [seen("decimal"), FRACTIONS]), true).note).toBe(
      "doubles among decimals or great whole numbers, served as json; once all are converted to Decimal128, a decimal column shows them",
    );
  });

  it.each([
    ["bytes, of which only some are UUIDs", BYTES],
    ["what JSON can only show", seen("timestamp")],
  ])("%s: json that nobody writes back", (_case, values) => {
    expect(guessColumn(field("f", [values]), true)).toMatchObject({ type: "json", readOnly: true });
  });

  it("few texts in lists that come often are choices, if all documents were seen", () => {
    const roles = field("roles", [seen("array")], [TEXT], ["admin", "editor"]);
    expect(guessColumn(roles, true)).toMatchObject({ type: "enumList", values: ["admin", "editor"] });
    expect(guessColumn(roles, false)).toEqual({ type: "json" });
    const rare = { ...roles, members: [seen("string", { count: 9 })] };
    expect(guessColumn(rare, true)).toEqual({ type: "json" });
    expect(guessColumn({ ...roles, words: ["", "editor"] }, true)).toEqual({ type: "json" });
  });
});

describe("ids", () => {
  it.each<[string, Seen[], string]>([
    ["none", [], "objectId"],
    ["ObjectIds", [OBJECT_ID], "objectId"],
    ["UUIDs", [UUIDS], "uuid"],
    ["texts", [TEXT], "string"],
    ["ints", [WHOLE], "int"],
    ["whole doubles", [seen("double", { fractions: 0, least: 1, greatest: 2 })], "int"],
    ["doubles", [seen("double", { fractions: 1, least: 1, greatest: 2 })], "mixed"],
    ["longs that JSON does not hold", [BIG], "mixed"],
    ["several kinds", [OBJECT_ID, TEXT], "mixed"],
    ["objects", [seen("object")], "mixed"],
  ])("%s", (_case, ids, type) => {
    expect(idTypeOf(ids)).toBe(type);
  });
});

describe("links", () => {
  const authors = collection("authors");
  const tags = collection("tags", { ids: [TEXT] });
  const withField = (profile: FieldProfile) => collection("posts", { fields: [profile] });
  const asked = (profile: FieldProfile) =>
    linkQuestions([withField(profile), authors, tags], []).map(({ target }) => target);

  it.each<[string, FieldProfile, string[]]>([
    ["ObjectIds, whatever the field's name", field("by", [OBJECT_ID]), ["posts", "authors"]],
    ["lists of ObjectIds", field("by", [seen("array")], [OBJECT_ID]), ["posts", "authors"]],
    ["texts whose field has the collection's name", field("tag", [TEXT]), ["tags"]],
    ["texts with another name", field("title", [TEXT]), []],
    ["texts that are drawn ids", field("by", [seen("string", { shortest: 20, longest: 20 })]), ["tags"]],
    ["numbers where ids are none", field("author", [WHOLE]), []],
    ["ObjectIds and texts", field("author", [OBJECT_ID, TEXT]), []],
    ["lists with null in them", field("by", [seen("array")], [OBJECT_ID, seen("null")]), []],
    ["one or a list", field("by", [OBJECT_ID, seen("array")], [OBJECT_ID]), []],
    ["fields that queries can't speak of", field("$by", [OBJECT_ID]), []],
  ])("asks for %s", (_case, profile, targets) => {
    expect(asked(profile)).toEqual(targets);
  });

  it("asks whether fields lead to what is served already, and nothing about the fields there", () => {
    const served = [{ ...authors, fields: [field("by", [OBJECT_ID])] }];
    const questions = linkQuestions([withField(field("by", [OBJECT_ID]))], served);
    expect(questions.map(({ collection, target }) => [collection, target])).toEqual([
      ["posts", "posts"],
      ["posts", "authors"],
    ]);
  });

  const answer = (target: string, found: number, all = 10): LinkAnswer => ({
    collection: "posts",
    field: "authorId",
    target,
    found,
    asked: all,
  });
  const link = (...answers: LinkAnswer[]) => linkOf("posts", field("authorId", [OBJECT_ID]), answers);

  it("leads where most of the values are found", () => {
    expect(link(answer("authors", 9), answer("tags", 0))).toMatchObject({ target: "authors", lost: 1 });
    expect(link(answer("authors", 4))).toBeUndefined();
    expect(link()).toBeUndefined();
  });

  it("does not lead to one of several collections", () => {
    expect(link(answer("authors", 6), answer("tags", 4))).toBe("several");
  });

  it("the name decides between collections with the same ids", () => {
    expect(link(answer("profiles", 10), answer("authors", 10))).toMatchObject({ target: "authors" });
    expect(link(answer("profiles", 10), answer("accounts", 10))).toBe("several");
  });
});

describe("tables", () => {
  const table = (profile: CollectionProfile): JsonObject => infer([profile]).tables[0] ?? {};

  it("requires only what every document has, when all were seen and they are not a handful", () => {
    const fields = [field("a", [TEXT]), field("b", [seen("string", { count: 19 })])];
    const required = (more: Partial<CollectionProfile>) =>
      JSON.stringify(table(collection("things", { fields, ...more })).columns).match(/required/g)?.length ??
      0;
    expect([required({}), required({ complete: false })]).toEqual([1, 0]);
    const few = [field("a", [seen("string", { count: 3 })])];
    expect(required({ fields: few, documents: 3 })).toBe(0);
  });

  it("takes times where they are, and puts them elsewhere where the name means something else", () => {
    const storage = (...fields: FieldProfile[]) => table(collection("things", { fields })).storage;
    expect(storage(field("created_at", [seen("date")]), field("updatedAt", [seen("date")]))).toEqual({
      collection: "things",
      createdAt: "created_at",
    });
    expect(storage(field("createdAt", [TEXT]))).toEqual({
      collection: "things",
      createdAt: "portico_createdAt",
    });
    expect(storage(field("updated_at", []))).toEqual({ collection: "things", updatedAt: "updated_at" });
  });

  it("takes over unique indexes of members that can be unique", () => {
    const fields = [
      field("email", [TEXT]),
      field("a", [WHOLE]),
      field("b", [WHOLE]),
      field("c", [seen("object")]),
    ];
    const uniques = [["email"], ["a", "b"], ["a", "c"], ["c"], ["gone"]];
    const made = table(collection("things", { fields, uniques }));
    expect(made.uniques).toEqual([["a", "b"]]);
    expect(JSON.stringify(made.columns).match(/"unique"/g)).toHaveLength(1);
  });

  it("names both ends of relations, several between the same two included", () => {
    const fields = [
      field("authorId", [OBJECT_ID]),
      field("editorId", [OBJECT_ID]),
      field("parent", [OBJECT_ID]),
    ];
    const to = (name: string, target: string): LinkAnswer => ({
      collection: "posts",
      field: name,
      target,
      asked: 5,
      found: 5,
    });
    const answers = [to("authorId", "authors"), to("editorId", "authors"), to("parent", "posts")];
    const { tables } = infer([collection("posts", { fields }), collection("authors")], answers);
    expect(tables[0]?.relations).toEqual([
      ...[
        { name: "author", type: "many-to-one", table: "authors", inverse: "posts_by_author", required: true },
        { name: "editor", type: "many-to-one", table: "authors", inverse: "posts_by_editor", required: true },
      ],
      {
        name: "parent",
        field: "parent",
        type: "many-to-one",
        table: "posts",
        inverse: "posts_by_parent",
        required: true,
      },
    ]);
  });

  it("leaves out the rarest of the fields that need an index where these are more than a table may have", () => {
    const dates = Array.from({ length: 60 }, (_, at) => field(`d${at}`, [seen("date", { count: 1 + at })]));
    const owners = [field("ownerId", [OBJECT_ID]), field("title", [seen("string", { count: 1 })])];
    const wide = collection("wide", { fields: [...dates, ...owners] });
    const answer = { collection: "wide", field: "ownerId", target: "owners", asked: 9, found: 9 };
    const { tables, notes } = infer([wide, collection("owners")], [answer]);
    const [{ columns = [], relations = [] } = {}] = tables;
    // Of 56 two are those of the times, and two those of the link.
    const kept = dates.slice(-52).map(({ name }) => name);
    expect([columns, relations]).toMatchObject([
      [...kept, "title"].map((name) => ({ name })),
      [{ name: "owner" }],
    ]);
    expect(notes).toContain(
      "  d0, d1, d2, d3, d4, d5, d6, d7: not served, since a table has 56 indexes at most, and with those that are there 64, and dates, links and what is unique need them",
    );
  });

  it("leaves out as many more as the collection has indexes that the table can't use", () => {
    const dates = Array.from({ length: 60 }, (_, at) => field(`d${at}`, [seen("date", { count: 1 + at })]));
    const fields = [...dates, field("code", [TEXT])];
    const columnsWith = (indexes: number) => {
      const wide = collection("wide", { fields, uniques: [["code"]], indexes });
      const [{ columns = [] } = {}] = infer([wide]).tables;
      return columns;
    };
    const kept = (count: number) => [...dates.slice(-count), { name: "code" }].map(({ name }) => ({ name }));
    // Of 64 one is that on `_id`, one that of the code, and two are those of the times.
    expect(columnsWith(2)).toMatchObject(kept(53));
    expect(columnsWith(30)).toMatchObject(kept(32));
    expect(columnsWith(64)).toMatchObject([{ name: "code" }]);
  });

  it("leaves to the database what is unique together where a table has no index for it", () => {
    const fields = Array.from({ length: 12 }, (_, at) => field(`f${at}`, [TEXT]));
    const names = fields.map(({ name }) => name);
    const uniques = names.flatMap((one, at) => names.slice(at + 1).map((other) => [one, other]));
    const { tables, notes } = infer([collection("pairs", { fields, uniques })]);
    expect(tables[0]?.uniques).toEqual(uniques.slice(0, 54));
    expect(notes).toContain("  12 of its unique indexes on several fields are left to the database alone");
  });

  it("leaves collections of the service's own alone", () => {
    expect(infer([collection("_sessions"), collection("svc_user"), collection("system.js")]).tables).toEqual(
      [],
    );
  });

  it("whatever the fields are, the definition is one that the service takes", () => {
    const kinds = fc.constantFrom(
      TEXT,
      WHOLE,
      BIG,
      OBJECT_ID,
      UUIDS,
      BYTES,
      seen("date"),
      seen("array"),
      seen("object"),
    );
    const profiles = fc
      .uniqueArray(
        fc.record({
          name: fc.oneof(
            likelyName,
            fc.string({ unit: "binary" }),
            fc.constantFrom("id", "createdAt", "updated_at"),
          ),
          values: fc.uniqueArray(kinds, { maxLength: 3 }),
          members: fc.uniqueArray(kinds, { maxLength: 2 }),
        }),
        { selector: ({ name }) => name, maxLength: 12, size: "max" },
      )
      .map((fields) => collection("things", { fields, uniques: fields.map(({ name }) => [name]) }));
    fc.assert(
      fc.property(profiles, (profile) => {
        let count = 0;
        const newId = (): string => {
          count += 1;
          return String(count).padStart(24, "0");
        };
        const context = { catalog: buildCatalog(0, [], []), systemPrefix: "svc_", newId, ownIds: true };
        expect(checkDefinition(table(profile), context)).toMatchObject({ ok: true });
      }),
      { numRuns: 200 },
    );
  });
});
