// Permission rules over HTTP: rows, columns, presets and checks, on every road to a record.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { Binary, MongoClient, ObjectId } from "mongodb";
import { type Answer, type Api, apiOf, asAdmin, signIn } from "../../support/api.js";
import { untilLogged } from "../../support/process-facts.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable, type Row } from "../records/make.js";
import { filesOf } from "../transfer/files.js";

const ANN = { email: "ann@example.com", password: "ann's password" };
const BOB = { email: "bob@example.com", password: "bob's password" };

let stack: Stack;
let admin: Api;
let ann: Api;
let anyone: Api;
let annId: string;
let bobId: string;
let role: string;
const teams: Record<string, Row> = {};
let notes: Row[];

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  role = (await make(admin, "svc_role", { name: "Writer" })).id;
  annId = (await make(admin, "svc_user", { ...ANN, name: "Ann", role })).id;
  bobId = (await make(admin, "svc_user", { ...BOB, name: "Bob", role })).id;
  await makeTable(admin, { name: "teams", columns: [{ name: "name", type: "string" }] });
  await makeTable(admin, {
    name: "notes",
    idType: "int",
    columns: [
      { name: "title", type: "string" },
      { name: "status", type: "enum", options: { values: ["open", "done"] }, default: "open" },
      { name: "salary", type: "int" },
      { name: "secret", type: "string", hidden: true },
    ],
    relations: [
      { name: "owner", type: "many-to-one", table: "svc_user" },
      { name: "team", type: "many-to-one", table: "teams", inverse: "notes" },
    ],
  });
  await makeTable(admin, {
    name: "boards",
    columns: [{ name: "name", type: "string" }],
    relations: [{ name: "pins", type: "many-to-many", table: "notes", inverse: "boards" }],
  });
  for (const name of ["red", "blue"]) teams[name] = await make(admin, "teams", { name });
  ann = await signIn(`${stack.appUrl}/api`, ANN);
  anyone = apiOf(`${stack.appUrl}/api`);
});

afterAll(() => stack.stop());

beforeEach(async () => {
  for (const table of ["svc_permission", "notes"]) {
    const { body } = await admin.get(`/${table}`, { fields: "id", limit: "0" });
    await Promise.all(body.data.map(({ id }: Row) => admin.delete(`/${table}/${id}`)));
  }
  const { body } = await admin.post("/notes", [
    { title: "a", salary: 1, secret: "s1", owner: annId, team: teams.red.id, status: "open" },
    { title: "b", salary: 2, secret: "s2", owner: bobId, team: teams.blue.id, status: "open" },
    { title: "c", salary: 3, secret: "s3", owner: annId, status: "done" },
  ]);
  notes = body.data;
});

const rule = (parts: Row): Promise<Row> =>
  make(admin, "svc_permission", { table: "notes", action: "read", role, ...parts });
const titles = ({ body }: Answer): string[] => body.data.map(({ title }: Row) => title).sort();
const refusal = ({ status, body }: Answer): [number, string] => [status, body.message];

describe("without a rule", () => {
  it("anonymous callers are sent to sign in, and users refused", async () => {
    for (const [method, path] of [
      ["GET", "/notes"],
      ["GET", `/notes/${notes[0].id}`],
      ["DELETE", `/notes/${notes[0].id}`],
    ] as const) {
      expect((await anyone.send(method, path)).status).toBe(401);
      expect((await ann.send(method, path)).status).toBe(403);
    }
  });
});

describe("a write that no rule allows", () => {
  it("is refused as such, whatever can't be shown of the record", async () => {
    await makeTable(admin, {
      name: "letters",
      columns: [
        { name: "title", type: "string" },
        { name: "sealed", type: "string", encrypted: true },
      ],
    });
    const path = `/letters/${(await make(admin, "letters", { title: "a", sealed: "b" })).id}`;
    await rule({ table: "letters" });
    for (const action of ["update", "delete"])
      await rule({ table: "letters", action, filter: { title: "x" } });
    const database = await MongoClient.connect(stack.mongodbUrl);
    await database
      .db()
      .collection("letters")
      .updateOne({}, { $set: { sealed: new Binary(Buffer.alloc(40)) } });
    await database.close();
    expect((await ann.get(path)).status).toBe(500);
    expect([(await ann.patch(path, { title: "c" })).status, (await ann.delete(path)).status]).toEqual([
      403, 403,
    ]);
  });
});

describe("rules for reading", () => {
  it("with a variable that has no value let no row through by the negation of a to-many relation", async () => {
    await makeTable(admin, {
      name: "places",
      columns: [{ name: "title", type: "string" }],
      relations: [
        { name: "banned", type: "many-to-many", table: "svc_user", inverse: "bannedFrom" },
        { name: "parts", type: "many-to-many", table: "places", inverse: "wholes" },
      ],
    });
    const open = await make(admin, "places", { title: "open" });
    await make(admin, "places", { title: "closed", banned: [annId], parts: [open.id] });
    const seen = async (api: Api, filter: unknown): Promise<string[]> => {
      const { id } = await rule({ table: "places", role: null, filter });
      const answer = await api.get("/places");
      await admin.delete(`/svc_permission/${id}`);
      return titles(answer);
    };
    const isBanned = { banned: "$user.id" };
    expect(await seen(ann, { _not: isBanned })).toEqual(["open"]);
    expect(await seen(anyone, { _not: isBanned })).toEqual([]);
    expect(await seen(anyone, isBanned)).toEqual([]);
    expect(await seen(anyone, { parts: { _not: isBanned } })).toEqual([]);
    expect(await seen(ann, { parts: { _not: isBanned } })).toEqual(["closed"]);
    const orOpen = { parts: { _or: [isBanned, { title: "open" }] } };
    expect(await seen(anyone, orOpen)).toEqual(["closed"]);
    expect(await seen(anyone, { _not: orOpen })).toEqual([]);
    expect(await seen(ann, { _not: orOpen })).toEqual(["open"]);
  });

  it("for everyone hold for anonymous callers and for users", async () => {
    await rule({ role: null, filter: { status: "open" } });
    expect(titles(await anyone.get("/notes"))).toEqual(["a", "b"]);
    expect(titles(await ann.get("/notes"))).toEqual(["a", "b"]);
  });

  it("limit rows by the caller, and rows outside are 404", async () => {
    await rule({ filter: { owner: "$user.id" } });
    expect(titles(await ann.get("/notes"))).toEqual(["a", "c"]);
    expect((await ann.get(`/notes/${notes[1].id}`)).status).toBe(404);
    const { body } = await ann.get("/notes", { meta: "*", filter: { status: "open" } });
    expect(body.meta).toEqual({ totalCount: 2, filterCount: 1 });
  });

  it("limit rows through relations and by the caller's own columns", async () => {
    await rule({ filter: { owner: { name: "$user.name" } } });
    expect(titles(await ann.get("/notes"))).toEqual(["a", "c"]);
  });

  it("limit rows by the time: a row shows as soon as its time has come", async () => {
    await makeTable(admin, {
      name: "posts",
      columns: [
        { name: "title", type: "string" },
        { name: "publishAt", type: "datetime" },
      ],
    });
    await rule({ table: "posts", role: null, filter: { publishAt: { _lte: "$now" } } });
    const time = Date.now() + 1_500;
    await admin.post("/posts", [
      { title: "out", publishAt: new Date(0).toISOString() },
      { title: "to come", publishAt: new Date(time).toISOString() },
      { title: "far off", publishAt: "2999-01-01T00:00:00.000Z" },
    ]);
    const [before, asked] = [titles(await anyone.get("/posts")), Date.now()];
    if (asked < time) expect(before).toEqual(["out"]);
    await new Promise((resolve) => setTimeout(resolve, time + 1 - Date.now()));
    expect(titles(await anyone.get("/posts"))).toEqual(["out", "to come"]);
  });

  it("limit rows by the day, which $now is for a column of days", async () => {
    await makeTable(admin, { name: "events", columns: [{ name: "day", type: "date" }] });
    const dayIn = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    const [yesterday, today, tomorrow] = [dayIn(-1), dayIn(0), dayIn(1)];
    await admin.post(
      "/events",
      [yesterday, today, tomorrow].map((day) => ({ day })),
    );
    await rule({ table: "events", role: null, filter: { day: "$now" } });
    const { body } = await anyone.get("/events", { fields: "day" });
    // It may be midnight meanwhile.
    expect([[{ day: today }], [{ day: tomorrow }]]).toContainEqual(body.data);
  });

  it("of several, let a row pass that one of them matches", async () => {
    await rule({ filter: { owner: "$user.id" } });
    await rule({ filter: { team: { name: "blue" } } });
    expect(titles(await ann.get("/notes"))).toEqual(["a", "b", "c"]);
  });

  it("limit columns: others are unknown, in the very words for names that do not exist", async () => {
    await rule({ fields: "title" });
    const { body } = await ann.get("/notes");
    expect(body.data[0]).toEqual({ id: notes[0].id, title: "a" });
    for (const name of ["salary", "nosuch"]) {
      const unknown = (path: string) => [
        400,
        expect.stringContaining(`${path}: unknown field "${name}" on "notes"`),
      ];
      expect(refusal(await ann.get("/notes", { fields: name }))).toEqual(unknown("fields"));
      expect(refusal(await ann.get("/notes", { sort: name }))).toEqual(unknown("sort"));
      expect(refusal(await ann.get("/notes", { filter: { [name]: 1 } }))).toEqual(unknown(`filter.${name}`));
      expect(refusal(await ann.get("/notes", { aggregate: { [name]: { sum: true } } }))).toEqual(
        unknown(`aggregate.${name}`),
      );
    }
  });

  it("of several, show a column in the rows of those that grant it, and let nobody compare by it", async () => {
    await rule({ fields: "title" });
    await rule({ filter: { owner: "$user.id" }, fields: "title,salary" });
    const { body } = await ann.get("/notes", { fields: "title,salary", sort: "title" });
    expect(body.data).toEqual([{ title: "a", salary: 1 }, { title: "b" }, { title: "c", salary: 3 }]);
    const partly =
      '"salary" of "notes" is shown in some rows only, so it can\'t be filtered, sorted or aggregated by';
    for (const [path, parameters] of [
      ["filter.salary", { filter: { salary: 2 } }],
      ["sort", { sort: "-salary" }],
      ["aggregate.salary", { aggregate: { salary: { max: true } } }],
    ] as const)
      expect(refusal(await ann.get("/notes", parameters))).toEqual([400, `${path}: ${partly}`]);
    expect((await ann.get(`/notes/${notes[1].id}`)).body.data[0]).toEqual({ id: notes[1].id, title: "b" });
  });

  it("of several, count a relation in the rows of those that grant it", async () => {
    await make(admin, "boards", { name: "wall", pins: notes.map(({ id }) => id) });
    await rule({ table: "boards" });
    await rule({ fields: "title" });
    await rule({ filter: { owner: "$user.id" }, fields: "title,boards" });
    const query = { fields: "title,_count(boards)", sort: "title" };
    const shown = [
      { title: "a", _count: { boards: 1 } },
      { title: "b", _count: {} },
      { title: "c", _count: { boards: 1 } },
    ];
    expect((await ann.get("/notes", query)).body.data).toEqual(shown);
    for (const [at, record] of shown.entries())
      expect((await ann.get(`/notes/${notes[at].id}`, { fields: query.fields })).body.data).toEqual([record]);
  });

  it("of several, let whoever sees a column in every row compare by it, whatever another rule leaves out", async () => {
    await rule({ role: null, fields: "*,-salary" });
    await rule({});
    const comparing = { sort: "-salary", filter: { salary: { _gt: 1 } }, fields: "title,salary" };
    const { body } = await ann.get("/notes", { ...comparing, aggregate: { salary: { sum: true } } });
    expect(body.data).toEqual([
      { title: "c", salary: 3 },
      { title: "b", salary: 2 },
    ]);
    expect(body.meta.aggregate).toEqual({ salary: { sum: 5 } });
    const [described] = (await ann.get("/metadata/notes")).body.data;
    expect(described.columns.find(({ name }: Row) => name === "salary")).toMatchObject({
      shown: "always",
      comparable: true,
      sortable: true,
    });
    for (const parameters of [{ sort: "-salary" }, { filter: { salary: 3 } }])
      expect(refusal(await anyone.get("/notes", parameters))).toEqual([
        ...[400, expect.stringContaining('unknown field "salary" on "notes"')],
      ]);
  });

  it("show a hidden column that they name", async () => {
    await rule({ fields: "title,secret" });
    expect((await ann.get(`/notes/${notes[0].id}`, { fields: "secret" })).body.data).toEqual([
      { secret: "s1" },
    ]);
  });

  it("hold in relations: an unseen row is null or missing, an unseen table an unknown field", async () => {
    await rule({ table: "teams" });
    expect(refusal(await ann.get("/teams", { fields: "notes.title" }))[0]).toBe(400);
    for (const name of ["notes", "nothing"])
      expect(refusal(await ann.get("/teams", { fields: `_count(${name})` }))).toEqual([
        ...[400, `fields: unknown field "${name}" on "teams"`],
      ]);
    await rule({ filter: { owner: "$user.id" } });
    const { body } = await ann.get("/teams", { fields: "name,notes.title", sort: "name" });
    expect(body.data).toEqual([
      { name: "blue", notes: [] },
      { name: "red", notes: [{ id: notes[0].id, title: "a" }] },
    ]);
    const counted = await ann.get("/teams", {
      fields: "name,_count(notes)",
      sort: "-_count(notes),name",
      aggregate: { notes: { count: true } },
    });
    const shown = [
      { name: "red", _count: { notes: 1 } },
      { name: "blue", _count: { notes: 0 } },
    ];
    expect(counted.body.data).toEqual(shown);
    for (const each of shown) {
      const { id } = teams[each.name] ?? {};
      const alone = await ann.get(`/teams/${id}`, { fields: "name,_count(notes)" });
      expect(alone.body.data).toEqual([each]);
    }
    expect(counted.body.meta.aggregate).toEqual({ notes: { count: 1 } });
    const none = await ann.get("/teams", { filter: { _not: { notes: { title: "b" } } }, fields: "name" });
    expect(none.body.data).toHaveLength(2);
  });

  it("that are switched off grant nothing, and changes hold at once", async () => {
    const { id } = await rule({});
    expect((await ann.get("/notes")).status).toBe(200);
    await admin.patch(`/svc_permission/${id}`, { isEnabled: false });
    expect((await ann.get("/notes")).status).toBe(403);
  });

  it("of a role go with the role, and never become everyone's", async () => {
    const passing = await make(admin, "svc_role", { name: "Passing" });
    await rule({ role: passing.id });
    await admin.delete(`/svc_role/${passing.id}`);
    expect((await anyone.get("/notes")).status).toBe(401);
    expect((await admin.get("/svc_permission")).body.data).toEqual([]);
  });
});

