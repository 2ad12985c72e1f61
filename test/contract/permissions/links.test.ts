// Links that a caller chooses, and what rules say of them (security rows I9 to I11): on every road to a record, and in every
// order, a record that may not be seen is not there.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Answer, type Api, asAdmin, signIn } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable, type Row, valuesOf } from "../records/make.js";
import { type Files, filesOf } from "../transfer/files.js";

const ANN = { email: "ann@example.com", password: "ann's password" };
const NO_ID = "0123456789abcdef01234567";

let stack: Stack;
let admin: Api;
let ann: Api;
let files: Files;
let role: string;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  role = (await make(admin, "svc_role", { name: "Writer" })).id;
  await make(admin, "svc_user", { ...ANN, role });
  const title = { name: "title", type: "string" };
  const open = { name: "open", type: "boolean" };
  // What is deleted is kept in one of them: what may be seen of it is a rule of its own each time that it is asked.
  for (const [name, softDelete] of [
    ["projects", false],
    ["drawers", true],
  ])
    await makeTable(admin, { name, softDelete, columns: [title, open] });
  await makeTable(admin, {
    name: "tickets",
    columns: [title, { name: "urgent", type: "boolean" }],
    relations: [
      { name: "project", type: "many-to-one", table: "projects", inverse: "tickets" },
      { name: "drawer", type: "many-to-one", table: "drawers", inverse: "tickets" },
    ],
  });
  await makeTable(admin, { name: "labels", columns: [title, { name: "internal", type: "boolean" }] });
  await makeTable(admin, {
    name: "arts",
    columns: [title],
    relations: [{ name: "labels", type: "many-to-many", table: "labels", inverse: "arts" }],
  });
  ann = await signIn(`${stack.appUrl}/api`, ANN);
  files = await filesOf(stack, ANN);
});

afterAll(() => stack.stop());

beforeEach(async () => {
  for (const table of ["svc_permission", "tickets", "projects", "drawers", "arts", "labels"])
    await admin.send("DELETE", `/${table}?filter=${encodeURIComponent('{"id":{"_is_not_null":true}}')}`);
});

const rule = (parts: Row): Promise<Row> => make(admin, "svc_permission", { role, action: "read", ...parts });
const unknown = (relation: string, target: string, id: string) =>
  `${relation}: there is no "${target}" record with the id ${id}`;

/** A file of records, all with the same members. */
const csvOf = (records: readonly Row[]): string => {
  const names = Object.keys(records[0]);
  const lines = records.map((each) => names.map((name) => each[name] ?? "").join(","));
  return [names.join(","), ...lines, ""].join("\n");
};
const ndjsonOf = (records: readonly Row[]): string =>
  records.map((each) => `${JSON.stringify(each)}\n`).join("");

