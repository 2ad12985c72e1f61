// GET /{table}/changes: what happens to the records that a caller may see, as it happens.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { Binary, MongoClient, ObjectId } from "mongodb";
import { type Api, apiOf, asAdmin, search, signIn } from "../../support/api.js";
import { CHANGES, type EventSource, holdEvents, openEvents } from "../../support/event-source.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import type { Row } from "../records/make.js";

/** What may pass until the caller of a stream is looked at again, and something for a busy machine. */
const LOOKED_AT_MS = 4_500;

/** For a machine that does other things as well. */
const SLACK_MS = 3_000;

let stack: Stack;
let admin: Api;
let authorization: string;
const open: EventSource[] = [];

beforeAll(async () => {
  stack = await startStack({ env: { CHANGES_HEARTBEAT_MS: "200", CHANGES_STALL_MS: "3000" } });
  admin = await asAdmin(stack);
  authorization = await tokenOf(stack.admin);
  await define({ name: "writers", changes: true, columns: [{ name: "name", type: "string" }] });
  await define({
    name: "notes",
    changes: true,
    columns: [
      { name: "title", type: "string" },
      { name: "rank", type: "int" },
      { name: "secret", type: "string", hidden: true },
      { name: "pin", type: "string", encrypted: true },
      { name: "key", type: "string", unique: true },
    ],
    relations: [
      { name: "writer", type: "many-to-one", table: "writers", inverse: "notes", counted: true },
      { name: "tags", type: "many-to-many", table: "writers", inverse: "tagged" },
    ],
  });
  await define({ name: "plain", columns: [{ name: "title", type: "string" }] });
});

afterEach(() => {
  for (const source of open.splice(0)) source.close();
});

afterAll(() => stack.stop());

async function define(table: unknown): Promise<string> {
  const { status, body } = await admin.post("/svc_table", table);
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body.data[0].id;
}

async function tokenOf(credentials: { email: string; password: string }): Promise<string> {
  const { body } = await apiOf(`${stack.appUrl}/api`).post("/auth/login", credentials);
  return `Bearer ${body.accessToken}`;
}

async function follow(
  path: string,
  { query = {}, token = authorization, from }: { query?: object; token?: string; from?: string } = {},
): Promise<EventSource> {
  const url = `${stack.appUrl}/api${path}${search(query as Record<string, unknown>)}`;
  const source = await openEvents(url, token === "" ? {} : { Authorization: token }, from);
  open.push(source);
  return source;
}

async function make(path: string, body: unknown): Promise<string> {
  const answer = await admin.post(path, body);
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.body.data[0].id;
}

/** A new table with an order, which was told to a client that has left since. */
async function followed(word: string) {
  const name = `orders_${word.replaceAll(/\W+/g, "_")}`;
  const id = await define({ name, changes: true, columns: [{ name: "price", type: "int" }] });
  const query = { filter: { price: { _gt: 5 } } };
  const source = await follow(`/${name}/changes`, { query });
  const order = await make(`/${name}`, { price: 10 });
  await source.first(1, "created");
  source.close();
  return { table: `/svc_table/${id}`, path: `/${name}`, query, order, from: source.lastEventId };
}

const flag = { name: "open", type: "boolean" };

/** What was told, short. */
function short(source: EventSource): string[] {
  return source.told
    .filter(({ event }) => CHANGES.includes(event))
    .map(({ event, data }) => `${event} ${data.id}`);
}

