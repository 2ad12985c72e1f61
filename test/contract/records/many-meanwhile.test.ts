// A change or delete by a filter, and one with If-Match, beside others who are faster: what they have moved out of the filter
// or out of the caller's rules is no refusal of the caller, and what never was the caller's still is.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Answer, type Api, search, signIn } from "../../support/api.js";
import { type BehindProxy, type QuickAndSlow, startQuickAndSlow } from "../../support/behind-proxy.js";
import { isCommand, isReadOf, isWriteOf, stopAt } from "../../support/command-proxy.js";
import { make, makeTable, type Row, read, valuesOf } from "./make.js";

const WORKER = { email: "worker@example.com", password: "the worker's password" };
const ALL = { id: { _is_not_null: true } };
const VERSION_FIELD = "_record_version";
const OPEN = { state: "open" };

let system: QuickAndSlow;
let api: Api;
let held: BehindProxy;
/** Makes the rules, which the worker's instance is to know at once. */
let slow: Api;
let role: string;
/** By the instance whose commands can be held up. */
let worker: Api;

beforeAll(async () => {
  system = await startQuickAndSlow();
  ({ api, held, slow } = system);
  const columns = [{ name: "state", type: "string" }];
  const job = { name: "job", type: "many-to-one", table: "jobs", inverse: "logs", onDelete: "CASCADE" };
  const bill = { ...job, inverse: "bills", onDelete: "RESTRICT" };
  for (const name of ["jobs", "slips"]) await makeTable(api, { name, columns });
  await makeTable(api, { name: "logs", columns, relations: [job] });
  await makeTable(api, { name: "bills", columns, relations: [bill] });
  const log = { name: "log", type: "many-to-one", table: "logs", onDelete: "RESTRICT" };
  await makeTable(api, { name: "notes", columns: [], relations: [log] });
  await makeTable(api, { name: "orders", columns, relations: [{ ...log, onDelete: "SET NULL" }] });
  role = (await make(api, "svc_role", { name: "Worker" })).id;
  await make(api, "svc_user", { ...WORKER, role });
  worker = await signIn(`${held.stack.appUrl}/api`, WORKER);
});

afterAll(() => system?.stop());

beforeEach(async () => {
  held.proxy.decide(() => "pass");
  for (const table of ["svc_permission", "bills", "notes", "orders", "jobs", "slips", "logs"])
    expect((await removeAt(slow, table, ALL)).status).toBe(200);
  for (const table of ["logs", "bills"]) await rule({ table, action: "read" });
  for (const action of ["create", "update"]) await rule({ table: "logs", action });
});

const rule = (parts: Row) => make(slow, "svc_permission", { role, table: "jobs", ...parts });
const removeAt = (caller: Api, table: string, filter: object): Promise<Answer> =>
  caller.send("DELETE", `/${table}${search({ filter })}`);
const many = ({ status, body }: Answer) => [status, body.meta?.matched, body.meta?.changed];

/** The worker takes what is open, and deletes it. */
async function openOnly(seen: object = {}): Promise<void> {
  await rule({ action: "update", filter: OPEN, check: { state: "taken" } });
  await rule({ action: "update", fields: "state", filter: { state: "done" }, check: { state: "kept" } });
  for (const table of ["jobs", "slips"]) {
    await rule({ table, action: "read", ...seen });
    await rule({ table, action: "delete", filter: OPEN });
  }
}

async function open(table: string, count: number): Promise<string[]> {
  const made = await api.post(
    `/${table}`,
    Array.from({ length: count }, () => OPEN),
  );
  expect(made.status).toBe(201);
  return valuesOf(api, table, "id");
}

const WAYS: readonly (readonly [string, string, () => Promise<Answer>])[] = [
  ["change", "jobs", () => worker.patch("/jobs", { state: "taken" }, { filter: OPEN })],
  [
    "change with new records",
    "jobs",
    () => worker.patch("/jobs", { state: "taken", logs: [{ state: "new" }] }, { filter: OPEN }),
  ],
  ["delete", "slips", () => removeAt(worker, "slips", OPEN)],
  ["delete with what links to it", "jobs", () => removeAt(worker, "jobs", OPEN)],
];

