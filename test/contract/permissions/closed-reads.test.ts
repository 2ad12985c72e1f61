// Contract 7: a rule for reading that shows nothing, because it is switched off or fits its table no more, closes the table to
// changes and deletes as well; one that is deleted no longer confines them.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Api, asAdmin, signIn } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable, type Row, read } from "../records/make.js";
import { deleteConfirmed, patchConfirmed } from "../tables/change.js";

const ANN = { email: "ann@example.com", password: "ann's password" };

let stack: Stack;
let admin: Api;
let ann: Api;
let annId: string;
let role: string;
let table: Row;
/** Ann's. */
let mine: Row;
let others: Row;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  role = (await make(admin, "svc_role", { name: "Writer" })).id;
  annId = (await make(admin, "svc_user", { ...ANN, role })).id;
  ann = await signIn(`${stack.appUrl}/api`, ANN);
});

afterAll(() => stack?.stop());

let count = 0;
beforeEach(async () => {
  count += 1;
  table = await makeTable(admin, {
    name: `letters${count}`,
    columns: [
      { name: "title", type: "string" },
      { name: "signer", type: "string" },
    ],
    relations: [{ name: "owner", type: "many-to-one", table: "svc_user" }],
  });
  mine = await make(admin, table.name, { title: "mine", owner: annId });
  others = await make(admin, table.name, { title: "another's" });
  for (const action of ["update", "delete"]) await rule({ action });
});

const rule = (parts: Row): Promise<Row> =>
  make(admin, "svc_permission", { role, table: table.name, action: "read", ...parts });
const path = ({ id }: Row): string => `/${table.name}/${id}`;
const changed = async (record: Row): Promise<number> =>
  (await ann.patch(path(record), { title: "changed" })).status;
const deleted = async (record: Row): Promise<number> => (await ann.delete(path(record))).status;
const explained = async (question: Row): Promise<Row> =>
  (await admin.post("/svc_permission/explain", { user: annId, table: table.name, ...question })).body.data[0];

describe.each<[when: string, close: (rule: Row) => Promise<unknown>]>([
  ["switched off", ({ id }) => admin.patch(`/svc_permission/${id}`, { isEnabled: false })],
  ["switched off by a change of tables", () => patchConfirmed(admin, table.id, { relations: [] })],
])("a rule for reading that is %s", (_when, close) => {
  let reading: Row;

  beforeEach(async () => {
    reading = await rule({ filter: { owner: "$user.id" } });
    expect([await changed(mine), await changed(others)]).toEqual([200, 404]);
    await close(reading);
    expect((await read(admin, "svc_permission", reading.id)).isEnabled).toBe(false);
  });

  it("closes the table to changes and deletes, too", async () => {
    expect((await ann.get(path(mine))).status).toBe(403);
    for (const record of [mine, others])
      expect([await changed(record), await deleted(record)]).toEqual([403, 403]);
  });

  it("leaves nothing to tell the caller of", async () => {
    const { body } = await ann.get("/me/permissions");
    expect(body.data.filter((each: Row) => each.table === table.name)).toEqual([]);
  });

  it("is told as the reason by explain", async () => {
    const closed = { allowed: false, because: expect.stringMatching(/^no record may be read, .* are off$/) };
    for (const question of [{ action: "update" }, { action: "delete", id: mine.id }])
      expect(await explained(question)).toMatchObject(closed);
  });

  it("confines no more once it is deleted", async () => {
    await admin.delete(`/svc_permission/${reading.id}`);
    expect([await changed(others), await deleted(others)]).toEqual([200, 200]);
  });
});

it("a rule for reading of a table that is gone closes no other that has its name", async () => {
  await rule({ filter: { owner: "$user.id" } });
  await deleteConfirmed(admin, table.id);
  table = await makeTable(admin, { name: table.name, columns: [{ name: "title", type: "string" }] });
  const record = await make(admin, table.name, { title: "new" });
  await rule({ action: "update" });
  expect(await changed(record)).toBe(200);
  expect(await explained({ action: "update" })).toMatchObject({ allowed: true });
});

it("a cost that switches off a rule for reading tells what else it closes", async () => {
  await rule({ filter: { owner: "$user.id" } });
  const { body } = await admin.patch(`/svc_table/${table.id}`, { relations: [] });
  const [{ why }] = body.error.details.changes.filter(({ what }: Row) => what === "rule.off");
  expect(why).toMatch(
    / would be switched off, because .*; what it alone shows could then be neither changed nor /,
  );
});

it("a rule for reading keeps what it shows by something else than a caller's value that is too long", async () => {
  await rule({ filter: { _or: [{ signer: "$user.name" }, { title: "public" }] } });
  const open = await make(admin, table.name, { title: "public" });
  expect((await ann.patch("/me", { name: "n".repeat(1_025) })).status).toBe(200);
  const { status, body } = await ann.get(`/${table.name}`);
  expect([status, body.data.map(({ id }: Row) => id)]).toEqual([200, [open.id]]);
  expect([await changed(others), await deleted(others), await changed(open)]).toEqual([404, 404, 200]);
});
