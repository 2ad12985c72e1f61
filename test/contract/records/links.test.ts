// Contract 5: relations in bodies, from the owning and from the inverse side, and what a delete does to links.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Api, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { atOnce, make, makeTable, type Row, read, tally, valuesOf } from "./make.js";

const NO_ID = "0123456789abcdef01234567";

let stack: Stack;
let admin: Api;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  await makeTable(admin, { name: "authors", columns: [name] });
  await makeTable(admin, { name: "tags", idType: "int", columns: [name] });
  await makeTable(admin, { name: "covers", idType: "uuid", columns: [name] });
  await makeTable(admin, {
    name: "books",
    columns: [name],
    relations: [
      { name: "author", type: "many-to-one", table: "authors", inverse: "books" },
      { name: "tags", type: "many-to-many", table: "tags", inverse: "books" },
      { name: "cover", type: "one-to-one", table: "covers", inverse: "book" },
      { name: "sequelOf", type: "many-to-one", table: "books", inverse: "sequels" },
    ],
  });
  await makeTable(admin, {
    name: "chapters",
    columns: [name],
    relations: [{ name: "book", type: "many-to-one", table: "books", inverse: "chapters", required: true }],
  });
});

afterAll(() => stack.stop());

const named = (name: string) => ({ name });
const name = { name: "name", type: "string" };
const to = (table: string, onDelete: string) => ({ type: "many-to-one", table, onDelete, inverse: null });

/** Ids of the records at the other end. */
async function linked(table: string, id: unknown, relation: string): Promise<Row> {
  const row = await read(admin, table, id, `${relation}.id`);
  const value = row[relation];
  return Array.isArray(value) ? value.map((each) => each.id) : (value?.id ?? null);
}

describe("a to-one relation in a body", () => {
  it.each([
    ["an id", (id: string) => id],
    ["an object with an id", (id: string) => ({ id })],
  ])("takes %s", async (_name, spell) => {
    const { id } = await make(admin, "authors", named("Ann"));
    const book = await make(admin, "books", { author: spell(id) });
    expect(book.author).toEqual({ id });
    expect(await linked("authors", id, "books")).toEqual([book.id]);
  });

  it("takes a UUID and answers it in the same spelling", async () => {
    const { id } = await make(admin, "covers", named("red"));
    const book = await make(admin, "books", { cover: id });
    expect(book.cover).toEqual({ id });
    expect(await linked("covers", id, "book")).toBe(book.id);
  });

  it("takes null, and is null when it is left out of a new record", async () => {
    expect((await make(admin, "books", { author: null })).author).toBeNull();
    expect((await make(admin, "books", {})).author).toBeNull();
  });

  it("is cleared by null and unchanged when it is left out of a change", async () => {
    const author = await make(admin, "authors", named("Ann"));
    const book = await make(admin, "books", { author: author.id });
    await admin.patch(`/books/${book.id}`, { name: "renamed" });
    expect(await linked("books", book.id, "author")).toBe(author.id);
    await admin.patch(`/books/${book.id}`, { author: null });
    expect(await linked("books", book.id, "author")).toBeNull();
  });

  it("may point at the record itself", async () => {
    const book = await make(admin, "books", named("loop"));
    await admin.patch(`/books/${book.id}`, { sequelOf: book.id });
    expect(await linked("books", book.id, "sequels")).toEqual([book.id]);
  });

  it.each([
    ["a number", 5],
    ["a text that is no id", "x"],
    ["a list", [NO_ID]],
    ["an object with an id and more", { id: NO_ID, name: "x" }],
    ["an object with an id in an object", { id: { id: NO_ID } }],
  ])("refuses %s and names the field", async (_name, author) => {
    const { status, body } = await admin.post("/books", { author });
    expect([status, body.message]).toEqual([400, [expect.stringMatching(/^author(\.id)?: /)]]);
  });

  it("refuses a record that does not exist and names the field", async () => {
    const { status, body } = await admin.post("/books", { name: "orphan", author: NO_ID });
    expect([status, body.message]).toEqual([400, [expect.stringMatching(/^author: /)]]);
    expect((await admin.get("/books", { filter: named("orphan") })).body.data).toEqual([]);
  });

  it("is refused however deep an id is wrapped, before anything follows it down", async () => {
    const wrapped = (levels: number): string =>
      `{"author":${'{"id":'.repeat(levels)}"${NO_ID}"${"}".repeat(levels)}}`;
    const headers = { "Content-Type": "application/json" };
    for (const [method, path, levels] of [
      ["POST", "/books", 100_000],
      ["PATCH", `/books/${NO_ID}`, 100_000],
      ["PATCH", "/me", 100_000],
      ["QUERY", "/books", 5_000],
      ["POST", "/svc_permission/explain", 5_000],
    ] as const) {
      const { status, body } = await admin.send(method, path, { body: wrapped(levels), headers });
      expect([path, status, body.message]).toEqual([path, 400, "body: nests deeper than 100 levels"]);
    }
  });

  it("of a list is refused with the position of each record that names an unknown one", async () => {
    const { id } = await make(admin, "authors", named("Ann"));
    const unknown = (field: string, target: string) =>
      `${field}: there is no "${target}" record with the id `;
    const bodies = [{ author: id }, { author: NO_ID }, { tags: [999_999] }, { author: NO_ID }];
    const { status, body } = await admin.post("/books", bodies);
    expect([status, body.message]).toEqual([
      400,
      [
        `[1].${unknown("author", "authors")}${NO_ID}`,
        `[2].${unknown("tags", "tags")}999999`,
        `[3].${unknown("author", "authors")}${NO_ID}`,
      ],
    ]);
  });

  it("may not become null when it is required", async () => {
    const book = await make(admin, "books", named("b"));
    const chapter = await make(admin, "chapters", { name: "1", book: book.id });
    expect((await admin.patch(`/chapters/${chapter.id}`, { book: null })).body.message).toEqual([
      expect.stringMatching(/^book: /),
    ]);
    expect((await admin.post("/chapters", { name: "2" })).body.message).toEqual(["book: is required"]);
  });
});