describe.each([
  ["project", "projects"],
  ["drawer", "drawers"],
])("a list of records, some with a %s that a rule sets", (relation, target) => {
  let inbox: string;
  let shown: string;
  let hidden: string;

  beforeEach(async () => {
    const one = async (open: boolean) => (await make(admin, target, { title: "x", open })).id;
    [inbox, shown, hidden] = [await one(false), await one(true), await one(false)];
    await rule({ table: target, filter: { open: true } });
    const create = { table: "tickets", action: "create" };
    const unurgent = { urgent: { _is_null: true } };
    await rule({ ...create, fields: `title,urgent`, presets: { [relation]: inbox }, check: unurgent });
    await rule({ ...create, fields: `title,urgent,${relation}` });
  });

  type Kind = "set" | "shown" | "hidden" | "missing";
  const linkOf = (kind: Kind) => ({ set: null, shown, hidden, missing: NO_ID })[kind];
  const recordOf = (kind: Kind): Row => ({
    title: kind,
    urgent: kind === "set" ? null : true,
    [relation]: linkOf(kind),
  });
  /** What is wrong with it alone. */
  const problemOf = (kind: Kind): string | undefined =>
    kind === "hidden" || kind === "missing" ? unknown(relation, target, linkOf(kind) ?? "") : undefined;
  /** Each with what is wrong with it, at its place. */
  const problems = (kinds: readonly Kind[], placed: (at: number, problem: string) => string): string[] =>
    kinds.flatMap((kind, at) => {
      const problem = problemOf(kind);
      return problem === undefined ? [] : [placed(at, problem)];
    });

  it("judges each as if it came alone, in any order", async () => {
    const kinds: readonly Kind[] = ["set", "shown", "hidden", "missing"];
    for (const kind of kinds) {
      const { status, body } = await ann.post("/tickets", recordOf(kind));
      const problem = problemOf(kind);
      expect([kind, status]).toEqual([kind, problem === undefined ? 201 : 400]);
      if (problem !== undefined) expect(body.message).toEqual([problem]);
    }
    for (const pair of kinds.flatMap((first) => kinds.map((second) => [first, second]))) {
      const wrong = problems(pair, (at, problem) => `[${at}].${problem}`);
      const { status, body } = await ann.post("/tickets", pair.map(recordOf));
      expect([pair, status]).toEqual([pair, wrong.length === 0 ? 201 : 400]);
      if (wrong.length > 0) expect(body.message).toEqual(wrong);
    }
    const stored = await admin.get("/tickets", { fields: `title,${relation}`, limit: "0" });
    // Two alone, and each pair of them.
    expect(stored.body.data).toHaveLength(2 + 2 * 4);
    for (const each of stored.body.data)
      expect([each.title, each[relation].id]).toEqual([each.title, each.title === "set" ? inbox : shown]);
  });

  it.each([
    ["CSV", (records: Row[], dryRun: string) => files.csv("tickets", csvOf(records), { dryRun })],
    ["NDJSON", (records: Row[], dryRun: string) => files.ndjson("tickets", ndjsonOf(records), { dryRun })],
  ] as [string, (records: Row[], dryRun: string) => Promise<Answer>][])(
    "does so in a file of %s, and in a dry run",
    async (name, send) => {
      const firstLine = name === "CSV" ? 2 : 1;
      for (const kinds of [
        ["hidden", "set"],
        ["set", "hidden"],
        ["shown", "set", "missing", "shown"],
      ] satisfies Kind[][]) {
        const wrong = problems(kinds, (at, problem) => `line ${at + firstLine}: ${problem}`);
        for (const dryRun of ["true", "false"]) {
          const { status, body } = await send(kinds.map(recordOf), dryRun);
          expect([kinds, dryRun, status, body.message]).toEqual([kinds, dryRun, 400, wrong]);
        }
      }
      expect((await admin.get("/tickets")).body.data).toEqual([]);
      for (const kinds of [
        ["shown", "set"],
        ["set", "shown"],
      ] satisfies Kind[][])
        for (const dryRun of ["true", "false"])
          expect((await send(kinds.map(recordOf), dryRun)).status).toBe(200);
      expect(await valuesOf(admin, "tickets", "title")).toEqual(["set", "set", "shown", "shown"]);
    },
  );
});

describe("a list of users, one by the rule for signing up", () => {
  it("gives nobody a role that its maker may not see", async () => {
    const roles = await admin.post(
      "/svc_role",
      ["member", "clerk", "boss"].map((name) => ({ name })),
    );
    const [memberId, clerkId, bossId] = roles.body.data.map(({ id }: Row) => id);
    const create = { table: "svc_user", action: "create" };
    await rule({ ...create, role: null, fields: "email,password", presets: { role: memberId } });
    // Those of a role are tried first: this one is for people with a name.
    await rule({ ...create, fields: "email,password,name,role", check: { name: { _is_not_null: true } } });
    await rule({ table: "svc_role", filter: { name: "clerk" } });
    const user = (name: string, more: object = {}) => ({
      email: `${name}@example.com`,
      password: `${name}'s password`,
      ...more,
    });
    const newcomer = user("newcomer");
    const given = (id: string) => user("eve", { name: "Eve", role: id });
    for (const list of [
      [given(bossId), newcomer],
      [newcomer, given(bossId)],
    ])
      expect((await ann.post("/svc_user", list)).body.message).toEqual([
        `[${list.indexOf(newcomer) === 0 ? 1 : 0}].${unknown("role", "svc_role", bossId)}`,
      ]);
    expect((await ann.post("/svc_user", [given(clerkId), newcomer])).status).toBe(201);
    const { body } = await admin.get("/svc_user", {
      fields: "email,role.name",
      sort: "-createdAt,email",
      limit: "2",
    });
    expect(body.data.map(({ role: of }: Row) => of.name).sort()).toEqual(["clerk", "member"]);
  });
});

