// Links that lie in other records, which somebody else changes between the moment when the rules are asked about them and
// the write (security row I4): what is moved is what was judged.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Api, asAdmin, signIn } from "../../support/api.js";
import { type BehindProxy, startBehindProxy } from "../../support/behind-proxy.js";
import { type Fate, isReadOf, isWriteOf } from "../../support/command-proxy.js";
import { ADMIN, type Stack, startStack } from "../../support/stack.js";
import { make, makeTable, type Row, read, valuesOf } from "../records/make.js";

const ANN = { email: "ann@example.com", password: "ann's password" };

let quick: Stack;
let held: BehindProxy;
/** Answered by another instance, which nothing holds up. */
let admin: Api;
let ann: Api;
let post: Row;
let shelf: Row;

beforeAll(async () => {
  quick = await startStack();
  admin = await asAdmin(quick);
  const columns = [{ name: "title", type: "string" }];
  await makeTable(admin, { name: "posts", columns });
  await makeTable(admin, { name: "shelves", columns });
  await makeTable(admin, {
    name: "comments",
    columns: [
      ...columns,
      { name: "locked", type: "boolean", default: false },
      { name: "score", type: "int", default: 0 },
    ],
    relations: [
      { name: "post", type: "many-to-one", table: "posts", inverse: "comments" },
      { name: "shelves", type: "many-to-many", table: "shelves", inverse: "comments" },
      { name: "pinnedTo", type: "one-to-one", table: "posts", inverse: "pin" },
    ],
  });
  const role = (await make(admin, "svc_role", { name: "Writer" })).id;
  await make(admin, "svc_user", { ...ANN, role });
  for (const table of ["posts", "shelves", "comments"])
    await make(admin, "svc_permission", { role, table, action: "read" });
  for (const table of ["posts", "shelves"])
    await make(admin, "svc_permission", { role, table, action: "update" });
  const free = { locked: false, score: { _gte: 0 } };
  await make(admin, "svc_permission", { role, table: "comments", action: "update", filter: free });
  held = await startBehindProxy(quick);
  ann = await signIn(`${held.stack.appUrl}/api`, ANN);
});

afterAll(async () => {
  await held?.stop();
  await quick?.stop();
});

beforeEach(async () => {
  post = await make(admin, "posts", { title: "post" });
  shelf = await make(admin, "shelves", { title: "shelf" });
});

/** Has something done when Ann's next change of such a record has been judged and is about to be written. */
function beforeItsWrite(table: string, act: () => Promise<unknown>): void {
  let isDone = false;
  held.proxy.decide(async (command): Promise<Fate> => {
    const isWrite = [`update\u0000`, `findAndModify\u0000`].some((name) => command.includes(name));
    if (isWrite && command.includes(`${table}\u0000`) && !isDone) {
      isDone = true;
      await act();
    }
    return "pass";
  });
}

const locked = (comment: Row) => () => admin.patch(`/comments/${comment.id}`, { locked: true });
const ids = async (path: string): Promise<string[]> => {
  const { body } = await admin.get(path, { fields: "comments" });
  return body.data[0].comments.map(({ id }: Row) => id);
};

