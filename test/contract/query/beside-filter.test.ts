// Contract 4: a condition that stands beside the filter rather than in it is refused where the caller may read its column.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Api, apiOf, asAdmin, signIn } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable, valuesOf } from "../records/make.js";

const ANN = { email: "ann@example.com", password: "ann's password" };

let stack: Stack;
let admin: Api;
let ann: Api;
let visitor: Api;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  visitor = apiOf(`${stack.appUrl}/api`);
  await makeTable(admin, { name: "teams", columns: [{ name: "name", type: "string" }] });
  const text = (name: string) => ({ name, type: "string" });
  await makeTable(admin, {
    name: "jobs",
    changes: true,
    columns: [text("status"), text("secret"), text("limit")],
    relations: [{ name: "team", type: "many-to-one", table: "teams" }],
  });
  const role = (await make(admin, "svc_role", { name: "workers" })).id;
  const rule = { role, table: "jobs" };
  for (const action of ["read", "update"])
    await make(admin, "svc_permission", { ...rule, action, fields: "status,limit" });
  await make(admin, "svc_permission", { ...rule, action: "delete" });
  await make(admin, "svc_user", { ...ANN, role });
  ann = await signIn(`${stack.appUrl}/api`, ANN);
  for (const status of ["queued", "done"]) await make(admin, "jobs", { status });
});

afterAll(() => stack.stop());

const STATUS = 'status: is a column of "jobs"; filter by it with filter={"status":…}';
const DONE = "filter=%7B%22status%22:%22done%22%7D";

interface Told {
  readonly status: number;
  readonly message: unknown;
}

async function told(api: Api, method: string, path: string, body?: unknown): Promise<Told> {
  const headers = { "Content-Type": "application/json" };
  const init = body === undefined ? {} : { body: JSON.stringify(body), headers };
  const answer = await api.send(method, path, init);
  return { status: answer.status, message: answer.body?.message };
}

describe("a column that is named as a parameter", () => {
  it.each([
    ["a list", "GET", "/jobs?status=queued"],
    ["a list, as Supabase spells it", "GET", "/jobs?limit=1&status=eq.queued"],
    ["a list, in bracket form", "GET", "/jobs?status[_eq]=queued"],
    ["a list, with what follows it", "GET", "/jobs?status.eq=queued"],
    ["a list with a filter in bracket form", "GET", "/jobs?filter[limit][_is_null]=true&status=queued"],
    ["a file", "GET", "/jobs?format=csv&status=queued"],
    ["live changes", "GET", "/jobs/changes?status=queued"],
    ["live changes that are filtered", "GET", `/jobs/changes?${DONE}&status[_eq]=queued`],
    ["a QUERY", "QUERY", "/jobs?status=queued", {}],
    ["a change of many", "PATCH", `/jobs?${DONE}&status=queued`, { status: "lost" }],
    ["a delete of many", "DELETE", `/jobs?${DONE}&status=queued`],
    ["a delete that is tried", "DELETE", `/jobs?dryRun=true&${DONE}&status=queued`],
  ])("is refused with %s", async (_what, method, path, ...[body]: object[]) => {
    for (const api of [ann, admin])
      expect(await told(api, method, path, body)).toEqual({ status: 400, message: STATUS });
    expect(await valuesOf(admin, "jobs", "status")).toEqual(["done", "queued"]);
  });

  it("is refused if it is a relation, or one that the service keeps itself", async () => {
    for (const name of ["team", "team.name", "team[name]"])
      expect((await told(admin, "GET", `/jobs?${name}=1`)).message).toBe(
        'team: is a relation of "jobs"; filter by it with filter={"team":…}',
      );
    for (const name of ["id", "createdAt"])
      expect((await told(admin, "GET", `/jobs?${name}=1`)).message).toBe(
        `${name}: is a column of "jobs"; filter by it with filter={"${name}":…}`,
      );
  });

  it("is passed over like any other name where the caller may not read it", async () => {
    for (const name of [
      "secret",
      "team",
      "team.name",
      "toString",
      "nothing",
      "__proto__",
      "constructor",
      "_",
    ])
      expect([name, (await told(ann, "GET", `/jobs?${name}=1`)).status]).toEqual([name, 200]);
    for (const name of ["status", "nothing"])
      expect([name, (await told(visitor, "GET", `/jobs?${name}=1`)).status]).toEqual([name, 401]);
    // That comes after what a stream is to tell.
    expect((await told(ann, "GET", "/jobs/changes?secret=1&_=1&lastEventId=none")).message).toMatch(
      /^lastEventId: is not/,
    );
    expect((await told(ann, "DELETE", `/jobs?dryRun=true&${DONE}&secret=1`)).status).toBe(200);
  });

  it("is our parameter where it has the name of one", async () => {
    const { body } = await ann.get("/jobs?limit=1");
    expect(body.data).toHaveLength(1);
  });

  it("is passed over where there is no filter", async () => {
    const { id } = await make(admin, "jobs", { status: "queued" });
    for (const [method, path, body] of [
      ["GET", `/jobs/${id}?status=done`],
      ["PATCH", `/jobs/${id}?status=done`, { status: "new" }],
      ["POST", "/jobs?status=done", { status: "made" }],
      ["DELETE", `/jobs/${id}?status=done`],
    ] as const)
      expect([method, (await told(admin, method, path, body)).status < 300]).toEqual([method, true]);
  });
});
