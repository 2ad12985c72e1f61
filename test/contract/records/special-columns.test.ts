// Contract 6 and 7: encrypted, hidden and secret columns on their way in and out.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { type Api, asAdmin, signIn } from "../../support/api.js";
import { type BehindProxy, startBehindProxy } from "../../support/behind-proxy.js";
import { allowAll } from "../../support/rules.js";
import type { Stack } from "../../support/stack.js";
import { make, makeTable, read } from "./make.js";

const ANN = { email: "ann@example.com", password: "ann's password" };

let held: BehindProxy;
let stack: Stack;
let admin: Api;
let ann: Api;
let database: MongoClient;

beforeAll(async () => {
  held = await startBehindProxy();
  ({ stack } = held);
  admin = await asAdmin(stack);
  await make(admin, "svc_user", ANN);
  ann = await signIn(`${stack.appUrl}/api`, ANN);
  database = await MongoClient.connect(stack.mongodbUrl);
  await makeTable(admin, {
    name: "patients",
    columns: [
      { name: "name", type: "string" },
      { name: "diagnosis", type: "text", encrypted: true },
      { name: "visits", type: "json", encrypted: true },
      { name: "bill", type: "decimal", encrypted: true, rules: { min: "0" } },
      { name: "note", type: "string", hidden: true },
    ],
  });
  await allowAll(admin, ["patients"], null);
});

afterAll(async () => {
  await database.close();
  await held.stop();
});

/** What stands in the database, as one text of all bytes. */
async function storedText(collection: string): Promise<string> {
  const documents = await database.db().collection(collection).find({}, { raw: true }).toArray();
  return documents.map((each) => Buffer.from(each as unknown as Uint8Array).toString("latin1")).join();
}

describe("an encrypted column", () => {
  const SECRETS = { diagnosis: "canary-diagnosis", visits: [{ at: "canary-visit" }], bill: "123456.78" };

  it("reads as it was written, in every answer", async () => {
    const row = await make(admin, "patients", { name: "Bob", ...SECRETS });
    expect(row).toMatchObject(SECRETS);
    expect(await read(admin, "patients", row.id)).toMatchObject(SECRETS);
    expect((await admin.get("/patients", { filter: { id: row.id } })).body.data[0]).toMatchObject(SECRETS);
  });

  it("is told to the database as plain text by no command, a password neither, whatever a rule checks", async () => {
    const { id: role } = await make(admin, "svc_role", { name: "Nurse" });
    const writable = { patients: "name,diagnosis", svc_user: "name,email,password" };
    for (const [table, fields] of Object.entries(writable)) {
      for (const action of ["create", "update"])
        await make(admin, "svc_permission", { role, table, action, fields, check: { name: "canary-name" } });
      await make(admin, "svc_permission", { role, table, action: "read" });
    }
    await make(admin, "svc_user", { email: "nurse@example.com", password: "nurse's password", role });
    const nurse = await signIn(`${stack.appUrl}/api`, {
      email: "nurse@example.com",
      password: "nurse's password",
    });
    const commands: string[] = [];
    held.proxy.decide((command) => {
      commands.push(command);
      return "pass";
    });
    const patient = { name: "canary-name", diagnosis: "canary-diagnosis" };
    const user = { name: "canary-name", email: "checked@example.com", password: "canary-password" };
    const [made, signedUp] = [await nurse.post("/patients", patient), await nurse.post("/svc_user", user)];
    const again = await nurse.patch(`/patients/${made.body.data[0].id}`, { diagnosis: "canary-diagnosis" });
    const renewed = await nurse.patch(`/svc_user/${signedUp.body.data[0].id}`, {
      password: "canary-password",
    });
    held.proxy.decide(() => "pass");
    expect([made, signedUp, again, renewed].map(({ status }) => status)).toEqual([201, 201, 200, 200]);
    expect(commands.some((command) => command.includes("canary-name"))).toBe(true);
    for (const secret of ["canary-diagnosis", "canary-password"])
      expect(commands.filter((command) => command.includes(secret))).toEqual([]);
  });

  it("does not stand in the database as plain text", async () => {
    await make(admin, "patients", { name: "canary-name", ...SECRETS });
    const stored = await storedText("patients");
    expect(stored).toContain("canary-name");
    for (const secret of ["canary-diagnosis", "canary-visit", "123456"]) expect(stored).not.toContain(secret);
  });

  it("is stored differently each time, so that equal values can't be found", async () => {
    const rows = [await make(admin, "patients", SECRETS), await make(admin, "patients", SECRETS)];
    expect(rows.length).toBe(2);
    const documents = await database
      .db()
      .collection("patients")
      .find({ diagnosis: { $exists: true } })
      .toArray();
    const sealed = documents.map((each) => String(each.diagnosis));
    expect(new Set(sealed).size).toBe(documents.length);
  });

  it("can be changed and made null", async () => {
    const { id } = await make(admin, "patients", SECRETS);
    await admin.patch(`/patients/${id}`, { diagnosis: "other" });
    expect((await read(admin, "patients", id)).diagnosis).toBe("other");
    await admin.patch(`/patients/${id}`, { diagnosis: null });
    expect((await read(admin, "patients", id)).diagnosis).toBeNull();
  });

  it("keeps its type and rules", async () => {
    expect((await admin.post("/patients", { bill: "-1" })).body.message).toEqual([
      expect.stringMatching(/^bill: /),
    ]);
    expect((await admin.post("/patients", { diagnosis: 5 })).status).toBe(400);
  });

  it.each([
    ["filter", { filter: { diagnosis: "canary-diagnosis" } }],
    ["filter for null", { filter: { diagnosis: null } }],
    ["sort", { sort: "diagnosis" }],
  ])("refuses to %s", async (_name, query) => {
    const { status, body } = await admin.get("/patients", query);
    expect([status, body.message]).toEqual([400, expect.stringMatching(/encrypted/)]);
  });

  it("survives a restart", async () => {
    const { id } = await make(admin, "patients", SECRETS);
    await stack.dataService.stop();
    await stack.restartDataService();
    expect(await read(admin, "patients", id)).toMatchObject(SECRETS);
  });
});

