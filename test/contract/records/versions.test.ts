// ETag, If-Match and If-None-Match: nobody overwrites what they have not seen, and nobody reads again what they have.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Answer, type Api, asAdmin, search, signIn } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { atOnce, make, makeTable, read, tally } from "./make.js";

const ANN = { email: "ann@example.com", password: "ann's password" };

let stack: Stack;
let api: Api;
/** The table. */
let books: string;
let author: string;
let book: string;

beforeAll(async () => {
  stack = await startStack();
  api = await asAdmin(stack);
  await makeTable(api, { name: "authors", columns: [{ name: "name", type: "string" }] });
  const definition = {
    name: "books",
    columns: [
      { name: "title", type: "string" },
      { name: "stock", type: "int" },
    ],
    relations: [{ name: "author", type: "many-to-one", table: "authors", inverse: "books" }],
  };
  books = (await makeTable(api, definition)).id;
});

afterAll(() => stack?.stop());

beforeEach(async () => {
  author = (await make(api, "authors", { name: "Ann" })).id;
  book = (await make(api, "books", { title: "first", stock: 1, author })).id;
});

const tagOf = ({ headers }: Answer): string => headers.get("etag") ?? "none";
const get = (tag?: string, query = {}): Promise<Answer> =>
  api.send("GET", `/books/${book}${search(query)}`, {
    headers: tag === undefined ? {} : { "If-None-Match": tag },
  });
const patch = (body: unknown, tag: string, caller = api): Promise<Answer> =>
  caller.send("PATCH", `/books/${book}`, {
    body: JSON.stringify(body),
    headers: { "Content-Type": "application/json", "If-Match": tag },
  });
const titleNow = async () => (await read(api, "books", book)).title;

describe("If-None-Match", () => {
  it("is answered 304 without a body while nothing has changed", async () => {
    const tag = tagOf(await get());
    const again = await get(tag);
    expect([again.status, again.body, tagOf(again)]).toEqual([304, null, tag]);
    await api.patch(`/books/${book}`, { stock: 2 });
    expect((await get(tag)).status).toBe(200);
  });

  it("is answered so by the data service too, whatever is said to caches, as Node's own fetch does", async () => {
    const direct = await signIn(stack.dataUrl, stack.admin);
    const tag = tagOf(await direct.get(`/books/${book}`));
    const headers = { "If-None-Match": tag, "Cache-Control": "no-cache" };
    expect((await direct.send("GET", `/books/${book}`, { headers })).status).toBe(304);
    expect((await api.send("GET", `/books/${book}`, { headers })).status).toBe(304);
  });

  it("knows what was shown: other fields, and other records among them, are another answer", async () => {
    const query = { fields: "title,author.name" };
    const tag = tagOf(await get(undefined, query));
    expect((await get(tag, query)).status).toBe(304);
    expect((await get(tag, { fields: "title" })).status).toBe(200);
    await api.patch(`/authors/${author}`, { name: "Anna" });
    expect((await get(tag, query)).status).toBe(200);
  });
});

