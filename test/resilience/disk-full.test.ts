// R16: a disk without room. The embedded engine would end the process, so writing is refused before that; reading,
// signing in and deleting go on. That writing goes on when there is room again is tested in data-service/http/free-space.
import { mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sendRaw } from "../gateway/support/raw-http.js";
import { type Api, asAdmin } from "../support/api.js";
import { picture, upload, uploaded } from "../support/files.js";
import { MULTIPART } from "../support/multipart.js";
import { untilLogged } from "../support/process-facts.js";
import { startS3 } from "../support/s3-server.js";
import { type Stack, startAnother, startStack } from "../support/stack.js";

const PETABYTE = 2 ** 50;

describe("an embedded database on a disk with less room than is to be kept", () => {
  let directory: string;
  let stack: Stack;
  let admin: Api;
  let noteId: string;
  let fileId: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "portico-full-"));
    const where = { dataDir: directory, mongodbUrl: `mongodb_embedded://${directory}/mongodb` };
    const roomy = await startStack({ ...where, env: { DISK_RESERVE_BYTES: "0" } });
    const first = await asAdmin(roomy);
    await first.post("/svc_table", { name: "notes", columns: [{ name: "text", type: "string" }] });
    noteId = (await first.post("/notes", { text: "written in time" })).body.data[0].id;
    fileId = (await uploaded(first, await picture(8, 8), "blue.png")).id;
    await roomy.stop();
    stack = await startStack({ ...where, env: { DISK_RESERVE_BYTES: String(PETABYTE) } });
    admin = await asAdmin(stack);
  });
  afterAll(async () => {
    await stack.stop();
    await rm(directory, { recursive: true, force: true });
  });

  it("refuses every write with 503 and Retry-After", async () => {
    const answers = [
      await admin.post("/notes", { text: "too late" }),
      await admin.patch(`/notes/${noteId}`, { text: "too late" }),
      await admin.post("/svc_table", { name: "more" }),
      await upload(admin, "too late", "late.txt"),
    ];
    for (const { status, headers, body } of answers) {
      expect([status, body.error.code]).toEqual([503, "SERVICE_UNAVAILABLE"]);
      expect(headers.get("retry-after")).toMatch(/^\d+$/);
    }
  });

  it("still answers dry runs and explanations, which write nothing", async () => {
    const filter = { text: "written in time" };
    const csv = { body: "text\ntoo late\n", headers: { "Content-Type": "text/csv" } };
    const answers = [
      await admin.patch("/notes", { text: "too late" }, { filter, dryRun: true }),
      await admin.send("POST", "/notes/import?dryRun=true", csv),
      await admin.post("/svc_permission/explain", { role: null, table: "notes", action: "read" }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const asIfTried = [
      await admin.post("/notes", { text: "too late" }, { dryRun: true }),
      await admin.post("/svc_permission", { role: null, table: "notes", action: "read" }, { dryRun: true }),
    ];
    expect(asIfTried.map(({ status, body }) => [status, body.message])).toEqual(
      Array(2).fill([400, "dryRun: does not apply to this call"]),
    );
    const { body } = await admin.get("/notes", { meta: "totalCount" });
    expect([body.data[0].text, body.meta.totalCount]).toEqual(["written in time", 1]);
  });

  it("makes no further picture of a file, and sends the file", async () => {
    const small = await admin.get(`/assets/${fileId}`, { width: "4" });
    expect([small.status, small.body.error.code]).toEqual([503, "SERVICE_UNAVAILABLE"]);
    expect((await admin.get(`/assets/${fileId}`)).status).toBe(200);
  });

  it("keeps no entry of a refusal, which can be asked for in a loop, and those of sign-ins", async () => {
    const refused = await admin.delete("/svc_audit/nothing");
    expect(refused.status).toBe(403);
    await asAdmin(stack);
    const { data } = (await admin.get("/svc_audit", { fields: "event", sort: "-createdAt" })).body;
    expect(data.map(({ event }: { event: string }) => event)).toContain("sign-in");
    expect(data.map(({ event }: { event: string }) => event)).not.toContain("access.refused");
    await untilLogged(stack.dataService, /audit entry not kept/);
  });

  it("still reads, also with a QUERY, and deletes", async () => {
    expect((await admin.get(`/notes/${noteId}`)).body.data[0].text).toBe("written in time");
    expect(
      (await admin.send("QUERY", "/notes", { body: "{}", headers: { "Content-Type": "application/json" } }))
        .status,
    ).toBe(200);
    expect((await admin.delete(`/notes/${noteId}`)).status).toBe(200);
  });
});

it("a file that does not fit on the disk is refused, but not where files go to a bucket", async () => {
  const [directory, s3] = [await mkdtemp(join(tmpdir(), "portico-full-")), await startS3()];
  const { bavail, bsize } = await statfs(directory);
  const [free, largest] = [bavail * bsize, 2 ** 40];
  const length = Math.min(free, largest);
  const head = `POST /svc_file HTTP/1.1\r\nHost: x\r\nContent-Type: ${MULTIPART}\r\nContent-Length: ${length}\r\n\r\n`;
  const limits = { UPLOAD_MAX_BYTES: String(largest), DISK_RESERVE_BYTES: String(Math.floor(free * 0.9)) };
  const where = { appUrl: "http://localhost", dataDir: directory };
  const mongodbUrl = `mongodb_embedded://${directory}/mongodb`;
  const statuses: (string | undefined)[] = [];
  for (const bucket of [{}, s3.env]) {
    const service = await startAnother({ ...where, mongodbUrl }, { ...limits, ...bucket });
    statuses.push((await sendRaw(service.url, head)).split(" ")[1]);
    await service.stop();
  }
  await s3.stop();
  await rm(directory, { recursive: true, force: true });
  // Nobody is signed in: who is let through to the route is asked for that.
  expect(statuses).toEqual(["503", "401"]);
});
