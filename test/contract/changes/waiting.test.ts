// Contract 5.3: a stream whose changes take their time to be judged shows that it lives, ends when it has to, and tells by
// the rules as they are in the end.
import { afterAll, afterEach, beforeAll, expect, it } from "@jest/globals";
import { type Api, apiOf, asAdmin, search } from "../../support/api.js";
import { type BehindProxy, startBehindProxy } from "../../support/behind-proxy.js";
import type { Fate } from "../../support/command-proxy.js";
import { type EventSource, openEvents } from "../../support/event-source.js";
import { until } from "../../support/wait.js";
import { make, makeTable } from "../records/make.js";

const READER = { email: "reader@example.com", password: "correct horse battery" };
/** Longer than rules that have changed may still count. */
const A_WHILE_MS = 5_000;

let held: BehindProxy;
let admin: Api;
let rule: string;
const open: EventSource[] = [];

beforeAll(async () => {
  held = await startBehindProxy(undefined, { CHANGES_HEARTBEAT_MS: "200" });
  admin = await asAdmin(held.stack);
  const columns = ["title", "secret"].map((name) => ({ name, type: "string" as const }));
  await makeTable(admin, { name: "notes", changes: true, columns });
  const { id: role } = await make(admin, "svc_role", { name: "readers" });
  await make(admin, "svc_user", { ...READER, role });
  rule = (await make(admin, "svc_permission", { table: "notes", action: "read", role })).id;
});

afterEach(() => {
  held.proxy.decide(() => "pass");
  for (const source of open.splice(0)) source.close();
});

afterAll(() => held?.stop());

async function tokenOf(credentials: { email: string; password: string }): Promise<string> {
  const { body } = await apiOf(`${held.stack.appUrl}/api`).post("/auth/login", credentials);
  return `Bearer ${body.accessToken}`;
}

async function follow(token: string, filter: object, from?: string): Promise<EventSource> {
  const url = `${held.stack.appUrl}/api/notes/changes${search({ filter })}`;
  const source = await openEvents(url, { Authorization: token }, from);
  open.push(source);
  return source;
}

const isJudging = (command: string): boolean => command.includes("$documents\0");

/** Lets judgements stand still after so many. */
function holdJudging(after = 0): { readonly judgements: () => number; readonly goOn: () => void } {
  let count = 0;
  let goOn = (): void => undefined;
  const released = new Promise<Fate>((resolve) => {
    goOn = () => resolve("pass");
  });
  held.proxy.decide((command) => {
    if (!isJudging(command)) return "pass";
    count += 1;
    return count > after ? released : "pass";
  });
  return { judgements: () => count, goOn };
}

async function beat(source: EventSource): Promise<void> {
  const before = source.lastEventId;
  await until(
    () => source.lastEventId,
    (id) => id !== before,
  );
}

const B = { title: { _eq: "b" } };

it("shows that it lives while a change is judged, and moves the client's place on behind what was not told", async () => {
  const token = await tokenOf(held.stack.admin);
  const source = await follow(token, B);
  const { judgements, goOn } = holdJudging(1);
  await make(admin, "notes", { title: "a" });
  await until(judgements, (count) => count === 1);
  const { id: second } = await make(admin, "notes", { title: "b" });
  await until(judgements, (count) => count === 2);
  await beat(source);
  // The one before may have been on its way already.
  await beat(source);
  // It asks the database for nothing, so that nothing holds it up.
  const other = await follow(token, {}, source.lastEventId);
  const [next] = await other.first(1, "created");
  expect(next?.data.id).toBe(second);
  goOn();
  expect((await source.first(1, "created"))[0]?.data.id).toBe(second);
});

it("ends within seconds when the session does, though a change is still being judged", async () => {
  const token = await tokenOf(READER);
  const source = await follow(token, B);
  const { judgements, goOn } = holdJudging();
  await make(admin, "notes", { title: "b" });
  await until(judgements, (count) => count > 0);
  await apiOf(`${held.stack.appUrl}/api`, { Authorization: token }).post("/logout");
  const [end] = await source.first(1, "end");
  expect(end?.data).toEqual({ reason: "signed-out" });
  goOn();
});

it("shows no more than the rules do that came while a change was judged", async () => {
  const source = await follow(await tokenOf(READER), B);
  const { judgements, goOn } = holdJudging();
  const { id } = await make(admin, "notes", { title: "b", secret: "x" });
  await until(judgements, (count) => count > 0);
  expect((await admin.patch(`/svc_permission/${rule}`, { fields: "title" })).status).toBe(200);
  await new Promise((resolve) => setTimeout(resolve, A_WHILE_MS));
  goOn();
  const [created] = await source.first(1, "created");
  expect(created?.data).toMatchObject({ id, record: { title: "b" } });
  expect(created?.data.record).not.toHaveProperty("secret");
});