describe("rules for creating", () => {
  it("limit what may be set, and answer what may be read", async () => {
    await rule({ action: "create", fields: "title,status" });
    const created = await ann.post("/notes", { title: "new" });
    expect([created.status, created.body.data]).toEqual([201, [{ id: expect.any(Number) }]]);
    const refused = await ann.post("/notes", { title: "new", salary: 5 });
    expect([refused.status, refused.body.message]).toEqual([400, ["salary: unknown field"]]);
  });

  it("answer the id to who may read nothing, also where it is asked for, and tell of no other field", async () => {
    await rule({ action: "create" });
    for (const query of [{}, { fields: "id" }]) {
      const { status, body } = await ann.post("/notes", { title: "new" }, query);
      expect([status, body.data]).toEqual([201, [{ id: expect.any(Number) }]]);
    }
    for (const name of ["title", "nothing"])
      expect(refusal(await ann.post("/notes", { title: "new" }, { fields: `id,${name}` }))).toEqual([
        ...[400, `fields: unknown field "${name}" on "notes"`],
      ]);
    expect(refusal(await ann.post("/notes", { title: "new" }, { fields: "id,owner.id" }))).toEqual([
      ...[400, 'fields: unknown field "owner" on "notes"'],
    ]);
    expect((await ann.get("/notes", { fields: "id" })).status).toBe(403);
  });

  it("call a field that may be read and not be written by its name", async () => {
    await rule({ table: "teams" });
    await rule({ fields: "*,-salary" });
    for (const action of ["create", "update"]) await rule({ action, fields: "*,-team,-salary" });
    const [seen] = (await ann.get("/notes", { filter: { title: "a" } })).body.data;
    expect(seen.team).toEqual({ id: teams.red.id });
    const wrong = { ...seen, status: 1, owner: annId, salary: 5, secret: "s" };
    for (const answer of [await ann.patch(`/notes/${seen.id}`, wrong), await ann.post("/notes", wrong)]) {
      expect([answer.status, answer.body.message.toSorted()]).toEqual([
        400,
        [
          "owner: unknown field",
          "salary: unknown field",
          "secret: unknown field",
          "status: must be one of the column's values (open, done), not 1",
          "team: you may not write it",
        ],
      ]);
    }
    // One rule lets them write it, another the rest.
    await rule({ action: "update", fields: "team" });
    const { body } = await ann.patch(`/notes/${seen.id}`, { title: "b", team: null });
    expect(body.message).toEqual([
      "team: you may not write it together with the others, as no single rule allows all of them",
    ]);
    const single = await ann.patch(`/notes/${seen.id}`, { team: "nobody" });
    expect(single.body.message).toEqual([expect.stringMatching(/^team: (?!you may not)/)]);
    const line = await ann.send("POST", "/notes/import", {
      body: "title,team,salary\r\nx,,1\r\n",
      headers: { "Content-Type": "text/csv" },
    });
    expect(line.body.message).toEqual([
      "line 1: team: you may not write it",
      "line 1: salary: unknown field",
    ]);
  });

  it("know a field that another rule lets be written, read or not", async () => {
    const [{ id }] = (await admin.get("/notes", { filter: { title: "a" } })).body.data;
    for (const action of ["create", "update"])
      for (const fields of ["title", "status"]) await rule({ action, fields });
    const both = { title: "b", status: "done", salary: 5 };
    const apart = "you may not write it together with the others, as no single rule allows all of them";
    for (const answer of [await ann.patch(`/notes/${id}`, both), await ann.post("/notes", both)])
      expect(refusal(answer)).toEqual([400, [`status: ${apart}`, "salary: unknown field"]]);
  });

  it("say which records of a list they refuse, and how each of them alone", async () => {
    await rule({ action: "create", check: { status: "open" } });
    const [open, done] = [{ status: "open" }, { status: "done" }];
    const text = 'No rule lets you create a "notes" record with these values.';
    expect(refusal(await ann.post("/notes", done))).toEqual([403, text]);
    const refused = [403, [`[1]: ${text}`, `[3]: ${text}`]];
    expect(refusal(await ann.post("/notes", [open, done, open, done]))).toEqual(refused);
  });

  it("set presets, whatever the body says", async () => {
    await rule({});
    await rule({ table: "svc_user", filter: { id: "$user.id" }, fields: "email" });
    await rule({ action: "create", fields: "title", presets: { owner: "$user.id", status: "done" } });
    const { body } = await ann.post("/notes", { title: "new", owner: bobId, status: "open" });
    expect(body.data[0]).toMatchObject({ title: "new", status: "done", owner: { id: annId } });
  });

  it("set the time of the request by presets, and its day where a column holds days", async () => {
    await makeTable(admin, {
      name: "visits",
      columns: [
        { name: "at", type: "datetime" },
        { name: "day", type: "date" },
      ],
    });
    await rule({ table: "visits" });
    await rule({ table: "visits", action: "create", presets: { at: "$now", day: "$now" } });
    const before = new Date().toISOString();
    const [{ at, day }] = (await ann.post("/visits", {})).body.data;
    const after = new Date().toISOString();
    expect([before <= at, at <= after, day]).toEqual([true, true, at.slice(0, 10)]);
  });

  it("check the record that would be, relations included, and write nothing that fails", async () => {
    await rule({ table: "teams" });
    await rule({ action: "create", fields: "*", check: { salary: { _lt: 10 }, team: { name: "red" } } });
    expect((await ann.post("/notes", { title: "new", salary: 5, team: teams.red.id })).status).toBe(201);
    for (const wrong of [
      { salary: 50, team: teams.red.id },
      { salary: 5, team: teams.blue.id },
      { salary: 5 },
    ]) {
      expect((await ann.post("/notes", { title: "wrong", ...wrong })).status).toBe(403);
    }
    expect((await admin.get("/notes", { filter: { title: "wrong" } })).body.data).toEqual([]);
  });

  it("judge the record with its id and its times, which are no later than $now", async () => {
    const judged = async (check: unknown, table = "notes"): Promise<number> => {
      const { id } = await rule({ table, action: "create", check });
      const { status } = await ann.post(`/${table}`, table === "notes" ? { title: "new" } : { name: "new" });
      await admin.delete(`/svc_permission/${id}`);
      return status;
    };
    const future = new Date(Date.now() + 3_600_000).toISOString();
    for (const table of ["notes", "teams"]) {
      expect(await judged({ id: { _is_not_null: true } }, table)).toBe(201);
      expect(await judged({ id: { _is_null: true } }, table)).toBe(403);
      expect(await judged({ createdAt: { _lte: "$now" }, updatedAt: { _lte: "$now" } }, table)).toBe(201);
      expect(await judged({ createdAt: { _gt: "$now" } }, table)).toBe(403);
      expect(await judged({ createdAt: { _lt: future } }, table)).toBe(201);
    }
    expect(await judged({ id: { _lte: notes[2].id } })).toBe(403);
    const { body } = await admin.get("/notes", { filter: { title: "new" } });
    expect(new Set(body.data.map(({ id }: Row) => id)).size).toBe(3);
  });

  it("judge each of a list by the id that it gets", async () => {
    await rule({ action: "create", check: { id: { _neq: notes[2].id + 2 } } });
    const list = ["first", "second", "third"].map((title) => ({ title }));
    expect((await ann.post("/notes", list)).status).toBe(403);
    // Numbers are given once: these are others.
    expect((await ann.post("/notes", list)).status).toBe(201);
    expect(
      titles(await admin.get("/notes", { sort: "id", filter: { title: { _in: ["first", "third"] } } })),
    ).toEqual(["first", "third"]);
  });

  it("of several, let a body pass that one of them allows", async () => {
    await rule({ action: "create", fields: "title" });
    await rule({ action: "create", fields: "title,salary", check: { salary: { _lt: 10 } } });
    expect((await ann.post("/notes", { title: "x" })).status).toBe(201);
    expect((await ann.post("/notes", { title: "x", salary: 9 })).status).toBe(201);
    expect((await ann.post("/notes", { title: "x", salary: 10 })).status).toBe(403);
  });

  it("link only to records that the caller may see", async () => {
    await rule({ table: "teams", filter: { name: "red" } });
    await rule({ action: "create" });
    expect((await ann.post("/notes", { title: "new", team: teams.red.id })).status).toBe(201);
    const hidden = await ann.post("/notes", { title: "new", team: teams.blue.id });
    const missing = await ann.post("/notes", { title: "new", team: "0".repeat(24) });
    expect(hidden.body.message).toEqual([`team: there is no "teams" record with the id ${teams.blue.id}`]);
    expect([hidden.status, missing.status]).toEqual([400, 400]);
  });
});

