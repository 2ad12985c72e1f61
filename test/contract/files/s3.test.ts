// Contract 9: the bytes of files in an S3-compatible bucket instead of GridFS; for clients nothing is different.
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { MongoClient } from "mongodb";
import { abortUpload, openUpload, uploadBytes } from "../../files-load/load.js";
import { type Api, apiOf } from "../../support/api.js";
import { fileForm, keptIn, NOTHING_KEPT, picture, upload, uploaded } from "../../support/files.js";
import { filePart, multipartBody } from "../../support/multipart.js";
import { untilLogged } from "../../support/process-facts.js";
import { type Breakdown, type S3Server, startS3, tag, xml } from "../../support/s3-server.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";

const MEBIBYTE = 1024 * 1024;

let s3: S3Server;
let stack: Stack;
let database: MongoClient;
let headers: Record<string, string>;
let admin: Api;

beforeAll(async () => {
  s3 = await startS3();
  stack = await startStack({ env: { ...s3.env, UPLOAD_LEASE_SECONDS: "1" } });
  database = await MongoClient.connect(stack.mongodbUrl);
  const { body } = await apiOf(`${stack.appUrl}/api`).post("/auth/login", stack.admin);
  headers = { Authorization: `Bearer ${body.accessToken}` };
  admin = apiOf(`${stack.appUrl}/api`, headers);
});
afterAll(async () => {
  await database?.close();
  await stack?.stop();
  await s3?.stop();
});

async function bytesOf(path: string, more: Record<string, string> = {}): Promise<Buffer> {
  return Buffer.from(await (await fetch(stack.appUrl + path, { headers: more })).arrayBuffer());
}

const nothingThere = () =>
  until(
    async () => ({ ...(await keptIn(database)), objects: s3.objects.size, uploads: s3.uploads.size }),
    (seen) => JSON.stringify(seen) === JSON.stringify({ ...NOTHING_KEPT, objects: 0, uploads: 0 }),
    30_000,
  );