function isWriteOfOne(table: string, id = ""): (command: string) => boolean {
  const named = Buffer.from(id, "hex").toString("latin1");
  const writes = [isWriteOf(table), isCommand("delete", table)];
  return (command) => command.includes(named) && writes.some((is) => is(command));
}

describe.each(WAYS)("a %s of many, beside others who move some of them on", (_what, table, send) => {
  it.each([
    ["nothing", {}, "done"],
    ["nothing", {}, "elsewhere"],
    ["what is not open", { filter: OPEN }, "done"],
  ])("leaves these alone, where rules hide %s (%#)", async (_hidden, seen, state) => {
    await openOnly(seen);
    const ids = await open(table, 12);
    const stopped = await stopAt(held.proxy, isWriteOfOne(table, ids[0]), send);
    // One whose turn it is, and one whose turn is to come.
    for (const id of [ids[0], ids[11]])
      expect((await api.patch(`/${table}/${id}`, { state })).status).toBe(200);
    stopped.goOn();
    expect(many(await stopped.answer)).toEqual([200, 10, 10]);
    expect(await valuesOf(api, table, "id", { state })).toEqual([ids[0], ids[11]]);
    expect((await api.get("/logs", { filter: { job: { state } } })).body.data).toEqual([]);
  });
});

it.each([1, 12])(
  "a delete of many leaves alone what others have linked to meanwhile, so that the filter does not match it (of %d)",
  async (count) => {
    await openOnly();
    const ids = await open("jobs", count);
    const filter = { ...OPEN, bills: { _is_null: true } };
    const stopped = await stopAt(held.proxy, isReadOf("bills"), () => removeAt(worker, "jobs", filter));
    await make(api, "bills", { job: ids[count - 1] });
    stopped.goOn();
    expect(many(await stopped.answer)).toEqual([200, count - 1, count - 1]);
  },
);

it("a change of many reaches those that its own new records take out of the filter", async () => {
  await openOnly();
  await open("jobs", 12);
  const body = { state: "taken", logs: [{ state: "new" }] };
  expect(many(await worker.patch("/jobs", body, { filter: { logs: { _is_null: true } } }))).toEqual([
    200, 12, 12,
  ]);
});

describe("a refusal after the request itself has written", () => {
  it("of a delete of many is told where the records that had to go first have taken the record out of the filter", async () => {
    const kept = { softDelete: true, columns: [{ name: "state", type: "string" }] };
    await makeTable(api, { name: "crates", ...kept });
    const crate = {
      name: "crate",
      type: "many-to-one",
      table: "crates",
      inverse: "parts",
      onDelete: "CASCADE",
    };
    await makeTable(api, { name: "parts", ...kept, relations: [crate] });
    const { id } = await make(api, "crates", OPEN);
    await make(api, "parts", { crate: id });
    // Another program has written a field of ours: the delete finds that when it comes to the record itself.
    await held.db.collection("crates").updateMany({}, { $set: { [VERSION_FIELD]: "none" } });
    const answer = await removeAt(api, "crates", { parts: { _is_not_null: true } });
    expect([answer.status, answer.body.error?.details]).toEqual([409, { changed: 0 }]);
    expect(await valuesOf(api, "parts", "id")).toEqual([]);
  });

  it.each([
    [409, "moved it on", (id: string) => api.patch(`/orders/${id}`, { state: "done" })],
    [404, "deleted it", (id: string) => api.delete(`/orders/${id}`)],
  ])(
    "of a change of many is told where what it made stays for others (%d: who have %s)",
    async (status, _how, move) => {
      for (const action of ["read", "update"]) await rule({ table: "orders", action, filter: OPEN });
      const { id } = await make(api, "orders", OPEN);
      const body = { state: "taken", log: { state: "new" } };
      const stopped = await stopAt(held.proxy, isWriteOfOne("orders", id), () =>
        worker.patch("/orders", body, { filter: OPEN }),
      );
      const [log] = await valuesOf(api, "logs", "id");
      await make(api, "notes", { log });
      expect((await move(id)).status).toBe(200);
      stopped.goOn();
      const answer = await stopped.answer;
      const kept = [{ table: "logs", id: log }];
      expect([answer.status, answer.body.error?.details]).toEqual([status, { kept, changed: 0 }]);
    },
  );
});