describe("a check of a list of links", () => {
  let labels: Row;

  beforeEach(async () => {
    const { body } = await admin.post("/labels", [
      { title: "open", internal: false },
      { title: "embargo", internal: true },
      { title: "approved", internal: true },
    ]);
    labels = Object.fromEntries(body.data.map(({ title, id }: Row) => [title, id]));
    await rule({ table: "labels", filter: { internal: false } });
    await rule({ table: "arts" });
  });

  const art = async (...titles: string[]): Promise<string> =>
    (await make(admin, "arts", { title: "old", labels: titles.map((title) => labels[title]) })).id;
  const stored = async (id: string): Promise<string[]> => {
    const { body } = await admin.get(`/arts/${id}`, {
      fields: "title",
      deep: { labels: { fields: "title" } },
    });
    const [{ title, labels: of }] = body.data;
    return [title, ...of.map((each: Row) => each.title).sort()];
  };
  /** The same change by both ways. */
  const statuses = async (id: string, change: Row): Promise<number[]> => [
    (await ann.patch(`/arts/${id}`, change)).status,
    (await ann.patch("/arts", change, { filter: { id } })).status,
  ];

  it("sees the links that stay because the caller does not see them: what they forbid, no list gets around", async () => {
    await rule({ table: "arts", action: "update", check: { _not: { labels: { title: "embargo" } } } });
    const id = await art("embargo");
    for (const change of [
      { title: "x" },
      { title: "x", labels: [] },
      { title: "x", labels: [labels.open] },
      { labels: [] },
    ])
      expect([change, await statuses(id, change)]).toEqual([change, [403, 403]]);
    expect(await stored(id)).toEqual(["old", "embargo"]);
    expect(await statuses(await art("approved"), { labels: [labels.open] })).toEqual([200, 200]);
  });

  it("sees the links that stay because the caller does not see them: what they allow, no list forbids", async () => {
    await rule({ table: "arts", action: "update", check: { labels: { title: "approved" } } });
    const id = await art("open", "approved");
    for (const [change, after] of [
      [{ title: "x" }, ["x", "approved", "open"]],
      [{ labels: [] }, ["x", "approved"]],
      [{ labels: [labels.open] }, ["x", "approved", "open"]],
    ] as const) {
      expect([change, await statuses(id, change)]).toEqual([change, [200, 200]]);
      expect(await stored(id)).toEqual(after);
    }
    expect(await statuses(await art("open", "embargo"), { labels: [labels.open] })).toEqual([403, 403]);
  });

  it("is of the list that is written, whatever is linked meanwhile", async () => {
    await rule({ table: "arts", action: "update", check: { _not: { labels: { title: "embargo" } } } });
    for (let round = 0; round < 8; round += 1) {
      const id = await art();
      const [, embargoed] = await Promise.all([
        ann.patch(`/arts/${id}`, { title: "new", labels: [labels.open] }),
        admin.patch(`/arts/${id}`, { labels: [labels.embargo] }),
      ]);
      expect(embargoed.status).toBe(200);
      expect([
        ["old", "embargo"],
        ["new", "embargo"],
      ]).toContainEqual(await stored(id));
    }
  });
});