describe("a relation to a table without a rule", () => {
  let vaults = 0;
  let items: string;

  beforeEach(async () => {
    vaults += 1;
    items = `items${vaults}`;
    await makeTable(admin, {
      name: `vault${vaults}`,
      idType: "int",
      columns: [{ name: "code", type: "int" }],
    });
    await makeTable(admin, {
      name: items,
      columns: [{ name: "title", type: "string" }],
      relations: [
        { name: "keeper", type: "many-to-one", table: `vault${vaults}`, inverse: "kept" },
        { name: "many", type: "many-to-many", table: `vault${vaults}`, inverse: "among" },
      ],
    });
    for (const action of ["read", "create", "update"]) await rule({ table: items, action });
  });

  it("is an unknown field in bodies, whatever is said of it", async () => {
    const { id } = (await ann.post(`/${items}`, { title: "x" })).body.data[0];
    const unknown = (name: string) => [400, [`${name}: unknown field`]];
    const values = [
      5,
      "x",
      null,
      [5],
      { id: 5 },
      { id: "x", y: 1 },
      { code: "x" },
      { kept: 1 },
      [{ among: 1 }],
    ];
    for (const [name, value] of ["keeper", "many", "nosuch"].flatMap((each) =>
      values.map((of) => [each, of]),
    )) {
      const body = { [String(name)]: value };
      expect(refusal(await ann.post(`/${items}`, body))).toEqual(unknown(String(name)));
      expect(refusal(await ann.patch(`/${items}/${id}`, body))).toEqual(unknown(String(name)));
    }
    expect(refusal(await ann.post(`/${items}`, { keepers: 5 }))).toEqual(unknown("keepers"));
    expect((await ann.get(`/metadata/${items}`)).body.data[0].relations).toEqual([]);
    expect((await ann.get("/me/permissions")).body.data[0].create.fields).toEqual(["title"]);
  });

  it("is an unknown field in files", async () => {
    const files = await filesOf(stack, ANN);
    for (const name of ["keeper", "nosuch"]) {
      const json = await files.ndjson(items, `${JSON.stringify({ [name]: 5 })}\n`);
      expect(json.body.message).toEqual([`line 1: ${name}: unknown field`]);
      for (const header of [name, `${name}.id`, `${name}.code`]) {
        const csv = await files.csv(items, `title,${header}\nx,y\n`);
        expect(csv.body.message).toEqual([`line 1: ${header}: unknown field`]);
      }
    }
  });

  it("can be set by a rule, whatever a body says of it", async () => {
    const { id } = await make(admin, `vault${vaults}`, { code: 1 });
    await make(admin, "svc_permission", { role, table: items, action: "create", presets: { keeper: id } });
    await admin.delete(`/svc_permission/${(await ruleOf("create")).id}`);
    const made = await ann.post(`/${items}`, { title: "kept", keeper: { kept: 1 } });
    expect(made.status).toBe(201);
    const { body } = await admin.get(`/${items}/${made.body.data[0].id}`);
    expect(body.data[0].keeper).toEqual({ id });
    expect((await admin.get(`/vault${vaults}`)).body.data).toHaveLength(1);
  });

  it("is not told of, nor a record in it, where a rule's link has come to lead nowhere", async () => {
    const { id } = await make(admin, `vault${vaults}`, { code: 1 });
    const { body: made } = await ann.post(`/${items}`, { title: "x" });
    const set = { fields: "title", presets: { keeper: id } };
    for (const action of ["create", "update"])
      await admin.patch(`/svc_permission/${(await ruleOf(action)).id}`, set);
    await admin.delete(`/vault${vaults}/${id}`);
    const said = "a rule sets a link to a record that is not there";
    const files = await filesOf(stack, ANN);
    for (const [answer, message] of [
      [await ann.post(`/${items}`, { title: "y" }), [`body: ${said}`]],
      [await ann.patch(`/${items}/${made.data[0].id}`, { title: "y" }), [`body: ${said}`]],
      [await ann.post(`/${items}`, [{ title: "y" }, { title: "z" }]), [`[0]: ${said}`, `[1]: ${said}`]],
      [await files.csv(items, "title\ny\n"), [`line 2: ${said}`]],
    ] as const)
      expect([answer.status, answer.body.message]).toEqual([400, message]);
    for (const action of ["create", "update"])
      await untilLogged(
        stack.dataService,
        new RegExp(`"rule":"${(await ruleOf(action)).id}","member":"keeper"`),
      );
  });

  it("is not told of where a rule's link lies in records of the other table, which the caller may not change", async () => {
    const relations = [{ name: "item", type: "one-to-one", table: items, inverse: "card" }];
    await makeTable(admin, { name: `cards${vaults}`, relations });
    const { id } = await make(admin, `cards${vaults}`, {});
    const rule = (await ruleOf("create")).id;
    await admin.patch(`/svc_permission/${rule}`, { presets: { card: id } });
    expect(refusal(await ann.post(`/${items}`, { title: "x" }))).toEqual([
      403,
      "A rule sets a link by which records would change that you may not update.",
    ]);
    await untilLogged(stack.dataService, new RegExp(`"rule":"${rule}","member":"card"`));
  });

  it("is not told of where what a rule links to is being deleted", async () => {
    const table = `held${vaults}`;
    const relations = [{ name: "vault", type: "many-to-one", table: `vault${vaults}`, onDelete: "RESTRICT" }];
    await makeTable(admin, { name: table, columns: [{ name: "title", type: "string" }], relations });
    const { id } = await make(admin, `vault${vaults}`, { code: 1 });
    await make(admin, "svc_permission", { role, table, action: "create", presets: { vault: id } });
    const client = await MongoClient.connect(stack.mongodbUrl);
    const mark = { _leaving_for: { [new ObjectId().toHexString()]: true } };
    await client.db().collection(`vault${vaults}`).updateMany({}, { $set: mark });
    await client.close();
    expect(refusal(await ann.post(`/${table}`, { title: "x" }))).toEqual([
      503,
      "A record that this request changes or links to is being deleted; try again shortly.",
    ]);
  });

  const ruleOf = async (action: string): Promise<Row> =>
    (await admin.get("/svc_permission", { filter: { table: items, action }, sort: "id" })).body.data[0];
});

