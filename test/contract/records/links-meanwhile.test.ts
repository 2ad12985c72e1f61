// Links that are set from their other side while others change or delete the same records: what is taken back is what was
// moved, and nothing that others have.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Answer, type Api, signIn } from "../../support/api.js";
import { type BehindProxy, type QuickAndSlow, startQuickAndSlow } from "../../support/behind-proxy.js";
import {
  afterWrites,
  isCommand,
  isReadOf,
  isWriteOf,
  type Stopped,
  stopAt,
} from "../../support/command-proxy.js";
import { roleFor } from "../../support/rules.js";
import { make, makeTable, type Row, read } from "./make.js";

let system: QuickAndSlow;
let api: Api;
let held: BehindProxy;
let slow: Api;

beforeAll(async () => {
  system = await startQuickAndSlow();
  ({ api, held, slow } = system);
  const name = { name: "name", type: "string" };
  await makeTable(api, { name: "homes", columns: [name, { name: "code", type: "string", unique: true }] });
  const to = (one: string, table: string, inverse: string, more: object = {}) => ({
    relations: [{ name: one, type: "many-to-one", table, inverse, ...more }],
  });
  await makeTable(api, { name: "cats", columns: [name], ...to("home", "homes", "cats") });
  const code = { name: "code", type: "string", unique: true };
  await makeTable(api, {
    name: "books",
    columns: [name, code],
    ...to("owner", "homes", "books", { onDelete: "CASCADE" }),
  });
  const taken = { onDelete: "CASCADE", required: true };
  await makeTable(api, { name: "pages", columns: [name], ...to("book", "books", "pages", taken) });
  const labels = { name: "labels", type: "many-to-many", table: "homes", inverse: "notes" };
  await makeTable(api, { name: "notes", columns: [name], relations: [labels] });
  await makeTable(api, { name: "remarks", ...to("note", "notes", "remarks", { onDelete: "CASCADE" }) });
});

afterAll(() => system?.stop());

beforeEach(() => held.proxy.decide(() => "pass"));

const named = async (table: string, name: string): Promise<string> => (await make(api, table, { name })).id;
const homeOf = async (id: string): Promise<string | undefined> =>
  (await read(api, "cats", id, "home.name")).home?.name;

/** Sends a request that stops before it writes links of cats for the nth time. */
function beforeMove(nth: number, send: () => Promise<Answer>): Promise<Stopped<Answer>> {
  let moves = 0;
  return stopAt(
    held.proxy,
    (command) => {
      if (isWriteOf("cats")(command)) moves += 1;
      return moves === nth;
    },
    send,
  );
}

describe("a request that moves a record twice", () => {
  it("leaves it where it was moved last", async () => {
    const page = (await make(api, "pages", { name: "p", book: await named("books", "own") })).id;
    const books = ["first", "last"].map((name) => ({ name, pages: [page] }));
    expect((await api.post("/homes", { name: "two books", books })).status).toBe(201);
    expect(await read(api, "pages", page, "book.name")).toMatchObject({ book: { name: "last" } });
  });

  it("gives it back where it is refused, and deletes it with none of the records that it has made", async () => {
    const [own, home] = [await named("books", "own"), await named("homes", "H")];
    const page = (await make(api, "pages", { name: "p", book: own })).id;
    await make(api, "homes", { name: "other", code: "taken" });
    const books = [
      { name: "a", pages: [page] },
      { name: "b", pages: [page] },
    ];
    expect((await api.patch(`/homes/${home}`, { code: "taken", books })).status).toBe(409);
    expect(await read(api, "pages", page, "name,book.name")).toMatchObject({
      name: "p",
      book: { name: "own" },
    });
    expect((await api.get("/books", { filter: { name: { _in: ["a", "b"] } } })).body.data).toEqual([]);
  });
});