describe("a to-many relation in a body", () => {
  const three = () => atOnce(3, async (at) => (await make(admin, "tags", named(`t${at}`))).id);

  it("takes ids, objects with ids, and repeats each link once", async () => {
    const [a, b] = await three();
    const book = await make(admin, "books", { tags: [a, { id: b }, a] });
    expect((await linked("books", book.id, "tags")).toSorted()).toEqual([a, b].toSorted());
  });

  it("is the full new set", async () => {
    const [a, b, c] = await three();
    const book = await make(admin, "books", { tags: [a, b] });
    await admin.patch(`/books/${book.id}`, { tags: [b, c] });
    expect((await linked("books", book.id, "tags")).toSorted()).toEqual([b, c].toSorted());
    expect(await linked("tags", a, "books")).toEqual([]);
    expect(await linked("tags", c, "books")).toEqual([book.id]);
  });

  it("is cleared by an empty list and unchanged when it is left out", async () => {
    const [a] = await three();
    const book = await make(admin, "books", { tags: [a] });
    await admin.patch(`/books/${book.id}`, { name: "renamed" });
    expect(await linked("books", book.id, "tags")).toEqual([a]);
    await admin.patch(`/books/${book.id}`, { tags: [] });
    expect(await linked("books", book.id, "tags")).toEqual([]);
  });

  it.each([
    ["null", null],
    ["an id without a list", 1],
    ["an object", { id: 1 }],
  ])("refuses %s, which is no list", async (_name, tags) => {
    const { status, body } = await admin.post("/books", { tags });
    expect([status, body.message]).toEqual([400, [expect.stringMatching(/^tags: /)]]);
  });

  it("refuses wrong members by their position, all of them", async () => {
    const { body } = await admin.post("/books", { tags: ["1", null, { id: "x" }, [1]] });
    expect(body.message.map((text: string) => text.split(":")[0])).toEqual([
      ...["tags[0]", "tags[1]", "tags[2].id", "tags[3]"],
    ]);
  });

  it("refuses members that do not exist, and links none of the others", async () => {
    const [a] = await three();
    const { status, body } = await admin.post("/books", { tags: [a, 999_999] });
    expect([status, body.message]).toEqual([400, [expect.stringMatching(/^tags: .*999999/)]]);
    expect(await linked("tags", a, "books")).toEqual([]);
  });
});

