// Contract 7: changes of rules hold at once on the instance that made them, and within five seconds on others.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Api, asAdmin, signIn } from "../../support/api.js";
import { until } from "../../support/process-facts.js";
import { type Stack, startStack } from "../../support/stack.js";
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

beforeAll(async () => {
  stack = await startStack();
  twin = await startStack({ twinOf: stack });
  admin = await asAdmin(stack);
  role = (await make(admin, "svc_role", { name: "Reader" })).id;
  await make(admin, "svc_user", { ...ANN, role });
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
  }, 60_000);
});
