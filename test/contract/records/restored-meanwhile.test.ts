// A deleted record that is restored while a write of it is refused: the write is judged by the record as it is then, and is
// never forbidden because two looks have seen two states of it.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Answer, type Api, signIn } from "../../support/api.js";
import { type BehindProxy, type QuickAndSlow, startQuickAndSlow } from "../../support/behind-proxy.js";
import { goingOn, isReadOf, nth, stopAt } from "../../support/command-proxy.js";
import { make, makeTable, read } from "./make.js";

const ANN = { email: "ann@example.com", password: "ann's password" };

let system: QuickAndSlow;
let api: Api;
let held: BehindProxy;
let slow: Api;
/** She may write ships that sail, and sees all. */
let ann: Api;

beforeAll(async () => {
  system = await startQuickAndSlow();
  ({ api, held, slow } = system);
  await makeTable(api, { name: "docks", columns: [{ name: "name", type: "string" }] });
  await makeTable(api, {
    name: "ships",
    softDelete: true,
    columns: [
      { name: "name", type: "string" },
      { name: "sails", type: "boolean", default: true },
    ],
    relations: [{ name: "dock", type: "many-to-one", table: "docks", inverse: "ships" }],
  });
  const role = (await make(api, "svc_role", { name: "Captain" })).id;
  await make(api, "svc_user", { ...ANN, role });
  for (const action of ["read", "create"])
    for (const table of ["ships", "docks"]) await make(api, "svc_permission", { role, table, action });
  for (const action of ["update", "delete"])
    await make(api, "svc_permission", { role, table: "ships", action, filter: { sails: true } });
  ann = await signIn(`${held.stack.appUrl}/api`, ANN);
});

afterAll(() => system?.stop());

beforeEach(() => held.proxy.decide(() => "pass"));

/** Writes a deleted record, which is restored when it was judged and before it is looked at again. */
async function restoredMeanwhile(id: string, send: () => Promise<Answer>): Promise<Answer> {
  expect((await api.delete(`/ships/${id}`)).status).toBe(200);
  const write = await stopAt(held.proxy, nth(2, isReadOf("ships")), send);
  expect((await api.post(`/ships/${id}/restore`)).status).toBe(200);
  write.goOn();
  return write.answer;
}

const ship = async (parts = {}): Promise<string> => (await make(api, "ships", { name: "old", ...parts })).id;

describe.each([
  ["a root admin", () => slow],
  ["a user whose rule it matches", () => ann],
])("a record that comes back while %s", (_who, caller) => {
  it("changes it is changed", async () => {
    const id = await ship();
    const { status } = await restoredMeanwhile(id, () => caller().patch(`/ships/${id}`, { name: "new" }));
    expect([status, (await read(api, "ships", id, "name")).name]).toEqual([200, "new"]);
  });

  it("changes it with a new record inside is changed", async () => {
    const id = await ship();
    const body = { name: "new", dock: { name: "a new one" } };
    const { status } = await restoredMeanwhile(id, () => caller().patch(`/ships/${id}`, body));
    const { name, dock } = await read(api, "ships", id, "name,dock.name");
    expect([status, name, dock.name]).toEqual([200, "new", "a new one"]);
  });

  it("deletes it is deleted", async () => {
    const id = await ship();
    const { status } = await restoredMeanwhile(id, () => caller().delete(`/ships/${id}`));
    expect([status, (await api.get(`/ships/${id}`)).status]).toEqual([200, 404]);
  });
});

describe("a record that comes back and", () => {
  it("goes again while it is judged is not there, even for a root admin", async () => {
    const id = await ship();
    await api.delete(`/ships/${id}`);
    const isRead = isReadOf("ships");
    const change = await stopAt(held.proxy, nth(2, isRead), () =>
      slow.patch(`/ships/${id}`, { name: "new" }),
    );
    await api.post(`/ships/${id}/restore`);
    const again = await goingOn(held.proxy, isRead, change);
    await api.delete(`/ships/${id}`);
    again.goOn();
    expect((await again.answer).status).toBe(404);
  });

  it("is none that the caller's rules match is forbidden", async () => {
    const id = await ship({ sails: false });
    for (const send of [() => ann.patch(`/ships/${id}`, { name: "new" }), () => ann.delete(`/ships/${id}`)]) {
      expect((await restoredMeanwhile(id, send)).status).toBe(403);
    }
    expect((await read(api, "ships", id, "name")).name).toBe("old");
  });
});