describe("If-Match", () => {
  it("lets a change pass that rests on what the record is, and answers the next ETag", async () => {
    const tag = tagOf(await get());
    const changed = await patch({ title: "second" }, tag);
    expect([changed.status, tagOf(changed)]).toEqual([200, tagOf(await get())]);
    expect(tagOf(changed)).not.toBe(tag);
  });

  it("refuses a change that rests on what the record was, with 412, and changes nothing", async () => {
    const tag = tagOf(await get());
    await api.patch(`/books/${book}`, { title: "meanwhile" });
    const refused = await patch({ title: "late" }, tag);
    expect([refused.status, refused.body.error.code]).toEqual([412, "PRECONDITION_FAILED"]);
    expect(refused.body.message).toMatch(/^This "books" record was changed since/);
    expect(await titleNow()).toBe("meanwhile");
  });

  it("refuses the ETag of a record that is gone for another one, imported with its id", async () => {
    const tag = tagOf(await get());
    const file = JSON.stringify((await get()).body.data[0]);
    expect((await api.delete(`/books/${book}`)).status).toBe(200);
    const headers = { "Content-Type": "application/x-ndjson" };
    expect((await api.send("POST", "/books/import", { body: file, headers })).status).toBe(200);
    expect((await patch({ title: "late" }, tag)).status).toBe(412);
    const changed = await patch({ title: "second" }, tagOf(await get()));
    expect(changed.status).toBe(200);
    expect((await patch({ title: "third" }, tagOf(changed))).status).toBe(200);
  });

  it("takes the ETag of a create, and of an answer with other fields", async () => {
    const created = await api.post("/books", { title: "new" });
    book = created.body.data[0].id;
    expect((await patch({ stock: 5 }, tagOf(created))).status).toBe(200);
    expect((await patch({ stock: 6 }, tagOf(await get(undefined, { fields: "title" })))).status).toBe(200);
  });

  it("takes a list and *, and matches no weak tag and none that is not ours", async () => {
    const tag = tagOf(await get());
    expect((await patch({ stock: 2 }, `"9-abc", ${tag}`)).status).toBe(200);
    expect((await patch({ stock: 3 }, "*")).status).toBe(200);
    expect((await patch({ stock: 4 }, `W/${tagOf(await get())}`)).status).toBe(412);
    expect((await patch({ stock: 4 }, '"somebody-elses"')).status).toBe(412);
    expect((await patch({ stock: 4 }, "unquoted")).status).toBe(400);
    expect((await read(api, "books", book)).stock).toBe(3);
  });

  it("is moved by a link that is set from the other side", async () => {
    const before = await get();
    await api.patch(`/authors/${author}`, { books: [] });
    expect((await patch({ title: "late" }, tagOf(before))).status).toBe(412);
    // The record itself was not written.
    expect((await read(api, "books", book)).updatedAt).toBe(before.body.data[0].updatedAt);
  });

  it("keeps the list of links that another has written, but not what was linked from the other side", async () => {
    const tag = tagOf(await api.get(`/authors/${author}`));
    const [second, third] = [await make(api, "books", {}), await make(api, "books", {})];
    const add = (id: string, known: string): Promise<Answer> =>
      api.send("PATCH", `/authors/${author}`, {
        body: JSON.stringify({ books: [book, id] }),
        headers: { "Content-Type": "application/json", "If-Match": known },
      });
    const added = await add(second.id, tag);
    expect([added.status, (await add(third.id, tag)).status]).toEqual([200, 412]);
    const linked = async (): Promise<string[]> => {
      const { data } = (await api.get(`/authors/${author}`, { fields: "books" })).body;
      return data[0].books.map(({ id }: { id: string }) => id).sort();
    };
    expect(await linked()).toEqual([book, second.id].sort());
    await api.patch(`/books/${third.id}`, { author });
    expect(await linked()).toEqual([book, second.id, third.id].sort());
    expect((await add(second.id, tagOf(added))).status).toBe(200);
    expect(await linked()).toEqual([book, second.id].sort());
  });

  it("holds for DELETE", async () => {
    const tag = tagOf(await get());
    await api.patch(`/books/${book}`, { stock: 2 });
    const remove = (ifMatch: string) =>
      api.send("DELETE", `/books/${book}`, { headers: { "If-Match": ifMatch } });
    expect((await remove(tag)).status).toBe(412);
    expect((await remove(tagOf(await get()))).status).toBe(200);
    expect((await remove("*")).status).toBe(404);
  });

  it("lets one of 50 parallel changes pass, in each of ten rounds", async () => {
    const rounds = Number(process.env.PORTICO_RACE_ROUNDS ?? 10);
    for (let round = 0; round < rounds; round += 1) {
      const tag = tagOf(await get());
      const answers = await atOnce(50, (at) => patch({ title: `${round}.${at}` }, tag));
      expect(tally(answers)).toEqual({ 200: 1, 412: 49 });
      const [winner] = answers.filter(({ status }) => status === 200);
      expect(await titleNow()).toBe(winner?.body.data[0].title);
    }
  }, 600_000);

  it("holds for PATCH /me", async () => {
    const send = (tag: string, name: string) =>
      api.send("PATCH", "/me", {
        body: JSON.stringify({ name }),
        headers: { "Content-Type": "application/json", "If-Match": tag },
      });
    const tag = tagOf(await api.get("/me"));
    expect((await send(tag, "once")).status).toBe(200);
    expect((await send(tag, "twice")).status).toBe(412);
  });

  it.each(["/me", "/svc_user/{me}", "/books/{book}"])("holds for PATCH %s of nothing", async (address) => {
    const me = String((await api.get("/me")).body.data[0].id);
    const path = address.replace("{me}", me).replace("{book}", book);
    const change = async (body: unknown, tag: string): Promise<number> => {
      const headers = { "Content-Type": "application/json", "If-Match": tag };
      return (await api.send("PATCH", path, { body: JSON.stringify(body), headers })).status;
    };
    const tag = tagOf(await api.get(path));
    expect(await change({}, tag)).toBe(200);
    expect(await change({}, 'W/"3-a"')).toBe(412);
    expect(
      (await api.patch(path, address.startsWith("/books") ? { stock: 5 } : { name: "Rea" })).status,
    ).toBe(200);
    expect(await change({}, tag)).toBe(412);
    expect(await change({}, "*")).toBe(200);
  });

  it("holds for PATCH /me whatever rules show of other users", async () => {
    const names = { role: null, table: "svc_user", action: "read", fields: "name" };
    const { id: rule } = await make(api, "svc_permission", names);
    const bea = { email: "bea@example.com", password: "bea's password" };
    await make(api, "svc_user", bea);
    const own = await signIn(`${stack.appUrl}/api`, bea);
    const headers = { "Content-Type": "application/json", "If-Match": tagOf(await own.get("/me")) };
    const send = async (name: string) =>
      (await own.send("PATCH", "/me", { body: JSON.stringify({ name }), headers })).status;
    const statuses = [await send("once"), await send("twice")];
    await api.delete(`/svc_permission/${rule}`);
    expect(statuses).toEqual([200, 412]);
  });

  it("is refused where many are changed, since it speaks of one", async () => {
    const headers = { "Content-Type": "application/json", "If-Match": tagOf(await get()) };
    const path = `/books${search({ filter: { id: book } })}`;
    for (const [method, body] of [["PATCH", JSON.stringify({ title: "x" })], ["DELETE"]] as const)
      expect((await api.send(method, path, { body: body ?? null, headers })).status).toBe(400);
    expect(await titleNow()).toBe("first");
  });
});