describe("files in a bucket", () => {
  test.each([
    ["an empty file", Buffer.alloc(0)],
    ["a small one", Buffer.from("hello")],
    ["one of exactly one part", Buffer.alloc(5 * MEBIBYTE, 1)],
    ["one of several parts", Buffer.from(Array.from({ length: 12_000_001 }, (_, at) => at % 251))],
  ])("%s comes back as it was, and parts of it", async (_what, bytes) => {
    const { id } = await uploaded(admin, bytes, "x.bin", { isPublic: "true" });
    expect((await bytesOf(`/assets/${id}`)).equals(bytes)).toBe(true);
    if (bytes.length > 3) {
      const part = await bytesOf(`/assets/${id}`, { Range: `bytes=2-${bytes.length - 2}` });
      expect(part.equals(bytes.subarray(2, -1))).toBe(true);
    }
    expect((await admin.delete(`/svc_file/${id}`)).status).toBe(200);
    await nothingThere();
  });

  test("pictures are made, replaced and removed with their file", async () => {
    const { id } = await uploaded(admin, await picture(60, 30), "p.png", { isPublic: "true" });
    expect((await fetch(`${stack.appUrl}/assets/${id}?width=10`)).status).toBe(200);
    expect(s3.objects.size).toBe(2);
    await admin.send("PATCH", `/svc_file/${id}`, { body: fileForm("text", "t.txt") });
    expect([...s3.objects.values()].map(String)).toEqual(["text"]);
    await admin.delete(`/svc_file/${id}`);
    await nothingThere();
  });

  test("a picture that is dropped for newer ones in the moment in which it is sent is made again", async () => {
    const { id } = await uploaded(admin, await picture(60, 30), "p.png", { isPublic: "true" });
    const sized = (width: number) => `${stack.dataUrl}/assets/${id}?width=${width}`;
    // A part that does not begin at the beginning is not kept in memory.
    const made = await fetch(sized(50), { headers: { Range: "bytes=1-1" } });
    expect(made.status).toBe(206);
    s3.before("GET", async () => {
      for (let width = 1; width <= 24; width += 1) await fetch(sized(width));
    });
    expect((await fetch(sized(50))).status).toBe(200);
    await admin.delete(`/svc_file/${id}`);
    await nothingThere();
  });

  test("a client that goes away in the middle of the parts leaves nothing", async () => {
    await abortUpload({ appUrl: stack.appUrl, headers }, 12 * MEBIBYTE);
    await nothingThere();
  });

  test("a service that dies in the middle of the parts leaves nothing, once another has swept", async () => {
    const request = openUpload({ appUrl: stack.appUrl, headers });
    const cut = once(request, "response").catch(() => undefined);
    const [head = ""] = multipartBody([filePart("file", "x", "a/b", "|")])
      .toString()
      .split("|");
    request.write(head);
    request.write(Buffer.alloc(12 * MEBIBYTE));
    await until(
      async () => s3.uploads.size,
      (count) => count === 1,
      20_000,
    );
    await stack.dataService.stop("SIGKILL");
    await cut;
    await stack.restartDataService();
    await nothingThere();
  });

  /** More than a part: storing it fails while the rest still arrives. */
  const LARGE = Buffer.alloc(8 * MEBIBYTE);
  /** It is read again, to be measured. */
  const PICTURE = Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR".padEnd(1_000), "latin1");

  test.each<[Breakdown, string, Buffer]>([
    ["refuses", "a small file", Buffer.from("x")],
    ["refuses", "a large one", LARGE],
    ["hangs up", "for a small file", Buffer.from("x")],
    ["hangs up", "for a large one", LARGE],
    ["hangs up in the middle", "of a picture", PICTURE],
  ])("a bucket that %s %s: 503, and nothing is left when it is back", async (how, _what, bytes) => {
    s3.breakDown(how);
    const answer = await upload(admin, bytes, "x.txt");
    s3.breakDown(undefined);
    expect([answer.status, answer.body.error.code]).toEqual([503, "SERVICE_UNAVAILABLE"]);
    expect(answer.headers.get("retry-after")).toBe("2");
    await nothingThere();
    const id = await uploadBytes({ appUrl: stack.appUrl, headers }, 1_000);
    expect((await admin.delete(`/svc_file/${id}`)).status).toBe(200);
    await nothingThere();
  });

  test.each(["hangs up", "hangs up in the middle"] as const)(
    "a picture that is to be made while the bucket %s: 503",
    async (how) => {
      // Too large to be in memory since it was measured.
      const large = Buffer.concat([await picture(60, 30), Buffer.alloc(MEBIBYTE)]);
      const { id } = await uploaded(admin, large, "p.png", { isPublic: "true" });
      s3.breakDown(how);
      const answer = await fetch(`${stack.appUrl}/assets/${id}?width=10`);
      s3.breakDown(undefined);
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "2"]);
      await admin.delete(`/svc_file/${id}`);
      await nothingThere();
    },
  );

  test.each([
    ["an error", xml("Error", tag("Code", "InternalError"))],
    ["nothing", ""],
  ])(
    "a bucket that answers 200 with %s when a file is complete: 503, and the former content stays",
    async (_what, body) => {
      const { id } = await uploaded(admin, "former", "a.txt", { isPublic: "true" });
      const before = await keptIn(database);
      s3.failCompletion(body);
      try {
        const form = () => fileForm(Buffer.alloc(6 * MEBIBYTE), "large.bin");
        const made = await admin.send("POST", "/svc_file", { body: form() });
        const replaced = await admin.send("PATCH", `/svc_file/${id}`, { body: form() });
        expect([made.status, replaced.status]).toEqual([503, 503]);
        expect(made.headers.get("retry-after")).toBe("2");
      } finally {
        s3.failCompletion(undefined);
      }
      expect((await bytesOf(`/assets/${id}`)).toString()).toBe("former");
      // No object of those that failed. Where the answer said nothing, it may still come: the sweep looks once more.
      const left = { ...before, uploads: 0, objects: before.records };
      await until(
        async () => ({ ...(await keptIn(database)), uploads: s3.uploads.size, objects: s3.objects.size }),
        (seen) => JSON.stringify(seen) === JSON.stringify(left),
        30_000,
      );
    },
  );

  test("a picture whose bytes were given up for lost while they were stored is not recorded: 503", async () => {
    const { id } = await uploaded(admin, await picture(60, 30), "p.png", { isPublic: "true" });
    const before = { ...(await keptIn(database)), objects: s3.objects.size };
    const pending = database.db().collection("_content_pending");
    s3.before("PUT", () => pending.updateMany({}, { $set: { taken: true } }));
    expect((await fetch(`${stack.appUrl}/assets/${id}?width=10`)).status).toBe(503);
    expect({ ...(await keptIn(database)), objects: s3.objects.size }).toEqual(before);
    expect((await fetch(`${stack.appUrl}/assets/${id}?width=10`)).status).toBe(200);
  });

  test("a picture whose bytes are lost before it is measured is not recorded, and nothing looks not found: 503", async () => {
    const { id } = await uploaded(admin, "former", "a.txt", { isPublic: "true" });
    const before = { ...(await keptIn(database)), objects: s3.objects.size };
    const form = async () => fileForm(await picture(60, 30), "p.png");
    for (const [method, path] of [
      ["POST", "/svc_file"],
      ["PATCH", `/svc_file/${id}`],
    ] as const) {
      s3.before("GET", async () => s3.loseLast());
      const { status, headers } = await admin.send(method, path, { body: await form() });
      expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
    }
    expect({ ...(await keptIn(database)), objects: s3.objects.size }).toEqual(before);
    expect((await bytesOf(`/assets/${id}`)).toString()).toBe("former");
  });

  describe("a download whose bytes can't be read", () => {
    test.each(["refuses", "hangs up"] as const)(
      "is 503 like anything else, with none of the file's headers, while the bucket %s",
      async (how) => {
        const { id } = await uploaded(admin, "hello", "a.txt", { isPublic: "true" });
        s3.breakDown(how);
        try {
          const answer = await fetch(`${stack.appUrl}/assets/${id}`, { headers: { Range: "bytes=1-2" } });
          expect([answer.status, (await answer.json()).error.code]).toEqual([503, "SERVICE_UNAVAILABLE"]);
          const names = ["retry-after", "cache-control", "etag", "content-disposition", "content-range"];
          expect(names.map((name) => answer.headers.get(name))).toEqual(["2", "no-store", null, null, null]);
        } finally {
          s3.breakDown(undefined);
        }
        expect((await bytesOf(`/assets/${id}`)).toString()).toBe("hello");
      },
    );

    // Of the data service itself: the gateway sends a GET again whose connection was cut.
    test("gives the new content when the file was replaced in that moment", async () => {
      const { id } = await uploaded(admin, "former", "a.txt", { isPublic: "true" });
      s3.before("GET", () =>
        admin.send("PATCH", `/svc_file/${id}`, { body: fileForm("new content", "b.txt") }),
      );
      const answer = await fetch(`${stack.dataUrl}/assets/${id}`);
      expect([answer.status, await answer.text()]).toEqual([200, "new content"]);
      expect(answer.headers.get("content-disposition")).toContain("b.txt");
    });

    // Node.js 23 and later pipe nothing to a client that has gone, and leave what they were to send open.
    test("is no failure when the client leaves in that moment", async () => {
      const { id } = await uploaded(admin, Buffer.alloc(24 * MEBIBYTE), "a.bin", { isPublic: "true" });
      const leaving = new AbortController();
      s3.before("GET", async () => {
        leaving.abort();
        await untilLogged(stack.dataService, /"correlationId":"leaves-early".*"message":"request cut off"/);
      });
      const early = { headers: { "X-Correlation-ID": "leaves-early" }, signal: leaving.signal };
      await expect(fetch(`${stack.dataUrl}/assets/${id}`, early)).rejects.toThrow("aborted");
      await until(
        async () => s3.sending(),
        (count) => count === 0,
        10_000,
      );
      expect(stack.dataService.log()).not.toMatch(/"level":"error".*"correlationId":"leaves-early"/);
    });

    test("is 404 when the file was deleted in that moment", async () => {
      const { id } = await uploaded(admin, "former", "a.txt");
      s3.before("GET", () => admin.delete(`/svc_file/${id}`));
      const answer = await fetch(`${stack.dataUrl}/assets/${id}`, { headers });
      expect([answer.status, (await answer.json()).error.code]).toEqual([404, "NOT_FOUND"]);
    });
  });
});