describe("rules for changing", () => {
  it("answer the id to who may read nothing, also where it is asked for", async () => {
    await rule({ action: "update" });
    const changed = await ann.patch(`/notes/${notes[0].id}`, { title: "new" }, { fields: "id" });
    expect([changed.status, changed.body.data]).toEqual([200, [{ id: notes[0].id }]]);
  });

  it("limit rows: what is not seen is 404, what is seen 403", async () => {
    await rule({ action: "update", filter: { owner: "$user.id" } });
    expect((await ann.patch(`/notes/${notes[0].id}`, { title: "mine" })).status).toBe(200);
    expect((await ann.patch(`/notes/${notes[1].id}`, { title: "mine" })).status).toBe(404);
    await rule({});
    expect((await ann.patch(`/notes/${notes[1].id}`, { title: "mine" })).status).toBe(403);
    expect((await admin.get(`/notes/${notes[1].id}`)).body.data[0].title).toBe("b");
  });

  it("limit columns and check the result", async () => {
    await rule({ action: "update", fields: "title,status", check: { status: { _neq: "done" } } });
    expect((await ann.patch(`/notes/${notes[0].id}`, { salary: 1_000 })).status).toBe(400);
    expect((await ann.patch(`/notes/${notes[0].id}`, { status: "done" })).status).toBe(403);
    expect((await ann.patch(`/notes/${notes[2].id}`, { title: "still done" })).status).toBe(403);
    expect((await ann.patch(`/notes/${notes[0].id}`, { title: "open" })).status).toBe(200);
  });

  it("say what of a body they let nobody write in this record, where others may be written", async () => {
    await rule({});
    await rule({ action: "update", fields: "title", filter: { status: { _neq: "done" } } });
    await rule({ action: "update", filter: { owner: "$user.id" } });
    const change = { id: notes[1].id, title: "new", salary: 5, status: "done" };
    expect(refusal(await ann.patch(`/notes/${notes[1].id}`, change))).toEqual([
      403,
      'You may not update "salary", "status" of this "notes" record.',
    ]);
    const { id } = await make(admin, "notes", { title: "over", status: "done" });
    expect(refusal(await ann.patch(`/notes/${id}`, change))).toEqual([
      403,
      'You may not update this "notes" record.',
    ]);
  });

  it("check the result with the time of its change, which is no later than $now", async () => {
    const { id } = await rule({ action: "update", check: { updatedAt: { _lte: "$now" } } });
    expect((await ann.patch(`/notes/${notes[0].id}`, { title: "now" })).status).toBe(200);
    await admin.patch(`/svc_permission/${id}`, { check: { updatedAt: { _gt: "$now" } } });
    expect((await ann.patch(`/notes/${notes[0].id}`, { title: "later" })).status).toBe(403);
  });

  it("are one with the change: a record that leaves the rule meanwhile is not changed", async () => {
    await rule({ action: "update", filter: { status: "open" }, fields: "title" });
    for (let round = 0; round < 10; round += 1) {
      const { id } = await make(admin, "notes", { title: "race", status: "open" });
      const closing = admin.patch(`/notes/${id}`, { status: "done", title: "closed" });
      await Promise.all([
        closing,
        ...Array.from({ length: 6 }, () => ann.patch(`/notes/${id}`, { title: "ann's" })),
      ]);
      expect((await admin.get(`/notes/${id}`)).body.data[0]).toMatchObject({
        status: "done",
        title: "closed",
      });
    }
  });

  it("hold for links from the other side, which change the other table's records", async () => {
    await rule({ table: "teams" });
    await rule({ table: "teams", action: "update" });
    await rule({});
    const take = (ids: number[]) => ann.patch(`/teams/${teams.red.id}`, { notes: ids });
    expect((await take([notes[0].id, notes[1].id])).status).toBe(403);
    await rule({ action: "update", filter: { owner: "$user.id" } });
    expect((await take([notes[0].id, notes[1].id])).status).toBe(403);
    expect((await take([notes[0].id, notes[2].id])).status).toBe(200);
    expect((await admin.get(`/notes/${notes[1].id}`)).body.data[0].team.id).toBe(teams.blue.id);
  });
});

describe("a preset of the role", () => {
  it("sets the role of whoever writes, whatever the body says", async () => {
    await makeTable(admin, {
      name: "desks",
      columns: [{ name: "title", type: "string" }],
      relations: [{ name: "holder", type: "many-to-one", table: "svc_role" }],
    });
    const other = (await make(admin, "svc_role", { name: "Desk clerk" })).id;
    await rule({ table: "desks", action: "create", role: null, presets: { holder: "$role.id" } });
    for (const [api, title] of [
      [ann, "ann's"],
      [anyone, "nobody's"],
    ] as const)
      expect((await api.post("/desks", { title, holder: other })).status).toBe(201);
    const { body } = await admin.get("/desks", { fields: "title,holder", sort: "title" });
    expect(body.data).toMatchObject([
      { title: "ann's", holder: { id: role } },
      { title: "nobody's", holder: null },
    ]);
  });
});

describe("a role that is set by a rule", () => {
  const signUp = (presets: object) => rule({ table: "svc_user", role: null, action: "create", presets });

  it("stays until no other rule sets it: whoever signs up by it would be refused", async () => {
    const { id } = await make(admin, "svc_role", { name: "Member" });
    const setting = await signUp({ role: id.toUpperCase() });
    const refused = await admin.delete(`/svc_role/${id}`);
    expect([refused.status, refused.body.message]).toEqual([
      409,
      `The rule to create "svc_user" sets "role" to this role, and would refuse every write without it; change or delete that rule first (${setting.id}).`,
    ]);
    const many = await admin.delete(`/svc_role?filter=${encodeURIComponent(JSON.stringify({ id }))}`);
    expect([many.status, many.body.error.details]).toEqual([409, { changed: 0 }]);
    await admin.patch(`/svc_permission/${setting.id}`, { isEnabled: false });
    expect((await admin.delete(`/svc_role/${id}`)).status).toBe(200);
  });

  it("goes with its own rules, whatever these set, and where a text is its id by chance", async () => {
    const { id } = await make(admin, "svc_role", { name: "Passing" });
    await rule({ table: "svc_user", role: id, action: "create", presets: { role: id } });
    await signUp({ name: id });
    expect((await admin.delete(`/svc_role/${id}`)).status).toBe(200);
  });
});

describe("a preset whose variable has no value", () => {
  const OWN = { role: null, action: "create", presets: { owner: "$user.id" } };
  const owners = async () => (await admin.get("/notes", { filter: { title: "new" } })).body.data;

  it("sets null, and a check beside it keeps out who has none", async () => {
    const { id } = await rule(OWN);
    expect((await anyone.post("/notes", { title: "new", owner: bobId })).status).toBe(201);
    expect(await owners()).toMatchObject([{ owner: null }]);
    await admin.patch(`/svc_permission/${id}`, { check: { owner: "$user.id" } });
    expect((await anyone.post("/notes", { title: "new" })).status).toBe(403);
    expect((await ann.post("/notes", { title: "new" })).status).toBe(201);
    expect(await owners()).toMatchObject([{ owner: null }, { owner: { id: annId } }]);
  });
});

describe("a rule for signing up", () => {
  const SIGN_UP = { role: null, table: "svc_user", action: "create", fields: "email,password,name" };
  const someone = (name: string) => ({ email: `${name}@example.com`, password: `${name}'s password`, name });

  it("names the password among what may be written, and nothing else is taken", async () => {
    await rule({ ...SIGN_UP, presets: { role } });
    expect((await anyone.post("/svc_user", { ...someone("zoe"), isActive: false })).body.message).toEqual([
      "isActive: unknown field",
    ]);
    expect((await anyone.post("/svc_user", someone("zoe"))).status).toBe(201);
    const { name: _name, ...credentials } = someone("zoe");
    const zoe = await signIn(`${stack.appUrl}/api`, credentials);
    expect((await zoe.get("/me", { fields: "name,role" })).body.data).toEqual([
      { name: "zoe", role: { id: role } },
    ]);
  });

  it("may leave it out", async () => {
    await rule({ ...SIGN_UP, fields: "*,-password" });
    expect((await anyone.post("/svc_user", someone("max"))).body.message).toEqual([
      "password: unknown field",
    ]);
  });

  it("lets ten users with passwords be made by one request, and makes none of more: each costs as much as a sign-in", async () => {
    await rule({ ...SIGN_UP, presets: { role } });
    await rule({ table: "svc_user", role: null, filter: { id: "$user.id" } });
    await rule({ role: null, action: "create" });
    const eleven = Array.from({ length: 11 }, (_, at) => someone(`crowd${at}`));
    const made = async (): Promise<Row[]> =>
      (await admin.get("/svc_user", { filter: { email: { _starts_with: "crowd" } }, fields: "id" })).body
        .data;
    const problem = "body: has 11 users with passwords, and only root admins make more than 10 at once";
    for (const [path, body] of [
      ["/svc_user", eleven],
      ["/notes", eleven.map((owner) => ({ title: "crowded", owner }))],
    ] as const) {
      const refused = await anyone.post(path, body);
      expect([refused.status, refused.body.message]).toEqual([400, [problem]]);
    }
    expect(await made()).toEqual([]);
    expect((await anyone.post("/svc_user", eleven.slice(1))).status).toBe(201);
    const others = eleven.map(({ email }) => ({ email: `others-${email}` }));
    expect((await anyone.post("/svc_user", others)).status).toBe(201);
    expect(
      (
        await admin.post(
          "/svc_user",
          eleven.map((each) => ({ ...each, email: `by-root-${each.email}` })),
        )
      ).status,
    ).toBe(201);
  });

  it("can't name it for reading, in a filter or in a check", async () => {
    const unknown = (path: string) => [
      expect.stringContaining(`${path}: unknown field "password" on "svc_user"`),
    ];
    const saved = (parts: object) =>
      admin.post("/svc_permission", { ...SIGN_UP, ...parts }).then(({ body }) => body.message);
    expect(await saved({ action: "read" })).toEqual(unknown("fields"));
    expect(await saved({ check: { password: "x" } })).toEqual(unknown("check.password"));
    expect(await saved({ action: "update", filter: { password: "x" } })).toEqual(unknown("filter.password"));
  });
});

