// SYSTEM_TABLE_PREFIX: all that Portico keeps in tables of its own, under other names.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Api, apiOf, asAdmin } from "../support/api.js";
import { fileForm } from "../support/files.js";
import { type Stack, startService, startStack } from "../support/stack.js";

let stack: Stack;
let admin: Api;

const made = async (table: string, body: object): Promise<string> => {
  const answer = await admin.post(`/${table}`, body);
  expect([table, answer.status, answer.body.message]).toEqual([table, 201, "Success"]);
  return answer.body.data[0].id;
};

beforeAll(async () => {
  stack = await startStack({ env: { SYSTEM_TABLE_PREFIX: "sys_" } });
  admin = await asAdmin(stack);
});
afterAll(() => stack?.stop());

it("names the tables, and no other name is taken", async () => {
  const { body } = await admin.get("/metadata");
  const own = body.data.filter(({ system }: { system: boolean }) => system);
  const names = ["audit", "file", "folder", "permission", "role", "route_handler", "table", "user"];
  expect(own.map(({ name }: { name: string }) => name).toSorted()).toEqual(
    names.map((name) => `sys_${name}`),
  );
  expect((await admin.get("/svc_user")).status).toBe(404);
  await made("sys_table", { name: "svc_user", columns: [{ name: "name", type: "string" }] });
  await made("svc_user", { name: "a table like any other" });
});

it("leaves rules, users and what they are told as they are", async () => {
  await made("sys_table", { name: "notes", columns: [{ name: "text", type: "string" }] });
  const role = await made("sys_role", { name: "Reader" });
  const ann = { email: "ann@example.com", password: "ann's password" };
  const user = await made("sys_user", { ...ann, role });
  await made("sys_permission", { role, table: "notes", action: "read" });
  const note = await made("notes", { text: "seen" });
  const { body: signedIn } = await apiOf(`${stack.appUrl}/api`).post("/auth/login", ann);
  const reader = apiOf(`${stack.appUrl}/api`, { Authorization: `Bearer ${signedIn.accessToken}` });
  expect((await reader.get("/notes", { fields: "text" })).body.data).toEqual([{ text: "seen" }]);
  expect((await reader.get("/me")).body.data[0]).toMatchObject({ id: user, email: ann.email });
  expect((await reader.get("/sys_user")).status).toBe(403);
  const why = await admin.post("/sys_permission/explain", { user, table: "notes", action: "read", id: note });
  expect([why.status, why.body.data[0].allowed]).toEqual([200, true]);
  const { body: document } = await admin.get("/openapi.json");
  expect(Object.keys(document.paths)).toEqual(
    expect.arrayContaining(["/sys_table", "/sys_permission/explain"]),
  );
});

it("takes files, and changes them, through the gateway", async () => {
  const folder = await made("sys_folder", { name: "Letters" });
  const form = fileForm("kept", "note.txt", { folder, isPublic: "true" });
  const { status, body } = await admin.send("POST", "/sys_file", { body: form });
  expect(status).toBe(201);
  const path = `/sys_file/${body.data[0].id}`;
  expect((await admin.send("PATCH", path, { body: fileForm("changed", "note.txt") })).status).toBe(200);
  expect(await (await fetch(`${stack.appUrl}/assets/${body.data[0].id}`)).text()).toBe("changed");
  const tree = await admin.get("/sys_folder/tree");
  expect(tree.body.data).toMatchObject([{ id: folder, name: "Letters" }]);
  expect((await admin.delete(`/sys_folder/${folder}?recursive=true`)).status).toBe(200);
  expect((await admin.get(path)).status).toBe(404);
});

it("tells whoever starts with another one why all seems gone", async () => {
  const env = {
    MONGODB_URL: stack.mongodbUrl,
    DATA_DIR: stack.dataDir,
    DATA_SERVICE_PORT: "0",
    DEMO: "off",
    ADMIN_PASSWORD: "of another prefix",
    LOG_LEVEL: "warn",
  };
  const told = async (prefix: string): Promise<string> => {
    const service = await startService("@portico/data-service/main", { ...env, SYSTEM_TABLE_PREFIX: prefix });
    await service.stop();
    return service.log();
  };
  expect(JSON.parse(await told("own_"))).toMatchObject({
    level: "warn",
    others: ["sys_"],
    message: expect.stringMatching(/^SYSTEM_TABLE_PREFIX is new to this database/),
  });
  expect([await told("own_"), await told("sys_")]).toEqual(["", ""]);
}, 60_000);
