// Contract 7 in `/me`: links that lie in other tables' records are there only as far as rules show them, in whatever way they are
// asked for.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Answer, type Api, asAdmin, type Query, signIn } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable, type Row } from "../records/make.js";

const MO = { email: "mo@example.com", password: "password of Mo" };

let stack: Stack;
let admin: Api;
let mo: Api;
let moId: string;
let role: string;
const rules: string[] = [];

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  role = (await make(admin, "svc_role", { name: "Member" })).id;
  moId = (await make(admin, "svc_user", { ...MO, name: "Mo", role })).id;
  await makeTable(admin, {
    name: "reports",
    columns: [{ name: "title", type: "string" }],
    relations: [
      { name: "accused", type: "many-to-one", table: "svc_user", inverse: "accusedIn", counted: true },
      { name: "readers", type: "many-to-many", table: "svc_user", inverse: "reads" },
      { name: "forRole", type: "many-to-one", table: "svc_role", inverse: "reports" },
    ],
  });
  await makeTable(admin, {
    name: "badges",
    columns: [{ name: "code", type: "string" }],
    relations: [{ name: "holder", type: "one-to-one", table: "svc_user", inverse: "badge" }],
  });
  await make(admin, "reports", { title: "T1", accused: moId, readers: [moId], forRole: role });
  mo = await signIn(`${stack.appUrl}/api`, MO);
});

afterAll(() => stack?.stop());

afterEach(() => dropRules());

async function dropRules(): Promise<void> {
  for (const id of rules.splice(0)) await admin.delete(`/svc_permission/${id}`);
}

async function rule(parts: Row): Promise<void> {
  rules.push((await make(admin, "svc_permission", { role, table: "reports", action: "read", ...parts })).id);
}
const T1 = { id: expect.any(String), title: "T1" };
const told = ({ status, body }: Answer): unknown[] => [status, body.data?.[0] ?? body.message];
const me = async (query: Query): Promise<unknown[]> => told(await mo.get("/me", query));
const unknown = (name: string, table: string): unknown[] => [
  400,
  expect.stringContaining(`unknown field "${name}" on "${table}"`),
];

describe("a link that no rule shows", () => {
  beforeEach(() => rule({ fields: "id,title" }));

  it.each<[name: string, table: string, query: Query]>([
    ["accusedIn", "svc_user", { fields: "name,accusedIn.title" }],
    ["accusedIn", "svc_user", { fields: "name,-accusedIn" }],
    ["accusedIn", "svc_user", { fields: "_count(accusedIn)" }],
    ["accusedIn", "svc_user", { deep: { accusedIn: {} } }],
    ["reads", "svc_user", { fields: "reads" }],
    ["reads", "svc_user", { fields: "role.name", deep: { reads: { limit: 1 } } }],
    ["reports", "svc_role", { fields: "role.reports.title" }],
    ["reports", "svc_role", { fields: "role._count(reports)" }],
    ["reports", "svc_role", { deep: { role: { deep: { reports: {} } } } }],
    ["reports", "svc_role", { deep: { role: { filter: { reports: { title: "T1" } } } } }],
  ])("is the unknown field %s of %s in /me: %j", async (name, table, query) => {
    expect(await me(query)).toEqual(unknown(name, table));
    expect(told(await mo.patch("/me", { name: "Mo" }, query))).toEqual(unknown(name, table));
  });

  it("is refused in a body of PATCH /me like a name that does not exist", async () => {
    const refused = async (name: string): Promise<unknown> =>
      (await mo.patch("/me", { [name]: [] })).body.message;
    for (const name of ["accusedIn", "reads", "nothing"])
      expect(await refused(name)).toEqual([`${name}: unknown field`]);
    expect(await refused("role")).toEqual(["role: can't be changed here"]);
  });

  it("is in no description of /me", async () => {
    const [types, document] = await Promise.all([mo.get("/types.ts"), mo.get("/openapi.json")]);
    const { "svc_user.own": user, "svc_role.own": own } = document.body.components.schemas;
    expect(Object.keys(user.properties)).toEqual(expect.arrayContaining(["email", "role"]));
    expect(JSON.stringify([user, own, types.body])).not.toMatch(/accusedIn|reads\b|"reports"\??:|reports\?:/);
  });

  it("stays unknown where rules show other columns of users and roles", async () => {
    await rule({ table: "svc_user", fields: "name,email" });
    await rule({ table: "svc_role", fields: "name" });
    expect(await me({ fields: "accusedIn" })).toEqual(unknown("accusedIn", "svc_user"));
    expect(await me({ fields: "role.reports" })).toEqual(unknown("reports", "svc_role"));
  });

  it("stays unknown where another rule shows it in some of the records alone", async () => {
    await rule({ fields: "title,accused", filter: { title: "another" } });
    expect(await me({ fields: "accusedIn" })).toEqual(unknown("accusedIn", "svc_user"));
  });

  it("leaves what is stored with the user and the role as it was", async () => {
    const expected = { name: "Mo", email: MO.email, role: { id: role, name: "Member" } };
    expect(await me({ fields: "name,email,role.name" })).toEqual([200, expected]);
  });

  it("is shown to root admins", async () => {
    const { status, body } = await admin.get("/me", { fields: "_count(accusedIn),accusedIn.title" });
    expect([status, body.data]).toEqual([200, [{ accusedIn: [], _count: { accusedIn: 0 } }]]);
  });
});

