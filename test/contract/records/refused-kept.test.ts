// A create that is refused when others have come to link to what it had made: that costs them nothing, and the refusal says
// what has stayed for their sake.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Answer, type Api, signIn } from "../../support/api.js";
import { type QuickAndSlow, startQuickAndSlow } from "../../support/behind-proxy.js";
import { afterWrites, isCommand, isReadOf, nth, type Stopped, stopAt } from "../../support/command-proxy.js";
import { roleFor } from "../../support/rules.js";
import { until } from "../../support/wait.js";
import { make, makeTable, read } from "./make.js";

let system: QuickAndSlow;
let api: Api;
let slow: Api;

const name = { name: "name", type: "string" };
const code = { name: "code", type: "string", unique: true };

beforeAll(async () => {
  system = await startQuickAndSlow();
  ({ api, slow } = system);
  const to = (onDelete: string, more: object = {}) => [
    { name: "home", type: "many-to-one", table: "homes", onDelete, ...more },
  ];
  await makeTable(api, { name: "homes", columns: [name] });
  await makeTable(api, { name: "claims", columns: [code], relations: to("SET NULL") });
  const table = (called: string, relations: object[], more: object = {}) =>
    makeTable(api, { name: called, columns: [name], relations, ...more });
  await table("books", to("CASCADE"));
  await table("chairs", to("CASCADE", { required: true }));
  await table("lamps", to("CASCADE"), { softDelete: true });
  await table("keys", to("RESTRICT", { required: true }));
  await table("guests", to("SET NULL"));
  const claim = { name: "claim", type: "many-to-one", table: "claims", onDelete: "CASCADE" };
  await table("appeals", [claim]);
  const parent = { name: "parent", type: "many-to-one", table: "nodes", onDelete: "CASCADE" };
  await makeTable(api, { name: "nodes", columns: [name, code], relations: [parent], softDelete: true });
  await make(api, "claims", { code: "taken" });
  await make(api, "nodes", { code: "taken" });
});

afterAll(() => system?.stop());

beforeEach(() => system.held.proxy.decide(() => "pass"));

const idOf = async (table: string, called: string): Promise<string> =>
  (await api.get(`/${table}`, { filter: { name: called }, fields: "id" })).body.data[0]?.id;

/** Sends a claim that will be refused, with a new home; stops when the home is there. */
const claim = (called: string): Promise<Stopped<Answer>> =>
  stopAt(system.held.proxy, isCommand("insert", "claims"), () =>
    slow.post("/claims", { code: "taken", home: { name: called } }),
  );

describe("what others have linked to a record of a refused create", () => {
  it.each(["books", "chairs", "lamps", "keys"])(
    "stays as they left it, and that record too: %s",
    async (table) => {
      const keeper = (await make(api, "homes", { name: `keeper of ${table}` })).id;
      const old = (await make(api, table, { name: "old", home: keeper })).id;
      const refused = await claim(`made for ${table}`);
      const home = await idOf("homes", `made for ${table}`);
      expect((await api.patch(`/${table}/${old}`, { home })).status).toBe(200);
      const fresh = (await make(api, table, { name: "new", home })).id;
      refused.goOn();
      const { status, body } = await refused.answer;
      expect([status, body.error.details]).toEqual([
        409,
        { fields: ["code"], kept: [{ table: "homes", id: home }] },
      ]);
      for (const id of [old, fresh])
        expect(await read(api, table, id, "home.name")).toMatchObject({
          home: { name: `made for ${table}` },
        });
    },
  );

  it("lets go of it where their link is one that any delete sets to null", async () => {
    const refused = await claim("made for guests");
    const home = await idOf("homes", "made for guests");
    const { id } = await make(api, "guests", { home });
    refused.goOn();
    expect((await refused.answer).body.error.details).toEqual({ fields: ["code"] });
    expect(await read(api, "guests", id, "home")).toEqual({ home: null });
    expect(await idOf("homes", "made for guests")).toBe(undefined);
  });

  it("stays in a table that keeps deleted records, though it was deleted by then, and can be restored", async () => {
    // The second insert: the record around the new one.
    const refused = await stopAt(system.held.proxy, nth(2, isCommand("insert", "nodes")), () =>
      slow.post("/nodes", { code: "taken", parent: { name: "made" } }),
    );
    const parent = await idOf("nodes", "made");
    const { id } = await make(api, "nodes", { name: "theirs", parent });
    expect((await api.delete(`/nodes/${id}`)).status).toBe(200);
    refused.goOn();
    expect((await refused.answer).body.error.details.kept).toEqual([{ table: "nodes", id: parent }]);
    expect((await api.post(`/nodes/${id}/restore`)).status).toBe(200);
    expect(await read(api, "nodes", id, "parent.name")).toMatchObject({ parent: { name: "made" } });
  });
});

