// Who may do what where one role has one table: root everything, the role that table, anonymous nothing.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Api, apiOf, asAdmin, signIn } from "../support/api.js";
import { allowAll } from "../support/rules.js";
import { type Stack, startStack } from "../support/stack.js";

const ANN = { email: "ann@example.com", password: "ann's password" };
const SYSTEM_TABLES = ["svc_table", "svc_role", "svc_user", "svc_permission", "svc_route_handler"];

let stack: Stack;
let admin: Api;
let ann: Api;
let anyone: Api;
let adminId: string;
let noteId: string;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  adminId = (await admin.get("/me")).body.data[0].id;
  const role = (await admin.post("/svc_role", { name: "Editor" })).body.data[0].id;
  await admin.post("/svc_user", { ...ANN, role });
  await admin.post("/svc_table", {
    name: "notes",
    columns: [{ name: "text", type: "string" }],
    relations: [{ name: "author", type: "many-to-one", table: "svc_user", inverse: "notes" }],
  });
  await admin.post("/svc_table", { name: "drawers", columns: [{ name: "text", type: "string" }] });
  await allowAll(admin, ["notes"], role);
  ann = await signIn(`${stack.appUrl}/api`, ANN);
  anyone = apiOf(`${stack.appUrl}/api`);
  noteId = (await admin.post("/notes", { text: "first", author: adminId })).body.data[0].id;
});

afterAll(() => stack.stop());

describe("a signed-in user", () => {
  it("reads, creates, changes and deletes records of the owner's tables", async () => {
    const created = await ann.post("/notes", { text: "mine" });
    expect(created.status).toBe(201);
    const path = `/notes/${created.body.data[0].id}`;
    expect((await ann.get("/notes", { filter: { text: "mine" } })).body.data.length).toBe(1);
    expect((await ann.patch(path, { text: "changed" })).body.data[0].text).toBe("changed");
    expect((await ann.delete(path)).status).toBe(200);
  });

  it.each(SYSTEM_TABLES)("may do nothing with %s", async (table) => {
    const path = `/${table}/${adminId}`;
    const answers = [
      await ann.get(`/${table}`),
      await ann.get(path),
      await ann.post(`/${table}`, { name: "forged", email: "forged@example.com", password: "12345678" }),
      ...(table === "svc_table" ? [] : [await ann.patch(path, { name: "forged" }), await ann.delete(path)]),
    ];
    for (const { status, body } of answers) expect([status, body.error.code]).toEqual([403, "FORBIDDEN"]);
    const { body } = await admin.get(`/${table}`, { limit: "0" });
    expect(JSON.stringify(body.data)).not.toContain("forged");
  });

  it("does not reach users through a relation", async () => {
    for (const query of [
      ...[{ fields: "author" }, { fields: "author.email" }, { fields: "-author" }, { sort: "author.email" }],
      ...[{ filter: { author: { email: { _contains: "a" } } } }, { filter: { author: adminId } }],
      { deep: { author: { fields: "email" } } },
    ]) {
      const { status, body } = await ann.get("/notes", query);
      expect([query, status, body.message]).toEqual([query, 400, expect.stringContaining("unknown")]);
    }
  });

  it("is not shown a relation to users in a plain answer", async () => {
    expect(Object.keys((await ann.get(`/notes/${noteId}`)).body.data[0])).not.toContain("author");
  });

  it("may not link to a record it can't read, whether there is one or not", async () => {
    for (const author of [adminId, "0123456789abcdef01234567", null]) {
      for (const answer of [
        await ann.post("/notes", { text: "probe", author }),
        await ann.patch(`/notes/${noteId}`, { author }),
      ]) {
        expect([answer.status, answer.body.message]).toEqual([400, ["author: unknown field"]]);
      }
    }
    const { body } = await admin.get(`/notes/${noteId}`, { fields: "author" });
    expect(body.data).toEqual([{ author: { id: adminId } }]);
  });

  it("sees itself and its role in /me and nobody else", async () => {
    const { body } = await ann.get("/me", { fields: "email,role.name" });
    expect(body.data).toEqual([{ email: ANN.email, role: { id: expect.any(String), name: "Editor" } }]);
  });

  it("does not become root by saying so", async () => {
    await ann.patch("/me", { isRootAdmin: true });
    const headers = { "X-User-Id": adminId, "X-Role": "root", "X-Internal-User": adminId };
    expect((await ann.send("GET", "/svc_user", { headers })).status).toBe(403);
    expect((await ann.get("/me")).body.data[0].isRootAdmin).toBe(false);
  });
});