describe.each([
  ["posts", "post"],
  ["shelves", "shelves"],
])("the comments of one of the %s", (table, relation) => {
  const parent = (): Row => (table === "posts" ? post : shelf);
  const path = (): string => `/${table}/${parent().id}`;
  const linked = (): Row => ({ [relation]: relation === "post" ? parent().id : [parent().id] });

  it("that somebody else links in this moment stays", async () => {
    const mine = await make(admin, "comments", { title: "mine", ...linked() });
    let other: Row;
    beforeItsWrite(table, async () => {
      other = await make(admin, "comments", { title: "other", locked: true, ...linked() });
    });
    expect((await ann.patch(path(), { comments: [] })).status).toBe(200);
    expect(await ids(path())).toEqual([other.id]);
    expect(await read(admin, "comments", mine.id, "title")).toBeDefined();
  });

  it("are set and let go of when others change one of them in this moment that is the caller's before and after", async () => {
    const [comes, goes] = [
      await make(admin, "comments", { title: "comes" }),
      await make(admin, "comments", { title: "goes", ...linked() }),
    ];
    for (const [each, score] of [
      [comes, 1],
      [goes, 2],
    ]) {
      beforeItsWrite(table, () => admin.patch(`/comments/${each.id}`, { score }));
      const { status } = await ann.patch(path(), { title: `changed ${score}`, comments: [comes.id] });
      expect([status, await ids(path())]).toEqual([200, [comes.id]]);
      expect((await read(admin, table, parent().id, "title")).title).toBe(`changed ${score}`);
      await admin.patch(path(), { comments: [goes.id] });
    }
  });

  it("are refused with 503 when others change one again and again, or once where If-Match was sent", async () => {
    const comment = await make(admin, "comments", { title: "comes" });
    const isWrite = isWriteOf(table);
    let score = 0;
    const raise = () => {
      score += 1;
      return admin.patch(`/comments/${comment.id}`, { score });
    };
    held.proxy.decide(async (command): Promise<Fate> => {
      if (isWrite(command)) await raise();
      return "pass";
    });
    const { status, headers } = await ann.patch(path(), { title: "changed", comments: [comment.id] });
    expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
    expect([await ids(path()), (await read(admin, table, parent().id, "title")).title]).toEqual([
      [],
      parent().title,
    ]);
    beforeItsWrite(table, raise);
    const tag = (await ann.get(path())).headers.get("etag") ?? "none";
    const once = await ann.send("PATCH", path(), {
      body: JSON.stringify({ comments: [comment.id] }),
      headers: { "Content-Type": "application/json", "If-Match": tag },
    });
    expect([once.status, await ids(path())]).toEqual([503, []]);
  });

  it("is not linked when it has got out of the caller's rows in this moment, and nothing is changed", async () => {
    const comment = await make(admin, "comments", { title: "free" });
    beforeItsWrite(table, locked(comment));
    expect((await ann.patch(path(), { title: "changed", comments: [comment.id] })).status).toBe(403);
    expect([await ids(path()), (await read(admin, table, parent().id, "title")).title]).toEqual([
      [],
      parent().title,
    ]);
  });

  it("is not let go when it has got out of the caller's rows in this moment, and nothing is changed", async () => {
    const comment = await make(admin, "comments", { title: "free", ...linked() });
    beforeItsWrite(table, locked(comment));
    const { status } = await ann.patch(path(), { title: "changed", comments: [] });
    expect([status, await ids(path())]).toEqual([403, [comment.id]]);
    expect((await read(admin, table, parent().id, "title")).title).toBe(parent().title);
  });

  it("that stays is nobody's to judge: only what comes and what goes changes", async () => {
    beforeItsWrite("none", async () => undefined);
    const add = async (parts: Row): Promise<string> =>
      (await make(admin, "comments", { title: "x", ...parts })).id;
    const [stays, goes] = [await add({ locked: true, ...linked() }), await add(linked())];
    const [comes, stranger] = [await add({}), await add({ locked: true })];
    const put = async (...comments: string[]) => (await ann.patch(path(), { comments })).status;
    expect(await put(stays, goes)).toBe(200);
    expect(await put(stays, goes, comes)).toBe(200);
    expect(await put(stays, comes)).toBe(200);
    expect(await put(comes)).toBe(403);
    expect(await put(stays, comes, stranger)).toBe(403);
    expect((await ids(path())).toSorted()).toEqual([stays, comes].toSorted());
  });

  it("that stays, and that somebody else lets go of in this moment, is not set again", async () => {
    const comment = await make(admin, "comments", { title: "stays", locked: true, ...linked() });
    beforeItsWrite(table, () =>
      admin.patch(`/comments/${comment.id}`, { [relation]: relation === "post" ? null : [] }),
    );
    const { status } = await ann.patch(path(), { title: "changed", comments: [comment.id] });
    expect([status, await ids(path())]).toEqual([403, []]);
    expect((await read(admin, table, parent().id, "title")).title).toBe(parent().title);
  });

  it("that others link again and again while the rules are asked is no reason to forbid the change", async () => {
    await make(admin, "comments", { title: "free", ...linked() });
    const isRead = isReadOf("comments");
    held.proxy.decide(async (command): Promise<Fate> => {
      // What was counted a moment ago is no longer all.
      if (isRead(command) && !command.includes("$count"))
        await make(admin, "comments", { title: "another", ...linked() });
      return "pass";
    });
    const { status, headers } = await ann.patch(path(), { comments: [] });
    expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
  });

  it("is linked and let go as the rules allow it, of many kinds", async () => {
    const former = await Promise.all(
      ["a", "b"].map((title) => make(admin, "comments", { title, ...linked() })),
    );
    const coming = await make(admin, "comments", { title: "c" });
    beforeItsWrite(table, async () => undefined);
    const wanted = [former[0].id, coming.id];
    expect((await ann.patch(path(), { comments: wanted })).status).toBe(200);
    expect((await ids(path())).toSorted()).toEqual(wanted.toSorted());
    const filter = { id: { _in: former.map(({ id }) => id) }, [relation]: { _is_null: false } };
    expect(await valuesOf(admin, "comments", "title", filter)).toEqual(["a"]);
  });
});

