// PATCH and DELETE of a table: the same change for all records that a filter matches, by the rules for each of them.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import type { Json } from "@portico/shared/json";
import { MongoClient, ObjectId } from "mongodb";
import { type Answer, type Api, asAdmin, search, signIn } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { make, makeTable, type Row, read, valuesOf } from "./make.js";

const ANN = { email: "ann@example.com", password: "ann's password" };

let stack: Stack;
let admin: Api;
let ann: Api;
let role: string;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  await makeTable(admin, { name: "lists", columns: [{ name: "name", type: "string" }] });
  await makeTable(admin, {
    name: "tasks",
    columns: [
      { name: "title", type: "string" },
      { name: "done", type: "boolean", default: false },
      { name: "code", type: "string", unique: true },
      { name: "secret", type: "string" },
    ],
    relations: [{ name: "list", type: "many-to-one", table: "lists", inverse: "tasks", onDelete: "CASCADE" }],
  });
  const done = { name: "done", type: "boolean" };
  for (const [name, relation] of Object.entries({
    labels: { name: "list", type: "one-to-one", table: "lists", inverse: "label" },
    boards: { name: "lists", type: "many-to-many", table: "lists", inverse: "boards" },
  }))
    await makeTable(admin, { name, columns: [done], relations: [relation] });
  role = (await make(admin, "svc_role", { name: "Worker" })).id;
  await make(admin, "svc_user", { ...ANN, role });
  ann = await signIn(`${stack.appUrl}/api`, ANN);
});

afterAll(() => stack?.stop());

beforeEach(async () => {
  const all = { filter: { id: { _is_not_null: true } } };
  await remove(admin, all, "/svc_permission");
  await remove(admin, all, "/lists");
  await remove(admin, all);
  await admin.post(
    "/tasks",
    Array.from({ length: 30 }, (_, at) => ({ title: `task ${at % 3}` })),
  );
});

const change = (api: Api, body: unknown, query = {}): Promise<Answer> => api.patch("/tasks", body, query);
const remove = (api: Api, query = {}, path = "/tasks"): Promise<Answer> =>
  api.send("DELETE", path + search(query));
const many = ({ status, body }: Answer) => [status, body.meta?.matched, body.meta?.changed];
const FIRST = { filter: { title: "task 0" } };