describe.each([
  ["project", "projects"],
  ["drawer", "drawers"],
])("a check through a %s", (relation, target) => {
  let ids: Record<"open" | "closed" | "hidden open" | "hidden closed" | "missing", string>;
  let ticket: string;

  beforeEach(async () => {
    const one = async (title: string, open: boolean) => (await make(admin, target, { title, open })).id;
    ids = {
      open: await one("ours", true),
      closed: await one("ours", false),
      "hidden open": await one("theirs", true),
      "hidden closed": await one("theirs", false),
      missing: NO_ID,
    };
    await rule({ table: target, filter: { title: "ours" } });
    await rule({ table: "tickets", filter: { title: { _neq: "unseen" } } });
    const check = { [relation]: { open: true } };
    await rule({ table: "tickets", action: "create", check });
    await rule({ table: "tickets", action: "update", filter: { title: "mine" }, check });
    ticket = (await make(admin, "tickets", { title: "mine" })).id;
  });

  const linked = (id: string, title = "mine"): Row => ({ title, [relation]: id });
  const ways: readonly [string, (id: string) => Promise<Answer>][] = [
    ["a POST", (id) => ann.post("/tickets", linked(id))],
    ["a POST of a list", (id) => ann.post("/tickets", [linked(ids.open), linked(id)])],
    ["a PATCH", (id) => ann.patch(`/tickets/${ticket}`, linked(id))],
    ["a PATCH by a filter", (id) => ann.patch("/tickets", linked(id), { filter: { id: ticket } })],
    ["an import", (id) => files.csv("tickets", csvOf([linked(ids.open), linked(id)]))],
    ["a dry run", (id) => files.ndjson("tickets", ndjsonOf([linked(id)]), { dryRun: "true" })],
  ];

  it.each(ways)("of %s tells nothing of a record that may not be seen", async (name, send) => {
    const said = async (id: string) => {
      const { status, body } = await send(id);
      return [status, String(body.message).replaceAll(id, "…")];
    };
    const missing = await said(ids.missing);
    expect(missing).toEqual([400, expect.stringContaining(unknown(relation, target, "…"))]);
    expect(await said(ids["hidden open"])).toEqual(missing);
    expect(await said(ids["hidden closed"])).toEqual(missing);
    const isImport = name === "an import" || name === "a dry run";
    expect((await said(ids.closed))[0]).toBe(isImport ? 400 : 403);
    expect([200, 201]).toContain((await said(ids.open))[0]);
  });

  it("is asked of records that the caller may change, and of no others", async () => {
    const theirs = (await make(admin, "tickets", { title: "theirs" })).id;
    const unseen = (await make(admin, "tickets", { title: "unseen" })).id;
    for (const id of Object.values(ids)) {
      expect((await ann.patch(`/tickets/${theirs}`, linked(id))).status).toBe(403);
      expect((await ann.patch(`/tickets/${unseen}`, linked(id))).status).toBe(404);
    }
  });

  it("is not asked about a change of nothing: that tells nothing of what the record links to", async () => {
    const [good, bad] = await Promise.all(
      [ids["hidden open"], ids["hidden closed"]].map((each) => make(admin, "tickets", linked(each))),
    );
    const said = async ({ id, ...record }: Row, body: Row) => {
      const { status, body: answer } = await ann.patch(`/tickets/${id}`, body);
      expect((await admin.get(`/tickets/${id}`)).body.data).toEqual([{ id, ...record }]);
      return [status, answer.data?.[0].title];
    };
    for (const body of [{}, { id: NO_ID, updatedAt: "x" }])
      expect([await said(good, body), await said(bad, body)]).toEqual([
        [200, "mine"],
        [200, "mine"],
      ]);
    const { body } = await ann.patch("/tickets", {}, { filter: { id: { _in: [good.id, bad.id] } } });
    expect(body.meta).toMatchObject({ matched: 2, changed: 0 });
    // A change of something is judged as ever.
    expect(await said(bad, { urgent: true })).toEqual([403, undefined]);
  });

  it("is not asked about what a rule sets where the body names nothing: nothing is written", async () => {
    await admin.patch("/svc_permission", { presets: { urgent: true } }, { filter: { action: "update" } });
    const { id } = await make(admin, "tickets", linked(ids.closed));
    const before = (await admin.get(`/tickets/${id}`)).body.data;
    for (const body of [{}, { id: NO_ID, updatedAt: "x" }])
      expect((await ann.patch(`/tickets/${id}`, body)).status).toBe(200);
    expect((await admin.get(`/tickets/${id}`)).body.data).toEqual(before);
    expect((await ann.patch(`/tickets/${id}`, { title: "mine" })).status).toBe(403);
  });

  it("does not make way for a rule that would set the link instead", async () => {
    const presets = { [relation]: ids.open };
    await rule({ table: "tickets", action: "create", fields: "title", presets });
    for (const kind of ["hidden open", "hidden closed", "missing"] as const)
      expect((await ann.post("/tickets", linked(ids[kind]))).body.message).toEqual([
        unknown(relation, target, ids[kind]),
      ]);
    const [made] = (await ann.post("/tickets", linked(ids.closed))).body.data;
    expect((await admin.get(`/tickets/${made.id}`)).body.data[0][relation]).toEqual({ id: ids.open });
  });
});