describe("what never was the caller's", () => {
  it.each(WAYS)("is refused as before: %s of many", async (_what, table, send) => {
    for (const action of ["read", "update", "delete"])
      await rule({ table, action, ...(action !== "read" && { filter: { state: "done" } }) });
    await open(table, 2);
    expect((await send()).status).toBe(403);
    expect(await valuesOf(api, "logs", "id")).toEqual([]);
  });

  it("is refused where new records in the body have taken the record out of the filter", async () => {
    await rule({ action: "read" });
    await rule({ action: "update", check: { state: "done" } });
    await open("jobs", 1);
    const filter = { logs: { _is_null: true } };
    const answer = await worker.patch("/jobs", { state: "taken", logs: [{ state: "new" }] }, { filter });
    expect(answer.status).toBe(403);
    expect(await valuesOf(api, "logs", "id")).toEqual([]);
  });
});

describe("If-Match of an older version", () => {
  const tagOf = async (id: unknown) => (await worker.get(`/jobs/${id}`)).headers.get("etag") ?? "none";
  const late = (method: string, id: unknown, tag: string, body?: Row) =>
    worker.send(method, `/jobs/${id}`, {
      headers: { "If-Match": tag, ...(body && { "Content-Type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
    });
  const TAKEN = { state: "taken" };
  const LATE: readonly (readonly [string, string, Row | undefined])[] = [
    ["change", "PATCH", TAKEN],
    ["change with new records", "PATCH", { ...TAKEN, logs: [{ state: "new" }] }],
    ["delete", "DELETE", undefined],
  ];

  it.each(LATE)(
    "is 412 also where the change by others leaves no rule for a %s",
    async (_what, method, body) => {
      await openOnly();
      for (const state of ["done", "elsewhere"]) {
        const { id } = await make(api, "jobs", OPEN);
        const tag = await tagOf(id);
        expect((await api.patch(`/jobs/${id}`, { state })).status).toBe(200);
        expect((await late(method, id, tag, body)).status).toBe(412);
        // Who reads it again is told that it is not theirs any more.
        expect((await late(method, id, await tagOf(id), body)).status).toBe(403);
        expect((await read(api, "jobs", id)).state).toBe(state);
      }
    },
  );

  it.each(LATE)("names nothing that others could have changed: %s", async (_what, method, body) => {
    await openOnly();
    const { id } = await make(api, "jobs", { state: "elsewhere" });
    const tag = await tagOf(id);
    for (const nothing of [`W/${tag}`, '"not-ours"'])
      expect((await late(method, id, nothing, body)).status).toBe(403);
    expect((await late(method, id, `W/${tag}, ${tag}`, body)).status).toBe(403);
  });

  it.each(LATE)("tells nothing of a record that rules hide by now: %s", async (_what, method, body) => {
    await openOnly({ filter: OPEN });
    const { id } = await make(api, "jobs", OPEN);
    const tag = await tagOf(id);
    expect((await api.patch(`/jobs/${id}`, { state: "done" })).status).toBe(200);
    expect((await late(method, id, tag, body)).status).toBe(404);
  });

  it("is 412 as well where others have restored the record and moved it on", async () => {
    await makeTable(api, { name: "boxes", softDelete: true, columns: [{ name: "state", type: "string" }] });
    await rule({ table: "boxes", action: "read" });
    await rule({ table: "boxes", action: "delete", filter: OPEN });
    const { id } = await make(api, "boxes", OPEN);
    const former = (await worker.get(`/boxes/${id}`)).headers.get("etag") ?? "none";
    expect((await api.delete(`/boxes/${id}`)).status).toBe(200);
    expect((await api.post(`/boxes/${id}/restore`)).status).toBe(200);
    expect((await api.patch(`/boxes/${id}`, { state: "done" })).status).toBe(200);
    const restore = async (headers: Record<string, string>) =>
      (await worker.send("POST", `/boxes/${id}/restore`, { headers })).status;
    expect(await restore({ "If-Match": former })).toBe(412);
    expect(await restore({ "If-Match": `W/${former}` })).toBe(403);
    expect(await restore({})).toBe(403);
  });

  it("is no reason where the version is the present one, and a link forbids the delete", async () => {
    await openOnly();
    const { id } = await make(api, "jobs", OPEN);
    await make(api, "bills", { job: id });
    expect((await late("DELETE", id, await tagOf(id))).status).toBe(409);
  });
});