describe("a set of links that is refused", () => {
  it("leaves a record where somebody else has moved it after it was noted", async () => {
    const [own, x, y] = [await named("homes", "own"), await named("homes", "x"), await named("homes", "y")];
    const [cat, gone] = [(await make(api, "cats", { home: own })).id, await named("cats", "gone")];
    const refused = await beforeMove(1, () => slow.patch(`/homes/${y}`, { cats: [cat, gone] }));
    expect((await api.patch(`/cats/${cat}`, { home: x })).status).toBe(200);
    expect((await api.delete(`/cats/${gone}`)).status).toBe(200);
    refused.goOn();
    expect([(await refused.answer).status, await homeOf(cat)]).toEqual([400, "x"]);
  });

  it("leaves a record where somebody else has moved it after it was moved", async () => {
    const [own, x, y] = [await named("homes", "own"), await named("homes", "x"), await named("homes", "y")];
    const [cat, gone] = [(await make(api, "cats", { home: own })).id, await named("cats", "gone")];
    const isSecondLook = afterWrites(isWriteOf("cats"), isReadOf("cats"));
    const refused = await stopAt(held.proxy, isSecondLook, () =>
      slow.patch(`/homes/${y}`, { cats: [cat, gone] }),
    );
    expect((await api.patch(`/homes/${x}`, { cats: [cat] })).status).toBe(200);
    expect((await api.delete(`/cats/${gone}`)).status).toBe(200);
    refused.goOn();
    expect([(await refused.answer).status, await homeOf(cat)]).toEqual([400, "x"]);
  });

  it("lets nothing go that has come to link there after it was noted", async () => {
    const [own, x] = [await named("homes", "own"), await named("homes", "x")];
    const [cat, gone] = [(await make(api, "cats", { home: own })).id, await named("cats", "gone")];
    const refused = await beforeMove(1, () => slow.patch(`/homes/${x}`, { cats: [gone] }));
    expect((await api.patch(`/cats/${cat}`, { home: x })).status).toBe(200);
    expect((await api.delete(`/cats/${gone}`)).status).toBe(200);
    refused.goOn();
    expect([(await refused.answer).status, await homeOf(cat)]).toEqual([400, "x"]);
  });
});

describe("a record of nobody that a refused request has linked to what takes it along", () => {
  /** Links the book to a new home, and is refused for a cat that goes in between. */
  async function refusedFor(book: string, home: string, meanwhile: () => Promise<Answer>): Promise<void> {
    const gone = await named("cats", "gone");
    const body = { name: home, books: [book], cats: [gone] };
    const isLook = afterWrites(isWriteOf("books"), isReadOf("books"));
    const refused = await stopAt(held.proxy, isLook, () => slow.post("/homes", body));
    expect([(await meanwhile()).status, (await api.delete(`/cats/${gone}`)).status]).toEqual([200, 200]);
    refused.goOn();
    expect((await refused.answer).status).toBe(400);
  }

  const homes = async (name: string): Promise<Row[]> =>
    (await api.get("/homes", { filter: { name }, fields: "name" })).body.data;

  it("keeps its owner where others have changed it since: what they wrote was not for a record of nobody", async () => {
    const book = await named("books", "book");
    await refusedFor(book, "kept", () => api.patch(`/books/${book}`, { name: "theirs" }));
    expect(await read(api, "books", book, "name,owner.name")).toMatchObject({
      name: "theirs",
      owner: { name: "kept" },
    });
    expect(await homes("kept")).toHaveLength(1);
  });

  it("is nobody's again where they have not", async () => {
    const book = await named("books", "book");
    await refusedFor(book, "unmade", () => api.get(`/books/${book}`));
    expect(await read(api, "books", book, "name,owner.name")).toMatchObject({ name: "book", owner: null });
    expect(await homes("unmade")).toEqual([]);
  });
});

describe("a set of links in lists that is refused", () => {
  it("leaves a link that somebody else has made after it was noted", async () => {
    const label = await named("homes", "label");
    const [former, coming, theirs] = [
      (await make(api, "notes", { labels: [label] })).id,
      await named("notes", "coming"),
      await named("notes", "theirs"),
    ];
    const gone = await named("cats", "gone");
    const refused = await stopAt(held.proxy, isWriteOf("notes"), () =>
      slow.patch(`/homes/${label}`, { notes: [coming], cats: [gone] }),
    );
    expect((await api.patch(`/notes/${theirs}`, { labels: [label] })).status).toBe(200);
    expect((await api.delete(`/cats/${gone}`)).status).toBe(200);
    refused.goOn();
    expect((await refused.answer).status).toBe(400);
    const { notes } = await read(api, "homes", label, "notes.id");
    expect(notes.map(({ id }: Row) => id).sort()).toEqual([former, theirs].sort());
  });
});

describe("a list of links that is about to be changed from the other side when a delete wants its record", () => {
  it.each([
    ["keeps what it has until that is decided", true, 200],
    ["gets nothing new", false, 400],
  ])("%s", async (_what, isThere, status) => {
    const label = await named("homes", "label");
    const note = (await make(api, "notes", { labels: isThere ? [label] : [] })).id;
    await make(api, "remarks", { note });
    const change = await stopAt(held.proxy, isWriteOf("notes"), () =>
      slow.patch(`/homes/${label}`, { notes: isThere ? [] : [note] }),
    );
    const going = await stopAt(held.proxy, isCommand("delete", "remarks"), () =>
      slow.delete(`/notes/${note}`),
    );
    change.goOn();
    // It waits for the delete.
    await delay(300);
    const { labels } = await read(api, "notes", note, "labels.id");
    expect(labels).toHaveLength(isThere ? 1 : 0);
    going.goOn();
    expect([(await change.answer).status, (await going.answer).status]).toEqual([status, 200]);
  });
});