describe("a new record in a body", () => {
  const lost = "a rule sets this link to something else, so nothing would link to the record created here";
  const counts = async (): Promise<number[]> =>
    Promise.all(["projects", "tickets"].map(async (table) => (await valuesOf(admin, table, "id")).length));
  let inbox: string;

  beforeEach(async () => {
    inbox = (await make(admin, "projects", { title: "inbox" })).id;
    for (const action of ["read", "create", "update"]) await rule({ table: "projects", action });
    await rule({ table: "tickets" });
  });

  it("is refused where a rule sets the link to it, by POST and by PATCH", async () => {
    for (const action of ["create", "update"])
      await rule({ table: "tickets", action, presets: { project: inbox } });
    const { id } = await make(admin, "tickets", { title: "there" });
    const before = await counts();
    const body = { title: "a", project: { title: "new" } };
    for (const answer of [
      await ann.post("/tickets", body),
      await ann.post("/tickets", [{ title: "b" }, body]),
      await ann.patch(`/tickets/${id}`, body),
    ])
      expect([answer.status, answer.body.message]).toEqual([
        400,
        [expect.stringMatching(`^(?:\\[1\\]\\.)?project: ${lost}$`)],
      ]);
    expect(await counts()).toEqual(before);
    // A link that the body chooses gives way, as ever.
    const [made] = (await ann.post("/tickets", { title: "c" })).body.data;
    expect(made.project).toEqual({ id: inbox });
  });

  it.each([
    ["another record", () => inbox],
    ["nothing", () => null],
  ])("is refused where a rule sets the link to it, that its fields do not name, to %s", async (_, set) => {
    for (const action of ["create", "update"])
      await rule({ table: "tickets", action, fields: "title", presets: { project: set() } });
    const { id } = await make(admin, "tickets", { title: "there" });
    const before = await counts();
    const body = { title: "a", project: { title: "new" } };
    for (const [answer, place] of [
      [await ann.post("/tickets", body), "project"],
      [await ann.post("/tickets", [{ title: "b" }, body]), "[1].project"],
      [await ann.patch(`/tickets/${id}`, body), "project"],
      [await ann.patch("/tickets", body, { filter: { title: "there" } }), "project"],
    ] as const)
      expect([answer.status, answer.body.message]).toEqual([400, [`${place}: ${lost}`]]);
    expect(await counts()).toEqual(before);
    // A link to a record that is there gives way, as ever.
    expect((await ann.post("/tickets", { title: "d", project: inbox })).status).toBe(201);
  });

  it("is refused where a rule sets its own link to the record around it, and taken where that is the same", async () => {
    await rule({ table: "tickets", action: "create", presets: { project: inbox } });
    await rule({ table: "tickets", action: "update" });
    const before = await counts();
    const tickets = [{ title: "a" }];
    const { status, body } = await ann.post("/projects", { title: "new", tickets });
    expect([status, body.message]).toEqual([400, [`tickets[0].project: ${lost}`]]);
    expect(await counts()).toEqual(before);
    const there = await ann.patch(`/projects/${inbox}`, { tickets }, { fields: "title,tickets.title" });
    expect([there.status, there.body.data]).toEqual([
      200,
      [{ title: "inbox", tickets: [{ id: expect.any(String), title: "a" }] }],
    ]);
  });

  it("is refused without the name of its own link where its maker may not know that", async () => {
    await admin.send("DELETE", `/svc_permission?filter=${encodeURIComponent('{"table":"tickets"}')}`);
    await rule({ table: "tickets", fields: "title" });
    await rule({ table: "tickets", action: "create", fields: "title", presets: { project: inbox } });
    const before = await counts();
    const tickets = [{ title: "a" }];
    for (const { status, body } of [
      await ann.post("/projects", { title: "new", tickets }),
      await ann.patch(`/projects/${inbox}`, { tickets }),
    ])
      expect([status, body.message]).toEqual([400, ["tickets[0]: you may not create records here"]]);
    expect(await counts()).toEqual(before);
  });

  it("is made by another rule that leaves the link to the body", async () => {
    await rule({ table: "tickets", action: "create", presets: { project: inbox } });
    await rule({ table: "tickets", action: "create", fields: "title,project" });
    const shape = { fields: "project.title" };
    const { status, body } = await ann.post("/tickets", { title: "a", project: { title: "new" } }, shape);
    expect([status, body.data[0].project.title]).toEqual([201, "new"]);
  });
});

