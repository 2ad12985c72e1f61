// Whether somebody has proved that a user's address is theirs decides who gets the account (docs/api.md, section 3.4).
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { type Api, asAdmin, signIn } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable } from "../records/make.js";

const CLERK = { email: "clerk@example.com", password: "the clerk's password" };

let stack: Stack;
let root: Api;
let clerk: Api;
let ann: string;
let client: MongoClient;

beforeAll(async () => {
  stack = await startStack();
  root = await asAdmin(stack);
  const admin = root;
  const role = (await make(admin, "svc_role", { name: "office" })).id;
  const people = { role, table: "svc_user", fields: "name,email" };
  for (const action of ["read", "update"]) await make(admin, "svc_permission", { ...people, action });
  await make(admin, "svc_user", { ...CLERK, role });
  ann = `/svc_user/${(await make(admin, "svc_user", { email: "ann@example.com" })).id}`;
  clerk = await signIn(stack.dataUrl, CLERK);
  client = await MongoClient.connect(stack.mongodbUrl);
});

afterAll(async () => {
  await client?.close();
  await stack?.stop();
});

const stored = () => client.db().collection("svc_user").findOne({ email: /^ann@/ });

describe("the address of a user, for whom others may write it", () => {
  it("stays proved when it is sent again with the rest of a form", async () => {
    const { status, body } = await clerk.patch(ann, { name: "Ann", email: " ANN@example.com" });
    expect([status, body.data[0]?.name]).toEqual([200, "Ann"]);
    expect(await stored()).not.toHaveProperty("emailUnproven");
    expect((await clerk.patch(ann, { email: "ann@example.com" })).status).toBe(200);
    expect(await stored()).not.toHaveProperty("emailUnproven");
  });

  it("is to be proved when it is another one", async () => {
    expect((await clerk.patch(ann, { email: "ann@elsewhere.example" })).status).toBe(200);
    expect(await stored()).toMatchObject({ email: "ann@elsewhere.example", emailUnproven: true });
  });

  it("counts as proved once root writes another one", async () => {
    await clerk.patch(ann, { email: "ann@typo.example" });
    expect(await stored()).toHaveProperty("emailUnproven");
    expect((await root.patch(ann, { email: "ann@right.example" })).status).toBe(200);
    expect(await stored()).not.toHaveProperty("emailUnproven");
  });

  it("is still to be proved after a form of root's that sends it along (B1)", async () => {
    await clerk.patch(ann, { email: "ann@typo.example" });
    const { status, body } = await root.patch(ann, { name: "Ann B.", email: "Ann@typo.example" });
    expect([status, body.data[0]?.name]).toEqual([200, "Ann B."]);
    expect(await stored()).toHaveProperty("emailUnproven");
  });

  /** A user with an address that none may have any more. */
  async function withOldAddress(email: string): Promise<string> {
    const at = new Date();
    const old = { email, isActive: true, isRootAdmin: false, createdAt: at, updatedAt: at };
    const { insertedId } = await client.db().collection("svc_user").insertOne(old);
    return `/svc_user/${insertedId}`;
  }

  it("stays where an earlier version took what is none, also beside a new record", async () => {
    const user = { name: "user", type: "many-to-one", table: "svc_user", inverse: "badges" };
    await makeTable(root, { name: "badges", columns: [{ name: "text", type: "string" }], relations: [user] });
    const email = "<i>@z.example";
    const path = await withOldAddress(email);
    const { status, body } = await root.patch(path, { email, badges: [{ text: "new" }] });
    expect([status, body.data?.[0]?.email]).toEqual([200, email]);
  });

  it("stays where an earlier version took what is none, until it is replaced", async () => {
    const path = await withOldAddress("<b>@z.example");
    for (const api of [root, clerk]) {
      const { status, body } = await api.patch(path, { name: "Bold", email: "<B>@z.example" });
      expect([status, body.data?.[0]?.name]).toEqual([200, "Bold"]);
    }
    const { status, body } = await root.patch(path, { email: "<i>@z.example" });
    expect([status, body.message]).toEqual([400, ["email: must be a valid email"]]);
    expect((await root.patch(path, { email: "bold@z.example" })).status).toBe(200);
  });
});