describe("a new record that a change is still making when another one sets the same list", () => {
  const put = (by: Api, book: string, body: object, etag?: string): Promise<Answer> =>
    by.send("PATCH", `/books/${book}`, {
      headers: { "Content-Type": "application/json", ...(etag !== undefined && { "If-Match": etag }) },
      body: JSON.stringify(body),
    });
  const bookOfOne = async () => {
    const book = await named("books", "B");
    const page = (await make(api, "pages", { name: "first", book })).id;
    const etag = (await api.get(`/books/${book}`)).headers.get("etag") ?? "none";
    return { book, etag, more: (name: string) => ({ pages: [page, { name }] }), same: { pages: [page] } };
  };
  const namesIn = async (book: string): Promise<string[]> =>
    (await read(api, "books", book, "pages.name")).pages.map(({ name }: Row) => name).toSorted();
  /** Sends a change that stops when its new record is there, before its own is written. */
  const making = (send: () => Promise<Answer>): Promise<Stopped<Answer>> =>
    stopAt(held.proxy, afterWrites(isCommand("insert", "pages"), isWriteOf("books")), send);

  /** Somebody who may do everything with books, and so much with pages. */
  const someone = async (name: string, rules: readonly object[]): Promise<Api> => {
    const role = await roleFor(api, name, ["books"]);
    for (const rule of rules) await make(api, "svc_permission", { role, table: "pages", ...rule });
    const credentials = { email: `${name}@example.com`, password: "long enough 1" };
    await make(api, "svc_user", { ...credentials, role });
    return signIn(held.stack.dataUrl, credentials);
  };

  it("goes where that one has the version that both know", async () => {
    const { book, etag, more } = await bookOfOne();
    const first = await making(() => put(slow, book, more("theirs"), etag));
    expect((await put(api, book, more("mine"), etag)).status).toBe(200);
    first.goOn();
    expect([(await first.answer).status, await namesIn(book)]).toEqual([412, ["first", "mine"]]);
  });

  it("stays beside what that one makes, where neither names a version", async () => {
    const { book, more } = await bookOfOne();
    const first = await making(() => put(slow, book, more("theirs")));
    expect((await put(api, book, more("mine"))).status).toBe(200);
    first.goOn();
    expect([(await first.answer).status, await namesIn(book)]).toEqual([200, ["first", "mine", "theirs"]]);
  });

  it("stays beside it however many are being made", async () => {
    const { book, more, same } = await bookOfOne();
    const [page] = same.pages;
    const many = Array.from({ length: 800 }, () => ({ name: "theirs" }));
    const first = await making(() => put(slow, book, { pages: [page, ...many] }));
    const [{ status }, none] = [await put(api, book, more("mine")), await put(api, book, { pages: [] })];
    first.goOn();
    expect([status, none.status, (await first.answer).status]).toEqual([200, 400, 200]);
  });

  it("is let go of by nobody as long as it is being made, and must be named from then on", async () => {
    const { book, more, same } = await bookOfOne();
    const first = await making(() => put(slow, book, more("theirs")));
    expect((await put(api, book, same)).status).toBe(200);
    first.goOn();
    expect((await first.answer).status).toBe(200);
    expect([(await put(api, book, same)).status, (await put(api, book, more("mine"))).status]).toEqual([
      400, 400,
    ]);
    expect(await namesIn(book)).toEqual(["first", "theirs"]);
  });

  it("is none that the other one would have to be allowed to change", async () => {
    const { book, more } = await bookOfOne();
    const update = { action: "update", filter: { name: "mine" } };
    const caller = await someone("writer", [{ action: "read" }, { action: "create" }, update]);
    const first = await making(() => put(slow, book, more("theirs")));
    expect((await put(caller, book, more("mine"))).status).toBe(200);
    first.goOn();
    expect([(await first.answer).status, await namesIn(book)]).toEqual([200, ["first", "mine", "theirs"]]);
  });

  it("is told to nobody who may not change such links, nor is any other record", async () => {
    const { book, more } = await bookOfOne();
    const caller = await someone("stranger", [{ action: "read", fields: "name" }, { action: "create" }]);
    const none = { pages: [{ name: "mine" }] };
    expect([(await put(caller, book, none)).status, (await put(caller, book, more("mine"))).status]).toEqual([
      403, 403,
    ]);
    expect(await namesIn(book)).toEqual(["first"]);
  });

  it("makes another version as soon as it is there for good", async () => {
    const { book, etag, more } = await bookOfOne();
    const late = await stopAt(held.proxy, isReadOf("pages"), () => put(slow, book, more("late"), etag));
    expect((await put(api, book, more("quick"), etag)).status).toBe(200);
    late.goOn();
    expect([(await late.answer).status, await namesIn(book)]).toEqual([412, ["first", "quick"]]);
  });
});