it("the only link of a record is judged when it comes or goes, and not when it stays", async () => {
  beforeItsWrite("none", async () => undefined);
  const pinned = await make(admin, "comments", { title: "x", locked: true, pinnedTo: post.id });
  const put = async (pin: string | null) => (await ann.patch(`/posts/${post.id}`, { pin })).status;
  expect([await put(pinned.id), await put(null)]).toEqual([200, 403]);
});

it("a link that stays in a list is not set again when what it leads to is deleted in this moment", async () => {
  const comment = await make(admin, "comments", { title: "stays", shelves: [shelf.id] });
  beforeItsWrite("comments", () => admin.delete(`/shelves/${shelf.id}`));
  const other = await make(admin, "comments", { title: "comes" });
  const root = await signIn(`${held.stack.appUrl}/api`, ADMIN);
  const { status } = await root.patch(`/shelves/${shelf.id}`, { comments: [comment.id, other.id] });
  const linked = { id: { _in: [comment.id, other.id] }, shelves: { _is_null: false } };
  expect([status, await valuesOf(admin, "comments", "title", linked)]).toEqual([404, []]);
});

it("the only link of a record, if somebody else sets it in this moment, is taken by the name that the body has", async () => {
  const [mine, other] = [await make(admin, "comments", {}), await make(admin, "comments", {})];
  beforeItsWrite("posts", () => admin.patch(`/comments/${other.id}`, { pinnedTo: post.id }));
  const { status, body } = await ann.patch(`/posts/${post.id}`, { pin: mine.id });
  const message = 'pin: another record of "comments" has this place already';
  expect([status, body.message, body.error.details]).toEqual([409, message, { fields: ["pin"] }]);
});