describe("the inverse of a many-to-one relation in a body", () => {
  const books = (count: number) =>
    atOnce(count, async (at) => (await make(admin, "books", named(`b${at}`))).id);

  it("links the records of a new record", async () => {
    const [a, b] = await books(2);
    const author = await make(admin, "authors", { books: [a, { id: b }] });
    expect(await linked("books", a, "author")).toBe(author.id);
    expect(await linked("books", b, "author")).toBe(author.id);
  });

  it("is the full new set, takes records from others, and lets the former ones go", async () => {
    const [a, b, c] = await books(3);
    const other = await make(admin, "authors", { books: [c] });
    const author = await make(admin, "authors", { books: [a, b] });
    await admin.patch(`/authors/${author.id}`, { books: [b, c] });
    expect(await linked("books", a, "author")).toBeNull();
    expect((await linked("authors", author.id, "books")).toSorted()).toEqual([b, c].toSorted());
    expect(await linked("authors", other.id, "books")).toEqual([]);
  });

  it("is cleared by an empty list and unchanged when it is left out", async () => {
    const [a] = await books(1);
    const author = await make(admin, "authors", { books: [a] });
    await admin.patch(`/authors/${author.id}`, { name: "renamed" });
    expect(await linked("authors", author.id, "books")).toEqual([a]);
    await admin.patch(`/authors/${author.id}`, { books: [] });
    expect(await linked("books", a, "author")).toBeNull();
  });

  it("refuses a record that does not exist and changes nothing", async () => {
    const [a] = await books(1);
    const author = await make(admin, "authors", { name: "before" });
    const answer = await admin.patch(`/authors/${author.id}`, { name: "after", books: [a, NO_ID] });
    expect([answer.status, answer.body.message]).toEqual([400, [expect.stringMatching(/^books: /)]]);
    expect((await read(admin, "authors", author.id)).name).toBe("before");
    expect(await linked("books", a, "author")).toBeNull();
  });

  it("of an unknown record is 404 and links nothing", async () => {
    const [a] = await books(1);
    expect((await admin.patch(`/authors/${NO_ID}`, { books: [a] })).status).toBe(404);
    expect(await linked("books", a, "author")).toBeNull();
  });

  it("can't let a record go whose link is required, and then changes nothing at all", async () => {
    const book = await make(admin, "books", named("before"));
    const chapter = await make(admin, "chapters", { name: "1", book: book.id });
    const answer = await admin.patch(`/books/${book.id}`, { name: "after", chapters: [] });
    expect([answer.status, answer.body.message]).toEqual([400, [expect.stringMatching(/^chapters: /)]]);
    expect((await read(admin, "books", book.id)).name).toBe("before");
    expect(await linked("chapters", chapter.id, "book")).toBe(book.id);
  });

  it("of a self relation links and lets go", async () => {
    const [a, b] = await books(2);
    const first = await make(admin, "books", { sequels: [a, b] });
    await admin.patch(`/books/${first.id}`, { sequels: [b] });
    expect(await linked("books", a, "sequelOf")).toBeNull();
    expect(await linked("books", first.id, "sequels")).toEqual([b]);
  });
});

describe("the inverse of a many-to-many relation in a body", () => {
  it("is the full new set and leaves the other links of these records alone", async () => {
    const [a, b] = await atOnce(2, async (at) => (await make(admin, "books", named(`m${at}`))).id);
    const other = await make(admin, "tags", { books: [a, b] });
    const tag = await make(admin, "tags", { books: [a] });
    await admin.patch(`/tags/${tag.id}`, { books: [b] });
    expect(await linked("tags", tag.id, "books")).toEqual([b]);
    expect((await linked("tags", other.id, "books")).toSorted()).toEqual([a, b].toSorted());
    expect(await linked("books", a, "tags")).toEqual([other.id]);
  });

  it("is cleared by an empty list", async () => {
    const book = await make(admin, "books", named("m"));
    const tag = await make(admin, "tags", { books: [book.id] });
    await admin.patch(`/tags/${tag.id}`, { books: [] });
    expect(await linked("books", book.id, "tags")).toEqual([]);
  });
});