describe("a stream of changes", () => {
  it("tells ids apart that differ by their kind alone", async () => {
    await define({
      name: "mixed",
      idType: "mixed",
      changes: true,
      columns: [{ name: "title", type: "string" }],
    });
    const source = await follow("/mixed/changes");
    const lines = ['{"id":"5","title":"a number"}', '{"id":"\\"5\\"","title":"a text"}'];
    const { status } = await admin.send("POST", "/mixed/import", {
      headers: { "Content-Type": "application/x-ndjson" },
      body: lines.join("\n"),
    });
    expect(status).toBe(200);
    const told = await source.first(2, "created");
    expect(told.map(({ data }) => [data.id, data.record?.title]).toSorted()).toEqual([
      ['"5"', "a text"],
      ["5", "a number"],
    ]);
  });

  it("begins with `ready` and tells of records that are made, changed and deleted, as they are now", async () => {
    const source = await follow("/notes/changes", { query: { fields: "title,rank" } });
    const id = await make("/notes", { title: "a", rank: 1 });
    await source.first(1, "created");
    await admin.patch(`/notes/${id}`, { rank: 2 });
    await source.first(1, "updated");
    await admin.delete(`/notes/${id}`);
    const told = await source.first(3, ...CHANGES);
    const at = expect.stringMatching(/^\d{4}-.*Z$/);
    expect(source.told[0]).toMatchObject({ event: "ready", data: {} });
    expect(told.map(({ data }) => data)).toEqual([
      { event: "created", id, revision: 1, at, record: { title: "a", rank: 1 } },
      { event: "updated", id, revision: 2, at, record: { title: "a", rank: 2 } },
      { event: "deleted", id, revision: 3, at },
    ]);
  });

  it("tells of records that enter and leave the filter, and of no others", async () => {
    const source = await follow("/notes/changes", { query: { filter: { rank: { _gte: 10 } } } });
    const other = await make("/notes", { rank: 1 });
    const id = await make("/notes", { rank: 9 });
    for (const rank of [10, 11, 3]) await admin.patch(`/notes/${id}`, { rank });
    await admin.delete(`/notes/${other}`);
    await admin.delete(`/notes/${id}`);
    const last = await make("/notes", { rank: 10 });
    await source.first(1, "created");
    expect(short(source)).toEqual([`entered ${id}`, `updated ${id}`, `left ${id}`, `created ${last}`]);
  });

  it("tells of links: those a write sets in other records, and those a deletion takes away", async () => {
    const [one, two] = [await make("/notes", { title: "one" }), await make("/notes", { title: "two" })];
    const source = await follow("/notes/changes", { query: { fields: "writer,tags" } });
    const writer = await make("/writers", { name: "Ann", notes: [one, two] });
    await source.first(2, "updated");
    await admin.patch(`/writers/${writer}`, { tagged: [two] });
    await source.first(3, "updated");
    await admin.delete(`/writers/${writer}`);
    const told = await source.first(6, "updated");
    expect(told.map(({ data }) => data.id).toSorted()).toEqual([one, one, two, two, two, two].toSorted());
    expect(told.at(-1)?.data.record.tags ?? []).toEqual([]);
    expect((await admin.get(`/notes/${two}`, { fields: "writer,tags" })).body.data[0]).toMatchObject({
      writer: null,
      tags: [],
    });
  });

  it("shows numbers of related records as they are now", async () => {
    const source = await follow("/writers/changes", { query: { fields: "name,_count(notes)" } });
    const writer = await make("/writers", { name: "Ann" });
    await make("/notes", { title: "one", writer });
    await admin.patch(`/writers/${writer}`, { name: "Anna" });
    const [told] = await source.first(1, "updated");
    expect(told?.data.record).toEqual({ name: "Anna", _count: { notes: 1 } });
  });

  it("judges by related records as they are now", async () => {
    const filter = { notes: { _is_null: false } };
    const source = await follow("/writers/changes", { query: { filter, fields: "name" } });
    const without = await make("/writers", { name: "without" });
    const writer = await make("/writers", { name: "with" });
    await make("/notes", { title: "of it", writer });
    for (const id of [without, writer]) await admin.patch(`/writers/${id}`, { name: "changed" });
    const named = await follow("/notes/changes", { query: { filter: { writer: { name: "changed" } } } });
    await admin.patch(`/writers/${writer}`, { name: "again" });
    const note = await make("/notes", { title: "by name", writer: without });
    await source.first(2, "updated");
    await named.first(1, "created");
    // The making of the writer is not told, unless its note was there by the time it was looked at.
    const told = short(source).filter((each) => each !== `created ${writer}`);
    expect(told).toEqual([`updated ${writer}`, `updated ${writer}`]);
    expect(short(named)).toEqual([`created ${note}`]);
  });

  it.each([false, true])(
    "says `reset` where a delete took away what the record would be judged by (kept: %j)",
    async (softDelete) => {
      const [dens, cubs] = [`dens_${softDelete}`, `cubs_${softDelete}`];
      const columns = [{ name: "name", type: "string" }];
      await define({ name: dens, changes: true, softDelete, columns });
      const den = { name: "den", type: "many-to-one", table: dens, inverse: "cubs", onDelete: "CASCADE" };
      const near = { name: "near", type: "many-to-one", table: dens };
      await define({ name: cubs, changes: true, softDelete, columns, relations: [den, near] });
      const [full, empty] = [
        await make(`/${dens}`, { name: "full" }),
        await make(`/${dens}`, { name: "empty" }),
      ];
      await make(`/${cubs}`, { name: "cub", den: full, near: empty });
      const other = await make(`/${cubs}`, { name: "other", den: empty });
      const changesOf = (table: string, filter: object, from = "") =>
        follow(`/${table}/changes`, { query: { filter }, ...(from === "" ? {} : { from }) });
      const [withCubs, named, inFull, inEmpty] = await Promise.all([
        changesOf(dens, { cubs: {} }),
        changesOf(dens, { _or: [{ name: "full" }, { cubs: {} }] }),
        changesOf(cubs, { den: { name: "full" } }),
        changesOf(cubs, { den: { name: "empty" } }),
      ]);
      expect((await admin.delete(`/${cubs}/${other}`)).status).toBe(200);
      expect((await admin.delete(`/${dens}/${full}`)).status).toBe(200);
      await withCubs.first(1, "reset");
      await Promise.all([named, inEmpty].map((source) => source.first(1, "deleted")));
      // A cub goes before its den, so it may have been judged while that was still there.
      const later = await changesOf(cubs, { den: { name: "full" } }, inFull.told[0]?.id);
      await later.first(1, "reset");
      // What it is near to is still there, and decides.
      const elsewhere = { den: { name: "full" }, near: { name: "full" } };
      const unconcerned = await changesOf(cubs, elsewhere, inFull.told[0]?.id);
      // What the record itself decides, or what is still there, is told.
      expect([named, inEmpty, withCubs].map((source) => short(source))).toEqual([
        [`deleted ${full}`],
        [`deleted ${other}`],
        [],
      ]);
      const again = await make(`/${dens}`, { name: "full" });
      const cub = await make(`/${cubs}`, { name: "last", den: again, near: again });
      await unconcerned.first(1, "created");
      expect(unconcerned.told.map(({ event }) => event)).toEqual(["ready", "created"]);
      expect(short(unconcerned)).toEqual([`created ${cub}`]);
    },
  );

  it("says `reset` where a record lost the link by which it matched to a delete, and only there", async () => {
    const [ann, bea] = [await make("/writers", { name: "Ann" }), await make("/writers", { name: "Bea" })];
    const note = await make("/notes", { title: "by both", writer: ann, tags: [ann, bea] });
    const [byAnn, tagged, byBea] = await Promise.all([
      follow("/notes/changes", { query: { filter: { writer: { name: "Ann" } } } }),
      follow("/notes/changes", { query: { filter: { tags: { name: "Ann" } } } }),
      follow("/notes/changes", { query: { filter: { tags: { name: "Bea" } } } }),
    ]);
    expect((await admin.delete(`/writers/${ann}`)).status).toBe(200);
    await Promise.all([byAnn, tagged].map((source) => source.first(1, "reset")));
    await admin.patch(`/notes/${note}`, { title: "by Bea" });
    await byBea.first(1, "updated");
    expect([byAnn, tagged].map((source) => short(source))).toEqual([[], []]);
    expect(byBea.told.map(({ event }) => event)).not.toContain("reset");
  });

  it("says no `reset` where a link to what is deleted is none of those that are asked for by their ids", async () => {
    await define({ name: "holes", softDelete: true, columns: [{ name: "name", type: "string" }] });
    const hole = { name: "hole", type: "many-to-one", table: "holes" };
    const holes = { name: "holes", type: "many-to-many", table: "holes" };
    const columns = [{ name: "name", type: "string" }];
    await define({ name: "moles", changes: true, columns, relations: [hole, holes] });
    const [wanted, gone, other] = [
      await make("/holes", {}),
      await make("/holes", {}),
      await make("/holes", {}),
    ];
    const moles = [1, 2].map(() => make("/moles", { hole: gone, holes: [gone, other] }));
    const [first, second] = await Promise.all(moles);
    expect((await admin.delete(`/holes/${gone}`)).status).toBe(200);
    const from = (filter: object) => follow("/moles/changes", { query: { filter } });
    const [one, several, negated, ofGone] = await Promise.all([
      from({ hole: { _in: [wanted] } }),
      from({ holes: { id: wanted } }),
      from({ _not: { hole: { _in: [wanted] } } }),
      from({ hole: { _in: [gone] } }),
    ]);
    expect((await admin.patch(`/moles/${first}`, { hole: other, holes: [other] })).status).toBe(200);
    expect((await admin.patch(`/moles/${second}`, { hole: wanted, holes: [wanted] })).status).toBe(200);
    await Promise.all([one, several].map((source) => source.first(1, "reset", "entered")));
    for (const { told } of [one, several])
      expect(told.map(({ event }) => event)).toEqual(["ready", "entered"]);
    // Nobody knows whether what is gone was to be seen, so that "not that one" may have been true.
    await Promise.all([negated, ofGone].map((source) => source.first(1, "reset")));
  });

  it("tells of a list of records that was refused only that what was written is gone", async () => {
    const source = await follow("/notes/changes");
    await make("/notes", { key: "taken" });
    const refused = await admin.post("/notes", [{ key: "free" }, { key: "taken" }, { key: "other" }]);
    const id = await make("/notes", { key: "after" });
    await source.first(2, "created");
    expect(refused.status).toBe(409);
    expect(source.told.at(-1)?.data.id).toBe(id);
    expect(source.told.map(({ event }) => event)).toEqual(["ready", "created", "deleted", "created"]);
  });

  it("goes on behind Last-Event-ID without losing or repeating anything", async () => {
    const before = await follow("/notes/changes");
    const first = await make("/notes", { title: "first" });
    await before.first(1, "created");
    before.close();
    const [second, third] = [await make("/notes", {}), await make("/notes", {})];
    const after = await follow("/notes/changes", { from: before.lastEventId });
    const fourth = await make("/notes", {});
    await after.first(3, "created");
    expect(short(before)).toEqual([`created ${first}`]);
    expect(short(after)).toEqual([second, third, fourth].map((id) => `created ${id}`));
  });

  it("goes on behind an event that the address names, and believes the header before it", async () => {
    const before = await follow("/notes/changes");
    const first = await make("/notes", {});
    const second = await make("/notes", {});
    const [one, two] = await before.first(2, "created");
    const named = await follow("/notes/changes", { query: { lastEventId: one?.id } });
    const both = await follow("/notes/changes", { query: { lastEventId: one?.id }, from: two?.id ?? "" });
    const third = await make("/notes", {});
    await Promise.all([named.first(2, "created"), both.first(1, "created")]);
    expect([short(before)[0], short(named), short(both)]).toEqual([
      `created ${first}`,
      [`created ${second}`, `created ${third}`],
      [`created ${third}`],
    ]);
    const foreign = await admin.get("/notes/changes", { lastEventId: "nonsense" });
    expect([foreign.status, foreign.body.message]).toEqual([
      400,
      expect.stringMatching(/^lastEventId: is not/),
    ]);
    for (const path of ["/notes/changes?lastEventID=1", "/notes?lastEventId=1"])
      expect([path, (await admin.get(path)).status]).toEqual([path, 400]);
  });

  it("moves the client's place on with its signs of life", async () => {
    const source = await follow("/notes/changes", { query: { filter: { title: "never" } } });
    const before = source.lastEventId;
    const missed = await make("/notes", { title: "other" });
    await until(
      () => source.lastEventId,
      (id) => id !== before,
    );
    await new Promise((resolve) => setTimeout(resolve, 500));
    const later = await follow("/notes/changes", { from: source.lastEventId });
    const id = await make("/notes", {});
    await later.first(1, "created");
    expect(short(later)).toEqual([`created ${id}`]);
    expect(missed).not.toBe(id);
  });

  it.each(["nonsense", "", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"])(
    "with the foreign Last-Event-ID %p is refused, or begins anew for none",
    async (id) => {
      const headers = { "Last-Event-ID": id };
      if (id === "") {
        expect((await follow("/notes/changes", { from: id })).told[0]?.event).toBe("ready");
        return;
      }
      const { status, body } = await admin.send("GET", "/notes/changes", { headers });
      expect([status, body.error.code]).toEqual([400, "BAD_REQUEST"]);
      expect(body.message).toMatch(/^Last-Event-ID: /);
    },
  );

  it("says `reset` where the journal no longer goes back so far", async () => {
    const source = await follow("/notes/changes");
    await make("/notes", {});
    await source.first(1, "created");
    source.close();
    const { MongoClient } = await import("mongodb");
    const client = await MongoClient.connect(stack.mongodbUrl);
    await make("/notes", {});
    await make("/notes", {});
    const journal = client.db().collection<{ _id: number }>("_journal");
    const [last] = await journal.find().sort({ _id: -1 }).limit(1).toArray();
    await journal.deleteMany({ _id: { $lt: last?._id ?? 0 } });
    await client.close();
    const later = await follow("/notes/changes", { from: source.lastEventId });
    const id = await make("/notes", {});
    await later.first(1, "created");
    expect(later.told.map(({ event }) => event)).toEqual(["reset", "created"]);
    expect(short(later)).toEqual([`created ${id}`]);
  });

  it("has a table's option for it: others are 404, and it can be switched on later", async () => {
    const refused = await admin.get("/plain/changes");
    expect([refused.status, refused.body.message]).toEqual([404, expect.stringMatching(/"changes": true/)]);
    const id = (await admin.get("/svc_table", { filter: { name: "plain" } })).body.data[0].id;
    const former = await make("/plain", { title: "former" });
    expect((await admin.patch(`/svc_table/${id}`, { changes: true })).status).toBe(200);
    const source = await follow("/plain/changes");
    await admin.patch(`/plain/${former}`, { title: "later" });
    await source.first(1, "updated");
    expect(source.told.at(-1)?.data).toMatchObject({ id: former, revision: 1, record: { title: "later" } });
    expect((await admin.patch(`/svc_table/${id}`, { changes: false })).status).toBe(200);
    const plain = await admin.get("/plain/changes");
    expect([plain.status, plain.body.message]).toEqual([404, expect.stringContaining('set "changes": true')]);
    expect((await admin.get("/svc_user/changes")).body.message).toBe(
      'Changes of "svc_user" can\'t be followed; tables of the service itself have no such option.',
    );
  });

  it("says `reset` to whoever comes back behind a time in which the table kept no journal", async () => {
    const table = await define({ name: "gaps", changes: true, columns: [{ name: "title", type: "string" }] });
    const set = async (options: object) =>
      expect((await admin.patch(`/svc_table/${table}`, options)).status).toBe(200);
    const source = await follow("/gaps/changes");
    await make("/gaps", { title: "told" });
    const [told] = await source.first(1, "created");
    source.close();
    const events = async (from: string | undefined): Promise<string[]> => {
      const again = await follow("/gaps/changes", from === undefined ? {} : { from });
      await make("/gaps", { title: "mark" });
      await again.first(1, "created");
      again.close();
      return again.told.slice(0, 2).map(({ event, data }) => `${event} ${data.record?.title ?? ""}`.trim());
    };
    await set({ changes: false, history: true });
    await make("/gaps", { title: "in the journal" });
    await set({ changes: true });
    expect(await events(told?.id)).toEqual(["ready", "created in the journal"]);
    await set({ changes: false, history: false });
    await make("/gaps", { title: "in no journal" });
    await set({ changes: true });
    expect(await events(told?.id)).toEqual(["reset", "created mark"]);
    expect(await events(undefined)).toEqual(["ready", "created mark"]);
    const last = await follow("/gaps/changes");
    last.close();
    const refused = await admin.delete(`/svc_table/${table}`);
    await admin.delete(`/svc_table/${table}?confirm=${refused.body.error.details.confirmHash}`);
    expect((await admin.post(`/svc_table/${table}/undo`)).status).toBe(200);
    expect(await events(last.lastEventId)).toEqual(["ready", "created mark"]);
  });

  it.each<["reset" | "ready", string, (own: Row) => object[]]>([
    ["reset", "stores a column otherwise", (own) => [{ ...own, type: "float" }]],
    ["reset", "has a column more, with a default", (own) => [own, { ...flag, default: true }]],
    ["ready", "has a column more, without one", (own) => [own, flag]],
  ])("begins with `%s` for whoever comes back to a table that %s by then", async (first, word, columns) => {
    const { table, path, query, order, from } = await followed(word);
    await admin.delete(`${path}/${order}`);
    const [own] = (await admin.get(table)).body.data[0].columns;
    expect((await admin.patch(table, { columns: columns(own) })).status).toBe(200);
    expect((await follow(`${path}/changes`, { query, from })).told[0]?.event).toBe(first);
  });

  it("says `reset` to whoever comes back behind a time in which a column was away", async () => {
    const { table, path, query, order, from } = await followed("away");
    const refused = await admin.patch(table, { columns: [] });
    const { confirmHash: confirm } = refused.body.error.details;
    expect((await admin.patch(table, { columns: [] }, { confirm })).status).toBe(200);
    await admin.delete(`${path}/${order}`);
    expect((await admin.post(`${table}/undo`)).status).toBe(200);
    expect((await follow(`${path}/changes`, { query, from })).told[0]?.event).toBe("reset");
  });

  const left = { name: "left", type: "int" };
  const right = { name: "right", type: "int" };
  const called = ({ id }: Row, name: string): object => ({ id, name });

  it.each<[string, (one: Row, other: Row) => object[][]]>([
    ["at once", (one, other) => [[called(one, "right"), called(other, "left")]]],
    [
      "one after the other",
      (one, other) => [
        [called(one, "free"), called(other, "right")],
        [called(one, "free"), called(other, "left")],
      ],
    ],
  ])(
    "says `reset` where the name of a column has passed to another one %s, also to whoever comes back",
    async (how, steps) => {
      const name = `passed_${how.replaceAll(" ", "_")}`;
      const id = await define({ name, changes: true, columns: [left, right] });
      const query = { filter: { left: 1 } };
      const [open, away] = [
        await follow(`/${name}/changes`, { query }),
        await follow(`/${name}/changes`, { query }),
      ];
      await make(`/${name}`, { left: 1, right: 2 });
      for (const source of [open, away]) await source.first(1, "created");
      away.close();
      const [{ columns }] = (await admin.get(`/svc_table/${id}`)).body.data;
      for (const step of steps(columns[0], columns[1]))
        expect((await admin.patch(`/svc_table/${id}`, { columns: step })).status).toBe(200);
      // Who looked while the name was nobody's has been told that.
      expect(["reset", "end"]).toContain((await open.first(1, "reset", "end"))[0]?.event);
      const again = await follow(`/${name}/changes`, { query, from: away.lastEventId });
      expect(again.told[0]?.event).toBe("reset");
    },
  );

  it.each<[string, string, (folders: string) => Promise<{ filter: object; swap: () => Promise<void> }>]>([
    [
      "a column of a table that it goes through",
      "columns",
      async (folders) => {
        const filter = { folder: { left: 1 } };
        const swap = async (): Promise<void> => {
          const [{ id, columns }] = (await admin.get("/svc_table", { filter: { name: folders } })).body.data;
          const body = { columns: [called(columns[0], "right"), called(columns[1], "left")] };
          expect((await admin.patch(`/svc_table/${id}`, body)).status).toBe(200);
        };
        return { filter, swap };
      },
    ],
    [
      "a link that another table defines",
      "links",
      async () => {
        const toSheets = (name: string, inverse: string): object => {
          return { name, type: "many-to-one", table: "sheets_links", inverse };
        };
        const relations = [toSheets("first", "mine"), toSheets("second", "others")];
        const id = await define({ name: "lines_links", columns: [], relations });
        const swap = async (): Promise<void> => {
          const [{ relations: links }] = (await admin.get(`/svc_table/${id}`)).body.data;
          const inverses = ["others", "mine"];
          const body = {
            relations: links.map((each: Row, at: number) => ({ ...each, inverse: inverses[at] })),
          };
          expect((await admin.patch(`/svc_table/${id}`, body)).status).toBe(200);
        };
        return { filter: { mine: { _is_null: true } }, swap };
      },
    ],
  ])("says `reset` where the name has passed of %s", async (_what, word, prepare) => {
    const [folders, sheets] = [`folders_${word}`, `sheets_${word}`];
    await define({ name: folders, columns: [left, right] });
    const relations = [{ name: "folder", type: "many-to-one", table: folders, inverse: null }];
    await define({ name: sheets, changes: true, columns: [], relations });
    const { filter, swap } = await prepare(folders);
    const source = await follow(`/${sheets}/changes`, { query: { filter } });
    await source.first(1, "ready");
    const [{ id, columns }] = (await admin.get("/svc_table", { filter: { name: folders } })).body.data;
    const more = { columns: [...columns, { name: "middle", type: "int" }] };
    expect((await admin.patch(`/svc_table/${id}`, more)).status).toBe(200);
    await delay(LOOKED_AT_MS);
    expect(source.told.map(({ event }) => event)).toEqual(["ready"]);
    await swap();
    await source.first(1, "reset");
    await make(`/${sheets}`, { folder: { left: 1, right: 1 } });
    await source.first(1, "created");
    expect(source.told.map(({ event }) => event)).toEqual(["ready", "reset", "created"]);
  });

  it("says `reset` in a stream that stays open over such a time, however short", async () => {
    const table = await define({
      name: "blinks",
      changes: true,
      columns: [{ name: "title", type: "string" }],
    });
    const source = await follow("/blinks/changes");
    await admin.patch(`/svc_table/${table}`, { changes: false });
    await make("/blinks", { title: "in no journal" });
    await admin.patch(`/svc_table/${table}`, { changes: true });
    const own = source.first(1, "reset", "end");
    const [first] = await own;
    if (first?.event === "end") {
      expect(first.data).toEqual({ reason: "refused" });
      source.close();
      const again = await follow("/blinks/changes", { from: source.lastEventId });
      expect(again.told[0]?.event).toBe("reset");
    }
    expect(source.told.some(({ event }) => CHANGES.includes(event))).toBe(false);
  });

  it("goes on behind a record that shows more than the database holds at once", async () => {
    const text = { name: "text", type: "text" };
    await define({ name: "shelves", changes: true, columns: [{ name: "name", type: "string" }] });
    const relation = { name: "shelf", type: "many-to-one", table: "shelves", inverse: "boxes" };
    await define({ name: "boxes", columns: [text], relations: [relation] });
    const full = await make("/shelves", { name: "full" });
    for (let at = 0; at < 40; at += 1) await make("/boxes", { text: "x".repeat(900_000), shelf: full });
    const query = { fields: "name", deep: { boxes: { fields: "text", limit: 0 } } };
    const source = await follow("/shelves/changes", { query });
    await admin.patch(`/shelves/${full}`, { name: "fuller" });
    await make("/shelves", { name: "empty" });
    const [updated] = await source.first(1, "updated");
    const [created] = await source.first(1, "created");
    expect([updated?.data.record, created?.data.record]).toEqual([null, { name: "empty", boxes: [] }]);
  });

  it("goes on behind a record with a value that no key of ours opens, and the log names it", async () => {
    const source = await follow("/notes/changes", { query: { fields: "title,pin" } });
    const sealed = await make("/notes", { title: "sealed", pin: "1234" });
    await source.first(1, "created");
    const client = await MongoClient.connect(stack.mongodbUrl);
    const unreadable = { $set: { pin: new Binary(Buffer.alloc(60, 1)) } };
    await client
      .db()
      .collection("notes")
      .updateOne({ _id: new ObjectId(sealed) }, unreadable);
    await client.close();
    source.close();
    await admin.patch(`/notes/${sealed}`, { title: "changed" });
    await make("/notes", { title: "next" });
    // Both at once, as after a pause.
    const again = await follow("/notes/changes", {
      query: { fields: "title,pin" },
      from: source.lastEventId,
    });
    const told = await again.first(2, ...CHANGES, "end");
    expect(told.map(({ event, data }) => [event, data.record])).toEqual([
      ["updated", null],
      ["created", { title: "next", pin: null }],
    ]);
    await until(stack.dataService.log, (log) =>
      log.includes(`pin: the value of the record ${sealed} of \\"notes\\" can't be decrypted`),
    );
  });

  it("is ended by a rename, and never goes on with another table of its name", async () => {
    const title = { columns: [{ name: "title", type: "string" }] };
    const table = await define({ name: "named", changes: true, ...title });
    const source = await follow("/named/changes");
    await admin.patch(`/svc_table/${table}`, { name: "renamed" });
    await define({ name: "named", changes: true, ...title });
    await make("/renamed", { title: "own" });
    await make("/named", { title: "another's" });
    expect((await source.first(1, "end"))[0]?.data).toEqual({ reason: "refused" });
    expect(short(source)).toEqual([]);
  });

  it.each<[string, object]>([
    ["fields", { fields: "title" }],
    ["filter", { filter: { title: "x" } }],
  ])("is ended by another name for a column in its `%s`", async (name, query) => {
    const title = [{ name: "title", type: "string" }];
    const table = await define({ name: `renames_${name}`, changes: true, columns: title });
    const source = await follow(`/renames_${name}/changes`, { query });
    const [{ columns }] = (await admin.get(`/svc_table/${table}`)).body.data;
    await admin.patch(`/svc_table/${table}`, { columns: [{ id: columns[0].id, name: "heading" }] });
    expect((await source.first(1, "end"))[0]?.data).toEqual({ reason: "refused" });
  });

  it("refuses what a list would refuse, and other methods", async () => {
    const ask = async (query: Record<string, unknown>) => (await admin.get("/notes/changes", query)).status;
    expect(await ask({ filter: { nme: 1 } })).toBe(400);
    expect(await ask({ fields: "nme" })).toBe(400);
    expect((await admin.get("/nothing/changes")).status).toBe(404);
    expect((await apiOf(`${stack.appUrl}/api`).get("/notes/changes")).status).toBe(401);
    const { status, headers } = await admin.post("/notes/changes", {});
    expect([status, headers.get("Allow")]).toEqual([405, "GET, OPTIONS"]);
    expect((await admin.send("HEAD", "/notes/changes")).status).toBe(405);
  });
});

describe("rights", () => {
  const reader = { email: "reader@example.com", password: "correct horse battery" };
  let role: string;
  let other: string;
  let user: string;

  beforeAll(async () => {
    role = await make("/svc_role", { name: "readers" });
    other = await make("/svc_role", { name: "nobodies" });
    user = await make("/svc_user", { ...reader, role });
    const rule = { table: "notes", action: "read", fields: "title,secret", role };
    await make("/svc_permission", { ...rule, filter: { title: { _starts_with: "open" } } });
    await make("/svc_permission", { table: "notes", action: "read", role: other, filter: { rank: 1 } });
  });

  it("show the rows and columns that a read would show, and hide the rest", async () => {
    const source = await follow("/notes/changes", { token: await tokenOf(reader) });
    const hidden = await make("/notes", { title: "closed", secret: "x" });
    const id = await make("/notes", { title: "open", rank: 5, secret: "x", pin: "1234" });
    await admin.patch(`/notes/${hidden}`, { title: "open now" });
    await admin.patch(`/notes/${id}`, { title: "closed" });
    await source.first(1, "left");
    expect(short(source)).toEqual([`created ${id}`, `entered ${hidden}`, `left ${id}`]);
    const [entered] = await source.first(1, "entered");
    expect(entered?.data.record).toEqual({ id: hidden, title: "open now" });
    for (const { data } of source.told.filter(({ data }) => data.record))
      expect(Object.keys(data.record).toSorted()).toEqual(["id", "title"]);
    expect(source.told.at(-1)?.data.record).toBeUndefined();
  });

  it("that ask whose a record is are nothing to a visitor, whom the end of an account does not reset", async () => {
    const owner = { name: "owner", type: "many-to-one", table: "svc_user" };
    const columns = [{ name: "published", type: "boolean" }];
    await define({ name: "drafts", changes: true, columns, relations: [owner] });
    const filter = { _or: [{ published: true }, { owner: "$user.id" }] };
    await make("/svc_permission", { table: "drafts", action: "read", role: null, filter });
    const author = await make("/svc_user", { ...reader, email: "author@example.com" });
    await make("/drafts", { published: false, owner: author });
    const visitor = await follow("/drafts/changes", { token: "" });
    expect((await admin.delete(`/svc_user/${author}`)).status).toBe(200);
    await make("/drafts", { published: true });
    await visitor.first(1, "created");
    expect(visitor.told.map(({ event }) => event)).toEqual(["ready", "created"]);
  });

  it("of another role start the stream anew: `reset`, and then by the new role", async () => {
    const source = await follow("/notes/changes", { token: await tokenOf(reader) });
    await admin.patch(`/svc_user/${user}`, { role: other });
    await source.first(1, "reset");
    await make("/notes", { title: "open" });
    const id = await make("/notes", { title: "closed", rank: 1 });
    await source.first(1, "created");
    expect(short(source)).toEqual([`created ${id}`]);
    await admin.patch(`/svc_user/${user}`, { role });
  });

  it("of another role since the stream was left start it anew; the same ones go on", async () => {
    const come = async (token: string, from: string): Promise<string | undefined> =>
      (await follow("/notes/changes", { token, from })).told[0]?.event;
    const token = await tokenOf(reader);
    const source = await follow("/notes/changes", { token });
    await make("/notes", { title: "open" });
    const [told] = await source.first(1, "created");
    const from = told?.id ?? "";
    expect(await come(token, from)).toBe("ready");
    await admin.patch(`/svc_user/${user}`, { role: other });
    const moved = await follow("/notes/changes", { token, from });
    expect(moved.told[0]?.event).toBe("reset");
    // From here on by the new role, and no longer by the former one.
    expect(await come(token, moved.lastEventId)).toBe("ready");
    await admin.patch(`/svc_user/${user}`, { role });
    expect(await come(token, moved.lastEventId)).toBe("reset");
    // A root admin is told what no role is.
    expect(await come(authorization, from)).toBe("reset");
  });

  it("of another user, or of whose user a rule asks something that has changed, start it anew", async () => {
    const team = { name: "team", type: "string" };
    await define({ name: "tasks", changes: true, columns: [team, { name: "owner", type: "string" }] });
    const filter = { _or: [{ team: "$user.name" }, { owner: "$user.email" }] };
    const mine = await make("/svc_role", { name: "members" });
    await make("/svc_permission", { table: "tasks", action: "read", role: mine, filter });
    const member = { ...reader, email: "one@example.com", name: "red", role: mine };
    const one = await make("/svc_user", member);
    await make("/svc_user", { ...member, email: "two@example.com" });
    const come = async (email: string, from = "") =>
      follow("/tasks/changes", { token: await tokenOf({ ...reader, email }), from });
    const first = await come(member.email);
    expect((await come(member.email, first.lastEventId)).told[0]?.event).toBe("ready");
    expect((await come("two@example.com", first.lastEventId)).told[0]?.event).toBe("reset");
    const former = first.lastEventId;
    await admin.patch(`/svc_user/${one}`, { name: "blue" });
    await first.first(1, "reset");
    const later = await come(member.email, former);
    expect(later.told[0]?.event).toBe("reset");
    expect((await come(member.email, later.lastEventId)).told[0]?.event).toBe("ready");
  });

  it("to tables that have no part in a stream, of whose user a rule asks something, do not reset it", async () => {
    const made = { table: "plain", action: "read", role: null, filter: { title: "$user.name" } };
    const token = await tokenOf(reader);
    const source = await follow("/notes/changes", { token, query: { fields: "title" } });
    const rule = await make("/svc_permission", made);
    await delay(LOOKED_AT_MS);
    const id = await make("/notes", { title: "open" });
    await source.first(1, "created");
    expect(source.told.map(({ event }) => event)).toEqual(["ready", "created"]);
    const again = await follow("/notes/changes", { token, from: source.lastEventId });
    expect(again.told[0]?.event).toBe("ready");
    expect((await admin.delete(`/svc_permission/${rule}`)).status).toBe(200);
    await admin.delete(`/notes/${id}`);
    await source.first(1, "deleted");
    expect(short(source)).toEqual([`created ${id}`, `deleted ${id}`]);
  });

  it("to a table that a stream goes through, of whose user a rule asks something new, reset it", async () => {
    const relations = [{ name: "writer", type: "many-to-one", table: "writers" }];
    await define({ name: "drawings", changes: true, relations });
    await make("/svc_permission", {
      table: "drawings",
      action: "read",
      role,
      filter: { writer: { name: "Ann" } },
    });
    const source = await follow("/drawings/changes", {
      token: await tokenOf(reader),
      query: { fields: "id" },
    });
    await make("/svc_permission", {
      table: "writers",
      action: "read",
      role,
      filter: { name: "$user.name" },
    });
    await source.first(1, "reset");
  });

  it("that are taken away end the stream", async () => {
    const source = await follow("/notes/changes", { token: await tokenOf(reader) });
    const { body } = await admin.get("/svc_permission", { filter: { role, table: "notes" } });
    await admin.patch(`/svc_permission/${body.data[0].id}`, { isEnabled: false });
    expect((await source.first(1, "end"))[0]?.data).toEqual({ reason: "refused" });
    await source.ended();
    await admin.patch(`/svc_permission/${body.data[0].id}`, { isEnabled: true });
  });

  it.each<[string, (api: Api, token: string) => Promise<unknown>]>([
    [
      "the session is ended",
      (_api, token) => apiOf(`${stack.appUrl}/api`, { Authorization: token }).post("/logout"),
    ],
    ["the user is deactivated", (api) => api.patch(`/svc_user/${user}`, { isActive: false })],
  ])("are gone within 5 s when %s", async (_what, act) => {
    const token = await tokenOf(reader);
    const source = await follow("/notes/changes", { token });
    const began = performance.now();
    await act(admin, token);
    const [end] = await source.first(1, "end");
    expect(end?.data).toEqual({ reason: "signed-out" });
    expect(performance.now() - began).toBeLessThan(5_000 + SLACK_MS);
    await admin.patch(`/svc_user/${user}`, { isActive: true });
  });

  it("are gone within 5 s when another instance ends the session right before they begin", async () => {
    const token = await tokenOf(reader);
    // From now on it is remembered here for five seconds.
    expect((await apiOf(`${stack.appUrl}/api`, { Authorization: token }).get("/me")).status).toBe(200);
    const { sid } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
    const client = await MongoClient.connect(stack.mongodbUrl);
    await client.db().collection<{ _id: string }>("_sessions").deleteOne({ _id: sid });
    await client.close();
    await delay(3_000);
    const source = await follow("/notes/changes", { token });
    const began = performance.now();
    expect((await source.first(1, "end"))[0]?.data).toEqual({ reason: "signed-out" });
    expect(performance.now() - began).toBeLessThan(2_500);
  });

  it("are gone within 5 s when the API token is revoked", async () => {
    const session = apiOf(`${stack.appUrl}/api`, { Authorization: await tokenOf(reader) });
    const { body } = await session.post("/auth/api-tokens", {
      name: "t",
      expiresAt: "never",
      readOnly: true,
    });
    const source = await follow("/notes/changes", { token: `Bearer ${body.data[0].token}` });
    const began = performance.now();
    await session.delete(`/auth/api-tokens/${body.data[0].id}`);
    expect((await source.first(1, "end"))[0]?.data).toEqual({ reason: "signed-out" });
    expect(performance.now() - began).toBeLessThan(5_000 + SLACK_MS);
  });
});

describe("through the gateway with cookies", () => {
  it("a page of the app follows with its session, and the cookies are enough", async () => {
    const base = `${stack.appUrl}/api`;
    const { headers } = await apiOf(base).post("/login", stack.admin);
    const cookie = headers
      .getSetCookie()
      .map((each) => each.split(";")[0])
      .join("; ");
    const source = await openEvents(`${base}/notes/changes?fields=title`, { Cookie: cookie });
    open.push(source);
    const id = await make("/notes", { title: "cookie" });
    const [told] = await source.first(1, "created");
    expect(told?.data).toMatchObject({ id, record: { title: "cookie" } });
    await apiOf(base, { Cookie: cookie }).post("/logout");
    expect((await source.first(1, "end"))[0]?.data).toEqual({ reason: "signed-out" });
  });
});

describe("many at once on one record", () => {
  it("are told one by one, in the order in which they were made", async () => {
    const source = await follow("/notes/changes", { query: { fields: "rank" } });
    const id = await make("/notes", { rank: 0 });
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, at) => admin.patch(`/notes/${id}`, { rank: at + 1 })),
    );
    const told = await source.first(answers.filter(({ status }) => status === 200).length + 1, ...CHANGES);
    expect(told.map(({ data }) => data.revision)).toEqual(told.map((_, at) => at + 1));
    expect(told.at(-1)?.data.record).toEqual(
      (await admin.get(`/notes/${id}`, { fields: "rank" })).body.data[0],
    );
  });
});