describe("a link that is about to be let go of from the other side when a delete wants its record", () => {
  it("goes with that, and the change counts as done", async () => {
    const home = await named("homes", "H");
    const book = (await make(api, "books", { name: "b", owner: home })).id;
    await make(api, "pages", { name: "p", book });
    const change = await stopAt(held.proxy, isWriteOf("books"), () =>
      slow.patch(`/homes/${home}`, { books: [] }),
    );
    const going = await stopAt(held.proxy, isCommand("delete", "pages"), () => slow.delete(`/books/${book}`));
    change.goOn();
    await delay(300);
    expect((await read(api, "books", book, "owner.name")).owner).toEqual({ id: home, name: "H" });
    going.goOn();
    expect([(await change.answer).status, (await going.answer).status]).toEqual([200, 200]);
  });
});

describe("records that a delete takes along by links which were made in the same moment", () => {
  it("go with a change that counts as done: it came first", async () => {
    const [own, other] = [await named("books", "own"), await named("books", "other")];
    const page = (await make(api, "pages", { name: "p", book: own })).id;
    const linking = await stopAt(held.proxy, afterWrites(isWriteOf("pages"), isReadOf("books")), () =>
      slow.patch(`/books/${other}`, { name: "new", pages: [page] }),
    );
    expect((await api.delete(`/books/${other}`)).status).toBe(200);
    linking.goOn();
    const { status, body } = await linking.answer;
    expect([status, body.data]).toEqual([200, [{ id: other }]]);
    expect(await read(api, "pages", page)).toBeUndefined();
  });

  it("go with a change that counts as done also where its own record goes after them", async () => {
    const [own, other] = [await named("books", "own"), await named("books", "other")];
    const page = (await make(api, "pages", { name: "p", book: own })).id;
    const isLook = isReadOf("pages");
    // Moved, and about to be looked at once more.
    const linking = await stopAt(held.proxy, afterWrites(isWriteOf("pages"), isLook), () =>
      slow.patch(`/books/${other}`, { name: "new", pages: [page] }),
    );
    const going = await stopAt(held.proxy, isCommand("delete", "books"), () =>
      slow.delete(`/books/${other}`),
    );
    expect(await read(api, "pages", page)).toBeUndefined();
    linking.goOn();
    await Promise.race([linking.answer, delay(300, undefined, { ref: false })]);
    going.goOn();
    expect([(await going.answer).status, (await linking.answer).status]).toEqual([200, 200]);
  });

  it("go though they were linked by a change of their own, which counts as done", async () => {
    const [own, other] = [await named("books", "own"), await named("books", "other")];
    const page = (await make(api, "pages", { name: "p", book: own })).id;
    const linking = await stopAt(held.proxy, afterWrites(isWriteOf("pages"), isReadOf("books")), () =>
      slow.patch(`/pages/${page}`, { name: "new", book: other }),
    );
    expect((await api.delete(`/books/${other}`)).status).toBe(200);
    linking.goOn();
    const { status, body } = await linking.answer;
    expect([status, body.data[0].id]).toEqual([200, page]);
    expect(await read(api, "pages", page)).toBeUndefined();
  });

  it("go with a new record that counts as made", async () => {
    const [own, home] = [await named("books", "own"), await named("homes", "H")];
    const page = (await make(api, "pages", { name: "p", book: own })).id;
    const isLook = isReadOf("homes");
    const making = await stopAt(held.proxy, afterWrites(isWriteOf("pages"), isLook), () =>
      slow.post("/books", { name: "new", owner: home, pages: [page] }),
    );
    expect((await api.delete(`/homes/${home}`)).status).toBe(200);
    making.goOn();
    expect((await making.answer).status).toBe(201);
    expect(await read(api, "pages", page)).toBeUndefined();
    expect((await api.get("/books", { filter: { name: "new" } })).body.data).toEqual([]);
  });
});