describe("a one-to-one relation", () => {
  it("refuses a second owner with 409 and the field's name", async () => {
    const cover = await make(admin, "covers", named("blue"));
    await make(admin, "books", { cover: cover.id });
    const { status, body } = await admin.post("/books", { cover: cover.id });
    expect([status, body.error.code, body.error.details]).toEqual([
      ...[409, "DUPLICATE_RESOURCE", { fields: ["cover"] }],
    ]);
  });

  it("has one owner when fifty ask for it at once", async () => {
    const cover = await make(admin, "covers", named("rare"));
    const answers = await atOnce(50, () => admin.post("/books", { cover: cover.id }));
    expect(tally(answers)).toEqual({ 201: 1, 409: 49 });
  });

  it("is set, moved and cleared from the inverse side", async () => {
    const [a, b] = await atOnce(2, async (at) => (await make(admin, "books", named(`c${at}`))).id);
    const cover = await make(admin, "covers", { book: a });
    expect(await linked("books", a, "cover")).toBe(cover.id);
    await admin.patch(`/covers/${cover.id}`, { book: { id: b } });
    expect([await linked("books", a, "cover"), await linked("books", b, "cover")]).toEqual([null, cover.id]);
    await admin.patch(`/covers/${cover.id}`, { book: null });
    expect(await linked("books", b, "cover")).toBeNull();
  });
});

describe("a delete", () => {
  it("clears the links of a relation without onDelete, one by one and in lists", async () => {
    const author = await make(admin, "authors", named("gone"));
    const [tag, kept] = await atOnce(2, async () => (await make(admin, "tags", {})).id);
    const cover = await make(admin, "covers", {});
    const { id } = await make(admin, "books", { author: author.id, tags: [tag, kept], cover: cover.id });
    for (const path of [`/authors/${author.id}`, `/tags/${tag}`, `/covers/${cover.id}`]) {
      expect((await admin.delete(path)).status).toBe(200);
    }
    const book = await read(admin, "books", id, "author,cover,tags.id");
    expect(book).toEqual({ author: null, cover: null, tags: [{ id: kept }] });
  });

  it("of the owner leaves the other side and its other links alone", async () => {
    const author = await make(admin, "authors", named("stays"));
    const [a, b] = await atOnce(2, async () => (await make(admin, "books", { author: author.id })).id);
    await admin.delete(`/books/${a}`);
    expect(await linked("authors", author.id, "books")).toEqual([b]);
  });

  it("is refused with 409 while a required link points at the record", async () => {
    const book = await make(admin, "books", named("held"));
    const chapter = await make(admin, "chapters", { book: book.id });
    const { status, body } = await admin.delete(`/books/${book.id}`);
    expect([status, body.error.code]).toEqual([409, "CONFLICT"]);
    expect(body.message).toMatch(/chapters.*book/);
    await admin.delete(`/chapters/${chapter.id}`);
    expect((await admin.delete(`/books/${book.id}`)).status).toBe(200);
  });
});

