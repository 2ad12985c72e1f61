// Contract 8: what becomes of files when a bucket is configured for a database that has some, or is not any more.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { type Api, apiOf } from "../../support/api.js";
import { fileForm, keptIn, picture, uploaded } from "../../support/files.js";
import { type S3Server, startS3 } from "../../support/s3-server.js";
import { type RunningService, type Stack, startAnother, startStack } from "../../support/stack.js";

let s3: S3Server;
let stack: Stack;
let database: MongoClient;
let service: RunningService;
let admin: Api;
/** A picture that is in the database. */
let shown = "";

beforeAll(async () => {
  s3 = await startS3();
  stack = await startStack();
  database = await MongoClient.connect(stack.mongodbUrl);
  service = stack.dataService;
  await signIn();
});
afterAll(async () => {
  await database?.close();
  await service?.stop();
  await stack?.stop();
  await s3?.stop();
});

async function signIn(): Promise<void> {
  const { body } = await apiOf(service.url).post("/auth/login", stack.admin);
  admin = apiOf(service.url, { Authorization: `Bearer ${body.accessToken}` });
}

/** The service starts again with these settings. */
async function startedWith(env: Readonly<Record<string, string>>): Promise<void> {
  await service.stop();
  service = await startAnother(stack, env);
  await signIn();
}

async function got(path: string, headers: Record<string, string> = {}): Promise<[number, string]> {
  const answer = await fetch(service.url + path, { headers });
  return [answer.status, await answer.text()];
}

const PUBLIC = { isPublic: "true" };

describe("once a bucket is configured, a file that was stored in the database before", () => {
  let [kept, deleted, replaced, drawn] = ["", "", "", ""];

  beforeAll(async () => {
    const idOf = async (bytes: Uint8Array | string) => (await uploaded(admin, bytes, "f.txt", PUBLIC)).id;
    kept = await idOf("from the database");
    deleted = await idOf("to be deleted");
    replaced = await idOf("to be replaced");
    drawn = await idOf(await picture(60, 30));
    shown = await idOf(await picture(40, 20));
    await got(`/assets/${drawn}?width=10`);
    await startedWith(s3.env);
  });

  it("is read as before, whole and in part, and is not copied", async () => {
    expect(await got(`/assets/${kept}`)).toEqual([200, "from the database"]);
    expect(await got(`/assets/${kept}`, { Range: "bytes=5-7" })).toEqual([206, "the"]);
    expect(s3.objects.size).toBe(0);
  });

  it("is read with a key as well that is not told what is missing", async () => {
    s3.breakDown("hides what is missing");
    const [status] = await got(`/assets/${shown}`).finally(() => s3.breakDown(undefined));
    expect(status).toBe(200);
  });

  it("is made into pictures, of which those from now on go to the bucket", async () => {
    expect((await got(`/assets/${drawn}?width=10`))[0]).toBe(200);
    expect(s3.objects.size).toBe(0);
    expect((await got(`/assets/${drawn}?width=20`))[0]).toBe(200);
    expect(s3.objects.size).toBe(1);
  });

  it("goes from where its bytes and pictures lie when it is deleted or replaced", async () => {
    const form = fileForm("in the bucket", "f.txt");
    expect((await admin.send("PATCH", `/svc_file/${replaced}`, { body: form })).status).toBe(200);
    expect((await admin.delete(`/svc_file/${deleted}`)).status).toBe(200);
    expect((await admin.delete(`/svc_file/${drawn}`)).status).toBe(200);
    expect(await got(`/assets/${replaced}`)).toEqual([200, "in the bucket"]);
    const left = { records: 3, contents: 2, chunks: 2, pending: 0, variants: 0 };
    expect([await keptIn(database), s3.objects.size]).toEqual([left, 1]);
  });
});

describe("once a bucket is configured no more", () => {
  let id = "";

  beforeAll(async () => {
    id = (await uploaded(admin, await picture(60, 30), "gone.png", PUBLIC)).id;
    await got(`/assets/${shown}?width=20`);
    await startedWith({});
  });

  it("the start says that files may lie in it", () => {
    expect(service.log()).toMatch(/"level":"warn".*"bucket":"files".*S3_ENDPOINT/);
  });

  it("a picture that was made there is made again, once", async () => {
    expect((await got(`/assets/${shown}?width=20`))[0]).toBe(200);
    const after = await keptIn(database);
    expect(after).toMatchObject({ pending: 0, variants: 1 });
    expect((await got(`/assets/${shown}?width=20`))[0]).toBe(200);
    expect(await keptIn(database)).toEqual(after);
  });

  it.each(["", "?width=10"])("a HEAD of a file that lies there is 404 as well: %p", async (search) => {
    const { status, headers } = await fetch(`${service.url}/assets/${id}${search}`, { method: "HEAD" });
    expect([status, headers.get("etag"), headers.get("cache-control")]).toEqual([404, null, "no-store"]);
  });

  it.each([
    ["whole", "", {}],
    ["in part", "", { Range: "bytes=1-2" }],
    ["as a picture", "?width=10", {}],
  ])("a file that lies there is 404 %s, and the log names it", async (_how, search, headers) => {
    const answer = await fetch(`${service.url}/assets/${id}${search}`, { headers });
    expect([answer.status, (await answer.json()).error.code]).toEqual([404, "NOT_FOUND"]);
    const names = ["etag", "content-disposition", "content-range", "cache-control"];
    expect(names.map((name) => answer.headers.get(name))).toEqual([null, null, null, "no-store"]);
    const line = new RegExp(`"level":"warn".*"file":"${id}".*missing`);
    expect(service.log()).toMatch(line);
    expect(service.log()).not.toMatch(/"level":"error"/);
  });
});
