// Contract 9: GET /assets/{id}, who may have the bytes and how they are sent.
import { createHash, randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { MongoClient } from "mongodb";
import sharp from "sharp";
import { type Api, apiOf, asAdmin, signIn } from "../../support/api.js";
import { fileForm, keptIn, picture, sound, uploaded } from "../../support/files.js";
import { type Stack, startService, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { Browser } from "../auth/jar.js";

const ANN = { email: "ann@example.com", password: "correct horse battery" };
const BEN = { email: "ben@example.com", password: "correct horse battery" };
const EVE = { email: "eve@example.com", password: "correct horse battery" };

let stack: Stack;
let database: MongoClient;
let base: string;
let admin: Api;
let ann: Api;

beforeAll(async () => {
  stack = await startStack();
  base = `${stack.appUrl}/api`;
  database = await MongoClient.connect(stack.mongodbUrl);
  admin = await asAdmin(stack);
  const role = async (name: string, rules: readonly object[]): Promise<string> => {
    const { body } = await admin.post("/svc_role", { name });
    await admin.post(
      "/svc_permission",
      rules.map((rule) => ({ role: body.data[0].id, table: "svc_file", ...rule })),
    );
    return body.data[0].id;
  };
  const uploader = await role("uploader", [{ action: "create" }]);
  const reader = await role("reader", [{ action: "read", filter: { title: "for readers" } }]);
  await admin.post("/svc_user", [{ ...ANN, role: uploader }, { ...BEN, role: reader }, { ...EVE }]);
  ann = await signIn(base, ANN);
});
afterAll(async () => {
  await database?.close();
  await stack?.stop();
});

interface Sent {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
}

async function get(address: string, headers: Record<string, string> = {}, method = "GET"): Promise<Sent> {
  const answer = await fetch(stack.appUrl + address, { headers, method });
  return {
    status: answer.status,
    headers: answer.headers,
    bytes: Buffer.from(await answer.arrayBuffer()),
  };
}

async function bearer(credentials: { email: string; password: string }): Promise<Record<string, string>> {
  const { body } = await apiOf(base).post("/auth/login", credentials);
  return { Authorization: `Bearer ${body.accessToken}` };
}

describe("who may have a file", () => {
  test("a public one: anyone", async () => {
    const { id } = await uploaded(ann, "open", "o.txt", { isPublic: "true" });
    expect((await get(`/assets/${id}`)).bytes.toString()).toBe("open");
    expect((await get(`/api/assets/${id}`, await bearer(EVE))).status).toBe(200);
  });

  test("a private one: root, its uploader, and who may read the record; 401 anonymous, else 404", async () => {
    const { id } = await uploaded(ann, "secret", "s.txt", { title: "for readers" });
    const { id: other } = await uploaded(ann, "secret", "s.txt", { title: "for nobody" });
    const statuses = async (file: string): Promise<number[]> => {
      const all = [stack.admin, ANN, BEN, EVE].map(
        async (who) => (await get(`/assets/${file}`, await bearer(who))).status,
      );
      return [...(await Promise.all(all)), (await get(`/assets/${file}`)).status];
    };
    expect(await statuses(id)).toEqual([200, 200, 200, 404, 401]);
    expect(await statuses(other)).toEqual([200, 200, 404, 404, 401]);
  });

  test("its name goes only to who may see it in the record: from others it is called by its id", async () => {
    const fay = { email: "fay@example.com", password: ANN.password };
    const { body } = await admin.post("/svc_role", { name: "payroll" });
    const rule = { role: body.data[0].id, table: "svc_file", action: "read" };
    await admin.post("/svc_permission", [
      { ...rule, filter: { title: { _starts_with: "pay" } }, fields: "id,title" },
      { ...rule, filter: { title: "pay, to all" }, fields: "filename" },
    ]);
    await admin.post("/svc_user", { ...fay, role: rule.role });
    const text = (title: string, isPublic = "false") =>
      uploaded(ann, "money", "alice.txt", { title, isPublic });
    const [some, all, open] = [await text("pay"), await text("pay, to all"), await text("pay", "true")];
    const image = await uploaded(ann, await picture(4, 4), "alice.png", { title: "pay" });
    const nameFor = async (who: typeof ANN, path: string) => {
      const { status, headers } = await get(`/assets/${path}`, await bearer(who));
      return [status, headers.get("content-disposition")?.replace(/.*filename=/, "")];
    };
    // In turns: what was kept for one caller is not for another.
    for (const who of [stack.admin, ANN, fay, stack.admin])
      expect(await nameFor(who, some.id)).toEqual([200, who === fay ? `${some.id}.txt` : "alice.txt"]);
    expect(await nameFor(fay, all.id)).toEqual([200, "alice.txt"]);
    expect(await nameFor(fay, open.id)).toEqual([200, "alice.txt"]);
    expect(await nameFor(fay, image.id)).toEqual([200, `${image.id}.png`]);
    expect(await nameFor(fay, `${image.id}?format=webp`)).toEqual([200, `${image.id}.webp`]);
    expect((await nameFor(EVE, some.id))[0]).toBe(404);
  });

  test("an unknown id reads like one that may not be seen", async () => {
    const unknown = "0".repeat(24);
    expect((await get(`/assets/${unknown}`)).status).toBe(401);
    expect((await get(`/assets/${unknown}`, await bearer(EVE))).status).toBe(404);
    for (const path of ["/api/assets/x", "/assets/x", "/api/assets/%7B%22$ne%22:null%7D", "/assets"])
      expect((await get(path)).status).toBe(404);
    for (const path of ["/api/assets/..%2f..%2fetc%2fpasswd", "/assets/..%2fx"])
      expect((await get(path)).status).toBe(400);
  });

  test("by a rule, also while tables are changed", async () => {
    const { id } = await uploaded(ann, "for ben", "r.txt", { title: "for readers" });
    const ben = await bearer(BEN);
    const { body: made } = await admin.post("/svc_table", { name: "changing", columns: [] });
    const seen = new Set<number>();
    let isDone = false;
    const ask = async (): Promise<void> => {
      do seen.add((await get(`/assets/${id}`, ben)).status);
      while (!isDone);
    };
    const asking = Promise.all(Array.from({ length: 8 }, ask));
    for (let round = 0; round < 5; round += 1)
      await admin.patch(`/svc_table/${made.data[0].id}`, { description: `${round}` });
    isDone = true;
    await asking;
    expect([...seen]).toEqual([200]);
  });

  test("a rule for everyone opens private files to anonymous callers", async () => {
    const { id } = await uploaded(ann, "x", "x.txt", { title: "for everyone" });
    const rule = { role: null, table: "svc_file", action: "read", filter: { title: "for everyone" } };
    await admin.post("/svc_permission", rule);
    expect((await get(`/assets/${id}`)).status).toBe(200);
  });

  test("the session's cookies do, on both addresses", async () => {
    const { id } = await uploaded(ann, "mine", "m.txt");
    const browser = new Browser(stack);
    await browser.logIn(ANN);
    for (const path of [`/assets/${id}`, `/api/assets/${id}`])
      expect((await get(path, { Cookie: browser.cookieHeader })).bytes.toString()).toBe("mine");
  });

  test("a bad token is 401, for public files too", async () => {
    const { id } = await uploaded(ann, "open", "o.txt", { isPublic: "true" });
    expect((await get(`/assets/${id}`, { Authorization: "Bearer x.y.z" })).status).toBe(401);
  });

  test("other methods are 405, or none of ours", async () => {
    const { id } = await uploaded(ann, "open", "o.txt", { isPublic: "true" });
    const { status, headers } = await get(`/api/assets/${id}`, {}, "DELETE");
    expect([status, headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
  });
});

describe("headers", () => {
  test("public and private say so to caches", async () => {
    const open = await uploaded(ann, "x", "x.txt", { isPublic: "true" });
    const secret = await uploaded(ann, "x", "x.txt");
    const cacheControl = async (id: string) =>
      (await get(`/assets/${id}`, await bearer(ANN))).headers.get("cache-control");
    expect(await cacheControl(open.id)).toBe("public, max-age=60");
    expect(await cacheControl(secret.id)).toBe("private, no-cache");
  });

  test.each([
    ["an html page", "<!doctype html><script>alert(1)</script>", "text/html"],
    ["a piece of html", "  <!-- x --><img src=x onerror=alert(1)>", "text/html"],
    ["an svg", '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>', "image/svg+xml"],
    ["xml", '<?xml version="1.0"?><a/>', "application/xml"],
    ["a script", "alert(1)", "text/plain; charset=utf-8"],
    ["UTF-16", "\xff\xfeh\x00i\x00", "text/plain; charset=utf-16le"],
    ["UTF-16, high bytes first", "\xfe\xff\x00h\x00i", "text/plain; charset=utf-16be"],
    [
      "a picture with markup inside",
      "\xff\xd8\xff\xe0\x00\x10JFIF<script>alert(1)</script>",
      "application/octet-stream",
    ],
    ["a picture's head with nothing behind", "\x89PNG\r\n\x1a\n", "application/octet-stream"],
    ["bytes", "\x00\x01\x02", "application/octet-stream"],
  ])("%s is an attachment in a sandbox, whatever its name says", async (_what, text, type) => {
    const { id } = await uploaded(ann, Buffer.from(text, "latin1"), "photo.png", { isPublic: "true" });
    const { headers } = await get(`/assets/${id}`);
    expect(headers.get("content-type")).toBe(type);
    expect(headers.get("content-disposition")).toBe("attachment; filename=photo.png");
    expect(headers.get("content-security-policy")).toBe("default-src 'none'; sandbox");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
  });

  test("a picture or a sound is shown in place, still in a sandbox; ?download=true makes it an attachment", async () => {
    const { id } = await uploaded(ann, await picture(4, 4), "p.html", { isPublic: "true" });
    const { headers } = await get(`/assets/${id}`);
    expect(headers.get("content-type")).toBe("image/png");
    expect(headers.get("content-disposition")).toBe("inline; filename=p.html");
    // A page elsewhere may show what is public.
    expect(headers.get("cross-origin-resource-policy")).toBe("cross-origin");
    expect(headers.get("content-security-policy")).toMatch(/^default-src 'none';.* sandbox$/);
    // A browser's player asks for a sound again, from its document's own origin.
    const played = await uploaded(ann, sound(), "s.html", { isPublic: "true" });
    const policy = (await get(`/assets/${played.id}`)).headers.get("content-security-policy");
    expect(policy).toMatch(/^default-src 'none';.* sandbox allow-same-origin$/);
    const asked = await get(`/assets/${id}?download=true`);
    expect(asked.headers.get("content-disposition")).toBe("attachment; filename=p.html");
    expect((await get(`/assets/${id}?download=a%0d%0aX:1`)).status).toBe(400);
  });

  test("a name of any script comes back as it was", async () => {
    const { id } = await uploaded(ann, "x", "résumé 履歴書.txt", { isPublic: "true" });
    const disposition = (await get(`/assets/${id}`)).headers.get("content-disposition") ?? "";
    expect(decodeURIComponent(/filename\*=UTF-8''(\S+)/.exec(disposition)?.[1] ?? "")).toBe(
      "résumé 履歴書.txt",
    );
  });
});

describe("parts of a file", () => {
  const bytes = Buffer.from(Array.from({ length: 600_000 }, (_, at) => at % 251));
  let path: string;
  let etag: string;
  let lastModified: string;
  beforeAll(async () => {
    path = `/assets/${(await uploaded(ann, bytes, "b.bin", { isPublic: "true" })).id}`;
    const { headers } = await get(path);
    [etag, lastModified] = [headers.get("etag") ?? "", headers.get("last-modified") ?? ""];
    expect(headers.get("accept-ranges")).toBe("bytes");
  });

  test.each([
    ["bytes=0-99", 0, 99],
    ["bytes=-5", 599_995, 599_999],
    ["bytes=10-", 10, 599_999],
    ["bytes=261119-261121", 261_119, 261_121],
    ["bytes=0-999999", 0, 599_999],
  ])("%s is 206", async (range, start, end) => {
    const { status, headers, bytes: part } = await get(path, { Range: range });
    expect([status, headers.get("content-range")]).toEqual([206, `bytes ${start}-${end}/600000`]);
    expect(part.equals(bytes.subarray(start, end + 1))).toBe(true);
  });

  test.each(["bytes=600000-", "bytes=-0"])("%s is 416 with the size", async (range) => {
    const { status, headers, bytes: body } = await get(path, { Range: range });
    expect([status, headers.get("content-range")]).toEqual([416, "bytes */600000"]);
    expect(JSON.parse(body.toString()).error.code).toBe("RANGE_NOT_SATISFIABLE");
  });

  test.each(["bytes=a-b", "bytes=10-5", "lines=1-2", "bytes=0-1,5-6", `bytes=${"0-,".repeat(1_000)}0-`])(
    "%s is the whole, or what it comes to",
    async (range) => {
      const { status, bytes: body } = await get(path, { Range: range });
      expect([200, 206]).toContain(status);
      expect(body.equals(bytes)).toBe(true);
    },
  );

  test("If-Range: only while the file is the same", async () => {
    const statusWith = async (condition: string) =>
      (await get(path, { Range: "bytes=0-9", "If-Range": condition })).status;
    expect(await statusWith(etag)).toBe(206);
    for (const other of ['"old"', `W/${etag}`, lastModified]) expect(await statusWith(other)).toBe(200);
  });

  test("304 for what the client has, and 200 for what changed", async () => {
    const answer = async (headers: Record<string, string>) => {
      const { status, bytes: body } = await get(path, headers);
      return [status, body.length];
    };
    expect(await answer({ "If-None-Match": etag })).toEqual([304, 0]);
    expect(await answer({ "If-None-Match": `"x", ${etag}` })).toEqual([304, 0]);
    expect(await answer({ "If-Modified-Since": lastModified })).toEqual([304, 0]);
    expect(await answer({ "If-None-Match": '"x"' })).toEqual([200, 600_000]);
    expect(await answer({ "If-None-Match": '"x"', "If-Modified-Since": lastModified })).toEqual([
      200, 600_000,
    ]);
  });

  test("what the client has already is told before a range is looked at, and 412 before all", async () => {
    const statusWith = async (headers: Record<string, string>) =>
      (await get(path, { Range: "bytes=600000-", ...headers })).status;
    expect(await statusWith({ "If-None-Match": etag })).toBe(304);
    expect(await statusWith({ "If-Match": etag })).toBe(416);
    expect(await statusWith({ "If-Match": '"old"', "If-None-Match": etag })).toBe(412);
    expect(await statusWith({ "If-Unmodified-Since": "Mon, 01 Jan 2024 00:00:00 GMT" })).toBe(412);
    expect((await get(path, { "If-Match": `"old", ${etag}`, Range: "bytes=0-9" })).status).toBe(206);
  });

  test.each([
    ["If-Match", '"old"'],
    ["If-Unmodified-Since", "Mon, 01 Jan 2024 00:00:00 GMT"],
  ])("412 names the condition that failed: %s", async (name, value) => {
    const { status, bytes: body } = await get(path, { [name]: value });
    const message = `The file has other content now; ask without ${name}.`;
    expect([status, JSON.parse(body.toString()).message]).toEqual([412, message]);
  });

  test("HEAD has the headers of the whole and no body; only GET knows parts", async () => {
    const whole = await get(path, {}, "HEAD");
    expect([whole.status, whole.headers.get("content-length"), whole.bytes.length]).toEqual([
      200,
      "600000",
      0,
    ]);
    const part = await get(path, { Range: "bytes=0-9" }, "HEAD");
    expect([part.status, part.headers.get("content-length")]).toEqual([200, "600000"]);
  });

  test("a new content has a new ETag", async () => {
    const { id } = await uploaded(admin, "1", "a.txt", { isPublic: "true" });
    const former = (await get(`/assets/${id}`)).headers.get("etag");
    const body = new FormData();
    body.append("file", new Blob(["2"]), "a.txt");
    await admin.send("PATCH", `/svc_file/${id}`, { body });
    const { status, headers } = await get(`/assets/${id}`, { "If-None-Match": String(former) });
    expect([status, headers.get("etag") === former]).toEqual([200, false]);
  });

  test("a content that was replaced within its second is another one to clients that go by the time", async () => {
    await delay(1_000 - (Date.now() % 1_000));
    const { id } = await uploaded(admin, "former", "a.txt", { isPublic: "true" });
    const address = `/assets/${id}`;
    const timeOf = async () => (await get(address)).headers.get("last-modified");
    const former = String(await timeOf());
    await admin.send("PATCH", `/svc_file/${id}`, { body: fileForm("newer", "a.txt") });
    // Not yet there, unless the second has ended meanwhile.
    const { headers } = await get(address);
    const first = headers.get("last-modified");
    expect(first).not.toBe(former);
    expect(Date.parse(first ?? former)).toBeLessThanOrEqual(Date.parse(String(headers.get("date"))));
    const { status, bytes: body } = await get(address, { "If-Modified-Since": former });
    expect([status, body.toString()]).toEqual([200, "newer"]);
    const rest = { "If-Unmodified-Since": former, Range: "bytes=1-2" };
    expect((await get(address, rest)).status).toBe(412);
    const time = await until(timeOf, (time) => time !== null);
    expect(Date.parse(String(time))).toBeGreaterThan(Date.parse(former));
    expect((await get(address, { "If-Modified-Since": String(time) })).status).toBe(304);
  });

  test("an empty file is 200 with length 0", async () => {
    const { id } = await uploaded(ann, "", "empty.bin", { isPublic: "true" });
    const { status, headers } = await get(`/assets/${id}`);
    expect([status, headers.get("content-length")]).toEqual([200, "0"]);
  });
});

describe("pictures", () => {
  let id: string;
  let path: string;
  beforeAll(async () => {
    id = (await uploaded(ann, await picture(400, 200, "jpeg"), "p.jpg", { isPublic: "true" })).id;
    path = `/assets/${id}`;
  });

  const sizeOf = async (query: string) => {
    const { status, bytes, headers } = await get(`${path}?${query}`);
    const { width, height, format } = await sharp(bytes).metadata();
    return [status, width, height, format, headers.get("content-type")];
  };

  test.each([
    ["width=100", 100, 50],
    ["height=50", 100, 50],
    ["width=50&height=50", 50, 50],
    ["width=50&height=50&fit=contain", 50, 50],
    ["width=50&height=50&fit=inside", 50, 25],
    ["width=50&height=50&fit=outside", 100, 50],
    ["width=50&height=50&fit=fill", 50, 50],
    ["width=4000", 400, 200],
    ["width=4000&height=4000&fit=inside", 400, 200],
  ])("%s gives %i × %i, never enlarged", async (query, width, height) => {
    expect(await sizeOf(query)).toEqual([200, width, height, "jpeg", "image/jpeg"]);
  });

  test.each([
    ["jpeg", "jpeg"],
    ["png", "png"],
    ["webp", "webp"],
    ["avif", "heif"],
  ])("format=%s", async (format, read) => {
    expect(await sizeOf(`width=40&format=${format}&quality=50`)).toEqual([
      200,
      40,
      20,
      read,
      `image/${format}`,
    ]);
  });

  test.each([
    ["png", [0, 0, 0, 0]],
    ["webp", [0, 0, 0, 0]],
    ["jpeg", [0, 0, 0, 255]],
  ])("fit=contain puts it on an empty ground of the asked size: %s", async (format, corner) => {
    const { bytes } = await get(`${path}?width=500&height=500&fit=contain&format=${format}`);
    const { data, info } = await sharp(bytes).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
    expect([info.width, info.height, [...data.subarray(0, 4)]]).toEqual([500, 500, corner]);
    const opaque = data.filter((value, at) => at % 4 === 3 && value === 255).length;
    expect(opaque).toBe(format === "jpeg" ? 500 * 500 : 400 * 200);
  });

  test.each([
    ["format=webp", "inline; filename=p.webp"],
    ["format=png&download=true", "attachment; filename=p.png"],
    ["format=jpeg&download=true", "attachment; filename=p.jpg"],
    ["width=40&download=true", "attachment; filename=p.jpg"],
  ])("%s is saved under the ending of what it is: %s", async (query, disposition) => {
    expect((await get(`${path}?${query}`)).headers.get("content-disposition")).toBe(disposition);
  });

  test("quality leaves a PNG its colours", async () => {
    const { bytes } = await get(`${path}?width=40&format=png&quality=50`);
    expect((await sharp(bytes).metadata()).isPalette).toBe(false);
  });

  test("quality changes the size", async () => {
    const noise = await sharp({
      create: {
        width: 200,
        height: 200,
        channels: 3,
        background: "red",
        noise: { type: "gaussian", mean: 128, sigma: 60 },
      },
    })
      .jpeg()
      .toBuffer();
    const { id: noisy } = await uploaded(ann, noise, "n.jpg", { isPublic: "true" });
    const length = async (quality: number) => (await get(`/assets/${noisy}?quality=${quality}`)).bytes.length;
    expect(await length(10)).toBeLessThan(await length(90));
  });

  test.each([
    ...["width=0", "width=4001", "width=1.5", "width=x", "width=", "height=-1", "width=1&width=2"],
    ...["fit=crop", "format=gif", "format=svg", "quality=0", "quality=101", "download=1"],
  ])("%s is 400 naming the parameter", async (query) => {
    const { status, bytes } = await get(`${path}?${query}`);
    expect(status).toBe(400);
    expect(JSON.parse(bytes.toString()).error.details.path).toBe(query.split("=")[0]);
  });

  test("a bad parameter is a 400 before it is told whether there is such a file", async () => {
    expect((await get(`/assets/${"0".repeat(24)}?width=0`)).status).toBe(400);
  });

  test("a file that is no picture can't be transformed: 400", async () => {
    const { id: text } = await uploaded(ann, "x", "x.txt", { isPublic: "true" });
    expect((await get(`/assets/${text}?width=10`)).status).toBe(400);
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>';
    const { id: drawing } = await uploaded(ann, svg, "x.svg", { isPublic: "true" });
    expect((await get(`/assets/${drawing}?width=10`)).status).toBe(400);
  });

  test("an SVG is never drawn, whatever it looks like at its beginning: 400", async () => {
    // In the second one only a comment lies within the bytes that are looked at: a text.
    const types = [
      [20, "application/octet-stream"],
      [5_000, "text/plain"],
    ] as const;
    for (const [blanks, type] of types) {
      const svg =
        `<!--ftypavif${" ".repeat(blanks)}--><svg:svg xmlns:svg="http://www.w3.org/2000/svg" width="9" height="9">` +
        '<svg:rect width="9" height="9"/></svg:svg>';
      const record = await uploaded(admin, svg, "x.avif", { isPublic: "true" });
      expect([record.mimetype, record.width]).toEqual([type, null]);
      expect((await get(`/assets/${record.id}?width=5&format=png`)).status).toBe(400);
    }
  });

  test("EXIF turns it: at upload width and height, and in what is made of it", async () => {
    const turned = await sharp(await picture(60, 20, "jpeg"))
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer();
    const record = await uploaded(admin, turned, "t.jpg", { isPublic: "true" });
    expect([record.width, record.height]).toEqual([20, 60]);
    const { width, height, orientation } = await sharp(
      (await get(`/assets/${record.id}?width=10`)).bytes,
    ).metadata();
    expect([width, height, orientation]).toEqual([10, 30, undefined]);
  });

  test("a pixel bomb is stored, and refused when it is to be transformed: 400", async () => {
    const bomb = await sharp({ create: { width: 8_000, height: 6_000, channels: 3, background: "red" } })
      .png({ compressionLevel: 9 })
      .toBuffer();
    const record = await uploaded(admin, bomb, "bomb.png", { isPublic: "true" });
    expect([record.width, record.height]).toEqual([8_000, 6_000]);
    const { status, bytes } = await get(`/assets/${record.id}?width=10`);
    expect([status, JSON.parse(bytes.toString()).message]).toEqual([
      400,
      expect.stringContaining("40 million pixels"),
    ]);
  });

  test("is made once, and has ETag, parts and 304 like any file", async () => {
    const before = (await keptIn(database)).variants;
    const answers = await Promise.all(Array.from({ length: 6 }, () => get(`${path}?width=33`)));
    expect(new Set(answers.map(({ headers }) => headers.get("etag"))).size).toBe(1);
    expect((await keptIn(database)).variants).toBe(before + 1);
    const etag = answers[0]?.headers.get("etag") ?? "";
    expect((await get(`${path}?width=33`, { "If-None-Match": etag })).status).toBe(304);
    expect((await get(`${path}?width=33`, { Range: "bytes=0-9" })).bytes.length).toBe(10);
    expect((await get(`${path}?width=34`)).headers.get("etag")).not.toBe(etag);
  });

  test("HEAD makes none", async () => {
    const before = (await keptIn(database)).variants;
    const { status, headers } = await get(`${path}?width=71`, {}, "HEAD");
    expect([status, headers.get("content-type")]).toEqual([200, "image/jpeg"]);
    expect((await keptIn(database)).variants).toBe(before);
  });

  test("of one file 24 are kept; the oldest go", async () => {
    const { id: many } = await uploaded(ann, await picture(64, 64), "m.png", { isPublic: "true" });
    const before = (await keptIn(database)).variants;
    for (let width = 1; width <= 27; width += 1) await get(`/assets/${many}?width=${width}`);
    expect((await keptIn(database)).variants).toBe(before + 24);
    expect((await get(`/assets/${many}?width=1`)).status).toBe(200);
  });

  test("that somebody has is not made again to say that it is the same", async () => {
    const address = `/assets/${(await uploaded(ann, await picture(64, 64), "h.png", { isPublic: "true" })).id}?width=9`;
    const etag = (await get(address)).headers.get("etag") ?? "";
    const { variants } = await keptIn(database);
    await database.db().collection("_content_variants").deleteMany({});
    const had = await get(address, { "If-None-Match": etag });
    expect([had.status, had.headers.get("content-security-policy")]).toEqual([
      304,
      expect.stringContaining("img-src"),
    ]);
    expect([variants > 0, (await keptIn(database)).variants]).toEqual([true, 0]);
  });

  test("a private picture is as private when it is made smaller", async () => {
    const { id: secret } = await uploaded(ann, await picture(64, 64), "s.png");
    expect((await get(`/assets/${secret}?width=8`, await bearer(ANN))).status).toBe(200);
    expect((await get(`/assets/${secret}?width=8`)).status).toBe(401);
  });
});

describe("a reader that takes its time", () => {
  test("gets all of it, byte for byte", async () => {
    const bytes = randomBytes(20 * 1024 * 1024);
    const { id } = await uploaded(ann, bytes, "large.bin", { isPublic: "true" });
    const received = await new Promise<string>((resolve, reject) => {
      const request = httpRequest(`${stack.appUrl}/assets/${id}`, (answer) => {
        const digest = createHash("sha256");
        answer.on("data", (chunk: Buffer) => {
          digest.update(chunk);
          answer.pause();
          setImmediate(() => answer.resume());
        });
        answer.once("end", () => resolve(digest.digest("hex")));
      });
      request.once("error", reject).end();
    });
    expect(received).toBe(createHash("sha256").update(bytes).digest("hex"));
  });
});

describe("/assets and an app of one's own", () => {
  test("only ids are ours: scripts that a build tool puts below /assets/ are the app's", async () => {
    const folder = await mkdtemp(join(tmpdir(), "portico-app-"));
    await mkdir(join(folder, "assets"));
    await writeFile(join(folder, "index.html"), "<p>app</p>");
    await writeFile(join(folder, "assets/main-B4x9f2aa.js"), "export {}");
    const gateway = await startService("@portico/gateway/main", {
      APP_URL: stack.appUrl,
      PORT: "0",
      DATA_SERVICE_URL: stack.dataUrl,
      DATA_DIR: stack.dataDir,
      STATIC_DIR: folder,
      NODE_ENV: "test",
    });
    try {
      const { id } = await uploaded(ann, "mine", "m.txt", { isPublic: "true" });
      const text = async (path: string) => (await fetch(gateway.url + path)).text();
      expect(await text("/assets/main-B4x9f2aa.js")).toBe("export {}");
      expect(await text(`/assets/${id}`)).toBe("mine");
      expect((await fetch(`${gateway.url}/assets/unknown`)).status).toBe(404);
    } finally {
      await gateway.stop();
      await rm(folder, { recursive: true });
    }
  });
});