describe("onDelete through several tables", () => {
  // firms <-CASCADE- teams <-CASCADE- members <-SET NULL- cards; teams <-RESTRICT- audits; firms <-CASCADE- firms
  beforeAll(async () => {
    const to = (name: string, table: string, onDelete: string) => [
      { name, type: "many-to-one", table, onDelete, inverse: null },
    ];
    await makeTable(admin, { name: "firms", relations: to("parent", "firms", "CASCADE") });
    await makeTable(admin, { name: "teams", idType: "int", relations: to("firm", "firms", "CASCADE") });
    await makeTable(admin, { name: "members", idType: "uuid", relations: to("team", "teams", "CASCADE") });
    await makeTable(admin, { name: "cards", relations: to("member", "members", "SET NULL") });
    await makeTable(admin, { name: "audits", relations: to("team", "teams", "RESTRICT") });
  });

  /** A firm with a daughter firm; each with a team, two members and two cards. */
  async function family(): Promise<{ firm: string; teams: number[]; members: string[]; cards: string[] }> {
    const firm = (await make(admin, "firms", {})).id;
    const daughter = (await make(admin, "firms", { parent: firm })).id;
    const teams = [];
    const members = [];
    const cards = [];
    for (const owner of [firm, daughter]) {
      const team = (await make(admin, "teams", { firm: owner })).id;
      teams.push(team);
      for (const _each of [1, 2]) {
        const member = (await make(admin, "members", { team })).id;
        members.push(member);
        cards.push((await make(admin, "cards", { member })).id);
      }
    }
    return { firm, teams, members, cards };
  }

  const idsLeft = async (table: string, ids: readonly unknown[]) =>
    (await admin.get(`/${table}`, { filter: { id: { _in: ids } }, fields: "id" })).body.data.length;

  it("CASCADE takes the whole tree, SET NULL keeps its records, and a stranger's tree stays", async () => {
    const gone = await family();
    const stays = await family();
    expect((await admin.delete(`/firms/${gone.firm}`)).status).toBe(200);
    expect(await idsLeft("teams", gone.teams)).toBe(0);
    expect(await idsLeft("members", gone.members)).toBe(0);
    expect(await idsLeft("cards", gone.cards)).toBe(4);
    const orphans = { id: { _in: gone.cards }, member: null };
    expect((await admin.get("/cards", { filter: orphans })).body.data.length).toBe(4);
    expect([await idsLeft("teams", stays.teams), await idsLeft("members", stays.members)]).toEqual([2, 4]);
  });

  it("RESTRICT deep in the tree refuses with 409, and nothing is gone", async () => {
    const { firm, teams, members, cards } = await family();
    await make(admin, "audits", { team: teams[1] });
    const { status, body } = await admin.delete(`/firms/${firm}`);
    expect([status, body.error.code, body.error.details]).toEqual([
      ...[409, "CONFLICT", { table: "audits", relation: "team" }],
    ]);
    expect((await admin.get(`/firms/${firm}`)).status).toBe(200);
    expect([await idsLeft("teams", teams), await idsLeft("members", members)]).toEqual([2, 4]);
    const linkedCards = { id: { _in: cards }, member: { _is_null: false } };
    expect((await admin.get("/cards", { filter: linkedCards })).body.data.length).toBe(4);
  });

  it("CASCADE in a circle ends", async () => {
    const a = await make(admin, "firms", {});
    const b = await make(admin, "firms", { parent: a.id });
    await admin.patch(`/firms/${a.id}`, { parent: b.id });
    expect((await admin.delete(`/firms/${a.id}`)).status).toBe(200);
    expect(await idsLeft("firms", [a.id, b.id])).toBe(0);
  });

  it("CASCADE follows a chain of thirty records", async () => {
    const chain: string[] = [];
    for (let at = 0; at < 30; at += 1) {
      const parent = chain.at(-1) ?? null;
      chain.push((await make(admin, "firms", { parent })).id);
    }
    expect((await admin.delete(`/firms/${chain[0]}`)).status).toBe(200);
    expect(await idsLeft("firms", chain)).toBe(0);
  });
});

describe("a record that a delete takes along", () => {
  it.each([
    ["before", ["invoices", "payments"]],
    ["after", ["payments", "invoices"]],
  ])("does not stand against it for a link from a table that was made %s the other", async (when, order) => {
    const company = { ...to(`companies_${when}`, "CASCADE"), name: "company" };
    await makeTable(admin, { name: `companies_${when}`, columns: [name] });
    for (const table of order)
      await makeTable(admin, { name: `${table}_${when}`, columns: [name], relations: [company] });
    const invoice = { ...to(`invoices_${when}`, "RESTRICT"), name: "invoice" };
    const { body: tables } = await admin.get("/svc_table", { filter: { name: `payments_${when}` } });
    const { id, relations } = tables.data[0];
    expect((await admin.patch(`/svc_table/${id}`, { relations: [...relations, invoice] })).status).toBe(200);
    const [mine, others] = [
      await make(admin, `companies_${when}`, {}),
      await make(admin, `companies_${when}`, {}),
    ];
    const bill = await make(admin, `invoices_${when}`, { company: mine.id });
    await make(admin, `payments_${when}`, { company: mine.id, invoice: bill.id });
    const foreign = await make(admin, `payments_${when}`, { company: others.id, invoice: bill.id });
    const path = `/companies_${when}/${mine.id}`;
    expect((await admin.delete(path)).status).toBe(409);
    await admin.patch(`/payments_${when}/${foreign.id}`, { invoice: null });
    expect((await admin.delete(path)).status).toBe(200);
    expect(await valuesOf(admin, `payments_${when}`, "id")).toEqual([foreign.id]);
    expect(await valuesOf(admin, `invoices_${when}`, "id")).toEqual([]);
  });
});