it("a change of many names what stays of each of them that was refused", async () => {
  for (const each of ["one of many", "another of many"]) await make(api, "nodes", { name: each });
  let held = 0;
  let goOn = (): void => undefined;
  const passed = new Promise<"pass">((resolve) => {
    goOn = () => resolve("pass");
  });
  system.held.proxy.decide((command) => {
    if (!isCommand("findAndModify", "nodes")(command)) return "pass";
    held += 1;
    return passed;
  });
  const filter = encodeURIComponent(JSON.stringify({ name: { _ends_with: " of many" } }));
  const body = { code: "taken", parent: { name: "made for many" } };
  const answer = slow.patch(`/nodes?filter=${filter}`, body);
  await until(
    async () => held,
    (count) => count === 2,
  );
  const made = { filter: { name: "made for many" }, fields: "id" };
  const parents: { id: string }[] = (await api.get("/nodes", made)).body.data;
  for (const { id } of parents) await make(api, "nodes", { name: "theirs", parent: id });
  goOn();
  const { kept } = (await answer).body.error.details;
  expect(parents).toHaveLength(2);
  expect(kept).toEqual(expect.arrayContaining(parents.map(({ id }) => ({ table: "nodes", id }))));
});

it("who may not read what stays is not told of it", async () => {
  const role = await roleFor(api, "claimants", []);
  const filter = { code: { _starts_with: "seen" } };
  for (const rule of [{ action: "create" }, { action: "read", filter }])
    await make(api, "svc_permission", { role, table: "claims", ...rule });
  const credentials = { email: "claimant@example.com", password: "long enough 1" };
  await make(api, "svc_user", { ...credentials, role });
  const claimant = await signIn(system.held.stack.dataUrl, credentials);
  const detailsFor = async (code: string) => {
    const refused = await stopAt(
      system.held.proxy,
      afterWrites(isCommand("insert", "claims"), isReadOf("claims")),
      () => claimant.post("/claims", [{ code }, { code: "taken" }]),
    );
    const [{ id: claim }] = (await api.get("/claims", { filter: { code } })).body.data;
    await make(api, "appeals", { claim });
    refused.goOn();
    const { details } = (await refused.answer).body.error;
    expect(await read(api, "claims", claim, "code")).toMatchObject({ code });
    return { ...details, claim };
  };
  expect(await detailsFor("unseen")).toEqual({ fields: ["code"], claim: expect.anything() });
  const { kept, claim } = await detailsFor("seen");
  expect(kept).toEqual([{ table: "claims", id: claim }]);
});

it("one of a thousand that has to stay does not keep the refusal waiting", async () => {
  const home = { name: "one of a thousand" };
  const list = Array.from({ length: 999 }, (_, at) => ({ code: `new ${at}`, home }));
  const refused = await stopAt(system.held.proxy, isCommand("insert", "claims"), () =>
    slow.post("/claims", [...list, { code: "taken", home }]),
  );
  const staying = await idOf("homes", home.name);
  await make(api, "books", { home: staying });
  refused.goOn();
  const { status, body } = await refused.answer;
  expect([status, body.error.details.kept]).toEqual([409, [{ table: "homes", id: staying }]]);
  const left = await api.get("/homes", { filter: home, fields: "id" });
  expect(left.body.data).toEqual([{ id: staying }]);
});