describe("links from the other side", () => {
  it("replace the set that the caller sees: others stay, and their being there changes nothing", async () => {
    await rule({ table: "teams" });
    await rule({ table: "teams", action: "update" });
    await rule({ filter: { status: "open" } });
    await rule({ action: "update", filter: { status: "open" } });
    await admin.patch(`/notes/${notes[2].id}`, { team: teams.red.id });
    const replaced = await ann.patch(`/teams/${teams.red.id}`, { notes: [notes[1].id] }, { fields: "notes" });
    expect([replaced.status, replaced.body.data]).toEqual([200, [{ notes: [{ id: notes[1].id }] }]]);
    const { body } = await admin.get("/notes", { fields: "team.name", sort: "id" });
    expect(body.data.map(({ team }: Row) => team?.name)).toEqual([undefined, "red", "red"]);
  });

  it("do not get around presets, which want more than the link to be written", async () => {
    await rule({ table: "teams" });
    await rule({ table: "teams", action: "update" });
    await rule({});
    await rule({ action: "update", presets: { status: "open" } });
    expect((await ann.patch(`/teams/${teams.red.id}`, { notes: [notes[2].id] })).status).toBe(403);
    expect((await admin.get(`/notes/${notes[2].id}`)).body.data[0]).toMatchObject({
      status: "done",
      team: null,
    });
  });
});

describe("a list of links in the record itself", () => {
  const pinsOf = async (board: string): Promise<number[]> => {
    const { body } = await admin.get(`/boards/${board}`, { deep: { pins: { fields: "id" } } });
    return body.data[0].pins.map(({ id }: Row) => id);
  };

  it("is replaced as far as the caller sees it: links to unseen records stay, and are not told of", async () => {
    await rule({ table: "boards" });
    await rule({ table: "boards", action: "update" });
    await rule({ filter: { status: "open" } });
    const board = await make(admin, "boards", { pins: [notes[0].id, notes[2].id] });
    const set = (pins: number[]) => ann.patch(`/boards/${board.id}`, { pins }, { fields: "pins" });
    const replaced = await set([notes[1].id]);
    expect([replaced.status, replaced.body.data]).toEqual([200, [{ pins: [{ id: notes[1].id }] }]]);
    expect(await pinsOf(board.id)).toEqual([notes[1].id, notes[2].id]);
    expect((await set([])).body.data).toEqual([{ pins: [] }]);
    expect(await pinsOf(board.id)).toEqual([notes[2].id]);
    await admin.patch(`/boards/${board.id}`, { pins: [] });
    expect(await pinsOf(board.id)).toEqual([]);
  });

  it("loses no unseen link that is set meanwhile", async () => {
    await rule({ table: "boards" });
    await rule({ table: "boards", action: "update" });
    await rule({ filter: { status: "open" } });
    for (let round = 0; round < 8; round += 1) {
      const board = await make(admin, "boards", { pins: [notes[0].id] });
      const [seen, unseen] = await Promise.all([
        ann.patch(`/boards/${board.id}`, { pins: [notes[1].id] }),
        admin.patch(`/notes/${notes[2].id}`, { boards: [board.id] }),
      ]);
      expect([seen.status, unseen.status]).toEqual([200, 200]);
      expect(await pinsOf(board.id)).toEqual([notes[1].id, notes[2].id]);
    }
  });
});

describe("a list of creates", () => {
  it("is judged record by record, each by the first rule that allows it", async () => {
    await rule({});
    await rule({ action: "create", check: { salary: { _lt: 10 } }, presets: { status: "done" } });
    await rule({ action: "create", check: { salary: { _gte: 10 } } });
    const bodies = [5, 50, 7, null].map((salary) => ({ title: "bulk", salary }));
    expect((await ann.post("/notes", bodies)).status).toBe(403);
    const { body } = await ann.post("/notes", bodies.slice(0, 3));
    expect(body.data.map(({ salary, status }: Row) => [salary, status])).toEqual([
      [5, "done"],
      [50, "open"],
      [7, "done"],
    ]);
  });
});

describe("rules of a role", () => {
  it("are tried before everyone's, whichever were made first", async () => {
    await rule({});
    await rule({ role: null, action: "create", presets: { status: "done" } });
    await rule({ action: "create" });
    const { body } = await ann.post("/notes", { title: "own" });
    expect(body.data.map(({ status }: Row) => status)).toEqual(["open"]);
  });
});

describe("rules for deleting", () => {
  it("limit rows", async () => {
    await rule({ action: "delete", filter: { owner: "$user.id" } });
    expect((await ann.delete(`/notes/${notes[1].id}`)).status).toBe(404);
    expect((await ann.delete(`/notes/${notes[0].id}`)).status).toBe(200);
    expect(titles(await admin.get("/notes"))).toEqual(["b", "c"]);
  });
});

describe("user administration by a permitted role", () => {
  beforeEach(async () => {
    await rule({ table: "svc_role" });
    await rule({ table: "svc_user" });
    await rule({ table: "svc_user", action: "create" });
    await rule({ table: "svc_user", action: "update" });
    await rule({ table: "svc_user", action: "delete" });
  });

  it("creates users, sets roles and passwords, deactivates and deletes", async () => {
    const created = await ann.post("/svc_user", {
      email: "new@example.com",
      password: "a long password",
      role: null,
    });
    expect(created.status).toBe(201);
    const path = `/svc_user/${created.body.data[0].id}`;
    expect((await ann.patch(path, { isActive: false, password: "another password" })).status).toBe(200);
    expect((await ann.delete(path)).status).toBe(200);
  });

  it("makes no root admin, and reaches none", async () => {
    const forged = { email: "root2@example.com", password: "a long password", isRootAdmin: true };
    expect((await ann.post("/svc_user", forged)).status).toBe(400);
    const { body } = await admin.get("/me");
    const path = `/svc_user/${body.data[0].id}`;
    expect((await ann.patch(path, { password: "taken over!" })).status).toBe(403);
    expect((await ann.patch(`/svc_user/${bobId}`, { isRootAdmin: true })).status).toBe(400);
    expect((await ann.delete(path)).status).toBe(403);
  });

  it("changes nobody's own password or address: for these the present password must be known", async () => {
    for (const change of [{ password: "taken over!" }, { email: "mine@example.com" }])
      expect((await ann.patch(`/svc_user/${annId}`, change)).status).toBe(403);
    await signIn(`${stack.appUrl}/api`, ANN);
    const form = await ann.patch(`/svc_user/${annId}`, { email: ANN.email, name: "same" });
    expect(refusal(form)).toEqual([403, 'You may not update "email" of this "svc_user" record.']);
  });

  it("changes nobody's own role or state by a preset either", async () => {
    const boss: string = (await make(admin, "svc_role", { name: "Boss" })).id;
    const climber: string = (await make(admin, "svc_role", { name: "Climber" })).id;
    const presets = { role: boss, isActive: false };
    await rule({ role: climber, table: "svc_user" });
    await rule({ role: climber, table: "svc_user", action: "update", fields: "name", presets });
    const climbers = { email: "climber@example.com", password: "a climber's password" };
    const { id } = await make(admin, "svc_user", { ...climbers, role: climber });
    const api = await signIn(`${stack.appUrl}/api`, climbers);
    expect((await api.patch(`/svc_user/${id}`, { name: "Climber" })).status).toBe(200);
    const { body } = await admin.get(`/svc_user/${id}`);
    expect(body.data[0]).toMatchObject({ name: "Climber", isActive: true, role: { id: climber } });
  });

  it("sets presets of somebody else's role and state", async () => {
    const namer: string = (await make(admin, "svc_role", { name: "Namer" })).id;
    const presets = { role: namer, isActive: false };
    await rule({ role: namer, table: "svc_user" });
    await rule({ role: namer, table: "svc_user", action: "update", fields: "name", presets });
    const namers = { email: "namer@example.com", password: "a namer's password" };
    await make(admin, "svc_user", { ...namers, role: namer });
    const { id } = await make(admin, "svc_user", { email: "named@example.com", password: "a long password" });
    await (await signIn(`${stack.appUrl}/api`, namers)).patch(`/svc_user/${id}`, { name: "Named" });
    const { body } = await admin.get(`/svc_user/${id}`);
    expect(body.data[0]).toMatchObject({ name: "Named", isActive: false, role: { id: namer } });
  });

  it("is refused where a check does not take what presets make of somebody else", async () => {
    const clerk: string = (await make(admin, "svc_role", { name: "Clerk" })).id;
    const team: string = (await make(admin, "svc_role", { name: "Team" })).id;
    const update = { role: clerk, table: "svc_user", action: "update", fields: "name" };
    await rule({ role: clerk, table: "svc_user" });
    const clerks = { email: "clerk@example.com", password: "a clerk's password" };
    await make(admin, "svc_user", { ...clerks, role: clerk });
    const api = await signIn(`${stack.appUrl}/api`, clerks);
    const { id } = await make(admin, "svc_user", { email: "member@example.com", name: "before", role: team });
    for (const [presets, check] of [
      [{ role: "$role.id" }, { role: { name: "Team" } }],
      [{ isActive: "$user.isRootAdmin" }, { isActive: true }],
      [{ email: "$user.email" }, { email: "member@example.com" }],
    ] as const) {
      const made = await rule({ ...update, presets, check });
      expect(refusal(await api.patch(`/svc_user/${id}`, { name: "changed" }))).toEqual([
        403,
        'No rule lets you update a "svc_user" record with these values.',
      ]);
      await admin.delete(`/svc_permission/${made.id}`);
    }
    const { body } = await admin.get(`/svc_user/${id}`);
    expect(body.data[0]).toMatchObject({ name: "before", isActive: true, role: { id: team } });
  });

  it("changes nobody's own role or state", async () => {
    expect((await ann.patch(`/svc_user/${annId}`, { role: null })).status).toBe(403);
    expect((await ann.patch(`/svc_user/${annId}`, { isActive: false })).status).toBe(403);
    expect((await ann.patch(`/svc_user/${annId}`, { name: "Ann B." })).status).toBe(200);
  });
});

