// SYSTEM_TABLE_PREFIX: all that Portico keeps in tables of its own, under other names.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { type Api, apiOf, asAdmin } from "../support/api.js";
import { fileForm } from "../support/files.js";
import { fileOf } from "../support/run-state.js";
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

describe("under another one, which would take what is unfinished for left over,", () => {
  const refusal =
    "The database is in use under another SYSTEM_TABLE_PREFIX than svc_: set SYSTEM_TABLE_PREFIX=sys_, or name another database.";
  const env = () => ({ MONGODB_URL: stack.mongodbUrl, DATA_DIR: stack.dataDir, DATA_SERVICE_PORT: "0" });
  const collections = async (): Promise<string[]> => {
    const client = await MongoClient.connect(stack.mongodbUrl);
    try {
      return (await client.db().listCollections().toArray()).map(({ name }) => name).toSorted();
    } finally {
      await client.close();
    }
  };

  it("nothing starts, and nothing is made", async () => {
    const before = await collections();
    await expect(startService("@portico/data-service/main", env())).rejects.toThrow(refusal);
    expect(await collections()).toEqual(before);
  });

  it("commands are refused as well, those that only read too", async () => {
    const before = await collections();
    const file = join(stack.dataDir, "pulled.json");
    const words = [fileOf("@portico/data-service/schema-main"), "pull", file];
    const child = spawn(process.execPath, words, { env: { PATH: process.env.PATH, ...env() } });
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
    expect([await text(child.stderr), await ended]).toEqual([`${refusal}\n`, 1]);
    expect(await collections()).toEqual(before);
  });
});