describe("a client that closes its stream", () => {
  it("is no request that was cut off", async () => {
    const events = await openEvents(`${stack.dataUrl}/notes/changes`, { Authorization: authorization });
    const lines = () =>
      stack.dataService
        .log()
        .split("\n")
        .filter((line) => line.includes('"path":"/notes/changes"'));
    const before = lines().length;
    events.close();
    const after = await until(lines, ({ length }) => length > before);
    expect(JSON.parse(after.at(-1) ?? "")).toMatchObject({ level: "info", message: "stream ended" });
  });
});

describe("a client that does not read", () => {
  it("is told no more than it takes, then let go, and can go on where it was", async () => {
    const url = `${stack.dataUrl}/notes/changes?fields=rank,title`;
    const ends = () => stack.dataService.log().split('"path":"/notes/changes"').length;
    const held = await holdEvents(url, { Authorization: authorization });
    const before = ends();
    // More than all sockets on the way hold.
    const title = "x".repeat(300_000);
    for (let at = 0; at < 100; at += 1) await make("/notes", { title, rank: at });
    await until(ends, (count) => count > before);
    const first = held.read();
    open.push(first);
    await first.ended();
    const some = first.told.filter(({ event }) => event === "created");
    expect(some.length).toBeLessThan(100);
    const rest = await openEvents(url, { Authorization: authorization }, first.lastEventId);
    open.push(rest);
    const more = await rest.first(100 - some.length, "created");
    expect([...some, ...more].map(({ data }) => data.record.rank)).toEqual(
      Array.from({ length: 100 }, (_, at) => at),
    );
  });
});

describe("a stream that can't go on", () => {
  it("is ended when the service stops, and goes on at the next one without a gap", async () => {
    const source = await follow("/notes/changes");
    await make("/notes", { title: "before" });
    await source.first(1, "created");
    await stack.dataService.stop();
    await source.ended();
    expect(source.told.at(-1)?.data).toEqual({ reason: "restart" });
    await stack.restartDataService();
    admin = await signIn(`${stack.appUrl}/api`, stack.admin);
    const id = await make("/notes", { title: "after" });
    const again = await follow("/notes/changes", { from: source.told.at(-2)?.id ?? "" });
    await again.first(1, "created");
    expect(short(again)).toEqual([`created ${id}`]);
  });

  it("does not hold up a gateway that stops", async () => {
    const source = await follow("/notes/changes");
    const began = performance.now();
    await stack.gateway.stop();
    await source.ended();
    // Requests in flight would get 30 s.
    expect(performance.now() - began).toBeLessThan(20_000);
  });
});