describe("a rule whose presets link to a record that is not there", () => {
  const NO_ID = "f".repeat(24);
  const setting = (team: string) => ({ role, table: "notes", action: "create", presets: { team } });
  const unknown = (id: string) => [400, [`presets.team: there is no "teams" record with the id ${id}`]];
  const toldOf = ({ status, body }: Answer) => [status, body.message];

  it("is refused when it is made, one or several, and when it comes to set it", async () => {
    expect(toldOf(await admin.post("/svc_permission", setting(NO_ID)))).toEqual(unknown(NO_ID));
    const both = [setting(teams.red.id), setting(NO_ID)];
    const listed = [`[1].presets.team: there is no "teams" record with the id ${NO_ID}`];
    expect(toldOf(await admin.post("/svc_permission", both))).toEqual([400, listed]);
    const { id } = await rule(setting(teams.red.id));
    const presets = { title: "x", owner: "$user.id", team: NO_ID };
    expect(toldOf(await admin.patch(`/svc_permission/${id}`, { presets }))).toEqual(unknown(NO_ID));
    expect((await admin.get(`/svc_permission/${id}`)).body.data[0].presets).toEqual({ team: teams.red.id });
  });

  it("is refused when it is switched on or changed, and can be made, described and switched off", async () => {
    const { id: team } = await make(admin, "teams", { name: "gone" });
    const off = await rule({ ...setting(team), isEnabled: false });
    const on = await rule(setting(team));
    await admin.delete(`/teams/${team}`);
    expect(toldOf(await admin.patch(`/svc_permission/${off.id}`, { isEnabled: true }))).toEqual(
      unknown(team),
    );
    expect(toldOf(await admin.patch(`/svc_permission/${on.id}`, { fields: "title" }))).toEqual(unknown(team));
    const harmless = { description: "to be seen to", isEnabled: false };
    expect((await admin.patch(`/svc_permission/${on.id}`, harmless)).status).toBe(200);
    expect((await admin.post("/svc_permission", { ...setting(team), isEnabled: false })).status).toBe(201);
    const other = { isEnabled: true, presets: { team: teams.blue.id } };
    expect((await admin.patch(`/svc_permission/${off.id}`, other)).status).toBe(200);
  });

  it("is none where the link is nobody's, or depends on the caller", async () => {
    for (const presets of [{ team: null }, { owner: "$user.id" }])
      await rule({ table: "notes", action: "create", presets });
  });
});

describe("a rule that makes no sense", () => {
  it("is refused when it is saved, naming what is wrong", async () => {
    const { status, body } = await admin.post("/svc_permission", {
      role,
      table: "notes",
      action: "create",
      filter: { titel: 1 },
      fields: "nope",
    });
    expect([status, body.message]).toEqual([
      400,
      [
        "filter: there is no row yet when one is created; use check",
        'fields: unknown field "nope" on "notes"',
        'filter.titel: unknown field "titel" on "notes"; did you mean "title"?',
      ],
    ]);
  });

  it("is refused when a misspelt variable would be a text to which everything is unequal", async () => {
    const { status, body } = await admin.post("/svc_permission", {
      role,
      table: "notes",
      action: "read",
      filter: { title: { _neq: "$usr.name" } },
    });
    expect([status, body.message]).toEqual([
      400,
      [
        'filter.title._neq: unknown variable "$usr.name"; there are $user.id, $user.email, $user.name, $user.isActive, ' +
          '$user.isRootAdmin, $user.createdAt, $user.updatedAt, $role.id, $now; did you mean "$user.name"?',
      ],
    ]);
    await rule({ filter: { title: { _neq: "$5" } } });
    expect(titles(await ann.get("/notes"))).toEqual(["a", "b", "c"]);
  });

  it("is refused when a change would make it so", async () => {
    const { id } = await rule({ filter: { salary: 1 } });
    const { status, body } = await admin.patch(`/svc_permission/${id}`, { table: "teams" });
    expect([status, body.message]).toEqual([400, ['filter.salary: unknown field "salary" on "teams"']]);
  });
});

describe("a refusal", () => {
  it("of a delete tells nothing of records that may not be seen", async () => {
    await makeTable(admin, {
      name: "hush",
      relations: [
        { name: "about", type: "many-to-one", table: "notes", inverse: "hushed", onDelete: "RESTRICT" },
      ],
    });
    await make(admin, "hush", { about: notes[0].id });
    await rule({ action: "delete" });
    const { status, body } = await ann.delete(`/notes/${notes[0].id}`);
    expect([status, body.message]).toEqual([409, 'Other records still link to this "notes" record.']);
    expect(JSON.stringify(body)).not.toContain("hush");
    expect((await admin.delete(`/notes/${notes[0].id}`)).body.message).toContain('"hush"');
    const [{ id }] = (await admin.get("/hush")).body.data;
    await admin.delete(`/hush/${id}`);
  });
});

describe("what a record needs and the caller may not know", () => {
  beforeAll(async () => {
    await makeTable(admin, { name: "hidden_depots", softDelete: true });
    await makeTable(admin, {
      name: "parcels",
      softDelete: true,
      columns: [
        { name: "title", type: "string", required: true },
        { name: "weight", type: "int", required: true },
      ],
      relations: [{ name: "depot", type: "many-to-one", table: "hidden_depots", required: true }],
    });
  });

  const parcels = (parts: Row): Promise<Row> => rule({ table: "parcels", ...parts });

  it("is missing without its name in a body, a list and a file", async () => {
    await parcels({ action: "create", fields: "title" });
    const needs = "body: a record needs values that you may not give";
    expect(refusal(await ann.post("/parcels", { title: "x" }))).toEqual([400, [needs]]);
    expect(refusal(await ann.post("/parcels", {}))).toEqual([400, ["title: is required", needs]]);
    expect(refusal(await ann.post("/parcels", [{ title: "x" }]))).toEqual([400, [`[0].${needs}`]]);
    const files = await filesOf(stack, ANN);
    expect((await files.ndjson("parcels", '{"title":"x"}')).body.message).toEqual([`line 1: ${needs}`]);
    await parcels({ fields: "weight" });
    expect(refusal(await ann.post("/parcels", {}))).toEqual([
      ...[400, ["title: is required", "weight: is required", needs]],
    ]);
  });

  it("is deleted without its name when the record is to come back", async () => {
    await parcels({});
    await parcels({ action: "delete" });
    const { id: depot } = await make(admin, "hidden_depots", {});
    const { id } = await make(admin, "parcels", { title: "x", weight: 1, depot });
    await admin.delete(`/parcels/${id}`);
    await admin.delete(`/hidden_depots/${depot}`);
    const restored = await ann.post(`/parcels/${id}/restore`);
    expect(refusal(restored)).toEqual([
      409,
      "A record that this one needs is deleted; restore that one first.",
    ]);
    expect(JSON.stringify(restored.body)).not.toContain("depot");
    expect((await admin.post(`/parcels/${id}/restore`)).body.message).toContain('"depot"');
    await rule({ table: "hidden_depots" });
    expect((await ann.post(`/parcels/${id}/restore`)).body.message).toContain('"depot"');
  });
});

describe("a new rule that does not say whose it is", () => {
  const unsaid = "role: is required; null means everyone, visitors too";

  it("is refused, alone, in a list, and beside other problems", async () => {
    const open = { table: "notes", action: "read" };
    const told = async (body: Row) => refusal(await admin.post("/svc_permission", body));
    expect(await told(open)).toEqual([400, [unsaid]]);
    expect(await told([{ ...open, role: null }, open])).toEqual([400, [`[1].${unsaid}`]]);
    expect(await told({ table: "notes" })).toEqual([400, ["action: is required", unsaid]]);
    expect((await admin.get("/svc_permission")).body.data).toEqual([]);
  });

  it("is everyone's where it says so, and stays as it is by a change", async () => {
    const { id } = await make(admin, "svc_permission", { role: null, table: "notes", action: "read" });
    expect((await anyone.get("/notes")).status).toBe(200);
    const changed = await admin.patch(`/svc_permission/${id}`, { fields: "title" });
    expect([changed.status, changed.body.data[0].role]).toEqual([200, null]);
  });
});