describe("a rule that shows what nothing is linked to", () => {
  beforeAll(async () => {
    await makeTable(admin, { name: "slots", columns: [{ name: "title", type: "string" }] });
    await makeTable(admin, {
      name: "orders",
      columns: [{ name: "title", type: "string" }],
      relations: [{ name: "slot", type: "one-to-one", table: "slots", inverse: "order" }],
    });
    await makeTable(admin, {
      name: "bookings",
      columns: [{ name: "title", type: "string" }],
      relations: [{ name: "slots", type: "many-to-many", table: "slots", inverse: "bookings" }],
    });
    await makeTable(admin, {
      name: "days",
      columns: [{ name: "title", type: "string" }],
    });
    await makeTable(admin, {
      name: "hours",
      columns: [{ name: "title", type: "string" }],
      relations: [{ name: "day", type: "many-to-one", table: "days", inverse: "hours" }],
    });
  });

  it("lets it be linked to, once, by whoever sees it until then", async () => {
    await rule({ table: "slots", filter: { order: { _is_null: true } } });
    for (const action of ["create", "update"]) await rule({ table: "orders", action });
    const [one, other] = [await make(admin, "slots", {}), await make(admin, "slots", {})];
    const made = await ann.post("/orders", { slot: one.id });
    expect([made.status, (await ann.post("/orders", { slot: one.id })).body.message]).toEqual([
      201,
      [unknown("slot", "slots", one.id)],
    ]);
    const { id } = made.body.data[0];
    expect((await ann.patch(`/orders/${id}`, { slot: other.id })).status).toBe(200);
    expect((await admin.get(`/orders/${id}`, { fields: "slot.id" })).body.data[0].slot).toEqual({
      id: other.id,
    });
  });

  it("lets it be linked to in a list, and from its other side", async () => {
    await rule({ table: "slots", filter: { bookings: { _is_null: true } } });
    await rule({ table: "bookings", action: "create" });
    const slot = await make(admin, "slots", {});
    expect((await ann.post("/bookings", { slots: [slot.id] })).status).toBe(201);
    await rule({ table: "hours", filter: { day: { _is_null: true } } });
    await rule({ table: "hours", action: "update" });
    await rule({ table: "days", action: "create" });
    const hour = await make(admin, "hours", {});
    expect((await ann.post("/days", { hours: [hour.id] })).status).toBe(201);
  });
});

