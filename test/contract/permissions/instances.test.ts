// Contract 3.1 and 7: changes of rules and of a user's role hold at once on the instance that made them, and within five
// seconds on others.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Api, apiOf, asAdmin, signIn } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { make, makeTable, type Row } from "../records/make.js";

const ANN = { email: "ann@example.com", password: "ann's password" };
/** Something for a machine that does other things as well. */
const WITHIN_MS = 5_000 + 1_500;

let stack: Stack;
let twin: Stack;
let admin: Api;
let here: Api;
let there: Api;
let role: string;
let annId: string;

beforeAll(async () => {
  stack = await startStack();
  twin = await startStack({ twinOf: stack });
  admin = await asAdmin(stack);
  role = (await make(admin, "svc_role", { name: "Reader" })).id;
  annId = (await make(admin, "svc_user", { ...ANN, role })).id;
  await makeTable(admin, { name: "notes", columns: [{ name: "title", type: "string" }] });
  await make(admin, "notes", { title: "one" });
  await make(admin, "notes", { title: "two" });
  here = await signIn(`${stack.dataUrl}`, ANN);
  there = await signIn(`${twin.dataUrl}`, ANN);
});

afterAll(async () => {
  await twin?.stop();
  await stack?.stop();
});

/** What may be read: the status, and the titles. */
const seen = async (api: Api): Promise<Row[]> => {
  const { status, body } = await api.get("/notes", { sort: "title" });
  return [status, ...(body.data ?? []).map(({ title }: Row) => title)];
};

/** The change is made here; the other instance has just read the former rules. */
async function holds(change: () => Promise<Row>, expected: readonly unknown[]): Promise<Row> {
  const before = await seen(there);
  expect(before).not.toEqual(expected);
  const made = await change();
  expect(await seen(here)).toEqual(expected);
  await until(
    () => seen(there),
    (now) => JSON.stringify(now) === JSON.stringify(expected),
    WITHIN_MS,
  );
  return made;
}

describe("a rule", () => {
  it("that is made, narrowed, switched off, brought back or deleted holds at once here, soon elsewhere", async () => {
    const patch = (id: string, body: object) => () => admin.patch(`/svc_permission/${id}`, body);
    const made = await holds(
      () => make(admin, "svc_permission", { role, table: "notes", action: "read" }),
      [200, "one", "two"],
    );
    await holds(patch(made.id, { filter: { title: "one" } }), [200, "one"]);
    await holds(patch(made.id, { isEnabled: false }), [403]);
    await holds(patch(made.id, { isEnabled: true }), [200, "one"]);
    await holds(() => admin.delete(`/svc_permission/${made.id}`), [403]);
  });
});

describe("another role of a user", () => {
  it("holds at once here, soon elsewhere, for sessions and API tokens that are in use", async () => {
    await make(admin, "svc_permission", { role, table: "notes", action: "read" });
    const other = (await make(admin, "svc_role", { name: "Nobody" })).id;
    const { body } = await here.post("/auth/api-tokens", { name: "t", expiresAt: "never" });
    const byToken = ({ dataUrl }: Stack): Api =>
      apiOf(dataUrl, { Authorization: `Bearer ${body.data[0].token}` });
    const [hereApis, thereApis] = [
      [here, byToken(stack)],
      [there, byToken(twin)],
    ];
    const statuses = (apis: readonly Api[]): Promise<number[]> =>
      Promise.all(apis.map(async (api) => (await api.get("/notes")).status));
    const soon = (expected: number): Promise<number[]> =>
      until(
        () => statuses(thereApis),
        (now) => now.every((status) => status === expected),
        WITHIN_MS,
      );
    await soon(200);
    const become = async (wanted: string): Promise<void> => {
      expect((await admin.patch(`/svc_user/${annId}`, { role: wanted })).status).toBe(200);
    };
    await become(other);
    expect(await statuses(hereApis)).toEqual([403, 403]);
    await soon(403);
    await become(role);
    expect(await statuses(hereApis)).toEqual([200, 200]);
    await soon(200);
  });
});