describe("a hidden column", () => {
  it("leaves only when root names it", async () => {
    const row = await make(admin, "patients", { name: "Cid", note: "hush" });
    expect(row).not.toHaveProperty("note");
    expect(await read(admin, "patients", row.id, "*")).not.toHaveProperty("note");
    expect(await read(admin, "patients", row.id, "name,note")).toEqual({ name: "Cid", note: "hush" });
  });

  it.each([
    ["fields", { fields: "note" }],
    ["an exclusion", { fields: "-note" }],
    ["filter", { filter: { note: "hush" } }],
    ["sort", { sort: "-note" }],
    ["aggregate", { aggregate: { note: { count: true } } }],
  ])("is an unknown field to others in %s", async (_name, query) => {
    const hidden = await ann.get("/patients", query);
    const unknown = await ann.get("/patients", JSON.parse(JSON.stringify(query).replaceAll("note", "nope")));
    expect(hidden.status).toBe(400);
    expect(hidden.body.message.replaceAll("note", "nope")).toBe(unknown.body.message);
  });

  it("is an unknown field to others in a body, and is never what was meant", async () => {
    const { status, body } = await ann.post("/patients", { note: "forged" });
    expect([status, body.message]).toEqual([400, [expect.stringMatching(/^note: unknown field/)]]);
    expect((await ann.post("/patients", { notes: "x" })).body.message[0]).not.toContain('"note"');
  });

  it("is not in the answers of others' writes", async () => {
    const { id } = await make(admin, "patients", { note: "hush" });
    const { body } = await ann.patch(`/patients/${id}`, { name: "Dan" });
    expect(JSON.stringify(body)).not.toContain("hush");
  });
});

describe("a password", () => {
  it("leaves in no answer, and no query can name it, not even root's", async () => {
    for (const query of [
      ...[{ fields: "password" }, { fields: "passwordHash" }, { sort: "password" }],
      ...[{ filter: { password: { _starts_with: "$" } } }, { filter: { passwordHash: { _is_null: true } } }],
      { aggregate: { password: { count: true } } },
    ]) {
      expect([query, (await admin.get("/svc_user", query)).status]).toEqual([query, 400]);
    }
    const list = await admin.get("/svc_user");
    expect(JSON.stringify(list.body)).not.toMatch(/argon2|password/i);
  });

  it("is stored as an argon2id hash", async () => {
    const stored = await storedText("svc_user");
    expect(stored).not.toContain(ANN.password);
    expect(stored).toMatch(/\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  });

  it("is not in the answer that makes or changes the user", async () => {
    const created = await admin.post("/svc_user", { email: "new@example.com", password: "a long password" });
    const changed = await admin.patch(`/svc_user/${created.body.data[0].id}`, { password: "another one" });
    for (const { status, body } of [created, changed]) {
      expect(status).toBeLessThan(300);
      expect(JSON.stringify(body)).not.toMatch(/argon2|password/i);
    }
  });
});