describe("a signed-in user without a rule", () => {
  it("is refused before the query or body is judged", async () => {
    expect((await ann.get("/drawers", { fields: "nope" })).status).toBe(403);
    expect((await ann.post("/drawers", { nope: 1 })).status).toBe(403);
    expect((await ann.patch("/drawers", { nope: 1 })).status).toBe(403);
    expect((await ann.delete("/drawers")).status).toBe(403);
  });

  it("hears of a table that is not there, as everybody does", async () => {
    for (const api of [ann, anyone])
      for (const answer of [await api.get("/nope"), await api.patch("/nope", {}), await api.delete("/nope")])
        expect(answer.status).toBe(404);
  });
});

describe("root", () => {
  it.each(["/notes", ...SYSTEM_TABLES.map((table) => `/${table}`)])("lists %s", async (path) => {
    expect((await admin.get(path)).status).toBe(200);
  });

  it("makes, changes and deletes users and roles", async () => {
    for (const [table, body, change] of [
      ["svc_role", { name: "Guest" }, { description: "visits" }],
      ["svc_user", { email: "new@example.com", password: "12345678" }, { name: "New" }],
    ] as const) {
      const created = await admin.post(`/${table}`, body);
      expect(created.status).toBe(201);
      const path = `/${table}/${created.body.data[0].id}`;
      expect((await admin.patch(path, change)).body.data[0]).toMatchObject(change);
      expect((await admin.delete(path)).status).toBe(200);
    }
  });

  it("follows relations to users", async () => {
    const { body } = await admin.get("/notes", { fields: "author.email", filter: { id: noteId } });
    expect(body.data).toEqual([{ author: { id: adminId, email: stack.admin.email } }]);
  });
});

describe("an anonymous caller", () => {
  it.each(["/notes", ...SYSTEM_TABLES.map((table) => `/${table}`)])(
    "may do nothing with %s",
    async (path) => {
      const record = path === "/notes" ? `/notes/${noteId}` : `${path}/${adminId}`;
      const answers = [
        ...[await anyone.get(path), await anyone.get(record), await anyone.post(path, { name: "forged" })],
        ...(path === "/svc_table"
          ? []
          : [await anyone.patch(record, { name: "x" }), await anyone.delete(record)]),
      ];
      for (const { status, headers, body } of answers) {
        expect([status, body.error.code, headers.get("www-authenticate")]).toEqual([
          401,
          "UNAUTHORIZED",
          "Bearer",
        ]);
      }
      expect((await admin.get(record)).status).toBe(path === "/notes" || path === "/svc_user" ? 200 : 404);
    },
  );

  it("is refused before its query or body is judged", async () => {
    expect((await anyone.get("/notes", { fields: "nope" })).status).toBe(401);
    expect((await anyone.post("/notes", { nope: 1 })).status).toBe(401);
    expect((await anyone.patch("/notes", { nope: 1 })).status).toBe(401);
    expect((await anyone.delete("/notes")).status).toBe(401);
  });

  it("reads the public keys and the providers", async () => {
    expect((await anyone.get("/.well-known/jwks.json")).status).toBe(200);
    expect((await anyone.get("/auth/providers")).body).toEqual({
      statusCode: 200,
      message: "Success",
      data: [{ provider: "google" }, { provider: "facebook" }, { provider: "github" }],
    });
  });

  it("finds no sessions, markers or versions under any path", async () => {
    for (const api of [anyone, admin]) {
      for (const path of [
        "/_sessions",
        "/_oauth_flows",
        "/_bridge_codes",
        "/_oauth_accounts",
        "/_markers",
        "/_versions",
        "/_making",
        "/_sequences",
        "/sessions",
      ]) {
        expect([path, (await api.get(path)).status]).toEqual([path, 404]);
      }
    }
  });
});