describe("a link is in /me", () => {
  it("where a rule of the table that holds it shows it", async () => {
    await rule({ fields: "title,accused,forRole" });
    const fields = "name,accusedIn.title,_count(accusedIn),role.reports.title";
    const expected = {
      name: "Mo",
      accusedIn: [T1],
      _count: { accusedIn: 1 },
      role: { id: role, reports: [T1] },
    };
    expect(await me({ fields })).toEqual([200, expected]);
    expect(await me({ fields: "reads" })).toEqual(unknown("reads", "svc_user"));
  });

  it("where every rule of that table shows it, each in its own records", async () => {
    await rule({ fields: "title,accused", filter: { accused: "$user.id" } });
    await rule({ fields: "accused", filter: { title: "another" } });
    expect(await me({ fields: "accusedIn.title" })).toEqual([200, { accusedIn: [T1] }]);
  });

  it("where a rule for users or roles shows its other end", async () => {
    await rule({ fields: "title" });
    await rule({ table: "svc_user", fields: "name,accusedIn", filter: { id: "$user.id" } });
    await rule({ table: "svc_role", fields: "name,reports" });
    const fields = "accusedIn.title,role.reports.title";
    const expected = { accusedIn: [T1], role: { id: role, reports: [T1] } };
    expect(await me({ fields })).toEqual([200, expected]);
  });

  it("not where a rule shows its other end in other records alone", async () => {
    await rule({ fields: "title" });
    await rule({ table: "svc_user", fields: "name,accusedIn", filter: { name: "another" } });
    expect(await me({ fields: "name,accusedIn.title,_count(accusedIn)" })).toEqual([
      200,
      { name: "Mo", _count: {} },
    ]);
  });

  it("described as what is always there only where it is", async () => {
    const badge = async (): Promise<string | undefined> => {
      const { body } = await mo.get("/types.ts");
      return /^ {2}badge\??: /m.exec(body.slice(body.indexOf("export interface Me ")))?.[0].trim();
    };
    await rule({ table: "badges", fields: "code" });
    expect(await badge()).toBeUndefined();
    await rule({ table: "svc_user", fields: "badge", filter: { name: "another" } });
    expect(await badge()).toBe("badge?:");
    await dropRules();
    await rule({ table: "badges", fields: "code,holder" });
    expect(await badge()).toBe("badge:");
  });
});

describe("what is reached from there on", () => {
  const back = (json: unknown): unknown[] => [
    200,
    { accusedIn: [json], role: { id: role, reports: [json] } },
  ];

  it("has no link back to users and roles, whom no rule shows", async () => {
    await rule({ fields: "title,accused,forRole" });
    expect(await me({ fields: "accusedIn.*,role.reports.*" })).toEqual(back(T1));
    expect(await me({ fields: "id", deep: { accusedIn: {} } })).toEqual([200, { id: moId, accusedIn: [T1] }]);
    const refused: readonly [string, Query][] = [
      ["accused", { fields: "accusedIn.accused.email" }],
      ["forRole", { fields: "role.reports.forRole.name" }],
      ["accused", { deep: { accusedIn: { sort: "accused.email" } } }],
      ["accused", { deep: { accusedIn: { filter: { accused: { email: MO.email } } } } }],
      ["accused", { deep: { role: { filter: { reports: { accused: moId } } } } }],
    ];
    for (const [name, query] of refused) expect(await me(query)).toEqual(unknown(name, "reports"));
  });

  it("shows of users what rules for them show", async () => {
    await rule({ fields: "title,accused,forRole" });
    await rule({ table: "svc_user", fields: "name" });
    const accused = { id: moId, name: "Mo" };
    expect(await me({ fields: "accusedIn.*,role.reports.accused.*" })).toEqual([
      200,
      {
        accusedIn: [{ ...T1, accused: { id: moId } }],
        role: { id: role, reports: [{ id: T1.id, accused }] },
      },
    ]);
    expect(await me({ fields: "accusedIn.accused.email" })).toEqual(unknown("email", "svc_user"));
    expect(await me({ fields: "accusedIn.accused.role" })).toEqual(unknown("role", "svc_user"));
    expect(await me({ fields: "email,role.name" })).toEqual([
      200,
      { email: MO.email, role: { id: role, name: "Member" } },
    ]);
  });

  it("is no row that a rule for users hides, be it one's own", async () => {
    await rule({ fields: "title,accused" });
    await rule({ table: "svc_user", fields: "name", filter: { name: "another" } });
    const expected = [{ id: T1.id, accused: null }];
    expect(await me({ fields: "name,accusedIn.accused.name" })).toEqual([
      200,
      { name: "Mo", accusedIn: expected },
    ]);
    const filter = { accused: { name: "Mo" } };
    expect(await me({ fields: "id", deep: { accusedIn: { filter } } })).toEqual([
      200,
      { id: moId, accusedIn: [] },
    ]);
  });

  it("is described as it is answered", async () => {
    await rule({ fields: "title,accused,forRole" });
    const { schemas } = (await mo.get("/openapi.json")).body.components;
    const { body } = await mo.get("/me", { fields: "accusedIn.*" });
    expect(schemas["svc_user.own"].properties.accusedIn.items).toEqual({
      $ref: "#/components/schemas/reports.record",
    });
    expect(Object.keys(schemas["reports.record"].properties)).toEqual(Object.keys(body.data[0].accusedIn[0]));
  });
});