describe("a unique value that is taken", () => {
  const pairs = "pairs";

  beforeAll(async () => {
    await makeTable(admin, {
      name: pairs,
      columns: [
        { name: "a", type: "string" },
        { name: "zz", type: "string", default: "same" },
        { name: "yy", type: "string", default: "same", unique: true },
      ],
      uniques: [["a", "zz"]],
      softDelete: true,
    });
  });

  beforeEach(async () => {
    const all = JSON.stringify({ id: { _is_not_null: true } });
    await admin.delete(`/${pairs}?permanent=true&deleted=with&filter=${all}`);
    for (const action of ["read", "create", "update"]) await rule({ table: pairs, action, fields: "a" });
    await rule({ table: pairs, action: "delete" });
  });

  const codeOf = ({ status, body }: Answer) => [
    status,
    body.error.code,
    body.message,
    body.error.details?.fields,
  ];
  const named = [
    ...[409, "DUPLICATE_RESOURCE", 'a: a record of "pairs" with this value exists already', ["a"]],
  ];
  const nameless = [
    ...[409, "CONFLICT", 'A record of "pairs" exists already that this one must differ from.', undefined],
  ];

  it("is told by the columns that the caller may read or write", async () => {
    const first = await make(admin, pairs, { a: "1", yy: "one" });
    await make(admin, pairs, { a: "2", yy: "two" });
    expect(codeOf(await ann.post(`/${pairs}`, { a: "1" }))).toEqual(named);
    expect(codeOf(await ann.patch(`/${pairs}/${first.id}`, { a: "2" }))).toEqual(named);
    await admin.delete(`/${pairs}/${first.id}`);
    await make(admin, pairs, { a: "1", yy: "three" });
    expect(codeOf(await ann.post(`/${pairs}/${first.id}/restore`))).toEqual(named);
    expect((await admin.post(`/${pairs}`, { a: "1" })).body.error.details).toEqual({ fields: ["a", "zz"] });
  });

  it("is told without a column where the caller may know none of them", async () => {
    await make(admin, pairs, {});
    expect(codeOf(await ann.post(`/${pairs}`, { a: "1" }))).toEqual(nameless);
  });

  it("is told with its place in a list, by the same columns", async () => {
    await make(admin, pairs, { a: "1", yy: "one" });
    const placed = 'a: a record of "pairs" with this value exists already';
    expect(codeOf(await ann.post(`/${pairs}`, [{ a: "1" }]))).toEqual([
      ...[409, "DUPLICATE_RESOURCE", [`[0].${placed}`], ["a"]],
    ]);
    expect(codeOf(await ann.post(`/${pairs}`, [{ a: "2" }, { a: "3" }]))).toEqual([
      ...[409, "CONFLICT", ["[1]: [0] already has a value that this one must differ from"], undefined],
    ]);
    await make(admin, pairs, {});
    expect(codeOf(await ann.post(`/${pairs}`, [{ a: "2" }]))).toEqual([
      ...[409, "CONFLICT", [`[0]: ${nameless[2]}`], undefined],
    ]);
  });

  it("is told in the same way by imports", async () => {
    const files = await filesOf(stack, ANN);
    await make(admin, pairs, { a: "1", yy: "one" });
    const lines = (...all: string[]): string => all.map((a) => JSON.stringify({ a })).join("\n");
    const messages = async (body: string, dryRun: boolean): Promise<string[]> =>
      (await files.ndjson(pairs, body, dryRun ? { dryRun: "true" } : {})).body.message;
    for (const dryRun of [true, false])
      expect(await messages(lines("1"), dryRun)).toEqual([
        'line 1: a: a record of "pairs" with this value exists already',
      ]);
    expect(await messages(lines("2", "3"), true)).toEqual([
      "line 2: line 1 already has a value that this one must differ from",
    ]);
  });
});

describe("/me", () => {
  it("shows the own role and no other", async () => {
    const other = await make(admin, "svc_role", { name: "Other" });
    const bob = await signIn(`${stack.appUrl}/api`, BOB);
    const { body } = await bob.get("/me", { fields: "email,role.name" });
    expect(body.data).toEqual([{ email: BOB.email, role: { id: role, name: "Writer" } }]);
    expect((await bob.get(`/svc_role/${other.id}`)).status).toBe(403);
  });

  it("shows that there is no role, to whoever has none", async () => {
    const nobody = { email: "nobody@example.com", password: "nobody's password" };
    await make(admin, "svc_user", nobody);
    const { body } = await (await signIn(`${stack.appUrl}/api`, nobody)).get("/me", { fields: "email,role" });
    expect(body.data).toEqual([{ email: nobody.email, role: null }]);
  });
});

