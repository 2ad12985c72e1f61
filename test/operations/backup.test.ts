// Backup of the embedded database as docs/operations.md says it: stop, copy the folder, start on the copy.
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { apiOf, asAdmin } from "../support/api.js";
import { type Stack, startStack } from "../support/stack.js";

let folder: string;
let running: Stack | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "portico-backup-"));
});

afterAll(async () => {
  await running?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** A system of its own in that folder, without demo content. */
async function startIn(name: string): Promise<Stack> {
  const dataDir = join(folder, name);
  running = await startStack({ dataDir, mongodbUrl: `mongodb_embedded://${dataDir}/mongodb` });
  return running;
}

it("a copy of DATA_DIR, made while stopped, holds records, tables, rules, encrypted values and sessions", async () => {
  const original = await startIn("original");
  const admin = await asAdmin(original);
  const columns = [
    { name: "title", type: "string", unique: true },
    { name: "secret", type: "string", encrypted: true },
  ];
  await admin.post("/svc_table", { name: "posts", columns });
  await admin.post("/posts", { title: "kept", secret: "sealed" });
  await admin.post("/svc_permission", { role: null, table: "posts", action: "read", fields: "title" });
  const session = (await apiOf(`${original.appUrl}/api`).post("/auth/login", original.admin)).body;
  await original.stop();
  await cp(join(folder, "original"), join(folder, "copy"), { recursive: true });

  const restored = await startIn("copy");
  const again = await asAdmin(restored);
  expect((await again.get("/posts", { fields: "title,secret", meta: "totalCount" })).body).toMatchObject({
    data: [{ title: "kept", secret: "sealed" }],
    meta: { totalCount: 1 },
  });
  expect((await again.post("/posts", { title: "kept", secret: "y" })).status).toBe(409);
  expect((await apiOf(`${restored.appUrl}/api`).get("/posts")).body.data).toEqual([
    expect.objectContaining({ title: "kept" }),
  ]);
  const { refreshToken } = session;
  const refreshed = await apiOf(`${restored.appUrl}/api`).post("/auth/refresh-token", { refreshToken });
  expect(refreshed.status).toBe(200);
});