describe("a request that changes by itself what the rules look at", () => {
  let coach: Api;

  beforeAll(async () => {
    const columns = [{ name: "name", type: "string" }];
    const toUser = { name: "coach", type: "many-to-one", table: "svc_user" };
    await makeTable(admin, { name: "teams", columns, relations: [toUser] });
    await makeTable(admin, {
      name: "matches",
      columns,
      relations: [
        { name: "home", type: "many-to-one", table: "teams", inverse: "homeMatches" },
        { name: "away", type: "many-to-one", table: "teams", inverse: "awayMatches" },
        { name: "watched", type: "many-to-many", table: "teams", inverse: "watches" },
      ],
    });
    const parent = { name: "parent", type: "many-to-one", table: "places", inverse: "children" };
    await makeTable(admin, { name: "places", columns, relations: [parent] });
    const inside = { name: "inside", type: "many-to-one", table: "rooms", inverse: "holds" };
    await makeTable(admin, { name: "rooms", relations: [inside] });
    await makeTable(admin, {
      name: "crew",
      columns: [...columns, { name: "level", type: "int" }],
      relations: [{ name: "boss", type: "many-to-one", table: "crew" }],
    });
    const role = (await make(admin, "svc_role", { name: "Coach" })).id;
    const credentials = { email: "coach@example.com", password: "coach's password" };
    await make(admin, "svc_user", { ...credentials, role });
    const mine = { coach: "$user.id" };
    for (const table of ["teams", "matches", "places", "rooms", "crew"])
      await make(admin, "svc_permission", { role, table, action: "read" });
    for (const action of ["create", "update"])
      await make(admin, "svc_permission", { role, table: "teams", action });
    await make(admin, "svc_permission", {
      role,
      table: "matches",
      action: "update",
      filter: { _or: [{ home: mine }, { away: mine }, { watched: mine }] },
    });
    await make(admin, "svc_permission", {
      role,
      table: "places",
      action: "update",
      filter: { name: { _neq: "locked" } },
    });
    await make(admin, "svc_permission", { role, table: "places", action: "create" });
    const free = { inside: null };
    await make(admin, "svc_permission", { role, table: "rooms", action: "update", filter: free });
    await make(admin, "svc_permission", { role, table: "rooms", action: "create" });
    const check = { boss: { level: { _lt: 5 } } };
    await make(admin, "svc_permission", { role, table: "crew", action: "update", check });
    coach = await signIn(`${held.stack.appUrl}/api`, credentials);
    beforeItsWrite("none", async () => undefined);
  });

  const team = async (): Promise<Row> => {
    const { data } = (await coach.get("/me")).body;
    return make(admin, "teams", { coach: data[0].id });
  };

  it("moves a record from one of its lists into another", async () => {
    const { id } = await team();
    const match = await make(admin, "matches", { home: id });
    const change = { homeMatches: [], awayMatches: [match.id] };
    expect((await coach.patch(`/teams/${id}`, change)).status).toBe(200);
    expect(await read(admin, "matches", match.id, "home.id,away.id")).toMatchObject({
      home: null,
      away: { id },
    });
  });

  it("lets a record go from two of its lists", async () => {
    const { id } = await team();
    const match = await make(admin, "matches", { home: id, away: id });
    expect((await coach.patch(`/teams/${id}`, { homeMatches: [], awayMatches: [] })).status).toBe(200);
    expect(await read(admin, "matches", match.id, "home.id,away.id")).toMatchObject({
      home: null,
      away: null,
    });
  });

  it("links one record to several that it makes", async () => {
    const { id } = await team();
    const match = await make(admin, "matches", { watched: [id] });
    const { status } = await coach.post("/teams", [{ watches: [match.id] }, { watches: [match.id] }]);
    expect(status).toBe(201);
    expect((await read(admin, "matches", match.id, "watched")).watched).toHaveLength(3);
  });

  it("links a record to itself", async () => {
    const { id } = await make(admin, "places", { name: "before" });
    expect((await coach.patch(`/places/${id}`, { name: "after", children: [id] })).status).toBe(200);
    expect(await read(admin, "places", id, "name,parent.id")).toMatchObject({
      name: "after",
      parent: { id },
    });
  });

  it.each([
    ["a change", 403, (own: Row) => coach.patch(`/places/${own.id}`, { name: "b", children: own.children })],
    ["a new record", 503, (own: Row) => coach.post("/places", { name: "b", children: own.children })],
  ])(
    "writes in %s what they ask of other records too, and links none that is locked meanwhile",
    async (_, refused, send) => {
      const [{ id }, child] = [
        await make(admin, "places", { name: "a" }),
        await make(admin, "places", { name: "free" }),
      ];
      beforeItsWrite("places", () => admin.patch(`/places/${child.id}`, { name: "locked" }));
      expect((await send({ id, children: [child.id] })).status).toBe(refused);
      expect((await read(admin, "places", child.id, "parent")).parent).toBeNull();
      expect((await read(admin, "places", id, "name")).name).toBe("a");
    },
  );

  it("sets its own link, and links no other record that somebody else links meanwhile", async () => {
    const [mine, theirs, room] = [
      await make(admin, "rooms", {}),
      await make(admin, "rooms", {}),
      await make(admin, "rooms", {}),
    ];
    beforeItsWrite("rooms", () => admin.patch(`/rooms/${room.id}`, { inside: theirs.id }));
    const { status } = await coach.patch(`/rooms/${mine.id}`, { inside: null, holds: [room.id] });
    expect([status, (await read(admin, "rooms", room.id, "inside.id")).inside]).toEqual([
      403,
      { id: theirs.id },
    ]);
  });

  it("links to several that it makes no record that somebody else links meanwhile", async () => {
    const [theirs, room] = [await make(admin, "rooms", {}), await make(admin, "rooms", {})];
    beforeItsWrite("rooms", () => admin.patch(`/rooms/${room.id}`, { inside: theirs.id }));
    const { status } = await coach.post("/rooms", [{ holds: [room.id] }, { holds: [room.id] }]);
    expect([status, (await read(admin, "rooms", room.id, "inside.id")).inside]).toEqual([
      503,
      { id: theirs.id },
    ]);
    expect((await coach.post("/rooms", [{ holds: [room.id] }, { holds: [room.id] }])).status).toBe(403);
    await admin.patch(`/rooms/${room.id}`, { inside: null });
    expect((await coach.post("/rooms", [{ holds: [room.id] }, { holds: [room.id] }])).status).toBe(201);
  });

  it("is judged anew when the record, to which it links itself, is changed meanwhile", async () => {
    const { id } = await make(admin, "crew", { name: "before", level: 3 });
    await admin.patch(`/crew/${id}`, { boss: id });
    beforeItsWrite("crew", () => admin.patch(`/crew/${id}`, { level: 9 }));
    expect((await coach.patch(`/crew/${id}`, { name: "after" })).status).toBe(403);
    expect((await read(admin, "crew", id, "name")).name).toBe("before");
  });

  it("lets go of many at once, whatever they are like", async () => {
    const { id } = await make(admin, "places", { name: "parent" });
    const children = Array.from({ length: 1_000 }, (_, at) => ({ name: `child ${at % 300}`, parent: id }));
    expect((await admin.post("/places", children)).status).toBe(201);
    expect((await coach.patch(`/places/${id}`, { children: [] })).status).toBe(200);
    const { body } = await admin.get("/places", { filter: { parent: id }, meta: "filterCount", limit: "1" });
    expect(body.meta.filterCount).toBe(0);
  });
});