describe("asking about permissions", () => {
  it("GET /me/permissions tells what the caller may do, table by table", async () => {
    await rule({ fields: "title", filter: { owner: "$user.id" } });
    await rule({ fields: "title,status" });
    await rule({ action: "create", fields: "title" });
    await rule({ action: "delete", filter: { owner: "$user.id" } });
    const { body } = await ann.get("/me/permissions");
    expect(body.data).toEqual([
      {
        table: "notes",
        read: { rows: "all", fields: ["id", "title", "status"], comparable: ["id", "title", "status"] },
        create: { fields: ["title"] },
        delete: { rows: "some" },
      },
    ]);
    expect((await anyone.get("/me/permissions")).body.data).toEqual([]);
  });

  it("GET /me/permissions tells a read-only API token what it may read, and nothing that it may not do", async () => {
    const made = await admin.post("/auth/api-tokens", { name: "r", expiresAt: "never", readOnly: true });
    const { token } = made.body.data[0];
    const reader = apiOf(`${stack.appUrl}/api`, { Authorization: `Bearer ${token}` });
    const { data } = (await reader.get("/me/permissions")).body;
    const actions = data.map(({ table: _table, ...rest }: Row) => Object.keys(rest));
    expect([...new Set(actions.flat())]).toEqual(["read"]);
    expect(data.map(({ table }: Row) => table)).toContain("notes");
  });

  const explain = (question: Row): Promise<Answer> => admin.post("/svc_permission/explain", question);

  it("POST /svc_permission/explain says no where not even root may write, and yes where root may", async () => {
    const { body } = await admin.get("/me");
    const of = async (table: string, action: string) =>
      (await explain({ user: body.data[0].id, table, action })).body.data[0].allowed;
    expect([await of("svc_audit", "create"), await of("svc_audit", "read")]).toEqual([false, true]);
    expect(await of("notes", "create")).toBe(true);
  });

  it("POST /svc_permission/explain tells root which rules match a record, and who grants a column", async () => {
    const own = await rule({ fields: "title,salary", filter: { owner: "$user.id" } });
    const open = await rule({ fields: "title", filter: { status: "open" } });
    const question = { user: annId, table: "notes", action: "read", id: String(notes[1].id) };
    const [why] = (await explain(question)).body.data;
    expect(why).toMatchObject({
      allowed: true,
      filter: { _or: [{ owner: "$user.id" }, { status: "open" }] },
      rules: [
        { id: own.id, matches: false, applies: true },
        { id: open.id, matches: true, applies: true },
      ],
    });
    const column = (name: string) => why.columns.find((each: Row) => each.name === name);
    expect(column("title")).toEqual({
      name: "title",
      shown: "always",
      comparable: true,
      grantedBy: [own.id, open.id],
      removedBy: [],
    });
    expect(column("salary")).toEqual({
      name: "salary",
      shown: "in some rows",
      comparable: false,
      grantedBy: [own.id],
      removedBy: [open.id],
    });
    expect(column("status")).toMatchObject({
      shown: "never",
      grantedBy: [],
      removedBy: [own.id, open.id],
    });
  });

  it("POST /svc_permission/explain names nobody who removes a column that is always shown", async () => {
    const some = await rule({ fields: "title", filter: { status: "open" } });
    const all = await rule({ fields: "title,salary" });
    const columnsFor = async (who: Row) =>
      (await explain({ ...who, table: "notes", action: "read" })).body.data[0].columns.map((each: Row) => [
        each.name,
        each.shown,
        each.grantedBy,
        each.removedBy,
      ]);
    const mine = await columnsFor({ user: annId });
    expect(mine).toContainEqual(["id", "always", [some.id, all.id], []]);
    expect(mine).toContainEqual(["salary", "always", [all.id], []]);
    expect(mine).toContainEqual(["status", "never", [], [some.id, all.id]]);
  });

  it("POST /svc_permission/explain tells who lets a column be written, and whose rule does not", async () => {
    const own = await rule({ action: "update", fields: "title", filter: { owner: "$user.id" } });
    const all = await rule({ action: "update", fields: "title,salary", filter: { status: "open" } });
    const [why] = (await explain({ user: annId, table: "notes", action: "update" })).body.data;
    const column = (name: string) => why.columns.find((each: Row) => each.name === name);
    expect(column("title")).toEqual({ name: "title", grantedBy: [own.id, all.id], removedBy: [] });
    expect(column("salary")).toEqual({ name: "salary", grantedBy: [all.id], removedBy: [own.id] });
    const [denied] = (await explain({ user: annId, table: "notes", action: "delete" })).body.data;
    expect(denied.columns).toBeUndefined();
  });

  it("POST /svc_permission/explain tells who may set a password, which nobody reads", async () => {
    const setting = await rule({ table: "svc_user", action: "update", fields: "password" });
    const reading = await rule({ table: "svc_user", action: "read", fields: "name" });
    const columns = async (action: string): Promise<Row[]> =>
      (await explain({ role, table: "svc_user", action })).body.data[0].columns;
    expect(await columns("update")).toEqual(
      expect.arrayContaining([
        { name: "password", grantedBy: [setting.id], removedBy: [] },
        { name: "name", grantedBy: [], removedBy: [setting.id] },
      ]),
    );
    const read = await columns("read");
    expect(read).toContainEqual(expect.objectContaining({ name: "name", grantedBy: [reading.id] }));
    expect(read.map(({ name }) => name)).not.toContain("password");
  });

  it("POST /svc_permission/explain leaves out what a rule presets of others and not of oneself", async () => {
    const pending = await make(admin, "svc_role", { name: "Pending" });
    const cyd = await make(admin, "svc_user", { email: "cyd@example.com", role });
    const presets = { role: pending.id, name: "$user.email", isActive: true };
    await rule({ table: "svc_user", action: "read" });
    await rule({ table: "svc_user", action: "update", fields: "name", presets });
    const presetsOf = async (id?: unknown): Promise<unknown> => {
      const question = { user: annId, table: "svc_user", action: "update", ...(id ? { id } : {}) };
      const [why] = (await explain(question)).body.data;
      return [why.allowed, why.rules[0].presets];
    };
    expect(await presetsOf(annId)).toEqual([true, { name: "$user.email" }]);
    expect(await presetsOf(cyd.id)).toEqual([true, presets]);
    expect(await presetsOf()).toEqual([true, presets]);
    const change = async (id: unknown): Promise<Row> => {
      expect((await ann.patch(`/svc_user/${id}`, { name: "x" })).status).toBe(200);
      return (await admin.get(`/svc_user/${id}`)).body.data[0];
    };
    expect(await change(annId)).toMatchObject({ name: "ann@example.com", role: { id: role } });
    expect(await change(cyd.id)).toMatchObject({ name: "ann@example.com", role: { id: pending.id } });
    await admin.patch(`/svc_user/${annId}`, { name: "Ann" });
    for (const path of [`/svc_user/${cyd.id}`, `/svc_role/${pending.id}`]) await admin.delete(path);
  });

  it("POST /svc_permission/explain tells that no rule lets users write their own address, role, state or password", async () => {
    const { id } = await rule({ table: "svc_user", action: "update", fields: "name,email,role" });
    const granted = async (record?: string) => {
      const question = { user: annId, table: "svc_user", action: "update", ...(record && { id: record }) };
      const { columns } = (await explain(question)).body.data[0];
      return columns
        .filter(({ grantedBy }: Row) => grantedBy.includes(id))
        .map(({ name }: Row) => name)
        .sort();
    };
    expect(await granted(annId)).toEqual(["name"]);
    expect(await granted(bobId)).toEqual(["email", "name", "role"]);
    expect(await granted()).toEqual(["email", "name", "role"]);
  });

  it("POST /svc_permission/explain tells why nobody, or not this caller, writes a member that a rule grants", async () => {
    await makeTable(admin, {
      name: "seals",
      columns: [
        { name: "text", type: "string" },
        { name: "mark", type: "int", readOnly: true },
      ],
      relations: [{ name: "team", type: "many-to-one", table: "teams" }],
    });
    await rule({ table: "seals", action: "update" });
    const reasons = async () => {
      const [why] = (await explain({ user: annId, table: "seals", action: "update" })).body.data;
      return Object.fromEntries(why.columns.map(({ name, because }: Row) => [name, because]));
    };
    const made = "is made by the service";
    const always = { id: made, createdAt: made, updatedAt: made, mark: "is read-only" };
    expect(await reasons()).toEqual({ ...always, team: '"teams" may not be read' });
    await rule({ table: "teams" });
    expect(await reasons()).toEqual(always);
  });

  it("POST /svc_permission/explain tells why links that lie in other records can't be set", async () => {
    const target = "pages";
    await makeTable(admin, { name: "binders", columns: [{ name: "text", type: "string" }] });
    const relations = [{ name: "binder", type: "many-to-one", table: "binders", inverse: "pages" }];
    await makeTable(admin, { name: target, relations });
    for (const action of ["read", "create", "update"]) await rule({ table: "binders", action });
    await rule({ table: target });
    const reason = async (action: string) => {
      const [why] = (await explain({ user: annId, table: "binders", action })).body.data;
      return why.columns.find(({ name }: Row) => name === "pages").because;
    };
    const none = `no rule lets its links in "${target}" be set`;
    expect([await reason("create"), await reason("update")]).toEqual([none, none]);
    expect((await ann.post("/binders", { pages: [] })).status).toBe(403);
    await rule({ table: target, action: "create" });
    expect([await reason("create"), await reason("update")]).toEqual([undefined, none]);
    await rule({ table: target, action: "update" });
    expect([await reason("create"), await reason("update")]).toEqual([undefined, undefined]);
  });

  it("POST /svc_permission/explain tells of a check from before that can't see what is written", async () => {
    const { id } = await rule({ action: "update", check: { team: { name: "red" } } });
    const rules = async (): Promise<Row[]> =>
      (await explain({ role, table: "notes", action: "update" })).body.data[0].rules;
    expect((await rules())[0]).not.toHaveProperty("warning");
    const check = { _not: { team: { notes: { status: "done" } } } };
    const warning =
      'check.team.notes: leads back to records of "notes" by their own links, where the one that is written is found as it was before';
    const refused = await admin.patch(`/svc_permission/${id}`, { check });
    expect([refused.status, refused.body.message]).toEqual([400, [warning]]);
    const database = await MongoClient.connect(stack.mongodbUrl);
    await database
      .db()
      .collection("svc_permission")
      .updateOne({ _id: new ObjectId(String(id)) }, { $set: { check } });
    await database.close();
    // Writing another one makes the service read them anew.
    await rule({ action: "delete" });
    expect((await rules())[0]).toMatchObject({ id, applies: true, warning });
    expect((await admin.patch(`/svc_permission/${id}`, { isEnabled: false })).status).toBe(200);
    expect((await admin.patch(`/svc_permission/${id}`, { isEnabled: true })).status).toBe(400);
  });

  it("POST /svc_permission/explain tells of a write that fails because the record may not be read", async () => {
    await rule({ filter: { status: "open" } });
    const writing = await rule({ action: "update" });
    const why = async ({ id }: Row): Promise<Row> =>
      (await explain({ user: annId, table: "notes", action: "update", id: String(id) })).body.data[0];
    const open = await why(notes[1]);
    expect([open.allowed, open.because]).toEqual([true, undefined]);
    expect(await why(notes[2])).toMatchObject({
      allowed: false,
      because: "the record may not be read, so it does not exist for a write",
      rules: [{ id: writing.id, applies: true, matches: true }],
    });
  });

  it("POST /svc_permission/explain tells that a relation is hidden by the table that it leads to", async () => {
    await rule({ fields: "title,team" });
    const team = async (): Promise<Row> => {
      const [why] = (await explain({ user: annId, table: "notes", action: "read" })).body.data;
      return why.columns.find(({ name }: Row) => name === "team");
    };
    expect(await team()).toMatchObject({ shown: "never", because: '"teams" may not be read' });
    await rule({ table: "teams" });
    const { shown, because } = await team();
    expect([shown, because]).toEqual(["always", undefined]);
  });

  it("tells about a role, about everyone, and about nobody being allowed", async () => {
    await rule({ role: null, filter: { status: "open" } });
    expect((await explain({ role: null, table: "notes", action: "read" })).body.data[0]).toMatchObject({
      allowed: true,
    });
    expect((await explain({ role, table: "notes", action: "read" })).body.data[0].rules).toHaveLength(1);
    const denied = await explain({ role, table: "notes", action: "delete" });
    expect(denied.body.data[0]).toMatchObject({ allowed: false, rules: [], filter: { id: { _in: [] } } });
    // In the language of filters, so that it can be tried.
    const { body } = await admin.get("/notes", { filter: denied.body.data[0].filter });
    expect(body.data).toEqual([]);
  });

  it("takes ids in capitals, as other calls do", async () => {
    await rule({ filter: { owner: "$user.id" } });
    const asked = { table: "notes", action: "read", id: notes[0]?.id };
    for (const [who, id] of Object.entries({ user: annId, role })) {
      const { status, body } = await explain({ ...asked, [who]: id.toUpperCase() });
      expect([status, body]).toEqual([200, (await explain({ ...asked, [who]: id })).body]);
    }
  });

  it("is for root admins, and refuses what makes no sense", async () => {
    expect((await ann.post("/svc_permission/explain", {})).status).toBe(403);
    expect((await anyone.post("/svc_permission/explain", {})).status).toBe(401);
    const { status, body } = await explain({ table: "notes", action: "look", nope: 1 });
    expect([status, body.message]).toEqual([
      400,
      [
        "nope: unknown key; expected user, role, table, action, id",
        "action: must be one of read, create, update, delete",
        "user: give either a user or a role, by id; role null stands for everyone",
      ],
    ]);
    for (const who of ["user", "role"]) {
      const unknown = await explain({ [who]: "0".repeat(24), table: "notes", action: "read" });
      expect([unknown.status, unknown.body.message]).toEqual([
        404,
        expect.stringContaining(`${who} with this id`),
      ]);
    }
  });

  it.each([
    ["user", "user: must be the id of a user"],
    ["role", "role: must be the id of a role, or null for everyone"],
    ["table", "table: must be the name of a table"],
    ["action", "action: must be one of read, create, update, delete"],
    ["id", "id: must be the id of a record"],
  ])("refuses an object as %s", async (key, message) => {
    const who = key === "user" ? {} : { role: null };
    const answer = await explain({ ...who, table: "notes", action: "read", [key]: { toString: 1 } });
    expect([answer.status, answer.body.message]).toEqual([400, [message]]);
  });
});
