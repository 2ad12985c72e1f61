// Row rules through relations: what is read is in proportion to what the caller may see, not to the table.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { MongoClient } from "mongodb";
import { make, makeTable } from "../contract/records/make.js";
import { type Api, asAdmin, type Query, signIn } from "../support/api.js";
import { type EngineProcess, startEngine, stopEngine } from "../support/engine-of-run.js";
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

const BEA = { email: "bea@example.com", password: "a password for Bea" };

describe("the row rule of related records", () => {
  /** Of its own, as it counts what is read for everybody. */
  let engine: EngineProcess;
  let folder: string;
  let stack: Stack;
  let client: MongoClient;
  /** Sees the projects of one tenant; Bea sees all of them. Both see only the tasks of that tenant. */
  let ann: Api;
  let bea: Api;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "portico-row-rules-"));
    engine = await startEngine(join(folder, "mongodb"));
    client = await MongoClient.connect(engine.uri);
    stack = await startStack({ mongodbUrl: engine.uri });
    const root = await asAdmin(stack);
    await makeTable(root, {
      name: "tenants",
      columns: [{ name: "name", type: "string" }],
      relations: [{ name: "members", type: "many-to-many", table: "svc_user" }],
    });
    await makeTable(root, {
      name: "projects",
      columns: [{ name: "title", type: "string" }],
      relations: [{ name: "tenant", type: "many-to-one", table: "tenants", required: true }],
    });
    await makeTable(root, {
      name: "tasks",
      columns: [{ name: "points", type: "int" }],
      relations: [{ name: "project", type: "many-to-one", table: "projects", inverse: "tasks" }],
    });
    const members = await Promise.all([member(root, ANN, MINE), member(root, BEA, null)]);
    const { id: south } = await make(root, "tenants", { name: "South" });
    const { id: north } = await make(root, "tenants", { name: "North", members });
    for (const [tenant, count] of [
      [north, OWN],
      [south, OTHERS],
    ]) {
      const all = await create(root, "projects", count, (at) => ({ title: `p${at}`, tenant }));
      await create(root, "tasks", 2 * count, (at) => ({ points: at % 3, project: all[at % count] }));
    }
    ann = await signIn(`${stack.appUrl}/api`, ANN);
    bea = await signIn(`${stack.appUrl}/api`, BEA);
  });

  afterAll(async () => {
    await stack?.stop();
    await client?.close();
    await stopEngine(engine);
    await rm(folder, { recursive: true, force: true });
  });

  async function member(root: Api, person: typeof ANN, filter: object | null): Promise<string> {
    const { id: role } = await make(root, "svc_role", { name: person.email });
    const mine = { project: MINE };
    await make(root, "svc_permission", { role, table: "projects", action: "read", filter });
    await make(root, "svc_permission", { role, table: "tasks", action: "read", filter: mine });
    return (await make(root, "svc_user", { ...person, role })).id;
  }

  async function create(
    root: Api,
    table: string,
    count: number,
    bodyOf: (at: number) => object,
  ): Promise<string[]> {
    const bodies = Array.from({ length: count }, (_, at) => bodyOf(at));
    const { status, body } = await root.post(`/${table}`, bodies, { fields: "id" });
    expect(status).toBe(201);
    return body.data.map(({ id }: { id: string }) => id);
  }

  async function documentsRead(): Promise<number> {
    const { metrics } = await client.db("admin").command({ serverStatus: 1 });
    return Number(metrics.queryExecutor.scannedObjects);
  }

  /** How many projects are listed, and how many documents MongoDB looked at meanwhile. */
  async function listed(api: Api, query: Query): Promise<{ status: number; found: number; read: number }> {
    const before = await documentsRead();
    const { status, body } = await api.get("/projects", { fields: "id", ...query });
    return { status, found: body.data?.length, read: (await documentsRead()) - before };
  }

  test.each([
    ["", { points: 1 }, 4],
    ["negated, ", { _not: { points: 1 } }, OWN - 4],
    ["any, ", {}, OWN],
  ])("a filter %sreads the records of the own tenant", async (_, tasks, found) => {
    for (const api of [ann, bea]) {
      const answer = await listed(api, { filter: { tasks }, limit: "0" });
      expect(answer).toMatchObject({ status: 200, found });
      expect(answer.read).toBeLessThan(OTHERS);
    }
  });

  test("a sort reads the tasks of the own tenant alone", async () => {
    for (const sort of ["-_max(tasks.createdAt)", "-_max(tasks.createdAt),title", "-_count(tasks)"]) {
      const answer = await listed(bea, { sort, limit: "5" });
      expect(answer).toMatchObject({ status: 200, found: 5 });
      // The projects, all of which are seen, are counted and ranked; advice may read them again meanwhile.
      expect(answer.read).toBeLessThan(4 * (OTHERS + OWN));
    }
  });
});
