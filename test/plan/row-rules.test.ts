// Row rules through relations: what is read is in proportion to what the caller may see, not to the table.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { make, makeTable } from "../contract/records/make.js";
import { type Api, asAdmin, signIn } from "../support/api.js";
import { type Stack, startStack } from "../support/stack.js";

const ANN = { email: "ann@example.com", password: "a password for Ann" };
/** The rule of docs/recipes, "Keep tenants apart". */
const MINE = { tenant: { members: "$user.id" } };
const OTHERS = 300;
const OWN = 12;

describe("a member of one tenant among many", () => {
  let stack: Stack;
  let root: Api;
  let ann: Api;
  let projects: string;
  let north: string;
  let user: string;

  beforeAll(async () => {
    stack = await startStack();
    root = await asAdmin(stack);
    const { id: role } = await make(root, "svc_role", { name: "member" });
    user = (await make(root, "svc_user", { ...ANN, role })).id;
    await makeTable(root, {
      name: "tenants",
      columns: [{ name: "name", type: "string" }],
      relations: [{ name: "members", type: "many-to-many", table: "svc_user" }],
    });
    const table = await makeTable(root, {
      name: "projects",
      columns: [{ name: "title", type: "string" }],
      relations: [{ name: "tenant", type: "many-to-one", table: "tenants", required: true }],
    });
    projects = table.id;
    await make(root, "svc_permission", { role, table: "projects", action: "read", filter: MINE });
    const south = await make(root, "tenants", { name: "South" });
    north = (await make(root, "tenants", { name: "North", members: [user] })).id;
    await fill(south.id, OTHERS);
    await fill(north, OWN);
    ann = await signIn(`${stack.appUrl}/api`, ANN);
  });

  afterAll(() => stack?.stop());

  async function fill(tenant: string, count: number): Promise<void> {
    const bodies = Array.from({ length: count }, (_, at) => ({ title: `p${at}`, tenant }));
    expect((await root.post("/projects", bodies, { fields: "id" })).status).toBe(201);
  }

  test("reads no record of the others, however the list is asked for", async () => {
    for (const query of [{}, { sort: "-createdAt" }, { sort: "title,id", limit: "5" }]) {
      const { status, body } = await ann.get("/projects", { limit: "50", ...query });
      expect([status, body.data.length]).toEqual([200, "limit" in query ? 5 : OWN]);
    }
    // What reads ten times more than it answers calls for advice.
    const { status, body } = await root.get(`/svc_table/${projects}/advice`);
    expect([status, body.data]).toEqual([200, []]);
  });

  test("counts and sums up the own records", async () => {
    const query = {
      limit: "1",
      meta: "*",
      filter: { title: { _neq: "p0" } },
      aggregate: { id: { count: true } },
    };
    const { body } = await ann.get("/projects", query);
    expect(body.meta).toMatchObject({
      totalCount: OWN,
      filterCount: OWN - 1,
      aggregate: { id: { count: OWN - 1 } },
    });
  });

  test("sees what the rule says at that moment", async () => {
    const seen = async () => (await ann.get("/projects", { limit: "0" })).body.data.length;
    expect((await root.patch(`/tenants/${north}`, { members: [] })).status).toBe(200);
    expect(await seen()).toBe(0);
    expect((await root.patch(`/tenants/${north}`, { members: [user] })).status).toBe(200);
    expect(await seen()).toBe(OWN);
  });
});