describe("a change of many", () => {
  it("changes the records that the filter matches, and no others", async () => {
    expect(many(await change(admin, { done: true }, FIRST))).toEqual([200, 10, 10]);
    expect(new Set(await valuesOf(admin, "tasks", "title", { done: true }))).toEqual(new Set(["task 0"]));
  });

  it("that writes nothing changes none: what the body names is ignored, or it names nothing", async () => {
    for (const body of [{}, { id: "1", createdAt: null }])
      expect(many(await change(admin, body, FIRST))).toEqual([200, 10, 0]);
    const presets = { secret: "set" };
    await make(admin, "svc_permission", { role, table: "tasks", action: "read" });
    await make(admin, "svc_permission", { role, table: "tasks", action: "update", presets });
    expect(many(await change(ann, {}, FIRST))).toEqual([200, 10, 0]);
    expect(many(await change(ann, { title: "task 0" }, FIRST))).toEqual([200, 10, 10]);
  });

  it("is not asked for by a switch that one record does not take: nothing is done", async () => {
    const id = await make(admin, "tasks", { title: "one" }).then((task) => task.id);
    for (const query of ["dryRun=true", "recursive=true", "dryRun=false"]) {
      const { status, body } = await admin.send("DELETE", `/tasks/${id}?${query}`);
      expect([status, body.message]).toEqual([400, `${query.split("=")[0]}: does not apply to this call`]);
      expect((await admin.patch(`/tasks/${id}?${query}`, { title: "two" })).status).toBe(400);
      expect((await admin.post(`/tasks?${query}`, { title: "two" })).status).toBe(400);
    }
    expect((await read(admin, "tasks", id)).title).toBe("one");
  });

  it.each(["dryrun", "dry_run", "dryRuns"])("is refused with %s, meant for dryRun", async (name) => {
    const refused = { status: 400, body: { message: `${name}: is no parameter; did you mean "dryRun"?` } };
    const wish = { ...FIRST, [name]: "true" };
    expect(await remove(admin, wish)).toMatchObject(refused);
    expect(await change(admin, { done: true }, wish)).toMatchObject(refused);
    const file = { body: '{"title":"imported"}', headers: { "Content-Type": "application/x-ndjson" } };
    expect(await admin.send("POST", `/tasks/import?${name}=true`, file)).toMatchObject(refused);
    expect((await valuesOf(admin, "tasks", "title", {})).length).toBe(30);
    expect(await valuesOf(admin, "tasks", "done", { done: true })).toEqual([]);
  });

  it("is refused where a name comes twice, of which only one would count: nothing is done", async () => {
    const filter = '{"title":"task 0","title":"task 1"}';
    const refused = {
      status: 400,
      body: { message: "filter.title: is given twice in one object; only one would count" },
    };
    for (const query of [{ filter }, { filter, dryRun: "true" }])
      expect(await remove(admin, query)).toMatchObject(refused);
    expect(await change(admin, { done: true }, { filter })).toMatchObject(refused);
    const send = (method: string, path: string, body: string) =>
      admin.send(method, path, { body, headers: { "Content-Type": "application/json" } });
    for (const [method, path, body] of [
      ["PATCH", `/tasks${search(FIRST)}`, '{"done":true,"done":false}'],
      ["POST", "/tasks", '[{"title":"a"},{"title":"a","title":"b"}]'],
      ["QUERY", "/tasks", '{"filter":{"title":"a","title":"b"}}'],
    ] as const) {
      const { status, body: answer } = await send(method, path, body);
      expect({ status, message: answer.message }).toEqual({
        status: 400,
        message: expect.stringMatching(/^(?:done|\[1\]\.title|filter\.title): is given twice in one object/),
      });
    }
    expect(await valuesOf(admin, "tasks", "done", { done: true })).toEqual([]);
    expect((await valuesOf(admin, "tasks", "title", {})).length).toBe(30);
  });

  it("takes the whole filter language", async () => {
    const list = await make(admin, "lists", { name: "mine" });
    await make(admin, "tasks", { title: "in a list", list: list.id });
    const filter = { _or: [{ list: { name: { _contains: "MIN" } } }, { title: { _ends_with: " 2" } }] };
    expect(many(await change(admin, { done: true }, { filter }))).toEqual([200, 11, 11]);
    expect(many(await change(admin, { done: false }, { filter: { done: { _eq: true } } }))).toEqual([
      200, 11, 11,
    ]);
  });

  it("makes of each record what a change of it alone would: with new records of its own", async () => {
    const answer = await change(admin, { list: { name: "new" } }, FIRST);
    expect(many(answer)).toEqual([200, 10, 10]);
    expect(await valuesOf(admin, "lists", "name")).toEqual(Array(10).fill("new"));
    const { body } = await admin.get("/tasks", { ...FIRST, fields: "list.id", limit: "0" });
    const lists = body.data.map(({ list }: { list: { id: string } }) => list.id);
    expect(new Set(lists).size).toBe(10);
    for (const name of ["a", "b"]) await make(admin, "lists", { name });
    const filter = { name: { _in: ["a", "b"] } };
    const tasks = [{ title: "first" }, { title: "second" }];
    expect(many(await admin.patch("/lists", { tasks }, { filter }))).toEqual([200, 2, 2]);
    const shown = await admin.get("/lists", { filter, fields: "name,tasks.title", sort: "name" });
    expect(shown.body.data).toMatchObject([
      { name: "a", tasks },
      { name: "b", tasks },
    ]);
  });

  it("leaves alone what it makes itself, though the filter matches that too", async () => {
    const list = { name: "same", tasks: [{ title: "made", list: undefined }] };
    expect(
      many(await change(admin, { list }, { filter: { title: { _in: ["task 0", "task 1", "made"] } } })),
    ).toEqual([200, 20, 20]);
    expect(await valuesOf(admin, "tasks", "title", { title: "made" })).toHaveLength(20);
  });

  it("ends when its caller is nobody any more", async () => {
    const [busy, user] = [{ email: "busy@example.com", password: "busy's password" }, { isRootAdmin: true }];
    const { id } = await make(admin, "svc_user", { ...busy, ...user });
    const caller = await signIn(`${stack.appUrl}/api`, busy);
    const all = { filter: { id: { _is_not_null: true } } };
    const client = await MongoClient.connect(stack.mongodbUrl);
    const tasks = client.db().collection("tasks");
    const like = await tasks.findOne();
    await tasks.insertMany(Array.from({ length: 12_000 }, () => ({ ...like, _id: new ObjectId() })));
    const deleting = remove(caller, all);
    await admin.patch(`/svc_user/${id}`, { isActive: false });
    const { status, body } = await deleting;
    expect([status, body.error?.code]).toEqual([401, "INVALID_TOKEN"]);
    expect(body.error.details.changed).toBeGreaterThan(0);
    const { meta } = (await admin.get("/tasks", { meta: "totalCount", limit: "1" })).body;
    expect(meta.totalCount).toBe(12_030 - body.error.details.changed);
    await tasks.deleteMany();
    await client.close();
  });

  it("is refused for what is wrong in a new record, before any is made", async () => {
    const answer = await change(admin, { list: { nme: "x" } }, { filter: { title: "none has it" } });
    expect([answer.status, answer.body.message]).toEqual([
      400,
      ['list.nme: unknown field; did you mean "name"?'],
    ]);
    expect(await valuesOf(admin, "lists", "name")).toEqual([]);
  });

  it("is refused for a new record that sets links of one of them, before any is changed", async () => {
    const all = (await admin.get("/tasks", { fields: "id,title", limit: 0, sort: "id" })).body.data;
    const last = all.findLast(({ title }: Row) => title === "task 0").id;
    const other = all.find(({ title }: Row) => title === "task 1").id;
    const body = { done: true, list: { name: "new", tasks: [other, { title: "inside" }, { id: last }] } };
    const remedy = "holds the record that is changed here; leave it out, and set its links in its own body";
    for (const query of [FIRST, { ...FIRST, dryRun: true }]) {
      const { status, body: answer } = await change(admin, body, query);
      expect([status, answer.message]).toEqual([400, [`list.tasks: ${remedy}`]]);
    }
    expect(await valuesOf(admin, "tasks", "done", { done: true })).toEqual([]);
    const fine = { done: true, list: { name: "new", tasks: [other] } };
    expect(many(await change(admin, fine, FIRST))).toEqual([200, 10, 10]);
  });

  it("only counts with dryRun=true", async () => {
    expect(many(await change(admin, { done: true }, { ...FIRST, dryRun: "true" }))).toEqual([200, 10, 0]);
    expect(many(await remove(admin, { ...FIRST, dryRun: "true" }))).toEqual([200, 10, 0]);
    expect(await valuesOf(admin, "tasks", "done", { done: true })).toEqual([]);
    expect((await change(admin, { done: true }, { ...FIRST, dryRun: "yes" })).status).toBe(400);
  });

  it.each<[filter: Json | undefined, needs: string]>([
    [undefined, "is required"],
    ...[
      {},
      { _or: [] },
      { _and: [] },
      { _and: [{}] },
      { _not: { _not: {} } },
      { _and: [{ _or: [] }, {}] },
      { _or: [{ title: "task 0" }, {}] },
      { id: { _not_in: [] } },
      { _not: { _and: [{ _not: {} }, { title: "task 0" }] } },
    ].map((filter): [Json, string] => [
      filter,
      "must compare something (an empty list does not, and in an _or each part must)",
    ]),
  ])("is refused where it is true of every record (%j)", async (filter, needs) => {
    const query = filter === undefined ? {} : { filter };
    for (const [does, answer] of [
      ["changes", await change(admin, { done: true }, query)] as const,
      ["deletes", await remove(admin, query)] as const,
      ["deletes", await remove(admin, { ...query, dryRun: "true" })] as const,
    ]) {
      expect([answer.status, answer.body.message]).toEqual([
        400,
        `filter: ${needs}, because this ${does} every record that it matches; ` +
          '{"id":{"_is_not_null":true}} matches all of them',
      ]);
    }
    expect(await valuesOf(admin, "tasks", "done")).toEqual(Array(30).fill(false));
  });

  it("is refused in the bracket form, in which libraries leave out null and []: more would match", async () => {
    // What axios makes of {title: "task 0", id: {_in: []}}, and PHP of {title: "task 0", list: null}.
    for (const dryRun of ["", "&dryRun=true"])
      for (const [method, body] of [
        ["PATCH", '{"done":true}'],
        ["DELETE", undefined],
      ] as const) {
        const { status, body: answer } = await admin.send(method, `/tasks?filter[title]=task%200${dryRun}`, {
          ...(body === undefined ? {} : { body, headers: { "Content-Type": "application/json" } }),
        });
        expect([status, answer.message]).toEqual([
          400,
          'filter: is JSON here, as in filter={"title":{"_eq":"a"}}; libraries leave null and [] out of the bracket ' +
            "form, so that more records would match",
        ]);
      }
    expect((await admin.get("/tasks?filter[title]=task%200&limit=0")).body.data).toHaveLength(10);
    expect(await valuesOf(admin, "tasks", "done")).toEqual(Array(30).fill(false));
  });

  it("is refused with the words of every list for what is no filter", async () => {
    expect((await remove(admin, { filter: { _or: {} } })).body.message).toBe(
      "filter._or: must be a list of filters, not an object",
    );
    expect(await valuesOf(admin, "tasks", "title")).toHaveLength(30);
  });

  it.each<[filter: Json, matched: number]>([
    [{ id: { _in: [] } }, 0],
    [{ _not: {} }, 0],
    [{ _and: [{}, { title: "task 0" }] }, 10],
    [{ _not: { _or: [{ title: "task 0" }] } }, 20],
    [{ _or: [{ title: "task 0" }, { _and: [{ title: "task 1" }] }] }, 20],
    [{ list: {} }, 0],
  ])("goes by logic that is not true of every record (%j)", async (filter, matched) => {
    expect(many(await remove(admin, { filter }))).toEqual([200, matched, matched]);
  });

  it("is refused for a bad body or filter before any record is changed, also when none matches", async () => {
    const nobody = { filter: { title: "nobody" } };
    expect((await change(admin, { done: "yes" }, nobody)).body.message).toEqual([
      'done: must be true or false, not "yes"',
    ]);
    expect((await change(admin, { nosuch: 1 }, nobody)).status).toBe(400);
    expect((await change(admin, { done: true }, { filter: { nosuch: 1 } })).status).toBe(400);
  });

  it("stops at the first record that refuses, says how many were changed, and can be sent again", async () => {
    const answer = await change(admin, { code: "one for all" }, FIRST);
    expect([answer.status, answer.body.error.details.changed]).toEqual([409, 1]);
    expect(answer.body.message).toMatch(/[^.]; 1 record was changed before$/);
    expect(await valuesOf(admin, "tasks", "code", { code: "one for all" })).toHaveLength(1);
  });

  it("deletes with all that onDelete asks for", async () => {
    const list = await make(admin, "lists", { name: "mine" });
    await change(admin, { list: list.id }, FIRST);
    expect(many(await remove(admin, { filter: { name: "mine" } }, "/lists"))).toEqual([200, 1, 1]);
    expect(await valuesOf(admin, "tasks", "title", FIRST.filter)).toEqual([]);
    expect(await valuesOf(admin, "tasks", "title")).toHaveLength(20);
  });

  it("goes by the rules: rows that are not seen are not matched, and their filter is not known", async () => {
    const seen = { filter: { title: { _neq: "task 1" } }, fields: "title,done" };
    for (const action of ["read", "update"])
      await make(admin, "svc_permission", { ...seen, role, table: "tasks", action });
    const all = { filter: { id: { _is_not_null: true } } };
    expect(many(await change(ann, { done: true }, all))).toEqual([200, 20, 20]);
    expect((await change(ann, { secret: "x" }, all)).status).toBe(400);
    expect((await change(ann, { done: true }, { filter: { secret: "x" } })).status).toBe(400);
    expect((await remove(ann, all)).status).toBe(403);
    expect(await valuesOf(admin, "tasks", "done", { title: "task 1", done: true })).toEqual([]);
  });

  it("is refused to those who may change no record at all, also where none matches", async () => {
    await make(admin, "svc_permission", { role, table: "tasks", action: "read" });
    const nobody = { filter: { title: "nobody" } };
    for (const query of [nobody, FIRST, { ...FIRST, dryRun: "true" }]) {
      expect((await change(ann, { done: true }, query)).status).toBe(403);
      expect((await remove(ann, query)).status).toBe(403);
    }
    expect((await remove(admin, { ...nobody, permanent: "true" })).status).toBe(400);
  });

  it("of records that are seen and may not be changed is refused", async () => {
    await make(admin, "svc_permission", { role, table: "tasks", action: "read" });
    const own = { filter: { title: "task 0" } };
    await make(admin, "svc_permission", { ...own, role, table: "tasks", action: "update" });
    expect(many(await change(ann, { done: true }, FIRST))).toEqual([200, 10, 10]);
    expect((await change(ann, { done: true }, { filter: { title: "task 1" } })).status).toBe(403);
  });

  it.each([
    ["the body", "tasks", "tasks"],
    ["the body", "label", "labels"],
    ["a rule", "label", "labels"],
    ["the body", "boards", "boards"],
  ])(
    "moves links that lie in other records from one of them to the next: %s sets %s",
    async (setter, relation, target) => {
      const rule = (parts: Row) => make(admin, "svc_permission", { role, ...parts });
      const { id } = await make(admin, target, { done: false });
      const link = { [relation]: relation === "label" ? id : [id] };
      for (const table of ["lists", target]) await rule({ table, action: "read" });
      await rule({ table: target, action: "update", filter: { done: false } });
      await rule({ table: "lists", action: "update", ...(setter === "a rule" && { presets: link }) });
      const lists = Array.from({ length: 8 }, () => ({ name: "shared" }));
      await admin.post("/lists", lists);
      const body = { name: "moved", ...(setter === "the body" && link) };
      expect(many(await ann.patch("/lists", body, { filter: { name: "shared" } }))).toEqual([200, 8, 8]);
      const moved = await valuesOf(admin, "lists", "id", { name: "moved" });
      // A list of links stays with all of them, any other link with the last.
      const linked = relation === "boards" ? moved : moved.slice(-1);
      expect(await valuesOf(admin, "lists", "id", { [relation]: id })).toEqual(linked);
    },
  );

  it.each(["svc_user", "svc_table"])("is no way to change %s", async (table) => {
    const filter = { id: { _is_not_null: true } };
    expect((await remove(admin, { filter }, `/${table}`)).status).toBe(405);
    expect((await admin.patch(`/${table}`, {}, { filter })).status).toBe(405);
  });

  it.each(["change", "delete"])(
    "leaves alone what has left the filter before its turn (%s)",
    async (what) => {
      // Few enough that the filter is asked about all of them before the first has its turn.
      const bodies = Array.from({ length: 450 }, () => ({ title: "in a row" }));
      await admin.post("/tasks", bodies, { fields: "id" });
      const [other, moved] = (await valuesOf(admin, "tasks", "id", { title: "in a row" })).slice(-2);
      const filter = { title: "in a row" };
      const query = { filter };
      const answer = what === "change" ? change(admin, { done: true }, query) : remove(admin, query);
      const waiting = () => valuesOf(admin, "tasks", "id", { ...filter, done: false });
      await until(waiting, ({ length }) => length < 450, 30_000);
      // This one is another version by its turn, and still in the filter.
      expect((await admin.patch(`/tasks/${other}`, { secret: "x" })).status).toBe(200);
      expect((await admin.patch(`/tasks/${moved}`, { title: "elsewhere" })).status).toBe(200);
      expect(many(await answer)).toEqual([200, 449, 449]);
      expect(await waiting()).toEqual([]);
      expect(await read(admin, "tasks", moved, "title,done")).toMatchObject({
        title: "elsewhere",
        done: false,
      });
    },
  );

  it("changes thousands", async () => {
    for (let batch = 0; batch < 2; batch += 1)
      await admin.post(
        "/tasks",
        Array.from({ length: 1_000 }, () => ({ title: "many" })),
        { fields: "id" },
      );
    const filter = { title: "many" };
    expect(many(await change(admin, { done: true }, { filter }))).toEqual([200, 2_000, 2_000]);
    expect(many(await remove(admin, { filter }))).toEqual([200, 2_000, 2_000]);
  });
});