describe("a check of new records that asks for others of their table", () => {
  const members = "members";
  let mine: string;
  let other: string;
  let me: string;
  const owner = { project: { members: { user: "$user.id", owns: true } } };

  beforeAll(() =>
    makeTable(admin, {
      name: members,
      columns: [{ name: "owns", type: "boolean", default: false }],
      relations: [
        { name: "project", type: "many-to-one", table: "projects", inverse: members },
        { name: "user", type: "many-to-one", table: "svc_user" },
      ],
    }),
  );

  beforeEach(async () => {
    [mine, other] = [(await make(admin, "projects", {})).id, (await make(admin, "projects", {})).id];
    me = (await ann.get("/me")).body.data[0].id;
    await make(admin, members, { project: mine, user: me, owns: true });
    for (const table of [members, "projects", "svc_user"]) await rule({ table });
  });

  it("finds those that are there, and neither the new one nor those beside it", async () => {
    await rule({ table: members, action: "create", check: owner });
    const added = async (body: unknown): Promise<number> => (await ann.post(`/${members}`, body)).status;
    expect(await added({ project: mine, user: me })).toBe(201);
    expect(await added({ project: other, user: me, owns: true })).toBe(403);
    const both = [
      { project: other, user: me, owns: true },
      { project: other, user: me },
    ];
    expect(await added(both)).toBe(403);
  });

  it("may not deny that there are any", async () => {
    const check = { project: { _not: { members: { user: "$user.id" } } } };
    const refused = await admin.post("/svc_permission", { role, table: members, action: "create", check });
    expect([refused.status, refused.body.message]).toEqual([
      400,
      [
        'check.project.members: leads back to records of "members" by their own links, where the one that is written is not found yet',
      ],
    ]);
  });
});

describe.each([false, true])(
  "a check that leads back to the record itself (its table keeps deleted ones: %s)",
  (softDelete) => {
    const table = softDelete ? "kept_crew" : "crew";
    let low: Row;
    let me: Row;

    beforeAll(() =>
      makeTable(admin, {
        name: table,
        softDelete,
        columns: [
          { name: "title", type: "string" },
          { name: "level", type: "int" },
        ],
        relations: [
          { name: "boss", type: "many-to-one", table, inverse: "reports" },
          { name: "peers", type: "many-to-many", table, inverse: "peerOf" },
        ],
      }),
    );

    beforeEach(async () => {
      low = await make(admin, table, { level: 3 });
      me = await make(admin, table, { level: 3, boss: low.id });
      await rule({ table });
    });

    const checked = (check: Row): Promise<Row> => rule({ table, action: "update", check });
    const patched = async (change: Row): Promise<number> =>
      (await ann.patch(`/${table}/${me.id}`, change)).status;

    it("sees there what the record will be, and not what it was", async () => {
      await checked({ boss: { level: { _lt: 5 } } });
      expect(await patched({ boss: me.id, level: 9 })).toBe(403);
      expect(await patched({ boss: me.id, level: 4 })).toBe(200);
      expect(await patched({ level: 9 })).toBe(403);
      await admin.patch(`/${table}/${me.id}`, { level: 9 });
      expect(await patched({ title: "x" })).toBe(403);
      expect(await patched({ level: 2 })).toBe(200);
    });

    it("sees it among several as well", async () => {
      await checked({ _not: { peers: { level: { _gte: 5 } } } });
      expect(await patched({ peers: [low.id, me.id], level: 9 })).toBe(403);
      expect(await patched({ peers: [low.id, me.id], level: 4 })).toBe(200);
      expect(await patched({ level: 9 })).toBe(403);
    });

    it("sees it at the end of a longer way, by links that it will have", async () => {
      await checked({ boss: { boss: { level: { _lt: 5 } } } });
      await admin.patch(`/${table}/${low.id}`, { boss: me.id });
      expect(await patched({ level: 9 })).toBe(403);
      expect(await patched({ level: 4 })).toBe(200);
      const other = await make(admin, table, { level: 3, boss: low.id });
      await admin.patch(`/${table}/${me.id}`, { boss: other.id });
      // Of the boss that it had, the boss is in order.
      await checked({ boss: { boss: { boss: { boss: { level: { _lt: 5 } } } } } });
      expect(await patched({ boss: me.id, level: 9 })).toBe(403);
    });
  },
);
