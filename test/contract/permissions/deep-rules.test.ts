// Contract 7: how many relations a rule may go through does not depend on how many a query may; and what may be done with a rule
// that fits no more.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { MongoClient, ObjectId } from "mongodb";
import { type Api, asAdmin, signIn } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable, type Row } from "../records/make.js";

const ANN = { email: "ann@example.com", password: "ann's password" };
const MOST = 20;

let stack: Stack;
let admin: Api;
let ann: Api;
let role: string;

/** Of nodes: so many relations further up there is the root. */
const rootAfter = (hops: number): object =>
  hops === 0 ? { name: { _eq: "n0" } } : { up: rootAfter(hops - 1) };

beforeAll(async () => {
  stack = await startStack({ env: { QUERY_MAX_DEPTH: "2" } });
  admin = await asAdmin(stack);
  role = (await make(admin, "svc_role", { name: "Reader" })).id;
  await make(admin, "svc_user", { ...ANN, role });
  await makeTable(admin, {
    name: "nodes",
    columns: [{ name: "name", type: "string" }],
    relations: [{ name: "up", type: "many-to-one", table: "nodes", inverse: "downs" }],
  });
  let leaf: Row = await make(admin, "nodes", { name: "n0" });
  for (let at = 1; at <= MOST; at += 1) leaf = await make(admin, "nodes", { name: `n${at}`, up: leaf.id });
  ann = await signIn(`${stack.appUrl}/api`, ANN);
});

afterAll(() => stack?.stop());

describe("with QUERY_MAX_DEPTH=2, a rule", () => {
  const ruled = (hops: number) =>
    admin.post("/svc_permission", { role, table: "nodes", action: "read", filter: rootAfter(hops) });

  it("goes through up to twenty relations, and no more", async () => {
    const refused = await ruled(MOST + 1);
    expect([refused.status, refused.body.message]).toEqual([
      400,
      [`filter${".up".repeat(MOST + 1)}: goes through more than ${MOST} relations`],
    ]);
    const made = await ruled(MOST);
    expect(made.status).toBe(201);
    const seen = await ann.get("/nodes", { fields: "name" });
    expect([seen.status, seen.body.data]).toEqual([200, [{ name: `n${MOST}` }]]);
    await admin.delete(`/svc_permission/${made.body.data[0].id}`);
  });

  it("is followed on the way of a query, as far as the database takes both", async () => {
    for (const hops of [18, 17]) expect((await ruled(hops)).status).toBe(201);
    const parameters = { fields: "name,up.name", filter: JSON.stringify({ up: { name: "n17" } }) };
    const found = await ann.get("/nodes", parameters);
    expect([found.status, found.body.data]).toMatchObject([200, [{ name: "n18", up: { name: "n17" } }]]);
    await ruled(MOST);
    const refused = await ann.get("/nodes", { sort: "up.up.name" });
    expect([refused.status, refused.body.message]).toEqual([400, expect.stringMatching(/, with the rules /)]);
  });

  it("leaves a query no further than before", async () => {
    const refused = await admin.get("/nodes", { filter: JSON.stringify(rootAfter(3)) });
    expect([refused.status, refused.body.message]).toEqual([
      400,
      "filter.up.up.up: goes through more than 2 relations",
    ]);
  });
});

describe("a rule that fits its table no more", () => {
  let id: string;

  beforeAll(async () => {
    const filter = { name: "n1" };
    id = (await make(admin, "svc_permission", { role: null, table: "nodes", action: "update", filter })).id;
    const database = await MongoClient.connect(stack.mongodbUrl);
    const rules = database.db().collection("svc_permission");
    await rules.updateOne({ _id: new ObjectId(id) }, { $set: { filter: { nme: "n1" } } });
    await database.close();
  });

  it("can be described and switched off", async () => {
    const described = await admin.patch(`/svc_permission/${id}`, { description: "From before." });
    expect([described.status, described.body.data]).toMatchObject([200, [{ description: "From before." }]]);
    const off = await admin.patch(`/svc_permission/${id}`, { isEnabled: false, description: null });
    expect([off.status, off.body.data]).toMatchObject([200, [{ isEnabled: false, description: null }]]);
  });

  it.each([{ isEnabled: true }, { isEnabled: false, action: "delete" }, { filter: { nme: "n2" } }])(
    "can't be changed otherwise (%j) until it fits",
    async (body) => {
      const refused = await admin.patch(`/svc_permission/${id}`, body);
      expect([refused.status, refused.body.message]).toMatchObject([
        400,
        [expect.stringMatching(/^filter\.nme: unknown field "nme"/)],
      ]);
    },
  );

  it("can be switched on with a filter that fits", async () => {
    const body = { isEnabled: true, filter: { name: "n2" } };
    expect((await admin.patch(`/svc_permission/${id}`, body)).status).toBe(200);
  });
});