describe("an ETag that can match nothing, however often the record is read again", () => {
  const send = (method: string, path: string, tag: string, body: unknown = null): Promise<Answer> =>
    api.send(method, path, {
      body: body === null ? null : JSON.stringify(body),
      headers: { "Content-Type": "application/json", "If-Match": tag },
    });

  it.each<[string, () => Promise<Answer>]>([
    ["a change", () => send("PATCH", `/books/${book}`, 'W/"3-a"', { title: "x" })],
    ["a delete", () => send("DELETE", `/books/${book}`, 'W/"3-a", "somebody-elses"')],
    ["a change of oneself", () => send("PATCH", "/me", 'W/"3-a"', { name: "x" })],
    ["a change of a table", () => send("PATCH", `/svc_table/${books}`, 'W/"3-a"', { description: "x" })],
  ])("is said to be weak, and what may have made it so: %s", async (_what, asked) => {
    const { status, body } = await asked();
    expect([status, body.error.code, body.message]).toEqual([
      412,
      "PRECONDITION_FAILED",
      'If-Match: weak ETags (W/"…") match nothing. This service sends strong ones; something on the way, such as a proxy that compresses answers, has made this one weak.',
    ]);
  });

  it("is said to name no version where it is none of ours", async () => {
    expect((await patch({ stock: 4 }, '"somebody-elses"')).body.message).toBe(
      'If-Match: this ETag names no version of a "books" record; send the one that the record was read with. If it is that one, something on the way, such as a proxy, has replaced it.',
    );
  });

  it("is no reason where another one in the list names a version: the record has changed", async () => {
    expect((await patch({ stock: 4 }, 'W/"3-a", "9-abc"')).body.message).toMatch(/was changed since/);
  });
});

describe("If-Match of those who may not know when a record was changed", () => {
  let ann: Api;

  beforeAll(async () => {
    const role = (await make(api, "svc_role", { name: "Few columns" })).id;
    await make(api, "svc_user", { ...ANN, role });
    for (const action of ["read", "update"])
      await make(api, "svc_permission", { role, table: "books", action, fields: "title" });
    ann = await signIn(`${stack.appUrl}/api`, ANN);
  });

  it("is refused whatever has become of the record, as their ETags name no version", async () => {
    const tag = tagOf(await ann.get(`/books/${book}`));
    expect((await patch({ title: "x" }, tag, ann)).status).toBe(412);
    await api.patch(`/books/${book}`, { stock: 77 });
    expect(tagOf(await ann.get(`/books/${book}`))).toBe(tag);
    expect((await patch({ title: "x" }, tag, ann)).status).toBe(412);
  });

  it("is refused in words that say why no reading helps", async () => {
    expect((await patch({ title: "x" }, tagOf(await ann.get(`/books/${book}`)), ann)).body.message).toBe(
      'You may not read updatedAt in every row of "books", so your ETags name no version and If-Match can\'t be used.',
    );
  });
});
